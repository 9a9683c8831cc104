/* What a verb tells: results, section by section, or one failure. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "json.h"
#include "request.h"

struct failure {
    const char *error;    /* one word for programs, listed in README.md */
    const char *tried;    /* what was to be done */
    const char *on;       /* with what: a path, a key; may be NULL */
    const char *happened; /* in words; NULL if system_error says it */
    int system_error;     /* errno, or 0 */
    const char *next;     /* what to do about it; may be NULL */
};

/* Adds its keys to an object. */
void failure_put(struct json *json, const struct failure *failure);
/* Writes the JSON object of a failure; returns its length. */
size_t failure_write(const struct failure *failure, char *buffer, size_t capacity_bytes);

/* Where the reports of this process go. */
void report_to(int fd);
/* Starts a result. All but `report_end` is done on the writer that it returns. */
struct json *report_begin(const char *section);
/* Adds what the figure took: cpu_ns well below elapsed_ns says that it was disturbed. */
void report_spent(struct json *json, struct clock_spent spent);
/* Sends it. If nobody reads any more, the process ends. */
void report_end(void);
/* Sends the failure and ends the process. */
_Noreturn void report_failure(const struct failure *failure);
/* The failure `request`: the driver asked for something that is not on offer. */
_Noreturn void report_refused(const struct request_error *error);

/* request_u64, and a refusal ends the process. */
uint64_t report_setting(const struct request *request, const char *key, uint64_t least,
                        uint64_t most, uint64_t otherwise);

#endif
