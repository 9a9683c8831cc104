/* One stream of datagrams that is received. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "net_socket.h"
#include "net_stream.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
/* Of the numbers of SO_MEMINFO, the one that counts datagrams dropped for lack of buffer. */
#define MEMINFO_DROPS 8
#define MEMINFO_NUMBERS 9
/* With UDP_GRO, a message is up to 64 KiB of datagrams. */
#define GRO_MESSAGES 8u
#define GRO_BYTES 65536u
/* Datagrams that the last one overtook. */
#define STRAGGLERS_NS (20 * CLOCK_MILLISECOND_NS)
#define REPEAT_NS (100 * CLOCK_MILLISECOND_NS)
/* A sender that ends when it likes says so in its last datagrams, which may be lost. */
#define SILENCE_NS (2 * CLOCK_SECOND_NS)

struct receiver {
    struct net_stream *stream;
    size_t payload;
    unsigned messages;  /* of a call at most */
    size_t room;        /* of a message */
    bool started;
    bool peer_gone;
    uint64_t last_ns;       /* arrival of the last datagram */
    int64_t before_ns;      /* transit time of the datagram before */
    uint64_t jitter_16;     /* 16 times the jitter, as RFC 3550 computes it in whole numbers */
};

/* Delay less that of the first one. */
static int64_t take_times(struct receiver *receiver, int64_t transit_ns)
{
    struct net_slot *slot = receiver->stream->slot;
    if (!receiver->started) {
        receiver->started = true;
        receiver->before_ns = slot->first_transit_ns = transit_ns;
    }
    int64_t change_ns = transit_ns - receiver->before_ns;
    uint64_t distance = change_ns < 0 ? 0 - (uint64_t)change_ns : (uint64_t)change_ns;
    receiver->before_ns = transit_ns;
    receiver->jitter_16 += distance - ((receiver->jitter_16 + 8) >> 4);
    int64_t since_first_ns = transit_ns - slot->first_transit_ns;
    if (since_first_ns < slot->least_transit_ns)
        slot->least_transit_ns = since_first_ns;
    histogram_add(&slot->times, (uint64_t)(since_first_ns - slot->least_transit_ns));
    net_stream_time(receiver->stream, since_first_ns);
    return since_first_ns;
}

static bool read_data(const struct net_stream *stream, const uint8_t *bytes, size_t length,
                      struct net_header *header)
{
    return stream->settings->iperf3
               ? net_iperf3_header_read(bytes, length, header)
               : net_header_read(bytes, length, NET_DATA, stream->tag, header);
}

static void take(struct receiver *receiver, const uint8_t *bytes, size_t length, uint64_t now_ns)
{
    struct net_stream *stream = receiver->stream;
    struct net_slot *slot = stream->slot;
    struct net_header header;
    if (read_data(stream, bytes, length, &header) &&
        length == net_payload(stream->settings, header.sequence)) {
        switch (net_order_take(&slot->order, header.sequence)) {
        case NET_NEW:
        case NET_REORDERED:
            stream->count.packets++;
            stream->count.bytes += length;
            receiver->last_ns = now_ns;
            /* On two clocks: the difference alone says nothing, and may wrap. */
            net_segment_take(stream, header.sequence,
                             take_times(receiver, (int64_t)(now_ns - header.sent_ns)));
            break;
        case NET_DUPLICATE:
        case NET_TOO_LATE:
            break;
        case NET_ABSURD:
            slot->foreign++;
            break;
        }
    } else if (!stream->settings->iperf3 &&
               net_header_read(bytes, length, NET_FINISH, stream->tag, &header)) {
        if (slot->sent == 0)
            slot->sent = header.sequence;
    } else if (!net_greeting_of_trial(bytes, length, stream->settings->token)) {
        slot->foreign++;
    }
}

/* A message may be several datagrams that the kernel merged. They have one length, which is known here,
 * so that the kernel need not say it. */
static void take_message(struct receiver *receiver, const uint8_t *bytes, size_t length,
                         uint64_t now_ns)
{
    size_t piece = length > 0 && length % receiver->payload == 0 ? receiver->payload : length;
    do {
        take(receiver, bytes, piece, now_ns);
        bytes += piece;
        length -= piece;
    } while (length > 0);
}

/* One system call on this socket. False if nothing came. */
static bool receive_from(struct receiver *receiver, int fd, bool waits)
{
    struct net_stream *stream = receiver->stream;
    struct mmsghdr messages[NET_BATCH];
    struct iovec parts[NET_BATCH];
    int got;
    if (receiver->messages == 1) {
        /* MSG_TRUNC: the length that it had, also if it was longer than the room for it. */
        ssize_t length = recv(fd, stream->buffer, receiver->room,
                              waits ? MSG_TRUNC : MSG_TRUNC | MSG_DONTWAIT);
        got = length >= 0 ? 1 : -1;
        if (length >= 0)
            take_message(receiver, stream->buffer,
                         (size_t)length <= receiver->room ? (size_t)length : 0,
                         clock_monotonic_ns());
    } else {
        memset(messages, 0, receiver->messages * sizeof *messages);
        for (unsigned i = 0; i < receiver->messages; i++) {
            parts[i] = (struct iovec){stream->buffer + i * receiver->room, receiver->room};
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        got = recvmmsg(fd, messages, receiver->messages,
                       waits ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);
        uint64_t now = clock_monotonic_ns();
        for (int i = 0; i < got; i++) {
            bool cut = (messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
            take_message(receiver, parts[i].iov_base, cut ? 0 : messages[i].msg_len, now);
        }
    }
    if (got > 0) {
        stream->count.calls++;
        return true;
    }
    if (errno == ECONNREFUSED)
        receiver->peer_gone = true;
    else if (errno != EINTR && errno != EAGAIN)
        net_stream_fail(stream, "receive a datagram");
    return false;
}

/* What came on any flow; waits for it. False if nothing did. */
static bool receive_some(struct receiver *receiver)
{
    const struct net_stream *stream = receiver->stream;
    if (stream->flows == 1)
        return receive_from(receiver, stream->fd, true);
    struct pollfd files[NET_SOCKETS];
    for (unsigned i = 0; i < stream->flows; i++)
        files[i] = (struct pollfd){.fd = stream->fds[i], .events = POLLIN};
    bool some = false;
    if (poll(files, stream->flows, -1) <= 0)
        return false;
    for (unsigned i = 0; i < stream->flows; i++)
        if (files[i].revents != 0 && receive_from(receiver, files[i].fd, false))
            some = true;
    return some;
}

/* Until the sender's last datagram, and a little longer for those that it overtook. */
static void receive_rest(struct receiver *receiver, uint64_t until_ns)
{
    struct net_stream *stream = receiver->stream;
    const struct net_slot *slot = stream->slot;
    bool shortened = false;
    for (;;) {
        if (slot->sent != 0 && slot->order.received >= slot->sent)
            return;
        if (slot->sent != 0 && !shortened) {
            uint64_t soon_ns = clock_monotonic_ns() + STRAGGLERS_NS;
            until_ns = soon_ns < until_ns ? soon_ns : until_ns;
            shortened = true;
        }
        if (clock_monotonic_ns() >= until_ns || *stream->cancelled != 0 || receiver->peer_gone)
            break;
        net_tick_at(until_ns);
        receive_some(receiver);
    }
    /* iperf3 does not say which one was the last. */
    stream->slot->timed_out = slot->sent == 0 && !stream->settings->iperf3;
}

static void read_drops(struct net_stream *stream)
{
    uint32_t numbers[MEMINFO_NUMBERS];
    socklen_t length = sizeof numbers;
    if (stream->flows == 1 &&
        getsockopt(stream->fd, SOL_SOCKET, SO_MEMINFO, numbers, &length) == 0 &&
        length == sizeof numbers) {
        stream->slot->drops_known = true;
        stream->slot->socket_drops = numbers[MEMINFO_DROPS];
    }
}

_Noreturn void net_udp_receive_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    struct net_slot *slot = stream->slot;
    int on = 1;
    struct receiver receiver = {.stream = stream, .payload = (size_t)settings->payload_bytes};
    slot->call = settings->call;
    receiver.messages = settings->call == NET_CALL_ONE ? 1 : (unsigned)settings->batch;
    receiver.room = receiver.payload > NET_GREETING_BYTES ? receiver.payload : NET_GREETING_BYTES;
    if (settings->call == NET_CALL_GSO &&
        setsockopt(stream->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0) {
        receiver.room = GRO_BYTES;
        if (receiver.messages > GRO_MESSAGES)
            receiver.messages = GRO_MESSAGES;
    } else if (settings->call == NET_CALL_GSO) {
        slot->call = NET_CALL_MMSG; /* before Linux 5.0 */
    }
    net_stream_buffer(stream, receiver.messages * receiver.room);
    net_greet(stream);
    net_stream_start(stream, true);
    receiver.last_ns = stream->start_ns;
    uint64_t repeat_ns = stream->start_ns + REPEAT_NS;
    bool whole = false;
    while (!whole) {
        receive_some(&receiver);
        if (net_ticked != 0 || receiver.peer_gone) {
            uint64_t now = clock_monotonic_ns();
            bool repeats = !settings->listens && !settings->iperf3;
            if (!receiver.started && repeats && now >= repeat_ns) {
                net_say(stream, NET_GO);
                repeat_ns = now + REPEAT_NS;
            }
            if (settings->good_segments != 0 && now > receiver.last_ns + SILENCE_NS)
                net_stream_cut(stream);
            if (!net_stream_at(stream, now) || receiver.peer_gone)
                break;
        }
        if (slot->sent != 0) {
            net_stream_cut(stream);
            whole = true;
        }
    }
    receive_rest(&receiver, clock_monotonic_ns() + settings->drain_ms * CLOCK_MILLISECOND_NS);
    slot->jitter_ns = receiver.jitter_16 >> 4;
    read_drops(stream);
    net_order_end(&slot->order, slot->sent);
    net_stream_end(stream, receiver.peer_gone ? NET_PEER_ENDED : NET_DONE);
}
