#include "report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "options.h"

static int report_fd = -1;
static struct json report_json;
static char report_buffer[FRAME_HEADER_BYTES + OPTION_RESULT_BYTES];

/* The C library knows all errors, but its list is as large as a verb. */
static const char *words_for(int system_error)
{
    static const struct {
        int number;
        const char *words;
    } known[] = {
        {ENOENT, "the file or directory does not exist"}, {ENOTDIR, "it is not a directory"},
        {EACCES, "permission denied"},                  {EPERM, "not permitted"},
        {EROFS, "the file system is read-only"},        {ENOSPC, "no space left"},
        {EDQUOT, "the quota is used up"},               {EIO, "input/output error"},
        {EINVAL, "invalid argument"},                   {ENOMEM, "out of memory"},
        {ESTALE, "the server forgot the file"},         {EAGAIN, "no resources right now"},
        {ENOSYS, "not in this kernel"},                 {EADDRINUSE, "the port is in use"},
        {ECONNREFUSED, "nobody listens at that port"},  {ETIMEDOUT, "no answer came in time"},
        {ENETUNREACH, "there is no route to it"},       {EHOSTUNREACH, "it cannot be reached"},
        {EADDRNOTAVAIL, "this host has no such address"},
        {EMSGSIZE, "it is longer than a packet of the path"},
        {ECONNRESET, "the peer closed the connection"}, {ENODEV, "the interface does not exist"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == system_error)
            return known[i].words;
    return "the system call failed; see errno_number";
}

void failure_put(struct json *json, const struct failure *failure)
{
    json_text(json, "error", failure->error);
    json_text(json, "tried", failure->tried);
    if (failure->on != NULL)
        json_text(json, "on", failure->on);
    json_text(json, "happened",
              failure->happened != NULL ? failure->happened : words_for(failure->system_error));
    if (failure->system_error != 0)
        json_u64(json, "errno_number", (uint64_t)failure->system_error);
    if (failure->next != NULL)
        json_text(json, "next", failure->next);
}

size_t failure_write(const struct failure *failure, char *buffer, size_t capacity_bytes)
{
    struct json json;
    json_start(&json, buffer, capacity_bytes);
    json_open_object(&json, NULL);
    failure_put(&json, failure);
    json_close_object(&json);
    return json.length_bytes;
}

void report_to(int fd) { report_fd = fd; }

static void send_report(enum frame_type type, size_t length)
{
    frame_header((uint8_t *)report_buffer, type, length);
    const char *at = report_buffer;
    for (size_t left = FRAME_HEADER_BYTES + length; left > 0;) {
        ssize_t put = write(report_fd, at, left);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            _exit(3);
        at += put;
        left -= (size_t)put;
    }
}

struct json *report_begin(const char *section)
{
    json_start(&report_json, report_buffer + FRAME_HEADER_BYTES, OPTION_RESULT_BYTES);
    json_open_object(&report_json, NULL);
    json_text(&report_json, "section", section);
    return &report_json;
}

void report_spent(struct json *json, struct clock_spent spent)
{
    json_u64(json, "elapsed_ns", spent.elapsed_ns);
    json_u64(json, "cpu_ns", spent.cpu_ns);
}

void report_end(void)
{
    if (report_json.full)
        json_bool(&report_json, "cut", true);
    json_close_object(&report_json);
    send_report(FRAME_RESULT, report_json.length_bytes);
}

_Noreturn void report_failure(const struct failure *failure)
{
    size_t length =
        failure_write(failure, report_buffer + FRAME_HEADER_BYTES, OPTION_RESULT_BYTES);
    send_report(FRAME_ERROR, length);
    _exit(1);
}

_Noreturn void report_refused(const struct request_error *error)
{
    report_failure(&(struct failure){
        .error = "request",
        .tried = "read the request",
        .on = error->on,
        .happened = error->happened,
        .next = "see the probe's README",
    });
}

uint64_t report_setting(const struct request *request, const char *key, uint64_t least,
                        uint64_t most, uint64_t otherwise)
{
    struct request_error error;
    uint64_t value = otherwise;
    if (!request_u64(request, key, least, most, &value, &error))
        report_refused(&error);
    return value;
}
