//! Whether machines run on the processor itself (KVM) or are emulated.
//!
//! That `/dev/kvm` is there says little: inside of some virtual machines, guests hang under it. So
//! a machine is booted with it once after each boot of this one, and the answer kept.

use super::images::Files;
use super::{Acceleration, Image, Images, Machine, qemu};
use crate::state::private::Temporary;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A machine boots in a fraction of this where KVM works.
const PATIENCE: Duration = Duration::from_secs(8);

pub(super) fn acceleration(images: &Images<'_>) -> Result<Acceleration, Failure> {
    let device = Path::new("/dev/kvm");
    if OpenOptions::new().read(true).write(true).open(device).is_err() {
        return Ok(Acceleration::Emulated);
    }
    if let Some(known) = known(images) {
        return Ok(known);
    }
    let works = boots(images, &images.get(Image::Debian, &mut |_| {})?)?;
    Ok(keep(images, works))
}

/// Boots a machine of the image that is here, once after each boot of this one; `None` where no image is
/// here.
pub(crate) fn boots_a_machine(images: &Images<'_>) -> Option<bool> {
    let files = images.kept(Image::Debian)?;
    let works = boots(images, &files).ok()?;
    keep(images, works);
    Some(works)
}

/// Keeps what was found out.
fn keep(images: &Images<'_>, works: bool) -> Acceleration {
    let word = if works { "works" } else { "hangs" };
    // If it cannot be kept, it is tried again.
    let _ = std::fs::write(memory(images), format!("{} {word}\n", plimsoll_process::boot()));
    if works { Acceleration::Kvm } else { Acceleration::Emulated }
}

/// What was found out since this machine was booted.
pub(crate) fn known(images: &Images) -> Option<Acceleration> {
    let kept = std::fs::read_to_string(memory(images)).ok()?;
    let (boot, word) = kept.trim().split_once(' ')?;
    let works = if word == "works" { Acceleration::Kvm } else { Acceleration::Emulated };
    (boot == plimsoll_process::boot()).then_some(works)
}

fn memory(images: &Images) -> std::path::PathBuf {
    images.cache().join("kvm")
}

/// Tries KVM with a guest of eight bytes, which needs no image: the firmware starts it, and it ends
/// QEMU by a device that is there for that. `None` where there is no QEMU or it cannot be started.
pub(crate) fn runs_a_tiny_guest() -> Option<bool> {
    // mov dx, 0xf4; mov al, 0x21; out dx, al; hlt
    const GUEST: [u8; 8] = [0xba, 0xf4, 0x00, 0xb0, 0x21, 0xee, 0xf4, 0xf4];
    /// What QEMU makes of 0x21.
    const ENDED: i32 = 0x21 << 1 | 1;
    let directory = Temporary::new().ok()?;
    let sector = directory.path().join("guest");
    let mut bytes = GUEST.to_vec();
    bytes.resize(510, 0);
    bytes.extend([0x55, 0xaa]);
    std::fs::write(&sector, bytes).ok()?;
    let mut qemu = child::command(child::find("qemu-system-x86_64")?)
        .args(["-machine", "pc", "-accel", "kvm", "-m", "32", "-display", "none", "-nodefaults"])
        .args(["-no-user-config", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04", "-drive"])
        .arg(format!("if=ide,format=raw,file={}", sector.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match qemu.try_wait() {
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            ended => break ended.ok().flatten(),
        }
    };
    let _ = (qemu.kill(), qemu.wait());
    match ended {
        Some(status) if status.code() != Some(ENDED) => None,
        ended => Some(ended.is_some()),
    }
}

fn boots(images: &Images<'_>, files: &Files) -> Result<bool, Failure> {
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
    let mut pid = None;
    let mut journal = |started| {
        pid = Some(started);
        Ok(())
    };
    let up = qemu::start(&machine, files, None, Acceleration::Kvm, &mut journal)
        .and_then(|()| super::ready_unless(&machine, PATIENCE, images.stop()));
    if let Some(pid) = pid {
        qemu::kill(pid);
    }
    match up {
        Err(failure) if failure.cause == Cause::Interrupted => Err(failure),
        up => Ok(up.is_ok()),
    }
}
