/* NFS and SMB servers, from what the kernel shows and what configuration files say. */
#include "file.h"
#include "inventory.h"
#include "options.h"
#include "text.h"

#define NFSD "/proc/fs/nfsd"

struct search {
    const char *const *names;
    struct json *json;
    uint64_t omitted;
};

/* A process of /proc whose name is one of those looked for. */
static bool put_process(const char *name, void *context)
{
    struct search *search = context;
    char path[64], command[64];
    if (*name < '0' || *name > '9' || !text_join(path, sizeof path, "/proc/", name, NULL) ||
        !file_text(path, "comm", command, sizeof command))
        return true;
    for (const char *const *known = search->names; *known != NULL; known++) {
        if (!text_equal(*known, command))
            continue;
        struct json_mark mark = json_mark(search->json);
        json_text(search->json, NULL, command);
        search->omitted += !json_keep(search->json, mark);
    }
    return true;
}

static void put_processes(struct json *json, const char *const *names)
{
    struct search search = {names, json, 0};
    json_open_array(json, "processes");
    file_names("/proc", put_process, &search);
    json_close_list(json, "processes", search.omitted);
}

static bool is_no_comment(const char *line) { return *line != '#'; }

static bool put_exports_file(struct json *json, const char *path, const char *name)
{
    (void)name;
    inventory_put_lines(json, "lines", path, is_no_comment);
    return true;
}

void inventory_nfs_server(void)
{
    static const char *const names[] = {"ganesha.nfsd", "unfsd", "rpc.mountd", "rpcbind", NULL};
    struct json *json = report_begin("nfs_server");
    INVENTORY_FACTS(json, NFSD,
                    {"versions", "versions", 0},
                    {"threads_count", "threads", 1},
                    {"pool_threads_count", "pool_threads", 0},
                    {"max_block_size_bytes", "max_block_size", 1});
    inventory_put_lines(json, "ports", NFSD "/portlist", NULL);
    inventory_put_u64(json, "lease_seconds", NFSD, "nfsv4leasetime", 1);
    inventory_put_lines(json, "exports_in_force", "/proc/fs/nfsd/exports", is_no_comment);
    inventory_put_lines(json, "exports_table", "/var/lib/nfs/etab", NULL);
    inventory_put_lines(json, "exports_configured", "/etc/exports", is_no_comment);
    inventory_put_list(json, "exports_configured_more", "/etc/exports.d", put_exports_file);
    inventory_put_lines(json, "nfs_conf", "/etc/nfs.conf", is_no_comment);
    put_processes(json, names);
    report_end();
}

/* Section heads, and the settings that decide about speed; nothing that could be a secret. */
static bool is_telling(const char *line)
{
    static const char *const settings[] = {
        "server signing", "server min protocol", "server max protocol", "min protocol",
        "max protocol", "protocol", "smb encrypt", "server smb encrypt", "server multi channel",
        "smb2 max", "smb3", "smb2 leases", "smb2 max credits", "oplocks", "level2 oplocks",
        "kernel oplocks", "strict", "sync always", "socket options", "use sendfile",
        "min receivefile", "aio ", "write cache", "read raw", "write raw", "max xmit",
        "case sensitive", "store dos", "ea support", "vfs objects", "deadtime", "log level",
        "max connections", "follow symlinks", "path", "read only", "guest ok", "fruit:",
        "interfaces", "async", "durable handles",
    };
    if (*line == '[')
        return true;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (text_starts(line, settings[i]))
            return true;
    return false;
}

void inventory_smb_server(void)
{
    static const char *const names[] = {"smbd", "ksmbd.mountd", "ksmbd", "wsdd2", "wsdd", NULL};
    static const char *const files[] = {
        "/etc/samba/smb.conf", "/etc/smb.conf", "/var/etc/smb.conf", "/tmp/smb.conf",
        "/usr/local/etc/smb4.conf", "/etc/smb4.conf", "/etc/ksmbd/ksmbd.conf", "/etc/ksmbd/smb.conf",
        "/tmp/ksmbd.conf", "/etc/config/smb.conf",
    };
    struct json *json = report_begin("smb_server");
    json_bool(json, "ksmbd_module", file_exists("/sys/module", "ksmbd"));
    json_open_object(json, "configurations");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        inventory_put_lines(json, files[i], files[i], is_telling);
    json_close_object(json);
    put_processes(json, names);
    report_end();
}
