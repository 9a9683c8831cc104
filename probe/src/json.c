#include "json.h"

#include <string.h>

#include "text.h"

/* Kept back for closing brackets and the counts of items left out. */
#define RESERVE_BYTES 256u

static bool put(struct json *json, const char *bytes, size_t length, size_t reserve)
{
    if (json->full && reserve != 0)
        return false;
    if (length + reserve > json->capacity_bytes - json->length_bytes) {
        json->full = true;
        return false;
    }
    memcpy(json->bytes + json->length_bytes, bytes, length);
    json->length_bytes += length;
    return true;
}

/* A whole value is put or none of it. */
static void undo(struct json *json, struct json_mark mark)
{
    json->length_bytes = mark.length_bytes;
    json->comma = mark.comma;
}

static bool put_key(struct json *json, const char *key, size_t reserve)
{
    if (json->comma && !put(json, ",", 1, reserve))
        return false;
    if (key == NULL)
        return true;
    return put(json, "\"", 1, reserve) && put(json, key, strlen(key), reserve) &&
           put(json, "\":", 2, reserve);
}

/* Bytes of the UTF-8 sequence at `at`, 0 if it is none (RFC 3629: no surrogates, none too long). */
static size_t utf8_length(const unsigned char *at)
{
    size_t length;
    uint32_t code, least;
    if (at[0] < 0x80)
        return 1;
    if ((at[0] & 0xe0) == 0xc0) {
        length = 2, least = 0x80, code = at[0] & 0x1fu;
    } else if ((at[0] & 0xf0) == 0xe0) {
        length = 3, least = 0x800, code = at[0] & 0x0fu;
    } else if ((at[0] & 0xf8) == 0xf0) {
        length = 4, least = 0x10000, code = at[0] & 0x07u;
    } else {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) /* also stops at the terminator */
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

static bool put_escaped(struct json *json, const char *value)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)value;
    while (*at != '\0') {
        size_t length = utf8_length(at);
        bool plain = *at >= 0x20 && *at != '"' && *at != '\\' && *at != 0x7f && length > 0;
        if (plain) {
            if (!put(json, (const char *)at, length, RESERVE_BYTES))
                return false;
            at += length;
        } else {
            char escape[6] = {'\\', 'u', '0', '0', digits[*at >> 4], digits[*at & 15]};
            if (!put(json, escape, sizeof escape, RESERVE_BYTES))
                return false;
            at++;
        }
    }
    return true;
}

static void put_value(struct json *json, const char *key, const char *value, bool quoted)
{
    struct json_mark mark = json_mark(json);
    bool fits = put_key(json, key, RESERVE_BYTES);
    if (fits && quoted)
        fits = put(json, "\"", 1, RESERVE_BYTES) && put_escaped(json, value) &&
               put(json, "\"", 1, RESERVE_BYTES);
    else if (fits)
        fits = put(json, value, strlen(value), RESERVE_BYTES);
    if (fits)
        json->comma = true;
    else
        undo(json, mark);
}

void json_start(struct json *json, char *buffer, size_t capacity_bytes)
{
    *json = (struct json){.bytes = buffer, .capacity_bytes = capacity_bytes};
}

/* Brackets and the keys before them take from the reserve, so that they always match. */
static void open_bracket(struct json *json, const char *key, const char *bracket)
{
    put_key(json, key, 0);
    put(json, bracket, 1, 0);
    json->comma = false;
}

static void close_bracket(struct json *json, const char *bracket)
{
    put(json, bracket, 1, 0);
    json->comma = true;
}

void json_open_object(struct json *json, const char *key) { open_bracket(json, key, "{"); }
void json_open_array(struct json *json, const char *key) { open_bracket(json, key, "["); }
void json_close_object(struct json *json) { close_bracket(json, "}"); }
void json_close_array(struct json *json) { close_bracket(json, "]"); }

void json_text(struct json *json, const char *key, const char *value)
{
    put_value(json, key, value, true);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    char digits[TEXT_U64_BYTES];
    put_value(json, key, text_from_u64(value, digits), false);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
    char digits[TEXT_U64_BYTES], number[TEXT_U64_BYTES + 1];
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    text_join(number, sizeof number, value < 0 ? "-" : "", text_from_u64(size, digits), NULL);
    put_value(json, key, number, false);
}

void json_bool(struct json *json, const char *key, bool value)
{
    put_value(json, key, value ? "true" : "false", false);
}

struct json_mark json_mark(const struct json *json)
{
    return (struct json_mark){json->length_bytes, json->comma};
}

bool json_keep(struct json *json, struct json_mark mark)
{
    if (!json->full)
        return true;
    undo(json, mark);
    json->full = false;
    return false;
}

void json_close_list(struct json *json, const char *key, uint64_t omitted)
{
    char digits[TEXT_U64_BYTES];
    json_close_array(json);
    if (omitted == 0)
        return;
    const char *count = text_from_u64(omitted, digits);
    put(json, ",\"", 2, 0);
    put(json, key, strlen(key), 0);
    put(json, "_omitted_count\":", 16, 0);
    put(json, count, strlen(count), 0);
}
