//! What a lab has made, written down before it is made, so that it can be found and removed after
//! any crash: a directory of its own with `bed.json`, and a lock.

pub(crate) mod private;
mod remains;
mod salvage;

pub(crate) use remains::{kill_holders, remove};
pub(crate) use salvage::salvage;

use super::plan::{Delay, Plan};
use plimsoll_model::{Cause, Failure};
use plimsoll_process::ProcessId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The environment variable that names another place for labs than [`PARENT`].
pub const PARENT_VARIABLE: &str = "PLIMSOLL_LABS";

/// Below it each lab has a directory. It is gone after a restart of the machine, as labs are.
pub const PARENT: &str = "/run/plimsoll/lab";

/// What every process of a lab has in its environment, with [`Bed::mark`] as its value.
pub(crate) const MARK_VARIABLE: &str = "PLIMSOLL_LAB_MARK";

/// The same with the lab's directory.
pub(crate) const DIRECTORY_VARIABLE: &str = "PLIMSOLL_LAB_DIRECTORY";

/// `bed.json`: a lab and all that it has made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bed {
    /// Its name.
    pub name: String,
    /// By chance, and nobody else's.
    pub mark: String,
    /// Whether it was finished.
    pub up: bool,
    /// When it was begun.
    pub started_unix_seconds: u64,
    /// What was asked for, with what was set since.
    pub plan: Plan,
    /// Processes that hold hosts and switches, by their names.
    pub holders: BTreeMap<String, Holder>,
    /// Control groups.
    pub groups: BTreeMap<String, PathBuf>,
    /// What a read of a disk takes that was asked for a latency, by `host/disk`.
    #[serde(default)]
    pub latencies: BTreeMap<String, Delay>,
    /// Whether machines have KVM; `None` where there is no machine.
    pub kvm: Option<bool>,
}

impl Bed {
    /// What the control group of a host is called.
    pub fn group(&self, host: &str) -> String {
        format!("plimsoll-lab-{}-{host}", self.mark)
    }
}

/// What keeps a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// All its processes.
    pub processes: Vec<ProcessId>,
    /// The first process inside, whose namespaces are entered.
    pub inside: Option<ProcessId>,
}

impl Holder {
    /// Whether it holds.
    pub fn alive(&self) -> bool {
        let whole = |process: &ProcessId| process.alive();
        !self.processes.is_empty()
            && self.processes.iter().all(whole)
            && self.inside.iter().all(whole)
    }
}

/// The directory of a lab.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    name: String,
    path: PathBuf,
}

/// The right to change a lab, held until it is dropped or this process ends.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "it is held")] File);

/// How long another command that is at work on the lab is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// `bed.json` is no longer than that.
const LONGEST: u64 = 4 << 20;

/// Where labs are.
pub(crate) fn parent() -> PathBuf {
    let named = std::env::var_os(PARENT_VARIABLE).filter(|path| !path.is_empty());
    named.map_or_else(|| PathBuf::from(PARENT), PathBuf::from)
}

/// The names of all labs that have a directory.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(parent()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| plimsoll_model::is_lab_name(name)).collect();
    names.sort();
    names
}

/// Refuses whoever is not root, in the same words for all that is done with labs.
pub(crate) fn allowed() -> Result<(), Failure> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let next = "Run it as root, for example with sudo: only root can create and inspect \
    namespaces, interfaces, mounts and control groups. plimsoll lab doctor shows more.";
    let happened = "plimsoll does not run as root";
    Err(Failure::new(Cause::NotPermitted, "use the labs of this machine")
        .on(parent().display())
        .happened(happened)
        .next(next))
}

impl Directory {
    /// That of the lab of this name, whether it is there or not.
    ///
    /// # Errors
    /// Where this is [not root](allowed).
    pub fn for_lab(name: &str) -> Result<Directory, Failure> {
        allowed()?;
        Ok(Directory { name: name.to_owned(), path: parent().join(name) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Makes it, for this user alone. A place that was [named](PARENT_VARIABLE) is left as it is.
    pub fn make(&self) -> Result<(), Failure> {
        let place = parent();
        if place == Path::new(PARENT) {
            place.parent().map_or(Ok(()), private::directory)?;
            private::directory(&place)?;
        } else {
            DirBuilder::new().recursive(true).mode(0o700).create(&place).map_err(|error| {
                let next = format!("Name another directory with {PARENT_VARIABLE}.");
                Failure::new(cause(&error), "create the directory of labs")
                    .on(place.display())
                    .happened(error)
                    .next(next)
            })?;
        }
        private::directory(&self.path)
    }

    /// Takes the lock. `None`: the directory is not there, or was removed meanwhile.
    pub fn lock(&self) -> Result<Option<Lock>, Failure> {
        let path = self.path.join("lock");
        let failed = |error: std::io::Error| {
            Failure::new(cause(&error), "lock the lab").on(path.display()).happened(error)
        };
        let file = match private::file().open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    let happened = "another command is using it";
                    let next = "Wait for that command, or end it, and try again.";
                    return Err(Failure::new(Cause::Usage, "lock the lab")
                        .on(&self.name)
                        .happened(happened)
                        .next(next));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        // Whoever held it may have removed it with the lab.
        let ours = file.metadata().map_err(failed)?;
        let there = path.metadata().is_ok_and(|m| (m.dev(), m.ino()) == (ours.dev(), ours.ino()));
        Ok(there.then_some(Lock(file)))
    }

    /// Whether a command is at work on the lab: bringing it up, changing it or taking it down.
    pub fn is_busy(&self) -> bool {
        let file = private::file().open(self.path.join("lock"));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// What is written down; `None` where nothing is.
    pub fn read(&self) -> Result<Option<Bed>, Failure> {
        let path = self.path.join("bed.json");
        let failed = |happened: String| {
            let next = format!("Remove the lab: plimsoll lab down {}.", self.name);
            Failure::new(Cause::Usage, "read the state of the lab")
                .on(path.display())
                .happened(happened)
                .next(next)
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string()))
    }

    /// Writes the mark down apart, for the day on which `bed.json` cannot be read.
    pub fn write_mark(&self, mark: &str) -> Result<(), Failure> {
        let path = self.path.join("mark");
        let write = || private::file().open(&path)?.write_all(format!("{mark}\n").as_bytes());
        write().map_err(|error| {
            let tried = "write the state of the lab";
            Failure::new(cause(&error), tried)
                .on(path.display())
                .happened(error)
                .next("Free space there.")
        })
    }

    /// Writes it down, whole or not at all.
    pub fn write(&self, bed: &Bed) -> Result<(), Failure> {
        let path = self.path.join("bed.json");
        let part = self.path.join("bed.json.part");
        let write = || -> std::io::Result<()> {
            let mut file = private::file().truncate(true).open(&part)?;
            file.write_all(serde_json::to_string_pretty(bed)?.as_bytes())?;
            fs::rename(&part, &path)
        };
        write().map_err(|error| {
            let next = "Free space there.";
            Failure::new(cause(&error), "write the state of the lab")
                .on(path.display())
                .happened(error)
                .next(next)
        })
    }
}

/// The lab of this name that is up.
pub(crate) fn find(name: &str) -> Result<(Directory, Bed), Failure> {
    let directory = Directory::for_lab(name)?;
    match directory.read()? {
        Some(bed) => Ok((directory, bed)),
        None => Err(unknown(name)),
    }
}

/// There is no such lab.
pub(crate) fn unknown(name: &str) -> Failure {
    let names = names();
    let next = if names.is_empty() {
        "No lab is up; start one with plimsoll lab up.".to_owned()
    } else {
        plimsoll_config::nearest(name, &names)
    };
    Failure::new(Cause::Usage, "find the lab")
        .on(name)
        .happened("no lab of this name is up")
        .next(next)
}

fn cause(error: &std::io::Error) -> Cause {
    match error.kind() {
        ErrorKind::PermissionDenied => Cause::NotPermitted,
        ErrorKind::StorageFull => Cause::NoSpace,
        _ => Cause::Trial,
    }
}
