#!/usr/bin/env bash
# Runs every fuzz target over its corpus and then for some seconds: scripts/fuzz.sh SECONDS
#
# On a stable toolchain without a sanitizer, which needs a nightly one: what is looked for are
# panics, overflows, endless loops and allocations without bound, and those show without.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS}
# The corpus in the repository is read; what a run finds goes to a directory of its own.
found=target/fuzz-corpus
limits=(-rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 -print_final_stats=0)

targets=$(cargo fuzz list)
[ -n "$targets" ] || { echo "no fuzz targets in fuzz/" >&2; exit 1; }
cargo fuzz build -s none
for target in $targets; do
    seeds=()
    [ -d "fuzz/corpus/$target" ] && seeds=("fuzz/corpus/$target")
    mkdir -p "$found/$target"
    echo "fuzz: $target for $seconds s"
    log=$(mktemp)
    if ! cargo fuzz run -s none "$target" "$found/$target" "${seeds[@]}" -- \
        -max_total_time="$seconds" "${limits[@]}" >"$log" 2>&1; then
        cat "$log" >&2
        echo "fuzz: $target failed; the input is kept in fuzz/artifacts/$target" >&2
        exit 1
    fi
    grep -E '^Done|INITED' "$log" || true
    rm -f "$log"
done
