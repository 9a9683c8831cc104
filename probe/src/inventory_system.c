/* Model, kernel and distribution. */
#include <string.h>
#include <sys/utsname.h>

#include "file.h"
#include "inventory.h"
#include "options.h"
#include "text.h"

#define DMI "/sys/class/dmi/id"

/* A device tree's list is separated by NULs; the first entry is the most exact. */
static void put_device_tree(struct json *json)
{
    inventory_put_text(json, "device_tree_model", "/proc/device-tree", "model");
    char compatible[512];
    long length = file_read("/proc/device-tree/compatible", compatible, sizeof compatible);
    if (length <= 0)
        return;
    json_open_array(json, "device_tree_compatible");
    for (long at = 0; at < length; at += (long)strlen(compatible + at) + 1)
        json_text(json, NULL, compatible + at);
    json_close_array(json);
}

static void tell_model(void)
{
    struct json *json = report_begin("model");
    put_device_tree(json);
    INVENTORY_FACTS(json, DMI,
                    {"vendor", "sys_vendor", 0},
                    {"product", "product_name", 0},
                    {"board", "board_name", 0},
                    {"firmware_version", "bios_version", 0},
                    {"firmware_date", "bios_date", 0});
    /* OpenWrt writes these at boot on every machine. */
    INVENTORY_FACTS(json, "/tmp/sysinfo",
                    {"openwrt_model", "model", 0},
                    {"openwrt_board", "board_name", 0});
    INVENTORY_FACTS(json, "/sys/devices/soc0",
                    {"soc_family", "family", 0},
                    {"soc", "soc_id", 0},
                    {"soc_machine", "machine", 0});
    report_end();
}

static void tell_kernel(void)
{
    struct json *json = report_begin("kernel");
    struct utsname system;
    if (uname(&system) == 0) {
        json_text(json, "name", system.sysname);
        json_text(json, "release", system.release);
        json_text(json, "version", system.version);
        json_text(json, "machine", system.machine);
        json_text(json, "host_name", system.nodename);
    }
    inventory_put_text(json, "clock_source",
                       "/sys/devices/system/clocksource/clocksource0", "current_clocksource");
    char uptime[64];
    if (file_text("/proc", "uptime", uptime, sizeof uptime))
        json_u64(json, "uptime_seconds", text_leading_u64(uptime));
    report_end();
}

/* Lines `KEY=value` and `KEY="value"`, as shells read them. */
static bool put_assignments(struct json *json, const char *path)
{
    char window[1024];
    struct file_lines lines;
    uint64_t omitted = 0;
    if (!file_lines_open(&lines, path, window, sizeof window))
        return false;
    struct json_mark before = json_mark(json);
    json_open_object(json, NULL);
    json_text(json, "file", path);
    json_open_array(json, "values");
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        char *value = *line == '#' ? NULL : text_split(line, '=');
        if (value == NULL)
            continue;
        size_t length = strlen(value);
        if (length >= 2 && (*value == '"' || *value == '\'') && value[length - 1] == *value) {
            value[length - 1] = '\0';
            value++;
        }
        struct json_mark mark = json_mark(json);
        json_open_object(json, NULL);
        json_text(json, "key", line);
        json_text(json, "value", value);
        json_close_object(json);
        omitted += !json_keep(json, mark);
    }
    json_close_list(json, "values", omitted);
    json_close_object(json);
    json_keep(json, before);
    return true;
}

static void tell_distribution(void)
{
    static const char *const releases[] = {
        "/etc/openwrt_release",
        "/etc.defaults/VERSION", /* Synology */
        "/etc/platform.conf",    /* QNAP */
    };
    static const char *const plain[] = {"version", "debian_version", "alpine-release"};
    struct json *json = report_begin("distribution");
    json_open_array(json, "releases");
    if (!put_assignments(json, "/etc/os-release"))
        put_assignments(json, "/usr/lib/os-release");
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
        put_assignments(json, releases[i]);
    json_close_array(json);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) /* /etc/version: TrueNAS */
        inventory_put_text(json, plain[i], "/etc", plain[i]);
    inventory_put_text(json, "init", "/proc/1", "comm");
    report_end();
}

void inventory_system(void)
{
    tell_model();
    tell_kernel();
    tell_distribution();
}
