//! Strategies that reach every variant and every field of a study.

use super::{full, imported};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Every kind of flag.
pub fn flags_of(x: f64, n: u64, text: &str) -> Vec<Flag> {
    let target = || text.to_owned();
    vec![
        Flag::InFlightMismatch { integrated: x, by_littles_law: -x },
        Flag::TwoPhases {
            at_seconds: x,
            burst_bytes_per_second: 2.0 * x,
            sustained_bytes_per_second: x,
        },
        Flag::LongGap { seconds: x },
        Flag::BusyBaseline { host: target(), busy: x },
        Flag::OtherTraffic { host: target(), bytes_per_second: x },
        Flag::ClientSaturated { host: None, core_busy: x },
        Flag::OtherRun { directory: target() },
        Flag::Leftovers { directories: vec![target(), target()], target: target(), on: None },
        Flag::PageCache { target: target() },
        working_set(text, n, StoredOn::ServerMemory, None),
        working_set(text, n, StoredOn::Unknown, Some(Bytes(n))),
        Flag::SizeLowered { wanted: Bytes(n), used: Bytes(n / 2), bytes_per_second: x },
        Flag::SameTarget { target: target() },
        Flag::BadContent { stale: n, misplaced: 1, corrupt: 0 },
        Flag::ServerRestarted,
        Flag::NotCleaned { target: target(), directory: target(), on: None },
        Flag::StabilityDiffers { detail: target() },
        Flag::CapReached { blocks: n as u32, wanted: 7 },
        Flag::Quick { resolvable: Some(x) },
        Flag::Quick { resolvable: None },
        Flag::FewOperations { count: n },
    ]
}

/// Flags that came after the golden files, which have none of them.
pub fn flags_since(x: f64, n: u64, text: &str) -> Vec<Flag> {
    let text = || text.to_owned();
    vec![
        Flag::SizeFitted {
            target: text(),
            wanted: Bytes(n),
            used: Bytes(n / 2),
            available: Bytes(n),
        },
        Flag::ReplySurplus { target: text(), call: text(), bytes: n },
        Flag::CallFailed { target: text(), call: text(), reason: text(), instead: text() },
        Flag::Stolen { host: text(), share: x },
    ]
}

/// Every kind of flag about a host that was added after the golden file.
pub fn flags_of_hosts(x: f64, text: &str) -> Vec<Flag> {
    let host = || text.to_owned();
    vec![
        Flag::BusyProcess { host: host(), process: host(), cores: x },
        Flag::BusyRaid { host: host(), work: host() },
        Flag::ServerSaturated { host: host(), core_busy: x },
        Flag::Throttled { host: host(), from_hertz: x, to_hertz: x, celsius: Some(x) },
        Flag::Throttled { host: host(), from_hertz: x, to_hertz: x, celsius: None },
        Flag::HiddenFromTicks { host: host(), by_ticks: x, by_scheduler: x },
        Flag::NotWatched { host: host(), reason: host() },
        Flag::HostLost { host: host(), reason: host() },
        Flag::HostRestarted { host: host() },
        Flag::ImpossibleCounters { host: host() },
        Flag::SameMachine { host: host() },
        Flag::Leftovers { directories: vec![host()], target: host(), on: Some(host()) },
        Flag::NotCleaned { target: host(), directory: host(), on: Some(host()) },
    ]
}

fn working_set(target: &str, n: u64, reads_from: StoredOn, settles: Option<Bytes>) -> Flag {
    Flag::WorkingSet { target: target.to_owned(), size: Bytes(n), reads_from, settles }
}

/// Any text, control characters and all.
pub fn text() -> impl Strategy<Value = String> + Clone {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

fn flags() -> impl Strategy<Value = Vec<Flag>> {
    (any::<f64>(), any::<u64>(), text())
        // Half of the largest, because one kind doubles it.
        .prop_map(|(x, n, s)| {
            [flags_of(x / 2.0, n, &s), flags_of_hosts(x, &s), flags_since(x, n, &s)].concat()
        })
        .prop_flat_map(|all| vec(select(all), 0..4))
}

fn failure() -> impl Strategy<Value = Failure> {
    let causes = [
        Cause::Trial,
        Cause::Usage,
        Cause::Unreachable,
        Cause::Authentication,
        Cause::NotPermitted,
        Cause::NoSpace,
        Cause::Interrupted,
        Cause::Terminated,
    ];
    (select(causes.to_vec()), text(), text(), text(), text())
        .prop_map(|(cause, tried, on, why, next)| Failure::new(cause, tried, on, why, next))
}

pub fn target() -> impl Strategy<Value = Target> {
    let ports = select(vec![SourcePort::Auto, SourcePort::Privileged, SourcePort::Any]);
    let numbers = (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>());
    let nfs = (text(), text(), any::<(Option<u16>, Option<u16>)>(), numbers, ports).prop_map(
        |(host, path, (port, mount_port), (uid, gid, rsize), source_port)| {
            let wsize = rsize;
            let nfs =
                NfsTarget { host, port, path, mount_port, uid, gid, rsize, wsize, source_port };
            Target::Nfs(nfs)
        },
    );
    let directory = text().prop_map(|t| Target::Directory(DirectoryTarget { path: t.into() }));
    prop_oneof![nfs, smb().prop_map(Target::Smb), directory]
}

pub fn smb() -> impl Strategy<Value = SmbTarget> {
    let protection = select(vec![SmbProtection::Auto, SmbProtection::On, SmbProtection::Off]);
    let dialect = proptest::option::of(select(SmbDialect::ALL.to_vec()));
    let optional = || proptest::option::of(text());
    let names = (text(), optional(), optional(), text(), text());
    let numbers = (any::<Option<u16>>(), any::<Option<u32>>());
    (names, numbers, dialect, protection, any::<bool>()).prop_map(
        |((host, domain, user, share, path), (port, rsize), dialect, sign, guest_allowed)| {
            let (encrypt, wsize) = (sign, rsize);
            SmbTarget {
                host,
                port,
                domain,
                user,
                share,
                path,
                dialect,
                sign,
                encrypt,
                guest_allowed,
                rsize,
                wsize,
            }
        },
    )
}

pub fn workload() -> impl Strategy<Value = Workload> {
    (
        select(Pattern::ALL.to_vec()),
        any::<(u64, u64, std::num::NonZeroU16, std::num::NonZeroU16, bool)>(),
        select(vec![Layout::Disjoint, Layout::Shared]),
        select(vec![Stability::Unstable, Stability::FileSync]),
    )
        .prop_map(|(pattern, (block, size, workers, depth, verify), layout, stability)| {
            Workload {
                pattern,
                block: Bytes(block),
                size: Bytes(size),
                workers,
                depth,
                layout,
                stability,
                verify,
            }
        })
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let rules = prop_oneof![
        any::<(u32, f64)>().prop_map(|(pilot, half_width)| Rule::Stein { pilot, half_width }),
        any::<u32>().prop_map(|blocks| Rule::Fixed { blocks }),
    ];
    (
        vec(target(), 0..4),
        vec(workload(), 0..4),
        rules,
        any::<[f64; 7]>(),
        (any::<u64>(), option::of(0usize..9)),
        option::of(select(vec![Engine::IoUring, Engine::Psync])),
        text(),
    )
        .prop_map(|(targets, workloads, rule, x, (seed, server), engine, command)| Plan {
            targets,
            hosts: server
                .map(|target| ServerHost {
                    host: HostName::Local,
                    target: Some(target),
                    guessed: false,
                })
                .into_iter()
                .collect(),
            workloads,
            trial_seconds: x[0],
            warm_up_seconds: x[1],
            rule,
            cap_seconds: x[2],
            baseline_seconds: x[3],
            margin: x[4],
            confidence: x[5],
            operation_timeout_seconds: x[6],
            seed,
            engine,
            on: engine.map(|_| "ssh://me@client".parse().unwrap()),
            server_memory: engine.map(|_| Bytes(seed)),
            adapt_size: seed.is_multiple_of(2),
            fit_size: seed.is_multiple_of(3),
            command,
        })
}

fn latency() -> impl Strategy<Value = LatencySummary> {
    let histogram = vec(any::<(u64, u64)>(), 0..4).prop_map(|buckets_ns| Histogram { buckets_ns });
    (any::<[f64; 3]>(), btree_map(text(), any::<f64>(), 0..3), option::of(histogram)).prop_map(
        |(x, quantiles_seconds, histogram)| LatencySummary {
            mean_seconds: x[0],
            min_seconds: x[1],
            max_seconds: x[2],
            standard_deviation_seconds: histogram.as_ref().map(|_| x[0]),
            quantiles_seconds,
            histogram,
        },
    )
}

fn ops() -> impl Strategy<Value = OpStats> {
    let errors = [ErrorKind::ConnectionLost, ErrorKind::Lost, ErrorKind::Io, ErrorKind::Protocol];
    let errors = btree_map(select(errors.to_vec()), any::<u64>(), 0..3);
    (any::<(u64, u64)>(), errors, latency(), option::of(latency())).prop_map(
        |((count, bytes), errors, client_latency, rpc_latency)| OpStats {
            count,
            bytes,
            errors,
            client_latency,
            rpc_latency,
        },
    )
}

pub fn any_trial() -> impl Strategy<Value = Trial> {
    let outcome = prop_oneof![
        2 => Just(Outcome::Complete),
        1 => Just(Outcome::Stopped),
        1 => (text(), failure()).prop_map(|(phase, failure)| Outcome::Failed { phase, failure }),
    ];
    let kinds = select(vec![OpKind::Read, OpKind::Write, OpKind::Flush]);
    let metrics = select(Metric::every().collect::<Vec<_>>());
    (
        (any::<u32>(), option::of(0u32..9), 0usize..5, workload(), any::<[f64; 3]>()),
        outcome,
        btree_map(metrics, any::<f64>(), 0..9),
        btree_map(kinds, ops(), 0..3),
        vec(any::<(u64, u64, u64, u64)>(), 0..3),
        flags(),
        vec(text(), 0..2),
    )
        .prop_map(|(skeleton, outcome, quantities, ops, windows, flags, hosts)| {
            let (number, block, target, workload, x) = skeleton;
            let windows = windows.into_iter().map(|(read_ops, read_bytes, write_ops, w)| Window {
                read_ops,
                read_bytes,
                write_ops,
                write_bytes: w,
                in_flight_ns: w / 2,
            });
            let series = Series { window_seconds: x[0], windows: windows.collect() };
            let loads = hosts.iter().map(|host| super::load(host)).collect();
            Trial {
                number,
                block,
                cell: Cell { target, workload },
                started_seconds: x[1],
                result: TrialResult { outcome, quantities, ops, series, flags },
                loads,
                mount: number.is_multiple_of(2).then(|| super::mount(x[2], number.into())),
                imported: (x[2] > 0.0).then(|| imported(x[2], number)),
            }
        })
}

fn facts() -> impl Strategy<Value = TargetFacts> {
    let stored = select(vec![StoredOn::ServerMemory, StoredOn::Disk, StoredOn::Unknown]);
    (text(), text(), any::<(u64, u64)>(), option::of(stored), vec(text(), 0..3)).prop_map(
        |(label, given, space_bytes, reads_from, notes)| TargetFacts {
            protocol: given.clone(),
            client_cache: label.clone(),
            label,
            given,
            space_bytes,
            reads_from,
            in_place: notes.first().map(|file: &String| InPlace {
                file: file.clone(),
                size: Bytes(space_bytes.0 / 2),
            }),
            notes,
            ..TargetFacts::default()
        },
    )
}

/// Any study with finite figures, its trials numbered in their order.
pub fn study() -> impl Strategy<Value = Study> {
    let ended = prop_oneof![
        Just(Ended::Open),
        Just(Ended::Done),
        Just(Ended::CapReached),
        Just(Ended::Interrupted),
        failure().prop_map(|failure| Ended::Failed { failure }),
    ];
    let origin = prop_oneof![
        text().prop_map(|version| Origin::Measured { version }),
        text().prop_map(|tool| Origin::Imported { tool }),
    ];
    let lists = (vec(facts(), 0..4), flags(), vec(any_trial(), 0..6));
    (plan(), lists, ended, origin, 0..=i64::MAX as u64, any::<u32>()).prop_map(
        |(plan, (targets, flags, mut trials), ended, origin, started, id)| {
            for (number, trial) in trials.iter_mut().enumerate() {
                trial.number = number as u32;
            }
            Study {
                schema: SCHEMA.into(),
                id: StudyId(format!("{id:08x}")),
                started_unix_seconds: started,
                origin,
                plan,
                targets,
                hosts: full().hosts,
                flags,
                trials,
                ended,
            }
        },
    )
}
