#include "inventory.h"

#include "file.h"
#include "options.h"
#include "text.h"
#include "verb.h"

void inventory_put_text(struct json *json, const char *key, const char *directory,
                        const char *name)
{
    char text[2048];
    if (file_text(directory, name, text, sizeof text))
        json_text(json, key, text);
}

void inventory_put_u64(struct json *json, const char *key, const char *directory,
                       const char *name, uint64_t unit)
{
    uint64_t value;
    if (file_u64(directory, name, &value) && value <= UINT64_MAX / unit)
        json_u64(json, key, value * unit);
}

void inventory_put_facts(struct json *json, const char *directory,
                         const struct inventory_fact *facts, size_t count)
{
    for (; count > 0; count--, facts++) {
        if (facts->unit == 0)
            inventory_put_text(json, facts->key, directory, facts->name);
        else
            inventory_put_u64(json, facts->key, directory, facts->name, facts->unit);
    }
}

static bool put_item(const char *name, void *context)
{
    struct inventory_list *list = context;
    char path[OPTION_PATH_BYTES];
    if (!text_join(path, sizeof path, list->directory, "/", name, NULL))
        return true;
    struct json_mark mark = json_mark(list->json);
    json_open_object(list->json, NULL);
    json_text(list->json, "name", name);
    if (!list->item(list->json, path, name)) {
        list->json->full = true; /* taken out again like one that does not fit */
        json_keep(list->json, mark);
        return true;
    }
    json_close_object(list->json);
    list->omitted += !json_keep(list->json, mark);
    return true;
}

void inventory_put_list(struct json *json, const char *key, const char *directory,
                        bool (*item)(struct json *json, const char *path, const char *name))
{
    struct inventory_list list = {json, directory, item, 0};
    json_open_array(json, key);
    file_names(directory, put_item, &list);
    json_close_list(json, key, list.omitted);
}

void inventory_put_lines(struct json *json, const char *key, const char *path,
                         bool (*keep)(const char *line))
{
    char window[2048];
    struct file_lines lines;
    uint64_t omitted = 0;
    if (!file_lines_open(&lines, path, window, sizeof window))
        return;
    json_open_array(json, key);
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        line = text_trim(line);
        if (*line == '\0' || (keep != NULL && !keep(line)))
            continue;
        struct json_mark mark = json_mark(json);
        json_text(json, NULL, line);
        omitted += !json_keep(json, mark);
    }
    json_close_list(json, key, omitted);
}

static void tell_probe(void)
{
    struct json *json = report_begin("probe");
    json_u64(json, "protocol_version_number", FRAME_VERSION);
    json_text(json, "probe_version", OPTION_PROBE_VERSION);
    json_u64(json, "pointer_bits", sizeof(void *) * 8);
    const uint16_t one = 1;
    json_text(json, "byte_order", *(const uint8_t *)&one == 1 ? "little" : "big");
    report_end();
}

static void run(const struct request *request)
{
    tell_probe();
    inventory_system();
    inventory_cpu();
    inventory_memory();
    inventory_flash();
    inventory_buses();
    inventory_nics();
    inventory_disks();
    inventory_netfilter();
    inventory_nfs_server();
    inventory_smb_server();
    /* Last: a server or disk that does not answer holds up these alone. */
    for (size_t i = 0; i < request->pair_count; i++)
        if (text_equal(request->pairs[i].key, "path"))
            inventory_path(request->pairs[i].value);
}

const struct verb verb_inventory = {
    .name = "inventory",
    .keys = (const char *const[]){"path", "limit_seconds", NULL},
    .limit_seconds = 30,
    .longest_limit_seconds = 600,
    .run = run,
};
