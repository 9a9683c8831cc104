/* One round of the probe's own integer workload, version 1: a fixed mix of what small servers do
 * (sorting, lists, multiplying, scanning text, checksums) on 6 KiB, without floating point. Its
 * unit is the round. It is comparable with itself alone, not with any published benchmark. */
#ifndef CPU_ROUND_H
#define CPU_ROUND_H

#include <stdint.h>

#define CPU_ROUND_VERSION 1u
/* Seeds repeat, so that each round's result is known beforehand. */
#define CPU_ROUND_SEEDS 16u

struct cpu_work {
    uint32_t keys[512];
    uint16_t next[256];
    int16_t left[16][16], right[16][16];
    int32_t product[16][16];
    char text[1024];
};

/* Does the round of `seed` (below CPU_ROUND_SEEDS) and returns its checksum. */
uint32_t cpu_round(struct cpu_work *work, uint32_t seed);
/* The checksum that it must have. */
uint32_t cpu_round_expected(uint32_t seed);

#endif
