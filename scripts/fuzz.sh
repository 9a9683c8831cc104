#!/usr/bin/env bash
# Runs fuzz targets over their corpora and then for some seconds, as many at a time as there are
# cores: scripts/fuzz.sh SECONDS [TARGET...]; without names all of them.
#
#   SANITIZER=address  with the address sanitizer, in C libraries too, built apart
#   RECORD=file        adds a line for each target: its name, seconds, executions, inputs in the
#                      corpus, findings; targets that have one already are left out
#
# On a stable toolchain, and mostly without a sanitizer: what is looked for are panics, overflows,
# endless loops and allocations without bound, and those show without.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
export sanitizer=${SANITIZER:-none} record=${RECORD:-}
host=$(rustc -vV | sed -n 's/^host: //p')

targets=$(cargo fuzz list)
[ -n "$targets" ] || { echo "no fuzz targets in fuzz/" >&2; exit 1; }
if [ $# -gt 0 ]; then
    for target; do
        grep -qx "$target" <<<"$targets" || { echo "no fuzz target '$target'" >&2; exit 2; }
    done
    targets=$(printf '%s\n' "$@")
fi
if [ "$sanitizer" = none ]; then
    directory=${CARGO_TARGET_DIR:-fuzz/target}
    cargo fuzz build -s none
else
    # The sanitizer is an unstable option of the compiler.
    directory=${CARGO_TARGET_DIR:-fuzz/target}/$sanitizer
    export RUSTC_BOOTSTRAP=1 CFLAGS="-fsanitize=$sanitizer -fno-omit-frame-pointer"
    while read -r target; do
        cargo fuzz build -s "$sanitizer" --target-dir "$directory" "$target"
    done <<<"$targets"
fi
programs=$directory/$host/release

# One target. The corpus in the repository is read; what a run finds goes to a directory of its own.
fuzz() {
    local target=$1 found=target/fuzz-corpus/$1 kept=fuzz/artifacts/$1 log seeds=() failed=0 runs
    ! grep -qs "^$target " "${record:-/dev/null}" || return 0
    [ -d "fuzz/corpus/$target" ] && seeds=("fuzz/corpus/$target")
    mkdir -p "$found" "$kept"
    log=$(mktemp)
    # Without a sanitizer libFuzzer sees no single allocation, and memory that is not written to
    # does not count as resident; the system's limit sees both.
    [ "$sanitizer" != none ] || ulimit -d $((1 << 20))
    "$programs/$target" "$found" "${seeds[@]}" -artifact_prefix="$kept/" \
        -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 \
        -print_final_stats=0 >"$log" 2>&1 && grep -q '^Done' "$log" || failed=1
    if [ -n "$record" ]; then
        runs=$(grep -oE '^#[0-9]+' "$log" | tail -1 | tr -d '#')
        echo "$target $seconds ${runs:-0} $(find "$found" "${seeds[@]}" -type f | wc -l) $failed" \
            >>"$record"
    fi
    if [ "$failed" = 1 ]; then
        cat "$log" >&2
        echo "fuzz: $target failed; the input is kept in $kept" >&2
    else
        echo "fuzz: $target for $seconds s: $(grep '^Done' "$log")"
    fi
    rm -f "$log"
    return "$failed"
}
export -f fuzz
export seconds programs
xargs -P "${JOBS:-$(nproc)}" -I{} bash -euo pipefail -c 'fuzz {}' <<<"$targets"
