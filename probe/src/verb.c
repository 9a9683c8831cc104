#include "verb.h"

#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "file.h"
#include "text.h"

uint64_t verb_peak_resident_bytes(void)
{
    char window[OPTION_LINE_BYTES];
    struct file_lines lines;
    uint64_t peak_kib = 0;
    /* Not from getrusage: its figure starts with that of the program that started this one. */
    if (!file_lines_open(&lines, "/proc/self/status", window, sizeof window))
        return 0;
    for (char *line; (line = file_lines_next(&lines)) != NULL;)
        if (text_starts(line, "VmHWM:"))
            peak_kib = text_leading_u64(text_trim(line + strlen("VmHWM:")));
    return peak_kib * 1024;
}

uint64_t verb_cpu_ns(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return 0;
    uint64_t us = (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
    uint64_t s = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec;
    return s * CLOCK_SECOND_NS + us * 1000;
}

int verb_done(struct wire *wire, const char *status, uint64_t started_ns)
{
    char body[512];
    struct json json;
    json_start(&json, body, sizeof body);
    json_open_object(&json, NULL);
    json_text(&json, "status", status);
    json_u64(&json, "elapsed_ns", clock_monotonic_ns() - started_ns);
    json_u64(&json, "cpu_ns", verb_cpu_ns(RUSAGE_SELF) + verb_cpu_ns(RUSAGE_CHILDREN));
    json_u64(&json, "resident_peak_bytes", verb_peak_resident_bytes());
    json_close_object(&json);
    return wire_send(wire, FRAME_DONE, body, json.length_bytes) ? EXIT_DONE : EXIT_GONE;
}

int verb_failed(struct wire *wire, const struct failure *failure)
{
    char body[OPTION_PATH_BYTES + 1024];
    size_t length = failure_write(failure, body, sizeof body);
    return wire_send(wire, FRAME_ERROR, body, length) ? EXIT_FAILED : EXIT_GONE;
}

bool verb_tell_clock(struct wire *wire, const struct frame *question)
{
    uint8_t answer[16] = {0};
    memcpy(answer, question->body, question->length_bytes < 8 ? question->length_bytes : 8);
    frame_put_u64(answer + 8, clock_monotonic_ns());
    return wire_send(wire, FRAME_CLOCK, answer, sizeof answer);
}

int verb_refuse_frame(struct wire *wire, const struct wire_message *message)
{
    struct failure failure = {
        .error = "frame",
        .tried = "read a frame from standard input",
        .happened = "it is no frame of this protocol",
        .next = "plimsoll drives this program; see the probe's README",
    };
    char version[TEXT_U64_BYTES], own[TEXT_U64_BYTES], sentence[96];
    if (message->status == FRAME_TOO_LONG) {
        failure.happened = "its body is longer than the probe takes";
    } else if (message->status == FRAME_OTHER_VERSION) {
        text_join(sentence, sizeof sentence, "the driver speaks version ",
                  text_from_u64(message->version, version), ", this probe only version ",
                  text_from_u64(FRAME_VERSION, own), NULL);
        failure.error = "version";
        failure.happened = sentence;
        failure.next = "use the probe of that driver";
    }
    return verb_failed(wire, &failure);
}
