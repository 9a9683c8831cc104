/* The four kernels of STREAM (J. McCalpin, "Memory bandwidth and machine balance in current high
 * performance computers", 1995) and its way of counting: bytes read plus bytes written by the
 * program, not what caches move besides. */
#ifndef MEMORY_STREAM_H
#define MEMORY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_SCALAR 3.0

enum stream_kernel { STREAM_COPY, STREAM_SCALE, STREAM_ADD, STREAM_TRIAD, STREAM_KERNELS };

struct stream_arrays {
    double *a, *b, *c;
    size_t elements; /* of each */
};

void stream_start(const struct stream_arrays *arrays);
/* The Internet checksum (RFC 1071, section 1) of the first array, which stays as it is: what a
 * processor does with every byte of TCP or UDP that its network interface does not check. */
uint16_t stream_checksum(const struct stream_arrays *arrays);
/* One pass of one kernel. The four in turn make one iteration; a pass may be repeated, which
 * changes nothing. */
void stream_pass(const struct stream_arrays *arrays, enum stream_kernel kernel);
/* The bytes STREAM counts for a pass. */
uint64_t stream_bytes(const struct stream_arrays *arrays, enum stream_kernel kernel);
/* Whether the arrays hold what they must after so many iterations: mean relative error of each
 * below 1e-13. */
bool stream_holds(const struct stream_arrays *arrays, unsigned iterations);
/* The checksum as the RFC writes it down, 16 bits at a time. */
uint16_t stream_checksum_expected(const struct stream_arrays *arrays);

#endif
