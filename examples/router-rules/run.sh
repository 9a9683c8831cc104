#!/bin/sh
# What does a router that filters packets carry, beside one that does not? One NFS server is read
# through both, in the same study.
#
# The source (kofler2011: Kofler, Kuschnig and Hellwagner) routed UDP through three home routers
# with and without netfilter in their kernels:
#
#     RouterStation Pro   430 Mbit/s with,  600 without   +40%
#     TP-Link (AR9132)    270 Mbit/s with,  355 without   +31%
#     Linksys WRT54        70 Mbit/s with,   95 without   +36%
#
# and saw up to 90% more over TCP in small blocks. Here netfilter cannot be taken out of the kernel;
# a ruleset of 500 rules, which no packet matches, stands against none. Processors of today hardly
# notice a few.
#
# Further arguments go to `plimsoll check`.
set -eu
cd "$(dirname "$0")"

plimsoll lab up lab.toml --name router-rules
trap 'plimsoll lab down router-rules' EXIT
trap 'exit 130' INT TERM

on() {
    host=$1
    shift
    plimsoll lab exec "router-rules/$host" -- "$@"
}

# Packets of the size that they have on a wire, not the large ones that one kernel hands to itself.
on wan ip link set out-plain gso_max_segs 1
on wan ip link set out-ruled gso_max_segs 1

{
    echo 'table inet filter {'
    echo '    chain forward {'
    echo '        type filter hook forward priority 0; policy accept;'
    seq 1 250 | sed 's/.*/        ip saddr 192.0.2.& drop\n        ip saddr 198.51.100.& drop/'
    echo '        counter accept'
    echo '    }'
    echo '}'
} | on ruled nft -f -

plimsoll check --on lab://router-rules/lan nfs://10.77.3.2/srv/data nfs://10.77.4.2/srv/data \
    --pattern sequential-read,random-read --size 32MiB --max-time 3min "$@"

echo
echo "What the last rule of the router with rules has counted, and that of the other:"
on ruled nft list ruleset | grep counter
on plain nft list ruleset | grep counter || echo "        no rules"
