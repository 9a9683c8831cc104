/* The verb crypto: bytes a second of one core, by the kernel where it has the algorithm. */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "crypto.h"
#include "file.h"
#include "text.h"
#include "verb.h"

/* Messages between two looks at the clock. */
#define BATCH_MESSAGES 4u
/* The duration is divided into so many stretches, of which the fastest counts. One more before them
 * warms up: the kernel loads and tests a cipher when it is first asked for. */
#define STRETCHES 3u
#define CHECK_BYTES 1024u

static uint8_t key[64], nonce[16];
static uint8_t message[OPTION_CRYPTO_MESSAGE_BYTES];
static uint8_t output[CRYPTO_OUTPUT_BYTES(OPTION_CRYPTO_MESSAGE_BYTES)];

/* Whether the processor has instructions for AES: then the portable figure says little about what
 * programs that use them reach. */
static bool has_aes_instructions(void)
{
    static char window[8192];
    struct file_lines lines;
    bool found = false;
    if (!file_lines_open(&lines, "/proc/cpuinfo", window, sizeof window))
        return false;
    for (char *line; !found && (line = file_lines_next(&lines)) != NULL;) {
        char *rest = text_split(line, ':');
        if (rest == NULL || !(text_starts(line, "flags") || text_starts(line, "Features") ||
                              text_starts(line, "isa")))
            continue;
        for (char *word; !found && (word = text_next_word(&rest)) != NULL;)
            found = text_equal(word, "aes") || text_find(word, "_zkne") != NULL;
    }
    file_lines_close(&lines);
    return found;
}

/* Bytes per second of one stretch. */
static uint64_t encrypt_for(const struct crypto_algorithm *algorithm,
                            const struct crypto_kernel *kernel,
                            const struct crypto_portable *portable, size_t message_bytes,
                            uint64_t duration_ns)
{
    uint64_t messages = 0, start_ns = clock_monotonic_ns(), elapsed_ns;
    do {
        for (unsigned i = 0; i < BATCH_MESSAGES; i++) {
            nonce[0]++;
            size_t got = kernel != NULL
                             ? crypto_kernel_run(kernel, nonce, message, message_bytes, output)
                             : crypto_portable_run(portable, nonce, message, message_bytes, output);
            if (got == 0)
                report_failure(&(struct failure){.error = "crypto",
                                                 .tried = "encrypt by AF_ALG",
                                                 .on = algorithm->name,
                                                 .system_error = errno,
                                                 .next = "ask for implementation=portable"});
        }
        messages += BATCH_MESSAGES;
        elapsed_ns = clock_monotonic_ns() - start_ns;
    } while (elapsed_ns < duration_ns);
    return clock_rate_per_second(messages * message_bytes, elapsed_ns);
}

static void tell(const struct crypto_algorithm *algorithm, const struct crypto_kernel *kernel,
                 const struct crypto_portable *portable, size_t message_bytes,
                 uint64_t duration_ns)
{
    uint64_t fastest = 0, slowest = UINT64_MAX;
    struct clock_spent start = {0};
    for (unsigned stretch = 0; stretch <= STRETCHES; stretch++) {
        uint64_t rate = encrypt_for(algorithm, kernel, portable, message_bytes,
                                    duration_ns / STRETCHES);
        if (stretch == 0) {
            start = clock_spent(start);
            continue;
        }
        if (rate > fastest)
            fastest = rate;
        if (rate < slowest)
            slowest = rate;
    }
    struct clock_spent spent = clock_spent(start);
    struct json *json = report_begin("crypto_algorithm");
    json_text(json, "algorithm", algorithm->name);
    json_text(json, "implementation", kernel != NULL ? "kernel" : "portable");
    if (kernel != NULL && kernel->driver[0] != '\0')
        json_text(json, "driver", kernel->driver);
    json_u64(json, "message_bytes", message_bytes);
    json_u64(json, "bytes_per_second", fastest);
    json_u64(json, "slowest_bytes_per_second", slowest);
    report_spent(json, spent);
    json_bool(json, "verified", true); /* or we would not be here: see same_result and run */
    report_end();
}

/* The kernel's result on one message must be the portable one's. */
static bool same_result(const struct crypto_kernel *kernel, const struct crypto_portable *portable)
{
    uint8_t expected[CRYPTO_OUTPUT_BYTES(CHECK_BYTES)];
    size_t length = crypto_portable_run(portable, nonce, message, CHECK_BYTES, expected);
    return crypto_kernel_run(kernel, nonce, message, CHECK_BYTES, output) == length &&
           memcmp(output, expected, length) == 0;
}

static void measure(const struct crypto_algorithm *algorithm, bool try_kernel, bool try_portable,
                    size_t message_bytes, uint64_t duration_ns)
{
    struct crypto_portable portable;
    struct crypto_kernel kernel;
    bool done = false;
    crypto_portable_start(&portable, algorithm, key);
    if (try_kernel && crypto_kernel_start(&kernel, algorithm, key)) {
        done = same_result(&kernel, &portable);
        if (done)
            tell(algorithm, &kernel, NULL, message_bytes, duration_ns);
        crypto_kernel_stop(&kernel);
    }
    if (!done && try_portable)
        tell(algorithm, NULL, &portable, message_bytes, duration_ns);
}

static void run(const struct request *request)
{
    uint64_t duration_ns =
        report_setting(request, "duration_ms", 1, 60000, 300) * CLOCK_MILLISECOND_NS;
    size_t message_bytes = (size_t)report_setting(request, "message_bytes", 64,
                                                  OPTION_CRYPTO_MESSAGE_BYTES, 16384) & ~15u;
    const char *implementation = request_text(request, "implementation");
    if (implementation == NULL)
        implementation = "auto";
    bool automatic = text_equal(implementation, "auto");
    bool try_kernel = automatic || text_equal(implementation, "kernel");
    bool try_portable = automatic || text_equal(implementation, "portable");
    if (!try_kernel && !try_portable)
        report_refused(&(struct request_error){
            "implementation", "its value is none of auto, kernel and portable"});
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * 13 + (i >> 8));
    const char *wrong = crypto_vectors_check();
    if (wrong != NULL)
        report_failure(&(struct failure){.error = "crypto",
                                         .tried = "check the portable code by published vectors",
                                         .on = wrong,
                                         .happened = "it gave another result",
                                         .next = "this host computes wrongly: test its memory"});
    struct json *json = report_begin("crypto");
    json_bool(json, "aes_instructions", has_aes_instructions());
    report_end();
    for (size_t i = 0; i < CRYPTO_ALGORITHMS; i++)
        measure(&crypto_algorithms[i], try_kernel, try_portable, message_bytes, duration_ns);
}

const struct verb verb_crypto = {
    .name = "crypto",
    .keys = (const char *const[]){"duration_ms", "message_bytes", "implementation",
                                  "limit_seconds", NULL},
    .limit_seconds = 120,
    .longest_limit_seconds = 3600,
    .run = run,
};
