//! The process that is a machine.

use super::images::Files;
use super::monitor::{Monitor, socket as monitor};
use super::{Acceleration, Cable, DiskLimit, Image, Machine, Nic, agent, console, state};
use crate::state::private;
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long QEMU may take to make its sockets, and the other end of a cable to be there.
const PATIENCE: Duration = Duration::from_secs(20);

const TRIED: &str = "start a virtual machine";

/// What it writes is for this user alone. Becomes a program that is nobody's child, once it is asked to; before that, its number is known.
const DETACH: &str = r#"umask 077; exec 3<&0; (read -r go <&3 && exec 3<&- && exec setsid "$@") </dev/null & echo $!"#;

/// Before QEMU where it makes tap devices: none of them is ever in this machine's own namespace, and their names are
/// free.
const APART: [&str; 3] = ["unshare", "--net", "--"];

/// The option that makes it, by which a machine is found whatever else is lost.
pub(super) fn monitor_option(directory: &Path, machine: &str) -> String {
    let monitor = monitor(directory, machine);
    format!("socket,id=monitor,server=on,wait=off,path={}", path(&monitor))
}

/// What QEMU complains of.
fn complaints(directory: &Path, machine: &str) -> PathBuf {
    directory.join(format!("{machine}.qemu"))
}

/// Its last complaint.
pub(super) fn complaint(machine: &Machine) -> Option<String> {
    let said = fs::read_to_string(complaints(&machine.directory, &machine.name)).ok()?;
    said.lines().last().map(str::to_owned)
}

/// Starts a machine, which boots, or else takes the state that was saved and stays halted.
pub(super) fn start(
    machine: &Machine,
    files: &Files,
    saved: Option<&Path>,
    acceleration: Acceleration,
    journal: &mut dyn FnMut(u32) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::new(Cause::Usage, TRIED).on(&machine.name).happened(error);
    let program =
        if machine.image == Image::Mips { "qemu-system-mipsel" } else { "qemu-system-x86_64" };
    let program = child::find(program).ok_or_else(|| {
        let next = "Install it (Debian: qemu-system-x86, for MIPS qemu-system-mips).";
        let happened = format!("the program {program} is not installed on this machine");
        Failure::new(Cause::Usage, TRIED).on(&machine.name).happened(happened).next(next)
    })?;
    for disk in &machine.disks {
        let file = private::file().open(&disk.path);
        file.and_then(|file| file.set_len(disk.bytes)).map_err(failed)?;
    }
    for nic in &machine.nics {
        let Cable::Socket { at, listens: false } = &nic.cable else { continue };
        wait_for(|| at.exists()).then_some(()).ok_or_else(|| {
            let happened = format!("no program listens at {}", at.display());
            Failure::new(Cause::Unreachable, TRIED).on(&machine.name).happened(happened)
        })?;
    }
    let create = |path| private::file().truncate(true).open(path).map_err(failed);
    create(console(&machine.directory, &machine.name))?;
    let complaints = create(complaints(&machine.directory, &machine.name))?;
    let taps = machine.nics.iter().any(|nic| matches!(nic.cable, Cable::Tap(_)));
    let mut shell = child::command("/bin/sh")
        .args(["-c", DETACH, "plimsoll"])
        .args(APART.iter().filter(|_| taps))
        .arg(program)
        .args(arguments(machine, files, acceleration))
        .args(saved.iter().flat_map(|path| {
            let from = state::from(path);
            ["-S", "-incoming", &from].map(str::to_owned)
        }))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(complaints)
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    if let Some(output) = shell.stdout.take() {
        BufReader::new(output).read_line(&mut said).map_err(failed)?;
    }
    let pid = said.trim().parse::<u32>().map_err(io::Error::other).map_err(failed)?;
    // If this fails, its input ends, and it with it.
    journal(pid)?;
    if let Some(mut input) = shell.stdin.take() {
        input.write_all(b"go\n").map_err(failed)?;
    }
    shell.wait().map_err(failed)?;
    let ended = || !Path::new("/proc").join(pid.to_string()).exists();
    if wait_for(|| ended() || greets(machine)) && !ended() {
        return Ok(());
    }
    let said = complaint(machine).unwrap_or_else(|| "QEMU did not start".to_owned());
    let next = if taps { "plimsoll lab doctor shows what this machine supports." } else { "" };
    Err(Failure::new(Cause::Usage, TRIED).on(&machine.name).happened(said).next(next))
}

/// Whether its monitor greets: by then all devices are made and all sockets listen.
fn greets(machine: &Machine) -> bool {
    let monitor = monitor(&machine.directory, &machine.name);
    Monitor::connect(&monitor, Duration::from_millis(200)).is_ok()
}

/// Whether QEMU runs: its monitor takes a connection.
pub(super) fn answers(machine: &Machine) -> bool {
    UnixStream::connect(monitor(&machine.directory, &machine.name)).is_ok()
}

/// Ends a process and waits for that.
pub(super) fn kill(pid: u32) {
    let _ = signal(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    wait_for(|| !Path::new("/proc").join(pid.to_string()).exists());
}

fn wait_for(holds: impl Fn() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// A path in an option of QEMU's, where a comma ends a value.
fn path(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Where a device is on the bus: fixed, so that the kernel finds them in this order. The malta board
/// leads interrupts to the slots 18 to 21 alone, so there devices are functions of those.
fn place(mips: bool, slot: usize) -> String {
    let (on_malta, function) = match slot {
        0..=3 => (18, 0),
        4..=7 => (19, slot - 4),
        8..=15 => (20, slot - 8),
        _ => (21, slot - 16),
    };
    if mips {
        format!("addr={on_malta:#x}.{function},multifunction=on")
    } else {
        format!("addr={slot:#x}")
    }
}

/// The other side of the n-th network interface.
fn netdev(n: usize, nic: &Nic) -> String {
    match &nic.cable {
        Cable::Socket { at, listens } => {
            let server = if *listens { "on" } else { "off" };
            let at = path(at);
            format!("stream,id=nic{n},server={server},addr.type=unix,addr.path={at}")
        }
        Cable::Tap(name) => format!("tap,id=nic{n},ifname={name},script=no,downscript=no"),
    }
}

/// The command line.
fn arguments(machine: &Machine, files: &Files, acceleration: Acceleration) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
    let mips = machine.image == Image::Mips;
    let place = |slot| place(mips, slot);
    let (kind, cpu, accelerator) = match (mips, acceleration) {
        (true, _) => ("malta", "24Kc", "tcg"),
        (_, Acceleration::Kvm) => ("q35", "host", "kvm"),
        // A fifth level of page tables costs a machine that is emulated much, and gives it nothing.
        (_, Acceleration::Emulated) => ("q35", "max,la57=off", "tcg,thread=multi"),
    };
    add("-machine", kind.to_owned());
    add("-cpu", cpu.to_owned());
    add("-accel", accelerator.to_owned());
    add("-m", machine.memory_mib.to_string());
    add("-smp", machine.cores.to_string());
    add("-display", "none".to_owned());
    add("-kernel", files.kernel.display().to_string());
    add("-initrd", files.initrd.display().to_string());
    // What protects a machine from its own programs costs much where it is emulated.
    let words = "console=ttyS0 loglevel=4 mitigations=off apparmor=0 audit=0 nokaslr";
    add("-append", format!("{words} plimsoll.host={}", machine.name));
    let console = console(&machine.directory, &machine.name);
    add("-chardev", format!("file,id=console,append=on,path={}", path(&console)));
    add("-serial", "chardev:console".to_owned());
    add("-chardev", monitor_option(&machine.directory, &machine.name));
    add("-mon", "chardev=monitor,mode=control".to_owned());
    if let Some(root) = &files.root {
        let options = "if=none,id=root,format=raw,readonly=on";
        add("-drive", format!("{options},file={}", path(root)));
        add("-device", format!("virtio-blk-pci,drive=root,{}", place(3)));
    }
    add("-device", format!("virtio-serial-pci,max_ports=31,{}", place(4)));
    for port in 0..agent::PORTS {
        let socket = path(&agent::socket(&machine.directory, &machine.name, port));
        add("-chardev", format!("socket,id=port{port},server=on,wait=off,path={socket}"));
        let name = agent::PORT_NAME;
        add("-device", format!("virtserialport,chardev=port{port},name={name}{port}"));
    }
    add("-device", format!("virtio-rng-pci,{}", place(5)));
    for (n, disk) in machine.disks.iter().enumerate() {
        let options = "if=none,format=raw,cache=writeback,discard=unmap";
        let limits = disk.limit.iter().flat_map(DiskLimit::fields);
        let limits = limits.map(|(name, value)| format!(",throttling.bps-total{name}={value}"));
        let limits: String = limits.collect();
        add("-drive", format!("{options}{limits},id=disk{n},file={}", path(&disk.path)));
        let discards = if disk.discards { "on" } else { "off" };
        let discards = format!("discard={discards},write-zeroes={discards}");
        add("-device", format!("virtio-blk-pci,drive=disk{n},{discards},{}", place(8 + n)));
    }
    for (n, nic) in machine.nics.iter().enumerate() {
        add("-netdev", netdev(n, nic));
        let (mac, place) = (&nic.mac, place(16 + n));
        let device = format!("virtio-net-pci,netdev=nic{n},mac={mac},romfile=,{place}");
        add("-device", device);
    }
    all.extend(["-nodefaults", "-no-user-config"].map(str::to_owned));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cable_is_a_socket_or_a_tap() {
        let nic = |cable| Nic { mac: "02:00:0a:4d:01:01".to_owned(), cable };
        let socket = |listens| Cable::Socket { at: PathBuf::from("/run/a,b/lan.link"), listens };
        let at = "addr.type=unix,addr.path=/run/a,,b/lan.link";
        assert_eq!(netdev(0, &nic(socket(true))), format!("stream,id=nic0,server=on,{at}"));
        assert_eq!(netdev(1, &nic(socket(false))), format!("stream,id=nic1,server=off,{at}"));
        let tap = nic(Cable::Tap("lan".to_owned()));
        assert_eq!(netdev(2, &tap), "tap,id=nic2,ifname=lan,script=no,downscript=no");
    }
}
