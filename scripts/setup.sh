#!/usr/bin/env bash
# Installs what a purpose needs and this machine lacks:
#   scripts/setup.sh demo|lint|fuzz|bench|test|probe|machines|copies|limits|players|dist
#
# Debian packages come by apt if this is root; otherwise they are named and the script stops.
# Cargo's own tools go to target/tools, so nothing of the user's is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/tools/bin:$HOME/.cargo/bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin"

cargo_fuzz_version=0.13.2
cargo_deny_version=0.20.2
ziglang_version=0.17.0

# What to look for, and the package that brings it. A path may be a pattern.
demo=(cc:gcc "/usr/include/stdlib.h:libc6-dev")
lint=("${demo[@]}" python3:python3)
fuzz=("${demo[@]}" c++:g++) # libFuzzer
samba=(smbd:samba smbclient:smbclient setpriv:util-linux)
bench=("${demo[@]}" fio:fio "${samba[@]}")
probe=("${demo[@]}" python3:python3 make:make qemu-mips-static:qemu-user-static
    "/usr/lib*/python3*/ensurepip/__init__.py:python3-venv")
test=(
    "${demo[@]}"
    "${probe[@]}"
    fio:fio
    iperf3:iperf3
    rsync:rsync
    ganesha.nfsd:nfs-ganesha
    "/usr/lib*/*/ganesha/libfsalvfs.so:nfs-ganesha-vfs"
    "/usr/lib*/*/ganesha/libfsalmem.so:nfs-ganesha-mem"
    rpcbind:rpcbind
    showmount:nfs-common
    nfs-cp:libnfs-utils
    nft:nftables
    ping:iputils-ping
    ip:iproute2
    ethtool:ethtool
    setpriv:util-linux
    strace:strace
    "${samba[@]}"
    tshark:tshark
    chromium:chromium
    sshd:openssh-server
    ssh:openssh-client
    dropbear:dropbear-bin
    busybox:busybox-static
    tcsh:tcsh
    fish:fish
    qemu-system-x86_64:qemu-system-x86
    dpkg-deb:dpkg
    /usr/lib/python3/dist-packages/impacket/smbserver.py:python3-impacket
    go:golang-go
)
machines=(
    "${test[@]}"
    qemu-system-mipsel:qemu-system-mips
    mipsel-linux-gnu-gcc:gcc-mipsel-linux-gnu
    /usr/mipsel-linux-gnu/include/stdlib.h:libc6-dev-mipsel-cross
)

# What copies are measured beside.
copies=("${test[@]}" rclone:rclone diff:diffutils)

# What demands are measured beside.
limits=("${machines[@]}" mpstat:sysstat iostat:sysstat)

# What films are measured beside.
players=("${machines[@]}" "${PLIMSOLL_MPV:-mpv}:mpv")

# The kinds of machine that `make dist` is for, and what it takes to try it.
dist_machines=(x86_64 aarch64)
dist=("${probe[@]}" dpkg-deb:dpkg mmdebstrap:mmdebstrap busybox:busybox-static unshare:util-linux)
for machine in "${dist_machines[@]}"; do
    [ "$machine" = "$(uname -m)" ] ||
        dist+=("$machine-linux-gnu-gcc:gcc-${machine/_/-}-linux-gnu"
            "/usr/$machine-linux-gnu/lib/libc.a:libc6-dev-$(sed 's/aarch64/arm64/; s/x86_64/amd64/' <<<"$machine")-cross")
done

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

# Tries a step three times: mirrors and registries fail for a moment, and a package's script where
# the machine is busy.
again() {
    local try
    for try in 1 2 3; do
        "$@" && return
        [ "$try" -lt 3 ] || break
        echo "failed, and is tried again in 10 s: $1" >&2
        sleep 10
    done
    return 1
}

present() {
    case "$1" in
        /*) compgen -G "$1" >/dev/null ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# The packages of those things in a list of thing:package that are not there.
missing_of() {
    local pair
    for pair in "$@"; do
        present "${pair%:*}" || printf '%s\n' "${pair##*:}"
    done
}

# What an installation that broke off has left half done is in the way of the next.
apt_install() {
    apt-get "${options[@]}" install --no-install-recommends -y "$@" >>"$log" 2>&1 && return
    {
        dpkg --configure -a || true
        apt-get "${options[@]}" install --fix-broken -y || true
        apt-get "${options[@]}" update || true
    } >>"$log" 2>&1
    return 1
}

# Some of the packages are servers. Tests start them in namespaces of their own, so the
# installation must start none on this machine, now or at the next boot.
install_quietly() {
    local log options policy=/usr/sbin/policy-rc.d units unit
    log=$(mktemp)
    options=(-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -qq)
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        # shellcheck disable=SC2064 # the path is meant as it is now
        trap "rm -f $policy" EXIT
    fi
    export DEBIAN_FRONTEND=noninteractive
    echo "installing by apt: $*"
    apt-get "${options[@]}" update >"$log" 2>&1 ||
        echo "apt-get update failed, going on with the lists at hand" >&2
    if ! again apt_install "$@"; then
        tail -n 20 "$log" >&2
        stop "apt could not install: $*" \
            "Tried three times, with dpkg --configure -a and apt-get --fix-broken between; the whole log is $log." \
            "Check the network and /etc/apt, or install the packages yourself, and try again."
    fi
    rm -f "$log"
    if [ -d /run/systemd/system ]; then
        units=$(dpkg -L "$@" | sed -n 's|^/\(usr/\)\?lib/systemd/system/\([^/]*\.\(service\|socket\)\)$|\2|p')
        for unit in $units; do
            systemctl --quiet disable "$unit" 2>/dev/null || true
        done
    fi
}

packages() {
    local missing
    mapfile -t missing < <(missing_of "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        stop "These packages (Debian's names) are missing: ${missing[*]}" \
            "Install them and try again; on Debian: sudo apt-get install ${missing[*]}"
    fi
    install_quietly "${missing[@]}"
    mapfile -t missing < <(missing_of "$@")
    [ "${#missing[@]}" -eq 0 ] || stop "apt installed these packages, but what they should bring is still missing: ${missing[*]}"
}

rust() {
    command -v cargo >/dev/null ||
        stop "Rust is missing: install it with rustup (https://rustup.rs) and try again."
}

component() {
    cargo "$1" --version >/dev/null 2>&1 || again rustup component add "$2" ||
        stop "cargo $1 is missing and rustup could not add it: install the component $2."
}

# Unoptimised: they build in half the time and run for seconds.
tool() {
    command -v "$1" >/dev/null && return
    echo "building $1 $2 into target/tools"
    CARGO_PROFILE_DEV_DEBUG=0 again cargo install --quiet --locked --debug --root target/tools \
        --version "$2" "$1" ||
        stop "$1 $2 could not be built: see above; needs the crates registry."
}

style_tools() {
    component fmt rustfmt
    component clippy clippy
}

lint_tools() {
    style_tools
    tool cargo-deny "$cargo_deny_version"
}

fuzz_tools() {
    tool cargo-fuzz "$cargo_fuzz_version"
}

# The C compiler for all machines that the probe runs on, from PyPI, with each C library's source.
zig_tools() {
    local zig=target/tools/zig
    [ "$("$zig/bin/python" -m ziglang version 2>/dev/null)" != "$ziglang_version" ] || return 0
    echo "installing ziglang $ziglang_version into $zig"
    python3 -m venv "$zig" &&
        again "$zig/bin/pip" install --quiet --disable-pip-version-check "ziglang==$ziglang_version" ||
        stop "ziglang $ziglang_version could not be installed: see above; needs PyPI (101 MB)."
}

# An NFS server for tests, of modules by the Go module proxy, whose versions its go.mod and go.sum tell.
go_nfs_server() {
    local from=crates/testkit/go-nfs to=$PWD/target/tools/bin/go-nfs
    [ ! -e "$to" ] || [ -n "$(find "$from" -newer "$to")" ] || return 0
    echo "building an NFS server of $from into target/tools"
    # Its modules too, so that nothing of the user's is changed.
    export GOPATH=$PWD/target/tools/go GOCACHE=$PWD/target/tools/go/cache CGO_ENABLED=0
    export GOFLAGS="-mod=readonly -modcacherw -trimpath"
    (cd "$from" && again go build -o "$to" .) ||
        stop "The server could not be built: see above; needs Go 1.19 or newer and the Go module proxy."
}

dist_tools() {
    local machine
    for machine in "${dist_machines[@]}"; do scripts/cross-rust.sh "$machine"; done
}

purpose=${1:-}
case "$purpose" in
    demo | lint | fuzz | bench | test | machines | copies | limits | players | dist) rust ;;
    probe) ;;
    *) stop "usage: scripts/setup.sh demo|lint|fuzz|bench|test|machines|copies|limits|players|probe|dist" ;;
esac
case "$purpose" in
    demo) packages "${demo[@]}" ;;
    lint) packages "${lint[@]}" ;;
    fuzz) packages "${fuzz[@]}" ;;
    bench) packages "${bench[@]}" ;;
    probe) packages "${probe[@]}" ;;
    test) packages "${test[@]}" ;;
    machines) packages "${machines[@]}" ;;
    copies) packages "${copies[@]}" ;;
    limits) packages "${limits[@]}" ;;
    players) packages "${players[@]}" ;;
    dist) packages "${dist[@]}" ;;
esac
case "$purpose" in lint) lint_tools ;; test) style_tools ;; esac
case "$purpose" in fuzz) fuzz_tools ;; esac
case "$purpose" in probe | test | dist) zig_tools ;; esac
case "$purpose" in test) go_nfs_server ;; esac
case "$purpose" in dist) dist_tools ;; esac
