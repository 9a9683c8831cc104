/* The sockets of a trial, up to the point where every stream has one that is connected. */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net_settings.h"

struct net_ends {
    int listener; /* -1: none (any more) */
    uint64_t port;
    int fds[2 * NET_SOCKETS];
    unsigned count;
    uint64_t foreign; /* connections and datagrams that had no token, or came from elsewhere */
};

/* What went wrong; `system_error` is 0 where the words say all. */
struct net_wrong {
    const char *tried;
    const char *happened;
    int system_error;
    const char *next;
};

/* True, with errno, if the socket has an error. It is cleared by that. */
bool net_socket_error(int fd);
bool net_send_all(int fd, const void *bytes, size_t length);
/* Reads exactly that much before `until_ns`. */
bool net_receive_all(int fd, void *bytes, size_t length, uint64_t until_ns);

/* The socket address; its length, 0 if the interface is unknown. */
socklen_t net_socket_address(const struct net_address *address, uint64_t port,
                             struct sockaddr_storage *out);
uint64_t net_port(const struct sockaddr_storage *address);
bool net_from_peer(const struct sockaddr_storage *from, const struct net_settings *settings);

/* A socket with all settings, bound if it listens; -1 with errno. `tried` says at what it failed.
 * `shared`: the port may have other sockets, if all agree (UDP), or old connections (TCP). */
int net_socket_open(const struct net_settings *settings, uint64_t port, bool shared,
                    const char **tried);

/* Takes the port. */
bool net_listen(const struct net_settings *settings, struct net_ends *ends,
                struct net_wrong *wrong);
/* Connects `count` streams, or accepts them, until the deadline or `cancelled`. Says READY to none:
 * that is done by the streams when all are there. */
bool net_accept_all(const struct net_settings *settings, struct net_ends *ends, unsigned count,
                    const volatile sig_atomic_t *cancelled, struct net_wrong *wrong);
bool net_connect_all(const struct net_settings *settings, struct net_ends *ends, unsigned count,
                     const volatile sig_atomic_t *cancelled, struct net_wrong *wrong);
/* connect() within a time. */
bool net_connect_within(int fd, const struct net_settings *settings, uint64_t until_ns);
/* Closes a connection without leaving anything in the kernel. */
void net_abort(int fd);

#endif
