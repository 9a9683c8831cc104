#include "net_message.h"

#include <string.h>

#include "clock.h"
#include "frame.h"

static const uint8_t magic[5] = {'P', 'L', 'M', 'N', 1};

static uint64_t get_u64(const uint8_t *at)
{
    return (uint64_t)frame_get_u32(at) << 32 | frame_get_u32(at + 4);
}

void net_greeting_write(uint8_t out[NET_GREETING_BYTES], enum net_greeting kind, unsigned stream,
                        const uint8_t token[NET_TOKEN_BYTES])
{
    memcpy(out, magic, sizeof magic);
    out[5] = (uint8_t)kind;
    out[6] = (uint8_t)(stream >> 8);
    out[7] = (uint8_t)stream;
    memcpy(out + 8, token, NET_TOKEN_BYTES);
}

bool net_greeting_read(const uint8_t *bytes, size_t length_bytes, enum net_greeting kind,
                       const uint8_t token[NET_TOKEN_BYTES], unsigned *stream)
{
    if (length_bytes != NET_GREETING_BYTES || memcmp(bytes, magic, sizeof magic) != 0 ||
        bytes[5] != (uint8_t)kind)
        return false;
    /* All bytes are compared, so that the time does not tell how many are right. */
    uint8_t different = 0;
    for (size_t i = 0; i < NET_TOKEN_BYTES; i++)
        different |= (uint8_t)(bytes[8 + i] ^ token[i]);
    *stream = (unsigned)bytes[6] << 8 | bytes[7];
    return different == 0;
}

bool net_greeting_of_trial(const uint8_t *bytes, size_t length_bytes,
                           const uint8_t token[NET_TOKEN_BYTES])
{
    unsigned stream;
    return net_greeting_read(bytes, length_bytes, NET_HELLO, token, &stream) ||
           net_greeting_read(bytes, length_bytes, NET_READY, token, &stream) ||
           net_greeting_read(bytes, length_bytes, NET_GO, token, &stream);
}

/* FNV-1a, folded to 16 bits. */
uint16_t net_tag(const uint8_t token[NET_TOKEN_BYTES], unsigned stream)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < NET_TOKEN_BYTES; i++)
        hash = (hash ^ token[i]) * 16777619u;
    hash = (hash ^ stream) * 16777619u;
    return (uint16_t)(hash ^ hash >> 16);
}

void net_header_write(uint8_t out[NET_HEADER_BYTES], enum net_kind kind, uint16_t tag,
                      struct net_header header)
{
    frame_put_u64(out, header.sequence);
    frame_put_u64(out + 8, header.sent_ns);
    out[0] = (uint8_t)kind;
    out[1] = (uint8_t)(tag >> 8);
    out[2] = (uint8_t)tag;
}

bool net_header_read(const uint8_t *bytes, size_t length_bytes, enum net_kind kind, uint16_t tag,
                     struct net_header *header)
{
    if (length_bytes < NET_HEADER_BYTES || bytes[0] != (uint8_t)kind ||
        bytes[1] != (uint8_t)(tag >> 8) || bytes[2] != (uint8_t)tag)
        return false;
    *header = (struct net_header){get_u64(bytes) & (NET_SEQUENCES - 1), get_u64(bytes + 8)};
    return true;
}

/* Seconds, microseconds, and the number of the datagram from 1. */
void net_iperf3_header_write(uint8_t out[NET_HEADER_BYTES], struct net_header header)
{
    frame_put_u64(out, (header.sent_ns / CLOCK_SECOND_NS) << 32 |
                           header.sent_ns % CLOCK_SECOND_NS / 1000);
    frame_put_u64(out + 8, header.sequence + 1);
}

bool net_iperf3_header_read(const uint8_t *bytes, size_t length_bytes, struct net_header *header)
{
    if (length_bytes < NET_HEADER_BYTES)
        return false;
    uint64_t number = get_u64(bytes + 8);
    *header = (struct net_header){number - 1, frame_get_u32(bytes) * CLOCK_SECOND_NS +
                                                  frame_get_u32(bytes + 4) * 1000ull};
    return number > 0 && number <= NET_SEQUENCES;
}
