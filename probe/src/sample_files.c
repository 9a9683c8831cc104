#include "sample_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "file.h"
#include "text.h"

struct opening {
    struct sample_file *files;
    size_t count;
    size_t most;
    enum sample_section id;
    const char *directory;
    const char *prefix; /* of the entries of interest */
    const char *suffix;
    const char *file; /* in the entry; NULL: the entry itself */
};

static bool open_file(struct opening *opening, const char *path)
{
    struct sample_file *file = &opening->files[opening->count];
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return false;
    char first[2];
    if (pread(file->fd, first, sizeof first, 0) <= 0) { /* some sensors open and never answer */
        close(file->fd);
        return false;
    }
    file->id = opening->id;
    text_copy(file->name, sizeof file->name, path);
    opening->count++;
    return true;
}

static bool open_entry(const char *name, void *context)
{
    struct opening *opening = context;
    char path[OPTION_PATH_BYTES];
    if (!text_starts(name, opening->prefix) || !text_ends(name, opening->suffix))
        return true;
    if (opening->file != NULL
            ? text_join(path, sizeof path, opening->directory, "/", name, "/", opening->file, NULL)
            : text_join(path, sizeof path, opening->directory, "/", name, NULL))
        open_file(opening, path);
    return opening->count < opening->most;
}

static bool open_sensors(const char *name, void *context)
{
    struct opening inner = *(struct opening *)context;
    char directory[OPTION_PATH_BYTES];
    if (text_join(directory, sizeof directory, inner.directory, "/", name, NULL)) {
        inner.directory = directory;
        inner.prefix = "temp";
        inner.suffix = "_input";
        inner.file = NULL;
        file_names(directory, open_entry, &inner);
        ((struct opening *)context)->count = inner.count;
    }
    return inner.count < inner.most;
}

size_t sample_files_open(struct sample_file files[SAMPLE_FILES])
{
    static const struct {
        enum sample_section id;
        const char *path;
    } fixed[] = {
        {SAMPLE_STAT, "/proc/stat"},         {SAMPLE_MEMINFO, "/proc/meminfo"},
        {SAMPLE_DISKSTATS, "/proc/diskstats"}, {SAMPLE_NET_DEV, "/proc/net/dev"},
        {SAMPLE_NET_SNMP, "/proc/net/snmp"}, {SAMPLE_SOFTIRQS, "/proc/softirqs"},
        {SAMPLE_LOADAVG, "/proc/loadavg"},   {SAMPLE_NFSD, "/proc/net/rpc/nfsd"},
        {SAMPLE_SCHEDULER, "/proc/schedstat"}, {SAMPLE_MDSTAT, "/proc/mdstat"},
        {SAMPLE_SCHEDULER, "/sys/fs/cgroup/cpuacct/cpuacct.usage"},
    };
    struct opening opening = {.files = files, .suffix = ""};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        opening.id = fixed[i].id;
        open_file(&opening, fixed[i].path);
    }

    opening.id = SAMPLE_CLOCK;
    opening.most = opening.count + OPTION_SAMPLE_CLOCKS;
    opening.directory = "/sys/devices/system/cpu/cpufreq";
    opening.prefix = "policy";
    opening.file = "scaling_cur_freq";
    file_names(opening.directory, open_entry, &opening);

    opening.id = SAMPLE_TEMPERATURE;
    opening.most = opening.count + OPTION_SAMPLE_TEMPERATURES;
    opening.directory = "/sys/class/thermal";
    opening.prefix = "thermal_zone";
    opening.file = "temp";
    file_names(opening.directory, open_entry, &opening);
    opening.directory = "/sys/class/hwmon";
    if (opening.count < opening.most)
        file_names(opening.directory, open_sensors, &opening);
    return opening.count;
}

long sample_file_read(const struct sample_file *file, char *out, size_t size)
{
    return file_reread(file->fd, out, size);
}
