/* The verb sample: the kernel's own counters, as text and unparsed, at a steady interval.
 *
 * Files stay open and are read again from their start, so a sample is one system call a file and
 * one or two to send it. The driver parses; this machine has better things to do.
 *
 * A driver that asks for each sample knows within half a round trip when it was taken, and gets one
 * exactly at the begin and the end of what it measures. */
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "sample_files.h"
#include "text.h"
#include "verb.h"

/* Before the sections: begin, end, own processor time; all in ns. */
#define HEADER_BYTES 24u
#define SECTION_HEADER_BYTES 8u
#define SECTION_CUT 1u

static uint8_t sample[OPTION_SAMPLE_BYTES];

/* The list of interrupt lines makes up most of /proc/stat on large machines and its sum says the
 * same here: the rest of that line is taken out. Returns the new length. */
static size_t without_interrupts(char *text, size_t length)
{
    char *line = text_find(text, "\nintr ");
    if (line == NULL)
        return length;
    char *cut = line + 6;
    while (*cut >= '0' && *cut <= '9')
        cut++;
    char *end = strchr(cut, '\n');
    if (end == NULL)
        return (size_t)(cut - text);
    size_t tail = length - (size_t)(end - text);
    memmove(cut, end, tail + 1);
    return (size_t)(cut - text) + tail;
}

/* Appends the section of the file of that index; returns the new length of the sample. */
static size_t add_section(const struct sample_file *file, size_t index, size_t at)
{
    if (sizeof sample - at < SECTION_HEADER_BYTES + 2)
        return at;
    char *text = (char *)sample + at + SECTION_HEADER_BYTES;
    size_t room = sizeof sample - at - SECTION_HEADER_BYTES;
    long got = sample_file_read(file, text, room);
    if (got < 0)
        return at;
    size_t length = (size_t)got;
    bool cut = length == room - 1;
    if (file->id == SAMPLE_STAT)
        length = without_interrupts(text, length);
    uint8_t *header = sample + at;
    header[0] = (uint8_t)file->id;
    header[1] = cut ? SECTION_CUT : 0;
    header[2] = 0;
    header[3] = (uint8_t)index;
    frame_put_u32(header + 4, (uint32_t)length);
    return at + SECTION_HEADER_BYTES + length;
}

static bool send_sample(struct wire *wire, const struct sample_file *files, size_t count)
{
    size_t length = HEADER_BYTES;
    uint64_t begin_ns = clock_monotonic_ns();
    for (size_t i = 0; i < count; i++)
        length = add_section(&files[i], i, length);
    frame_put_u64(sample, begin_ns);
    frame_put_u64(sample + 8, clock_monotonic_ns());
    frame_put_u64(sample + 16, clock_process_cpu_ns());
    return wire_send(wire, FRAME_SAMPLE, sample, length);
}

/* What the driver needs to know to read the texts. */
static bool send_facts(struct wire *wire, const struct sample_file *files, size_t count,
                       uint64_t interval_ms)
{
    char body[4096];
    struct json json;
    json_start(&json, body, sizeof body);
    json_open_object(&json, NULL);
    json_text(&json, "section", "sample");
    json_u64(&json, "interval_ms", interval_ms);
    json_u64(&json, "clock_ticks_per_second", getauxval(AT_CLKTCK));
    json_u64(&json, "page_size_bytes", getauxval(AT_PAGESZ));
    json_u64(&json, "disk_sector_bytes", 512); /* of /proc/diskstats, whatever the disk's own */
    struct utsname system;
    if (uname(&system) == 0)
        json_text(&json, "kernel_release", system.release);
    json_open_array(&json, "files");
    uint64_t omitted = 0;
    for (size_t i = 0; i < count; i++) {
        struct json_mark mark = json_mark(&json);
        json_open_object(&json, NULL);
        json_u64(&json, "section_number", (uint64_t)files[i].id);
        json_text(&json, "name", files[i].name);
        json_close_object(&json);
        omitted += !json_keep(&json, mark);
    }
    json_close_list(&json, "files", omitted);
    json_close_object(&json);
    return wire_send(wire, FRAME_RESULT, body, json.length_bytes);
}

static int serve(struct wire *wire, const struct request *request)
{
    static struct sample_file files[SAMPLE_FILES];
    uint64_t started_ns = clock_monotonic_ns();
    uint64_t interval_ms = 1000, count = UINT64_MAX;
    struct request_error error;
    const char *interval = request_text(request, "interval_ms");
    bool asked_only = interval != NULL && text_equal(interval, "0");
    if ((!asked_only &&
         !request_u64(request, "interval_ms", 10, 3600000, &interval_ms, &error)) ||
        !request_u64(request, "count", 1, UINT64_MAX, &count, &error))
        return verb_failed(wire, &(struct failure){.error = "request",
                                                   .tried = "read the request",
                                                   .on = error.on,
                                                   .happened = error.happened,
                                                   .next = "see the probe's README"});
    if (asked_only)
        interval_ms = 0;
    size_t opened = sample_files_open(files);
    if (!send_facts(wire, files, opened, interval_ms))
        return EXIT_GONE;
    uint64_t next_ns = asked_only ? CLOCK_NEVER_NS : clock_monotonic_ns();
    uint64_t interval_ns = interval_ms * CLOCK_MILLISECOND_NS;
    while (count > 0) {
        struct wire_message message;
        switch (wire_wait(wire, NULL, next_ns, &message)) {
        case WIRE_TIME: {
            uint64_t now = clock_monotonic_ns();
            if (now >= wire->deadline_ns) {
                wire->deadline_ns = now + CLOCK_SECOND_NS; /* to say so */
                return verb_done(wire, "limit", started_ns);
            }
            if (!send_sample(wire, files, opened))
                return EXIT_GONE;
            count--;
            /* Steady times; after a long pause, no burst of what was missed. */
            next_ns += interval_ns;
            if (next_ns <= now)
                next_ns = now + interval_ns;
            break;
        }
        case WIRE_DRIVER:
            if (message.frame.type == FRAME_CLOCK && verb_tell_clock(wire, &message.frame))
                break;
            if (message.frame.type == FRAME_SAMPLE && message.frame.length_bytes == 0) {
                if (!send_sample(wire, files, opened))
                    return EXIT_GONE;
                count--;
                break;
            }
            if (message.frame.type == FRAME_STOP)
                return verb_done(wire, "stopped", started_ns);
            message.status = FRAME_NOT_OURS;
            return verb_refuse_frame(wire, &message);
        case WIRE_REFUSED:
            return verb_refuse_frame(wire, &message);
        default:
            return EXIT_GONE;
        }
    }
    return verb_done(wire, "done", started_ns);
}

const struct verb verb_sample = {
    .name = "sample",
    .keys = (const char *const[]){"interval_ms", "count", "limit_seconds", NULL},
    .limit_seconds = 86400,
    .longest_limit_seconds = 30 * 86400,
    .serve = serve,
};
