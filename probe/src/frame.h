/* The frames of the protocol (README.md): encoding and decoding, no input or output. */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_VERSION 1u
#define FRAME_HEADER_BYTES 12u

enum frame_type {
    FRAME_REQUEST = 'Q', /* driver: the verb and its settings */
    FRAME_TRIAL = 'N',   /* driver: a trial of the verb net */
    FRAME_STOP = 'S',    /* driver: end early, with what is there */
    FRAME_CLOCK = 'C',   /* driver: a token; probe: the token and its clock */
    FRAME_RESULT = 'R',  /* probe: a JSON object */
    FRAME_SAMPLE = 'T',  /* driver: take one now; probe: a sample */
    FRAME_ERROR = 'E',   /* probe: a JSON object; nothing follows it */
    FRAME_DONE = 'D',    /* probe: a JSON object; nothing follows it */
};

struct frame {
    uint8_t type;
    const uint8_t *body;
    size_t length_bytes;
};

enum frame_status {
    FRAME_WHOLE,
    FRAME_INCOMPLETE,
    FRAME_NOT_OURS,      /* does not start with the magic bytes, or reserved bits are set */
    FRAME_OTHER_VERSION, /* of the protocol */
    FRAME_TOO_LONG,
};

/* Looks for a frame at the start of `bytes`. A body longer than `longest_bytes` is refused as soon
 * as its header is there. `frame` is set if whole, and points into `bytes`. */
enum frame_status frame_decode(const uint8_t *bytes, size_t length_bytes, size_t longest_bytes,
                               struct frame *frame);

void frame_header(uint8_t header[FRAME_HEADER_BYTES], enum frame_type type, size_t length_bytes);

/* The version a frame's header claims; at least 5 bytes are there. */
uint8_t frame_claimed_version(const uint8_t *bytes);

/* Big-endian numbers. */
uint32_t frame_get_u32(const uint8_t *at);
void frame_put_u32(uint8_t *at, uint32_t value);
void frame_put_u64(uint8_t *at, uint64_t value);

#endif
