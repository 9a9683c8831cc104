#!/usr/bin/env bash
# Builds static programs for a kind of machine: scripts/static.sh MACHINE PROFILE PROGRAM...
# The last line that it prints is the directory that they are in.
#
# For another machine than this one, what scripts/setup.sh dist brings must be there.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=${1:?usage: scripts/static.sh MACHINE PROFILE PROGRAM...} profile=${2:?} programs=("${@:3}")
triple=$machine-unknown-linux-gnu
variable=${triple//-/_}

# Random numbers by the system call alone: a static program cannot look whether the C library has it, and
# would want /dev/random, which not every root directory has.
flags='-C target-feature=+crt-static --cfg getrandom_backend="linux_getrandom" -A linker_messages'
export "CARGO_TARGET_${variable^^}_RUSTFLAGS=$flags"
if [ "$machine" != "$(uname -m)" ]; then
    export "CC_$variable=$machine-linux-gnu-gcc" "AR_$variable=$machine-linux-gnu-ar"
    export "CARGO_TARGET_${variable^^}_LINKER=$machine-linux-gnu-gcc"
    [ ! -x target/tools/rust/rustc ] || export RUSTC=$PWD/target/tools/rust/rustc
fi
cargo build --locked --profile "$profile" --target "$triple" --package plimsoll "${programs[@]/#/--bin=}"
echo "${CARGO_TARGET_DIR:-target}/$triple/$profile"
