/* What only the ethtool ioctl tells (linux/ethtool.h): driver, offloads in force, rings. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inventory.h"
#include "text.h"

/* The kernel has about 64 features; this is room for twice that. */
#define MOST_FEATURES 128u

static bool ask(int fd, const char *interface, void *command)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    text_copy(request.ifr_name, sizeof request.ifr_name, interface);
    request.ifr_data = command;
    return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

static void put_driver(struct json *json, int fd, const char *interface)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    if (!ask(fd, interface, &info))
        return;
    info.driver[sizeof info.driver - 1] = '\0';
    info.version[sizeof info.version - 1] = '\0';
    info.fw_version[sizeof info.fw_version - 1] = '\0';
    json_text(json, "driver", info.driver);
    json_text(json, "driver_version", info.version);
    json_text(json, "firmware_version", info.fw_version);
}

static void put_rings(struct json *json, int fd, const char *interface)
{
    struct ethtool_ringparam rings = {.cmd = ETHTOOL_GRINGPARAM};
    struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
    if (ask(fd, interface, &rings)) {
        json_u64(json, "receive_ring_packets", rings.rx_pending);
        json_u64(json, "transmit_ring_packets", rings.tx_pending);
    }
    if (ask(fd, interface, &coalesce))
        json_u64(json, "receive_interrupt_delay_us", coalesce.rx_coalesce_usecs);
}

/* The kernel numbers features as it likes, and tells their names beside. 0 if it does not tell. */
static uint32_t feature_count(int fd, const char *interface)
{
    _Alignas(8) uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)] = {0};
    struct ethtool_sset_info *set = (void *)room;
    set->cmd = ETHTOOL_GSSET_INFO;
    set->sset_mask = 1ull << ETH_SS_FEATURES;
    return ask(fd, interface, set) && set->sset_mask != 0 ? set->data[0] : 0;
}

static void put_offloads(struct json *json, int fd, const char *interface)
{
    _Alignas(8) uint8_t names_room[sizeof(struct ethtool_gstrings) +
                                   MOST_FEATURES * ETH_GSTRING_LEN] = {0};
    _Alignas(8) uint8_t features_room[sizeof(struct ethtool_gfeatures) +
                                      MOST_FEATURES / 32 *
                                          sizeof(struct ethtool_get_features_block)] = {0};
    struct ethtool_gstrings *names = (void *)names_room;
    struct ethtool_gfeatures *features = (void *)features_room;
    uint32_t count = feature_count(fd, interface);
    if (count == 0 || count > MOST_FEATURES)
        return;
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_FEATURES;
    names->len = count;
    features->cmd = ETHTOOL_GFEATURES;
    features->size = (count + 31) / 32;
    if (!ask(fd, interface, names) || !ask(fd, interface, features))
        return;
    json_open_array(json, "offloads");
    for (uint32_t i = 0; i < count; i++) {
        char *name = (char *)names->data + (size_t)i * ETH_GSTRING_LEN;
        name[ETH_GSTRING_LEN - 1] = '\0';
        if ((features->features[i / 32].active >> i % 32 & 1) != 0)
            json_text(json, NULL, name);
    }
    json_close_array(json);
}

void inventory_ethtool(struct json *json, const char *interface)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    put_driver(json, fd, interface);
    put_rings(json, fd, interface);
    put_offloads(json, fd, interface);
    close(fd);
}
