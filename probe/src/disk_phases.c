#include "disk_phases.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"
#include "random.h"

/* Every so many bytes carry their own position, so that blocks are all different (some disks and
 * file systems store equal ones once) and can be checked. */
#define STAMP_BYTES 4096u

static void fill_random(uint8_t *buffer, size_t bytes)
{
    struct random random = {0x9e3779b97f4a7c15ull};
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = random_u64(&random);
        memcpy(buffer + at, &word, 8);
    }
}

static void stamp(uint8_t *buffer, uint64_t position, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += STAMP_BYTES) {
        uint64_t here = position + at;
        memcpy(buffer + at, &here, sizeof here);
    }
}

static uint64_t wrong_stamps(const uint8_t *buffer, uint64_t position, size_t bytes)
{
    uint64_t wrong = 0;
    for (size_t at = 0; at < bytes; at += STAMP_BYTES) {
        uint64_t here;
        memcpy(&here, buffer + at, sizeof here);
        wrong += here != position + at;
    }
    return wrong;
}

/* A whole block, or false with errno. */
static bool transfer(const struct disk_job *job, bool write, uint64_t position, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        off_t at = (off_t)(position + done);
        ssize_t got = write ? pwrite(job->fd, job->buffer + done, bytes - done, at)
                            : pread(job->fd, job->buffer + done, bytes - done, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* a file that ends before what we wrote */
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool disk_go_direct(struct disk_job *job)
{
    fill_random(job->buffer, OPTION_DISK_BLOCK_BYTES);
    int flags = fcntl(job->fd, F_GETFL);
    if (flags < 0 || fcntl(job->fd, F_SETFL, flags | O_DIRECT) != 0)
        return false;
    /* Some take the flag and refuse the transfer. */
    if (transfer(job, true, 0, STAMP_BYTES))
        return true;
    fcntl(job->fd, F_SETFL, flags);
    return false;
}

static bool timed(struct disk_job *job, struct disk_result *result, bool write, uint64_t position,
                  size_t bytes)
{
    uint64_t start_ns = clock_monotonic_ns();
    if (!transfer(job, write, position, bytes))
        return false;
    histogram_add(&result->latency, clock_monotonic_ns() - start_ns);
    result->bytes += bytes;
    return true;
}

static bool flush(struct disk_job *job, struct disk_result *result)
{
    uint64_t start_ns = clock_monotonic_ns();
    if (fsync(job->fd) != 0)
        return false;
    result->flush_ns = clock_monotonic_ns() - start_ns;
    return true;
}

static bool sequential(struct disk_job *job, const struct disk_phase *phase,
                       struct disk_result *result)
{
    bool write = !phase->checks;
    uint64_t end = write ? job->size_bytes : job->written_bytes;
    if (write)
        fill_random(job->buffer, OPTION_DISK_BLOCK_BYTES);
    else /* where the cache is not passed by, at least ask for its being emptied */
        posix_fadvise(job->fd, 0, 0, POSIX_FADV_DONTNEED);
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t at = 0; at < end; at += phase->block_bytes) {
        if (write)
            stamp(job->buffer, at, phase->block_bytes);
        if (!timed(job, result, write, at, phase->block_bytes))
            return false;
        if (write)
            job->written_bytes = at + phase->block_bytes;
        else
            result->wrong_blocks += wrong_stamps(job->buffer, at, phase->block_bytes);
        if (clock_monotonic_ns() - start_ns >= job->duration_ns)
            break;
    }
    if (phase->flush_at_end && !flush(job, result))
        return false;
    result->elapsed_ns = clock_monotonic_ns() - start_ns;
    return true;
}

static bool at_random(struct disk_job *job, const struct disk_phase *phase,
                      struct disk_result *result)
{
    struct random random = {0x706c696d736f6c6cull};
    uint64_t blocks = job->written_bytes / phase->block_bytes;
    bool write = !phase->checks;
    if (write)
        fill_random(job->buffer, OPTION_DISK_BLOCK_BYTES);
    else
        posix_fadvise(job->fd, 0, 0, POSIX_FADV_DONTNEED);
    uint64_t start_ns = clock_monotonic_ns();
    do {
        uint64_t at = random_below(&random, blocks) * phase->block_bytes;
        if (write)
            stamp(job->buffer, at, phase->block_bytes);
        if (!timed(job, result, write, at, phase->block_bytes))
            return false;
        if (!write)
            result->wrong_blocks += wrong_stamps(job->buffer, at, phase->block_bytes);
    } while (clock_monotonic_ns() - start_ns < job->duration_ns);
    if (phase->flush_at_end && !flush(job, result))
        return false;
    result->elapsed_ns = clock_monotonic_ns() - start_ns;
    return true;
}

/* A block is written and made stable, again and again; the latency is that of fsync alone. */
static bool synchronous(struct disk_job *job, const struct disk_phase *phase,
                        struct disk_result *result)
{
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t at = 0; clock_monotonic_ns() - start_ns < job->duration_ns;
         at = (at + phase->block_bytes) % job->written_bytes) {
        stamp(job->buffer, at, phase->block_bytes);
        if (!transfer(job, true, at, phase->block_bytes) || !flush(job, result))
            return false;
        histogram_add(&result->latency, result->flush_ns);
        result->bytes += phase->block_bytes;
    }
    result->elapsed_ns = clock_monotonic_ns() - start_ns;
    return true;
}

const struct disk_phase disk_phases[DISK_PHASES] = {
    {"sequential_write", OPTION_DISK_BLOCK_BYTES, true, false, sequential},
    {"sequential_read", OPTION_DISK_BLOCK_BYTES, false, true, sequential},
    {"random_read", 4096, false, true, at_random},
    {"random_write", 4096, true, false, at_random},
    {"fsync", 4096, false, false, synchronous},
};
