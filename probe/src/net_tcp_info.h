/* The kernel's struct tcp_info as far as it is used here. The headers of C libraries stop earlier. A
 * kernel fills what it knows and says how much that is. */
#ifndef NET_TCP_INFO_H
#define NET_TCP_INFO_H

#include <stddef.h>
#include <stdint.h>

struct net_tcp_info {
    uint8_t state, ca_state, retransmits_now, probes, backoff, options, scales, limited;
    uint32_t rto_us, ato_us, send_mss, receive_mss;
    uint32_t unacked, sacked, lost, retransmitted, fackets;
    uint32_t last_data_sent, last_ack_sent, last_data_received, last_ack_received;
    uint32_t path_mtu, receive_threshold, rtt_us, rtt_variation_us, send_threshold, cwnd_packets,
        advertised_mss, reordering;
    uint32_t receive_rtt_us, receive_space, retransmits;
    uint64_t pacing_rate, most_pacing_rate, acked_bytes, received_bytes;
    uint32_t sent_segments, received_segments, unsent_bytes, least_rtt_us, received_data_segments,
        sent_data_segments;
    uint64_t delivery_bytes_per_second, busy_us, window_limited_us, buffer_limited_us;
    uint32_t delivered_packets, delivered_ce_packets;
    uint64_t sent_bytes, retransmitted_bytes;
};

/* Of `options`: both ends use ECN. */
#define NET_TCP_OPTION_ECN 8u

/* True if the kernel filled the field. */
#define NET_TCP_KNOWS(bytes, field)                                                                 \
    ((bytes) >= offsetof(struct net_tcp_info, field) + sizeof((struct net_tcp_info *)0)->field)

/* Returns how many bytes the kernel filled, 0 if the socket is none of TCP. */
size_t net_tcp_info_read(int fd, struct net_tcp_info *info);

#endif
