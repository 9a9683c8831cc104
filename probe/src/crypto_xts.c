#include "crypto_bytes.h"
#include "crypto_modes.h"

void xts_start(struct xts *xts, const uint8_t *key, size_t key_bytes)
{
    aes_start(&xts->data, key, key_bytes / 2);
    aes_start(&xts->tweak, key + key_bytes / 2, key_bytes / 2);
}

void xts_encrypt(const struct xts *xts, const uint8_t unit[16], const uint8_t *in, size_t bytes,
                 uint8_t *out)
{
    uint8_t tweak[16], block[16];
    aes_encrypt(&xts->tweak, unit, tweak);
    for (size_t at = 0; at + 16 <= bytes; at += 16) {
        for (size_t i = 0; i < 16; i++)
            block[i] = in[at + i] ^ tweak[i];
        aes_encrypt(&xts->data, block, block);
        for (size_t i = 0; i < 16; i++)
            out[at + i] = block[i] ^ tweak[i];
        /* Times x in the field, the first byte being the lowest. */
        unsigned carry = 0;
        for (size_t i = 0; i < 16; i++) {
            unsigned wide = (unsigned)tweak[i] << 1 | carry;
            tweak[i] = (uint8_t)wide;
            carry = wide >> 8;
        }
        tweak[0] ^= carry != 0 ? 0x87 : 0;
    }
}
