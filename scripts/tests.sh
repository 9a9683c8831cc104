#!/usr/bin/env bash
# Runs all tests of the workspace: scripts/tests.sh
#
# Most of them wait most of the time, for servers, limits and other processes, so their programs run
# side by side, the longest sources first. Those that hold the machine's own counters, or all packets
# of a link, against what they did themselves run alone, at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
alone=(watch wire)
at_once=$(($(nproc) * 2))

cargo test --workspace --locked --quiet --no-run

# What tests write lies in memory where there is plenty: programs side by side would wait for one disk,
# and trials of a tenth of a second would get nothing done. Tests that are about disks name a place on one.
in_memory=/dev/shm
if [ "$(stat -f -c %T $in_memory 2>/dev/null)" = tmpfs ] && [ -w $in_memory ] &&
    ! findmnt -no OPTIONS $in_memory | grep -qw noexec &&
    [ "$(df --output=avail -k $in_memory | tail -1)" -gt $((8 << 20)) ] &&
    [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt $((12 << 20)) ]; then
    TMPDIR=$(mktemp -d $in_memory/t.XXXX)
    # As /tmp is: servers in the tests serve what lies here to users of their own.
    chmod 1777 "$TMPDIR"
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi

# One target of `cargo test`, by its flag: what it printed comes whole, and at its end.
target() {
    local log begun=$SECONDS
    log=$(mktemp)
    if cargo test --workspace --locked --quiet "$@" >"$log" 2>&1; then
        echo "passed in $((SECONDS - begun)) s: $*"
        grep -E '^(SKIPPED|test result: .* [1-9][0-9]* ignored)' "$log" || true
    else
        cat "$log"
        echo "FAILED after $((SECONDS - begun)) s: $*"
        touch "$failed"
    fi
    rm -f "$log"
}
export -f target
failed=$(mktemp -u)
export failed

# Targets of one name, in several crates, run together.
targets=$(
    cargo metadata --no-deps --locked --format-version 1 | python3 -c '
import json, os, sys
size = {}
for package in json.load(sys.stdin)["packages"]:
    for target in package["targets"]:
        if target["kind"] == ["test"]:
            name = target["name"]
            size[name] = size.get(name, 0) + os.path.getsize(target["src_path"])
print(*sorted(size, key=size.get, reverse=True), sep="\n")
' | grep -vxFf <(printf '%s\n' "${alone[@]}")
)
{ sed 's/^/--test /' <<<"$targets"; printf '%s\n' --lib --bins --doc; } |
    xargs -P "$at_once" -L 1 bash -euo pipefail -c 'target "$@"' target
for name in "${alone[@]}"; do target --test "$name"; done
if [ -e "$failed" ]; then
    rm -f "$failed"
    echo "tests failed: see above" >&2
    exit 1
fi
