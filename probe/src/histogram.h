/* Durations by size, sixteen steps to each power of two: quantiles are at most 1/16 too high. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 16u
#define HISTOGRAM_BUCKETS (61u * HISTOGRAM_STEPS)

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t least_ns; /* of nothing: 0 */
    uint64_t most_ns;
    uint32_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t ns);
/* The longest time that a step of `buckets` holds. */
uint64_t histogram_step_end(unsigned bucket);
/* The time that `permille` thousandths of all did not exceed, rounded up to its step's end; 0 of
 * nothing. */
uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille);

#endif
