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
# Further arguments go to `plimsoll run`.
set -eu
cd "$(dirname "$0")"

plimsoll lab up lab.toml --name readers
trap 'plimsoll lab down readers' EXIT
trap 'exit 130' INT TERM

plimsoll run plan.toml nfs://server/srv/data --on lab://readers/client "$@"
