#include "net_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"
#include "report.h"

/* From the last answer to the common start: time to start that many processes on a small machine. */
#define START_NS (5 * CLOCK_MILLISECOND_NS)
#define START_STREAM_NS (2 * CLOCK_MILLISECOND_NS)
/* Beyond what its settings allow, a stream is stuck. */
#define GRACE_NS (2 * CLOCK_SECOND_NS)
#define CANCEL_NS (500 * CLOCK_MILLISECOND_NS)
#define REALTIME_PRIORITY 10
/* Of the driver's end, and what the parent process had. */
#define OTHER_FILES 64u
#define IPV4_UDP_HEADERS 28u
#define IPV6_UDP_HEADERS 48u

static volatile sig_atomic_t cancelled;

static void note_cancel(int number)
{
    (void)number;
    cancelled = 1;
    net_ticked = 1;
}

static void watch_cancel(void)
{
    struct sigaction action = {.sa_handler = note_cancel};
    sigaction(SIGTERM, &action, NULL);
}

static bool sends(const struct net_settings *settings, unsigned stream)
{
    switch (settings->job) {
    case NET_SEND:
    case NET_REQUEST:
    case NET_CONNECT:
        return true;
    case NET_BOTH: /* the first half is sent by the end that opened the connections */
        return (stream < settings->streams) != settings->listens;
    default:
        return false;
    }
}

/* The C libraries' own function works on threads, or not at all (musl). */
static bool become_realtime(void)
{
    struct sched_param parameters = {.sched_priority = REALTIME_PRIORITY};
    return syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters) == 0;
}

/* A connection is closed when the last process that has it does so; `but` keeps its own. */
static void close_all(struct net_ends *ends, const struct net_stream *but)
{
    for (unsigned i = 0; i < ends->count; i++) {
        bool own = but != NULL && ((i >= but->socket && i < but->socket + but->flows) ||
                                   ends->fds[i] == but->fd);
        if (ends->fds[i] >= 0 && !own)
            close(ends->fds[i]);
    }
}

static _Noreturn void be_stream(struct net_stream *stream, struct net_ends *ends, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close_all(ends, stream);
    if (stream->settings->realtime != 0)
        stream->slot->realtime = become_realtime();
    switch (stream->settings->job) {
    case NET_REQUEST:
        net_request_run(stream);
    case NET_RESPOND:
        net_respond_run(stream);
    case NET_CONNECT:
        net_connect_run(stream);
    case NET_ACCEPT:
        net_accept_run(stream);
    default:
        if (!stream->settings->udp)
            net_tcp_run(stream);
        if (stream->sends)
            net_udp_send_run(stream);
        net_udp_receive_run(stream);
    }
}

/* Datagrams are never fragmented unasked: the kernel would refuse them one by one. */
static bool fits(const struct net_settings *settings, int fd, uint64_t *path_mtu_bytes)
{
    bool six = settings->peer.family == AF_INET6;
    int mtu = 0;
    socklen_t length = sizeof mtu;
    *path_mtu_bytes = 0;
    if (!settings->udp || settings->fragment != 0 || settings->job == NET_RECEIVE)
        return true;
    if (getsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU : IP_MTU, &mtu, &length) !=
            0 ||
        mtu <= 0)
        return true;
    *path_mtu_bytes = (uint64_t)mtu;
    uint64_t payload = settings->job == NET_REQUEST   ? settings->request_bytes
                       : settings->job == NET_RESPOND ? settings->response_bytes
                                                      : settings->payload_bytes;
    return payload + (six ? IPV6_UDP_HEADERS : IPV4_UDP_HEADERS) <= (uint64_t)mtu;
}

static bool set_up(const struct net_settings *settings, struct net_ends *ends, unsigned count,
                   struct net_wrong *wrong)
{
    if (settings->job == NET_CONNECT) {
        for (unsigned i = 0; i < count; i++)
            ends->fds[i] = -1;
        ends->count = count;
        return true;
    }
    if (!settings->listens)
        return net_connect_all(settings, ends, count, &cancelled, wrong);
    if (!net_listen(settings, ends, wrong))
        return false;
    struct json *json = report_begin("net_listening");
    json_u64(json, "trial_number", settings->trial);
    json_u64(json, "port_number", ends->port);
    report_end();
    if (settings->job != NET_ACCEPT)
        return net_accept_all(settings, ends, count, &cancelled, wrong);
    /* All streams accept from one socket. */
    fcntl(ends->listener, F_SETFL, fcntl(ends->listener, F_GETFL) | O_NONBLOCK);
    ends->count = count;
    for (unsigned i = 0; i < count; i++)
        ends->fds[i] = ends->listener;
    return true;
}

static void kill_all(const pid_t *children, unsigned count, int number)
{
    for (unsigned i = 0; i < count; i++)
        if (children[i] > 0)
            kill(children[i], number);
}

/* Until all have ended: by themselves, soon after a cancellation, or by force. */
static void wait_for(pid_t *children, unsigned count, uint64_t until_ns)
{
    bool told = false;
    unsigned left = count;
    net_tick_at(clock_monotonic_ns()); /* from now on, a look at the clock every 20 ms */
    while (left > 0) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        for (unsigned i = 0; ended > 0 && i < count; i++)
            if (children[i] == ended) {
                children[i] = 0;
                left--;
            }
        if (ended < 0 && errno != EINTR)
            return;
        uint64_t now = clock_monotonic_ns();
        if (cancelled != 0 && !told) {
            told = true;
            kill_all(children, count, SIGTERM);
            if (now + CANCEL_NS < until_ns)
                until_ns = now + CANCEL_NS;
        }
        if (now >= until_ns) {
            kill_all(children, count, SIGKILL);
            until_ns = CLOCK_NEVER_NS;
        }
    }
}

/* Usual limits have room for half of the sockets of a trial with many flows. setrlimit would make
   static programs 2 kB larger. */
static void allow_files(unsigned count)
{
    struct rlimit files;
    if (prlimit(0, RLIMIT_NOFILE, NULL, &files) != 0 || files.rlim_cur >= count)
        return;
    files.rlim_cur = files.rlim_max < count ? files.rlim_max : count;
    prlimit(0, RLIMIT_NOFILE, &files, NULL);
}

static _Noreturn void give_up(const struct net_settings *settings, const struct net_wrong *wrong,
                              uint64_t path_mtu_bytes)
{
    net_report_failure(settings->trial, wrong, path_mtu_bytes);
    _exit(1);
}

void net_trial_run(const void *context)
{
    const struct net_settings *settings = context;
    /* With a value it would be part of the file. */
    static struct net_ends ends;
    ends.listener = -1;
    static struct net_stream streams[2 * NET_STREAMS];
    static pid_t children[2 * NET_STREAMS];
    struct net_wrong wrong = {0};
    uint64_t begun_ns = clock_monotonic_ns(), path_mtu_bytes = 0;
    unsigned count = (unsigned)settings->streams * (settings->job == NET_BOTH ? 2 : 1);
    size_t room = (size_t)((settings->lead_ms + settings->duration_ms) / settings->interval_ms) + 4;
    size_t segments = settings->segment_packets != 0 ? OPTION_NET_INTERVALS : 0;
    size_t one = (sizeof(struct net_slot) + room * sizeof(struct net_interval) +
                  segments * sizeof(struct net_times) + 63) &
                 ~(size_t)63;
    unsigned flows = (unsigned)settings->flows;
    watch_cancel();
    net_watch_ticks();

    uint8_t *memory =
        mmap(NULL, count * one, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up(settings,
                &(struct net_wrong){"get memory for the figures", NULL, errno,
                                    "choose longer intervals or fewer streams"},
                0);
    allow_files(count * flows + OTHER_FILES);
    if (!set_up(settings, &ends, count * flows, &wrong))
        give_up(settings, &wrong, 0);
    if (settings->job < NET_CONNECT && !fits(settings, ends.fds[0], &path_mtu_bytes))
        give_up(settings,
                &(struct net_wrong){"send datagrams of that length",
                                    "they are longer than a packet of the path", 0,
                                    "choose a shorter payload, or allow fragments"},
                path_mtu_bytes);

    uint64_t start_ns = clock_monotonic_ns() + START_NS + count * START_STREAM_NS;
    pid_t self = getpid();
    for (unsigned i = 0; i < count; i++) {
        void *place = memory + i * one;
        struct net_slot *slot = place;
        struct net_interval *behind = (void *)(slot + 1);
        streams[i] = (struct net_stream){
            .settings = settings,
            .cancelled = &cancelled,
            .slot = slot,
            .intervals = behind,
            .interval_room = room,
            .segments = (void *)(behind + room),
            .segment_room = segments,
            .fd = ends.fds[i * flows],
            .fds = &ends.fds[i * flows],
            .flows = flows,
            .number = i,
            .socket = i * flows,
            .sends = sends(settings, i),
            .tag = net_tag(settings->token, i),
            .start_ns = start_ns,
        };
        children[i] = _Fork();
        if (children[i] == 0)
            be_stream(&streams[i], &ends, self);
        if (children[i] < 0) {
            kill_all(children, i, SIGKILL);
            give_up(settings,
                    &(struct net_wrong){"start a process for a stream", NULL, errno, NULL}, 0);
        }
    }
    close_all(&ends, NULL);
    struct json *json = report_begin("net_started");
    json_u64(json, "trial_number", settings->trial);
    json_u64(json, "streams_count", count);
    json_u64(json, "setup_ns", clock_monotonic_ns() - begun_ns);
    if (path_mtu_bytes != 0)
        json_u64(json, "path_mtu_bytes", path_mtu_bytes);
    json_u64(json, "foreign_count", ends.foreign);
    report_end();

    uint64_t most_ms = settings->setup_ms + settings->lead_ms + settings->duration_ms +
                       settings->drain_ms + settings->timeout_ms;
    wait_for(children, count, start_ns + most_ms * CLOCK_MILLISECOND_NS + GRACE_NS);
    for (unsigned i = 0; i < count; i++)
        net_report_stream(&streams[i]);
    _exit(0);
}
