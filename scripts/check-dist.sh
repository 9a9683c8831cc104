#!/usr/bin/env bash
# Tries what `make dist` made: scripts/check-dist.sh [DIRECTORY]
#
# Checksums and sizes; the archive on a root directory with BusyBox and nothing else, the Debian package
# installed on a bare Debian 11; the demonstration and a check of directories to their verdicts there;
# names of hosts by DNS; the archive for aarch64 emulated, and `--on` with an emulated host. Wants root,
# on Debian, and the network for the packages of Debian 11.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-target/dist}")
most_bytes=20000000
[ "$(id -u)" -eq 0 ] || { echo "check-dist makes root directories: run it as root" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check-dist: $*" >&2; exit 1; }
passed() { echo "check-dist: passed: $*"; }

(cd "$dist" && sha256sum --quiet --check SHA256SUMS)
[ "$(wc -l <"$dist/SHA256SUMS")" -eq "$(find "$dist" -maxdepth 1 -name '*.tar.gz' -o -maxdepth 1 -name '*.deb' | wc -l)" ] ||
    fail "SHA256SUMS does not name every file"
for archive in "$dist"/*.tar.gz; do
    machine=${archive%-linux.tar.gz} machine=${machine##*-}
    mkdir "$work/$machine"
    tar -C "$work/$machine" --strip-components=1 -xf "$archive"
    program=$work/$machine/bin/plimsoll
    bytes=$(stat -c %s "$program")
    [ "$bytes" -le "$most_bytes" ] || fail "the program for $machine has $bytes bytes, more than $most_bytes"
    ! readelf -lW "$program" | grep -q INTERP || fail "the program for $machine is not static"
    passed "$(basename "$archive"): $bytes bytes of program, $(stat -c %s "$archive") bytes in all"
done

# Answers every question for the address of nas.example, on the loopback device of its namespace.
cat >"$work/dns.py" <<'.'
import socket, struct
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    asked, client = server.recvfrom(512)
    end = asked.index(b"\0", 12) + 5
    name, kind = asked[12:end - 4], struct.unpack("!H", asked[end - 4:end - 2])[0]
    known = name == b"\3nas\7example\0"
    answer = known and kind == 1
    flags = 0x8580 if known else 0x8583
    reply = asked[:2] + struct.pack("!HHHHH", flags, 1, answer, 0, 0) + asked[12:end]
    if answer:
        reply += b"\xc0\x0c" + struct.pack("!HHIH4B", 1, 1, 60, 4, 127, 0, 0, 1)
    server.sendto(reply, client)
.

# A command in a root directory, with a loopback device, a name server, and devices that programs expect.
inside() {
    unshare --mount --net --pid --fork --kill-child bash -euo pipefail -c '
        root=$1 dns=$2
        shift 2
        ip link set lo up
        python3 "$dns" &
        until grep -q ":0035 " /proc/net/udp; do sleep 0.1; done
        mkdir -p "$root"/{proc,dev,tmp,etc,root,data}
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/dev"
        mknod -m 666 "$root/dev/null" c 1 3
        mknod -m 666 "$root/dev/random" c 1 8
        mknod -m 666 "$root/dev/urandom" c 1 9
        echo "nameserver 127.0.0.1" >"$root/etc/resolv.conf"
        env -i HOME=/root PATH=/usr/bin:/bin:/usr/sbin:/sbin TERM=dumb chroot "$root" "$@"
    ' inside "$root" "$work/dns.py" "$@"
}

check=(--pattern random-read --size 8MiB --max-time 30s --quiet)
# A check of two directories: to its verdict, and nothing left of it.
two_directories() {
    mkdir -p "$root/data/a" "$root/data/b"
    inside "$@" check /data/a /data/b "${check[@]}" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2; fail "the check ended with an error"; }
    grep -qE 'faster|times as fast|practically equal|inconclusive' "$work/out" ||
        { cat "$work/out" >&2; fail "the check has no verdict"; }
    ! find "$root/data" -mindepth 2 | grep . >&2 || fail "the check left something behind"
    rm -r "$root/data"
}

# The demonstration, and names: by DNS, and one that nobody has.
all_of_it() {
    inside "$1" --version | grep -q '^plimsoll [0-9]' || fail "no version"
    two_directories "$1"
    inside "$1" demo --quiet >"$work/out" 2>&1 ||
        { cat "$work/out" >&2; fail "the demonstration ended with an error"; }
    grep -qE 'faster|times as fast' "$work/out" || { cat "$work/out" >&2; fail "the demonstration has no verdict"; }
    # Nothing listens at the port: that the address is known is what is looked for.
    ! inside "$1" check nfs://nas.example:20049/x "${check[@]}" >"$work/out" 2>&1
    grep -q '127\.0\.0\.1:20049.*refused' "$work/out" || { cat "$work/out" >&2; fail "DNS was not asked"; }
    ! inside "$1" check nfs://nas.invalid:20049/x "${check[@]}" >"$work/out" 2>&1
    grep -q 'nas\.invalid' "$work/out" || { cat "$work/out" >&2; fail "an unknown name is not reported"; }
}

here=$(uname -m)
root=$work/busybox
mkdir -p "$root/bin"
cp "$(command -v busybox)" "$root/bin/"
ln -s busybox "$root/bin/sh"
cp -r "$work/$here" "$root/plimsoll"
all_of_it /plimsoll/bin/plimsoll
passed "BusyBox and nothing else: a check, the demonstration, names by DNS"

root=$work/debian
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
mmdebstrap --quiet --variant=essential bullseye "$root" "$mirror"
package=$(echo "$dist"/plimsoll_*_"$(dpkg --print-architecture)".deb)
cp "$package" "$root/plimsoll.deb"
inside dpkg --install /plimsoll.deb >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "dpkg refuses the package"; }
inside dpkg --verify plimsoll | grep . && fail "installed files differ from the package's"
# Name services that are libraries of the system's own C library: a static program must not load them.
echo "hosts: files mdns4_minimal [NOTFOUND=return] resolve dns myhostname" >"$root/etc/nsswitch.conf"
all_of_it /usr/bin/plimsoll
inside dpkg --purge plimsoll >/dev/null 2>&1
[ ! -e "$root/usr/bin/plimsoll" ] && [ ! -e "$root/usr/lib/plimsoll" ] || fail "dpkg --purge leaves files"
passed "a bare Debian 11: $(basename "$package") installed, a check, the demonstration, names by DNS, removed"

for machine in aarch64; do
    [ "$machine" != "$here" ] && [ -d "$work/$machine" ] || continue
    root=$work/emulated
    mkdir -p "$root/bin"
    cp "$(command -v "qemu-$machine-static")" "$root/bin/emulator"
    cp -r "$work/$machine" "$root/plimsoll"
    [ "$(inside /bin/emulator /plimsoll/bin/plimsoll --version)" = "$("$work/$here/bin/plimsoll" --version)" ] ||
        fail "the program for $machine does not say its version"
    [ "$(inside /bin/emulator "/plimsoll/lib/plimsoll/runner/$machine/plimsoll-runner" --version | cut -d ' ' -f 1)" = plimsoll-runner ] ||
        fail "the runner for $machine does not say its version"
    two_directories /bin/emulator /plimsoll/bin/plimsoll
    passed "$machine, emulated: a check of directories"
    PLIMSOLL_RUNNER=$work/$here/lib/plimsoll/runner cargo test --locked --quiet -p plimsoll --test check_on -- \
        --ignored --exact "a_host_of_another_machine_drives_trials" >"$work/out" 2>&1 &&
        grep -q '1 passed' "$work/out" || { cat "$work/out" >&2; fail "--on does not reach a host that is $machine"; }
    passed "$machine, emulated: plimsoll check --on"
done
