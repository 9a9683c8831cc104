#!/bin/sh
# Does it pay to export with async, and to mount with larger transfers? One disk behind a small
# router's NFS 3, exported both ways and mounted with 16 and with 32 KiB, all by the kernels' own
# server and client.
#
# The source (puskas2017: Z. Puskas, "Router NFS performance benchmark", 2017) copied files with
# rsync to a TP-Link N750 with a USB disk:
#
#     upload, in MB/s              sync, 16 KiB  async, 16 KiB  sync, 32 KiB  async, 32 KiB
#     a film of 929 MB                     6.05           6.13          7.58           7.71
#     56,206 files of 12 kB on average     0.379          0.763         0.397          0.767
#
# So async halves what a file costs and does nothing for a byte; larger transfers do the opposite.
# Here writes of 4 KiB, each of which must be stable on a sync export, stand for the small files, and
# sequential ones for the film.
#
# Arguments go to each `plimsoll check`, instead of the number of blocks: emulated machines are too
# noisy for the stop rule, which would ask for thousands.
set -eu
cd "$(dirname "$0")"

plimsoll lab up lab.toml --name sync-async
trap 'plimsoll lab down sync-async' EXIT
trap 'exit 130' INT TERM

# Larger transfers on the async export alone: what a sync one's COMMIT takes is not theirs to save.
# shellcheck disable=SC2086,SC2048 # words
plimsoll check --on lab://sync-async/client /mnt/async-16k /mnt/async-32k \
    --workers 1 --size 8MiB --baseline 1s \
    --pattern sequential-write --block 512KiB --time 6s ${*:---repeats 16}
# shellcheck disable=SC2086,SC2048
plimsoll check --on lab://sync-async/client \
    /mnt/sync-16k /mnt/sync-32k /mnt/async-16k /mnt/async-32k \
    --workers 1 --size 8MiB --baseline 1s --pattern random-write --time 3s ${*:---repeats 8}
