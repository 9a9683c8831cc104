#!/usr/bin/env bash
# Brings Rust's standard library for another kind of machine: scripts/cross-rust.sh MACHINE
#
# By rustup, which most have. Where that cannot (it was not what installed Rust, or cannot reach its
# server), the compiler and the libraries of Debian's unstable suite are unpacked into
# target/tools/rust; nothing is installed. They bring the C library that they need themselves, and
# target/tools/rust/rustc runs them on that. scripts/static.sh takes it where it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=${1:?usage: scripts/cross-rust.sh MACHINE}
triple=$machine-unknown-linux-gnu
at=$PWD/target/tools/rust

has() { [ -d "$("$1" --print sysroot 2>/dev/null)/lib/rustlib/$triple/lib" ]; }

if has rustc || { [ -x "$at/rustc" ] && has "$at/rustc"; }; then exit; fi
if command -v rustup >/dev/null && timeout 300 rustup --quiet target add "$triple" 2>/dev/null && has rustc; then
    exit
fi

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}
case $machine in aarch64) architecture=arm64 ;; x86_64) architecture=amd64 ;; *) architecture=$machine ;; esac
host=$(dpkg --print-architecture 2>/dev/null) && command -v apt-get >/dev/null ||
    stop "Rust's standard library for $machine is missing." "rustup target add $triple brings it."
loader=$(readelf -l /bin/sh | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')

echo "rustup cannot bring $triple: taking Debian's unstable compiler into $at"
rm -rf "$at"
mkdir -p "$at/apt/lists/partial" "$at/apt/archives/partial" "$at/root"
: >"$at/apt/status"
# The mirror that this machine itself uses, and what is in its apt.conf.d, such as a proxy.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -n "$mirror" ] || stop "This machine's apt knows no mirror of Debian." "rustup target add $triple brings the library."
echo "deb [target=Packages signed-by=$keys] $mirror unstable main" >"$at/apt/sources.list"
cat >"$at/apt/apt.conf" <<.
Dir::State "$at/apt"; Dir::State::status "$at/apt/status"; Dir::State::lists "$at/apt/lists";
Dir::Cache "$at/apt"; Dir::Cache::archives "$at/apt/archives"; Dir::Log "$at/apt";
Dir::Etc::sourcelist "$at/apt/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "$host"; APT::Architectures { "$host"; "$architecture"; };
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none";
Acquire::Retries "3";
.
export APT_CONFIG=$at/apt/apt.conf
apt-get -qq update
# With the standard library come the libraries that rustc itself loads. A linker and a compiler for C
# are this machine's own.
libraries=$(apt-get -qq --print-uris install libstd-rust-dev | sed "s/^[^ ]* \([^_]*\)_.*/\1/")
(
    cd "$at/apt/archives"
    # shellcheck disable=SC2086 # words
    apt-get -qq download rustc $libraries "libstd-rust-dev:$architecture"
    for package in *.deb; do dpkg-deb -x "$package" "$at/root"; done
)
libraries=$at/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
cat >"$at/rustc" <<.
#!/bin/sh
exec "$libraries/$(basename "$loader")" --library-path "$libraries" "$at/root/usr/bin/rustc" \\
    --sysroot "$at/root/usr" "\$@"
.
chmod +x "$at/rustc"
rm -rf "$at/apt"
has "$at/rustc" || stop "Debian's compiler does not run from $at, or lacks $triple: see above."
