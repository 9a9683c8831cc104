/* The verb net: a session of trials. The session stays here, each trial is a process of its own, so
 * the driver is heard at any moment, and nothing of a trial outlives it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "net_settings.h"
#include "net_trial.h"
#include "text.h"
#include "verb.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define REAP_NS (2 * CLOCK_SECOND_NS)
/* A trial reports its figures in this time after its own end. */
#define REPORT_NS (20 * CLOCK_SECOND_NS)

struct session {
    struct wire *wire;
    uint64_t started_ns;
    uint64_t idle_ns;
    uint64_t until_ns; /* the end of silence, or of the trial's time */
    pid_t child;       /* 0: no trial runs */
    bool cancelled;
    bool failed;       /* the trial said so itself */
    uint64_t trial_started_ns, trial_cpu_ns;
    struct wire_reader reader;
    struct net_settings settings;
};

static bool can_be_realtime(void)
{
    struct sched_param high = {.sched_priority = 1}, usual = {.sched_priority = 0};
    if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &high) != 0)
        return false;
    return syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual) == 0;
}

static bool socket_takes(int level, int name, int value)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool taken = fd >= 0 && setsockopt(fd, level, name, &value, sizeof value) == 0;
    if (fd >= 0)
        close(fd);
    return taken;
}

static void put_file(struct json *json, const char *key, const char *name, bool number)
{
    char text[OPTION_LINE_BYTES];
    uint64_t value;
    if (!file_text("/proc/sys/net", name, text, sizeof text))
        return;
    if (!number)
        json_text(json, key, text);
    else if (text_to_u64(text, UINT64_MAX, &value))
        json_u64(json, key, value);
}

/* What this host allows, before any trial: what root would add is what is false here. */
static bool send_facts(struct wire *wire)
{
    char body[2048];
    struct json json;
    json_start(&json, body, sizeof body);
    json_open_object(&json, NULL);
    json_text(&json, "section", "net");
    json_bool(&json, "realtime_allowed", can_be_realtime());
    json_bool(&json, "forced_buffers_allowed", socket_takes(SOL_SOCKET, SO_RCVBUFFORCE, 65536));
    put_file(&json, "largest_send_buffer_bytes", "core/wmem_max", true);
    put_file(&json, "largest_receive_buffer_bytes", "core/rmem_max", true);
    put_file(&json, "tcp_send_buffer", "ipv4/tcp_wmem", false);
    put_file(&json, "tcp_receive_buffer", "ipv4/tcp_rmem", false);
    put_file(&json, "congestion", "ipv4/tcp_congestion_control", false);
    put_file(&json, "congestion_available", "ipv4/tcp_available_congestion_control", false);
    put_file(&json, "congestion_allowed", "ipv4/tcp_allowed_congestion_control", false);
    json_bool(&json, "udp_segmentation", socket_takes(IPPROTO_UDP, UDP_SEGMENT, 1000));
    json_bool(&json, "udp_receive_merging", socket_takes(IPPROTO_UDP, UDP_GRO, 1));
    json_u64(&json, "streams_most_count", NET_STREAMS);
    json_close_object(&json);
    return wire_send(wire, FRAME_RESULT, body, json.length_bytes);
}

static bool send_refusal(struct session *session, const struct failure *failure)
{
    char body[1024 + OPTION_REQUEST_BYTES];
    struct json json;
    json_start(&json, body, sizeof body);
    json_open_object(&json, NULL);
    json_text(&json, "section", "net_failed");
    json_u64(&json, "trial_number", session->settings.trial);
    failure_put(&json, failure);
    json_close_object(&json);
    return wire_send(session->wire, FRAME_RESULT, body, json.length_bytes);
}

/* The last word on a trial; there is one for each, whatever became of it. */
static bool send_end(struct session *session, const char *status)
{
    char body[512];
    struct json json;
    json_start(&json, body, sizeof body);
    json_open_object(&json, NULL);
    json_text(&json, "section", "net_end");
    json_u64(&json, "trial_number", session->settings.trial);
    json_text(&json, "status", status);
    if (session->trial_started_ns != 0) {
        json_u64(&json, "elapsed_ns", clock_monotonic_ns() - session->trial_started_ns);
        json_u64(&json, "cpu_ns", verb_cpu_ns(RUSAGE_CHILDREN) - session->trial_cpu_ns);
    }
    json_close_object(&json);
    session->until_ns = clock_monotonic_ns() + session->idle_ns;
    return wire_send(session->wire, FRAME_RESULT, body, json.length_bytes);
}

static bool start_trial(struct session *session, const struct frame *frame)
{
    static struct request request;
    struct request_error error;
    struct net_settings *settings = &session->settings;
    *settings = (struct net_settings){0};
    session->trial_started_ns = 0;
    session->cancelled = session->failed = false;
    if (!request_parse(&request, frame->body, frame->length_bytes, &error) ||
        !net_settings_read(&request, settings, &error)) {
        return send_refusal(session,
                            &(struct failure){
                                .error = "request",
                                .tried = "read the settings of the trial",
                                .on = error.on,
                                .happened = error.happened,
                                .next = "see the verb net in the probe's README",
                            }) &&
               send_end(session, "failed");
    }
    session->trial_started_ns = clock_monotonic_ns();
    session->trial_cpu_ns = verb_cpu_ns(RUSAGE_CHILDREN);
    session->child = worker_start(net_trial_run, settings, &session->reader);
    if (session->child < 0) {
        session->child = 0;
        return send_refusal(session, &(struct failure){.error = "worker",
                                                       .tried = "start a process for the trial",
                                                       .system_error = errno}) &&
               send_end(session, "failed");
    }
    session->until_ns = session->trial_started_ns + REPORT_NS +
                        CLOCK_MILLISECOND_NS *
                            (settings->setup_ms + settings->lead_ms + settings->duration_ms +
                             settings->drain_ms + settings->timeout_ms);
    return true;
}

static void kill_trial(struct session *session)
{
    if (session->child == 0)
        return;
    worker_kill(session->child);
    close(session->reader.fd);
    session->child = 0;
}

static bool end_trial(struct session *session)
{
    int status = worker_reap(session->child, REAP_NS);
    if (status == -1)
        kill(session->child, SIGKILL);
    close(session->reader.fd);
    session->child = 0;
    bool whole = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!whole && !session->failed && !session->cancelled &&
        !send_refusal(session, &(struct failure){.error = "worker",
                                                 .tried = "run the trial",
                                                 .happened = "it ended before its time"}))
        return false;
    return send_end(session, session->cancelled ? "cancelled" : whole ? "done" : "failed");
}

/* False if the session is over; then `code` is how. */
static bool hear_driver(struct session *session, struct wire_message *message, int *code)
{
    static const char cancel[] = "cancel\n";
    const struct frame *frame = &message->frame;
    *code = EXIT_GONE;
    if (session->child == 0)
        session->until_ns = clock_monotonic_ns() + session->idle_ns;
    if (frame->type == FRAME_CLOCK)
        return verb_tell_clock(session->wire, frame);
    if (frame->type == FRAME_TRIAL && frame->length_bytes == sizeof cancel - 1 &&
        memcmp(frame->body, cancel, sizeof cancel - 1) == 0) {
        if (session->child != 0 && !session->cancelled) {
            session->cancelled = true;
            session->until_ns = clock_monotonic_ns() + REAP_NS;
            kill(session->child, SIGTERM);
        }
        return true; /* else the trial ended while the word was on its way */
    }
    if (frame->type == FRAME_TRIAL && session->child == 0)
        return start_trial(session, frame);
    kill_trial(session);
    if (frame->type == FRAME_STOP) {
        *code = verb_done(session->wire, "stopped", session->started_ns);
    } else {
        message->status = FRAME_NOT_OURS;
        *code = verb_refuse_frame(session->wire, message);
    }
    return false;
}

static bool time_is_up(struct session *session, int *code)
{
    uint64_t now = clock_monotonic_ns();
    bool limit = now >= session->wire->deadline_ns;
    *code = EXIT_GONE;
    if (session->child != 0 && !limit) {
        kill_trial(session);
        session->until_ns = now + session->idle_ns;
        return (session->cancelled ||
                send_refusal(session, &(struct failure){.error = "worker",
                                                        .tried = "wait for the end of the trial",
                                                        .happened = "it did not come"})) &&
               send_end(session, session->cancelled ? "cancelled" : "failed");
    }
    kill_trial(session);
    session->wire->deadline_ns = now + REAP_NS; /* to say so */
    *code = verb_done(session->wire, limit ? "limit" : "idle", session->started_ns);
    return false;
}

static int serve(struct wire *wire, const struct request *request)
{
    static struct session session;
    struct wire_message message;
    struct request_error error;
    uint64_t idle_seconds = 60;
    int code = EXIT_GONE;
    if (!request_u64(request, "idle_seconds", 1, 3600, &idle_seconds, &error))
        return verb_failed(wire, &(struct failure){.error = "request",
                                                   .tried = "read the request",
                                                   .on = error.on,
                                                   .happened = error.happened,
                                                   .next = "see the probe's README"});
    session = (struct session){.wire = wire,
                               .started_ns = clock_monotonic_ns(),
                               .idle_ns = idle_seconds * CLOCK_SECOND_NS};
    session.until_ns = session.started_ns + session.idle_ns;
    bool going = send_facts(wire);
    while (going) {
        struct wire_reader *reader = session.child != 0 ? &session.reader : NULL;
        code = EXIT_GONE;
        switch (wire_wait(wire, reader, session.until_ns, &message)) {
        case WIRE_DRIVER:
            going = hear_driver(&session, &message, &code);
            break;
        case WIRE_CHILD:
            session.failed |= message.frame.length_bytes > 24 &&
                              memcmp(message.frame.body, "{\"section\":\"net_failed\"", 23) == 0;
            going = wire_send(wire, (enum frame_type)message.frame.type, message.frame.body,
                              message.frame.length_bytes);
            break;
        case WIRE_CHILD_ENDED:
            going = end_trial(&session);
            break;
        case WIRE_TIME:
            going = time_is_up(&session, &code);
            break;
        case WIRE_REFUSED:
            kill_trial(&session);
            return verb_refuse_frame(wire, &message);
        case WIRE_GONE:
            going = false;
            break;
        }
    }
    kill_trial(&session);
    return code;
}

const struct verb verb_net = {
    .name = "net",
    .keys = (const char *const[]){"idle_seconds", "limit_seconds", NULL},
    .limit_seconds = 86400,
    .longest_limit_seconds = 30 * 86400,
    .serve = serve,
};
