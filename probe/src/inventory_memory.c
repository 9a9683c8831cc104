/* Memory: how much, and of which kind where the firmware tells. */
#include <sys/auxv.h>

#include "file.h"
#include "inventory.h"
#include "options.h"
#include "text.h"

#define DMI_ENTRIES "/sys/firmware/dmi/entries"

static void put_meminfo(struct json *json)
{
    static const struct {
        const char *name, *key;
    } known[] = {
        {"MemTotal", "total_bytes"},     {"MemFree", "free_bytes"},
        {"MemAvailable", "available_bytes"}, {"Cached", "cached_bytes"},
        {"SwapTotal", "swap_total_bytes"}, {"SwapFree", "swap_free_bytes"},
    };
    char window[OPTION_LINE_BYTES];
    struct file_lines lines;
    if (!file_lines_open(&lines, "/proc/meminfo", window, sizeof window))
        return;
    for (char *line; (line = file_lines_next(&lines)) != NULL;) {
        const char *value = text_split(line, ':');
        for (size_t i = 0; value != NULL && i < sizeof known / sizeof *known; i++)
            if (text_equal(line, known[i].name))
                json_u64(json, known[i].key, text_leading_u64(value) * 1024);
    }
}

static uint64_t little_endian16(const char *at)
{
    return (uint64_t)(uint8_t)at[0] | (uint64_t)(uint8_t)at[1] << 8;
}

/* One memory module: SMBIOS structure of type 17 (DMTF DSP0134, 7.18). Speeds count transfers. */
static bool put_module(struct json *json, const char *path, const char *name)
{
    char raw[256], file[OPTION_PATH_BYTES];
    if (!text_starts(name, "17-") || !text_join(file, sizeof file, path, "/raw", NULL))
        return false;
    long length = file_read(file, raw, sizeof raw);
    if (length < 0x17 || length < (uint8_t)raw[1])
        return false; /* readable by root alone */
    uint64_t size = little_endian16(raw + 0x0c), rate = little_endian16(raw + 0x15);
    if (size == 0 || size == 0xffff)
        return false; /* an empty socket */
    if (size != 0x7fff)
        json_u64(json, "size_bytes", (size & 0x8000) != 0 ? (size & 0x7fff) << 10 : size << 20);
    else if (length >= 0x20)
        json_u64(json, "size_bytes",
                 (little_endian16(raw + 0x1c) | little_endian16(raw + 0x1e) << 16) << 20);
    json_u64(json, "smbios_type_number", (uint8_t)raw[0x12]);
    json_u64(json, "data_width_bits", little_endian16(raw + 0x0a));
    if (rate != 0 && rate != 0xffff)
        json_u64(json, "most_transfers_per_second", rate * 1000000);
    uint64_t configured = length >= 0x22 ? little_endian16(raw + 0x20) : 0;
    if (configured != 0 && configured != 0xffff)
        json_u64(json, "transfers_per_second", configured * 1000000);
    return true;
}

void inventory_memory(void)
{
    struct json *json = report_begin("memory");
    put_meminfo(json);
    json_u64(json, "page_size_bytes", getauxval(AT_PAGESZ));
    inventory_put_list(json, "modules", DMI_ENTRIES, put_module);
    report_end();
}
