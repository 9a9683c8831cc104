/* What the arrays hold before the kernels and must hold after them; not timed, so it may be small. */
#include <string.h>

#include "memory_stream.h"

void stream_start(const struct stream_arrays *arrays)
{
    for (size_t i = 0; i < arrays->elements; i++) {
        arrays->a[i] = 1.0;
        arrays->b[i] = 2.0;
        arrays->c[i] = 0.0;
    }
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
        b = STREAM_SCALAR * c;
        c = a + b;
        a = b + STREAM_SCALAR * c;
    }
    return near(arrays->a, arrays->elements, a) && near(arrays->b, arrays->elements, b) &&
           near(arrays->c, arrays->elements, c);
}

uint16_t stream_checksum_expected(const struct stream_arrays *arrays)
{
    const unsigned char *bytes = (const unsigned char *)arrays->a;
    uint32_t sum = 0;
    for (size_t i = 0; i < arrays->elements * sizeof(double); i += sizeof(uint16_t)) {
        uint16_t word;
        memcpy(&word, bytes + i, sizeof word);
        sum += word;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}
