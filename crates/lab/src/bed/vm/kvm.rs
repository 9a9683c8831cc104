//! Whether machines run on the processor itself (KVM) or are emulated.
//!
//! That `/dev/kvm` is there says little: inside of some virtual machines, guests hang under it. So
//! a machine is booted with it once after each boot of this one, and the answer kept.

use super::{Image, Images, Machine, qemu};
use crate::bed::state::private::Temporary;
use model::{Cause, Failure};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// A machine boots in a fraction of this where KVM works.
const PATIENCE: Duration = Duration::from_secs(8);

/// What runs the instructions of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceleration {
    /// The processor.
    Kvm,
    /// A program: some ten times slower.
    Emulated,
}

pub(super) fn acceleration(images: &Images<'_>) -> Result<Acceleration, Failure> {
    let device = Path::new("/dev/kvm");
    if OpenOptions::new().read(true).write(true).open(device).is_err() {
        return Ok(Acceleration::Emulated);
    }
    if let Some(known) = known(images) {
        return Ok(known);
    }
    let works = boots(images)?;
    let word = if works { "works" } else { "hangs" };
    // If it cannot be kept, it is tried again.
    let _ = std::fs::write(memory(images), format!("{} {word}\n", this_boot()));
    Ok(if works { Acceleration::Kvm } else { Acceleration::Emulated })
}

/// What was found out since this machine was booted.
pub(in crate::bed) fn known(images: &Images) -> Option<Acceleration> {
    let kept = std::fs::read_to_string(memory(images)).ok()?;
    let (boot, word) = kept.trim().split_once(' ')?;
    let works = if word == "works" { Acceleration::Kvm } else { Acceleration::Emulated };
    (boot == this_boot()).then_some(works)
}

fn memory(images: &Images) -> std::path::PathBuf {
    images.cache().join("kvm")
}

fn this_boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

fn boots(images: &Images) -> Result<bool, Failure> {
    let failed = |error| images.failure("try KVM", &error);
    let directory = Temporary::new().map_err(failed)?;
    let machine = Machine {
        name: "kvm".to_owned(),
        image: Image::Debian,
        memory_mib: 256,
        cores: 1,
        nics: Vec::new(),
        disks: Vec::new(),
        directory: directory.path().to_owned(),
    };
    let files = images.get(Image::Debian, &mut |_| {})?;
    let mut pid = None;
    let mut journal = |started| {
        pid = Some(started);
        Ok(())
    };
    let up = qemu::start(&machine, &files, None, Acceleration::Kvm, &mut journal)
        .and_then(|()| super::ready_unless(&machine, PATIENCE, images.stop()));
    if let Some(pid) = pid {
        qemu::kill(pid);
    }
    match up {
        Err(failure) if failure.cause == Cause::Interrupted => Err(failure),
        up => Ok(up.is_ok()),
    }
}
