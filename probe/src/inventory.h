/* The verb inventory: what this machine is, read from /proc, /sys and configuration files. Nothing
 * is changed and no program is started. Each function reports one or more sections. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "report.h"

void inventory_system(void);
void inventory_cpu(void);
void inventory_memory(void);
void inventory_flash(void);
void inventory_buses(void);
void inventory_nics(void);
void inventory_disks(void);
void inventory_path(const char *path);
void inventory_netfilter(void);
void inventory_nfs_server(void);
void inventory_smb_server(void);
/* Offloads, driver and rings of one network interface, into its object. */
void inventory_ethtool(struct json *json, const char *interface);

/* directory/name as text or as a number, left out if it is not there. */
void inventory_put_text(struct json *json, const char *key, const char *directory,
                        const char *name);

/* Several of one directory. In tables, which are half as large as calls. */
struct inventory_fact {
    const char *key;
    const char *name;
    uint32_t unit; /* 0: text; else a number in so many of the key's unit */
};
#define INVENTORY_FACTS(json, directory, ...) \
    do { \
        static const struct inventory_fact facts[] = {__VA_ARGS__}; \
        inventory_put_facts(json, directory, facts, sizeof facts / sizeof *facts); \
    } while (0)
void inventory_put_facts(struct json *json, const char *directory,
                         const struct inventory_fact *facts, size_t count);
void inventory_put_u64(struct json *json, const char *key, const char *directory,
                       const char *name, uint64_t unit);

/* A list with one object for each entry of a directory. */
struct inventory_list {
    struct json *json;
    const char *directory;
    /* Fills the object of one entry; false: not of interest, leave it out. */
    bool (*item)(struct json *json, const char *path, const char *name);
    uint64_t omitted;
};
void inventory_put_list(struct json *json, const char *key, const char *directory,
                        bool (*item)(struct json *json, const char *path, const char *name));

/* An array of the lines of a file for which `keep` is true (all, if it is NULL). */
void inventory_put_lines(struct json *json, const char *key, const char *path,
                         bool (*keep)(const char *line));

#endif
