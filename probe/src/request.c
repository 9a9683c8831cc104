#include "request.h"

#include <string.h>

#include "text.h"

static bool is_name(const char *text)
{
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        char c = text[length];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return false;
    }
    return length > 0 && length <= 32;
}

static bool refuse(struct request_error *error, const char *on, const char *happened)
{
    *error = (struct request_error){on, happened};
    return false;
}

bool request_parse(struct request *request, const uint8_t *body, size_t length_bytes,
                   struct request_error *error)
{
    request->verb = "";
    request->pair_count = 0;
    if (length_bytes > OPTION_REQUEST_BYTES)
        return refuse(error, "request", "it is too long");
    if (length_bytes == 0 || memchr(body, '\0', length_bytes) != NULL ||
        body[length_bytes - 1] != '\n')
        return refuse(error, "request", "it is not text in whole lines");
    memcpy(request->text, body, length_bytes);
    request->text[length_bytes] = '\0';

    char *rest = request->text;
    request->verb = text_next_line(&rest);
    if (!is_name(request->verb))
        return refuse(error, "request", "its first line is not the name of a verb");
    for (char *line; (line = text_next_line(&rest)) != NULL;) {
        char *cut = strchr(line, '=');
        if (cut == NULL)
            return refuse(error, line, "it is no key=value");
        *cut = '\0';
        if (!is_name(line))
            return refuse(error, line, "it is no key");
        if (request->pair_count == OPTION_REQUEST_PAIRS)
            return refuse(error, line, "there are too many keys before it");
        request->pairs[request->pair_count].key = line;
        request->pairs[request->pair_count].value = cut + 1;
        request->pair_count++;
    }
    return true;
}

bool request_only(const struct request *request, const char *const *allowed,
                  struct request_error *error)
{
    for (size_t i = 0; i < request->pair_count; i++) {
        const char *key = request->pairs[i].key;
        const char *const *known = allowed;
        while (*known != NULL && !text_equal(*known, key))
            known++;
        if (*known == NULL)
            return refuse(error, key, "this verb has no such key");
        for (size_t j = 0; j < i; j++)
            if (text_equal(request->pairs[j].key, key) && !text_equal(key, "path"))
                return refuse(error, key, "it is there twice");
    }
    return true;
}

const char *request_text(const struct request *request, const char *key)
{
    for (size_t i = 0; i < request->pair_count; i++)
        if (text_equal(request->pairs[i].key, key))
            return request->pairs[i].value;
    return NULL;
}

bool request_u64(const struct request *request, const char *key, uint64_t least, uint64_t most,
                 uint64_t *value, struct request_error *error)
{
    const char *text = request_text(request, key);
    if (text == NULL)
        return true;
    uint64_t number;
    if (!text_to_u64(text, most, &number) || number < least)
        return refuse(error, key, "its value is no whole number in the range of this key");
    *value = number;
    return true;
}
