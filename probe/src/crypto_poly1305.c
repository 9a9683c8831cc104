#include "crypto_poly1305.h"

#include <string.h>

#include "crypto_bytes.h"

#define DIGIT 0x3ffffffu

void poly1305_start(struct poly1305 *poly, const uint8_t key[32])
{
    memset(poly, 0, sizeof *poly);
    /* The digits of r with the bits cleared that the RFC's clamp clears. */
    poly->point[0] = get_le32(key) & 0x3ffffff;
    poly->point[1] = get_le32(key + 3) >> 2 & 0x3ffff03;
    poly->point[2] = get_le32(key + 6) >> 4 & 0x3ffc0ff;
    poly->point[3] = get_le32(key + 9) >> 6 & 0x3f03fff;
    poly->point[4] = get_le32(key + 12) >> 8 & 0x00fffff;
    for (size_t i = 0; i < 4; i++)
        poly->pad[i] = get_le32(key + 16 + 4 * i);
}

static inline uint64_t product(uint32_t a, uint32_t b) { return (uint64_t)a * b; }

/* sum = (sum + block) * point. `high` is the bit above the block's 128: 0 only for a short last
 * block, which carries its own. */
static void block(struct poly1305 *poly, const uint8_t *data, uint32_t high)
{
    const uint32_t *r = poly->point;
    uint32_t h[5], five[5];
    h[0] = poly->sum[0] + (get_le32(data) & DIGIT);
    h[1] = poly->sum[1] + (get_le32(data + 3) >> 2 & DIGIT);
    h[2] = poly->sum[2] + (get_le32(data + 6) >> 4 & DIGIT);
    h[3] = poly->sum[3] + (get_le32(data + 9) >> 6);
    h[4] = poly->sum[4] + (get_le32(data + 12) >> 8) + (high << 24);
    for (size_t i = 0; i < 5; i++)
        five[i] = r[i] * 5; /* 2^130 is 5 modulo the prime */
    uint64_t d[5] = {
        product(h[0], r[0]) + product(h[1], five[4]) + product(h[2], five[3]) +
            product(h[3], five[2]) + product(h[4], five[1]),
        product(h[0], r[1]) + product(h[1], r[0]) + product(h[2], five[4]) +
            product(h[3], five[3]) + product(h[4], five[2]),
        product(h[0], r[2]) + product(h[1], r[1]) + product(h[2], r[0]) +
            product(h[3], five[4]) + product(h[4], five[3]),
        product(h[0], r[3]) + product(h[1], r[2]) + product(h[2], r[1]) + product(h[3], r[0]) +
            product(h[4], five[4]),
        product(h[0], r[4]) + product(h[1], r[3]) + product(h[2], r[2]) + product(h[3], r[1]) +
            product(h[4], r[0]),
    };
    uint64_t carry = 0;
    for (size_t i = 0; i < 5; i++) {
        d[i] += carry;
        poly->sum[i] = (uint32_t)d[i] & DIGIT;
        carry = d[i] >> 26;
    }
    uint64_t first = poly->sum[0] + carry * 5;
    poly->sum[0] = (uint32_t)first & DIGIT;
    poly->sum[1] += (uint32_t)(first >> 26);
}

void poly1305_add(struct poly1305 *poly, const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        if (poly->held_bytes == 0 && bytes >= 16) {
            block(poly, data, 1);
            data += 16;
            bytes -= 16;
            continue;
        }
        size_t part = 16 - poly->held_bytes < bytes ? 16 - poly->held_bytes : bytes;
        memcpy(poly->block + poly->held_bytes, data, part);
        poly->held_bytes += part;
        data += part;
        bytes -= part;
        if (poly->held_bytes == 16) {
            block(poly, poly->block, 1);
            poly->held_bytes = 0;
        }
    }
}

void poly1305_finish(struct poly1305 *poly, uint8_t tag[16])
{
    if (poly->held_bytes > 0) {
        poly->block[poly->held_bytes] = 1;
        memset(poly->block + poly->held_bytes + 1, 0, 15 - poly->held_bytes);
        block(poly, poly->block, 0);
    }
    uint32_t *h = poly->sum, carry = 0;
    /* Twice round, so that each digit is below 2^26. */
    for (size_t i = 0; i < 10; i++) {
        h[i % 5] += i % 5 == 0 ? carry * 5 : carry;
        carry = h[i % 5] >> 26;
        h[i % 5] &= DIGIT;
    }
    h[0] += carry * 5;
    /* h - p = h + 5 - 2^130, taken if it does not go below zero. */
    uint32_t reduced[5];
    carry = 5;
    for (size_t i = 0; i < 5; i++) {
        reduced[i] = h[i] + carry;
        carry = reduced[i] >> 26;
        reduced[i] &= DIGIT;
    }
    const uint32_t *value = carry != 0 ? reduced : h;
    uint32_t words[4] = {value[0] | value[1] << 26, value[1] >> 6 | value[2] << 20,
                         value[2] >> 12 | value[3] << 14, value[3] >> 18 | value[4] << 8};
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++) {
        sum += (uint64_t)words[i] + poly->pad[i];
        put_le32(tag + 4 * i, (uint32_t)sum);
        sum >>= 32;
    }
}
