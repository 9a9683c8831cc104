#include <string.h>

#include "crypto_bytes.h"
#include "crypto_modes.h"

/* What falls out of the low end when a product moves by four bits, folded back at the high end: the
 * polynomial x^128 + x^7 + x^2 + x + 1 in GCM's reflected order. */
static const uint16_t fold[16] = {
    0x0000, 0x1c20, 0x3840, 0x2460, 0x7080, 0x6ca0, 0x48c0, 0x54e0,
    0xe100, 0xfd20, 0xd940, 0xc560, 0x9180, 0x8da0, 0xa9c0, 0xb5e0,
};

static uint64_t get_be64(const uint8_t *at)
{
    return (uint64_t)get_be32(at) << 32 | get_be32(at + 4);
}

static void put_be64(uint8_t *at, uint64_t value)
{
    put_be32(at, (uint32_t)(value >> 32));
    put_be32(at + 4, (uint32_t)value);
}

void gcm_start(struct gcm *gcm, const uint8_t *key, size_t key_bytes)
{
    uint8_t hash_key[16] = {0};
    aes_start(&gcm->aes, key, key_bytes);
    aes_encrypt(&gcm->aes, hash_key, hash_key);
    uint64_t high = get_be64(hash_key), low = get_be64(hash_key + 8);
    gcm->high[0] = gcm->low[0] = 0;
    /* Entry 8 is the key itself (the first bit is the highest); 4, 2, 1 are halves of it. */
    for (unsigned i = 8; i > 0; i >>= 1) {
        gcm->high[i] = high, gcm->low[i] = low;
        uint64_t fallen = low & 1;
        low = high << 63 | low >> 1;
        high = high >> 1 ^ (fallen != 0 ? 0xe100000000000000ull : 0);
    }
    for (unsigned i = 2; i < 16; i <<= 1)
        for (unsigned j = 1; j < i; j++) {
            gcm->high[i + j] = gcm->high[i] ^ gcm->high[j];
            gcm->low[i + j] = gcm->low[i] ^ gcm->low[j];
        }
}

/* Multiplies the hash by the hash key, four bits a step (Shoup's tables). */
static void multiply(const struct gcm *gcm, uint8_t hash[16])
{
    uint64_t high = 0, low = 0;
    for (int i = 31; i >= 0; i--) {
        unsigned four = i % 2 != 0 ? hash[i / 2] & 15u : hash[i / 2] >> 4;
        unsigned fallen = (unsigned)(low & 15);
        low = high << 60 | low >> 4;
        high = high >> 4 ^ (uint64_t)fold[fallen] << 48;
        high ^= gcm->high[four];
        low ^= gcm->low[four];
    }
    put_be64(hash, high);
    put_be64(hash + 8, low);
}

static void absorb(const struct gcm *gcm, uint8_t hash[16], const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        size_t part = bytes < 16 ? bytes : 16;
        for (size_t i = 0; i < part; i++)
            hash[i] ^= data[i];
        multiply(gcm, hash);
        data += part;
        bytes -= part;
    }
}

void gcm_seal(const struct gcm *gcm, const uint8_t nonce[12], const uint8_t *header,
              size_t header_bytes, const uint8_t *in, size_t bytes, uint8_t *out,
              uint8_t tag[CRYPTO_TAG_BYTES])
{
    uint8_t counter[16], pad[16], hash[16] = {0}, lengths[16];
    memcpy(counter, nonce, 12);
    for (size_t at = 0; at < bytes; at += 16) {
        size_t part = bytes - at < 16 ? bytes - at : 16;
        put_be32(counter + 12, (uint32_t)(at / 16 + 2));
        aes_encrypt(&gcm->aes, counter, pad);
        for (size_t i = 0; i < part; i++)
            out[at + i] = in[at + i] ^ pad[i];
    }
    put_be64(lengths, (uint64_t)header_bytes * 8);
    put_be64(lengths + 8, (uint64_t)bytes * 8);
    absorb(gcm, hash, header, header_bytes);
    absorb(gcm, hash, out, bytes);
    absorb(gcm, hash, lengths, sizeof lengths);
    put_be32(counter + 12, 1);
    aes_encrypt(&gcm->aes, counter, pad);
    for (size_t i = 0; i < CRYPTO_TAG_BYTES; i++)
        tag[i] = hash[i] ^ pad[i];
}
