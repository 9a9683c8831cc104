/* Flash chips, PCI, USB, SATA and radios. */
#include "file.h"
#include "inventory.h"
#include "text.h"

static bool put_mtd(struct json *json, const char *path, const char *name)
{
    if (!text_starts(name, "mtd") || text_ends(name, "ro"))
        return false;
    INVENTORY_FACTS(json, path,
                    {"label", "name", 0},
                    {"type", "type", 0},
                    {"size_bytes", "size", 1},
                    {"erase_size_bytes", "erasesize", 1});
    return true;
}

void inventory_flash(void)
{
    struct json *json = report_begin("flash");
    inventory_put_list(json, "mtd", "/sys/class/mtd", put_mtd);
    report_end();
}

static void put_driver(struct json *json, const char *path)
{
    char driver[64];
    if (file_link_name(path, "driver", driver, sizeof driver))
        json_text(json, "driver", driver);
}

static bool put_pci(struct json *json, const char *path, const char *name)
{
    (void)name;
    INVENTORY_FACTS(json, path,
                    {"class", "class", 0},
                    {"vendor", "vendor", 0},
                    {"device", "device", 0},
                    {"link_rate", "current_link_speed", 0},
                    {"link_lanes_count", "current_link_width", 1},
                    {"most_link_rate", "max_link_speed", 0},
                    {"most_link_lanes_count", "max_link_width", 1});
    put_driver(json, path);
    return true;
}

/* Megabits a second with a decimal point, as in 1.5. */
static uint64_t megabits(const char *text)
{
    uint64_t whole = text_leading_u64(text), bits = whole * 1000000;
    while (*text >= '0' && *text <= '9')
        text++;
    if (*text == '.' && text[1] >= '0' && text[1] <= '9')
        bits += (uint64_t)(text[1] - '0') * 100000;
    return bits;
}

static bool put_usb(struct json *json, const char *path, const char *name)
{
    char rate[32];
    for (const char *c = name; *c != '\0'; c++)
        if (*c == ':')
            return false; /* one function of a device */
    if (file_text(path, "speed", rate, sizeof rate))
        json_u64(json, "rate_bits_per_second", megabits(rate));
    INVENTORY_FACTS(json, path,
                    {"usb_version", "version", 0},
                    {"vendor", "idVendor", 0},
                    {"device", "idProduct", 0},
                    {"manufacturer", "manufacturer", 0},
                    {"product", "product", 0});
    return true;
}

/* How a USB disk is driven decides much: uas, or the older usb-storage. */
static bool put_usb_function(struct json *json, const char *path, const char *name)
{
    char driver[64];
    bool function = false;
    for (const char *c = name; *c != '\0'; c++)
        function = function || *c == ':';
    if (!function || !file_link_name(path, "driver", driver, sizeof driver) ||
        text_equal(driver, "hub"))
        return false;
    json_text(json, "driver", driver);
    return true;
}

static bool put_ata(struct json *json, const char *path, const char *name)
{
    (void)name;
    INVENTORY_FACTS(json, path,
                    {"rate", "sata_spd", 0},
                    {"most_rate", "hw_sata_spd_limit", 0});
    return true;
}

static bool put_bus(struct json *json, const char *path, const char *name)
{
    (void)json, (void)path, (void)name;
    return true;
}

static bool put_radio(struct json *json, const char *path, const char *name)
{
    char driver[64];
    (void)name;
    if (file_link_name(path, "device/driver", driver, sizeof driver))
        json_text(json, "driver", driver);
    INVENTORY_FACTS(json, path,
                    {"vendor", "device/vendor", 0},
                    {"device", "device/device", 0});
    return true;
}

void inventory_buses(void)
{
    struct json *json = report_begin("buses");
    inventory_put_list(json, "buses", "/sys/bus", put_bus);
    inventory_put_list(json, "pci", "/sys/bus/pci/devices", put_pci);
    inventory_put_list(json, "usb", "/sys/bus/usb/devices", put_usb);
    inventory_put_list(json, "usb_functions", "/sys/bus/usb/devices", put_usb_function);
    inventory_put_list(json, "sata_links", "/sys/class/ata_link", put_ata);
    report_end();
    json = report_begin("wireless");
    inventory_put_list(json, "radios", "/sys/class/ieee80211", put_radio);
    report_end();
}
