#include <string.h>

#include "crypto_bytes.h"
#include "crypto_modes.h"
#include "crypto_poly1305.h"

static inline void quarter(uint32_t *x, int a, int b, int c, int d)
{
    x[a] += x[b], x[d] = rotl32(x[d] ^ x[a], 16);
    x[c] += x[d], x[b] = rotl32(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = rotl32(x[d] ^ x[a], 8);
    x[c] += x[d], x[b] = rotl32(x[b] ^ x[c], 7);
}

static void chacha20_block(const uint32_t state[16], uint8_t out[64])
{
    uint32_t x[16];
    memcpy(x, state, sizeof x);
    for (int i = 0; i < 10; i++) {
        quarter(x, 0, 4, 8, 12), quarter(x, 1, 5, 9, 13);
        quarter(x, 2, 6, 10, 14), quarter(x, 3, 7, 11, 15);
        quarter(x, 0, 5, 10, 15), quarter(x, 1, 6, 11, 12);
        quarter(x, 2, 7, 8, 13), quarter(x, 3, 4, 9, 14);
    }
    for (size_t i = 0; i < 16; i++)
        put_le32(out + 4 * i, x[i] + state[i]);
}

static void pad16(struct poly1305 *poly, size_t bytes)
{
    static const uint8_t zeros[16];
    poly1305_add(poly, zeros, (16 - bytes % 16) % 16);
}

void chacha20_poly1305_seal(const uint8_t key[32], const uint8_t nonce[12], const uint8_t *header,
                            size_t header_bytes, const uint8_t *in, size_t bytes, uint8_t *out,
                            uint8_t tag[CRYPTO_TAG_BYTES])
{
    uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    uint8_t stream[64], lengths[16] = {0};
    struct poly1305 poly;
    for (size_t i = 0; i < 8; i++)
        state[4 + i] = get_le32(key + 4 * i);
    for (size_t i = 0; i < 3; i++)
        state[13 + i] = get_le32(nonce + 4 * i);
    chacha20_block(state, stream); /* block 0 is the key of Poly1305 */
    poly1305_start(&poly, stream);
    for (size_t at = 0; at < bytes; at += 64) {
        size_t part = bytes - at < 64 ? bytes - at : 64;
        state[12]++;
        chacha20_block(state, stream);
        for (size_t i = 0; i < part; i++)
            out[at + i] = in[at + i] ^ stream[i];
    }
    poly1305_add(&poly, header, header_bytes);
    pad16(&poly, header_bytes);
    poly1305_add(&poly, out, bytes);
    pad16(&poly, bytes);
    put_le32(lengths, (uint32_t)header_bytes);
    put_le32(lengths + 8, (uint32_t)bytes);
    poly1305_add(&poly, lengths, sizeof lengths);
    poly1305_finish(&poly, tag);
}
