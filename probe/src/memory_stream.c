#include "memory_stream.h"

static void copy(double *restrict c, const double *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

static void scale(double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = STREAM_SCALAR * c[i];
}

static void add(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + STREAM_SCALAR * c[i];
}

void stream_pass(const struct stream_arrays *arrays, enum stream_kernel kernel)
{
    switch (kernel) {
    case STREAM_COPY:
        copy(arrays->c, arrays->a, arrays->elements);
        break;
    case STREAM_SCALE:
        scale(arrays->b, arrays->c, arrays->elements);
        break;
    case STREAM_ADD:
        add(arrays->c, arrays->a, arrays->b, arrays->elements);
        break;
    default:
        triad(arrays->a, arrays->b, arrays->c, arrays->elements);
        break;
    }
}

uint64_t stream_bytes(const struct stream_arrays *arrays, enum stream_kernel kernel)
{
    uint64_t arrays_touched = kernel == STREAM_COPY || kernel == STREAM_SCALE ? 2 : 3;
    return arrays_touched * arrays->elements * sizeof(double);
}

/* Words of 32 bits into one of 64, whose carries cannot get lost below 2^32 of them: deferred
 * carries, as RFC 1071, section 2 (C) has them. */
uint16_t stream_checksum(const struct stream_arrays *arrays)
{
    const uint32_t *words = (const uint32_t *)(const void *)arrays->a;
    size_t count = arrays->elements * (sizeof(double) / sizeof *words);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += words[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}
