#include "text.h"

#include <stdarg.h>
#include <string.h>

bool text_equal(const char *one, const char *other) { return strcmp(one, other) == 0; }

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

char *text_find(char *text, const char *part)
{
    for (; *text != '\0'; text++)
        if (*text == *part && text_starts(text, part))
            return text;
    return NULL;
}

bool text_to_u64(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t sum = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (sum > max / 10 || digit > max - sum * 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

uint64_t text_leading_u64(const char *text)
{
    uint64_t sum = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return UINT64_MAX;
        sum = sum * 10 + digit;
    }
    return sum;
}

const char *text_from_u64(uint64_t value, char out[TEXT_U64_BYTES])
{
    char *at = out + TEXT_U64_BYTES - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return at;
}

bool text_join(char *out, size_t size, ...)
{
    va_list parts;
    size_t used = 0;
    bool fits = true;
    va_start(parts, size);
    for (const char *part; (part = va_arg(parts, const char *)) != NULL;) {
        size_t length = strlen(part);
        if (length >= size - used) {
            fits = false;
            break;
        }
        memcpy(out + used, part, length);
        used += length;
    }
    va_end(parts);
    out[fits ? used : 0] = '\0';
    return fits;
}

void text_copy(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

char *text_trim(char *text)
{
    while (is_space(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_space(text[length - 1]))
        text[--length] = '\0';
    return text;
}

char *text_next_line(char **rest)
{
    char *line = *rest;
    if (*line == '\0')
        return NULL;
    char *end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
        *rest = end + 1;
    } else {
        *rest = line + strlen(line);
    }
    return line;
}

char *text_next_word(char **rest)
{
    char *word = *rest;
    while (is_space(*word))
        word++;
    if (*word == '\0')
        return NULL;
    char *end = word;
    while (*end != '\0' && !is_space(*end))
        end++;
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

char *text_split(char *line, char separator)
{
    char *cut = strchr(line, separator);
    if (cut == NULL)
        return NULL;
    *cut = '\0';
    text_trim(line);
    return text_trim(cut + 1);
}
