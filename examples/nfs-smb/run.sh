#!/bin/sh
# NFS 4.1 or SMB 3.1.1 for the same directory of the same server? Both are mounted by the kernel of
# one client; the shipped lab `ds218` has the server.
#
# The source (jonfk2024: jonfk, "NFS vs SMB transfer speed on a Linux server", 2024) ran fio against
# a Synology DS218+ on 1 Gbit/s, four jobs of depth 1 on one file of 1 GiB:
#
#     sequential read      NFS  111 MiB/s   SMB  112 MiB/s
#     sequential write     NFS  108 MiB/s   SMB  110 MiB/s
#     random read, 4 KiB   NFS 7334 IOPS    SMB 5513 IOPS
#     random write, 4 KiB  NFS 6618 IOPS    SMB 7691 IOPS
#     mixed, its writes    NFS 3531 IOPS    SMB 3137 IOPS
#
# `plimsoll check --design jonfk2024` repeats it on a real server. Here machines may be emulated, and
# files are small.
#
# Arguments go to `plimsoll check`, instead of `--repeats 8`.
set -eu

[ $# -gt 0 ] || set -- --repeats 8
plimsoll lab up ds218 --name nfs-smb
trap 'plimsoll lab down nfs-smb' EXIT
trap 'exit 130' INT TERM

plimsoll check --on lab://nfs-smb/client /mnt/nfs /mnt/smb \
    --workers 2 --size 16MiB --time 3s --baseline 1s "$@"
