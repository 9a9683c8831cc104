#!/usr/bin/env bash
# Runs every fuzz target over its corpus and then for some seconds, as many at a time as there are
# cores: scripts/fuzz.sh SECONDS
#
# On a stable toolchain without a sanitizer, which needs a nightly one: what is looked for are
# panics, overflows, endless loops and allocations without bound, and those show without.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS}
programs=${CARGO_TARGET_DIR:-fuzz/target}/$(rustc -vV | sed -n 's/^host: //p')/release

targets=$(cargo fuzz list)
[ -n "$targets" ] || { echo "no fuzz targets in fuzz/" >&2; exit 1; }
cargo fuzz build -s none

# One target. The corpus in the repository is read; what a run finds goes to a directory of its own.
fuzz() {
    local target=$1 found=target/fuzz-corpus/$1 kept=fuzz/artifacts/$1 log seeds=()
    [ -d "fuzz/corpus/$target" ] && seeds=("fuzz/corpus/$target")
    mkdir -p "$found" "$kept"
    log=$(mktemp)
    if ! "$programs/$target" "$found" "${seeds[@]}" -artifact_prefix="$kept/" \
        -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 \
        -print_final_stats=0 >"$log" 2>&1 || ! grep -q '^Done' "$log"; then
        cat "$log" >&2
        echo "fuzz: $target failed; the input is kept in $kept" >&2
        rm -f "$log"
        return 1
    fi
    echo "fuzz: $target for $seconds s: $(grep '^Done' "$log")"
    rm -f "$log"
}
export -f fuzz
export seconds programs
xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'fuzz {}' <<<"$targets"
