#include "clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t clock_process_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

struct clock_spent clock_spent(struct clock_spent start)
{
    uint64_t cpu_ns = clock_process_cpu_ns() - start.cpu_ns;
    return (struct clock_spent){clock_monotonic_ns() - start.elapsed_ns, cpu_ns};
}

void clock_sleep_until(uint64_t until_ns)
{
    for (uint64_t now = clock_monotonic_ns(); now < until_ns; now = clock_monotonic_ns()) {
        uint64_t left = until_ns - now;
        struct timespec pause = {(time_t)(left / CLOCK_SECOND_NS), (long)(left % CLOCK_SECOND_NS)};
        nanosleep(&pause, NULL);
    }
}

uint64_t clock_rate_per_second(uint64_t count, uint64_t duration_ns)
{
    if (duration_ns == 0)
        return 0;
    /* count * 10^9 overflows from 18 G on: then the duration gives up digits that do not matter. */
    while (count > UINT64_MAX / CLOCK_SECOND_NS) {
        count >>= 1;
        duration_ns >>= 1;
    }
    return duration_ns == 0 ? UINT64_MAX : count * CLOCK_SECOND_NS / duration_ns;
}
