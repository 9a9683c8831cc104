/* The settings of a trial of the verb net, as the driver's frame has them. No input or output. */
#ifndef NET_SETTINGS_H
#define NET_SETTINGS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net_message.h"
#include "request.h"

#define NET_STREAMS 64u
#define NET_SOCKETS 1024u /* of all streams in one direction */
#define NET_BATCH 64u

enum net_job {
    NET_SEND,
    NET_RECEIVE,
    NET_BOTH,
    NET_REQUEST,
    NET_RESPOND,
    NET_CONNECT,
    NET_ACCEPT,
};

enum net_call {
    NET_CALL_ONE,  /* a datagram a system call */
    NET_CALL_MMSG, /* sendmmsg, recvmmsg */
    NET_CALL_GSO,  /* UDP_SEGMENT, UDP_GRO */
};

struct net_address {
    int family; /* AF_INET or AF_INET6; 0: none */
    uint8_t bytes[16];
    char interface[16]; /* of a link-local address, else empty */
};

struct net_settings {
    enum net_job job;
    bool listens;
    bool udp;
    struct net_address peer;
    struct net_address translated; /* of a router in between, which the peer may come from as well */
    uint8_t token[NET_TOKEN_BYTES];
    bool iperf3; /* the other end is an iperf3 server */
    char cookie[NET_COOKIE_BYTES];
    char congestion[17]; /* empty: the system's */
    enum net_call call;
    /* All numbers are u64: a table says where each goes. */
    uint64_t trial, port, streams;
    uint64_t duration_ms, lead_ms, interval_ms, setup_ms, drain_ms;
    uint64_t send_buffer_bytes, receive_buffer_bytes; /* 0: the system's */
    uint64_t block_bytes, bytes, nodelay;
    uint64_t payload_bytes, middle_bytes, small_bytes, packets_per_second, packets, batch, pace_us, fragment;
    uint64_t flows, segment_packets, good_segments, late_us;
    uint64_t request_bytes, response_bytes, requests_per_second, timeout_ms;
    uint64_t realtime;
};

/* False, with `error`, if a key is unknown, missing, out of range, or not of this job. */
bool net_settings_read(const struct request *request, struct net_settings *settings,
                       struct request_error *error);

/* A literal IPv4 or IPv6 address, the latter with `%interface` if it is link-local. */
bool net_address_read(const char *text, struct net_address *address);

#endif
