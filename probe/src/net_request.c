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
/* Requests at a rate that may be on their way on a connection. */
#define ON_THEIR_WAY 64u

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

/* When a request is due: now without a rate. With one, its time counts from when it was due, so that a
 * slow answer does not hide the requests that had to wait for it. Streams take turns: requests that are
 * due at the same time would wait for each other. */
static uint64_t due_at(const struct net_stream *stream, uint32_t number, uint64_t now_ns)
{
    const struct net_settings *settings = stream->settings;
    uint64_t rate = settings->requests_per_second * settings->streams;
    return rate == 0 ? now_ns
                     : stream->start_ns + (number * settings->streams + stream->number) *
                                              CLOCK_SECOND_NS / rate;
}

/* A call that failed because the peer is gone ends the stream, and any other call is a failure. */
static _Noreturn void give_up(struct net_stream *stream, const char *tried)
{
    if (errno != EPIPE && errno != ECONNRESET && errno != ECONNREFUSED)
        net_stream_fail(stream, tried);
    net_stream_cut(stream);
    net_stream_end(stream, NET_PEER_ENDED);
}

/* Of requests at a rate, each is sent when it is due, also while others are on their way: if it waited for
 * their answers, a round trip above the time between two requests would count again in all later
 * ones. Answers of TCP come in order; datagrams go one by one. */
static void ask_and_listen(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    uint64_t timeout_ns = settings->timeout_ms * CLOCK_MILLISECOND_NS;
    bool paced = settings->requests_per_second > 0, udp = settings->udp;
    uint32_t most = paced && !udp ? ON_THEIR_WAY : 1, sent = 0, answered = 0;
    uint64_t heard_ns = 0; /* the last answer, or the first request after it */
    struct net_header header;
    size_t have = 0;
    while (*stream->cancelled == 0) {
        uint64_t now = clock_monotonic_ns(), next_ns = due_at(stream, sent, now);
        /* Those on their way at the end belong to the trial. */
        bool asks = now < stream->end_ns;
        if (asks)
            net_stream_at(stream, now);
        else if (sent == answered)
            break;
        asks = asks && sent - answered < most;
        if (asks && now >= next_ns) {
            if (udp)
                net_header_write(stream->buffer, NET_ASK, stream->tag,
                                 (struct net_header){sent, next_ns});
            if (net_send_all(stream->fd, stream->buffer, request_size(stream))) {
                stream->count.calls++;
                if (sent++ == answered)
                    heard_ns = now;
            } else if (errno == ENOBUFS) {
                stream->slot->refused++;
            } else {
                give_up(stream, "send");
            }
            continue;
        }
        if (sent > answered && now >= heard_ns + timeout_ns) {
            stream->slot->unanswered += sent - answered;
            answered = sent;
            if (udp)
                continue;
            break; /* without numbers, what follows is not in step any more */
        }
        if (paced) {
            uint64_t wait_ns = LOOK_MS * CLOCK_MILLISECOND_NS;
            if (asks && next_ns < now + wait_ns)
                wait_ns = next_ns - now;
            struct timespec left = {0, (long)wait_ns};
            struct pollfd file = {.fd = stream->fd, .events = POLLIN};
            if (ppoll(&file, 1, &left, NULL) <= 0)
                continue;
        }
        int now_or_soon = paced ? MSG_DONTWAIT : 0;
        ssize_t got = udp
                          ? recv(stream->fd, stream->buffer, room_for(response_size(stream)),
                                 MSG_TRUNC | now_or_soon)
                          : recv(stream->fd, stream->buffer, response_size(stream) - have,
                                 now_or_soon);
        if (got <= 0 && !(udp && got == 0)) {
            if (got == 0)
                errno = ECONNRESET;
            if (errno != EINTR && errno != EAGAIN)
                give_up(stream, "receive");
            continue;
        }
        if (!udp) {
            have += (size_t)got;
            if (have < response_size(stream))
                continue;
            have = 0;
        } else if ((size_t)got != response_size(stream) ||
                   !net_header_read(stream->buffer, (size_t)got, NET_ANSWER, stream->tag,
                                    &header)) {
            stream->slot->wrong_answers += !is_greeting(stream, got);
            continue;
        }
        if (sent == answered || (udp && header.sequence != answered)) {
            stream->slot->late_answers++;
            continue;
        }
        uint64_t due_ns = due_at(stream, answered++, heard_ns);
        heard_ns = clock_monotonic_ns();
        uint64_t took_ns = heard_ns - due_ns;
        stream->count.packets++;
        stream->count.bytes += settings->request_bytes + settings->response_bytes;
        histogram_add(&stream->slot->times, took_ns);
        net_stream_time(stream, (int64_t)took_ns);
    }
    net_stream_cut(stream);
}

_Noreturn void net_request_run(struct net_stream *stream)
{
    const struct net_settings *settings = stream->settings;
    get_buffer(stream);
    prctl(PR_SET_TIMERSLACK, 1);
    net_greet(stream);
    /* Calls that block let the clock be looked at. */
    struct timeval look = {0, LOOK_MS * 1000};
    setsockopt(stream->fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
    net_stream_start(stream, false);
    ask_and_listen(stream);
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
    uint32_t number = 0;
    for (;;) {
        uint64_t now = clock_monotonic_ns(), due_ns = due_at(stream, number, now);
        if (!net_stream_at(stream, now))
            break;
        if (now < due_ns) {
            /* In pieces: the trial may be cancelled. */
            now += LOOK_MS * CLOCK_MILLISECOND_NS;
            clock_sleep_until(due_ns < now ? due_ns : now);
            continue;
        }
        number++;
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
        if (!net_from_peer(&from, settings) ||
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
