#!/usr/bin/env bash
# Packs built programs: scripts/package.sh MACHINE PROGRAM OUT
#
# PROGRAM is the program for that machine, as it is to be handed out. RUNNERS and PROBES are directories
# with <machine>/plimsoll-runner and <machine>/plimsoll-probe; NATIVE is a build of the program that
# runs on this machine, to print manual pages and completions, where PROGRAM does not.
# In OUT there are then an archive and a Debian package with the same files.
set -euo pipefail
cd "$(dirname "$0")/.."
machine=${1:?usage: scripts/package.sh MACHINE PROGRAM OUT} program=${2:?} out=${3:?}
runners=${RUNNERS:?} probes=${PROBES:?} native=${NATIVE:-$program}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=plimsoll-$version-$machine-linux
# The time of the newest commit, so that the same sources make the same archive.
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
mkdir -p "$out"
work=$(mktemp -d "$out/.work-XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/$name

put() { install -D -m "$1" "$2" "$tree/$3"; }
put 755 "$program" bin/plimsoll
for runner in "$runners"/*/plimsoll-runner; do
    put 755 "$runner" "lib/plimsoll/runner/$(basename "$(dirname "$runner")")/plimsoll-runner"
done
for probe in "$probes"/*/plimsoll-probe; do
    kind=$(basename "$(dirname "$probe")")
    # Builds for this machine's own use.
    case $kind in native | sanitized) continue ;; esac
    put 755 "$probe" "lib/plimsoll/probes/$kind/plimsoll-probe"
done
share=$tree/share
"$native" man --dir "$share/man/man1"
gzip -9n "$share"/man/man1/*.1
install -d "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$native" completions bash >"$share/bash-completion/completions/plimsoll"
"$native" completions zsh >"$share/zsh/site-functions/_plimsoll"
"$native" completions fish >"$share/fish/vendor_completions.d/plimsoll.fish"
for file in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs/*.md; do
    put 644 "$file" "share/doc/plimsoll/$file"
done
scripts/licences.py --texts >"$work/licences"
put 644 "$work/licences" share/doc/plimsoll/LICENSES-OF-LIBRARIES
find "$tree" -exec touch --no-dereference --date "@$time" {} +

pack=(--sort=name --owner=0 --group=0 --numeric-owner --mtime "@$time" --format=ustar)
tar -C "$work" "${pack[@]}" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"

# The same tree below /usr. dpkg-deb does what there is to do; cargo-deb would want each file named
# in a manifest once more, and takes minutes to build.
case $machine in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; *) architecture=$machine ;; esac
package=$work/deb
mkdir -p "$package/DEBIAN"
mv "$tree" "$package/usr"
# Where packages put them on Debian.
mv "$package/usr/share/zsh/site-functions" "$package/usr/share/zsh/vendor-completions"
{
    cat LICENSE-MIT
    echo
    echo "Or, at your option, under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0."
    echo "Libraries in the program: LICENSES-OF-LIBRARIES beside this file."
} >"$package/usr/share/doc/plimsoll/copyright"
cat >"$package/DEBIAN/control" <<.
Package: plimsoll
Version: $version
Architecture: $architecture
Maintainer: the plimsoll authors <plimsoll@localhost>
Section: admin
Priority: optional
Installed-Size: $(du -sk --apparent-size "$package/usr" | cut -f 1)
Suggests: openssh-client
Description: measures network storage and explains what sets the limit
 Compares NFS exports, SMB shares and directories honestly: with trials in
 random order, intervals, and verdicts that say no more than their figures
 show. The program is static and needs no other package; watching and driving
 other hosts takes an ssh client.
.
(cd "$package" && find usr -type f -printf '%P\n' | LC_ALL=C sort | sed 's|^|usr/|' | xargs md5sum >DEBIAN/md5sums)
find "$package" -exec touch --no-dereference --date "@$time" {} +
SOURCE_DATE_EPOCH=$time dpkg-deb --root-owner-group -Zxz --build "$package" \
    "$out/plimsoll_${version}_$architecture.deb" >/dev/null
