/* The verb selftest: does this build compute rightly on this machine? Seconds even on small ones. */
#include <string.h>

#include "cpu_round.h"
#include "crypto.h"
#include "histogram.h"
#include "memory_chase.h"
#include "memory_stream.h"
#include "net_order.h"
#include "verb.h"

static bool all_good = true;

static void tell(struct json *json, const char *name, bool good)
{
    json_bool(json, name, good);
    all_good = all_good && good;
}

static bool rounds_hold(void)
{
    static struct cpu_work work;
    for (uint32_t seed = 0; seed < CPU_ROUND_SEEDS; seed++)
        if (cpu_round(&work, seed) != cpu_round_expected(seed))
            return false;
    return true;
}

static bool kernels_hold(void)
{
    static double a[96], b[96], c[96];
    struct stream_arrays arrays = {a, b, c, sizeof a / sizeof *a};
    stream_start(&arrays);
    for (int repeat = 0; repeat < 10; repeat++)
        for (int kernel = 0; kernel < STREAM_KERNELS; kernel++)
            stream_pass(&arrays, (enum stream_kernel)kernel);
    if (!stream_holds(&arrays, 10))
        return false;
    c[95] *= 1.0 + 1e-9; /* what must be found */
    return !stream_holds(&arrays, 10);
}

/* The example of RFC 1071, section 3, whose sum is ddf2, and what both ways make of more than that. */
static bool checksum_holds(void)
{
    static const unsigned char example[sizeof(double)] = {0x00, 0x01, 0xf2, 0x03,
                                                          0xf4, 0xf5, 0xf6, 0xf7};
    static const unsigned char expected[sizeof(uint16_t)] = {0x22, 0x0d};
    static double a[333];
    struct stream_arrays arrays = {.a = a, .elements = 1};
    memcpy(a, example, sizeof example);
    uint16_t sum = stream_checksum(&arrays); /* in the order of bytes of the network */
    if (memcmp(&sum, expected, sizeof sum) != 0 || stream_checksum_expected(&arrays) != sum)
        return false;
    for (size_t i = 0; i < sizeof a; i++)
        ((unsigned char *)a)[i] = (unsigned char)(i * i + 251 * i / 7);
    arrays.elements = sizeof a / sizeof *a;
    sum = stream_checksum(&arrays);
    if (stream_checksum_expected(&arrays) != sum)
        return false;
    ((unsigned char *)a)[2000] ^= 1; /* what must be found */
    return stream_checksum(&arrays) != sum;
}

/* The ring goes through all lines: back at the start after as many steps, and not before. */
static bool ring_holds(void)
{
    static _Alignas(64) char memory[64 * 64];
    size_t lines = chase_prepare(memory, sizeof memory, 64);
    void **start = (void **)(void *)memory, **at = start;
    for (size_t i = 1; i < lines; i++)
        if ((at = chase(at, 1)) == start)
            return false;
    return chase(at, 1) == start && chase(start, 3 * lines) == start;
}

static bool histogram_holds(void)
{
    static struct histogram histogram;
    for (uint64_t i = 1; i <= 1000; i++)
        histogram_add(&histogram, i * 1000);
    uint64_t median = histogram_quantile(&histogram, 500);
    return median >= 500000 && median <= 500000 + 500000 / 16 &&
           histogram_quantile(&histogram, 1000) == 1000000;
}

/* Datagrams that come late, twice, too late, and a gap that is longer than the window. */
static bool sequences_hold(void)
{
    static struct net_order order;
    const uint64_t far = 3 * NET_WINDOW;
    for (uint64_t i = 0; i < 100; i++)
        if (i != 10 && i != 11 && i != 20)
            net_order_take(&order, i);
    bool holds = net_order_take(&order, 11) == NET_REORDERED &&
                 net_order_take(&order, 11) == NET_DUPLICATE &&
                 net_order_take(&order, far) == NET_NEW &&
                 net_order_take(&order, 10) == NET_TOO_LATE &&
                 net_order_take(&order, UINT64_MAX / 2) == NET_ABSURD;
    net_order_end(&order, far + 5);
    return holds && order.received == 99 && order.reordered_most == 88 &&
           order.loss_events == 4 && order.loss_longest == far - 100 &&
           net_order_lost(&order) == 2 + far - 100 + 4;
}

static void run(const struct request *request)
{
    (void)request;
    const char *wrong = crypto_vectors_check();
    struct json *json = report_begin("selftest");
    if (wrong != NULL)
        json_text(json, "crypto_wrong", wrong);
    tell(json, "crypto_vectors_good", wrong == NULL);
    tell(json, "cpu_rounds_good", rounds_hold());
    tell(json, "stream_kernels_good", kernels_hold());
    tell(json, "checksum_good", checksum_holds());
    tell(json, "pointer_ring_good", ring_holds());
    tell(json, "histogram_good", histogram_holds());
    tell(json, "sequences_good", sequences_hold());
    report_end();
    if (!all_good)
        report_failure(&(struct failure){
            .error = "selftest",
            .tried = "compute results that are known",
            .happened = "at least one is wrong",
            .next = "believe no figure of this probe on this host",
        });
}

const struct verb verb_selftest = {
    .name = "selftest",
    .keys = (const char *const[]){"limit_seconds", NULL},
    .limit_seconds = 120,
    .longest_limit_seconds = 3600,
    .run = run,
};
