/* Words from and to bytes, of either order, on machines of either order. */
#ifndef CRYPTO_BYTES_H
#define CRYPTO_BYTES_H

#include <stdint.h>

static inline uint32_t rotl32(uint32_t x, unsigned by) { return x << by | x >> (32 - by); }

static inline uint32_t get_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint32_t get_le32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static inline void put_be32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24), at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8), at[3] = (uint8_t)value;
}

static inline void put_le32(uint8_t *at, uint32_t value)
{
    at[3] = (uint8_t)(value >> 24), at[2] = (uint8_t)(value >> 16);
    at[1] = (uint8_t)(value >> 8), at[0] = (uint8_t)value;
}

#endif
