/* One stream of a trial: the process that runs it, its clock, and the memory in which it leaves its
 * figures. The memory is shared with the trial's process, which reads it when the stream has ended. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "net_order.h"
#include "net_settings.h"
#include "net_tcp_info.h"

/* Sums since the start. */
struct net_count {
    uint64_t at_ns; /* since the start */
    uint64_t bytes;
    uint64_t calls;   /* system calls that moved them */
    uint64_t packets; /* datagrams, requests answered, or connections */
    uint64_t cpu_ns;
};

/* Times of the datagrams or requests of one interval. */
struct net_times {
    uint64_t count;
    int64_t least_ns, most_ns, sum_ns;
};

struct net_interval {
    struct net_count count;
    union {
        struct {
            uint32_t rtt_us, cwnd_packets, retransmits;
            uint64_t delivery_bytes_per_second;
        } tcp;
        struct {
            uint64_t next, lost; /* highest sequence plus 1; missing among them so far */
            struct net_times times;
        } udp;
    } is;
};

enum net_outcome {
    NET_RUNNING, /* the process was killed */
    NET_DONE,    /* the trial's time, amount or cancellation */
    NET_PEER_ENDED,
    NET_FAILED,
};

struct net_slot {
    enum net_outcome outcome;
    const char *tried;
    int system_error;

    uint64_t started_ns; /* CLOCK_MONOTONIC */
    bool led; /* the lead-in is over */
    struct net_count lead, end, last; /* at the end of the lead-in, of the trial, of everything */
    uint64_t user_ns, system_ns;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t local_port, peer_port;
    uint64_t send_buffer_bytes, receive_buffer_bytes; /* at the end */
    char congestion[17];
    bool realtime;
    bool timed_out; /* the rest did not arrive within drain_ms */

    struct net_tcp_info tcp;
    size_t tcp_bytes; /* of it that the kernel knows */
    uint64_t lead_acked_bytes, end_acked_bytes; /* like `lead` and `end` */

    /* Datagrams sent. */
    enum net_call call; /* that the kernel has */
    uint64_t refused;   /* calls without room in the queue (ENOBUFS) */
    uint64_t unreachable; /* ICMP said so */
    uint64_t late_wakeups; /* more than 1 ms */
    uint64_t late_most_ns;
    uint64_t shifted_ns; /* that the schedule was moved by lateness */

    /* Datagrams received. */
    struct net_order order;
    uint64_t sent;    /* that the sender says, 0: unknown */
    uint64_t foreign; /* datagrams that are not of this stream */
    uint64_t jitter_ns;
    int64_t first_transit_ns; /* arrival less sending, on two clocks */
    int64_t least_transit_ns; /* less the first */
    bool drops_known;
    uint64_t socket_drops;

    /* Requests, connections. */
    uint64_t unanswered, late_answers, wrong_answers, refused_connections;

    /* Sending: gaps between batches. Receiving: delay above the least so far. Requests: time to the
     * answer. Connections: time of connect(). */
    struct histogram times;
    struct histogram more_times; /* sending: lateness; connections: to the answer */

    size_t interval_count;
    size_t segment_count;
};

struct net_stream {
    const struct net_settings *settings;
    const volatile sig_atomic_t *cancelled;
    struct net_slot *slot;
    struct net_interval *intervals;
    size_t interval_room;
    struct net_times *segments; /* sent: lateness; received: delay less the first one */
    size_t segment_room;
    int fd; /* of the first flow */
    const int *fds; /* of all flows */
    unsigned flows;
    unsigned number;
    unsigned socket; /* number of the first flow's among the sockets of the trial */
    bool sends;
    uint16_t tag;
    uint64_t start_ns; /* when the streams of the opening end start; then, when this one did */
    uint64_t lead_end_ns, end_ns, next_ns;
    bool ticking;
    bool over;
    struct net_count count; /* so far; at_ns and cpu_ns are filled in with each interval */
    struct net_times interval_times;
    uint64_t good_segments;
    bool after_late, after_lead;
    uint8_t *buffer;
};

/* Set by the stream's timer, which also interrupts its system calls. */
extern volatile sig_atomic_t net_ticked;
void net_watch_ticks(void);
/* A timer signal at `at_ns` or after 200 ms, and every 20 ms from then on. */
void net_tick_at(uint64_t at_ns);

/* Begins to count. With `ticking`, the timer interrupts blocking calls at each interval. */
void net_stream_start(struct net_stream *stream, bool ticking);
/* To be called often with the time, or when net_ticked is set: ends intervals. False when the trial
 * is over. */
bool net_stream_at(struct net_stream *stream, uint64_t now_ns);
/* Over before its time. */
void net_stream_cut(struct net_stream *stream);
void net_stream_time(struct net_stream *stream, int64_t ns);
void net_times_add(struct net_times *times, int64_t ns);
/* Notes a datagram in its segment, if the trial has segments. One is good after the lead-in if it is
 * whole, and neither it nor the one before has a late datagram. */
void net_segment_take(struct net_stream *stream, uint64_t sequence, int64_t ns);
/* Payload of a datagram: of a mix of sizes, each twelve have 7 small ones, 4 of the middle and 1 of the
 * largest. */
size_t net_payload(const struct net_settings *settings, uint64_t sequence);
/* Notes what the socket has become; before it is closed. */
void net_stream_note_socket(struct net_stream *stream);
/* Leaves the figures of the process in the slot, and ends it. */
_Noreturn void net_stream_end(struct net_stream *stream, enum net_outcome outcome);
_Noreturn void net_stream_fail(struct net_stream *stream, const char *tried);

/* Memory for payload: not from a heap, as there is none. */
void net_stream_buffer(struct net_stream *stream, size_t bytes);

/* The loops. Each runs in a process of its own, and does not return. */
_Noreturn void net_tcp_run(struct net_stream *stream);
_Noreturn void net_udp_send_run(struct net_stream *stream);
_Noreturn void net_udp_receive_run(struct net_stream *stream);
_Noreturn void net_request_run(struct net_stream *stream);
_Noreturn void net_respond_run(struct net_stream *stream);
_Noreturn void net_connect_run(struct net_stream *stream);
_Noreturn void net_accept_run(struct net_stream *stream);

/* Waits for the start: sleeps until start_ns at the opening end, and tells the other; waits for its
 * word at the listening end. */
void net_greet(struct net_stream *stream);
void net_say(struct net_stream *stream, enum net_greeting kind);

#endif
