#include "cpu_round.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* 32-bit steps: 64-bit multiplication would favour 64-bit machines in what is only preparation. */
static uint32_t step(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static void sift(uint32_t *keys, size_t root, size_t count)
{
    uint32_t key = keys[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= key)
            break;
        keys[root] = keys[child];
    }
    keys[root] = key;
}

static void sort(uint32_t *keys, size_t count)
{
    for (size_t root = count / 2; root-- > 0;)
        sift(keys, root, count);
    for (size_t last = count - 1; last > 0; last--) {
        uint32_t largest = keys[0];
        keys[0] = keys[last];
        keys[last] = largest;
        sift(keys, 0, last);
    }
}

/* Links all nodes into one ring in a shuffled order and walks it. */
static uint32_t walk(struct cpu_work *work, uint32_t *state)
{
    size_t count = COUNT(work->next);
    for (size_t i = 0; i < count; i++)
        work->next[i] = (uint16_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = step(state) % i; /* Sattolo: always one ring */
        uint16_t other = work->next[i];
        work->next[i] = work->next[j];
        work->next[j] = other;
    }
    uint32_t sum = 0;
    uint16_t node = 0;
    for (size_t i = 0; i < 4 * count; i++) {
        sum = sum * 31 + work->keys[node];
        node = work->next[node];
    }
    return sum;
}

static uint32_t multiply(struct cpu_work *work, uint32_t *state)
{
    size_t n = COUNT(work->left);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            work->left[i][j] = (int16_t)(step(state) & 0x3ff);
            work->right[i][j] = (int16_t)(step(state) & 0x3ff);
        }
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int32_t cell = 0;
            for (size_t k = 0; k < n; k++)
                cell += work->left[i][k] * work->right[k][j];
            work->product[i][j] = cell;
            sum ^= (uint32_t)cell + sum * 5;
        }
    return sum;
}

/* Writes numbers and words, then counts and reads them again, character by character. */
static uint32_t scan(struct cpu_work *work, uint32_t *state)
{
    static const char letters[] = "0123456789abcdef ,;=0123456789 \n";
    for (size_t i = 0; i < sizeof work->text; i++)
        work->text[i] = letters[step(state) >> 27];
    enum { BETWEEN, NUMBER, WORD } at = BETWEEN;
    uint32_t words = 0, number = 0, sum = 0;
    for (size_t i = 0; i < sizeof work->text; i++) {
        char c = work->text[i];
        if (c >= '0' && c <= '9') {
            if (at == BETWEEN) {
                at = NUMBER;
                number = 0;
            }
            number = number * 10 + (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            words += at != WORD;
            at = WORD;
        } else {
            if (at == NUMBER)
                sum = sum * 7 + number;
            at = BETWEEN;
        }
    }
    return sum ^ words;
}

/* CRC-32 (the one of zip and Ethernet), four bits at a time. */
static uint32_t crc(uint32_t crc, uint32_t word)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc ^= word;
    for (int i = 0; i < 8; i++)
        crc = crc >> 4 ^ table[crc & 15];
    return crc;
}

uint32_t cpu_round(struct cpu_work *work, uint32_t seed)
{
    uint32_t state = 0x9e3779b9u * (seed + 1);
    uint32_t sum = 0xffffffffu;
    for (size_t i = 0; i < COUNT(work->keys); i++)
        work->keys[i] = step(&state);
    sort(work->keys, COUNT(work->keys));
    sum = crc(sum, walk(work, &state));
    sum = crc(sum, multiply(work, &state));
    sum = crc(sum, scan(work, &state));
    for (size_t i = 0; i < COUNT(work->keys); i++)
        sum = crc(sum, work->keys[i]);
    return sum;
}

uint32_t cpu_round_expected(uint32_t seed)
{
    static const uint32_t expected[CPU_ROUND_SEEDS] = {
        0xa85b3500, 0xac9c745c, 0x08675562, 0x2695fdc6, 0xf5bd313c, 0x8fbe1bad,
        0x1dcbd571, 0xd8e5e98d, 0x9c6882e5, 0x00d9a869, 0x7ccaae82, 0x14212a94,
        0x54552e99, 0x15855ac1, 0xff68daff, 0x9ef58e95,
    };
    return expected[seed];
}
