/* The algorithms of the verb crypto, each in two implementations with one shape. */
#ifndef CRYPTO_H
#define CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto_modes.h"

enum crypto_kind { CRYPTO_GCM, CRYPTO_XTS, CRYPTO_CHACHA20_POLY1305, CRYPTO_SHA256 };

struct crypto_algorithm {
    const char *name;
    enum crypto_kind kind;
    size_t key_bytes;    /* both keys of XTS */
    size_t added_bytes;  /* tag behind the text */
    const char *kernel_type; /* for AF_ALG */
    const char *kernel_name;
};

#define CRYPTO_ALGORITHMS 6u
extern const struct crypto_algorithm crypto_algorithms[CRYPTO_ALGORITHMS];

/* Longest output: a message and a tag, or a digest. */
#define CRYPTO_OUTPUT_BYTES(message_bytes) ((message_bytes) + 32u)

/* Portable: once with a key, then message by message. `nonce` has 16 bytes of which 12 or 16 are
 * used. Returns the bytes of output: text and tag, or digest. */
struct crypto_portable {
    const struct crypto_algorithm *algorithm;
    uint8_t key[64];
    union {
        struct gcm gcm;
        struct xts xts;
    } state;
};
void crypto_portable_start(struct crypto_portable *crypto, const struct crypto_algorithm *algorithm,
                           const uint8_t key[64]);
size_t crypto_portable_run(const struct crypto_portable *crypto, const uint8_t nonce[16],
                           const uint8_t *in, size_t bytes, uint8_t *out);

/* The kernel's, through AF_ALG (Documentation/crypto/userspace-if.rst): the same on 1 message per
 * call. False if this kernel has it not. */
struct crypto_kernel {
    const struct crypto_algorithm *algorithm;
    int fd;
    char driver[64]; /* as /proc/crypto names the one that is used; may be empty */
};
bool crypto_kernel_start(struct crypto_kernel *crypto, const struct crypto_algorithm *algorithm,
                         const uint8_t key[64]);
/* 0 on failure, with errno. */
size_t crypto_kernel_run(const struct crypto_kernel *crypto, const uint8_t nonce[16],
                         const uint8_t *in, size_t bytes, uint8_t *out);
void crypto_kernel_stop(struct crypto_kernel *crypto);

/* Published test vectors against the portable implementations: the name of the first that fails,
 * NULL if all hold. */
const char *crypto_vectors_check(void);

#endif
