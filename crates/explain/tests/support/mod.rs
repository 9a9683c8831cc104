//! Synthetic studies: plausible figures from a rate per target and pattern, with repeatable noise.
#![allow(dead_code)] // each test program uses its part

pub mod servers;

use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::*;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

pub const WORKERS: u16 = 4;

pub fn workload(pattern: Pattern) -> Workload {
    let job = Job::Pattern(PatternJob::new(pattern, pattern.default_block(), Bytes(GIB)));
    let part = Part::closed(job, NonZeroU16::new(WORKERS).unwrap(), NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds: 5.0, warm_up_seconds: 1.0 })
}

/// A search for the rates of frames of this size that a router keeps, at a loss of 0.5% and without loss.
pub fn search_for_kept_rates(flow: Flow, frame: u64) -> Workload {
    let job = ForwardingJob::new(flow, Bytes(frame)).into();
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let steps = Steps::Kept {
        over: Parameter::Rate,
        from: 20.0,
        to: 1e7,
        width: 0.01,
        losses: vec![0.005, 0.0],
        final_seconds: None,
        accept: None,
        is_quick: false,
    };
    let length = Length::For { seconds: 1.5, warm_up_seconds: 0.5 };
    Workload { steps: Some(steps), ..Workload::new(part, length) }
}

/// The pattern of a workload of the plan.
pub fn pattern_of(workload: &Workload) -> Pattern {
    match &workload.parts[0].job {
        Job::Pattern(job) => job.pattern,
        other => panic!("{other:?}"),
    }
}

/// The pattern of a workload, to be changed.
pub fn job(workload: &mut Workload) -> &mut PatternJob {
    match &mut workload.parts[0].job {
        Job::Pattern(job) => job,
        other => panic!("{other:?}"),
    }
}

/// Facts of storage, to be changed.
pub fn storage(facts: &mut SubjectFacts) -> &mut TargetFacts {
    match facts {
        SubjectFacts::Storage(facts) => facts,
        other => panic!("{other:?}"),
    }
}

/// A study of `targets` (as a user writes them) without trials, of six blocks.
pub fn empty(targets: &[&str], patterns: &[Pattern]) -> Study {
    let targets: Vec<Target> = targets.iter().map(|t| t.parse().unwrap()).collect();
    let given = targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    Study {
        schema: SCHEMA.into(),
        id: StudyId("5eed0001".into()),
        started_unix_seconds: 1_760_000_000,
        origin: Origin::Measured { version: "0.1.0".into() },
        subjects: targets.iter().map(facts).map(SubjectFacts::Storage).collect(),
        measures: Vec::new(),
        plan: plan(targets, patterns, format!("plimsoll check {given} --seed 42")),
        hosts: vec![HostFacts {
            name: HostName::Local,
            kernel: "6.1.0".into(),
            cpu_model: "some CPU".into(),
            cpus: 2,
            memory_bytes: 8 * GIB,
            cpu_accounting: "ticks".into(),
            ..HostFacts::default()
        }],
        flags: Vec::new(),
        trials: Vec::new(),
        ended: Ended::Done,
    }
}

fn plan(targets: Vec<Target>, patterns: &[Pattern], command: String) -> Plan {
    let rule = Rule::Fixed { blocks: 6 };
    let subjects = targets.into_iter().map(Subject::from).collect();
    let workloads = patterns.iter().copied().map(workload).collect();
    let plan = Plan::new(subjects, workloads, Design { rule, seed: 42, ..Design::default() });
    Plan { command, ..plan }
}

fn facts(target: &Target) -> TargetFacts {
    let (label, nfs) = match target {
        Target::Nfs(nfs) => (nfs.host.clone(), true),
        Target::Smb(smb) => (smb.host.clone(), true),
        Target::Directory(d) => (d.path.display().to_string(), false),
    };
    let pick = |yes: &str, no: &str| if nfs { yes.to_owned() } else { no.to_owned() };
    TargetFacts {
        label,
        identity: None,
        given: target.to_string(),
        protocol: pick("NFSv3 over TCP", "directory on ext4").into(),
        engine: pick("plimsoll's NFS client", "io_uring"),
        read_size_bytes: if nfs { 1 << 20 } else { 0 },
        write_size_bytes: if nfs { 1 << 20 } else { 0 },
        advertised: AdvertisedSizes::default(),
        client_cache: pick("none", "O_DIRECT"),
        stability: pick("UNSTABLE, then COMMIT", "fdatasync at the end"),
        space_bytes: (4_000_000_000_000, 1_500_000_000_000),
        memory_below: nfs,
        commits_each_write: false,
        reads_from: nfs.then_some(StoredOn::ServerMemory),
        mount_options: None,
        in_place: None,
        round_trip_seconds: None,
        protection: None,
        writes: Vec::new(),
        notes: Vec::new(),
    }
}

/// Adds a complete trial of one part.
pub fn add_trial(study: &mut Study, block: u32, cell: Cell, part: PartResult) {
    study.trials.push(Trial {
        number: study.trials.len() as u32,
        block: Some(block),
        cell,
        started_seconds: 0.0,
        result: PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) },
        points: Vec::new(),
        loads: Vec::new(),
        mount: None,
        imported: None,
    });
}

/// A number in -1..1 that looks random and depends on its arguments alone.
fn wobble(block: u32, target: usize, pattern: Pattern) -> f64 {
    mixed(u64::from(block) << 32 | (target as u64) << 8 | pattern as u64)
}

/// The same by SplitMix64's finaliser.
fn mixed(mut x: u64) -> f64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// Adds a complete trial whose throughput is `bytes_per_second`.
pub fn add(study: &mut Study, block: u32, target: usize, pattern: Pattern, bytes_per_second: f64) {
    let nfs = matches!(study.plan.target(target), Some(Target::Nfs(_)));
    let number = study.trials.len() as u32;
    let of_pattern = |w: &Workload| pattern_of(w) == pattern;
    let workload = study.plan.workloads.iter().position(of_pattern).expect("planned") as u16;
    let quantities = quantities(pattern, nfs, bytes_per_second);
    study.trials.push(Trial {
        number,
        block: Some(block),
        cell: Cell { subject: target as u16, workload, setting: 0 },
        started_seconds: 5.0 + 5.5 * f64::from(number),
        result: PointResult {
            parts: vec![PartResult { quantities, ..PartResult::default() }],
            ..PointResult::empty(Outcome::Complete)
        },
        points: Vec::new(),
        loads: Vec::new(),
        mount: None,
        imported: None,
    });
}

fn quantities(pattern: Pattern, nfs: bool, rate: f64) -> BTreeMap<Metric, f64> {
    let mut quantities = BTreeMap::new();
    let halves = [(Some(OpKind::READ), 0.5), (Some(OpKind::WRITE), 0.5)];
    let mixed = pattern == Pattern::RandomMixed;
    let sides = halves.iter().filter(|_| mixed).chain(&[(None, 1.0)]);
    for &(kind, share) in sides {
        let iops = share * rate / pattern.default_block().0 as f64;
        let latency = f64::from(WORKERS) * share / iops;
        let mut set = |measure, value| quantities.insert(Metric { kind, measure }, value);
        set(Measure::IOPS, iops);
        set(Measure::THROUGHPUT, share * rate);
        set(Measure::LATENCY_MEAN, latency);
        set(Measure::LATENCY_P50, 0.9 * latency);
        set(Measure::LATENCY_P99, 3.0 * latency);
        set(Measure::LATENCY_MAX, 10.0 * latency);
        if nfs {
            set(Measure::RPC_LATENCY_P50, 0.85 * latency);
        }
        if kind.is_none() {
            let per_byte = if nfs { 0.15e-9 } else { 0.05e-9 };
            set(Measure::CLIENT_CPU_PER_BYTE, per_byte);
            set(Measure::CLIENT_CPU_PER_OP, 1.2e-5);
            set(Measure::MACHINE_CPU_PER_BYTE, 2.0 * per_byte);
            set(Measure::MACHINE_CPU_PER_OP, 2.4e-5);
            set(Measure::IN_FLIGHT, f64::from(WORKERS));
            if pattern.writes() {
                set(Measure::FLUSH_TIME, 0.25);
            }
        }
    }
    quantities
}

/// Adds `blocks` blocks; `rate` gives each target's mean bytes per second, `spread` the largest
/// deviation as a fraction.
pub fn add_blocks(
    study: &mut Study,
    blocks: u32,
    spread: f64,
    rate: impl Fn(usize, Pattern) -> f64,
) {
    let patterns: Vec<Pattern> = study.plan.workloads.iter().map(pattern_of).collect();
    for block in 0..blocks {
        for &pattern in &patterns {
            for target in 0..study.plan.subjects.len() {
                let noise = (spread * wobble(block, target, pattern)).exp();
                add(study, block, target, pattern, rate(target, pattern) * noise);
            }
        }
    }
}

/// Turns a trial into one that failed while it was measured.
pub fn fail(trial: &mut Trial) {
    trial.result.parts.clear();
    trial.result.outcome = Outcome::Failed {
        phase: "measure".into(),
        failure: Failure::new(Cause::Unreachable, "read from the share")
            .on("nfs://nas/volume1")
            .happened("no answer within 30 s")
            .next("See whether the server still runs, then run the command again."),
    };
}

/// So much of one of the classes of a home's files.
pub fn dataset(class: DataClass, scale: f64) -> Dataset {
    let (count, mean_bytes) = class.files_and_mean_bytes();
    GeneratedData { class, count, mean_bytes, scale, seed: 1 }.dataset()
}

/// Copies of these datasets, each up and down, in blocks of 1 MiB, by these methods.
pub fn copies_by(methods: &[Method], datasets: &[Dataset]) -> Vec<Workload> {
    let ways = [Transfer::Up, Transfer::Down];
    let all = datasets.iter().flat_map(|data| ways.map(|way| (data.clone(), way)));
    let all = all.flat_map(|(data, way)| methods.iter().map(move |how| (data.clone(), way, *how)));
    let jobs = all.map(|(dataset, transfer, method)| CopyJob {
        dataset,
        transfer,
        method,
        block: Bytes(1 << 20),
        verify: false,
    });
    let one = NonZeroU16::MIN;
    let length = Length::UntilDone { at_most_seconds: 600.0 };
    jobs.map(|job| Workload::new(Part::closed(job.into(), one, one), length)).collect()
}

/// The same as rsync does.
pub fn copies(datasets: &[Dataset]) -> Vec<Workload> {
    copies_by(&[Method::Rsync], datasets)
}

/// A study of workloads that copy, whose trials take what is given, but for this noise.
pub fn copied(
    targets: &[&str],
    workloads: Vec<Workload>,
    blocks: u32,
    noise: f64,
    seconds: impl Fn(u16, &FileWork) -> f64,
) -> Study {
    let mut study = empty(targets, &[]);
    study.plan.workloads = workloads;
    study.plan.contrasts = Contrast::against_first(&study.plan);
    for block in 0..blocks {
        for cell in study.plan.cells() {
            let job = &study.plan.workload(cell).unwrap().parts[0].job;
            let work = job.file_work().unwrap();
            let place = u64::from(block) << 32 | u64::from(cell.workload) << 16;
            let off = noise * mixed(place | u64::from(cell.subject));
            let seconds = seconds(cell.subject, &work) * (1.0 + off);
            let quantities = BTreeMap::from([
                (Metric::all(Measure::ELAPSED), seconds),
                (Metric::all(Measure::FILES), work.files as f64 / seconds),
                (Metric::all(Measure::THROUGHPUT), work.bytes.0 as f64 / seconds),
            ]);
            let kind = if work.way == "down" { OpKind::READ } else { OpKind::WRITE };
            let per_file = (work.bytes.0.div_ceil(work.files)).div_ceil(work.block.0);
            let ops = [(kind, per_file * work.files, work.bytes.0), (OpKind::OPEN, work.files, 0)];
            let ops = ops
                .map(|(kind, count, bytes)| (kind, OpStats { count, bytes, ..OpStats::default() }));
            let part = PartResult { quantities, ops: ops.into(), ..PartResult::default() };
            let number = study.trials.len() as u32;
            study.trials.push(Trial {
                number,
                block: Some(block),
                cell,
                started_seconds: 5.0 + 5.5 * f64::from(number),
                result: PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) },
                points: Vec::new(),
                loads: Vec::new(),
                mount: None,
                imported: None,
            });
        }
    }
    study
}
