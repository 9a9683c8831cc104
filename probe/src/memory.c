/* The verb memory: bandwidth by STREAM's kernels and latency by a pointer chase, inside each cache
 * and past all of them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "memory_caches.h"
#include "memory_chase.h"
#include "memory_stream.h"
#include "text.h"
#include "verb.h"

/* A pass is repeated until it takes this long, so that the clock's own steps do not matter. */
#define PASS_NS (2 * CLOCK_MILLISECOND_NS)
/* The best of several stretches, as other programs may interrupt one. */
#define CHASE_STRETCHES 10u
#define CHASE_NS (10 * CLOCK_MILLISECOND_NS)
#define CHASE_LOADS 4096u
/* Each array is a third of a page longer than whole pages, so that the three start as far apart
 * within a page as they can: where the low bits of a load and of a store just before it agree, some
 * processors wait. */
#define PAGE_BYTES 4096u
#define STAGGER_BYTES 1344u
/* Where no cache is known, as on small MIPS and ARM cores: far past what those have. */
#define UNKNOWN_CACHES_BYTES (16ull << 20)
#define LEAST_BYTES (64ull << 10)

static char *memory;
static uint64_t memory_bytes;

/* STREAM asks for arrays of at least four times the last cache. An emulated MIPS core has 2 KiB. */
static uint64_t past_caches_bytes(uint64_t largest_cache_bytes)
{
    if (largest_cache_bytes == 0)
        return UNKNOWN_CACHES_BYTES;
    uint64_t bytes = 12 * largest_cache_bytes;
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

static uint64_t free_bytes(void)
{
    char window[OPTION_LINE_BYTES];
    struct file_lines lines;
    uint64_t free_kib = 0;
    if (!file_lines_open(&lines, "/proc/meminfo", window, sizeof window))
        return 0;
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        const char *value = text_split(line, ':');
        if (value == NULL)
            continue;
        if (text_equal(line, "MemFree")) /* all that kernels before 3.14 tell */
            free_kib = text_leading_u64(value);
        if (text_equal(line, "MemAvailable")) {
            free_kib = text_leading_u64(value);
            break;
        }
    }
    file_lines_close(&lines);
    return free_kib * 1024;
}

/* If memory runs out all the same, this process is the one to go. */
static void volunteer_for_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) < 0)
        errno = 0; /* then the kernel chooses by size, which also finds this one */
    close(fd);
}

static void take_memory(uint64_t bytes)
{
    memory_bytes = bytes;
    memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        report_failure(&(struct failure){
            .error = "memory",
            .tried = "allocate the arrays",
            .system_error = errno,
            .next = "allow less with limit_bytes",
        });
}

static unsigned passes_needed(const struct stream_arrays *arrays)
{
    unsigned passes = 1;
    for (;;) {
        uint64_t start_ns = clock_monotonic_ns();
        for (unsigned i = 0; i < passes; i++)
            stream_pass(arrays, STREAM_COPY);
        if (clock_monotonic_ns() - start_ns >= PASS_NS || passes >= 1u << 20)
            return passes;
        passes *= 2;
    }
}

static void place_arrays(struct stream_arrays *arrays, uint64_t total_bytes)
{
    size_t each = (size_t)(total_bytes / 3 - STAGGER_BYTES) / PAGE_BYTES * PAGE_BYTES + STAGGER_BYTES;
    arrays->elements = each / sizeof(double);
    arrays->a = (double *)(void *)memory;
    arrays->b = arrays->a + arrays->elements;
    arrays->c = arrays->b + arrays->elements;
}

static void tell_place(struct json *json, uint64_t level, uint64_t total_bytes)
{
    json_text(json, "place", level == 0 ? "memory" : "cache");
    if (level != 0)
        json_u64(json, "cache_level_number", level);
    json_u64(json, "working_set_bytes", total_bytes);
}

/* The nanoseconds of the best of several passes of the checksum; `verified` where all were right. */
static uint64_t checksum_ns(const struct stream_arrays *arrays, unsigned passes, bool *verified)
{
    uint16_t expected = stream_checksum_expected(arrays);
    uint64_t best_ns = UINT64_MAX;
    for (unsigned repeat = 0; repeat < OPTION_STREAM_REPEATS; repeat++) {
        uint64_t start_ns = clock_monotonic_ns();
        for (unsigned i = 0; i < passes; i++)
            *verified = stream_checksum(arrays) == expected && *verified;
        uint64_t elapsed_ns = clock_monotonic_ns() - start_ns;
        if (elapsed_ns < best_ns)
            best_ns = elapsed_ns;
    }
    return best_ns;
}

static void stream(uint64_t level, uint64_t total_bytes, uint64_t largest_cache_bytes)
{
    static const char *const keys[STREAM_KERNELS] = {
        "copy_bytes_per_second", "scale_bytes_per_second", "add_bytes_per_second",
        "triad_bytes_per_second"};
    struct stream_arrays arrays;
    place_arrays(&arrays, total_bytes);
    stream_start(&arrays);
    unsigned passes = passes_needed(&arrays);
    uint64_t best_ns[STREAM_KERNELS];
    struct clock_spent start = clock_spent((struct clock_spent){0});
    for (unsigned repeat = 0; repeat < OPTION_STREAM_REPEATS; repeat++) {
        for (int kernel = 0; kernel < STREAM_KERNELS; kernel++) {
            uint64_t start_ns = clock_monotonic_ns();
            for (unsigned i = 0; i < passes; i++)
                stream_pass(&arrays, (enum stream_kernel)kernel);
            uint64_t elapsed_ns = clock_monotonic_ns() - start_ns;
            if (repeat <= 1 || elapsed_ns < best_ns[kernel]) /* the first does not count */
                best_ns[kernel] = elapsed_ns;
        }
    }
    bool verified = stream_holds(&arrays, OPTION_STREAM_REPEATS);
    uint64_t sum_ns = checksum_ns(&arrays, passes, &verified);
    struct clock_spent spent = clock_spent(start);
    struct json *json = report_begin("memory_stream");
    tell_place(json, level, total_bytes);
    json_u64(json, "array_bytes", arrays.elements * sizeof(double));
    if (level == 0 && largest_cache_bytes != 0)
        json_bool(json, "past_caches",
                  arrays.elements * sizeof(double) >= 4 * largest_cache_bytes * 63 / 64);
    for (int kernel = 0; kernel < STREAM_KERNELS; kernel++)
        json_u64(json, keys[kernel],
                 clock_rate_per_second(passes * stream_bytes(&arrays, (enum stream_kernel)kernel),
                                       best_ns[kernel]));
    json_u64(json, "checksum_bytes_per_second",
             clock_rate_per_second(passes * arrays.elements * sizeof(double), sum_ns));
    report_spent(json, spent);
    json_bool(json, "verified", verified);
    report_end();
}

static void latency(uint64_t level, uint64_t total_bytes, uint64_t line_bytes)
{
    size_t lines = chase_prepare(memory, (size_t)total_bytes, (size_t)line_bytes);
    void **at = chase((void **)(void *)memory, lines); /* once round, to fill the cache */
    bool verified = at == (void **)(void *)memory;
    uint64_t best_ps = UINT64_MAX;
    struct clock_spent start = clock_spent((struct clock_spent){0});
    for (unsigned stretch = 0; stretch < CHASE_STRETCHES; stretch++) {
        uint64_t loads = 0, start_ns = clock_monotonic_ns(), elapsed_ns;
        do {
            at = chase(at, CHASE_LOADS);
            loads += CHASE_LOADS;
            elapsed_ns = clock_monotonic_ns() - start_ns;
        } while (elapsed_ns < CHASE_NS);
        if (elapsed_ns * 1000 / loads < best_ps)
            best_ps = elapsed_ns * 1000 / loads;
    }
    struct clock_spent spent = clock_spent(start);
    struct json *json = report_begin("memory_latency");
    tell_place(json, level, total_bytes);
    json_u64(json, "line_bytes", line_bytes);
    json_u64(json, "latency_ps", best_ps);
    report_spent(json, spent);
    json_bool(json, "verified", verified && at != NULL);
    report_end();
}

static void run(const struct request *request)
{
    uint64_t limit_bytes = report_setting(request, "limit_bytes", LEAST_BYTES, SIZE_MAX / 2,
                                          OPTION_MEMORY_LIMIT_BYTES);
    struct memory_cache caches[MEMORY_CACHES];
    size_t count = memory_caches(caches);
    uint64_t largest_bytes = count > 0 ? caches[count - 1].size_bytes : 0;
    uint64_t line_bytes = count > 0 && caches[0].line_bytes >= 16 ? caches[0].line_bytes : 64;
    uint64_t available_bytes = free_bytes();
    uint64_t bytes = past_caches_bytes(largest_bytes);
    if (bytes > limit_bytes)
        bytes = limit_bytes;
    if (bytes > available_bytes / 2)
        bytes = available_bytes / 2;
    bytes &= ~4095ull;
    if (bytes < LEAST_BYTES)
        report_failure(&(struct failure){
            .error = "memory",
            .tried = "find free memory for the arrays",
            .on = "/proc/meminfo",
            .happened = "less than 128 KiB are free",
            .next = "end other programs on this host",
        });
    volunteer_for_oom();
    take_memory(bytes);

    struct json *json = report_begin("memory");
    json_u64(json, "limit_bytes", limit_bytes);
    json_u64(json, "available_bytes", available_bytes);
    json_u64(json, "largest_cache_bytes", largest_bytes);
#if defined(__mips_soft_float) || (defined(__arm__) && !defined(__ARM_FP))
    json_text(json, "floating_point", "software"); /* scale, add and triad measure that, not memory */
#else
    json_text(json, "floating_point", "hardware");
#endif
    report_end();

    for (size_t i = 0; i < count; i++) {
        uint64_t half_bytes = caches[i].size_bytes / 2;
        if (half_bytes < 4 * STAGGER_BYTES || half_bytes > memory_bytes)
            continue;
        stream(caches[i].level, half_bytes, largest_bytes);
        latency(caches[i].level, half_bytes, line_bytes);
    }
    stream(0, memory_bytes, largest_bytes);
    latency(0, memory_bytes, line_bytes);
}

const struct verb verb_memory = {
    .name = "memory",
    .keys = (const char *const[]){"limit_bytes", "limit_seconds", NULL},
    .limit_seconds = 300,
    .longest_limit_seconds = 3600,
    .run = run,
};
