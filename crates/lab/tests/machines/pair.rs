//! Two machines, `server` with a disk and `client`, and a cable between them.

use plimsoll_lab::plan::{Delay, Disk};
use plimsoll_lab::services::disk;
use plimsoll_lab::vm::{self, Cable, DiskFile, Image, Images, Machine, Nic};
use plimsoll_reach::{Output, Reach};
use plimsoll_testkit::{Need, available};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More than anything here takes.
pub const LIMIT: Duration = Duration::from_secs(100);

pub const DISK: &str = "data";
pub const DEVICE: &str = "/dev/vdb";

/// A plain disk at /srv/data.
pub fn data() -> Disk {
    toml::from_str("size = \"128MiB\"\nat = \"/srv/data\"").unwrap()
}

pub struct Pair {
    pub server: Machine,
    pub client: Machine,
    pub to_server: Arc<dyn Reach>,
    pub to_client: Arc<dyn Reach>,
    pub pids: Vec<u32>,
    _directory: tempfile::TempDir,
}

impl Pair {
    pub fn possible() -> bool {
        available(Need::Machines)
    }

    pub fn start() -> Pair {
        let begun = Instant::now();
        let directory = tempfile::tempdir().unwrap();
        let images = Images::from_environment();
        images.get(Image::Debian, &mut |done| eprintln!("{done}")).unwrap();
        eprintln!("images: {:.1?}", begun.elapsed());
        let server = machine("server", directory.path(), true);
        let client = machine("client", directory.path(), false);
        let mut pids = Vec::new();
        for machine in [&server, &client] {
            let mut journal = |pid| {
                pids.push(pid);
                Ok(())
            };
            let acceleration = vm::start(machine, &images, &mut journal).unwrap();
            eprintln!("{}: {acceleration:?} {:.1?}", machine.name, begun.elapsed());
        }
        let pair = Pair {
            to_server: vm::reach(directory.path(), "server"),
            to_client: vm::reach(directory.path(), "client"),
            server,
            client,
            pids,
            _directory: directory,
        };
        pair.set_up();
        eprintln!("set up: {:.1?}", begun.elapsed());
        pair
    }

    fn set_up(&self) {
        vm::ready(&self.server, LIMIT).unwrap();
        vm::ready(&self.client, LIMIT).unwrap();
        self.server_network();
        said(&*self.to_client, "ip addr add 10.77.1.2/24 dev eth0; ip link set eth0 up");
        disk::attach(&*self.to_server, DISK, DEVICE, &data()).unwrap();
    }

    pub fn server_network(&self) {
        said(&*self.to_server, "ip addr add 10.77.1.1/24 dev eth0; ip link set eth0 up");
    }

    pub fn set_latency(&self, milliseconds: u64) {
        let latency = Some(Delay(milliseconds * 1000));
        disk::set_latency(&*self.to_server, DISK, DEVICE, latency).unwrap();
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for pid in &self.pids {
            kill(*pid);
        }
    }
}

pub fn kill(pid: u32) {
    let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
    let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
}

pub fn machine(name: &str, directory: &Path, server: bool) -> Machine {
    let mac = if server { "02:00:0a:4d:01:01" } else { "02:00:0a:4d:01:02" };
    let cable = Cable::Socket { at: directory.join("lan"), listens: server };
    let nic = Nic { mac: mac.to_owned(), cable };
    let disk =
        DiskFile { path: directory.join("disk"), bytes: 128 << 20, limit: None, discards: true };
    Machine {
        name: name.to_owned(),
        image: Image::Debian,
        memory_mib: 384,
        cores: 1,
        nics: vec![nic],
        disks: if server { vec![disk] } else { Vec::new() },
        directory: directory.to_owned(),
    }
}

#[track_caller]
pub fn run(host: &dyn Reach, command: &str, input: &[u8]) -> Output {
    host.run(command, input, LIMIT).unwrap_or_else(|failure| panic!("{failure}"))
}

/// What a command writes that succeeds.
#[track_caller]
pub fn said(host: &dyn Reach, command: &str) -> String {
    let output = run(host, command, b"");
    assert_eq!(output.status, Some(0), "{command}: {output:?}");
    String::from_utf8(output.output).unwrap()
}

/// Waits until something holds.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "not yet: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
