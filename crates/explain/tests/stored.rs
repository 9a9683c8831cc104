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
    study.plan.watched.push(Watched::new(host, HostRole::Server));
    study.hosts.push(HostFacts {
        name: SERVER.parse().unwrap(),
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
            host: SERVER.parse().unwrap(),
            seconds: 10.0,
            disks: vec![disk("md0", share(read), share(written)), disk("sda", 4096, 4096)],
            ..HostLoad::default()
        });
    }
    study
}

#[test]
fn reads_without_a_byte_from_disk_came_from_memory() {
    let stored_on = |read: f64| reads_from(&study(Pattern::SequentialRead, read, 0.0, 0.0), 0);
    assert_eq!(stored_on(0.0), Some(StoredOn::ServerMemory));
    assert_eq!(stored_on(1.0), Some(StoredOn::Disk));
    assert_eq!(stored_on(0.5), Some(StoredOn::Unknown));
    // Nobody watched, or the disks of another host.
    let mut study = study(Pattern::SequentialRead, 0.0, 0.0, 0.0);
    assert_eq!(server_memory(&study, 0), Some(Bytes(25_232_932_864)));
    study.plan.watched.retain(|one| one.role == HostRole::Client);
    assert_eq!(reads_from(&study, 0), Some(StoredOn::Unknown));
    assert_eq!(server_memory(&study, 0), None);
    // Copies have no cache test: the disks alone decide.
    let untested = |read: f64| {
        let mut study = self::study(Pattern::SequentialRead, read, 0.0, 0.0);
        storage(&mut study.subjects[0]).reads_from = None;
        study
    };
    assert_eq!(reads_from(&untested(0.0), 0), Some(StoredOn::ServerMemory));
    assert_eq!(reads_from(&untested(1.0), 0), Some(StoredOn::Disk));
    assert_eq!(reads_from(&untested(0.5), 0), None);
    // What another program reads during one trial in twelve changes nothing; in half of them nobody knows.
    for (others, from) in [(1, Some(StoredOn::ServerMemory)), (6, None)] {
        let mut study = untested(0.0);
        let more: Vec<Trial> = study.trials[..4].to_vec();
        study.trials.extend(more);
        for trial in &mut study.trials[..others] {
            trial.loads[0].disks[0].read_bytes = TRIAL_BYTES / 2;
        }
        assert_eq!(reads_from(&study, 0), from, "{others} of {}", study.trials.len());
    }
    // The answer of the cache test stays.
    storage(&mut study.subjects[0]).reads_from = Some(StoredOn::Disk);
    assert_eq!(reads_from(&study, 0), Some(StoredOn::Disk));
}

/// Numbers between 0 and 1, the same in each run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between two numbers, each factor as likely as any other.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }
}

/// What a final flush waits for.
#[derive(Clone, Copy, PartialEq)]
enum Flush {
    /// Nothing but a commit: the data stays in memory.
    Nothing,
    /// The data, which the disk has written since the trial began.
    Eager,
    /// The data, which the disk begins to write only then.
    Lazy,
}

/// The share of a trial that a flush takes tells whether it waited for the data: 3,000 servers with a cache of 50 MB/s
/// to 2 GB/s before a disk of a hundredth to twice of that, trials of 0.5 to 10 s, commits of 0.1 to 50 ms.
#[test]
fn no_server_whose_flush_waits_for_nothing_is_called_sustained() {
    let mut chance = Chance(42);
    let (mut missed, mut honest) = (0, 0);
    for number in 0..3_000 {
        let flush = [Flush::Nothing, Flush::Eager, Flush::Lazy][number % 3];
        let cache = chance.between(50e6, 2e9);
        let disk = cache * chance.between(0.01, 2.0);
        let (writing, commit) = (chance.between(0.5, 10.0), chance.between(1e-4, 0.05));
        let bytes = cache * writing;
        let flushing = commit
            + match flush {
                Flush::Nothing => 0.0,
                Flush::Eager => (bytes / disk - writing).max(0.0),
                Flush::Lazy => bytes / disk,
            };
        let rate = bytes / (writing + flushing);
        let mut one = study(Pattern::SequentialWrite, 0.0, 0.0, flushing);
        for trial in &mut one.trials {
            let part = &mut trial.result.parts[0];
            part.quantities.insert(Metric::all(Measure::THROUGHPUT), rate);
            part.ops.get_mut(&OpKind::WRITE).unwrap().bytes = bytes as u64;
        }
        let sustained = writes(&one)[0].sustained.is_ok();
        if flush == Flush::Nothing {
            assert!(!sustained, "{number}: {flushing} s after {writing} s");
            continue;
        }
        assert!(!sustained || rate <= disk * 1.000_001, "{number}: {rate} above {disk}");
        honest += 1;
        if !sustained {
            // Then the disk is as fast as the cache, or nearly.
            assert!(rate > 0.85 * disk.min(cache), "{number}: {rate} of {disk}, {cache}");
            missed += 1;
        }
    }
    println!("{missed} of {honest} servers whose flush waits for the data are called bursts");
    assert!(missed < honest / 5, "{missed} of {honest}");
}

/// Nothing is written before the trials of a sweep: its writes are a burst unless the trials show the disk's time.
#[test]
fn writes_of_a_sweep_are_a_burst_unless_they_reached_the_disk() {
    let sustained = |written: f64, flush: f64| {
        let mut study = study(Pattern::SequentialWrite, 0.0, written, flush);
        storage(&mut study.subjects[0]).writes.clear();
        assert_eq!(writes(&study), [], "without steps nothing is known");
        let values = vec![4096.0, 65_536.0];
        study.plan.workloads[0].steps = Some(Steps::Sweep { over: Parameter::Block, values });
        writes(&study)[0].sustained
    };
    assert_eq!(sustained(0.2, 0.01), Err(Burst::NotConditioned));
    assert_eq!(sustained(0.2, 8.0), Ok(()));
    assert_eq!(sustained(1.0, 0.01), Ok(()));
    let mut reads = study(Pattern::SequentialRead, 0.0, 0.0, 0.0);
    storage(&mut reads.subjects[0]).writes.clear();
    let values = vec![4096.0];
    reads.plan.workloads[0].steps = Some(Steps::Sweep { over: Parameter::Block, values });
    assert_eq!(writes(&reads), []);
}

/// Writes whose final flush waited for the disk, or that the disk took meanwhile, are no burst's.
#[test]
fn writes_that_reached_the_disk_are_sustained() {
    let sustained = |written: f64, flush: f64| {
        writes(&study(Pattern::SequentialWrite, 0.0, written, flush))[0].sustained
    };
    assert_eq!(sustained(0.2, 8.0), Ok(()), "the flush is in the figure");
    assert_eq!(sustained(1.0, 0.01), Ok(()), "the disk wrote all of it");
    assert_eq!(sustained(0.2, 0.01), Err(Burst::NotConditioned));
    // One trial that a cache took is enough to doubt all.
    let mut one = study(Pattern::SequentialWrite, 0.0, 0.2, 8.0);
    let quantities = &mut one.trials[3].result.parts[0].quantities;
    quantities.insert(Metric::all(Measure::FLUSH_TIME), 0.0);
    assert_eq!(writes(&one)[0].sustained, Err(Burst::NotConditioned));
    // During one trial another program wrote more than all trials together.
    let mut others = study(Pattern::SequentialWrite, 0.0, 0.0, 0.0);
    others.trials[0].loads[0].disks[0].written_bytes = 20 * TRIAL_BYTES;
    assert_eq!(writes(&others)[0].sustained, Err(Burst::NotConditioned));
}
