/* Cores, clocks and caches. */
#include <sched.h>

#include "file.h"
#include "inventory.h"
#include "memory_caches.h"
#include "text.h"

#define CPU "/sys/devices/system/cpu"

/* The lines of /proc/cpuinfo that say something of the kind, and the clock; each architecture has its
 * own names. The first core's stand for all; others are reported where they differ. */
static bool is_telling(const char *key)
{
    static const char *const keys[] = {
        "system type", "machine",  "Hardware",         "Revision",  "cpu model",
        "model name",  "Model",    "Processor",        "processor", "CPU implementer",
        "CPU part",    "CPU variant", "CPU revision",  "isa",       "uarch",
        "vendor_id",   "cpu family",  "model",         "stepping",  "microcode",
        "ASEs implemented", "flags", "Features",       "mmu",       "cpu",
        "cpu MHz",     "CPU MHz",  "cpu MHz static",   "clock",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_equal(keys[i], key))
            return true;
    return false;
}

static bool is_bogomips(const char *key)
{
    return text_equal(key, "BogoMIPS") || text_equal(key, "bogomips");
}

static void put_cpuinfo(struct json *json)
{
    static char window[8192];
    struct file_lines lines;
    uint64_t omitted = 0;
    if (!file_lines_open(&lines, "/proc/cpuinfo", window, sizeof window))
        return;
    bool second = false, numbered = false;
    json_open_array(json, "cpuinfo");
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        char *value = text_split(line, ':');
        if (value == NULL)
            continue;
        char *key = text_trim(line);
        bool number = text_equal(key, "processor") && *value >= '0' && *value <= '9';
        second = second || (number && numbered);
        numbered = numbered || number;
        /* Behind the cores, ARM tells the board. */
        bool board = text_equal(key, "Hardware") || text_equal(key, "Revision");
        if (number || (second && !board) || !(is_telling(key) || is_bogomips(key)))
            continue;
        struct json_mark mark = json_mark(json);
        json_open_object(json, NULL);
        json_text(json, "key", key);
        json_text(json, "value", value);
        json_close_object(json);
        omitted += !json_keep(json, mark);
    }
    json_close_list(json, "cpuinfo", omitted);
}

static bool put_policy(struct json *json, const char *path, const char *name)
{
    if (!text_starts(name, "policy"))
        return false;
    INVENTORY_FACTS(json, path,
                    {"cores", "related_cpus", 0},
                    {"driver", "scaling_driver", 0},
                    {"governor", "scaling_governor", 0},
                    {"least_clock_hertz", "cpuinfo_min_freq", 1000},
                    {"most_clock_hertz", "cpuinfo_max_freq", 1000},
                    {"clock_hertz", "scaling_cur_freq", 1000});
    return true;
}

static bool put_cache(struct json *json, const char *path, const char *name)
{
    char size[32];
    if (!text_starts(name, "index"))
        return false;
    INVENTORY_FACTS(json, path,
                    {"level_number", "level", 1},
                    {"type", "type", 0});
    if (file_text(path, "size", size, sizeof size))
        json_u64(json, "size_bytes", memory_size_from_text(size));
    INVENTORY_FACTS(json, path,
                    {"line_bytes", "coherency_line_size", 1},
                    {"ways_count", "ways_of_associativity", 1},
                    {"shared_by_cores", "shared_cpu_list", 0});
    return true;
}

void inventory_cpu(void)
{
    struct json *json = report_begin("cpu");
    INVENTORY_FACTS(json, CPU,
                    {"cores_online", "online", 0},
                    {"cores_present", "present", 0});
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        json_u64(json, "cores_usable_count", (uint64_t)CPU_COUNT(&usable));
    inventory_put_text(json, "simultaneous_multithreading", CPU "/smt", "control");
    inventory_put_list(json, "caches", CPU "/cpu0/cache", put_cache);
    inventory_put_list(json, "clocks", CPU "/cpufreq", put_policy);
    put_cpuinfo(json);
    report_end();
}
