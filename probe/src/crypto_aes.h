/* AES (FIPS 197), forward direction alone: GCM and the encrypting half of XTS need no other.
 * By tables, so its speed is that of portable code, and its timing depends on the data: it measures
 * and protects nothing. */
#ifndef CRYPTO_AES_H
#define CRYPTO_AES_H

#include <stddef.h>
#include <stdint.h>

struct aes {
    uint32_t round_keys[60];
    unsigned rounds;
};

/* `key_bytes` is 16 or 32. */
void aes_start(struct aes *aes, const uint8_t *key, size_t key_bytes);
void aes_encrypt(const struct aes *aes, const uint8_t in[16], uint8_t out[16]);

#endif
