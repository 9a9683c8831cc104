/* One TCP stream: send or receive calls of one size until the trial is over. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "net_socket.h"
#include "net_stream.h"

size_t net_tcp_info_read(int fd, struct net_tcp_info *info)
{
    socklen_t length = sizeof *info;
    memset(info, 0, sizeof *info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0 ? length : 0;
}

static void last_look(struct net_stream *stream)
{
    stream->slot->tcp_bytes = net_tcp_info_read(stream->fd, &stream->slot->tcp);
}

/* Reads until the other end closes, at most `drain_ms`. True if it did. */
static bool drain(struct net_stream *stream, size_t block, bool counts)
{
    uint64_t until_ns =
        clock_monotonic_ns() + stream->settings->drain_ms * CLOCK_MILLISECOND_NS;
    net_tick_at(until_ns);
    for (;;) {
        ssize_t got = recv(stream->fd, stream->buffer, block, 0);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0 && counts) {
            stream->count.bytes += (uint64_t)got;
            stream->count.calls++;
        }
        if (net_ticked != 0) {
            net_ticked = 0;
            if (clock_monotonic_ns() >= until_ns || *stream->cancelled != 0) {
                stream->slot->timed_out = true;
                return false;
            }
        }
    }
}

/* iperf3 closes the connection when the driver tells it to, after this end's report. All has arrived
 * when the end of the stream is acknowledged. False if it was not within `drain_ms`. */
static bool wait_for_acks(struct net_stream *stream)
{
    uint64_t now = clock_monotonic_ns(),
             until_ns = now + stream->settings->drain_ms * CLOCK_MILLISECOND_NS;
    int unacked = 1;
    while (ioctl(stream->fd, TIOCOUTQ, &unacked) == 0 && unacked > 0) {
        if (net_socket_error(stream->fd))
            return false;
        now = clock_monotonic_ns();
        if (now >= until_ns || *stream->cancelled != 0) {
            stream->slot->timed_out = true;
            return false;
        }
        clock_sleep_until(now + CLOCK_MILLISECOND_NS);
    }
    return true;
}

static _Noreturn void finish(struct net_stream *stream, bool drained, enum net_outcome outcome)
{
    last_look(stream);
    net_stream_note_socket(stream);
    /* What a slow path still holds would be in the way of the next trial. */
    if (drained)
        close(stream->fd);
    else
        net_abort(stream->fd);
    stream->fd = -1;
    net_stream_end(stream, outcome);
}

static _Noreturn void run_sender(struct net_stream *stream)
{
    size_t block = (size_t)stream->settings->block_bytes;
    uint64_t left = stream->settings->bytes != 0 ? stream->settings->bytes : UINT64_MAX;
    while (left > 0) {
        ssize_t put = send(stream->fd, stream->buffer, block < left ? block : (size_t)left,
                           MSG_NOSIGNAL);
        if (put >= 0) {
            stream->count.bytes += (uint64_t)put;
            stream->count.calls++;
            left -= (uint64_t)put;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            net_stream_cut(stream);
            finish(stream, false, NET_PEER_ENDED);
        } else if (errno != EINTR) {
            net_stream_fail(stream, "send");
        }
        if (net_ticked != 0 && !net_stream_at(stream, clock_monotonic_ns()))
            break;
    }
    if (left == 0)
        net_stream_cut(stream);
    shutdown(stream->fd, SHUT_WR);
    bool arrived = stream->settings->iperf3 ? wait_for_acks(stream) : drain(stream, block, false);
    finish(stream, arrived, NET_DONE);
}

static _Noreturn void run_receiver(struct net_stream *stream)
{
    size_t block = (size_t)stream->settings->block_bytes;
    for (;;) {
        ssize_t got = recv(stream->fd, stream->buffer, block, 0);
        if (got > 0) {
            stream->count.bytes += (uint64_t)got;
            stream->count.calls++;
        } else if (got == 0) {
            net_stream_cut(stream);
            finish(stream, true, NET_DONE);
        } else if (errno == ECONNRESET) {
            net_stream_cut(stream);
            finish(stream, false, NET_PEER_ENDED);
        } else if (errno != EINTR) {
            net_stream_fail(stream, "receive");
        }
        if (net_ticked != 0 && !net_stream_at(stream, clock_monotonic_ns()))
            break;
    }
    finish(stream, drain(stream, block, true), NET_DONE);
}

_Noreturn void net_tcp_run(struct net_stream *stream)
{
    net_stream_buffer(stream, (size_t)stream->settings->block_bytes);
    net_greet(stream);
    net_stream_start(stream, true);
    if (stream->sends)
        run_sender(stream);
    run_receiver(stream);
}
