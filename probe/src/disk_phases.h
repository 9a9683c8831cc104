/* What the verb disk does to its file, one thing at a time. */
#ifndef DISK_PHASES_H
#define DISK_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

struct disk_job {
    int fd;
    uint8_t *buffer; /* OPTION_DISK_BLOCK_BYTES, aligned to a page */
    uint64_t size_bytes;
    uint64_t written_bytes; /* by the sequential phase, which time may cut short */
    uint64_t duration_ns;   /* of each phase at most */
};

struct disk_result {
    struct histogram latency; /* of each operation */
    uint64_t bytes;
    uint64_t elapsed_ns; /* with the flush at the end, where there is one */
    uint64_t flush_ns;
    uint64_t wrong_blocks; /* read back with other content than was written */
};

struct disk_phase {
    const char *name;
    uint32_t block_bytes;
    bool flush_at_end; /* what was written is made stable, inside the time */
    bool checks;       /* content of what was read */
    /* False on failure, with errno. */
    bool (*run)(struct disk_job *job, const struct disk_phase *phase, struct disk_result *result);
};

#define DISK_PHASES 5u
extern const struct disk_phase disk_phases[DISK_PHASES];

/* Past this host's page cache, if the file system does that. Made of a trial write. */
bool disk_go_direct(struct disk_job *job);

#endif
