#include "memory_chase.h"

#include "random.h"

static void **line_at(void *memory, size_t index, size_t line_bytes)
{
    return (void **)(void *)((char *)memory + index * line_bytes);
}

size_t chase_prepare(void *memory, size_t bytes, size_t line_bytes)
{
    struct random random = {0x706c696d736f6c6cull};
    size_t lines = bytes / line_bytes;
    for (size_t i = 0; i < lines; i++)
        *line_at(memory, i, line_bytes) = line_at(memory, i, line_bytes);
    /* Sattolo's shuffle: always one ring through all lines. */
    for (size_t i = lines; i-- > 1;) {
        void **one = line_at(memory, i, line_bytes);
        void **other = line_at(memory, (size_t)random_below(&random, i), line_bytes);
        void *next = *one;
        *one = *other;
        *other = next;
    }
    return lines;
}

void **chase(void **from, uint64_t loads)
{
    for (; loads >= 8; loads -= 8) {
        from = *from, from = *from, from = *from, from = *from;
        from = *from, from = *from, from = *from, from = *from;
    }
    for (; loads > 0; loads--)
        from = *from;
    return from;
}
