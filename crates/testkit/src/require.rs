//! What a test needs of the machine, and what happens where it is missing.
//!
//! A test whose need is missing is skipped with a line on standard error, unless the environment
//! variable `PLIMSOLL_REQUIRE` names the need (a comma-separated list, or `all`): then it fails.
//! So nothing is skipped silently where everything ought to be there. The same list may name `time`, which is nothing
//! that a machine lacks: [`crate::thorough`].

use crate::program;
use crate::program::{GO_NFS, PYTHON};
use plimsoll_process::child;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

/// The environment variable that turns skips into failures.
pub const VARIABLE: &str = "PLIMSOLL_REQUIRE";

/// Its name for all of the tests that take long: [`crate::thorough`].
pub(crate) const TIME: &str = "time";

/// Something a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Network and mount namespaces of one's own, with what a [`crate::Stage`] runs in them.
    Namespaces,
    /// NFS-Ganesha with its VFS and MEM back ends.
    Ganesha,
    /// The NFS server of willscott/go-nfs, which `make setup-test` builds.
    GoNfs,
    /// `nft`, to filter ports.
    Nftables,
    /// The command-line tools of libnfs: `nfs-ls`, `nfs-cat`, `nfs-cp`.
    Libnfs,
    /// `showmount`, the system's own MOUNT client.
    Showmount,
    /// `strace`.
    Strace,
    /// `fio`.
    Fio,
    /// `iperf3`.
    Iperf3,
    /// Samba's server.
    Samba,
    /// `smbclient`, Samba's client.
    Smbclient,
    /// `tshark`, which decodes what was captured.
    Tshark,
    /// impacket's SMB server, for Debian's own Python.
    Impacket,
    /// `chromium`, to look at pages without a screen.
    Chromium,
    /// OpenSSH's server.
    Sshd,
    /// OpenSSH's client.
    SshClient,
    /// The ssh server of routers.
    Dropbear,
    /// BusyBox, statically linked.
    Busybox,
    /// Login shells that are no POSIX shells: `tcsh` and `fish`.
    OddShells,
    /// Virtual machines, and what their images are made with.
    Machines,
    /// The same with a MIPS processor.
    Mips,
    /// `rsync`.
    Rsync,
    /// `rclone`, with its own SMB client.
    Rclone,
    /// `python3`, for programs that tests run on hosts of labs.
    Python,
    /// `ping`.
    Ping,
    /// `dpkg-deb`, which packs and unpacks Debian packages.
    Dpkg,
    /// `ethtool`.
    Ethtool,
}

impl Need {
    /// Every need.
    pub const ALL: [Self; 27] = [
        Self::Namespaces,
        Self::Ganesha,
        Self::GoNfs,
        Self::Nftables,
        Self::Libnfs,
        Self::Showmount,
        Self::Strace,
        Self::Fio,
        Self::Iperf3,
        Self::Samba,
        Self::Smbclient,
        Self::Tshark,
        Self::Impacket,
        Self::Chromium,
        Self::Sshd,
        Self::SshClient,
        Self::Dropbear,
        Self::Busybox,
        Self::OddShells,
        Self::Machines,
        Self::Mips,
        Self::Rsync,
        Self::Rclone,
        Self::Python,
        Self::Ping,
        Self::Dpkg,
        Self::Ethtool,
    ];

    /// Its name in `PLIMSOLL_REQUIRE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Ganesha => "ganesha",
            Self::GoNfs => "go-nfs",
            Self::Nftables => "nftables",
            Self::Libnfs => "libnfs",
            Self::Showmount => "showmount",
            Self::Strace => "strace",
            Self::Fio => "fio",
            Self::Iperf3 => "iperf3",
            Self::Samba => "samba",
            Self::Smbclient => "smbclient",
            Self::Tshark => "tshark",
            Self::Impacket => "impacket",
            Self::Chromium => "chromium",
            Self::Sshd => "sshd",
            Self::SshClient => "ssh",
            Self::Dropbear => "dropbear",
            Self::Busybox => "busybox",
            Self::OddShells => "odd-shells",
            Self::Machines => "machines",
            Self::Mips => "mips",
            Self::Rsync => "rsync",
            Self::Rclone => "rclone",
            Self::Python => "python",
            Self::Ping => "ping",
            Self::Dpkg => "dpkg",
            Self::Ethtool => "ethtool",
        }
    }

    /// The Debian packages that bring it.
    fn packages(self) -> &'static str {
        match self {
            Self::Namespaces => "iproute2 rpcbind util-linux",
            Self::Ganesha => "nfs-ganesha nfs-ganesha-vfs nfs-ganesha-mem",
            Self::GoNfs => "golang-go",
            Self::Nftables => "nftables",
            Self::Libnfs => "libnfs-utils",
            Self::Showmount => "nfs-common",
            Self::Strace => "strace",
            Self::Fio => "fio",
            Self::Iperf3 => "iperf3 util-linux",
            Self::Samba => "samba samba-common-bin util-linux",
            Self::Smbclient => "smbclient",
            Self::Tshark => "tshark",
            Self::Impacket => "python3-impacket",
            Self::Chromium => "chromium",
            Self::Sshd => "openssh-server openssh-client util-linux",
            Self::SshClient => "openssh-client",
            Self::Dropbear => "dropbear-bin openssh-client util-linux libc-bin",
            Self::Busybox => "busybox-static",
            Self::OddShells => "tcsh fish",
            Self::Machines => "qemu-system-x86 dpkg apt tar gcc libc6-dev util-linux",
            Self::Mips => "qemu-system-mips gcc-mipsel-linux-gnu libc6-dev-mipsel-cross",
            Self::Rsync => "rsync",
            Self::Rclone => "rclone",
            Self::Python => "python3",
            Self::Ping => "iputils-ping",
            Self::Dpkg => "dpkg",
            Self::Ethtool => "ethtool",
        }
    }

    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Namespaces => &["ip", "rpcbind", "setpriv"],
            Self::Ganesha => &["ganesha.nfsd"],
            Self::GoNfs => &["setpriv", "unshare"],
            Self::Nftables => &["nft"],
            Self::Libnfs => &["nfs-ls", "nfs-cat", "nfs-cp"],
            Self::Showmount => &["showmount"],
            Self::Strace => &["strace"],
            Self::Fio => &["fio"],
            Self::Iperf3 => &["iperf3", "setpriv"],
            Self::Samba => &["smbd", "smbpasswd", "setpriv", "unshare"],
            Self::Smbclient => &["smbclient"],
            Self::Tshark => &["tshark", "dumpcap"],
            Self::Impacket => &["setpriv"],
            Self::Chromium => &["chromium"],
            Self::Sshd => &["sshd", "ssh-keygen", "setpriv", "unshare"],
            Self::SshClient => &["ssh"],
            Self::Dropbear => {
                &["dropbear", "dropbearkey", "ssh-keygen", "setpriv", "unshare", "ldd"]
            }
            Self::Busybox => &["busybox"],
            Self::OddShells => &["tcsh", "fish"],
            Self::Machines => &["qemu-system-x86_64", "apt-get", "dpkg-deb", "tar", "cc", "setsid"],
            Self::Mips => &["qemu-system-mipsel", "mipsel-linux-gnu-gcc"],
            Self::Rsync => &["rsync"],
            Self::Rclone => &["rclone"],
            Self::Python => &["python3"],
            Self::Ping => &["ping"],
            Self::Dpkg => &["dpkg-deb", "tar", "gzip"],
            Self::Ethtool => &["ethtool"],
        }
    }

    /// Why it is not there, if it is not.
    pub fn missing(self) -> Option<String> {
        if let Some(program) = self.programs().iter().find(|p| child::find(p).is_none()) {
            return Some(format!(
                "the program {program} is not installed (Debian packages: {})",
                self.packages()
            ));
        }
        match self {
            Self::Namespaces => may_unshare().err(),
            Self::Ganesha => missing_backend(),
            Self::GoNfs => missing_go_nfs(),
            Self::Impacket => missing_impacket(),
            Self::Busybox => missing_static(),
            _ => None,
        }
    }
}

/// Whether a need is met; where not, says so on standard error.
///
/// # Panics
/// If the need is not met and `PLIMSOLL_REQUIRE` names it, or if that variable names something
/// unknown.
#[track_caller]
pub fn available(need: Need) -> bool {
    let required = is_named(need.name());
    match need.missing() {
        None => true,
        Some(reason) if required => {
            panic!("{VARIABLE} asks for {}, but {reason}", need.name())
        }
        Some(reason) => {
            say_skipped(&format!("needs {}: {reason}", need.name()));
            false
        }
    }
}

/// Whether `PLIMSOLL_REQUIRE` names this, or all.
///
/// # Panics
/// If the variable names something unknown.
#[track_caller]
pub(crate) fn is_named(name: &str) -> bool {
    let list = std::env::var(VARIABLE).unwrap_or_default();
    names(&list, name).unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// Says on standard error what the test of this thread leaves out.
pub fn say_skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Not `eprintln!`, whose output the test harness keeps to itself when a test passes.
    let line = format!("SKIPPED {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The back ends of Ganesha are libraries in packages of their own, in
/// `/usr/lib/<architecture>/ganesha` or `/usr/lib64/ganesha`.
fn missing_backend() -> Option<String> {
    let below_lib = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let directories: Vec<_> = below_lib
        .map(|entry| entry.path())
        .chain(["/usr/lib".into(), "/usr/lib64".into()])
        .map(|directory| directory.join("ganesha"))
        .collect();
    let found =
        |library: &str| directories.iter().any(|directory| directory.join(library).exists());
    let missing = ["libfsalvfs.so", "libfsalmem.so"].into_iter().find(|library| !found(library))?;
    let packages = Need::Ganesha.packages();
    Some(format!("the library {missing} is not installed (Debian packages: {packages})"))
}

/// Debian's packages install Python's modules there, for Debian's interpreter.
fn missing_impacket() -> Option<String> {
    let module = Path::new("/usr/lib/python3/dist-packages/impacket/smbserver.py");
    (!module.exists() || !Path::new(PYTHON).exists()).then(|| {
        let packages = Need::Impacket.packages();
        format!("{} is not installed (Debian packages: {packages})", module.display())
    })
}

/// It is in no package.
fn missing_go_nfs() -> Option<String> {
    let program = Path::new(GO_NFS);
    (!program.exists()).then(|| format!("{} is not built (make setup-test)", program.display()))
}

/// A BusyBox that wants a C library is of no use where there is none.
fn missing_static() -> Option<String> {
    let busybox = child::find("busybox")?;
    let wants = program::run("ldd", &[&busybox.to_string_lossy()]);
    wants.is_ok_and(|said| said.contains("=>")).then(|| {
        let packages = Need::Busybox.packages();
        format!("{} is not statically linked (Debian packages: {packages})", busybox.display())
    })
}

/// Whether the list names this; an error if it names something unknown, for a slip of the pen must not
/// become a silent skip.
fn names(list: &str, name: &str) -> Result<bool, String> {
    let listed: Vec<_> = list.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    let mut known = vec!["all", TIME];
    known.extend(Need::ALL.map(Need::name));
    if let Some(unknown) = listed.iter().find(|n| !known.contains(n)) {
        let known = known.join(", ");
        return Err(format!("{VARIABLE} names `{unknown}`, which nothing needs; it knows {known}"));
    }
    Ok(listed.iter().any(|n| *n == "all" || *n == name))
}

/// Tries, on a thread of its own that ends at once, what a stage does first.
fn may_unshare() -> Result<(), String> {
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    TRIED
        .get_or_init(|| {
            std::thread::spawn(crate::stage::separate_thread)
                .join()
                .unwrap_or_else(|_| Err(crate::Error::new("the attempt panicked")))
                .map_err(|error| format!("{error} (it takes root, or CAP_SYS_ADMIN)"))
        })
        .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_what_is_required() {
        assert_eq!(names("", "fio"), Ok(false));
        assert_eq!(names("ganesha, fio", "fio"), Ok(true));
        assert_eq!(names("ganesha,", "fio"), Ok(false));
        for name in Need::ALL.map(Need::name).into_iter().chain([TIME]) {
            assert_eq!(names("all", name), Ok(true));
            assert_eq!(names(name, name), Ok(true));
        }
        assert_eq!(names("ganesha,time", TIME), Ok(true));
        assert_eq!(names("time", "ganesha"), Ok(false));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let complaint = names("ganehsa", "ganesha").unwrap_err();
        assert!(complaint.contains("ganehsa") && complaint.contains("namespaces"), "{complaint}");
    }
}
