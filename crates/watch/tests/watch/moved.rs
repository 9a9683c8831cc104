//! What disks and the network moved, against what a known writer and a known sender moved. These
//! compare counters, not times.

use crate::support::{by_shell, sample};
use plimsoll_model::{HostLoad, HostName};
use plimsoll_testkit::Need;
use plimsoll_watch::{Ask, Watch, load_between};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

/// The load of this machine, as a shell on this stage sees it, while something is done.
fn meanwhile(work: impl FnOnce()) -> HostLoad {
    let mut watch = by_shell();
    let before = sample(&mut watch, Ask::Counters);
    work();
    let after = sample(&mut watch, Ask::Counters);
    load_between(&HostName::Local, watch.hardware(), &before, &after).unwrap()
}

fn within_1_percent(seen: u64, moved: u64) {
    let ratio = seen as f64 / moved as f64;
    println!("{seen} seen, {moved} moved: {ratio:.5}");
    assert!((0.99..=1.01).contains(&ratio), "{seen} seen, {moved} moved");
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A block device of its own, so that nobody else writes to it.
struct Loop {
    device: String,
    _file: tempfile::NamedTempFile,
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

#[test]
fn a_disk_moved_what_its_writer_and_reader_moved() {
    const BLOCK: usize = 64 << 10;
    const BLOCKS: u64 = 512;
    let _stage = plimsoll_testkit::enter_or_skip!();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(BLOCK as u64 * BLOCKS).unwrap();
    let path = file.path().display().to_string();
    let device = said("losetup", &["--find", "--show", &path]);
    let disk = Loop { device, _file: file };
    let name = disk.device.trim_start_matches("/dev/").to_owned();
    let bytes = BLOCK as u64 * BLOCKS;

    let load = meanwhile(|| {
        let dd = |words: &[&str]| said("dd", words);
        let out = format!("of={}", disk.device);
        dd(&["if=/dev/zero", &out, "bs=64k", "count=512", "oflag=direct", "status=none"]);
    });
    let wrote = load.disks.iter().find(|d| d.name == name).unwrap();
    within_1_percent(wrote.written_bytes, bytes);
    within_1_percent(wrote.writes, BLOCKS);
    assert!(wrote.busy_seconds <= load.seconds * 1.5, "{wrote:?} in {} s", load.seconds);

    let load = meanwhile(|| {
        let input = format!("if={}", disk.device);
        said("dd", &[&input, "of=/dev/null", "bs=64k", "iflag=direct", "status=none"]);
    });
    let read = load.disks.iter().find(|d| d.name == name).unwrap();
    within_1_percent(read.read_bytes, bytes);
    within_1_percent(read.reads, BLOCKS);
}

/// This file system's own disk: others write to it too, which can only add.
#[test]
fn the_disk_below_this_file_system_moved_what_its_writer_moved() {
    const BYTES: u64 = 256 << 20;
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = said("stat", &["-c", "%d", &file.path().display().to_string()]);
    let number: u64 = place.parse().unwrap();
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    let link = format!("/sys/dev/block/{major}:{minor}");
    let Ok(device) = std::fs::read_link(&link) else {
        eprintln!("SKIPPED: temporary files are on no block device");
        return;
    };
    let name = device.file_name().unwrap().to_str().unwrap();
    let out = format!("of={}", file.path().display());
    let mut closest = f64::INFINITY;
    for _ in 0..20 {
        let load = meanwhile(|| {
            let words =
                ["if=/dev/zero", &out, "bs=1M", "count=256", "oflag=direct", "conv=notrunc"];
            said("dd", &[&words[..], &["status=none"]].concat());
        });
        let disk = load.disks.iter().find(|d| d.name == name).unwrap();
        assert!(disk.written_bytes >= BYTES, "less than was written: {disk:?}");
        closest = closest.min(disk.written_bytes as f64 / BYTES as f64);
        if closest <= 1.01 {
            return;
        }
    }
    panic!("{closest} times as much as was written, at best of 20");
}

/// The other end of a wire, in a network namespace of its own.
struct OtherEnd(Child);

impl Drop for OtherEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_interface_moved_what_its_sender_sent() {
    const DATAGRAMS: u64 = 20_000;
    const PAYLOAD: u64 = 1400;
    /// UDP, IPv4 and Ethernet.
    const HEADERS: u64 = 8 + 20 + 14;
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    let other = Command::new("unshare")
        .args(["--net", "sh", "-c", "echo ready; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn();
    let mut other = OtherEnd(other.unwrap());
    let mut ready = [0; 6];
    std::io::Read::read_exact(other.0.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let id = other.0.id().to_string();
    let ip = |words: &str| said("ip", &words.split(' ').collect::<Vec<_>>());
    ip("link add wire0 type veth peer name wire1");
    ip(&format!("link set wire1 netns {id}"));
    ip("addr add 192.0.2.1/24 dev wire0");
    ip("link set wire0 up");
    said("nsenter", &["-t", &id, "-n", "ip", "link", "set", "wire1", "up"]);
    ip("neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev wire0");

    let load = meanwhile(|| {
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        socket.connect("192.0.2.2:9").unwrap();
        let payload = [7; PAYLOAD as usize];
        (0..DATAGRAMS).for_each(|_| assert_eq!(socket.send(&payload).unwrap(), payload.len()));
    });
    let wire = load.interfaces.iter().find(|i| i.name == "wire0").unwrap();
    within_1_percent(wire.sent_bytes, DATAGRAMS * (PAYLOAD + HEADERS));
    within_1_percent(wire.sent_packets, DATAGRAMS);
}
