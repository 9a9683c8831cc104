#include "memory_stream.h"

#define SCALAR 3.0

static void copy(double *restrict c, const double *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

static void scale(double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = SCALAR * c[i];
}

static void add(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + SCALAR * c[i];
}

void stream_start(const struct stream_arrays *arrays)
{
    for (size_t i = 0; i < arrays->elements; i++) {
        arrays->a[i] = 1.0;
        arrays->b[i] = 2.0;
        arrays->c[i] = 0.0;
    }
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

static bool near(const double *array, size_t elements, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++) {
        double error = array[i] - expected;
        sum += error < 0 ? -error : error;
    }
    return sum <= 1e-13 * expected * (double)elements;
}

bool stream_holds(const struct stream_arrays *arrays, unsigned iterations)
{
    double a = 1.0, b = 2.0, c = 0.0;
    for (unsigned i = 0; i < iterations; i++) {
        c = a;
        b = SCALAR * c;
        c = a + b;
        a = b + SCALAR * c;
    }
    return near(arrays->a, arrays->elements, a) && near(arrays->b, arrays->elements, b) &&
           near(arrays->c, arrays->elements, c);
}
