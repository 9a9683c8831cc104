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

static void open_of_group(struct opening *opening, enum sample_section id, const char *root,
                          const char *group, const char *file)
{
    char path[OPTION_PATH_BYTES];
    opening->id = id;
    if (text_join(path, sizeof path, root, group, "/", file, NULL))
        open_file(opening, path);
}

static bool has_controller(char *controllers, const char *name)
{
    for (char *next = controllers; next != NULL && *next != '\0';) {
        char *one = next;
        next = text_split(one, ',');
        if (text_equal(one, name))
            return true;
    }
    return false;
}

/* The files of the control group that the probe is in, of both versions. */
static void open_group(struct opening *opening)
{
    char text[OPTION_PATH_BYTES];
    if (file_read("/proc/self/cgroup", text, sizeof text) <= 0)
        return;
    size_t most = opening->count + 6;
    char *rest = text;
    for (char *line; (line = text_next_line(&rest)) != NULL && opening->count + 3 <= most;) {
        char *controllers = text_split(line, ':');
        char *group = controllers == NULL ? NULL : text_split(controllers, ':');
        if (group == NULL)
            continue;
        if (text_equal(group, "/"))
            group = "";
        if (*controllers == '\0') {
            open_of_group(opening, SAMPLE_GROUP_QUOTA, "/sys/fs/cgroup", group, "cpu.max");
            open_of_group(opening, SAMPLE_GROUP_STAT, "/sys/fs/cgroup", group, "cpu.stat");
            continue;
        }
        char copy[256]; /* splitting cuts it up */
        text_copy(copy, sizeof copy, controllers);
        if (has_controller(copy, "cpu")) {
            const char *root = "/sys/fs/cgroup/cpu";
            open_of_group(opening, SAMPLE_GROUP_QUOTA, root, group, "cpu.cfs_quota_us");
            open_of_group(opening, SAMPLE_GROUP_PERIOD, root, group, "cpu.cfs_period_us");
            open_of_group(opening, SAMPLE_GROUP_STAT, root, group, "cpu.stat");
        }
        text_copy(copy, sizeof copy, controllers);
        /* The root's is that of all processes. */
        if (*group != '\0' && has_controller(copy, "cpuacct"))
            open_of_group(opening, SAMPLE_GROUP_USAGE, "/sys/fs/cgroup/cpuacct", group,
                          "cpuacct.usage");
    }
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
        {SAMPLE_PRESSURE, "/proc/pressure/memory"}, {SAMPLE_SOFTNET, "/proc/net/softnet_stat"},
    };
    struct opening opening = {.files = files, .suffix = ""};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        opening.id = fixed[i].id;
        open_file(&opening, fixed[i].path);
    }

    open_group(&opening);

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
