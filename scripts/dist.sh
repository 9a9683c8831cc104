#!/usr/bin/env bash
# Makes what is handed to others, in target/dist: for each kind of machine a static archive and a Debian
# package, with SHA-256 sums: scripts/dist.sh [MACHINE...]
#
# What they need must be there: make dist sees to it.
set -euo pipefail
cd "$(dirname "$0")/.."
machines=("$@")
[ $# -gt 0 ] || machines=(x86_64 aarch64)
target=${CARGO_TARGET_DIR:-target}
out=$target/dist
rm -rf "$out"
mkdir -p "$out/programs"
for machine in "${machines[@]}"; do
    echo "building static programs for $machine"
    built=$(scripts/static.sh "$machine" dist plimsoll plimsoll-runner | tail -n 1)
    install -D -t "$out/programs/$machine" "$built/plimsoll"
    install -D -t "$out/runner/$machine" "$built/plimsoll-runner"
done
# Of those, this machine runs its own.
export NATIVE=$out/programs/$(uname -m)/plimsoll
if [ ! -x "$NATIVE" ]; then
    cargo build --locked --release --package plimsoll --bin plimsoll
    NATIVE=$target/release/plimsoll
fi
for machine in "${machines[@]}"; do
    RUNNERS=$out/runner PROBES=$target/probes \
        scripts/package.sh "$machine" "$out/programs/$machine/plimsoll" "$out"
done
(cd "$out" && sha256sum -- *.tar.gz *.deb >SHA256SUMS && ls -l -- *.tar.gz *.deb | awk '{ print $5, $NF }')
