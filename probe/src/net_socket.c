#include "net_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

/* A hello is repeated, since datagrams get lost. */
#define REPEAT_NS (200 * CLOCK_MILLISECOND_NS)
/* A connection that says nothing is given up. */
#define SILENCE_NS (500 * CLOCK_MILLISECOND_NS)
/* Room for the datagrams that arrive while this machine does something else. */
#define DATAGRAM_BUFFER_BYTES (4 << 20)
#define PORT_TRIES 20
/* Rounds of hellos that are refused before nobody listens: kernels before Linux 6.14 refuse one now
 * and then, while the other end connects the sockets of other streams. */
#define MOST_REFUSALS 3u

bool net_socket_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error == 0)
        return false;
    errno = error;
    return true;
}

bool net_send_all(int fd, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    while (length > 0) {
        ssize_t put = send(fd, at, length, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

static int left_ms(uint64_t until_ns)
{
    uint64_t now = clock_monotonic_ns();
    return now >= until_ns ? 0 : (int)((until_ns - now) / CLOCK_MILLISECOND_NS) + 1;
}

bool net_receive_all(int fd, void *bytes, size_t length, uint64_t until_ns)
{
    uint8_t *at = bytes;
    while (length > 0) {
        struct pollfd file = {.fd = fd, .events = POLLIN};
        int left = left_ms(until_ns);
        if (left == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (poll(&file, 1, left) <= 0)
            continue;
        ssize_t got = recv(fd, at, length, MSG_DONTWAIT);
        if (got == 0)
            errno = ECONNRESET;
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        if (got > 0) {
            at += got;
            length -= (size_t)got;
        }
    }
    return true;
}

/* if_nametoindex brings more of the C library than this. */
static uint32_t interface_number(const char *name)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    text_copy(request.ifr_name, sizeof request.ifr_name, name);
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && ioctl(fd, SIOCGIFINDEX, &request) == 0;
    if (fd >= 0)
        close(fd);
    return known ? (uint32_t)request.ifr_ifindex : 0;
}

socklen_t net_socket_address(const struct net_address *address, uint64_t port,
                             struct sockaddr_storage *out)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    memset(out, 0, sizeof *out);
    if (address->family == AF_INET) {
        memcpy(&four.sin_addr, address->bytes, sizeof four.sin_addr);
        memcpy(out, &four, sizeof four);
        return sizeof four;
    }
    memcpy(&six.sin6_addr, address->bytes, sizeof six.sin6_addr);
    if (address->interface[0] != '\0') {
        six.sin6_scope_id = interface_number(address->interface);
        if (six.sin6_scope_id == 0) {
            errno = ENODEV;
            return 0;
        }
    }
    memcpy(out, &six, sizeof six);
    return sizeof six;
}

static bool comes_from(const struct sockaddr_storage *from, const struct net_address *peer)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (from->ss_family != peer->family)
        return false;
    memcpy(&four, from, sizeof four);
    memcpy(&six, from, sizeof six);
    return peer->family == AF_INET ? memcmp(&four.sin_addr, peer->bytes, 4) == 0
                                   : memcmp(&six.sin6_addr, peer->bytes, 16) == 0;
}

bool net_from_peer(const struct sockaddr_storage *from, const struct net_settings *settings)
{
    return comes_from(from, &settings->peer) || comes_from(from, &settings->translated);
}

static bool set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/* Beyond the system's limit as root, up to it otherwise. The report has what it became. */
static void set_buffer(int fd, int forced, int plain, uint64_t bytes)
{
    if (bytes != 0 && !set(fd, SOL_SOCKET, forced, (int)bytes))
        set(fd, SOL_SOCKET, plain, (int)bytes);
}

int net_socket_open(const struct net_settings *settings, uint64_t port, bool shared,
                    const char **tried)
{
    struct sockaddr_storage address;
    int family = settings->peer.family, six = family == AF_INET6;
    *tried = "open a socket";
    int fd = socket(family, (settings->udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (six)
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    uint64_t receive = settings->receive_buffer_bytes;
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, settings->send_buffer_bytes);
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF,
               receive == 0 && settings->udp ? DATAGRAM_BUFFER_BYTES : receive);
    if (settings->udp && settings->fragment == 0)
        set(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
            six ? IPV6_PMTUDISC_DO : IP_PMTUDISC_DO);
    if (!settings->udp) {
        bool pings = settings->job > NET_BOTH;
        if (settings->nodelay != 0 || pings)
            set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        *tried = "choose the congestion control";
        if (settings->congestion[0] != '\0' &&
            setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, settings->congestion,
                       (socklen_t)strlen(settings->congestion)) != 0)
            goto failed;
    }
    if (shared)
        set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!settings->listens)
        return fd;
    *tried = "take the port";
    struct net_address any = {.family = family};
    socklen_t length = net_socket_address(&any, port, &address);
    if (length == 0)
        goto failed;
    if (bind(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
failed:;
    int happened = errno;
    close(fd);
    errno = happened;
    return -1;
}

uint64_t net_port(const struct sockaddr_storage *address)
{
    struct sockaddr_in four;
    memcpy(&four, address, sizeof four); /* the port is at the same place in both families */
    return ntohs(four.sin_port);
}

static bool fail(struct net_wrong *wrong, const char *tried, const char *happened,
                 const char *next)
{
    *wrong = (struct net_wrong){tried, happened, happened == NULL ? errno : 0, next};
    return false;
}

bool net_listen(const struct net_settings *settings, struct net_ends *ends,
                struct net_wrong *wrong)
{
    const char *tried;
    /* The sockets of the trial before may take a moment to go. */
    for (int tries = 0;; tries++) {
        ends->listener = net_socket_open(settings, settings->port, !settings->udp, &tried);
        if (ends->listener >= 0 &&
            (settings->udp || listen(ends->listener, 2 * NET_STREAMS) == 0))
            break;
        int happened = errno;
        if (ends->listener >= 0)
            close(ends->listener);
        errno = happened;
        if (errno != EADDRINUSE || settings->port == 0 || tries == PORT_TRIES)
            return fail(wrong, tried, NULL,
                        errno == EADDRINUSE ? "choose another port" : NULL);
        clock_sleep_until(clock_monotonic_ns() + 10 * CLOCK_MILLISECOND_NS);
    }
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(ends->listener, (struct sockaddr *)&address, &length) != 0)
        return fail(wrong, "learn the port", NULL, NULL);
    ends->port = net_port(&address);
    return true;
}

/* The stream's own socket on the same port. The kernel prefers it, being connected, for all that its
 * peer sends. */
static int adopt_datagrams(const struct net_settings *settings, const struct net_ends *ends,
                           const struct sockaddr_storage *from, socklen_t length)
{
    const char *tried;
    int fd = net_socket_open(settings, ends->port, true, &tried);
    if (fd < 0 || connect(fd, (const struct sockaddr *)from, length) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Reads one datagram of a socket that listens. False if there is none. */
static bool accept_datagram(const struct net_settings *settings, struct net_ends *ends, int fd)
{
    uint8_t bytes[NET_GREETING_BYTES + 1];
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    unsigned stream;
    ssize_t got = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
    if (got < 0)
        return false;
    if (!net_from_peer(&from, settings) ||
        !net_greeting_read(bytes, (size_t)got, NET_HELLO, settings->token, &stream) ||
        stream >= ends->count) {
        ends->foreign++;
        return true;
    }
    if (ends->fds[stream] >= 0)
        return true; /* a repetition */
    int adopted = adopt_datagrams(settings, ends, &from, length);
    ends->fds[stream] = adopted;
    /* Before it was connected, it may have got hellos of other streams. Nothing else can have come. */
    for (unsigned i = 0; adopted >= 0 && i < 2 * NET_SOCKETS; i++)
        if (!accept_datagram(settings, ends, adopted))
            break;
    return true;
}

static void accept_connection(const struct net_settings *settings, struct net_ends *ends)
{
    uint8_t bytes[NET_GREETING_BYTES];
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    unsigned stream;
    int fd = accept4(ends->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (net_from_peer(&from, settings) &&
        net_receive_all(fd, bytes, sizeof bytes, clock_monotonic_ns() + SILENCE_NS) &&
        net_greeting_read(bytes, sizeof bytes, NET_HELLO, settings->token, &stream) &&
        stream < ends->count && ends->fds[stream] < 0) {
        ends->fds[stream] = fd;
        return;
    }
    ends->foreign++;
    net_abort(fd);
}

static unsigned missing(const struct net_ends *ends)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < ends->count; i++)
        sum += ends->fds[i] < 0;
    return sum;
}

static void forget_all(struct net_ends *ends, unsigned count)
{
    ends->count = count;
    for (unsigned i = 0; i < count; i++)
        ends->fds[i] = -1;
}

bool net_accept_all(const struct net_settings *settings, struct net_ends *ends, unsigned count,
                    const volatile sig_atomic_t *cancelled, struct net_wrong *wrong)
{
    uint64_t until_ns = clock_monotonic_ns() + settings->setup_ms * CLOCK_MILLISECOND_NS;
    forget_all(ends, count);
    /* Nobody else could take the port until now; from here on, the streams' sockets share it. */
    if (settings->udp)
        set(ends->listener, SOL_SOCKET, SO_REUSEADDR, 1);
    while (missing(ends) > 0) {
        struct pollfd file = {.fd = ends->listener, .events = POLLIN};
        int left = left_ms(until_ns);
        if (left == 0 || *cancelled != 0) {
            const char *happened =
                *cancelled != 0               ? "the trial was cancelled"
                : ends->foreign != 0          ? "it came from another address or without the token"
                : missing(ends) < ends->count ? "not all streams came in time"
                                              : "the peer did not come in time";
            return fail(wrong, "wait for the peer", happened,
                        "check that a firewall lets the port through");
        }
        if (poll(&file, 1, left < 100 ? left : 100) <= 0)
            continue;
        if (settings->udp)
            accept_datagram(settings, ends, ends->listener);
        else
            accept_connection(settings, ends);
    }
    for (unsigned i = 0; i < count; i++)
        set(ends->fds[i], SOL_SOCKET, SO_REUSEADDR, 0);
    close(ends->listener);
    ends->listener = -1;
    return true;
}

bool net_connect_within(int fd, const struct net_settings *settings, uint64_t until_ns)
{
    struct sockaddr_storage address;
    socklen_t length = net_socket_address(&settings->peer, settings->port, &address);
    int flags = fcntl(fd, F_GETFL);
    if (length == 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&address, length) != 0) {
        if (errno != EINPROGRESS)
            return false;
        struct pollfd file = {.fd = fd, .events = POLLOUT};
        int ready;
        do {
            int left = left_ms(until_ns);
            ready = left == 0 ? 0 : poll(&file, 1, left);
            if (left == 0) {
                errno = ETIMEDOUT;
                return false;
            }
        } while (ready <= 0);
        if (net_socket_error(fd))
            return false;
    }
    return fcntl(fd, F_SETFL, flags) == 0;
}

static void say_hello(const struct net_settings *settings, const struct net_ends *ends,
                      unsigned stream)
{
    uint8_t greeting[NET_GREETING_BYTES];
    if (settings->iperf3) {
        net_send_all(ends->fds[stream], settings->udp ? NET_IPERF3_HELLO : settings->cookie,
                     settings->udp ? NET_IPERF3_HELLO_BYTES : NET_COOKIE_BYTES);
        return;
    }
    net_greeting_write(greeting, NET_HELLO, stream, settings->token);
    net_send_all(ends->fds[stream], greeting, sizeof greeting);
}

/* iperf3 answers before it takes the next stream. A hello that is repeated would count as data. */
static bool hear_iperf3(int fd, uint64_t until_ns, const volatile sig_atomic_t *cancelled)
{
    uint8_t bytes[NET_HEADER_BYTES];
    for (;;) {
        struct pollfd file = {.fd = fd, .events = POLLIN};
        int left = left_ms(until_ns);
        if (left == 0 || *cancelled != 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (poll(&file, 1, left < 100 ? left : 100) <= 0)
            continue;
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got == (ssize_t)NET_IPERF3_HELLO_BYTES)
            return true;
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return false;
    }
}

/* Waits a while for one of the answers. False if the socket says that none will come. */
static bool hear_ready(const struct net_settings *settings, struct net_ends *ends,
                       unsigned stream, uint64_t until_ns, bool *ready)
{
    uint8_t bytes[NET_GREETING_BYTES + 1];
    unsigned number = 0;
    if (!settings->udp) {
        *ready = net_receive_all(ends->fds[stream], bytes, NET_GREETING_BYTES, until_ns);
        if (*ready)
            *ready = net_greeting_read(bytes, NET_GREETING_BYTES, NET_READY, settings->token,
                                       &number) &&
                     number == stream;
        return *ready;
    }
    struct pollfd file = {.fd = ends->fds[stream], .events = POLLIN};
    if (poll(&file, 1, left_ms(until_ns)) <= 0)
        return true;
    ssize_t got = recv(ends->fds[stream], bytes, sizeof bytes, MSG_DONTWAIT);
    *ready = got > 0 &&
             net_greeting_read(bytes, (size_t)got, NET_READY, settings->token, &number) &&
             number == stream;
    return got >= 0 || errno == EAGAIN || errno == EINTR;
}

/* One after the other: a policer with a small burst would take the same first ones out of each
 * volley. */
static void repeat_hellos(const struct net_settings *settings, const struct net_ends *ends,
                          unsigned count, const bool *ready)
{
    for (unsigned i = 0; i < count; i++) {
        if (ready[i])
            continue;
        say_hello(settings, ends, i);
        clock_sleep_until(clock_monotonic_ns() + REPEAT_NS / count);
    }
}

bool net_connect_all(const struct net_settings *settings, struct net_ends *ends, unsigned count,
                     const volatile sig_atomic_t *cancelled, struct net_wrong *wrong)
{
    static const char advice[] = "check the address, the port and firewalls";
    uint64_t until_ns = clock_monotonic_ns() + settings->setup_ms * CLOCK_MILLISECOND_NS;
    const char *tried;
    forget_all(ends, count);
    for (unsigned i = 0; i < count; i++) {
        ends->fds[i] = net_socket_open(settings, 0, false, &tried);
        if (ends->fds[i] < 0)
            return fail(wrong, tried, NULL, NULL);
        if (!net_connect_within(ends->fds[i], settings, until_ns))
            return fail(wrong, "connect to the peer", NULL, advice);
        say_hello(settings, ends, i);
        if (settings->iperf3 && settings->udp && !hear_iperf3(ends->fds[i], until_ns, cancelled))
            return fail(wrong, "wait for the peer's answer", NULL, advice);
    }
    if (settings->iperf3)
        return true; /* its control connection says more */
    /* The other end answers when it has heard of all streams: any hello may be the one that is lost. */
    bool ready[2 * NET_SOCKETS] = {false};
    for (unsigned left = count, refusals = 0; left > 0;) {
        uint64_t repeat_ns = clock_monotonic_ns() + REPEAT_NS;
        bool refused = false;
        for (unsigned i = 0; i < count; i++) {
            if (ready[i])
                continue;
            errno = 0;
            if (!hear_ready(settings, ends, i, settings->udp ? repeat_ns : until_ns, &ready[i])) {
                refused = settings->udp && errno == ECONNREFUSED && refusals < MOST_REFUSALS;
                if (!refused)
                    return fail(wrong, "wait for the peer's answer",
                                errno == 0 ? "it is none" : NULL, advice);
            }
            left -= ready[i];
        }
        if (left == 0)
            break;
        if (*cancelled != 0)
            return fail(wrong, "wait for the peer's answer", "the trial was cancelled", NULL);
        if (clock_monotonic_ns() >= until_ns)
            return fail(wrong, "wait for the peer's answer",
                        "it did not answer with the token in time", advice);
        if (refused) {
            refusals++;
            clock_sleep_until(repeat_ns);
        }
        repeat_hellos(settings, ends, count, ready);
    }
    return true;
}

void net_abort(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}
