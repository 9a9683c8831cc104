/* The data caches of the first core, as /sys tells them. Old kernels on MIPS and ARM tell none. */
#ifndef MEMORY_CACHES_H
#define MEMORY_CACHES_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_CACHES 4u

struct memory_cache {
    uint64_t level;
    uint64_t size_bytes;
    uint64_t line_bytes; /* 0: unknown */
};

/* Data and unified caches, smallest first; returns how many. */
size_t memory_caches(struct memory_cache caches[MEMORY_CACHES]);

/* A number with a K, M or G behind it, as sizes of caches are written. */
uint64_t memory_size_from_text(const char *text);

#endif
