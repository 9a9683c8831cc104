/* The portable ciphers and the hash that the verb crypto measures where the kernel offers none.
 * They encrypt real data correctly (crypto_vectors.c) but are made for measuring, not for secrets. */
#ifndef CRYPTO_MODES_H
#define CRYPTO_MODES_H

#include <stddef.h>
#include <stdint.h>

#include "crypto_aes.h"

#define CRYPTO_TAG_BYTES 16u

/* AES-GCM (NIST SP 800-38D) with a nonce of 96 bits. */
struct gcm {
    struct aes aes;
    uint64_t high[16], low[16]; /* multiples of the hash key, by four bits */
};
void gcm_start(struct gcm *gcm, const uint8_t *key, size_t key_bytes);
void gcm_seal(const struct gcm *gcm, const uint8_t nonce[12], const uint8_t *header,
              size_t header_bytes, const uint8_t *in, size_t bytes, uint8_t *out,
              uint8_t tag[CRYPTO_TAG_BYTES]);

/* AES-XTS (IEEE 1619), whole blocks alone. `key_bytes` counts both keys: 32 or 64. */
struct xts {
    struct aes data, tweak;
};
void xts_start(struct xts *xts, const uint8_t *key, size_t key_bytes);
void xts_encrypt(const struct xts *xts, const uint8_t unit[16], const uint8_t *in, size_t bytes,
                 uint8_t *out);

/* ChaCha20-Poly1305 (RFC 8439). */
void chacha20_poly1305_seal(const uint8_t key[32], const uint8_t nonce[12], const uint8_t *header,
                            size_t header_bytes, const uint8_t *in, size_t bytes, uint8_t *out,
                            uint8_t tag[CRYPTO_TAG_BYTES]);

/* SHA-256 (FIPS 180-4). */
void sha256(const uint8_t *in, size_t bytes, uint8_t digest[32]);

#endif
