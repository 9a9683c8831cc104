/* Writes one JSON object into a buffer that does not grow.
 *
 * What does not fit is left out and remembered in `full`; the room needed to close what is open is
 * kept back, so that the text is always valid. A list marks before each item and rewinds if the
 * item did not fit. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *bytes;
    size_t capacity_bytes;
    size_t length_bytes;
    bool comma; /* the next value needs a comma before it */
    bool full;  /* something was left out since the start or the last rewind */
};

struct json_mark {
    size_t length_bytes;
    bool comma;
};

void json_start(struct json *json, char *buffer, size_t capacity_bytes);

/* `key` is NULL for an element of an array, and for the outermost object. */
void json_open_object(struct json *json, const char *key);
void json_open_array(struct json *json, const char *key);
void json_close_object(struct json *json);
void json_close_array(struct json *json);

/* Bytes that are no UTF-8 become the character of the same number (U+0080 to U+00FF). */
void json_text(struct json *json, const char *key, const char *value);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);

struct json_mark json_mark(const struct json *json);
/* Ends a list item: true if it is in; else it is taken out again. */
bool json_keep(struct json *json, struct json_mark mark);
/* Closes an array and, where items were left out, says how many: `<key>_omitted_count`. */
void json_close_list(struct json *json, const char *key, uint64_t omitted);

#endif
