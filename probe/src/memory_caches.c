#include "memory_caches.h"

#include <stdbool.h>

#include "file.h"
#include "text.h"

#define CACHES "/sys/devices/system/cpu/cpu0/cache"

struct found {
    struct memory_cache *caches;
    size_t count;
};

uint64_t memory_size_from_text(const char *text)
{
    uint64_t size = text_leading_u64(text);
    while (*text >= '0' && *text <= '9')
        text++;
    unsigned shift = *text == 'K' ? 10 : *text == 'M' ? 20 : *text == 'G' ? 30 : 0;
    return size > UINT64_MAX >> shift ? UINT64_MAX : size << shift;
}

static bool add_cache(const char *name, void *context)
{
    struct found *found = context;
    char directory[256], type[32], size[32];
    struct memory_cache cache = {0};
    if (!text_starts(name, "index") || found->count == MEMORY_CACHES ||
        !text_join(directory, sizeof directory, CACHES "/", name, NULL) ||
        !file_text(directory, "type", type, sizeof type) || text_equal(type, "Instruction") ||
        !file_u64(directory, "level", &cache.level) ||
        !file_text(directory, "size", size, sizeof size))
        return true;
    file_u64(directory, "coherency_line_size", &cache.line_bytes);
    cache.size_bytes = memory_size_from_text(size);
    size_t at = found->count++;
    for (; at > 0 && found->caches[at - 1].size_bytes > cache.size_bytes; at--)
        found->caches[at] = found->caches[at - 1];
    found->caches[at] = cache;
    return true;
}

size_t memory_caches(struct memory_cache caches[MEMORY_CACHES])
{
    struct found found = {.caches = caches};
    file_names(CACHES, add_cache, &found);
    return found.count;
}
