/* What stands between a packet and its socket. */
#include "file.h"
#include "inventory.h"
#include "options.h"
#include "text.h"

#define CONNTRACK "/proc/sys/net/netfilter"

/* Modules of netfilter, and those that carry packets past it. */
static bool is_of_interest(const char *line)
{
    static const char *const prefixes[] = {
        "nf_",  "nft_", "xt_",  "ip_tables", "ip6_tables", "iptable_", "ip6table_", "ipt_",
        "ip6t_", "x_tables", "nfnetlink", "arp_tables", "ebt", "br_netfilter", "ip_set",
        "sch_", "act_", "cls_", "shortcut_fe", "sfe", "fast_classifier", "hw_nat", "mtk_ppe",
        "qca_nss", "ecm", "ctf", "bcm_nat", "wireguard", "ifb",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts(line, prefixes[i]))
            return true;
    return false;
}

static void put_modules(struct json *json)
{
    char window[1024];
    struct file_lines lines;
    uint64_t omitted = 0, all = 0;
    if (!file_lines_open(&lines, "/proc/modules", window, sizeof window))
        return;
    json_open_array(json, "modules");
    for (char *line; (line = file_lines_next(&lines)) != NULL; all++) {
        const char *name = is_of_interest(line) ? text_next_word(&line) : NULL;
        if (name == NULL)
            continue;
        struct json_mark mark = json_mark(json);
        json_text(json, NULL, name);
        omitted += !json_keep(json, mark);
    }
    json_close_list(json, "modules", omitted);
    json_u64(json, "all_modules_count", all);
}

/* OpenWrt's switch for flow offload lies in its configuration, in two lines. */
static bool is_flow_offload(const char *line)
{
    for (; *line != '\0'; line++)
        if (text_starts(line, "flow_offloading"))
            return true;
    return false;
}

void inventory_netfilter(void)
{
    struct json *json = report_begin("netfilter");
    put_modules(json);
    json_bool(json, "nf_tables", file_exists("/sys/module", "nf_tables"));
    json_bool(json, "conntrack", file_exists(CONNTRACK, "nf_conntrack_count"));
    json_bool(json, "flow_table", file_exists("/sys/module", "nf_flow_table"));
    INVENTORY_FACTS(json, CONNTRACK,
                    {"conntrack_entries_count", "nf_conntrack_count", 1},
                    {"most_conntrack_entries_count", "nf_conntrack_max", 1},
                    {"conntrack_buckets_count", "nf_conntrack_buckets", 1});
    inventory_put_lines(json, "iptables_tables", "/proc/net/ip_tables_names", NULL);
    inventory_put_lines(json, "ip6tables_tables", "/proc/net/ip6_tables_names", NULL);
    inventory_put_lines(json, "flow_offload_settings", "/etc/config/firewall", is_flow_offload);
    inventory_put_text(json, "ipv4_forwarding", "/proc/sys/net/ipv4", "ip_forward");
    inventory_put_text(json, "bridge_calls_iptables", "/proc/sys/net/bridge",
                       "bridge-nf-call-iptables");
    report_end();
}
