/* Pseudo-random numbers, the same on every machine: xorshift64* (Vigna, "An experimental exploration
 * of Marsaglia's xorshift generators, scrambled", 2016). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; /* never 0 */
};

static inline uint64_t random_u64(struct random *random)
{
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* Below `bound`, which is not 0. The bias of the remainder is below bound/2^64. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return random_u64(random) % bound;
}

#endif
