//! Labs of machines, kept as they were when they had come up for the first time: their memory,
//! their devices and their disks. The next time they are there at once.
//!
//! They lie beside the images, in directories named after all that they were made of: the lab's
//! plan, the images, QEMU, this program and the processor.

use super::plan::{HostKind, Plan};
use super::state::private;
use super::vm::images::fingerprint;
use super::vm::{self, Acceleration, Images, Machine};
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

/// So many are kept, those that were used last.
const MOST: usize = 4;

const PREFIX: &str = "saved-";

/// What is or may be kept of a lab.
pub(super) struct Saved {
    cache: PathBuf,
    place: PathBuf,
}

impl Saved {
    /// Of a lab of this plan; `None` where it has hosts of another kind.
    pub(super) fn find(
        plan: &Plan,
        machines: &[Machine],
        images: &Images,
    ) -> Result<Option<Saved>, Failure> {
        if plan.hosts.values().any(|host| host.kind != HostKind::Vm) {
            return Ok(None);
        }
        let cannot = |error| {
            Failure::new(Cause::Trial, "look for a saved lab").on("its plan").happened(error)
        };
        let mut made_of = serde_json::to_string(plan).map_err(cannot)?;
        for machine in machines {
            let files = images.get(machine.image, &mut |_| {})?;
            let _ = write!(made_of, "\n{}", files.kernel.display());
            if vm::acceleration(machine.image, images)? == Acceleration::Kvm {
                made_of.push_str(&processor());
            }
        }
        let qemu = ["qemu-system-x86_64", "qemu-system-mipsel"].map(child::find);
        let this = std::env::current_exe().ok();
        for program in qemu.iter().flatten().chain(&this) {
            let _ = write!(made_of, "\n{} {}", program.display(), version(program));
        }
        let name = format!("{PREFIX}{:016x}", fingerprint(&[&made_of]));
        let cache = images.cache().to_owned();
        Ok(Some(Saved { place: cache.join(name), cache }))
    }

    pub(super) fn is_there(&self) -> bool {
        self.place.is_dir()
    }

    /// Where the state of a machine is.
    pub(super) fn state(&self, machine: &Machine) -> PathBuf {
        self.place.join(format!("{}.state", machine.name))
    }

    /// Gives the machines their disks and consoles.
    pub(super) fn unpack(&self, machines: &[Machine]) -> Result<(), Failure> {
        private::directory(&self.place)?;
        // It is used, so it is kept.
        let _ = File::open(&self.place).and_then(|at| at.set_modified(SystemTime::now()));
        let files = machines.iter().flat_map(files);
        files.into_iter().try_for_each(|file| copy(&self.kept(&file), &file)).map_err(|error| {
            Failure::new(Cause::Trial, "load a saved lab").on(self.place.display()).happened(error)
        })
    }

    /// Keeps machines that are halted; `false`: another lab like this one is being saved.
    pub(super) fn make(&self, machines: &[Machine]) -> Result<bool, Failure> {
        let failed = |error: io::Error| {
            let next = "Free space there.";
            Failure::new(Cause::NoSpace, "save a lab")
                .on(self.cache.display())
                .happened(error)
                .next(next)
        };
        let lock = File::create(self.cache.join("saving.lock")).map_err(failed)?;
        if lock.try_lock().is_err() || self.is_there() {
            return Ok(false);
        }
        let saving = Saved { cache: self.cache.clone(), place: self.cache.join("saving") };
        // Left by somebody who was killed.
        saving.remove();
        let make = || -> Result<(), Failure> {
            private::directory(&saving.place)
                .map_err(|failure| Failure { tried: "save a lab".to_owned(), ..failure })?;
            for machine in machines {
                vm::save(machine, &saving.state(machine)).map_err(|failure| {
                    let next = format!("Check the free space in {}.", self.cache.display());
                    Failure { next, ..failure }
                })?;
                for file in files(machine) {
                    copy(&file, &saving.kept(&file)).map_err(failed)?;
                }
            }
            fs::rename(&saving.place, &self.place).map_err(failed)
        };
        let made = make();
        saving.remove();
        self.clean();
        made.map(|()| true)
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.place);
    }

    fn kept(&self, file: &Path) -> PathBuf {
        self.place.join(file.file_name().unwrap_or_default())
    }

    /// Removes those that were not used for longest.
    fn clean(&self) {
        let entries = fs::read_dir(&self.cache).into_iter().flatten().flatten();
        let mut all: Vec<(SystemTime, PathBuf)> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        all.sort();
        all.reverse();
        for (_, path) in all.iter().take(MOST) {
            // An older version of this program let others look.
            let _ = private::directory(path);
        }
        for (_, path) in all.iter().skip(MOST) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// What a machine has beside its state.
fn files(machine: &Machine) -> Vec<PathBuf> {
    let disks = machine.disks.iter().map(|disk| disk.path.clone());
    disks.chain([vm::console(&machine.directory, &machine.name)]).collect()
}

/// Copies a file of which most was never written to.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let copied = child::command("cp")
        .args(["--sparse=always", "--reflink=auto", "--"])
        .args([from, to])
        .stdin(Stdio::null())
        .output()?;
    if copied.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&copied.stderr).trim().to_owned()))
}

/// Another one, after the program was changed.
fn version(program: &Path) -> String {
    let about = fs::metadata(program);
    about
        .map_or_else(|_| String::new(), |m| format!("{} {} {}", m.len(), m.mtime(), m.mtime_nsec()))
}

/// A state that is not of an emulated processor is of use to the same processor only.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().take_while(|line| !line.is_empty());
    let kept = lines
        .filter(|line| ["model name", "flags", "microcode"].iter().any(|k| line.starts_with(k)));
    kept.fold(String::new(), |all, line| all + "\n" + line)
}
