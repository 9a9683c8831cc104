//! Lab files, written by parts: servers with exports and shares, clients with mounts, links.

use std::fmt::{self, Display, Write};

/// Directory that servers export unless a lab says otherwise.
const DATA: &str = "/srv/data";

/// Text of a lab file. A part is added to the host that was added last, a setting to the part.
#[derive(Clone, Default)]
pub struct LabFile {
    text: String,
    host: String,
}

impl LabFile {
    /// No hosts.
    pub fn new() -> LabFile {
        LabFile::default()
    }

    /// A host in a network namespace.
    pub fn namespace(self, name: &str) -> LabFile {
        self.host(name).set("kind", "netns")
    }

    /// A virtual machine.
    pub fn machine(self, name: &str, memory: &str) -> LabFile {
        self.host(name).set("kind", "vm").set("memory", memory)
    }

    /// A setting whose value is a string.
    pub fn set(self, key: &str, value: impl Display) -> LabFile {
        self.line(format_args!("{key} = \"{value}\""))
    }

    /// A disk of the host; in memory where the host is a namespace.
    pub fn disk(self, name: &str, size: &str, at: &str) -> LabFile {
        let host = self.host.clone();
        self.line(format_args!("[host.{host}.disk.{name}]")).set("size", size).set("at", at)
    }

    /// NFS-Ganesha, which exports a new disk of the host.
    pub fn ganesha(self, size: &str) -> LabFile {
        let host = self.host.clone();
        let file = self.disk("data", size, DATA);
        file.line(format_args!("[[host.{host}.ganesha.export]]")).set("path", DATA)
    }

    /// The kernel's NFS server, which exports one directory.
    pub fn nfsd(self, threads: u32, versions: &[&str], path: &str, options: &str) -> LabFile {
        let host = self.host.clone();
        self.line(format_args!("[host.{host}.nfsd]"))
            .line(format_args!("threads = {threads}"))
            .line(format_args!("versions = {versions:?}"))
            .export(path, options)
    }

    /// A further directory that the kernel's NFS server exports.
    pub fn export(self, path: &str, options: &str) -> LabFile {
        let host = self.host.clone();
        let file = self.line(format_args!("[[host.{host}.nfsd.export]]"));
        file.set("path", path).set("options", options)
    }

    /// A share of Samba.
    pub fn samba(self, name: &str, path: &str) -> LabFile {
        let host = self.host.clone();
        let file = self.line(format_args!("[[host.{host}.samba.share]]"));
        file.set("name", name).set("path", path)
    }

    /// An NFS export that the host mounts.
    pub fn mount_nfs(self, at: &str, from: &str, options: &str) -> LabFile {
        self.mount(at, from, "nfs", options)
    }

    /// An SMB share that the host mounts.
    pub fn mount_smb(self, at: &str, from: &str, options: &str) -> LabFile {
        self.mount(at, from, "cifs", options)
    }

    /// A link between two hosts.
    pub fn link(self, name: &str, between: [&str; 2]) -> LabFile {
        self.line(format_args!("[link.{name}]")).line(format_args!("between = {between:?}"))
    }

    /// A line as it stands.
    pub fn line(mut self, line: fmt::Arguments) -> LabFile {
        writeln!(self.text, "{line}").expect("a string takes all");
        self
    }

    fn host(mut self, name: &str) -> LabFile {
        name.clone_into(&mut self.host);
        self.line(format_args!("[host.{name}]"))
    }

    fn mount(self, at: &str, from: &str, kind: &str, options: &str) -> LabFile {
        let host = self.host.clone();
        let file = self.line(format_args!("[[host.{host}.mount]]"));
        file.set("at", at).set("from", from).set("type", kind).set("options", options)
    }
}

impl Display for LabFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
