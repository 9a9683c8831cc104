/* What two probes send each other in a trial (README.md, verb net): greetings that open a stream and
 * the header of datagrams. Encoding and decoding alone, no input or output. */
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_TOKEN_BYTES 16u
#define NET_GREETING_BYTES 24u
#define NET_HEADER_BYTES 16u
/* Sequence numbers have 40 bits: 30 hours of 10 million datagrams per second. */
#define NET_SEQUENCES (1ull << 40)

enum net_greeting {
    NET_HELLO = 'H', /* opening end: this connection is stream n of the trial with that token */
    NET_READY = 'R', /* listening end: it is accepted */
    NET_GO = 'G',    /* opening end: the trial starts now */
};

void net_greeting_write(uint8_t out[NET_GREETING_BYTES], enum net_greeting kind, unsigned stream,
                        const uint8_t token[NET_TOKEN_BYTES]);
/* True if the bytes are that greeting with that token. */
bool net_greeting_read(const uint8_t *bytes, size_t length_bytes, enum net_greeting kind,
                       const uint8_t token[NET_TOKEN_BYTES], unsigned *stream);

/* True if it is any greeting with that token: of another stream, or one that was repeated. */
bool net_greeting_of_trial(const uint8_t *bytes, size_t length_bytes,
                           const uint8_t token[NET_TOKEN_BYTES]);

enum net_kind {
    NET_DATA = 'D',
    NET_FINISH = 'F', /* `sequence` datagrams were sent, this one not counted */
    NET_ASK = 'Q',
    NET_ANSWER = 'A',
};

struct net_header {
    uint64_t sequence;
    uint64_t sent_ns; /* CLOCK_MONOTONIC of the sender */
};

/* Marks the datagrams of one stream of one trial, so that those of the trial before do not count. */
uint16_t net_tag(const uint8_t token[NET_TOKEN_BYTES], unsigned stream);
void net_header_write(uint8_t out[NET_HEADER_BYTES], enum net_kind kind, uint16_t tag,
                      struct net_header header);
/* True if the bytes start with a header of that kind and tag. */
bool net_header_read(const uint8_t *bytes, size_t length_bytes, enum net_kind kind, uint16_t tag,
                     struct net_header *header);

/* What an iperf3 server has in place of all this: a cookie opens a TCP stream, 4 bytes and an answer
 * of 4 bytes open a UDP stream, and a header of as many bytes has no kind and no tag. */
#define NET_COOKIE_BYTES 37u /* 36 letters or digits and a zero */
#define NET_IPERF3_HELLO "9876"
#define NET_IPERF3_HELLO_BYTES 4u

void net_iperf3_header_write(uint8_t out[NET_HEADER_BYTES], struct net_header header);
bool net_iperf3_header_read(const uint8_t *bytes, size_t length_bytes, struct net_header *header);

#endif
