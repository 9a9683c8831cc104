/* One stream of datagrams that is sent: at a rate in batches, or as fast as the calls allow. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "net_stream.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
/* A wake-up that is later moves the schedule: no burst of all that was missed. */
#define LATE_NS CLOCK_MILLISECOND_NS
#define CATCH_UP_PACKETS 8u
/* The longest UDP payload of one call. */
#define LONGEST_CALL_BYTES 65507u
/* Calls in a row that meet an ICMP error before the peer counts as gone. */
#define UNREACHABLE_CALLS 100u
#define FINISHES 3
/* Of a stream that ends when it likes, behind a queue that is full. */
#define MANY_FINISHES 20
/* Who has not slept for so long cannot keep the rate. */
#define AWAKE_NS (20 * CLOCK_MILLISECOND_NS)

struct sender {
    struct net_stream *stream;
    size_t payload;
    unsigned batch; /* datagrams of a call at most */
    unsigned unreachable_calls;
    uint64_t sequence;
    bool timed;         /* each datagram against the schedule */
    uint64_t origin_ns; /* when the first one was due, by the schedule as it is now, */
    uint64_t batch_ns;  /* and how long the first one of a batch waits for the last one */
};

static void stamp(struct sender *sender, unsigned count, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t *at = sender->stream->buffer + i * sender->payload;
        struct net_header header = {sender->sequence + i, now_ns};
        if (sender->stream->settings->iperf3)
            net_iperf3_header_write(at, header);
        else
            net_header_write(at, NET_DATA, sender->stream->tag, header);
    }
}

static ssize_t call_mmsg(struct sender *sender, unsigned count)
{
    struct mmsghdr messages[NET_BATCH];
    struct iovec parts[NET_BATCH];
    memset(messages, 0, sizeof messages);
    for (unsigned i = 0; i < count; i++) {
        parts[i] = (struct iovec){sender->stream->buffer + i * sender->payload, sender->payload};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    return sendmmsg(sender->stream->fd, messages, count, 0);
}

/* value * to / from, where that overflows. */
static uint64_t scaled(uint64_t value, uint64_t from, uint64_t to)
{
    return value / from * to + value % from * to / from;
}

/* How late the next datagram is: also if the process lost its processor in the batch before. */
static int64_t lateness(const struct sender *sender, uint64_t now_ns)
{
    uint64_t rate = sender->stream->settings->packets_per_second;
    return (int64_t)(now_ns - sender->origin_ns - sender->batch_ns -
                     scaled(sender->sequence, rate, CLOCK_SECOND_NS));
}

/* One system call; returns the datagrams that it took, 0 if it has to be repeated. */
static unsigned send_some(struct sender *sender, unsigned count, uint64_t now_ns)
{
    struct net_stream *stream = sender->stream;
    struct net_slot *slot = stream->slot;
    size_t payload = net_payload(stream->settings, sender->sequence);
    ssize_t took;
    if (count > sender->batch)
        count = sender->batch;
    stamp(sender, count, now_ns);
    int64_t late_ns = sender->timed ? lateness(sender, now_ns) : 0;
    if (count > 1 && slot->call == NET_CALL_MMSG) {
        took = call_mmsg(sender, count);
    } else {
        /* With UDP_SEGMENT, the kernel cuts one long one into datagrams. */
        took = send(stream->fds[sender->sequence % stream->flows], stream->buffer,
                    count * payload, 0);
        took = took < 0 ? -1 : (ssize_t)count;
    }
    if (took > 0) {
        sender->unreachable_calls = 0;
        for (ssize_t i = 0; i < took; i++)
            net_segment_take(stream, sender->sequence++, late_ns);
        stream->count.calls++;
        stream->count.packets += (uint64_t)took;
        stream->count.bytes += (uint64_t)took * payload;
        return (unsigned)took;
    }
    if (errno == ENOBUFS || errno == EAGAIN) {
        slot->refused++;
        clock_sleep_until(clock_monotonic_ns() + 50000);
    } else if (errno == ECONNREFUSED) {
        slot->unreachable++;
        if (++sender->unreachable_calls == UNREACHABLE_CALLS) {
            net_stream_cut(stream);
            net_stream_end(stream, NET_PEER_ENDED);
        }
    } else if (errno != EINTR) {
        net_stream_fail(stream, "send a datagram");
    }
    return 0;
}

static uint64_t left_of(const struct sender *sender)
{
    uint64_t packets = sender->stream->settings->packets;
    return packets == 0 ? UINT64_MAX : packets - sender->sequence;
}

static void send_unlimited(struct sender *sender)
{
    uint64_t left;
    while ((left = left_of(sender)) > 0) {
        uint64_t now = clock_monotonic_ns();
        if (!net_stream_at(sender->stream, now))
            return;
        send_some(sender, left < sender->batch ? (unsigned)left : sender->batch, now);
    }
    net_stream_cut(sender->stream);
}

/* Datagrams that are due `ns` after the start. */
static uint64_t due_after(uint64_t rate, uint64_t ns)
{
    return scaled(ns, CLOCK_SECOND_NS, rate);
}

/* With this priority, nothing else runs on the processor of a process that never sleeps, such as the
 * receiver or the session. */
static void leave_realtime(struct net_stream *stream)
{
    struct sched_param usual = {.sched_priority = 0};
    if (stream->slot->realtime && syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual) == 0)
        stream->slot->realtime = false;
}

static void send_paced(struct sender *sender)
{
    struct net_stream *stream = sender->stream;
    struct net_slot *slot = stream->slot;
    uint64_t rate = stream->settings->packets_per_second;
    uint64_t gap_ns = CLOCK_SECOND_NS / rate, pace_ns = stream->settings->pace_us * 1000;
    uint64_t step_ns = gap_ns > pace_ns ? gap_ns : pace_ns;
    uint64_t wake_ns = stream->start_ns, before_ns = 0;
    uint64_t slept_ns = wake_ns, wanted_segments = stream->settings->good_segments;
    sender->origin_ns = wake_ns;
    sender->batch_ns = step_ns - gap_ns;
    sender->timed = stream->settings->segment_packets != 0;
    while (left_of(sender) > 0 &&
           (wanted_segments == 0 || stream->good_segments < wanted_segments)) {
        bool sleeps = clock_monotonic_ns() < wake_ns;
        clock_sleep_until(wake_ns);
        uint64_t now = clock_monotonic_ns(), late_ns = now > wake_ns ? now - wake_ns : 0;
        slept_ns = sleeps ? now : slept_ns;
        if (!net_stream_at(stream, now))
            return;
        uint64_t due = due_after(rate, now - sender->origin_ns) + 1;
        uint64_t wanted = due > sender->sequence ? due - sender->sequence : 0;
        histogram_add(&slot->more_times, late_ns);
        net_stream_time(stream, (int64_t)late_ns);
        if (late_ns > slot->late_most_ns)
            slot->late_most_ns = late_ns;
        slot->late_wakeups += late_ns > LATE_NS;
        int64_t behind_ns = sender->timed ? lateness(sender, now) : (int64_t)late_ns;
        if (behind_ns > (int64_t)LATE_NS) {
            uint64_t most = due_after(rate, step_ns) + CATCH_UP_PACKETS;
            if (wanted > most) {
                uint64_t shift_ns = (wanted - most) * CLOCK_SECOND_NS / rate;
                sender->origin_ns += shift_ns;
                slot->shifted_ns += shift_ns;
                wanted = most;
            }
        }
        if (wanted > left_of(sender))
            wanted = left_of(sender);
        if (wanted > 0) {
            if (before_ns != 0)
                histogram_add(&slot->times, now - before_ns);
            before_ns = now;
        }
        while (wanted > 0) {
            wanted -= send_some(sender, wanted < NET_BATCH ? (unsigned)wanted : NET_BATCH,
                                clock_monotonic_ns());
            now = clock_monotonic_ns();
            if (now - slept_ns > AWAKE_NS)
                leave_realtime(stream);
            if (wanted > 0 && !net_stream_at(stream, now))
                return;
        }
        /* The next time on the grid; those that have passed meanwhile are not made up for. */
        wake_ns += step_ns;
        now = clock_monotonic_ns();
        if (wake_ns + step_ns < now)
            wake_ns = now;
    }
    net_stream_cut(stream);
}

_Noreturn void net_udp_send_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    struct sender sender = {.stream = stream, .payload = (size_t)settings->payload_bytes};
    stream->slot->call = settings->call;
    int segment = (int)sender.payload;
    if (settings->call == NET_CALL_GSO &&
        setsockopt(stream->fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
        stream->slot->call = NET_CALL_MMSG; /* before Linux 4.18 */
    /* A call has one socket and one size. */
    bool alone = settings->call == NET_CALL_ONE || stream->flows > 1 || settings->small_bytes != 0;
    sender.batch = alone ? 1 : (unsigned)settings->batch;
    if (stream->slot->call == NET_CALL_GSO && sender.batch * sender.payload > LONGEST_CALL_BYTES)
        sender.batch = (unsigned)(LONGEST_CALL_BYTES / sender.payload);
    net_stream_buffer(stream, NET_BATCH * sender.payload);
    prctl(PR_SET_TIMERSLACK, 1);
    net_greet(stream);
    net_stream_start(stream, settings->packets_per_second == 0);
    if (settings->packets_per_second != 0)
        send_paced(&sender);
    else
        send_unlimited(&sender);
    /* Several times, since one may be lost; as many bytes as any other, so that none overtakes. */
    int finishes = settings->good_segments != 0 ? MANY_FINISHES : FINISHES;
    for (int i = 0; i < finishes && !settings->iperf3; i++) {
        int none = 0;
        if (stream->slot->call == NET_CALL_GSO)
            setsockopt(stream->fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none);
        net_header_write(stream->buffer, NET_FINISH, stream->tag,
                         (struct net_header){sender.sequence, clock_monotonic_ns()});
        send(stream->fd, stream->buffer, sender.payload, 0);
        clock_sleep_until(clock_monotonic_ns() + 5 * CLOCK_MILLISECOND_NS);
    }
    net_stream_end(stream, NET_DONE);
}
