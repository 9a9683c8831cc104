#include "crypto_aes.h"

#include <stdbool.h>

#include "crypto_bytes.h"

/* Made at first use instead of kept in the file. */
static uint8_t sbox[256];
static uint32_t table[256]; /* S-box and MixColumns of one byte: (2, 1, 1, 3) times S(x) */

static uint8_t doubled(uint8_t x) { return (uint8_t)(x << 1 ^ ((x & 0x80) != 0 ? 0x1b : 0)); }

static uint8_t rotl8(uint8_t x, unsigned by) { return (uint8_t)(x << by | x >> (8 - by)); }

/* Walks the field by a generator and its inverse at once, so p * q is always 1. */
static void make_tables(void)
{
    uint8_t p = 1, q = 1;
    do {
        p = (uint8_t)(p ^ doubled(p)); /* times 3 */
        q = (uint8_t)(q ^ q << 1);     /* divided by 3 */
        q = (uint8_t)(q ^ q << 2);
        q = (uint8_t)(q ^ q << 4);
        if ((q & 0x80) != 0)
            q ^= 0x09;
        sbox[p] = (uint8_t)(q ^ rotl8(q, 1) ^ rotl8(q, 2) ^ rotl8(q, 3) ^ rotl8(q, 4) ^ 0x63);
    } while (p != 1);
    sbox[0] = 0x63;
    for (unsigned x = 0; x < 256; x++) {
        uint8_t s = sbox[x], s2 = doubled(s);
        table[x] = (uint32_t)s2 << 24 | (uint32_t)s << 16 | (uint32_t)s << 8 | (uint8_t)(s ^ s2);
    }
}

static uint32_t substituted(uint32_t word)
{
    return (uint32_t)sbox[word >> 24] << 24 | (uint32_t)sbox[word >> 16 & 255] << 16 |
           (uint32_t)sbox[word >> 8 & 255] << 8 | sbox[word & 255];
}

void aes_start(struct aes *aes, const uint8_t *key, size_t key_bytes)
{
    static bool made;
    if (!made)
        make_tables();
    made = true;
    unsigned words = (unsigned)key_bytes / 4;
    uint8_t constant = 1;
    aes->rounds = words + 6;
    for (unsigned i = 0; i < words; i++)
        aes->round_keys[i] = get_be32(key + (size_t)4 * i);
    for (unsigned i = words; i < 4 * (aes->rounds + 1); i++) {
        uint32_t word = aes->round_keys[i - 1];
        if (i % words == 0) {
            word = substituted(rotl32(word, 8)) ^ (uint32_t)constant << 24;
            constant = doubled(constant);
        } else if (words > 6 && i % words == 4) {
            word = substituted(word);
        }
        aes->round_keys[i] = aes->round_keys[i - words] ^ word;
    }
}

static inline uint32_t column(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return table[a >> 24] ^ rotl32(table[b >> 16 & 255], 24) ^ rotl32(table[c >> 8 & 255], 16) ^
           rotl32(table[d & 255], 8);
}

static inline uint32_t last_column(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (uint32_t)sbox[a >> 24] << 24 | (uint32_t)sbox[b >> 16 & 255] << 16 |
           (uint32_t)sbox[c >> 8 & 255] << 8 | sbox[d & 255];
}

void aes_encrypt(const struct aes *aes, const uint8_t in[16], uint8_t out[16])
{
    const uint32_t *key = aes->round_keys;
    uint32_t a = get_be32(in) ^ key[0], b = get_be32(in + 4) ^ key[1];
    uint32_t c = get_be32(in + 8) ^ key[2], d = get_be32(in + 12) ^ key[3];
    for (unsigned round = 1; round < aes->rounds; round++) {
        key += 4;
        uint32_t a2 = column(a, b, c, d) ^ key[0], b2 = column(b, c, d, a) ^ key[1];
        uint32_t c2 = column(c, d, a, b) ^ key[2], d2 = column(d, a, b, c) ^ key[3];
        a = a2, b = b2, c = c2, d = d2;
    }
    key += 4;
    put_be32(out, last_column(a, b, c, d) ^ key[0]);
    put_be32(out + 4, last_column(b, c, d, a) ^ key[1]);
    put_be32(out + 8, last_column(c, d, a, b) ^ key[2]);
    put_be32(out + 12, last_column(d, a, b, c) ^ key[3]);
}
