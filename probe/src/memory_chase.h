/* Latency of a load, by following pointers that lie in a ring in random order. */
#ifndef MEMORY_CHASE_H
#define MEMORY_CHASE_H

#include <stddef.h>
#include <stdint.h>

/* Makes a ring of all lines of `memory` (aligned to `line_bytes`). Returns their number. */
size_t chase_prepare(void *memory, size_t bytes, size_t line_bytes);
/* Follows `loads` pointers from where `from` is, and returns where it came to. */
void **chase(void **from, uint64_t loads);

#endif
