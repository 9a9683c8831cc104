/* The verb disk: one file of its own in a directory that the driver names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "clock.h"
#include "disk_phases.h"
#include "text.h"
#include "verb.h"

static char file_path[OPTION_PATH_BYTES];
/* Shared with the parent: whether the file may be there. It keeps its name while it is measured,
 * because some file systems do not make stable what has none. */
static volatile bool *file_made;

/* A name that nobody else has, known to the parent before the child makes it. */
static const char *prepare(const struct request *request)
{
    static const char digits[] = "0123456789abcdef";
    const char *directory = request_text(request, "path");
    uint8_t bytes[8];
    char name[sizeof bytes * 2 + 1] = "";
    if (directory == NULL)
        return "it needs path=, a directory to measure in";
    if (directory[0] != '/')
        return "its path is not absolute";
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return "no random number for the file's name";
    for (size_t i = 0; i < sizeof bytes; i++) {
        name[2 * i] = digits[bytes[i] >> 4];
        name[2 * i + 1] = digits[bytes[i] & 15];
    }
    if (!text_join(file_path, sizeof file_path, directory, "/.plimsoll-probe-", name, NULL))
        return "its path is too long";
    file_made = mmap(NULL, sizeof *file_made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);
    return file_made == MAP_FAILED ? "memory could not be shared between processes" : NULL;
}

static void cleanup(void)
{
    if (*file_made)
        unlink(file_path);
}

/* The parent is gone without its cleanup: killed outright. */
static void remove_and_die(int number)
{
    (void)number;
    cleanup();
    _exit(EXIT_GONE);
}

static _Noreturn void fail(const char *tried, int system_error, const char *next)
{
    cleanup();
    report_failure(&(struct failure){.error = "disk",
                                     .tried = tried,
                                     .on = file_path,
                                     .system_error = system_error,
                                     .next = next});
}

static void check_space(const char *directory, uint64_t size_bytes)
{
    struct statvfs facts;
    if (statvfs(directory, &facts) != 0)
        fail("ask how much is free", errno, "name a directory that is there");
    uint64_t unit = facts.f_frsize != 0 ? facts.f_frsize : facts.f_bsize;
    uint64_t free_bytes = facts.f_bavail > UINT64_MAX / unit ? UINT64_MAX : facts.f_bavail * unit;
    if (free_bytes < size_bytes + OPTION_DISK_RESERVE_BYTES)
        report_failure(&(struct failure){
            .error = "space",
            .tried = "reserve space for the file and 16 MiB more",
            .on = directory,
            .happened = "there is less free",
            .next = "make room, or ask for less with size_bytes"});
}

static int make_file(void)
{
    struct sigaction action = {.sa_handler = remove_and_die};
    sigaction(SIGTERM, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    *file_made = true;
    int fd = open(file_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        *file_made = false;
        fail("make a file", errno, "name a directory that this user may write to");
    }
    return fd;
}

static void tell(const struct disk_phase *phase, const struct disk_result *result, bool direct)
{
    const struct histogram *latency = &result->latency;
    struct json *json = report_begin("disk_phase");
    json_text(json, "phase", phase->name);
    json_u64(json, "block_bytes", phase->block_bytes);
    json_bool(json, "direct", direct);
    json_u64(json, "operations_count", latency->count);
    json_u64(json, "bytes_count", result->bytes);
    json_u64(json, "elapsed_ns", result->elapsed_ns);
    json_u64(json, "bytes_per_second", clock_rate_per_second(result->bytes, result->elapsed_ns));
    json_u64(json, "operations_per_second",
             clock_rate_per_second(latency->count, result->elapsed_ns));
    if (phase->flush_at_end)
        json_u64(json, "flush_ns", result->flush_ns);
    if (latency->count > 0)
        json_u64(json, "latency_mean_ns", latency->sum_ns / latency->count);
    json_u64(json, "latency_least_ns", latency->least_ns);
    json_u64(json, "latency_p50_ns", histogram_quantile(latency, 500));
    if (latency->count >= 2000) /* else too few lie beyond it */
        json_u64(json, "latency_p99_ns", histogram_quantile(latency, 990));
    json_u64(json, "latency_most_ns", latency->most_ns);
    if (phase->checks)
        json_u64(json, "wrong_blocks_count", result->wrong_blocks);
    report_end();
}

static void run(const struct request *request)
{
    static struct disk_result result;
    const char *directory = request_text(request, "path");
    uint64_t size_bytes = report_setting(request, "size_bytes", 1 << 20, 1ull << 40, 256ull << 20);
    struct disk_job job = {
        .duration_ns = report_setting(request, "duration_ms", 10, 600000, 5000) *
                       CLOCK_MILLISECOND_NS,
        .size_bytes = size_bytes & ~(uint64_t)(OPTION_DISK_BLOCK_BYTES - 1),
    };
    check_space(directory, size_bytes);
    job.buffer = mmap(NULL, OPTION_DISK_BLOCK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (job.buffer == MAP_FAILED)
        fail("allocate a block", errno, NULL);
    job.fd = make_file();
    bool direct = disk_go_direct(&job);

    struct json *json = report_begin("disk");
    json_text(json, "path", directory);
    json_u64(json, "size_bytes", job.size_bytes);
    json_bool(json, "direct", direct); /* if not, reads may come from this host's memory */
    report_end();

    for (size_t i = 0; i < DISK_PHASES; i++) {
        const struct disk_phase *phase = &disk_phases[i];
        memset(&result, 0, sizeof result);
        if (!phase->run(&job, phase, &result))
            fail(phase->name, errno, "see this host's kernel log");
        tell(phase, &result, direct);
    }
    close(job.fd);
}

const struct verb verb_disk = {
    .name = "disk",
    .keys = (const char *const[]){"path", "size_bytes", "duration_ms", "limit_seconds", NULL},
    .limit_seconds = 600,
    .longest_limit_seconds = 4 * 3600,
    .prepare = prepare,
    .run = run,
    .cleanup = cleanup,
};
