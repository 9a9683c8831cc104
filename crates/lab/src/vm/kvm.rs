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

/// A machine boots in a fraction of the first where KVM works. A loaded machine may need the second.
const PATIENCE: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(40)];

pub(super) fn acceleration(images: &Images<'_>) -> Result<Acceleration, Failure> {
    let device = Path::new("/dev/kvm");
    if OpenOptions::new().read(true).write(true).open(device).is_err() {
        return Ok(Acceleration::Emulated);
    }
    if let Some(known) = known(images) {
        return Ok(known);
    }
    let files = images.get(Image::Debian, &mut |_| {})?;
    let works = within(&PATIENCE, |patience| boots(images, &files, patience))?;
    Ok(keep(images, works))
}

/// Boots a machine of the image that is here; `None` where no image is here. Where one hung since this
/// machine was booted, one more is tried for a short time: this machine may have been loaded then.
pub(crate) fn boots_a_machine(images: &Images<'_>) -> Option<bool> {
    let files = images.kept(Image::Debian)?;
    let limits = if known(images).is_some() { &PATIENCE[..1] } else { &PATIENCE[..] };
    let works = within(limits, |patience| boots(images, &files, patience)).ok()?;
    keep(images, works);
    Some(works)
}

/// Whether it works within one of the limits, each tried after the one before.
fn within<E>(
    limits: &[Duration],
    mut works: impl FnMut(Duration) -> Result<bool, E>,
) -> Result<bool, E> {
    for limit in limits {
        if works(*limit)? {
            return Ok(true);
        }
    }
    Ok(false)
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
    within(&PATIENCE, |patience| runs_a_tiny_guest_within(patience).ok_or(())).ok()
}

fn runs_a_tiny_guest_within(patience: Duration) -> Option<bool> {
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
    let until = Instant::now() + patience;
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

fn boots(images: &Images<'_>, files: &Files, patience: Duration) -> Result<bool, Failure> {
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
        .and_then(|()| super::ready_unless(&machine, patience, images.stop()));
    if let Some(pid) = pid {
        qemu::kill(pid);
    }
    match up {
        Err(failure) if failure.cause == Cause::Interrupted => Err(failure),
        up => Ok(up.is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_is_slow_is_tried_again_for_longer() {
        let needs = |seconds| {
            let mut tried = Vec::new();
            let works = within(&PATIENCE, |patience| -> Result<bool, ()> {
                tried.push(patience.as_secs());
                Ok(Duration::from_secs(seconds) < patience)
            });
            (works, tried)
        };
        assert_eq!(needs(1), (Ok(true), vec![8]));
        assert_eq!(needs(20), (Ok(true), vec![8, 40]));
        assert_eq!(needs(1000), (Ok(false), vec![8, 40]));
        assert_eq!(within(&PATIENCE, |_| Err("no QEMU")), Err("no QEMU"));
    }
}
