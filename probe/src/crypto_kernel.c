#include <errno.h>
#include <linux/if_alg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crypto.h"
#include "file.h"
#include "options.h"
#include "text.h"

/* Older headers lack these; the numbers are the kernel's interface. */
#ifndef AF_ALG
#define AF_ALG 38
#endif
#ifndef SOL_ALG
#define SOL_ALG 279
#endif
#define SET_AEAD_AUTHSIZE 5 /* ALG_SET_AEAD_AUTHSIZE */

/* The driver of the highest priority under that name is the one that the kernel takes. */
static void find_driver(const char *name, char *out, size_t size)
{
    char window[OPTION_LINE_BYTES], driver[64] = "";
    struct file_lines lines;
    uint64_t best = 0;
    bool matches = false;
    out[0] = '\0';
    if (!file_lines_open(&lines, "/proc/crypto", window, sizeof window))
        return;
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        char *value = text_split(line, ':');
        const char *key = text_trim(line);
        if (value == NULL)
            matches = false; /* an empty line ends an entry */
        else if (text_equal(key, "name"))
            matches = text_equal(value, name);
        else if (matches && text_equal(key, "driver"))
            text_copy(driver, sizeof driver, value);
        else if (matches && text_equal(key, "priority") && text_leading_u64(value) >= best) {
            best = text_leading_u64(value);
            text_copy(out, size, driver);
        }
    }
}

bool crypto_kernel_start(struct crypto_kernel *crypto, const struct crypto_algorithm *algorithm,
                         const uint8_t key[64])
{
    struct sockaddr_alg address = {.salg_family = AF_ALG};
    *crypto = (struct crypto_kernel){.algorithm = algorithm, .fd = -1};
    text_copy((char *)address.salg_type, sizeof address.salg_type, algorithm->kernel_type);
    text_copy((char *)address.salg_name, sizeof address.salg_name, algorithm->kernel_name);
    int type = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (type < 0)
        return false;
    bool ready = bind(type, (struct sockaddr *)&address, sizeof address) == 0;
    if (ready && algorithm->key_bytes > 0)
        ready = setsockopt(type, SOL_ALG, ALG_SET_KEY, key, (socklen_t)algorithm->key_bytes) == 0;
    if (ready && algorithm->added_bytes > 0) /* the size is the option's length */
        ready = setsockopt(type, SOL_ALG, SET_AEAD_AUTHSIZE, NULL,
                           (socklen_t)algorithm->added_bytes) == 0;
    if (ready)
        crypto->fd = accept4(type, NULL, NULL, SOCK_CLOEXEC);
    close(type);
    if (crypto->fd < 0)
        return false;
    find_driver(algorithm->kernel_name, crypto->driver, sizeof crypto->driver);
    return true;
}

void crypto_kernel_stop(struct crypto_kernel *crypto) { close(crypto->fd); }

/* Writes one control message at `at`, which is aligned; returns where the next one goes. */
static char *put_control(char *at, int type, const void *value, size_t bytes)
{
    struct cmsghdr *head = (struct cmsghdr *)(void *)at;
    head->cmsg_level = SOL_ALG;
    head->cmsg_type = type;
    head->cmsg_len = (socklen_t)CMSG_LEN(bytes);
    memcpy(CMSG_DATA(head), value, bytes);
    return at + CMSG_SPACE(bytes);
}

/* A cipher wants the direction and the nonce beside each message. Returns the bytes used. */
static size_t put_controls(char *control, const struct crypto_algorithm *algorithm,
                           const uint8_t nonce[16])
{
    struct {
        uint32_t length;
        uint8_t bytes[16];
    } iv = {.length = algorithm->kind == CRYPTO_XTS ? 16 : 12};
    const uint32_t encrypt = ALG_OP_ENCRYPT;
    memcpy(iv.bytes, nonce, iv.length);
    char *at = put_control(control, ALG_SET_OP, &encrypt, sizeof encrypt);
    at = put_control(at, ALG_SET_IV, &iv, sizeof iv.length + iv.length);
    return (size_t)(at - control);
}

size_t crypto_kernel_run(const struct crypto_kernel *crypto, const uint8_t nonce[16],
                         const uint8_t *in, size_t bytes, uint8_t *out)
{
    const struct crypto_algorithm *algorithm = crypto->algorithm;
    _Alignas(struct cmsghdr) char control[128] = {0};
    struct iovec part = {(void *)(uintptr_t)in, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t wanted = 32;
    if (algorithm->kind != CRYPTO_SHA256) {
        message.msg_control = control;
        message.msg_controllen = (socklen_t)put_controls(control, algorithm, nonce);
        wanted = bytes + algorithm->added_bytes;
    }
    ssize_t sent = sendmsg(crypto->fd, &message, 0);
    if (sent < 0 || (size_t)sent != bytes) {
        errno = sent < 0 ? errno : EMSGSIZE;
        return 0;
    }
    ssize_t got = read(crypto->fd, out, wanted);
    return got < 0 ? 0 : (size_t)got;
}
