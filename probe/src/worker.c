#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"
#include "verb.h"

/* A child that hangs in the kernel (a dead disk, a dead server) cannot be killed: it is left. */
#define REAP_NS (2 * CLOCK_SECOND_NS)

static uint8_t relay_buffer[FRAME_HEADER_BYTES + OPTION_RESULT_BYTES];

int worker_reap(pid_t child, uint64_t within_ns)
{
    uint64_t until_ns = clock_monotonic_ns() + within_ns;
    for (;;) {
        int status;
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return status;
        if ((ended < 0 && errno != EINTR) || clock_monotonic_ns() >= until_ns)
            return -1;
        clock_sleep_until(clock_monotonic_ns() + CLOCK_MILLISECOND_NS);
    }
}

void worker_kill(pid_t child)
{
    kill(child, SIGKILL);
    worker_reap(child, REAP_NS);
}

static _Noreturn void be_child(void (*run)(const void *), const void *context, int out)
{
    wire_forget_signals();
    /* Whoever starts programs in here, or waits for input, must not get at the driver's frames. */
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        close(nothing);
    }
    report_to(out);
    run(context);
    _exit(0);
}

pid_t worker_start(void (*run)(const void *), const void *context, struct wire_reader *reader)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = _Fork();
    if (child == 0) {
        close(ends[0]);
        be_child(run, context, ends[1]);
    }
    int happened = errno;
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    errno = happened;
    *reader = (struct wire_reader){
        .fd = ends[0], .buffer = relay_buffer, .capacity_bytes = sizeof relay_buffer};
    return child;
}

struct task {
    const struct verb *verb;
    const struct request *request;
};

static void run_verb(const void *context)
{
    const struct task *task = context;
    task->verb->run(task->request);
    struct json *json = report_begin("worker");
    json_u64(json, "cpu_ns", clock_process_cpu_ns());
    json_u64(json, "resident_peak_bytes", verb_peak_resident_bytes());
    report_end();
}

static int child_ended(struct wire *wire, pid_t child, uint64_t started_ns)
{
    int status = worker_reap(child, REAP_NS);
    if (status == 0)
        return verb_done(wire, "done", started_ns);
    struct failure failure = {
        .error = "worker",
        .tried = "run the verb in a process of its own",
        .happened = "it ended before its time",
    };
    char number[TEXT_U64_BYTES], sentence[64];
    if (status != -1 && WIFSIGNALED(status)) {
        text_join(sentence, sizeof sentence, "it was killed by signal ",
                  text_from_u64((uint64_t)WTERMSIG(status), number), NULL);
        failure.happened = sentence;
        if (WTERMSIG(status) == SIGKILL)
            failure.next = "if memory ran out, allow it less with limit_bytes";
    }
    return verb_failed(wire, &failure);
}

static int supervise(struct wire *wire, struct wire_reader *reader, pid_t child,
                     uint64_t started_ns)
{
    struct wire_message message;
    for (;;) {
        switch (wire_wait(wire, reader, CLOCK_NEVER_NS, &message)) {
        case WIRE_CHILD:
            if (!wire_send(wire, (enum frame_type)message.frame.type, message.frame.body,
                           message.frame.length_bytes)) {
                worker_kill(child);
                return EXIT_GONE;
            }
            if (message.frame.type == FRAME_ERROR) {
                worker_reap(child, REAP_NS);
                return EXIT_FAILED;
            }
            break;
        case WIRE_CHILD_ENDED:
            return child_ended(wire, child, started_ns);
        case WIRE_DRIVER:
            if (message.frame.type == FRAME_CLOCK && verb_tell_clock(wire, &message.frame))
                break;
            worker_kill(child);
            if (message.frame.type == FRAME_STOP)
                return verb_done(wire, "stopped", started_ns);
            message.status = FRAME_NOT_OURS;
            return verb_refuse_frame(wire, &message);
        case WIRE_TIME:
            worker_kill(child);
            wire->deadline_ns = clock_monotonic_ns() + REAP_NS; /* to say so */
            return verb_done(wire, "limit", started_ns);
        case WIRE_REFUSED:
            worker_kill(child);
            return verb_refuse_frame(wire, &message);
        case WIRE_GONE:
            worker_kill(child);
            return EXIT_GONE;
        }
    }
}

int worker_run(struct wire *wire, const struct verb *verb, const struct request *request)
{
    uint64_t started_ns = clock_monotonic_ns();
    struct wire_reader reader;
    struct task task = {verb, request};
    pid_t child = worker_start(run_verb, &task, &reader);
    if (child < 0)
        return verb_failed(wire, &(struct failure){
                                     .error = "worker",
                                     .tried = "start a process for the verb",
                                     .system_error = errno,
                                 });
    int code = supervise(wire, &reader, child, started_ns);
    close(reader.fd);
    if (verb->cleanup != NULL)
        verb->cleanup();
    return code;
}
