#!/bin/sh
# Makes the image of a machine from Debian's packages, verified by apt, without installing any.
#
#   build.sh update STATE     fetches the lists of packages anew
#   build.sh versions STATE   says which packages go into the image: a URL a line
#   build.sh make STATE OUT   makes OUT/vmlinuz, OUT/initrd, OUT/root.ext4 and OUT/sums
#
# STATE is a directory for apt's files. From the environment: MIRROR; IMAGE, its name; KERNEL, the
# kernel's package, and SUITE, its suite; PACKAGES, what the root is made of; GUEST, the directory
# with the programs that go into it.
set -eu
step=$1 state=$2
LC_ALL=C
export LC_ALL
keys=/usr/share/keyrings/debian-archive-keyring.gpg
root_suite=bookworm arch=amd64 own_suite=bookworm-amd64 cc=cc tools=
if [ "$IMAGE" = mips ]; then
    # What is run while the image is made is for this machine all the same.
    arch=mipsel cc=mipsel-linux-gnu-gcc tools="busybox-static e2fsprogs kmod"
fi

# Runs a program of apt on the lists of one suite and processor.
apt() {
    lists=$1
    shift
    APT_CONFIG=$state/$lists/apt.conf "$@"
}

prepare() {
    suite=${1%-*} at=$state/$1
    mkdir -p "$at/lists/partial" "$at/archives/partial"
    : >"$at/status"
    signed=
    [ ! -e $keys ] || signed="signed-by=$keys"
    echo "deb [target=Packages $signed] $MIRROR/debian $suite main" >"$at/sources.list"
    echo "deb [target=Packages $signed] $MIRROR/debian-security $suite-security main" >>"$at/sources.list"
    # Of this machine's own configuration only what is in apt.conf.d, such as a proxy.
    cat >"$at/apt.conf" <<.
Dir::State "$at"; Dir::State::status "$at/status"; Dir::State::lists "$at/lists";
Dir::Cache "$at"; Dir::Cache::archives "$at/archives"; Dir::Log "$at";
Dir::Etc::sourcelist "$at/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "${1##*-}"; APT::Architectures { "${1##*-}"; };
APT::Install-Recommends "false"; APT::Sandbox::User "root"; Acquire::Languages "none";
Acquire::Retries "2"; Acquire::Check-Valid-Until "false"; Acquire::http::Timeout "20";
.
}

# The package of the kernel itself: Debian's name for the newest one depends on it.
kernel() {
    apt "$SUITE-$arch" apt-cache depends "$KERNEL" |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# The packages are data: nothing of dpkg, Perl or Python runs in a machine.
unneeded() {
    case ${1##*/} in
        python3* | libpython* | perl* | libperl* | dpkg* | udev* | *-doc_* | debconf*) ;;
        *) return 1 ;;
    esac
}

# Keeps links of directories, as a merged /usr has them.
unpack() {
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink \
        --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale \
        --exclude=./usr/share/info
}

case $step in
    update)
        for lists in $(printf '%s\n' "$SUITE-$arch" "$root_suite-$arch" ${tools:+$own_suite} | sort -u); do
            prepare "$lists"
            apt "$lists" apt-get -q -o APT::Update::Error-Mode=any update
        done
        exit
        ;;
    versions)
        apt "$SUITE-$arch" apt-get -q --print-uris download "$(kernel)" | sed -n "s/^'\([^']*\)'.*/\1/p"
        # shellcheck disable=SC2086 # a list of words
        apt "$root_suite-$arch" apt-get -q -y --print-uris install $PACKAGES |
            sed -n "s/^'\([^']*\)'.*/\1/p" | sort
        exit
        ;;
esac

# Unpacks packages of some lists, with all that they depend on, as a root.
make_root() {
    lists=$1 at=$2
    shift 2
    archives=$state/$lists/archives
    apt "$lists" apt-get -q -y --download-only install "$@"
    mkdir -p "$at/usr/bin" "$at/usr/sbin" "$at/usr/lib" "$at/usr/lib64"
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$at/$name"; done
    for package in "$archives"/*.deb; do
        unneeded "$package" || unpack "$package" "$at" || exit 1
    done
    rm -rf "$archives"
    mkdir -p "$archives/partial"
}

out=$3
root=$out/root own=$out/root
mkdir -p "$root" "$out/kernel"
(cd "$out/kernel" && apt "$SUITE-$arch" apt-get -q download "$(kernel)")
# shellcheck disable=SC2086
make_root "$root_suite-$arch" "$root" $PACKAGES
if [ -n "$tools" ]; then
    own=$out/own
    # shellcheck disable=SC2086
    make_root "$own_suite" "$own" $tools
fi
for package in "$out"/kernel/*.deb; do unpack "$package" "$root"; done
rm -rf "$out/kernel"
mv "$root"/boot/vmlinu[xz]-* "$out/vmlinuz"
rm -rf "$root/boot"
release=$(basename "$root"/lib/modules/*)

# Programs of the packages, so that this machine needs none of them.
inside() {
    name=$1 program=$2
    shift 2
    "$own/lib64/ld-linux-x86-64.so.2" --library-path "$own/lib/x86_64-linux-gnu" \
        --argv0 "$name" "$own/$program" "$@"
}

inside depmod bin/kmod -b "$root" "$release"
"$cc" -std=c11 -Os -static -Wall -Wextra -Werror -o "$root/sbin/plimsoll-agent" "$GUEST/agent.c"
# shellcheck source=/dev/null
. "$GUEST/root.sh"

initrd=$out/initrd.d
mkdir -p "$initrd/bin" "$initrd/modules"
cp "$root/bin/busybox" "$initrd/bin/busybox"
install -m 755 "$GUEST/initrd.sh" "$initrd/init"
# In the order in which they are loaded.
n=100
inside modprobe bin/kmod -a -d "$root" -S "$release" --show-depends \
    virtio_pci virtio_blk ext4 overlay | sed -n 's/^insmod //p' | awk '!seen[$0]++' |
    while read -r module; do
        n=$((n + 1))
        cp "$module" "$initrd/modules/$n-${module##*/}"
    done
(cd "$initrd" && find . | "$own/bin/busybox" cpio -o -H newc 2>/dev/null) >"$out/initrd"

size=$(du -sm "$root" | cut -f 1)
truncate -s "$((size + size / 8 + 16))M" "$out/root.ext4"
inside mke2fs sbin/mke2fs -q -F -t ext4 -O ^has_journal,^resize_inode -m 0 -N 20000 \
    -E root_owner=0:0 -d "$root" "$out/root.ext4"
rm -rf "$root" "$initrd" "$out/own"
(cd "$out" && sha256sum vmlinuz initrd root.ext4 >sums)
