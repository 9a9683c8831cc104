//! What the disks of a watched server tell of reads and writes.

mod support;

use plimsoll_explain::{reads_from, server_memory, writes};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use support::{add, empty, storage};

const SERVER: &str = "ssh://root@nas";
const TRIAL_BYTES: u64 = 1_000_000_000;

/// Eight trials of 10 s of a pattern, during which the server's disk read and wrote so much of each byte.
fn study(pattern: Pattern, read: f64, written: f64, flush_seconds: f64) -> Study {
    let mut study = empty(&["nfs://nas/a"], &[pattern]);
    let host = SERVER.parse().unwrap();
    study.plan.hosts = vec![ServerHost { host, subject: None, guessed: false }];
    study.hosts.push(HostFacts {
        name: SERVER.into(),
        memory_bytes: 25_232_932_864,
        ..HostFacts::default()
    });
    storage(&mut study.subjects[0]).reads_from = Some(StoredOn::Unknown);
    let state =
        WriteState { workload: 0, seconds: 0.0, bytes: Bytes(0), steady_bytes_per_second: None };
    storage(&mut study.subjects[0]).writes = vec![state];
    for block in 0..8 {
        add(&mut study, block, 0, pattern, TRIAL_BYTES as f64 / 10.0);
        let trial = study.trials.last_mut().unwrap();
        let kind = if pattern.reads() { OpKind::READ } else { OpKind::WRITE };
        let part = &mut trial.result.parts[0];
        part.ops.insert(kind, OpStats { bytes: TRIAL_BYTES, ..OpStats::default() });
        part.quantities.insert(Metric::all(Measure::FLUSH_TIME), flush_seconds);
        let share = |share: f64| (share * TRIAL_BYTES as f64) as u64;
        let disk = |name: &str, read: u64, written: u64| DiskLoad {
            name: name.into(),
            read_bytes: read,
            written_bytes: written,
            ..DiskLoad::default()
        };
        trial.loads.push(HostLoad {
            host: SERVER.into(),
            seconds: 10.0,
            disks: vec![disk("md0", share(read), share(written)), disk("sda", 4096, 4096)],
            ..HostLoad::default()
        });
    }
    study
}

#[test]
fn reads_without_a_byte_from_disk_came_from_memory() {
    let of = |read: f64| reads_from(&study(Pattern::SequentialRead, read, 0.0, 0.0), 0);
    assert_eq!(of(0.0), Some(StoredOn::ServerMemory));
    assert_eq!(of(1.0), Some(StoredOn::Disk));
    assert_eq!(of(0.5), Some(StoredOn::Unknown));
    // Nobody watched, or the disks of another host.
    let mut study = study(Pattern::SequentialRead, 0.0, 0.0, 0.0);
    assert_eq!(server_memory(&study, 0), Some(Bytes(25_232_932_864)));
    study.plan.hosts.clear();
    assert_eq!(reads_from(&study, 0), Some(StoredOn::Unknown));
    assert_eq!(server_memory(&study, 0), None);
    // What the cache test found stays.
    storage(&mut study.subjects[0]).reads_from = Some(StoredOn::Disk);
    assert_eq!(reads_from(&study, 0), Some(StoredOn::Disk));
}

/// Writes whose final flush waited for the disk, or that the disk took meanwhile, are no burst's.
#[test]
fn writes_that_reached_the_disk_are_sustained() {
    let of = |written: f64, flush: f64| {
        writes(&study(Pattern::SequentialWrite, 0.0, written, flush))[0].sustained
    };
    assert_eq!(of(0.2, 8.0), Ok(()), "the flush is in the figure");
    assert_eq!(of(1.0, 0.01), Ok(()), "the disk wrote all of it");
    assert_eq!(of(0.2, 0.01), Err(Burst::NotConditioned));
    // One trial that a cache took is enough to doubt all.
    let mut one = study(Pattern::SequentialWrite, 0.0, 0.2, 8.0);
    let quantities = &mut one.trials[3].result.parts[0].quantities;
    quantities.insert(Metric::all(Measure::FLUSH_TIME), 0.0);
    assert_eq!(writes(&one)[0].sustained, Err(Burst::NotConditioned));
}
