#include "histogram.h"

/* Below 16 each value has a bucket; above, the four bits behind the highest one choose. */
static unsigned bucket_of(uint64_t ns)
{
    unsigned shift = 0;
    while (ns >> shift >= 2 * HISTOGRAM_STEPS)
        shift++;
    return shift * HISTOGRAM_STEPS + (unsigned)(ns >> shift);
}

uint64_t histogram_step_end(unsigned bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_STEPS - 1;
    uint64_t step = HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS;
    return ((step + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
    if (histogram->count == 0 || ns < histogram->least_ns)
        histogram->least_ns = ns;
    if (ns > histogram->most_ns)
        histogram->most_ns = ns;
    histogram->count++;
    histogram->sum_ns += ns;
    histogram->buckets[bucket_of(ns)]++;
}

uint64_t histogram_quantile(const struct histogram *histogram, unsigned permille)
{
    uint64_t wanted = (histogram->count * permille + 999) / 1000, seen = 0;
    if (histogram->count == 0)
        return 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen >= wanted && seen > 0) {
            uint64_t end = histogram_step_end(bucket);
            return end < histogram->most_ns ? end : histogram->most_ns;
        }
    }
    return histogram->most_ns;
}
