/* Requests with their answers, one at a time: round trips at the level of programs. And connections. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "net_socket.h"
#include "net_stream.h"

/* An answering end that serves connections looks at the clock this often. */
#define LOOK_MS 50
/* A connection that says nothing is given up. */
#define SILENCE_NS (500 * CLOCK_MILLISECOND_NS)
#define PAUSE_NS (10 * CLOCK_MILLISECOND_NS)

/* A frame has whole numbers of one type; memory has another. */
static size_t request_size(const struct net_stream *stream)
{
    return (size_t)stream->settings->request_bytes;
}

static size_t response_size(const struct net_stream *stream)
{
    return (size_t)stream->settings->response_bytes;
}

/* Greetings are repeated, and may come between datagrams. */
static size_t room_for(size_t size) { return size > NET_GREETING_BYTES ? size : NET_GREETING_BYTES; }

static bool is_greeting(const struct net_stream *stream, ssize_t got)
{
    return got == NET_GREETING_BYTES &&
           net_greeting_of_trial(stream->buffer, NET_GREETING_BYTES, stream->settings->token);
}

static void get_buffer(struct net_stream *stream)
{
    net_stream_buffer(stream, room_for(request_size(stream) > response_size(stream)
                                           ? request_size(stream)
                                           : response_size(stream)));
}

/* When the next request is due: at once without a rate. With one, the time counts from when it was
 * due, so that a slow answer does not hide the requests that had to wait for it. Streams take turns:
 * requests that are due at the same time would wait for each other. */
static uint64_t wait_for_turn(struct net_stream *stream, uint64_t number)
{
    uint64_t rate = stream->settings->requests_per_second;
    if (rate == 0)
        return clock_monotonic_ns();
    uint64_t turn_ns = CLOCK_SECOND_NS / rate * stream->number / stream->settings->streams;
    uint64_t due_ns = stream->start_ns + turn_ns + number / rate * CLOCK_SECOND_NS +
                      number % rate * CLOCK_SECOND_NS / rate;
    /* In pieces: the trial may be cancelled. */
    while (net_stream_at(stream, clock_monotonic_ns())) {
        uint64_t now = clock_monotonic_ns(), most_ns = now + LOOK_MS * CLOCK_MILLISECOND_NS;
        if (now >= due_ns)
            return due_ns;
        clock_sleep_until(due_ns < most_ns ? due_ns : most_ns);
    }
    return due_ns;
}

static _Noreturn void lose_peer(struct net_stream *stream)
{
    net_stream_cut(stream);
    net_stream_end(stream, NET_PEER_ENDED);
}

/* The answer to that request, before `until_ns`. The socket itself gives up after the timeout. */
static bool await_answer(struct net_stream *stream, uint64_t number, uint64_t until_ns)
{
    const struct net_settings *settings = stream->settings;
    struct net_header header;
    size_t have = 0;
    do {
        ssize_t got = settings->udp ? recv(stream->fd, stream->buffer,
                                           room_for(response_size(stream)), MSG_TRUNC)
                                    : recv(stream->fd, stream->buffer,
                                           response_size(stream) - have, 0);
        if (got < 0 && errno != EINTR && errno != EAGAIN && errno != ECONNREFUSED &&
            errno != ECONNRESET)
            net_stream_fail(stream, "receive an answer");
        if ((got < 0 && (errno == ECONNREFUSED || errno == ECONNRESET)) ||
            (got == 0 && !settings->udp))
            lose_peer(stream);
        if (got < 0)
            continue;
        if (!settings->udp) {
            have += (size_t)got;
            if (have == response_size(stream))
                return true;
        } else if ((size_t)got != response_size(stream) ||
                   !net_header_read(stream->buffer, (size_t)got, NET_ANSWER, stream->tag,
                                    &header)) {
            stream->slot->wrong_answers += !is_greeting(stream, got);
        } else if (header.sequence != number) {
            stream->slot->late_answers++;
        } else {
            return true;
        }
    } while (*stream->cancelled == 0 && clock_monotonic_ns() < until_ns);
    return false;
}

_Noreturn void net_request_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    uint64_t timeout_ns = settings->timeout_ms * CLOCK_MILLISECOND_NS;
    get_buffer(stream);
    prctl(PR_SET_TIMERSLACK, 1);
    net_greet(stream);
    struct timeval timeout = {.tv_sec = (time_t)(settings->timeout_ms / 1000),
                              .tv_usec = (suseconds_t)(settings->timeout_ms % 1000 * 1000)};
    setsockopt(stream->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    net_stream_start(stream, false);
    for (uint64_t number = 0;; number++) {
        uint64_t due_ns = wait_for_turn(stream, number);
        if (!net_stream_at(stream, clock_monotonic_ns()))
            break;
        if (settings->udp)
            net_header_write(stream->buffer, NET_ASK, stream->tag,
                             (struct net_header){number, due_ns});
        if (!net_send_all(stream->fd, stream->buffer, request_size(stream))) {
            if (errno == ENOBUFS) {
                stream->slot->refused++;
                continue;
            }
            net_stream_cut(stream);
            if (errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED)
                net_stream_end(stream, NET_PEER_ENDED);
            net_stream_fail(stream, "send a request");
        }
        stream->count.calls++;
        uint64_t until_ns = clock_monotonic_ns() + timeout_ns;
        if (!await_answer(stream, number, until_ns)) {
            stream->slot->unanswered++;
            if (settings->udp)
                continue;
            net_stream_cut(stream); /* without numbers, what follows is not in step any more */
            break;
        }
        uint64_t took_ns = clock_monotonic_ns() - due_ns;
        stream->count.packets++;
        stream->count.bytes += settings->request_bytes + settings->response_bytes;
        histogram_add(&stream->slot->times, took_ns);
        net_stream_time(stream, (int64_t)took_ns);
    }
    if (settings->udp) {
        net_header_write(stream->buffer, NET_FINISH, stream->tag, (struct net_header){0, 0});
        net_send_all(stream->fd, stream->buffer, NET_HEADER_BYTES);
    } else {
        net_stream_note_socket(stream);
        net_abort(stream->fd);
        stream->fd = -1;
    }
    net_stream_end(stream, NET_DONE);
}

static _Noreturn void respond_datagrams(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    struct net_header header;
    uint64_t until_ns = stream->end_ns + settings->drain_ms * CLOCK_MILLISECOND_NS;
    for (;;) {
        ssize_t got = recv(stream->fd, stream->buffer, room_for(request_size(stream)), MSG_TRUNC);
        if (net_ticked != 0 && !net_stream_at(stream, clock_monotonic_ns()) &&
            (*stream->cancelled != 0 || clock_monotonic_ns() >= until_ns))
            break;
        if (got < 0 && errno == ECONNREFUSED)
            break;
        if (got < 0 && !settings->listens && stream->count.packets == 0)
            net_say(stream, NET_GO); /* it may have been lost */
        if (got < 0)
            continue;
        if ((size_t)got == request_size(stream) &&
            net_header_read(stream->buffer, (size_t)got, NET_ASK, stream->tag, &header)) {
            net_header_write(stream->buffer, NET_ANSWER, stream->tag, header);
            if (send(stream->fd, stream->buffer, response_size(stream), 0) >= 0) {
                stream->count.packets++;
                stream->count.calls++;
                stream->count.bytes += settings->request_bytes + settings->response_bytes;
            }
        } else if (got == NET_HEADER_BYTES &&
                   net_header_read(stream->buffer, (size_t)got, NET_FINISH, stream->tag, &header)) {
            break;
        } else if (!is_greeting(stream, got)) {
            stream->slot->foreign++;
        }
    }
    net_stream_cut(stream);
    net_stream_end(stream, NET_DONE);
}

_Noreturn void net_respond_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    get_buffer(stream);
    net_greet(stream);
    net_stream_start(stream, true);
    if (settings->udp)
        respond_datagrams(stream);
    uint64_t until_ns = stream->end_ns + settings->drain_ms * CLOCK_MILLISECOND_NS;
    size_t have = 0;
    for (;;) {
        ssize_t got = recv(stream->fd, stream->buffer, request_size(stream) - have, 0);
        if (net_ticked != 0 && !net_stream_at(stream, clock_monotonic_ns()) &&
            (*stream->cancelled != 0 || clock_monotonic_ns() >= until_ns))
            break;
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        have += got > 0 ? (size_t)got : 0;
        if (have < request_size(stream))
            continue;
        have = 0;
        if (!net_send_all(stream->fd, stream->buffer, response_size(stream)))
            break;
        stream->count.packets++;
        stream->count.calls++;
        stream->count.bytes += settings->request_bytes + settings->response_bytes;
    }
    net_stream_cut(stream);
    net_stream_note_socket(stream);
    net_abort(stream->fd);
    stream->fd = -1;
    net_stream_end(stream, NET_DONE);
}

/* One connection: opened, greeted, closed. */
static bool connect_once(struct net_stream *stream, uint64_t due_ns)
{
    const struct net_settings *settings = stream->settings;
    uint8_t greeting[NET_GREETING_BYTES];
    const char *tried;
    unsigned number;
    uint64_t until_ns = clock_monotonic_ns() + settings->timeout_ms * CLOCK_MILLISECOND_NS;
    int fd = net_socket_open(settings, 0, false, &tried);
    if (fd < 0)
        net_stream_fail(stream, tried);
    bool connected = net_connect_within(fd, settings, until_ns);
    uint64_t connected_ns = clock_monotonic_ns();
    net_greeting_write(greeting, NET_HELLO, stream->number, settings->token);
    bool answered = connected && net_send_all(fd, greeting, sizeof greeting) &&
                    net_receive_all(fd, greeting, sizeof greeting, until_ns) &&
                    net_greeting_read(greeting, sizeof greeting, NET_READY, settings->token,
                                      &number);
    uint64_t answered_ns = clock_monotonic_ns();
    net_abort(fd);
    if (!answered) {
        if (connected)
            stream->slot->unanswered++;
        else
            stream->slot->refused_connections++;
        return false;
    }
    histogram_add(&stream->slot->times, connected_ns - due_ns);
    histogram_add(&stream->slot->more_times, answered_ns - due_ns);
    net_stream_time(stream, (int64_t)(connected_ns - due_ns));
    stream->count.packets++;
    stream->count.calls++;
    return true;
}

_Noreturn void net_connect_run(struct net_stream *stream)
{
    prctl(PR_SET_TIMERSLACK, 1);
    clock_sleep_until(stream->start_ns);
    stream->start_ns = 0;
    net_stream_start(stream, false);
    for (uint64_t number = 0;; number++) {
        uint64_t due_ns = wait_for_turn(stream, number);
        if (!net_stream_at(stream, clock_monotonic_ns()))
            break;
        if (!connect_once(stream, due_ns))
            clock_sleep_until(clock_monotonic_ns() + PAUSE_NS);
    }
    net_stream_end(stream, NET_DONE);
}

_Noreturn void net_accept_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    uint8_t greeting[NET_GREETING_BYTES];
    struct sockaddr_storage from;
    unsigned number;
    /* Connections on their way at the end are served still: it is over when none comes. */
    uint64_t setup_until_ns =
        clock_monotonic_ns() + settings->setup_ms * CLOCK_MILLISECOND_NS;
    bool started = false;
    for (;;) {
        struct pollfd file = {.fd = stream->fd, .events = POLLIN};
        bool ready = poll(&file, 1, LOOK_MS) > 0;
        uint64_t now = clock_monotonic_ns();
        bool over = started ? !net_stream_at(stream, now) : now >= setup_until_ns;
        if ((over && !ready) || *stream->cancelled != 0)
            break;
        socklen_t length = sizeof from;
        int fd = ready ? accept4(stream->fd, (struct sockaddr *)&from, &length,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK)
                       : -1;
        if (fd < 0)
            continue;
        if (!net_from_peer(&from, &settings->peer) ||
            !net_receive_all(fd, greeting, sizeof greeting, now + SILENCE_NS) ||
            !net_greeting_read(greeting, sizeof greeting, NET_HELLO, settings->token, &number)) {
            stream->slot->foreign++;
            net_abort(fd);
            continue;
        }
        if (!started) {
            stream->start_ns = 0; /* now: the other end starts later than this one listens */
            net_stream_start(stream, false);
            started = true;
        }
        net_greeting_write(greeting, NET_READY, number, settings->token);
        if (net_send_all(fd, greeting, sizeof greeting))
            stream->count.packets++;
        stream->count.calls++;
        close(fd);
    }
    if (!started && stream->slot->foreign == 0 && stream->number == 0) {
        errno = ETIMEDOUT;
        net_stream_fail(stream, "wait for the peer");
    }
    net_stream_end(stream, NET_DONE);
}
