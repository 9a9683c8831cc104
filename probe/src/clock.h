#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_SECOND_NS 1000000000ull
#define CLOCK_MILLISECOND_NS 1000000ull
#define CLOCK_NEVER_NS UINT64_MAX

/* CLOCK_MONOTONIC: the host's own, from an arbitrary start; the same in all processes of it. */
uint64_t clock_monotonic_ns(void);
/* User and system time of this process. */
uint64_t clock_process_cpu_ns(void);
/* Time that passed, and for how much of it this process had a processor. Where the second is well
 * below the first, something else had it meanwhile. */
struct clock_spent {
    uint64_t elapsed_ns;
    uint64_t cpu_ns;
};
/* What has passed since `start`; since the clocks' own beginning where that is zero. */
struct clock_spent clock_spent(struct clock_spent start);
/* Waits until CLOCK_MONOTONIC shows `until_ns`. */
void clock_sleep_until(uint64_t until_ns);
/* `count` things in `duration_ns` as a rate per second; 0 for no time. Whole numbers, so that a
 * processor without floating point does it too. */
uint64_t clock_rate_per_second(uint64_t count, uint64_t duration_ns);

#endif
