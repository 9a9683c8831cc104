/* The body of a request: the verb on the first line, then `key=value` lines. No input or output. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

struct request {
    char text[OPTION_REQUEST_BYTES + 1];
    const char *verb;
    struct {
        const char *key;
        const char *value;
    } pairs[OPTION_REQUEST_PAIRS];
    size_t pair_count;
};

struct request_error {
    const char *on;       /* the key or verb, inside the request */
    const char *happened; /* what is wrong with it */
};

/* False if the body is no request: then `error` says why. Keys are not judged here. */
bool request_parse(struct request *request, const uint8_t *body, size_t length_bytes,
                   struct request_error *error);

/* False, with `error`, if a key is not in `allowed` (a NULL ends it), or one but `path` comes
 * twice. */
bool request_only(const struct request *request, const char *const *allowed,
                  struct request_error *error);

/* The value of a key, NULL if it is not there. */
const char *request_text(const struct request *request, const char *key);

/* A whole number from `least` to `most`; `*value` stays as it is if the key is not there. False,
 * with `error`, if it is anything else. */
bool request_u64(const struct request *request, const char *key, uint64_t least, uint64_t most,
                 uint64_t *value, struct request_error *error);

#endif
