#include "frame.h"

#include <stdbool.h>
#include <string.h>

static const uint8_t magic[4] = {'P', 'L', 'M', 'S'};

uint32_t frame_get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void frame_put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

void frame_put_u64(uint8_t *at, uint64_t value)
{
    frame_put_u32(at, (uint32_t)(value >> 32));
    frame_put_u32(at + 4, (uint32_t)value);
}

uint8_t frame_claimed_version(const uint8_t *bytes) { return bytes[4]; }

enum frame_status frame_decode(const uint8_t *bytes, size_t length_bytes, size_t longest_bytes,
                               struct frame *frame)
{
    size_t seen = length_bytes < sizeof magic ? length_bytes : sizeof magic;
    if (memcmp(bytes, magic, seen) != 0)
        return FRAME_NOT_OURS;
    /* The version comes before everything whose meaning it may change. */
    if (length_bytes > 4 && frame_claimed_version(bytes) != FRAME_VERSION)
        return FRAME_OTHER_VERSION;
    if (length_bytes < FRAME_HEADER_BYTES)
        return FRAME_INCOMPLETE;
    if (bytes[6] != 0 || bytes[7] != 0)
        return FRAME_NOT_OURS;
    uint32_t body = frame_get_u32(bytes + 8);
    if (body > longest_bytes)
        return FRAME_TOO_LONG;
    if (length_bytes - FRAME_HEADER_BYTES < body)
        return FRAME_INCOMPLETE;
    *frame = (struct frame){bytes[5], bytes + FRAME_HEADER_BYTES, body};
    return FRAME_WHOLE;
}

void frame_header(uint8_t header[FRAME_HEADER_BYTES], enum frame_type type, size_t length_bytes)
{
    memcpy(header, magic, sizeof magic);
    header[4] = FRAME_VERSION;
    header[5] = (uint8_t)type;
    header[6] = header[7] = 0;
    frame_put_u32(header + 8, (uint32_t)length_bytes);
}
