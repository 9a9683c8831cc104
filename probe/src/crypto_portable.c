#include <string.h>

#include "crypto.h"

const struct crypto_algorithm crypto_algorithms[CRYPTO_ALGORITHMS] = {
    {"aes-128-gcm", CRYPTO_GCM, 16, CRYPTO_TAG_BYTES, "aead", "gcm(aes)"},
    {"aes-256-gcm", CRYPTO_GCM, 32, CRYPTO_TAG_BYTES, "aead", "gcm(aes)"},
    {"aes-128-xts", CRYPTO_XTS, 32, 0, "skcipher", "xts(aes)"},
    {"aes-256-xts", CRYPTO_XTS, 64, 0, "skcipher", "xts(aes)"},
    {"chacha20-poly1305", CRYPTO_CHACHA20_POLY1305, 32, CRYPTO_TAG_BYTES, "aead",
     "rfc7539(chacha20,poly1305)"},
    {"sha256", CRYPTO_SHA256, 0, 0, "hash", "sha256"},
};

void crypto_portable_start(struct crypto_portable *crypto, const struct crypto_algorithm *algorithm,
                           const uint8_t key[64])
{
    crypto->algorithm = algorithm;
    memcpy(crypto->key, key, sizeof crypto->key);
    if (algorithm->kind == CRYPTO_GCM)
        gcm_start(&crypto->state.gcm, key, algorithm->key_bytes);
    else if (algorithm->kind == CRYPTO_XTS)
        xts_start(&crypto->state.xts, key, algorithm->key_bytes);
}

size_t crypto_portable_run(const struct crypto_portable *crypto, const uint8_t nonce[16],
                           const uint8_t *in, size_t bytes, uint8_t *out)
{
    switch (crypto->algorithm->kind) {
    case CRYPTO_GCM:
        gcm_seal(&crypto->state.gcm, nonce, NULL, 0, in, bytes, out, out + bytes);
        return bytes + CRYPTO_TAG_BYTES;
    case CRYPTO_XTS:
        xts_encrypt(&crypto->state.xts, nonce, in, bytes, out);
        return bytes;
    case CRYPTO_CHACHA20_POLY1305:
        chacha20_poly1305_seal(crypto->key, nonce, NULL, 0, in, bytes, out, out + bytes);
        return bytes + CRYPTO_TAG_BYTES;
    default:
        sha256(in, bytes, out);
        return 32;
    }
}
