//! The places that cases are about: directories of this machine, and labs.

use super::cases::{Case, Local, Place, Way};
use crate::support::Plimsoll;
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ganesha and Samba over memory; Samba over a directory of this machine too, once it is bound there.
fn net() -> LabFile {
    LabFile::new()
        .namespace("server")
        .ganesha("512MiB")
        .disk("bound", "1MiB", "/srv/bound")
        .samba("data", "/srv/data")
        .samba("bound", "/srv/bound")
        .namespace("client")
        .link("cable", ["server", "client"])
}

/// The kernel's NFS server and Samba, and a client that mounts both and has a disk of its own.
fn machines(memory: &str) -> LabFile {
    LabFile::new()
        .machine("server", memory)
        .disk("data", "1GiB", "/srv/data")
        .nfsd(4, &["3", "4.2"], "/srv/data", "rw,async,no_root_squash")
        .samba("data", "/srv/data")
        .machine("client", "512MiB")
        .disk("own", "192MiB", "/srv/own")
        .mount_nfs("/mnt/nfs", "server:/srv/data", "vers=4.2")
        .mount_smb("/mnt/smb", "server:data", "vers=3.1.1")
        .link("cable", ["server", "client"])
}

/// The lab that is up, and the program that knows it.
pub struct Places {
    pub beds: Beds,
    up: Option<&'static str>,
}

/// What a case is measured on, until it is dropped.
pub struct Ready {
    /// What is given to `check`.
    pub words: Vec<String>,
    /// Where it is counted what the disk is asked for.
    pub counters: Counters,
    /// Whether the bytes are on the machine that reads.
    pub own: bool,
    mounted: Option<(String, &'static str)>,
    scratch: Scratch,
}

/// Whose disk the bytes are on, if any is.
pub enum Counters {
    /// None: it is memory.
    Memory,
    /// A loop device of this machine, whose file is read directly.
    Loop(String),
    /// Those of a virtual machine, which is watched while trials run.
    Watched,
}

/// A directory on this machine's disk, and what is mounted there.
#[derive(Default)]
struct Scratch {
    home: Option<tempfile::TempDir>,
    /// The commands that undo it, in the order in which it was made.
    undo: Vec<[String; 3]>,
}

impl Places {
    pub fn new() -> Places {
        let program = Plimsoll::new().with_runner().with("PLIMSOLL_PASSWORD", "plimsoll");
        Places { beds: Beds::with_program(program), up: None }
    }

    pub fn ready(&mut self, case: &Case) -> Ready {
        let (lab, way) = match &case.place {
            Place::Local(local) => return self.local(*local, case.size),
            Place::Namespace { way, .. } => ("net", way),
            Place::Large { way, .. } => ("large", way),
            Place::Small { way, .. } => ("small", way),
        };
        self.bring_up(lab);
        let (server, client) = (format!("{lab}/server"), format!("{lab}/client"));
        let mut scratch = Scratch::default();
        let set = |what: &str, key: &str, value: &Option<&str>| {
            let setting = format!("{key}={}", value.unwrap_or("none"));
            self.beds.lab(&["set", lab, what, &setting]).expect(0);
        };
        match &case.place {
            Place::Namespace { rate, .. } => set("cable", "rate", rate),
            Place::Large { delay, .. } => set("cable", "delay", delay),
            Place::Small { delay, latency, rate, .. } => {
                set("cable", "delay", delay);
                set("server/data", "latency", latency);
                set("server/data", "rate", rate);
            }
            Place::Local(_) => {}
        }
        let mut counters = Counters::Memory;
        let target = match way {
            Way::Nfs => "nfs://server/srv/data",
            Way::Smb => "smb://plimsoll@server/data",
            Way::SmbUnsigned => "smb://plimsoll@server/data?sign=off",
            Way::SmbOnDisk => {
                // A lab's host has the mounts of this machine as they were when it came up.
                let device = scratch.disk(2 * case.size + 64);
                self.beds.on(&server, &format!("mount {device} /srv/bound"));
                counters = Counters::Loop(device);
                "smb://plimsoll@server/bound"
            }
            Way::NfsMount => "/mnt/nfs",
            Way::SmbMount => "/mnt/smb",
            Way::OwnTmpfs => {
                self.beds.on(&client, "mkdir -p /srv/tmpfs && mount -t tmpfs none /srv/tmpfs");
                "/srv/tmpfs"
            }
            Way::OwnDataJournal => {
                let again = "mount -o data=journal /dev/mapper/plimsoll-own /srv/own";
                self.beds.on(&client, &format!("umount /srv/own && {again}"));
                "/srv/own"
            }
        };
        let on = format!("--on=lab://{client}");
        let own = matches!(way, Way::OwnTmpfs | Way::OwnDataJournal);
        let mut words = vec![target.to_owned(), on];
        let host = if own { client } else { server };
        if !matches!(case.place, Place::Namespace { .. }) {
            words.push(format!("--host=lab://{host}"));
            counters = Counters::Watched;
        }
        let mounted = match way {
            Way::SmbOnDisk => Some((host, "/srv/bound")),
            Way::OwnTmpfs => Some((host, "/srv/tmpfs")),
            _ => None,
        };
        Ready { words, counters, own, mounted, scratch }
    }

    fn bring_up(&mut self, lab: &'static str) {
        if self.up == Some(lab) {
            return;
        }
        if let Some(other) = self.up.take() {
            self.beds.lab(&["down", other]).expect(0);
        }
        let file = match lab {
            "net" => net(),
            "large" => machines("1GiB"),
            _ => machines("256MiB"),
        };
        self.beds.up(lab, &file);
        self.up = Some(lab);
    }

    fn local(&mut self, local: Local, size: u64) -> Ready {
        let mut scratch = Scratch::default();
        let (base, space) = (scratch.path("base"), 2 * size + 64);
        let mut counters = Counters::Memory;
        match local {
            Local::Tmpfs | Local::OverlayOnTmpfs => scratch.mount("tmpfs", &["none"], &base),
            Local::Ramfs => scratch.mount("ramfs", &["none"], &base),
            Local::DataJournal => {
                let device = scratch.disk(space);
                scratch.mount("ext4", &[&device, "-o", "data=journal"], &base);
                counters = Counters::Loop(device);
            }
            Local::Loop | Local::OverlayOnLoop => {
                // A disk of its own, so that its counters are of this case alone; on it the file.
                let (disk, device) = (scratch.path("disk"), scratch.disk(2 * space));
                scratch.mount("ext4", &[&device], &disk);
                let upper = scratch.loop_device(&disk.join("image"), space, "off");
                scratch.mount("ext4", &[&upper], &base);
                counters = Counters::Loop(device);
            }
        }
        let mut target = base.clone();
        if matches!(local, Local::OverlayOnTmpfs | Local::OverlayOnLoop) {
            let [up, work, low] =
                ["base/up", "base/work", "base/low"].map(|name| scratch.path(name));
            let (up, work, low) = (up.display(), work.display(), low.display());
            let options = format!("lowerdir={low},upperdir={up},workdir={work}");
            target = scratch.path("top");
            scratch.mount("overlay", &["overlay", "-o", &options], &target);
        }
        let words = vec![target.display().to_string()];
        Ready { words, counters, own: true, mounted: None, scratch }
    }
}

impl Ready {
    /// What was made for it is removed.
    pub fn over(self, beds: &Beds) {
        if let Some((host, at)) = &self.mounted {
            beds.on(host, &format!("umount -l {at}"));
        }
        drop(self.scratch);
    }
}

impl Scratch {
    /// A directory below it, on the disk: a temporary one may be memory.
    fn path(&mut self, name: &str) -> PathBuf {
        let home = self.home.get_or_insert_with(|| {
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
        });
        let path = home.path().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// A loop device with ext4 on a new file of so many MiB.
    fn loop_device(&mut self, file: &Path, size: u64, direct: &str) -> String {
        std::fs::File::create(file).expect("a file").set_len(size << 20).expect("space");
        let file = file.to_str().expect("letters");
        shell(&["mkfs.ext4", "-q", file]);
        let direct = format!("--direct-io={direct}");
        let device = shell(&["losetup", &direct, "-f", "--show", file]).trim().to_owned();
        self.undo.push(["losetup", "-d", &device].map(str::to_owned));
        device
    }

    /// One that reads its file directly, as a disk does.
    fn disk(&mut self, size: u64) -> String {
        let file = self.path("files").join("disk");
        self.loop_device(&file, size, "on")
    }

    fn mount(&mut self, kind: &str, what: &[&str], at: &Path) {
        let at = at.to_str().expect("letters");
        shell(&[&["mount", "-t", kind], what, &[at]].concat());
        self.undo.push(["umount", "--", at].map(str::to_owned));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for words in self.undo.iter().rev() {
            let _ = Command::new(&words[0]).args(&words[1..]).status();
        }
    }
}

/// A program that must end well; what it wrote.
fn shell(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
