/* The probe: one process, one verb, frames on standard input and output (README.md). */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"
#include "verb.h"

/* Time for the first frame to come. */
#define GREETING_NS (60 * CLOCK_SECOND_NS)

#define VERB_ADDRESS(name) &verb_##name,
static const struct verb *const verbs[] = {VERBS(VERB_ADDRESS)};

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(EXIT_USAGE);
}

/* The program's own file, as the kernel names it, else as it was called. */
static void remove_self(const char *called)
{
    char path[OPTION_PATH_BYTES];
    struct stat facts;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0)
        path[length] = '\0';
    else
        text_copy(path, sizeof path, called);
    if (lstat(path, &facts) == 0 && S_ISREG(facts.st_mode))
        unlink(path);
}

static int refuse(struct wire *wire, const struct request_error *error)
{
    return verb_failed(wire, &(struct failure){
                                 .error = "request",
                                 .tried = "read the request",
                                 .on = error->on,
                                 .happened = error->happened,
                                 .next = "see the probe's README",
                             });
}

static int start(struct wire *wire, const struct request *request)
{
    struct request_error error = {request->verb, "no verb of this name"};
    const struct verb *verb = NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (text_equal(verbs[i]->name, request->verb))
            verb = verbs[i];
    if (verb == NULL)
        return refuse(wire, &error);
    uint64_t limit_seconds = verb->limit_seconds;
    if (!request_only(request, verb->keys, &error) ||
        !request_u64(request, "limit_seconds", 1, verb->longest_limit_seconds, &limit_seconds,
                     &error))
        return refuse(wire, &error);
    if (verb->prepare != NULL && (error.happened = verb->prepare(request)) != NULL) {
        error.on = request->verb;
        return refuse(wire, &error);
    }
    wire->deadline_ns = clock_monotonic_ns() + limit_seconds * CLOCK_SECOND_NS;
    if (verb->serve != NULL)
        return verb->serve(wire, request);
    return worker_run(wire, verb, request);
}

static int converse(void)
{
    static uint8_t buffer[FRAME_HEADER_BYTES + OPTION_REQUEST_BYTES];
    static struct request request;
    struct wire wire = {
        .driver = {.fd = STDIN_FILENO, .buffer = buffer, .capacity_bytes = sizeof buffer},
        .out = STDOUT_FILENO,
        .deadline_ns = clock_monotonic_ns() + GREETING_NS,
    };
    struct wire_message message;
    struct request_error error;
    for (;;) {
        switch (wire_wait(&wire, NULL, CLOCK_NEVER_NS, &message)) {
        case WIRE_DRIVER:
            if (message.frame.type == FRAME_CLOCK) {
                if (!verb_tell_clock(&wire, &message.frame))
                    return EXIT_GONE;
                break;
            }
            if (message.frame.type != FRAME_REQUEST) {
                message.status = FRAME_NOT_OURS;
                return verb_refuse_frame(&wire, &message);
            }
            if (!request_parse(&request, message.frame.body, message.frame.length_bytes, &error))
                return refuse(&wire, &error);
            return start(&wire, &request);
        case WIRE_REFUSED:
            return verb_refuse_frame(&wire, &message);
        default:
            return EXIT_GONE;
        }
    }
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (text_equal(arguments[i], "--remove-self")) {
            remove_self(arguments[0]);
        } else if (text_equal(arguments[i], "--version")) {
            say(STDOUT_FILENO, "plimsoll-probe " OPTION_PROBE_VERSION "\n");
            return EXIT_DONE;
        } else {
            say(STDERR_FILENO,
                "usage: plimsoll-probe [--remove-self | --version]\n"
                "plimsoll drives it: see its README.\n");
            return text_equal(arguments[i], "--help") ? EXIT_DONE : EXIT_USAGE;
        }
    }
    wire_watch_signals();
    return converse();
}
