/* The verb clock_call: how long a call of clock_gettime takes on each core, through the C library and as a bare system
 * call. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"
#include "verb.h"

/* Calls between two looks at the clock: 1 ms or so where a call takes 1 us. */
#define BATCH_CALLS 1000u
/* The warm-up is so small a part of what is measured. */
#define WARM_UP_PART 8

/* With 64-bit times, which older kernels for 32-bit processors do not have. */
#ifdef SYS_clock_gettime64
#define CALL_64 SYS_clock_gettime64
#else
#define CALL_64 SYS_clock_gettime
#endif
#if defined SYS_clock_gettime32
#define CALL_OTHERWISE SYS_clock_gettime32
#elif defined SYS_clock_gettime
#define CALL_OTHERWISE SYS_clock_gettime
#else
#define CALL_OTHERWISE CALL_64
#endif

static const struct {
    const char *name;
    clockid_t id;
} clocks[] = {
    {"monotonic", CLOCK_MONOTONIC},
    {"realtime", CLOCK_REALTIME},
    {"process_cpu", CLOCK_PROCESS_CPUTIME_ID},
};

struct score {
    uint64_t calls;
    struct clock_spent spent;
};

static _Noreturn void refused_call(void)
{
    report_failure(&(struct failure){
        .error = "clock_call", .tried = "read the clock", .system_error = errno});
}

static long system_call_number(clockid_t id)
{
    struct timespec now;
    return syscall(CALL_64, id, &now) == 0 ? CALL_64 : CALL_OTHERWISE;
}

/* A number of 0 stands for the C library. */
static struct score call_for(clockid_t id, long number, uint64_t duration_ns)
{
    struct timespec now;
    struct score score = {0};
    struct clock_spent start = clock_spent(score.spent);
    do {
        for (uint32_t i = 0; i < BATCH_CALLS; i++)
            if ((number == 0 ? clock_gettime(id, &now) : syscall(number, id, &now)) != 0)
                refused_call();
        score.calls += BATCH_CALLS;
        score.spent = clock_spent(start);
    } while (score.spent.elapsed_ns < duration_ns);
    return score;
}

/* Caches and clocks have become what they are under load before it counts. */
static struct score warm_call_for(clockid_t id, long number, uint64_t duration_ns)
{
    call_for(id, number, duration_ns / WARM_UP_PART);
    return call_for(id, number, duration_ns);
}

/* By CPU time, as other programs may use the core as well. Some kernels count that in ticks: none may be counted. */
static uint64_t picoseconds(const struct score *score)
{
    uint64_t ns = score->spent.cpu_ns;
    if (ns == 0 || ns > score->spent.elapsed_ns)
        ns = score->spent.elapsed_ns;
    return ns * 1000 / score->calls;
}

static void measure_core(clockid_t id, int core, uint64_t duration_ns)
{
    struct score library = warm_call_for(id, 0, duration_ns);
    struct score bare = warm_call_for(id, system_call_number(id), duration_ns);
    struct clock_spent spent = {library.spent.elapsed_ns + bare.spent.elapsed_ns,
                                library.spent.cpu_ns + bare.spent.cpu_ns};
    struct json *json = report_begin("clock_core");
    json_u64(json, "core_number", (uint64_t)core);
    json_u64(json, "calls_count", library.calls);
    json_u64(json, "call_ps", picoseconds(&library));
    json_u64(json, "system_calls_count", bare.calls);
    json_u64(json, "system_call_ps", picoseconds(&bare));
    report_spent(json, spent);
    report_end();
}

static void run(const struct request *request)
{
    uint64_t duration_ns =
        report_setting(request, "duration_ms", 1, 60000, 500) * CLOCK_MILLISECOND_NS;
    const char *name = request_text(request, "clock");
    const clockid_t *id = name == NULL ? &clocks[0].id : NULL;
    for (size_t i = 0; id == NULL && i < sizeof clocks / sizeof *clocks; i++)
        if (text_equal(clocks[i].name, name))
            id = &clocks[i].id;
    if (id == NULL)
        report_refused(&(struct request_error){"clock", "no clock of this name"});
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        report_failure(&(struct failure){
            .error = "clock_call", .tried = "ask which cores this process may use",
            .system_error = errno});
    uint64_t cores = (uint64_t)CPU_COUNT(&allowed);
    if (cores > OPTION_CPU_CORES)
        cores = OPTION_CPU_CORES;
    /* Each core does both, one core after the other. */
    uint64_t part_ns = duration_ns / (2 * cores);
    for (int core = 0; core < CPU_SETSIZE && cores > 0; core++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)core, &one);
        if (!CPU_ISSET((size_t)core, &allowed) || sched_setaffinity(0, sizeof one, &one) != 0)
            continue;
        measure_core(*id, core, part_ns);
        cores--;
    }
}

const struct verb verb_clock_call = {
    .name = "clock_call",
    .keys = (const char *const[]){"clock", "duration_ms", "limit_seconds", NULL},
    .limit_seconds = 120,
    .longest_limit_seconds = 3600,
    .run = run,
};
