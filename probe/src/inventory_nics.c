/* Network interfaces. */
#include <sys/stat.h>

#include "file.h"
#include "inventory.h"
#include "options.h"
#include "text.h"

struct queues {
    const char *prefix;
    uint64_t count;
};

static bool count_queue(const char *name, void *context)
{
    struct queues *queues = context;
    queues->count += text_starts(name, queues->prefix);
    return true;
}

static void put_queues(struct json *json, const char *path)
{
    char directory[OPTION_PATH_BYTES];
    struct queues receive = {"rx-", 0}, transmit = {"tx-", 0};
    if (!text_join(directory, sizeof directory, path, "/queues", NULL))
        return;
    file_names(directory, count_queue, &receive);
    file_names(directory, count_queue, &transmit);
    json_u64(json, "receive_queues_count", receive.count);
    json_u64(json, "transmit_queues_count", transmit.count);
    inventory_put_text(json, "receive_steering_cores_mask", directory, "rx-0/rps_cpus");
}

/* /sys says -1 where there is no link, and then there is no rate to tell. */
static bool put_nic(struct json *json, const char *path, const char *name)
{
    char link[64];
    if (!file_exists(path, "ifindex"))
        return false; /* a control file of the bonding driver, say */
    INVENTORY_FACTS(json, path,
                    {"rate_bits_per_second", "speed", 1000000},
                    {"duplex", "duplex", 0},
                    {"mtu_bytes", "mtu", 1},
                    {"state", "operstate", 0},
                    {"hardware_type_number", "type", 1},
                    {"transmit_queue_packets", "tx_queue_len", 1});
    if (file_link_name(path, "device/driver", link, sizeof link))
        json_text(json, "device_driver", link);
    if (file_link_name(path, "device/subsystem", link, sizeof link))
        json_text(json, "bus", link);
    if (file_link_name(path, "master", link, sizeof link))
        json_text(json, "master", link);
    json_bool(json, "wireless", file_exists(path, "phy80211") || file_exists(path, "wireless"));
    json_bool(json, "bridge", file_exists(path, "bridge"));
    put_queues(json, path);
    inventory_ethtool(json, name);
    return true;
}

void inventory_nics(void)
{
    struct json *json = report_begin("nics");
    inventory_put_list(json, "nics", "/sys/class/net", put_nic);
    inventory_put_text(json, "congestion_control", "/proc/sys/net/ipv4",
                       "tcp_congestion_control");
    inventory_put_text(json, "default_queue_discipline", "/proc/sys/net/core", "default_qdisc");
    INVENTORY_FACTS(json, "/proc/sys/net/ipv4",
                    {"tcp_receive_memory_bytes", "tcp_rmem", 0},
                    {"tcp_send_memory_bytes", "tcp_wmem", 0});
    report_end();
}
