//! What this machine can do for labs.

use super::netns::group;
use super::vm;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use plimsoll_process::child;
use serde::Serialize;
use std::path::Path;
use std::process::Stdio;

/// One thing that a lab may need.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The thing.
    pub what: String,
    /// Whether it is there.
    pub good: bool,
    /// What was found, or what is the matter.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Finding {
    fn yes(what: &str, found: impl Into<String>) -> Finding {
        Finding { what: what.to_owned(), good: true, found: found.into(), next: None }
    }

    fn no(what: &str, found: impl Into<String>, next: impl Into<String>) -> Finding {
        let next = Some(next.into());
        Finding { what: what.to_owned(), good: false, found: found.into(), next }
    }
}

/// Programs, what they are for, and the Debian package that brings them.
const PROGRAMS: [(&str, &str, &str); 14] = [
    ("ip", "addresses and links", "iproute2"),
    ("tc", "link rates", "iproute2"),
    ("unshare", "namespaces", "util-linux"),
    ("nsenter", "commands inside namespaces", "util-linux"),
    ("nft", "rules", "nftables"),
    ("rpcbind", "NFS 3 in namespaces", "rpcbind"),
    ("ganesha.nfsd", "NFS in namespaces", "nfs-ganesha nfs-ganesha-vfs"),
    ("smbd", "SMB in namespaces", "samba"),
    ("qemu-system-x86_64", "virtual machines", "qemu-system-x86"),
    ("qemu-system-mipsel", "virtual machines with a MIPS processor", "qemu-system-mips"),
    ("apt-get", "packages for images of virtual machines", "apt"),
    ("dpkg-deb", "images of virtual machines", "dpkg"),
    ("cc", "the agent in virtual machines", "gcc libc6-dev"),
    (
        "mipsel-linux-gnu-gcc",
        "the agent in virtual machines with a MIPS processor",
        "gcc-mipsel-linux-gnu libc6-dev-mipsel-cross",
    ),
];

/// Looks at all of it; takes a second or two, and up to two minutes where KVM hangs. Nothing is changed.
pub fn examine() -> Vec<Finding> {
    let mut findings = vec![root(), namespaces(), taps()];
    findings.extend(["tbf", "netem"].map(shaper));
    findings.push(nftables());
    findings.push(control_groups());
    findings.push(kvm());
    findings.extend(PROGRAMS.map(|(name, purpose, package)| match child::find(name) {
        Some(path) => Finding::yes(name, format!("{} ({purpose})", path.display())),
        None => Finding::no(
            name,
            format!("not installed ({purpose})"),
            format!("On Debian: apt-get install --no-install-recommends {package}"),
        ),
    }));
    findings.extend([memory(), disk()]);
    findings
}

fn root() -> Finding {
    let why = "only root can create namespaces, interfaces, mounts and control groups";
    if nix::unistd::geteuid().is_root() {
        Finding::yes("root", format!("plimsoll runs as root ({why})"))
    } else {
        Finding::no(
            "root",
            format!("plimsoll does not run as root; {why}"),
            "Run plimsoll lab as root, with sudo.",
        )
    }
}

/// Runs a line of shell in namespaces of its own, which are gone afterwards; what it complained of.
fn tried(line: &str) -> Result<(), String> {
    let output = child::command("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c"])
        .arg(format!("PATH=$PATH:/usr/sbin:/sbin; {line}"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("it failed without a message").to_owned())
}

fn namespaces() -> Finding {
    match tried(
        "ip link add name one type veth peer name two && ip link add name three type bridge",
    ) {
        Ok(()) => Finding::yes("namespaces", "network, mounts and processes; veth and bridges"),
        Err(said) => Finding::no("namespaces", said, "Run as root, on a kernel that has them."),
    }
}

fn taps() -> Finding {
    let purpose = "links between namespaces and virtual machines";
    match tried("ip tuntap add mode tap name one") {
        Ok(()) => Finding::yes("tap", format!("in this kernel ({purpose})")),
        Err(said) => Finding::no(
            "tap",
            format!("{said} ({purpose})"),
            "Load the kernel module tun (modprobe tun).",
        ),
    }
}

fn shaper(kind: &str) -> Finding {
    let (options, purpose) = match kind {
        "tbf" => ("rate 1mbit burst 16k latency 50ms", "link rates"),
        _ => ("delay 1ms", "delay and loss of links"),
    };
    match tried(&format!("tc qdisc add dev lo root {kind} {options}")) {
        Ok(()) => Finding::yes(kind, format!("in this kernel ({purpose})")),
        Err(said) => Finding::no(
            kind,
            format!("{said} ({purpose}, between namespaces)"),
            "Virtual machines have kernels of their own, so their links support it.",
        ),
    }
}

fn nftables() -> Finding {
    match tried("nft add table inet plimsoll && nft list ruleset") {
        Ok(()) => Finding::yes("nftables", "the kernel accepts rules"),
        Err(said) => Finding::no("nftables", said, "On Debian: apt-get install nftables"),
    }
}

fn control_groups() -> Finding {
    match group::Hierarchy::of_this_machine() {
        Some(hierarchy) => Finding::yes(
            "cpu share",
            format!(
                "control groups, version {}; a host with a share runs in short bursts",
                hierarchy.version()
            ),
        ),
        None => Finding::no(
            "cpu share",
            "no CPU controller of control groups",
            "Mount cgroup2 at /sys/fs/cgroup.",
        ),
    }
}

fn kvm() -> Finding {
    let images = vm::Images::from_environment();
    let known = vm::known_acceleration(&images);
    let open = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    match (open, known) {
        (Err(error), _) => {
            let next = "Load the kernel module kvm, or enable virtualisation in the firmware.";
            Finding::no("kvm", format!("/dev/kvm: {error}; {SLOWER}"), next)
        }
        (Ok(_), Some(vm::Acceleration::Kvm)) => Finding::yes("kvm", BOOTED),
        (Ok(_), Some(vm::Acceleration::Emulated)) => match vm::boots_a_machine(&images) {
            Some(true) => Finding::yes("kvm", BOOTED),
            _ => hangs("a virtual machine hung with it"),
        },
        (Ok(_), None) => match vm::runs_a_tiny_guest() {
            // So small a guest runs where a whole kernel hangs.
            Some(true) => match vm::boots_a_machine(&images) {
                Some(true) => Finding::yes("kvm", BOOTED),
                Some(false) => hangs("a minimal guest ran, but a virtual machine hung with it"),
                None => Finding::yes(
                    "kvm",
                    "a minimal guest ran with it; the first lab of virtual machines tests a full \
                    boot",
                ),
            },
            Some(false) => hangs("a minimal guest hung with it"),
            None => Finding::no(
                "kvm",
                format!("/dev/kvm exists, but QEMU cannot start a guest with it; {SLOWER}"),
                "Read the output of: qemu-system-x86_64 -accel kvm -display none",
            ),
        },
    }
}

const BOOTED: &str = "a virtual machine booted with it";

const SLOWER: &str = "machines are emulated about ten times slower, and link rates are scaled down";

fn hangs(found: &str) -> Finding {
    let next = "Load can cause this: stop other work, and run plimsoll lab doctor again. Nested virtualisation can \
                cause it too: run labs on the physical machine then.";
    Finding::no("kvm", format!("{found}; {SLOWER}"), next)
}

/// A lab of two machines of 384 MiB, and what emulates them.
const MEMORY_MIB: u64 = 1024;

fn memory() -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let mib = kib.unwrap_or(0) / 1024;
    let found = format!("{mib} MiB available");
    if mib >= MEMORY_MIB {
        Finding::yes("memory", found)
    } else {
        let next =
            format!("Two virtual machines need {MEMORY_MIB} MiB; namespaces need very little.");
        Finding::no("memory", found, next)
    }
}

/// Images of virtual machines and what they are made of.
const DISK_MIB: u64 = 2048;

/// Of the cache that labs of this user have.
fn disk() -> Finding {
    let images = vm::Images::from_environment();
    let cache = images.cache();
    // What is not made yet will lie in the nearest directory above.
    let there = cache.ancestors().find(|at| at.exists()).unwrap_or(Path::new("/"));
    let next = format!("Name another directory with {}.", vm::images::CACHE_VARIABLE);
    if !there.is_dir() || access(there, AccessFlags::W_OK).is_err() {
        let found = format!("{}: {} is not writable", cache.display(), there.display());
        return Finding::no("disk", found, next);
    }
    let free = statvfs(there).map_or(0, |fs| fs.blocks_available() * fs.fragment_size()) >> 20;
    let found = format!("{free} MiB free for images in {}", cache.display());
    if free >= DISK_MIB {
        Finding::yes("disk", found)
    } else {
        Finding::no(
            "disk",
            found,
            format!("Images of virtual machines need {DISK_MIB} MiB. {next}"),
        )
    }
}
