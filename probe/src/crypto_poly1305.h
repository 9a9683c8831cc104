/* Poly1305 (RFC 8439, 2.5): a polynomial over the message's 16-byte blocks modulo 2^130 - 5, in five
 * digits of 26 bits, so that 32-bit machines multiply without overflow. */
#ifndef CRYPTO_POLY1305_H
#define CRYPTO_POLY1305_H

#include <stddef.h>
#include <stdint.h>

struct poly1305 {
    uint32_t point[5]; /* r */
    uint32_t sum[5];   /* h */
    uint32_t pad[4];   /* s */
    uint8_t block[16];
    size_t held_bytes; /* in `block` */
};

void poly1305_start(struct poly1305 *poly, const uint8_t key[32]);
void poly1305_add(struct poly1305 *poly, const uint8_t *data, size_t bytes);
void poly1305_finish(struct poly1305 *poly, uint8_t tag[16]);

#endif
