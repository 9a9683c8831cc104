#!/bin/sh
# How much do readers that read at the same time, and larger blocks, carry from one NFS server?
# Nothing is mounted: the client is plimsoll's own.
#
# The source (rtems2012: T. Straumann and others on the RTEMS users list, 2012) read a file of 10 MB
# over 100 Mbit/s Ethernet by the RTEMS client, which sends one request at a time for each reader:
#
#     1 reader, 1 KiB     2.89 MB/s
#     1 reader, 8 KiB     7.63 MB/s
#     2 readers, 8 KiB    8.9 MB/s
#     3 readers, 8 KiB    9.6 MB/s
#
# Its readers wait for each other after every round; these do not, so that two fill the link.
#
# Further arguments go to each `plimsoll check`.
set -eu
cd "$(dirname "$0")"

files=$(mktemp -d)
plimsoll lab up lab.toml --name readers
trap 'plimsoll lab down readers; rm -r "$files"' EXIT
trap 'exit 130' INT TERM

measure() {
    readers=$1 block=$2
    shift 2
    plimsoll check --on lab://readers/client nfs://server/srv/data --pattern sequential-read \
        --workers "$readers" --block "$block" --size 8MiB --max-time 2min \
        --json "$files/$readers-$block.json" "$@"
}

study() {
    grep -o '"id": *"[^"]*"' "$files/$1.json" | head -n 1 | cut -d '"' -f 4
}

measure 1 1KiB "$@"
measure 1 8KiB "$@"
measure 2 8KiB "$@"
measure 3 8KiB "$@"
plimsoll compare "$(study 1-1KiB)" "$(study 1-8KiB)"
plimsoll compare "$(study 1-8KiB)" "$(study 2-8KiB)"
plimsoll compare "$(study 1-8KiB)" "$(study 3-8KiB)"
