//! What a lab file says: hosts, disks, services and the links between them.
//!
//! These are the types that the file is read into and that a bed that is up remembers. Whoever
//! holds a [`Plan`] from [`Plan::read`] may rely on all that `check` makes sure of: names,
//! paths and options are plain enough to stand in a shell script or a configuration file, links
//! join known hosts, and nothing is asked of a kind of host that it cannot do.

mod check;
mod disk;
mod network;
mod places;
mod quantity;
mod rates;
mod read;
mod routes;
mod serves;
mod trust;

pub use disk::{Burst, Disk, DiskKind};
pub use network::{Nic, PREFIX_BITS};
pub use quantity::{Delay, Percent, Rate, Size, Throughput};
pub use rates::Rates;
pub use read::{remark, remarks};
pub use routes::{Network, Route};
pub use trust::Risk;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A whole lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// One sentence for the reader of a list.
    #[serde(default)]
    pub about: String,
    /// The hosts by name.
    #[serde(rename = "host")]
    pub hosts: BTreeMap<String, Host>,
    /// The links by name, which is that of the interface on each host, too.
    #[serde(rename = "link", default)]
    pub links: BTreeMap<String, Link>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What it is made of.
    pub kind: HostKind,
    /// What a machine boots; a namespace has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Memory of a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Processors of a machine.
    #[serde(default = "one")]
    pub cores: u8,
    /// At most this share of one core, as a quota in each period of 5 ms. Of a namespace: its
    /// processes have it; the kernel's work for its packets is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Percent>,
    /// Whether it passes packets on.
    #[serde(default)]
    pub forward: bool,
    /// The host that the default route goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Further routes: to a link or a network, by a host on a link of its own.
    #[serde(rename = "route", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, String>,
    /// A ruleset of nftables, loaded whole with `nft -f`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Disks by name.
    #[serde(rename = "disk", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, Disk>,
    /// The kernel's NFS server; machines only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfsd: Option<Nfsd>,
    /// NFS-Ganesha of this machine's packages; namespaces only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ganesha: Option<Ganesha>,
    /// Samba.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samba: Option<Samba>,
    /// What is mounted from other hosts, in this order; machines only.
    #[serde(rename = "mount", default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
}

/// What a host is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// Namespaces of this machine's own kernel.
    Netns,
    /// A virtual machine with a kernel of its own.
    Vm,
}

/// What a machine boots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Image {
    /// Debian bookworm with its kernel.
    #[default]
    Debian,
    /// The same with the kernel of bullseye (5.10), whose NFS server speaks version 2.
    DebianOld,
    /// The first one with Debian's kernel for hardware, which has PPP, and with pppd.
    DebianGeneric,
    /// A little-endian MIPS 24Kc with Debian's kernel for it.
    Mips,
}

/// The kernel's NFS server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nfsd {
    /// Threads.
    #[serde(default = "four")]
    pub threads: u16,
    /// The versions it speaks, of 2, 3, 4.0, 4.1, 4.2.
    #[serde(default = "nfs_versions")]
    pub versions: Vec<String>,
    /// What it exports.
    #[serde(rename = "export", default)]
    pub exports: Vec<NfsdExport>,
}

/// A directory exported by the kernel's NFS server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfsdExport {
    /// The directory.
    pub path: String,
    /// Options of exports(5), separated by commas.
    #[serde(default = "export_options")]
    pub options: String,
}

/// NFS-Ganesha.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ganesha {
    /// What it exports.
    #[serde(rename = "export", default)]
    pub exports: Vec<GaneshaExport>,
}

/// A directory exported by NFS-Ganesha, under the same path in every version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaneshaExport {
    /// The directory.
    pub path: String,
    /// Nothing can be written.
    #[serde(default)]
    pub read_only: bool,
}

/// Samba.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samba {
    /// The user that shares are opened as.
    #[serde(default = "samba_user")]
    pub user: String,
    /// The user's password.
    #[serde(default = "samba_user")]
    pub password: String,
    /// Lines of the `[global]` part of smb.conf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// What it shares.
    #[serde(rename = "share", default)]
    pub shares: Vec<SambaShare>,
}

/// A directory shared by Samba, which can be written to unless its lines say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SambaShare {
    /// Its name.
    pub name: String,
    /// The directory.
    pub path: String,
    /// Lines of its part of smb.conf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// A mounted share of another host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Where it is mounted.
    pub at: String,
    /// What is mounted: `server:/srv/data` (NFS) or `server:share` (SMB).
    pub from: Origin,
    /// By which client of the kernel.
    #[serde(rename = "type")]
    pub fs: FileSystem,
    /// Options of mount(8), separated by commas.
    #[serde(default)]
    pub options: String,
}

/// A client of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// NFS.
    Nfs,
    /// SMB. User and password are those of the server's [`Samba`].
    Cifs,
}

/// A host of the lab, and a path or the name of a share on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    /// The host.
    pub host: String,
    /// What is mounted from it, as its server names it.
    pub path: String,
}

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            Some((host, path)) if !host.is_empty() && !path.is_empty() => {
                Ok(Origin { host: host.to_owned(), path: path.to_owned() })
            }
            _ => Err(format!(
                "`{text}` does not name a share; write it as server:/srv/data or \
                server:share"
            )),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.path)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> String {
        origin.to_string()
    }
}

/// A cable between two hosts, or a switch between more hosts in namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The hosts, two or more.
    pub between: Vec<String>,
    /// What passes at most in each direction; without it, what the machine can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rates>,
    /// The longest packet in bytes, without the header of Ethernet [default: 1500].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Added to each packet in each direction (netem).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How many packets are lost in each direction (netem).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Percent>,
}

impl Host {
    /// Memory of a machine in MiB, as asked for or what its image needs to work well.
    pub fn memory_mib(&self) -> u32 {
        let unasked = if self.image == Some(Image::Mips) { 128 } else { 384 };
        self.memory.map_or(unasked, |size| u32::try_from(size.0 >> 20).unwrap_or(u32::MAX))
    }
}

fn one() -> u8 {
    1
}

fn four() -> u16 {
    4
}

fn nfs_versions() -> Vec<String> {
    ["3", "4.1", "4.2"].map(str::to_owned).to_vec()
}

fn export_options() -> String {
    "rw,sync,no_root_squash".to_owned()
}

fn samba_user() -> String {
    "plimsoll".to_owned()
}
