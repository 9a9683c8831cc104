//! What a Ganesha shall export, and its configuration file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where exported directories lie on a stage.
const ROOT: &str = "/run/export";

/// A server: its exports and ports.
#[derive(Clone, Debug)]
pub struct GaneshaConfig {
    /// What it exports.
    pub exports: Vec<Export>,
    /// Port of NFS. Not 2049 by default, so that a client must have asked the portmapper.
    pub nfs_port: u16,
    /// Port of MOUNT.
    pub mount_port: u16,
    /// Largest READ and WRITE in bytes; the server's own unless changed.
    pub largest_transfer: Option<u32>,
    /// Minor versions of version 4, as the configuration names them: all unless changed.
    pub minor_versions: &'static str,
    /// Whether it serves NFS 3 and MOUNT over UDP as well; not unless changed.
    pub udp: bool,
    /// For how long after a start clients of version 4 may have back what they had open, and nothing else,
    /// in seconds; not at all unless changed.
    pub grace_seconds: Option<u32>,
}

impl GaneshaConfig {
    /// These exports, on ports 20049 and 20048.
    pub fn new(exports: impl IntoIterator<Item = Export>) -> Self {
        let exports = exports.into_iter().collect();
        Self {
            exports,
            nfs_port: 20049,
            mount_port: 20048,
            largest_transfer: None,
            minor_versions: "0, 1, 2",
            udp: false,
            grace_seconds: None,
        }
    }

    /// Over UDP as well.
    pub fn udp(mut self) -> Self {
        self.udp = true;
        self
    }

    /// A single export.
    pub fn one(export: Export) -> Self {
        Self::new([export])
    }
}

/// What clients may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read only.
    ReadOnly,
}

/// Which users become nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Squash {
    /// None: root stays root.
    None,
    /// Root alone.
    Root,
    /// All.
    All,
}

/// Where the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A directory on a tmpfs of its own of so many bytes.
    Directory {
        /// Size of the tmpfs in bytes.
        bytes: u64,
    },
    /// The server's memory; content beyond `inode_bytes` of each file is discarded.
    Memory {
        /// Bytes kept of each file.
        inode_bytes: u32,
    },
}

/// One export. Clients see it as `/run/export/<name>`, in NFS 4 as well.
#[derive(Clone, Debug)]
pub struct Export {
    /// Its name: one path component; spaces and letters of any script are welcome.
    pub name: String,
    /// Where its files are.
    pub backend: Backend,
    /// What clients may do; read and write unless changed.
    pub access: Access,
    /// Which users become nobody; none unless changed.
    pub squash: Squash,
    /// Whether clients must come from a port below 1024; not unless changed.
    pub privileged_port: bool,
}

impl Export {
    /// A directory of at most 4 GiB, read-write, nobody squashed, any port.
    pub fn directory(name: &str) -> Self {
        Self::with_backend(name, Backend::Directory { bytes: 4 << 30 })
    }

    /// The server's memory, which keeps a little over 1 MiB of each file. All such exports of a
    /// server share one limit.
    pub fn memory(name: &str) -> Self {
        Self::with_backend(name, Backend::Memory { inode_bytes: 1_114_112 })
    }

    fn with_backend(name: &str, backend: Backend) -> Self {
        Self {
            name: name.into(),
            backend,
            access: Access::ReadWrite,
            squash: Squash::None,
            privileged_port: false,
        }
    }

    /// Gives a directory another size in bytes: the full disk of tests.
    pub fn size(mut self, bytes: u64) -> Self {
        self.backend = Backend::Directory { bytes };
        self
    }

    /// Clients may only read.
    pub fn read_only(mut self) -> Self {
        self.access = Access::ReadOnly;
        self
    }

    /// These users become nobody.
    pub fn squash(mut self, squash: Squash) -> Self {
        self.squash = squash;
        self
    }

    /// Clients must come from a port below 1024.
    pub fn privileged_port(mut self) -> Self {
        self.privileged_port = true;
        self
    }

    /// Its path, the same for clients and on the stage.
    pub fn path(&self) -> PathBuf {
        Path::new(ROOT).join(&self.name)
    }
}

impl GaneshaConfig {
    /// The configuration file; `directory` is where the server keeps its own things.
    pub(super) fn text(&self, directory: &Path) -> String {
        // A lease is not longer than the grace period.
        let grace = self.grace_seconds.map_or_else(
            || "Graceless = true".to_owned(),
            |seconds| format!("Grace_Period = {seconds}; Lease_Lifetime = {seconds}"),
        );
        let mut text = format!(
            "NFS_CORE_PARAM {{ NFS_Protocols = 3, 4; NFS_Port = {}; MNT_Port = {};
  Bind_addr = 127.0.0.1; Enable_UDP = {}; Enable_NLM = false; Enable_RQUOTA = false; }}
NFSV4 {{ {}; Minor_Versions = {}; RecoveryBackend = fs;
  RecoveryRoot = \"{}\"; }}
EXPORT_DEFAULTS {{ SecType = sys; Protocols = 3, 4; Transports = {}; }}
LOG {{ Default_Log_Level = EVENT; }}
",
            self.nfs_port,
            self.mount_port,
            self.udp,
            grace,
            self.minor_versions,
            directory.join("recovery").display(),
            if self.udp { "TCP, UDP" } else { "TCP" }
        );
        let memory = self.exports.iter().filter_map(|export| match export.backend {
            Backend::Memory { inode_bytes } => Some(inode_bytes),
            Backend::Directory { .. } => None,
        });
        if let Some(bytes) = memory.max() {
            let _ = writeln!(text, "MEM {{ Inode_Size = {bytes}; }}");
        }
        for (id, export) in (1..).zip(&self.exports) {
            text.push_str(&export.text(id, self.largest_transfer));
        }
        text
    }
}

impl Export {
    fn text(&self, id: u16, largest_transfer: Option<u32>) -> String {
        let access = match self.access {
            Access::ReadWrite => "RW",
            Access::ReadOnly => "RO",
        };
        let squash = match self.squash {
            Squash::None => "None",
            Squash::Root => "Root_Squash",
            Squash::All => "All_Squash",
        };
        // A tmpfs has no lasting identity of its own for file handles, so each is given one.
        let backend = match self.backend {
            Backend::Directory { .. } => {
                format!("Filesystem_id = 192.{id}; FSAL {{ Name = VFS; }}")
            }
            Backend::Memory { .. } => "FSAL { Name = MEM; }".into(),
        };
        let sizes = largest_transfer
            .map_or_else(String::new, |bytes| format!("MaxRead = {bytes}; MaxWrite = {bytes};"));
        let path = self.path();
        format!(
            "EXPORT {{ Export_Id = {id}; Path = \"{0}\"; Pseudo = \"{0}\"; Access_Type = {access};
  Squash = {squash}; PrivilegedPort = {1}; {sizes} {backend} }}\n",
            path.display(),
            self.privileged_port
        )
    }
}
