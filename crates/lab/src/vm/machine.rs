//! A machine: its parts, and its files.

use super::console::console;
use super::limit::DiskLimit;
use crate::plan::Image;
use plimsoll_model::{Cause, Failure};
use std::path::PathBuf;

/// A machine. Its files lie in `directory` and are named after it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name, which is a file name and a host name.
    pub name: String,
    /// What it boots.
    pub image: Image,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// Its processors.
    pub cores: u8,
    /// Its network interfaces; the kernel names them `eth0`, `eth1` … in this order.
    pub nics: Vec<Nic>,
    /// Its disks: `/dev/vdb`, `/dev/vdc` … in this order.
    pub disks: Vec<DiskFile>,
    /// Where its sockets, its console and the like lie. Paths of sockets have at most 107 bytes.
    pub directory: PathBuf,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// The hardware address.
    pub mac: String,
    /// What it is connected with.
    pub cable: Cable,
}

/// The cable at a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cable {
    /// To another machine.
    Socket {
        /// The socket by which both ends meet.
        at: PathBuf,
        /// Whether this end listens there. That machine is started first.
        listens: bool,
    },
    /// To a namespace, with a tap device of this name. QEMU makes it in a network namespace of its own, from which
    /// it is to be moved, and it ends with QEMU.
    Tap(String),
}

/// A disk, kept in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFile {
    /// The file; made if it is not there, and takes room as it is written to.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// What is read and written together at most.
    pub limit: Option<DiskLimit>,
    /// Whether it takes discards.
    pub discards: bool,
}

impl Machine {
    /// Removes what it has written to disks and console, so that it begins anew.
    pub fn forget(&self) {
        let disks = self.disks.iter().map(|disk| disk.path.clone());
        for path in disks.chain([console(&self.directory, &self.name)]) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl DiskFile {
    /// What the n-th disk of a machine, from 0, is called in it.
    pub fn device(_image: Image, n: u8) -> String {
        // The first is the root's.
        format!("/dev/vd{}", char::from(b'b'.saturating_add(n)))
    }
}

/// What runs the instructions of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceleration {
    /// The processor.
    Kvm,
    /// A program: some ten times slower.
    Emulated,
}

/// The failure of a machine whose start the user ended.
pub(super) fn interrupted(on: &str) -> Failure {
    Failure::new(Cause::Interrupted, "boot a machine").on(on).happened("it was interrupted")
}
