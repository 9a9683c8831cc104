//! Disks of machines are as slow, as secret and as little a disk as the lab file asks for.

use super::super::support::beds::Beds;
use plimsoll_lab::plan::Delay;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A machine with a disk of each kind.
pub const LAB: &str = r#"
[host.a]
kind = "vm"
[host.a.disk.slow]
size = "128MiB"
at = "/srv/slow"
rate = "20MB/s"
latency = "4ms"
[host.a.disk.quick]
size = "192MiB"
at = "/srv/quick"
rate = "4MB/s"
burst = { rate = "20MB/s", seconds = 5 }
[host.a.disk.secret]
size = "32MiB"
at = "/srv/secret"
encrypted = true
[host.a.disk.none]
size = "32MiB"
at = "/srv/none"
kind = "null"
discards = false
[host.a.disk.nothing]
size = "32MiB"
at = "/srv/nothing"
kind = "null"
"#;

/// Not all zeros, so that nothing takes it for free room.
const PLAINTEXT: &str = "what nobody else shall read ";

pub fn rates(beds: &Beds) {
    // By the clock of the machine, from when dd begins until all of it is written.
    let seconds = |disk: &str, mb: u32| -> f64 {
        let line = format!(
            "dd if=/dev/zero of=/srv/{disk}/file bs=100k count={}0 oflag=direct 2>&1 | \
             sed -n 's/.* copied, \\([0-9.]*\\) s,.*/\\1/p'",
            mb
        );
        beds.on("disks/a", &line).trim().parse().unwrap()
    };
    assert_eq!(limit(beds, SLOW), (20_000_000, 0, 1));
    // A tenth of a second's worth may go at once, and the last request is not waited for. Other work
    // makes it longer, never shorter.
    let at_twenty = seconds("slow", 40);
    assert!(at_twenty >= 1.8, "40 MB in {at_twenty} s");
    beds.lab(&["set", "disks", "a/slow", "rate=2MB/s"]).expect(0);
    assert_eq!(limit(beds, SLOW), (2_000_000, 0, 1));
    let at_two = seconds("slow", 10);
    assert!(at_two >= 4.8, "10 MB in {at_two} s");
    beds.lab(&["set", "disks", "a/slow", "rate=none"]).expect(0);
    assert_eq!(limit(beds, SLOW), (0, 0, 1), "there is none");
    let free = seconds("slow", 10);
    eprintln!("40 MB at 20 MB/s: {at_twenty} s; 10 MB at 2 MB/s: {at_two} s, without: {free} s");
    let null = beds.lab(&["set", "disks", "a/none", "rate=2MB/s"]).expect(2);
    assert!(null.err.contains("cannot have a rate"), "{}", null.err);
    // 80 MB beyond the rate go at once, be they asked for fast or slowly: 40 are left for 4 MB/s.
    assert_eq!(limit(beds, QUICK), (4_000_000, 20_000_000, 4));
    let after_burst = seconds("quick", 120);
    assert!(after_burst >= 9.5, "120 MB in {after_burst} s");
    beds.lab(&["set", "disks", "a/quick", "rate=5MB/s"]).expect(0);
    assert_eq!(limit(beds, QUICK), (5_000_000, 20_000_000, 4), "the burst is as it was");
    let slower = beds.lab(&["set", "disks", "a/quick", "rate=30MB/s"]).expect(2);
    assert!(slower.err.contains("not faster than the rate"), "{}", slower.err);
    beds.lab(&["set", "disks", "a/quick", "burst=9MB/s"]).expect(2);
    beds.lab(&["set", "disks", "a/quick", "burst=none"]).expect(0);
    assert_eq!(limit(beds, QUICK), (5_000_000, 0, 1));
    eprintln!("120 MB at 20 MB/s for 5 s, then 4 MB/s: {after_burst} s");
}

/// The places of disks among those that are files, in order of names.
const QUICK: &str = "disk0";
const SLOW: &str = "disk2";

/// What QEMU lets a disk read and write together by its own account, in bytes per second; the same of
/// its burst, and the length of its bucket in seconds.
fn limit(beds: &Beds, disk: &str) -> (u64, u64, u64) {
    let socket = beds.directory("disks").join("a.monitor");
    let mut monitor = UnixStream::connect(socket).unwrap();
    monitor.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let commands = "{\"execute\": \"qmp_capabilities\"}\n{\"execute\": \"query-block\"}\n";
    monitor.write_all(commands.as_bytes()).unwrap();
    for line in BufReader::new(monitor).lines() {
        let answer: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let devices = answer["return"].as_array().into_iter().flatten();
        let mut disks = devices.filter(|device| device["device"] == disk);
        if let Some(disk) = disks.next() {
            // What is not limited has no length.
            let value = |key: &str| disk["inserted"][key].as_u64();
            let burst = value("bps_max").unwrap_or(0);
            return (value("bps").unwrap(), burst, value("bps_max_length").unwrap_or(1));
        }
    }
    panic!("QEMU has no such disk")
}

pub fn latencies(beds: &Beds) {
    let measured = || {
        let status = beds.lab(&["status", "disks", "--json"]).expect(0).out;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let measured = &status[0]["hosts"]["a"]["disks"]["slow"]["measured_latency"];
        measured.as_str().map(|text| text.parse::<Delay>().unwrap().0)
    };
    let table = || beds.on("disks/a", "dmsetup table plimsoll-slow");
    assert!(table().ends_with(" 0 4\n"), "{}", table());
    assert!(measured().is_some());
    beds.lab(&["set", "disks", "a/slow", "latency=40ms"]).expect(0);
    assert!(table().ends_with(" 0 40\n"), "{}", table());
    // A tick of the machine's kernel less may be.
    let took = measured().unwrap();
    assert!(took >= 36_000, "{took} us");
    beds.lab(&["set", "disks", "a/slow", "latency=none"]).expect(0);
    assert!(table().ends_with(" 0 0\n") && measured().is_none(), "{}", table());
    let odd = beds.lab(&["set", "disks", "a/slow", "latency=1.5ms"]).expect(2);
    assert!(odd.err.contains("whole milliseconds"), "{}", odd.err);
}

pub fn encryption(beds: &Beds) {
    let write = format!(
        "for d in slow secret; do yes '{PLAINTEXT}' | head -c 300000 >/srv/$d/text; done; sync"
    );
    beds.on("disks/a", &write);
    let holds = |disk: &str| {
        let bytes = fs::read(beds.directory("disks").join(format!("a.{disk}.disk"))).unwrap();
        let text = PLAINTEXT.as_bytes();
        // The magic number of ext4 is in its superblock.
        (bytes.windows(text.len()).any(|w| w == text), bytes[0x438..0x43a] == [0x53, 0xef])
    };
    assert_eq!(holds("slow"), (true, true));
    assert_eq!(holds("secret"), (false, false));
    let read = beds.on("disks/a", "cmp /srv/slow/text /srv/secret/text && cat /srv/secret/text");
    assert!(read.starts_with(PLAINTEXT));
    let table = beds.on("disks/a", "dmsetup table --showkeys plimsoll-secret.clear");
    let words: Vec<_> = table.split_whitespace().collect();
    assert_eq!((words[2], words[3], words[4].len()), ("crypt", "aes-xts-plain64", 128), "{table}");
}

pub fn no_disk_at_all(beds: &Beds) {
    let discards =
        "cat /sys/block/nullb0/queue/discard_max_bytes /sys/block/nullb1/queue/discard_max_bytes";
    let discards = beds.on("disks/a", discards);
    let (without, with) = discards.trim().split_once('\n').unwrap();
    assert!(without == "0" && with != "0", "{discards}");
    for disk in ["none", "nothing"] {
        let table = beds.on("disks/a", &format!("dmsetup table plimsoll-{disk}"));
        let under: Vec<_> = table.split_whitespace().collect();
        let device = beds.on("disks/a", &format!("readlink /sys/dev/block/{}", under[3]));
        assert!(device.contains("/nullb"), "{table}{device}");
        assert!(!beds.directory("disks").join(format!("a.{disk}.disk")).exists());
        let line =
            format!("head -c 9000000 /dev/urandom >/srv/{disk}/f; sync; wc -c </srv/{disk}/f");
        assert_eq!(beds.on("disks/a", &line).trim(), "9000000");
    }
}
