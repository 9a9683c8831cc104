/* Block devices, and what lies behind a path. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file.h"
#include "inventory.h"
#include "inventory_mounts.h"
#include "options.h"
#include "text.h"

/* A disk in an array on a crypt device on a logical volume is three deep. */
#define DEEPEST 6

/* Climbs from a device to the USB port it hangs on. The rate of that link bounds the disk. */
static void put_usb_rate(struct json *json, const char *device)
{
    char path[OPTION_PATH_BYTES], rate[32];
    text_copy(path, sizeof path, device);
    for (char *slash; (slash = strrchr(path, '/')) != NULL && slash != path; *slash = '\0') {
        if (file_exists(path, "bMaxPacketSize0") && file_text(path, "speed", rate, sizeof rate)) {
            json_u64(json, "usb_rate_bits_per_second", text_leading_u64(rate) * 1000000);
            return;
        }
    }
}

/* `path` is a disk's directory in /sys, all links resolved. */
static void put_disk(struct json *json, const char *path)
{
    uint64_t flag;
    INVENTORY_FACTS(json, path,
                    {"size_bytes", "size", 512},
                    {"model", "device/model", 0},
                    {"vendor", "device/vendor", 0},
                    {"mmc_type", "device/type", 0});
    if (file_u64(path, "queue/rotational", &flag))
        json_bool(json, "rotational", flag != 0);
    if (file_u64(path, "removable", &flag))
        json_bool(json, "removable", flag != 0);
    if (file_u64(path, "ro", &flag))
        json_bool(json, "read_only", flag != 0);
    INVENTORY_FACTS(json, path,
                    {"scheduler", "queue/scheduler", 0},
                    {"write_cache", "queue/write_cache", 0},
                    {"requests_count", "queue/nr_requests", 1},
                    {"read_ahead_bytes", "queue/read_ahead_kb", 1024},
                    {"logical_block_bytes", "queue/logical_block_size", 1},
                    {"physical_block_bytes", "queue/physical_block_size", 1},
                    {"queue_depth_count", "device/queue_depth", 1},
                    {"raid_level", "md/level", 0},
                    {"raid_state", "md/array_state", 0},
                    {"raid_sync_action", "md/sync_action", 0},
                    {"mapped_name", "dm/name", 0},
                    {"mapped_kind", "dm/uuid", 0});
    put_usb_rate(json, path);
}

static bool put_block(struct json *json, const char *path, const char *name)
{
    char real[OPTION_PATH_BYTES];
    uint64_t sectors;
    (void)name;
    if (!file_u64(path, "size", &sectors) || sectors == 0 || !file_real_path(path, real, sizeof real))
        return false; /* an unused loop device, an empty card reader */
    put_disk(json, real);
    return true;
}

void inventory_disks(void)
{
    struct json *json = report_begin("disks");
    inventory_put_list(json, "disks", "/sys/block", put_block);
    report_end();
}

struct stack {
    struct json *json;
    int depth;
    uint64_t omitted;
};

static void put_stack(struct stack *stack, const char *path);

static bool put_slave(const char *name, void *context)
{
    char path[OPTION_PATH_BYTES];
    if (text_join(path, sizeof path, "/sys/class/block/", name, NULL))
        put_stack(context, path);
    return true;
}

/* The device at `path` in /sys, then what it is made of. */
static void put_stack(struct stack *stack, const char *path)
{
    char real[OPTION_PATH_BYTES], slaves[OPTION_PATH_BYTES];
    if (stack->depth >= DEEPEST || !file_real_path(path, real, sizeof real))
        return;
    if (file_exists(real, "partition")) /* the disk is one up */
        *strrchr(real, '/') = '\0';
    struct json_mark mark = json_mark(stack->json);
    json_open_object(stack->json, NULL);
    json_text(stack->json, "name", strrchr(real, '/') + 1);
    json_u64(stack->json, "depth_count", (uint64_t)stack->depth);
    put_disk(stack->json, real);
    json_close_object(stack->json);
    stack->omitted += !json_keep(stack->json, mark);
    stack->depth++;
    if (text_join(slaves, sizeof slaves, real, "/slaves", NULL))
        file_names(slaves, put_slave, stack);
    stack->depth--;
}

static void put_devices(struct json *json, const char *real_path, const struct stat *facts)
{
    char major_text[TEXT_U64_BYTES], minor_text[TEXT_U64_BYTES], path[OPTION_PATH_BYTES];
    struct inventory_mount mount;
    struct stack stack = {.json = json};
    if (inventory_find_mount(real_path, &mount)) {
        json_text(json, "mount_point", mount.point);
        json_text(json, "file_system", mount.type);
        json_text(json, "source", mount.source);
        json_text(json, "mount_options", mount.options);
        json_text(json, "file_system_options", mount.super_options);
    }
    json_open_array(json, "devices");
    text_join(path, sizeof path, "/sys/dev/block/",
              text_from_u64(major(facts->st_dev), major_text), ":",
              text_from_u64(minor(facts->st_dev), minor_text), NULL);
    struct stat source;
    if (access(path, F_OK) == 0) {
        put_stack(&stack, path);
    } else if (mount.source[0] == '/' && stat(mount.source, &source) == 0 &&
               S_ISBLK(source.st_mode)) {
        /* btrfs has device numbers of its own, and names a device as its source. */
        text_join(path, sizeof path, "/sys/dev/block/",
                  text_from_u64(major(source.st_rdev), major_text), ":",
                  text_from_u64(minor(source.st_rdev), minor_text), NULL);
        put_stack(&stack, path);
    }
    json_close_list(json, "devices", stack.omitted);
}

void inventory_path(const char *path)
{
    char real[OPTION_PATH_BYTES];
    struct stat facts;
    struct statvfs space;
    struct statfs kind;
    struct json *json = report_begin("path");
    json_text(json, "path", path);
    if (!file_real_path(path, real, sizeof real) || stat(real, &facts) != 0) {
        json_u64(json, "errno_number", (uint64_t)errno);
        report_end();
        return;
    }
    json_text(json, "real_path", real);
    if (statfs(real, &kind) == 0) /* linux/magic.h */
        json_u64(json, "file_system_magic_number", (uint64_t)(uint32_t)kind.f_type);
    if (statvfs(real, &space) == 0) {
        uint64_t unit = space.f_frsize != 0 ? space.f_frsize : space.f_bsize;
        json_u64(json, "size_bytes", space.f_blocks * unit);
        json_u64(json, "available_bytes", space.f_bavail * unit);
        json_u64(json, "files_free_count", space.f_favail);
    }
    put_devices(json, real, &facts);
    report_end();
}
