//! Hosts that are virtual machines: QEMU processes that go on when this program has ended.

mod agent;
mod console;
#[doc(hidden)]
pub mod images;
mod kvm;
mod limit;
mod machine;
mod monitor;
mod qemu;
mod state;

pub use crate::plan::Image;
#[doc(hidden)]
pub use agent::fuzzing;
pub use agent::{AgentPort, Heard, RemoteCommand, Window};
pub use console::console;
pub use images::Images;
pub(crate) use kvm::{boots_a_machine, known as known_acceleration, runs_a_tiny_guest};
pub use limit::DiskLimit;
pub use machine::{Acceleration, Cable, DiskFile, Machine, Nic};
pub use state::{go_on, pause, save, taken};

use machine::interrupted;
pub(crate) use monitor::Monitor;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What QEMU itself takes beside the memory of its machine, MiB.
const QEMU_MIB: u64 = 96;

/// Starts a machine, and returns when QEMU runs; the machine itself is still to boot. `journal`
/// is given the process before it becomes QEMU.
pub fn start(
    machine: &Machine,
    images: &Images,
    journal: &mut dyn FnMut(u32) -> Result<(), Failure>,
) -> Result<Acceleration, Failure> {
    begin(machine, images, None, journal)
}

/// Starts a machine with a state that was [saved](save), of a machine with the same memory, cores,
/// devices and disks. [`taken`] tells when it has it; [`go_on`] lets it go on then.
pub fn resume(
    machine: &Machine,
    images: &Images,
    saved: &Path,
    journal: &mut dyn FnMut(u32) -> Result<(), Failure>,
) -> Result<Acceleration, Failure> {
    begin(machine, images, Some(saved), journal)
}

fn begin(
    machine: &Machine,
    images: &Images,
    saved: Option<&Path>,
    journal: &mut dyn FnMut(u32) -> Result<(), Failure>,
) -> Result<Acceleration, Failure> {
    fits(machine.memory_mib.into(), 1)?;
    let files = images.get(machine.image, &mut |_| {})?;
    let acceleration = acceleration(machine.image, images)?;
    qemu::start(machine, &files, saved, acceleration, journal)?;
    Ok(acceleration)
}

/// What machines of an image run on here.
pub fn acceleration(image: Image, images: &Images) -> Result<Acceleration, Failure> {
    match image {
        Image::Mips => Ok(Acceleration::Emulated),
        Image::Debian | Image::DebianOld | Image::DebianGeneric => kvm::acceleration(images),
    }
}

/// Whether a word of a command line makes QEMU's monitor in this directory.
pub(crate) fn is_monitor_in(word: &str, directory: &Path) -> bool {
    qemu::monitor_option(directory, "").rsplit_once('/').is_some_and(|(start, _)| {
        word.strip_prefix(start)
            .is_some_and(|rest| rest.starts_with('/') && !rest[1..].contains('/'))
    })
}

/// Waits until a machine takes commands. In a failure: the last lines of its console.
pub fn ready(machine: &Machine, patience: Duration) -> Result<(), Failure> {
    ready_unless(machine, patience, &AtomicBool::new(false))
}

fn ready_unless(machine: &Machine, patience: Duration, stop: &AtomicBool) -> Result<(), Failure> {
    let until = Instant::now() + patience;
    let failed = |happened: String| {
        let said = console::last_lines(&machine.directory, &machine.name);
        let said = said.lines().collect::<Vec<_>>().join(" | ");
        let happened = format!("{happened}; the last lines of its console: {said}");
        let next = "Try again. If it stops at the same point, change memory or image in the lab \
        file.";
        Err(Failure::new(Cause::Unreachable, "boot a machine")
            .on(&machine.name)
            .happened(happened)
            .next(next))
    };
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(interrupted(&machine.name));
        }
        if !qemu::answers(machine) {
            return failed("QEMU has ended".to_owned());
        }
        if let Some(sign) = console::gave_up(&machine.directory, &machine.name) {
            return failed(sign.to_owned());
        }
        if console::is_up(&machine.directory, &machine.name) {
            break;
        }
        if Instant::now() >= until {
            return failed(format!("it did not boot within {} s", patience.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    reach(&machine.directory, &machine.name).run("true", &[], patience).map(drop)
}

/// Tells a machine the time: to one that goes on from a state, none has passed since.
pub fn set_clock(machine: &Machine, patience: Duration) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let host = reach(&machine.directory, &machine.name);
    let set = host.run(&format!("date -s @{now:.3} >/dev/null"), &[], patience)?;
    if set.status == Some(0) {
        return Ok(());
    }
    let happened = String::from_utf8_lossy(&set.errors).trim().to_owned();
    Err(Failure::new(Cause::Trial, "set the clock of a machine")
        .on(&machine.name)
        .happened(happened))
}

/// Reaches a machine by its files; `name` is what the user calls it in this module's failures.
pub fn reach_as(directory: &Path, machine: &str, name: &str) -> Arc<dyn Reach> {
    agent::reach(directory, machine, name)
}

/// Reaches a machine by its files.
pub fn reach(directory: &Path, machine: &str) -> Arc<dyn Reach> {
    agent::reach(directory, machine, machine)
}

/// Takes a machine's power away and gives it back: what it had not written to a disk is lost.
/// [`ready`] tells when it is back; nothing of what was set up in it is.
pub fn reset(machine: &Machine) -> Result<(), Failure> {
    // What is in there now would be taken for the new one's.
    console::forget(&machine.directory, &machine.name)
        .and_then(|()| tell(&machine.directory, &machine.name, "system_reset", &json!({})))
        .map_err(|e| {
            Failure::new(Cause::Unreachable, "reset a machine").on(&machine.name).happened(e)
        })
}

/// Changes what the n-th disk of a machine, from 0, reads and writes at most.
pub fn set_disk_limit(
    directory: &Path,
    machine: &str,
    n: u8,
    limit: Option<DiskLimit>,
) -> Result<(), Failure> {
    // 0 is no limit.
    let mut limits = json!({
        "device": format!("disk{n}"), "bps": 0, "bps_rd": 0, "bps_wr": 0,
        "iops": 0, "iops_rd": 0, "iops_wr": 0,
    });
    for (name, value) in limit.iter().flat_map(DiskLimit::fields) {
        limits[format!("bps{}", name.replace('-', "_"))] = value.into();
    }
    tell(directory, machine, "block_set_io_throttle", &limits).map_err(|error| {
        let tried = "change the rate of a disk";
        Failure::new(Cause::Unreachable, tried).on(machine).happened(error)
    })
}

/// Tells QEMU something while a machine runs.
fn tell(directory: &Path, machine: &str, command: &str, arguments: &Value) -> std::io::Result<()> {
    let socket = monitor::socket(directory, machine);
    let mut monitor = Monitor::connect(&socket, Duration::from_secs(10))?;
    monitor.execute(command, arguments).map(drop)
}

/// Refuses so much memory for machines, in MiB with that of `count` QEMUs, if it is not there.
pub fn fits(memory_mib: u64, count: u64) -> Result<(), Failure> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let needed = memory_mib + count * QEMU_MIB;
    match available.map(|kib| kib / 1024) {
        Some(available) if available < needed => {
            Err(Failure::new(Cause::Usage, "start virtual machines")
                .on(format!("{count} of them"))
                .happened(format!("they need {needed} MiB of memory, and {available} MiB are free"))
                .next("Give them less (memory = \"256MiB\"), or stop other programs."))
        }
        _ => Ok(()),
    }
}
