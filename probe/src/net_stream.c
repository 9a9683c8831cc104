#include "net_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "net_socket.h"

/* A signal that comes just before a system call does not interrupt it; the next one does. */
#define AGAIN_US 20000
#define LONGEST_US 200000u

volatile sig_atomic_t net_ticked;

static void note_tick(int number)
{
    (void)number;
    net_ticked = 1;
}

void net_watch_ticks(void)
{
    /* Without SA_RESTART: calls that block end with EINTR. */
    struct sigaction action = {.sa_handler = note_tick};
    sigaction(SIGALRM, &action, NULL);
}

void net_tick_at(uint64_t at_ns)
{
    uint64_t now = clock_monotonic_ns(), left_us = at_ns > now ? (at_ns - now) / 1000 + 1 : 1;
    struct itimerval timer = {.it_interval = {0, AGAIN_US}};
    timer.it_value.tv_usec = (suseconds_t)(left_us < LONGEST_US ? left_us : LONGEST_US);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static uint64_t next_boundary(const struct net_stream *stream)
{
    uint64_t now = clock_monotonic_ns(),
             interval_ns = stream->settings->interval_ms * CLOCK_MILLISECOND_NS;
    /* On the grid, also after a pause. */
    uint64_t passed = now > stream->start_ns ? (now - stream->start_ns) / interval_ns : 0;
    uint64_t next = stream->start_ns + (passed + 1) * interval_ns;
    if (!stream->slot->led && next > stream->lead_end_ns)
        next = stream->lead_end_ns;
    return next < stream->end_ns ? next : stream->end_ns;
}

static uint64_t port_of(int fd, int (*name)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    return name(fd, (struct sockaddr *)&address, &length) == 0 ? net_port(&address) : 0;
}

static uint64_t buffer_of(int fd, int name)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 && value > 0 ? (uint64_t)value
                                                                               : 0;
}

static void note_ports(struct net_stream *stream)
{
    if (stream->fd < 0)
        return;
    stream->slot->local_port = port_of(stream->fd, getsockname);
    stream->slot->peer_port = port_of(stream->fd, getpeername);
}

void net_stream_note_socket(struct net_stream *stream)
{
    struct net_slot *slot = stream->slot;
    socklen_t length = sizeof slot->congestion - 1;
    if (stream->fd < 0)
        return;
    slot->send_buffer_bytes = buffer_of(stream->fd, SO_SNDBUF);
    slot->receive_buffer_bytes = buffer_of(stream->fd, SO_RCVBUF);
    if (!stream->settings->udp)
        getsockopt(stream->fd, IPPROTO_TCP, TCP_CONGESTION, slot->congestion, &length);
}

void net_stream_start(struct net_stream *stream, bool ticking)
{
    const struct net_settings *settings = stream->settings;
    if (stream->start_ns == 0)
        stream->start_ns = clock_monotonic_ns();
    stream->slot->started_ns = stream->start_ns;
    stream->lead_end_ns = stream->start_ns + settings->lead_ms * CLOCK_MILLISECOND_NS;
    stream->end_ns = stream->lead_end_ns + settings->duration_ms * CLOCK_MILLISECOND_NS;
    stream->count = (struct net_count){0};
    stream->slot->led = settings->lead_ms == 0;
    /* Both: one that ends before its first interval has done nothing, and not less than that. */
    stream->slot->lead.cpu_ns = stream->slot->end.cpu_ns = clock_process_cpu_ns();
    stream->next_ns = next_boundary(stream);
    note_ports(stream);
    stream->ticking = ticking;
    if (ticking)
        net_tick_at(stream->next_ns);
}

void net_stream_time(struct net_stream *stream, int64_t ns)
{
    net_times_add(&stream->interval_times, ns);
}

/* Requests and connections of the lead-in are not counted, and neither are their times. */
static void forget_requests(struct net_slot *slot)
{
    memset(&slot->times, 0, sizeof slot->times);
    memset(&slot->more_times, 0, sizeof slot->more_times);
    slot->unanswered = slot->late_answers = slot->wrong_answers = 0;
    slot->refused = slot->refused_connections = 0;
}

static void record(struct net_stream *stream, uint64_t now_ns)
{
    struct net_slot *slot = stream->slot;
    stream->count.at_ns = now_ns - stream->start_ns;
    stream->count.cpu_ns = clock_process_cpu_ns();
    slot->end = slot->last = stream->count;
    bool leads = now_ns >= stream->lead_end_ns && !slot->led;
    if (leads) {
        slot->lead = stream->count;
        slot->led = true;
        if (stream->settings->job > NET_BOTH)
            forget_requests(slot);
    }
    if (slot->interval_count == stream->interval_room)
        return;
    struct net_interval *interval = &stream->intervals[slot->interval_count++];
    interval->count = stream->count;
    if (stream->settings->udp || stream->settings->job > NET_BOTH) {
        interval->is.udp.next = slot->order.next;
        interval->is.udp.lost = net_order_lost(&slot->order);
        interval->is.udp.times = stream->interval_times;
        stream->interval_times = (struct net_times){0};
    } else {
        slot->tcp_bytes = net_tcp_info_read(stream->fd, &slot->tcp);
        slot->end_acked_bytes = slot->tcp.acked_bytes;
        if (leads)
            slot->lead_acked_bytes = slot->end_acked_bytes;
        interval->is.tcp.rtt_us = slot->tcp.rtt_us;
        interval->is.tcp.cwnd_packets = slot->tcp.cwnd_packets;
        interval->is.tcp.retransmits = slot->tcp.retransmits;
        interval->is.tcp.delivery_bytes_per_second = slot->tcp.delivery_bytes_per_second;
    }
}

bool net_stream_at(struct net_stream *stream, uint64_t now_ns)
{
    net_ticked = 0;
    if (stream->over)
        return false;
    stream->over = now_ns >= stream->end_ns || *stream->cancelled != 0;
    if (now_ns < stream->next_ns && !stream->over)
        return true;
    record(stream, now_ns);
    if (stream->over)
        return false;
    stream->next_ns = next_boundary(stream);
    if (stream->ticking)
        net_tick_at(stream->next_ns);
    return true;
}

void net_stream_cut(struct net_stream *stream)
{
    if (!stream->over)
        record(stream, clock_monotonic_ns());
    stream->over = true;
}

_Noreturn void net_stream_end(struct net_stream *stream, enum net_outcome outcome)
{
    struct net_slot *slot = stream->slot;
    struct rusage usage;
    net_stream_note_socket(stream);
    if (slot->started_ns != 0) {
        stream->count.at_ns = clock_monotonic_ns() - stream->start_ns;
        stream->count.cpu_ns = clock_process_cpu_ns();
        slot->last = stream->count;
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        slot->user_ns = (uint64_t)usage.ru_utime.tv_sec * CLOCK_SECOND_NS +
                        (uint64_t)usage.ru_utime.tv_usec * 1000;
        slot->system_ns = (uint64_t)usage.ru_stime.tv_sec * CLOCK_SECOND_NS +
                          (uint64_t)usage.ru_stime.tv_usec * 1000;
        slot->voluntary_switches = (uint64_t)usage.ru_nvcsw;
        slot->involuntary_switches = (uint64_t)usage.ru_nivcsw;
    }
    slot->outcome = outcome;
    _exit(0);
}

_Noreturn void net_stream_fail(struct net_stream *stream, const char *tried)
{
    stream->slot->system_error = errno;
    stream->slot->tried = tried;
    net_stream_end(stream, NET_FAILED);
}

void net_stream_buffer(struct net_stream *stream, size_t bytes)
{
    stream->buffer =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stream->buffer == MAP_FAILED)
        net_stream_fail(stream, "get memory for the payload");
    /* Not zeros, and there before the trial: a page that was never written is a shared one. */
    memset(stream->buffer, 0x5a, bytes);
}

void net_say(struct net_stream *stream, enum net_greeting kind)
{
    uint8_t greeting[NET_GREETING_BYTES];
    net_greeting_write(greeting, kind, stream->socket, stream->settings->token);
    net_send_all(stream->fd, greeting, sizeof greeting);
}

/* A word of the opening end, without taking what follows it. */
static bool heard(struct net_stream *stream, enum net_greeting kind, bool *other)
{
    uint8_t bytes[NET_GREETING_BYTES + 1];
    unsigned number = 0;
    size_t room = stream->settings->udp ? sizeof bytes : NET_GREETING_BYTES;
    ssize_t got = recv(stream->fd, bytes, room, MSG_PEEK | MSG_DONTWAIT);
    *other = false;
    if (got < 0)
        return false;
    if (net_greeting_read(bytes, (size_t)got, kind, stream->settings->token, &number) &&
        number == stream->socket) {
        while (recv(stream->fd, bytes, room, MSG_DONTWAIT) < 0 && errno == EINTR)
            continue;
        return true;
    }
    *other = true;
    return false;
}

/* Greets over another one of its sockets from now on. */
static void use_flow(struct net_stream *stream, unsigned flow)
{
    stream->fd = stream->fds[flow];
    stream->socket = stream->number * stream->flows + flow;
}

/* On all flows, the first one last, with pauses that sum up to pauses_ns. */
static void say_ready(struct net_stream *stream, uint64_t pauses_ns)
{
    for (unsigned i = stream->flows; i-- > 0;) {
        use_flow(stream, i);
        net_say(stream, NET_READY);
        if (pauses_ns > 0)
            clock_sleep_until(clock_monotonic_ns() + pauses_ns / stream->flows);
    }
}

/* The listening end: the connection is accepted here, and nothing is sent before that. */
static void wait_for_go(struct net_stream *stream)
{
    uint64_t until_ns = clock_monotonic_ns() + stream->settings->setup_ms * CLOCK_MILLISECOND_NS;
    struct net_header header;
    uint8_t bytes[NET_GREETING_BYTES];
    say_ready(stream, 0);
    while (*stream->cancelled == 0) {
        bool other;
        if (heard(stream, NET_GO, &other))
            return;
        if (other && stream->settings->udp) {
            if (heard(stream, NET_HELLO, &other)) {
                net_say(stream, NET_READY); /* the first was lost */
                continue;
            }
            /* The word was lost, and the first datagram says the same. */
            ssize_t got = recv(stream->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
            if (got > 0 && (net_header_read(bytes, (size_t)got, NET_DATA, stream->tag, &header) ||
                            net_header_read(bytes, (size_t)got, NET_ASK, stream->tag, &header)))
                return;
            got = recv(stream->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
            if (got >= 0 && !net_greeting_of_trial(bytes, (size_t)got, stream->settings->token))
                stream->slot->foreign++;
            continue;
        }
        if (other) { /* TCP: an end, or a part of the word */
            ssize_t got = recv(stream->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
            if (got == 0 || got == (ssize_t)sizeof bytes) {
                errno = got == 0 ? ECONNRESET : EPROTO;
                net_stream_fail(stream, "wait for the other end to start the trial");
            }
        }
        struct pollfd file = {.fd = stream->fd, .events = POLLIN};
        uint64_t now = clock_monotonic_ns();
        if (now >= until_ns) {
            errno = ETIMEDOUT;
            net_stream_fail(stream, "wait for the other end to start the trial");
        }
        int ready = poll(&file, 1, other ? 10 : 100);
        if (ready > 0 && other)
            clock_sleep_until(now + CLOCK_MILLISECOND_NS);
        if (ready == 0 && stream->flows > 1)
            /* Some were lost; the hellos that ask again lie there. A policer with a small burst would
             * take the same ones out of each volley. */
            say_ready(stream, 100 * CLOCK_MILLISECOND_NS);
        /* An end that came soon after the word does not take it back. */
        if (net_socket_error(stream->fd)) {
            int happened = errno;
            if (heard(stream, NET_GO, &other))
                return;
            errno = happened;
            net_stream_fail(stream, "wait for the other end to start the trial");
        }
    }
}

void net_greet(struct net_stream *stream)
{
    if (stream->settings->iperf3) { /* it has begun already */
        if (stream->sends)
            clock_sleep_until(stream->start_ns);
        stream->start_ns = 0;
        return;
    }
    if (stream->settings->listens) {
        wait_for_go(stream);
        stream->start_ns = 0; /* now */
        return;
    }
    clock_sleep_until(stream->start_ns);
    stream->start_ns = 0; /* now: a process that got its processor late has its whole time too */
    net_say(stream, NET_GO);
}
