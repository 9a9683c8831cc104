/* The verb cpu: rounds of the integer workload a second, on each core alone and on all at once. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cpu_round.h"
#include "file.h"
#include "text.h"
#include "verb.h"
#include "wire.h"

/* Rounds between two looks at the clock: 1 ms or so on a 500 MHz core, and every seed equally. */
#define BATCH_ROUNDS CPU_ROUND_SEEDS
/* The warm-up is so small a part of what is measured. */
#define WARM_UP_PART 8
/* For all processes to be there before the common start. */
#define GATE_NS (100 * CLOCK_MILLISECOND_NS)

struct score {
    uint64_t rounds;
    uint64_t wrong_rounds;
    struct clock_spent spent;
};

static struct score work_for(uint64_t duration_ns)
{
    static struct cpu_work work;
    struct score score = {0};
    struct clock_spent start = clock_spent(score.spent);
    do {
        for (uint32_t i = 0; i < BATCH_ROUNDS; i++) {
            uint32_t seed = i % CPU_ROUND_SEEDS;
            score.wrong_rounds += cpu_round(&work, seed) != cpu_round_expected(seed);
        }
        score.rounds += BATCH_ROUNDS;
        score.spent = clock_spent(start);
    } while (score.spent.elapsed_ns < duration_ns);
    return score;
}

/* Caches, page tables and clocks have become what they are under load before it counts. */
static struct score warm_work_for(uint64_t duration_ns)
{
    work_for(duration_ns / WARM_UP_PART);
    return work_for(duration_ns);
}

static void tell_score(struct json *json, const struct score *score)
{
    json_u64(json, "rounds_count", score->rounds);
    json_u64(json, "wrong_rounds_count", score->wrong_rounds);
    report_spent(json, score->spent);
}

static bool pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static void tell_clock_rate(struct json *json, int core)
{
    char digits[TEXT_U64_BYTES], directory[96];
    uint64_t khz;
    text_join(directory, sizeof directory, "/sys/devices/system/cpu/cpu",
              text_from_u64((uint64_t)core, digits), "/cpufreq", NULL);
    if (file_u64(directory, "scaling_cur_freq", &khz))
        json_u64(json, "clock_hertz", khz * 1000);
}

static void each_core(cpu_set_t *allowed, uint64_t duration_ns)
{
    unsigned reported = 0;
    for (int core = 0; core < CPU_SETSIZE && reported < OPTION_CPU_CORES; core++) {
        if (!CPU_ISSET((size_t)core, allowed) || !pin(core))
            continue;
        struct score score = warm_work_for(duration_ns);
        struct json *json = report_begin("cpu_core");
        json_u64(json, "core_number", (uint64_t)core);
        json_u64(json, "rounds_per_second", clock_rate_per_second(score.rounds, score.spent.elapsed_ns));
        tell_score(json, &score);
        tell_clock_rate(json, core);
        report_end();
        reported++;
    }
}

/* One process a core, from a common moment on. */
static void all_cores(cpu_set_t *allowed, uint64_t duration_ns)
{
    size_t size = CPU_SETSIZE * sizeof(struct score);
    struct score *scores =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (scores == MAP_FAILED)
        report_failure(&(struct failure){
            .error = "memory", .tried = "share memory between processes", .system_error = errno});
    uint64_t gate_ns = clock_monotonic_ns() + GATE_NS;
    uint64_t processes = 0, refused = 0;
    for (int core = 0; core < CPU_SETSIZE && processes < OPTION_CPU_CORES; core++) {
        if (!CPU_ISSET((size_t)core, allowed))
            continue;
        pid_t child = _Fork(); /* nothing here needs what fork() calls besides */
        if (child == 0) {
            wire_forget_signals();
            pin(core);
            clock_sleep_until(gate_ns);
            scores[core] = warm_work_for(duration_ns);
            _exit(0);
        }
        processes += child > 0;
        refused += child < 0;
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    struct score sum = {0};
    uint64_t rate = 0;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        sum.rounds += scores[core].rounds;
        sum.wrong_rounds += scores[core].wrong_rounds;
        struct clock_spent spent = scores[core].spent;
        sum.spent.cpu_ns += spent.cpu_ns;
        if (spent.elapsed_ns > sum.spent.elapsed_ns)
            sum.spent.elapsed_ns = spent.elapsed_ns;
        rate += clock_rate_per_second(scores[core].rounds, spent.elapsed_ns);
    }
    struct json *json = report_begin("cpu_all");
    json_u64(json, "processes_count", processes);
    json_u64(json, "processes_refused_count", refused);
    json_u64(json, "rounds_per_second", rate);
    tell_score(json, &sum);
    report_end();
}

static void run(const struct request *request)
{
    uint64_t duration_ns =
        report_setting(request, "duration_ms", 10, 60000, 1000) * CLOCK_MILLISECOND_NS;
    bool one_by_one = report_setting(request, "each_core", 0, 1, 1) == 1;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        report_failure(&(struct failure){
            .error = "cpu", .tried = "ask which cores this process may use",
            .system_error = errno});
    struct json *json = report_begin("cpu");
    json_text(json, "workload", "plimsoll integer rounds");
    json_u64(json, "workload_version_number", CPU_ROUND_VERSION);
    json_u64(json, "cores_count", (uint64_t)CPU_COUNT(&allowed));
    report_end();
    if (one_by_one)
        each_core(&allowed, duration_ns);
    all_cores(&allowed, duration_ns);
}

const struct verb verb_cpu = {
    .name = "cpu",
    .keys = (const char *const[]){"duration_ms", "each_core", "limit_seconds", NULL},
    .limit_seconds = 300,
    .longest_limit_seconds = 3600,
    .run = run,
};
