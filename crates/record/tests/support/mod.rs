//! Studies for tests: one that uses every field, and any study at all.
#![allow(dead_code)] // each test program uses its part

pub mod any;

use plimsoll_model::units::{Bytes, GIB, KIB, MIB};
use plimsoll_model::what_if::WhatIf;
use plimsoll_model::*;
use std::num::NonZeroU16;

pub fn part(pattern: Pattern) -> Part {
    let job = Job::Pattern(PatternJob {
        pattern,
        block: pattern.default_block(),
        size: Bytes(GIB),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    });
    Part::closed(job, NonZeroU16::new(4).unwrap(), NonZeroU16::MIN)
}

pub fn workload(pattern: Pattern) -> Workload {
    Workload::new(part(pattern), Length::For { seconds: 5.0, warm_up_seconds: 1.0 })
}

/// Metrics of the trials: of all operations, of reads and of writes.
fn metrics() -> impl Iterator<Item = Metric> {
    let kinds = [None, Some(OpKind::READ), Some(OpKind::WRITE)];
    kinds
        .into_iter()
        .flat_map(|kind| Measure::known().take(16).map(move |measure| Metric { kind, measure }))
}

/// What is known of the measures that the trials of these studies use: of all of them, as the golden
/// file has it.
fn measures(more: &[Measure]) -> Vec<MeasureInfo> {
    let used: std::collections::BTreeSet<Measure> =
        metrics().map(|metric| metric.measure).chain(more.iter().copied()).collect();
    used.into_iter().map(|measure| measure.info().unwrap()).collect()
}

/// A prediction for so many readers.
pub fn prediction(study: &StudyId, number: u32) -> KeptPrediction {
    let readers = NonZeroU16::new(1 + number as u16).unwrap();
    let row = PredictedRow {
        cell: Cell { workload: 1, ..Cell::default() },
        measure: Measure::THROUGHPUT,
        today: 116e6,
        low: 116.5e6,
        high: 294e6,
        is_bound: true,
    };
    KeptPrediction {
        study: study.clone(),
        made_unix_seconds: 1_760_000_000 + u64::from(number),
        changes: vec![WhatIf::Readers(readers)],
        rows: vec![row],
        measured: None,
    }
}

/// A complete trial with a figure for every metric.
pub fn trial(number: u32) -> Trial {
    let quantities = metrics().enumerate().map(|(i, m)| (m, 0.1 + i as f64)).collect();
    let latency = LatencySummary {
        mean_seconds: 0.000123,
        min_seconds: 0.00009,
        max_seconds: 0.0123,
        standard_deviation_seconds: None,
        quantiles_seconds: [("0.5".to_owned(), 0.00012), ("0.99".to_owned(), 0.0009)].into(),
        histogram: Some(Histogram { buckets_ns: vec![(90_112, 3), (120_320, 4997)] }),
    };
    let stats = |bytes| OpStats {
        count: 5000,
        bytes: 5000 * bytes,
        errors: [(ErrorKind::TimedOut, 2)].into(),
        client_latency: latency.clone(),
        rpc_latency: Some(latency.clone()),
    };
    let flush = OpStats { count: 1, ..OpStats::default() };
    Trial {
        number,
        block: Some(number / 2),
        cell: Cell::default(),
        started_seconds: 5.25 * f64::from(number),
        result: PointResult {
            parts: vec![PartResult {
                quantities,
                ops: [
                    (OpKind::READ, stats(4 * KIB)),
                    (OpKind::WRITE, stats(4 * KIB)),
                    (OpKind::FLUSH, flush),
                ]
                .into(),
                series: series(),
                ..PartResult::default()
            }],
            flags: vec![Flag::LongGap { seconds: 1.5 }],
            ..PointResult::empty(Outcome::Complete)
        },
        points: Vec::new(),
        loads: vec![HostLoad {
            host: HostName::Local,
            seconds: 5.0,
            cpu: CpuTimes {
                user: 1.0,
                nice: 0.25,
                system: 2.0,
                idle: 6.0,
                iowait: 0.5,
                irq: 0.0625,
                softirq: 0.125,
                steal: 0.0,
            },
            cores_busy: vec![0.5, 0.25],
            idle_baseline: 0.03125,
            stretches: vec![LoadStretch {
                seconds: 0.5,
                cpu: CpuTimes { user: 0.25, idle: 0.75, ..CpuTimes::default() },
                ..LoadStretch::default()
            }],
            ..HostLoad::default()
        }],
        mount: None,
        imported: None,
    }
}

/// Two windows, in the second of which nothing completed.
pub fn series() -> Series {
    let column = |operations, bytes| Column { operations, bytes };
    Series {
        window_seconds: 0.1,
        kinds: [
            (OpKind::READ, column(vec![7, 0], vec![28672])),
            (OpKind::WRITE, column(vec![6], vec![24576])),
        ]
        .into(),
        in_flight_ns: vec![390_000_000, 0],
        ..Series::default()
    }
}

/// A study of two targets with a complete, a failed and a stopped trial.
pub fn full() -> Study {
    let failure = Failure::new(Cause::NoSpace, "lay out the file")
        .on("nfs://nas/volume1")
        .happened("no space left")
        .next("Free 1 GiB there.");
    let mut failed = trial(1);
    failed.cell = Cell { subject: 1, workload: 1, setting: 0 };
    let outcome = Outcome::Failed { phase: "lay out".into(), failure: failure.clone() };
    failed.result = PointResult::empty(outcome);
    let mut stopped = failed.clone();
    stopped.number = 2;
    stopped.block = None;
    stopped.result.outcome = Outcome::Stopped;
    Study {
        schema: SCHEMA.into(),
        id: StudyId("0123abcd".into()),
        started_unix_seconds: 1_760_000_000,
        origin: Origin::Measured { version: "0.1.0".into() },
        plan: plan(),
        subjects: vec![
            SubjectFacts::Storage(TargetFacts {
                label: "nas".into(),
                identity: None,
                given: "nfs://nas/volume1".into(),
                protocol: "NFSv3 over TCP".into(),
                engine: "plimsoll's NFS client".into(),
                read_size_bytes: 1 << 20,
                write_size_bytes: 1 << 20,
                client_cache: "none".into(),
                stability: "UNSTABLE, then COMMIT".into(),
                space_bytes: (4_000_000_000_000, 1_500_000_000_000),
                memory_below: true,
                commits_each_write: false,
                reads_from: Some(StoredOn::Unknown),
                round_trip_seconds: Some(0.000_31),
                advertised: AdvertisedSizes::default(),
                protection: None,
                mount_options: Some("rw,relatime".into()),
                in_place: None,
                writes: Vec::new(),
                notes: vec!["a privileged port".into()],
            }),
            SubjectFacts::Storage(TargetFacts {
                label: "dir".into(),
                given: "/srv/Übung".into(),
                ..TargetFacts::default()
            }),
        ],
        hosts: vec![HostFacts {
            name: HostName::Local,
            kernel: "6.1.0".into(),
            cpu_model: "some CPU".into(),
            cpus: 2,
            memory_bytes: 8 * GIB,
            cpu_accounting: "ticks".into(),
            ..HostFacts::default()
        }],
        flags: any::flags::golden(0.5, 7, "local"),
        measures: Vec::new(),
        trials: vec![trial(0), failed, stopped],
        ended: Ended::Failed { failure },
    }
}

/// The same with monitored hosts of the servers.
pub fn watched() -> Study {
    let mut study = full();
    let name = "ssh://root@nas:2222";
    let host: HostName = name.parse().unwrap();
    let server = Watched::new(host.clone(), HostRole::Server);
    study.plan.watched.push(Watched { subject: Some(0), guessed: true, ..server });
    study.plan.watched.push(Watched::new(HostName::Local, HostRole::Server));
    study.hosts[0].watched_by = Some(WatchedBy::Proc);
    study.hosts.push(HostFacts {
        name: host.clone(),
        cpus: 1,
        watched_by: Some(WatchedBy::Shell),
        without_probe: Some("no space left".into()),
        is_this_machine: true,
        ..study.hosts[0].clone()
    });
    study.flags = any::flags::of_hosts(0.5, &host, name);
    let servers = [Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE];
    let quantities = &mut study.trials[0].result.parts[0].quantities;
    quantities.extend(servers.map(|measure| (Metric::all(measure), 0.25)));
    study.trials[0].loads.push(load(host));
    study.trials[0].mount = Some(mount(0.25, 7));
    study
}

/// The study of the golden file: [`watched`], and every other field.
pub fn everything() -> Study {
    let mut study = watched();
    let client: HostName = "ssh://me@client".parse().unwrap();
    let plan = &mut study.plan;
    let endpoint = |host: &HostName, address: &str| Endpoint {
        host: host.clone(),
        address: address.parse().ok(),
    };
    let path = PathSubject {
        from: endpoint(&HostName::Local, ""),
        to: endpoint(&client, "192.0.2.7"),
        via: Some("ssh://root@router".parse().unwrap()),
    };
    plan.subjects.push(path.into());
    study.subjects.push(SubjectFacts::Path(PathFacts {
        label: "path".into(),
        given: "local to client".into(),
        notes: vec!["through one router".into()],
        root_adds: vec!["Root rights at B would add settings (--set)".into()],
        interfaces: vec![PathInterface {
            end: "B".into(),
            device: device::Nic { name: Some("wlan0".into()), ..device::Nic::default() },
            wireless: Some(WirelessLink {
                send_bits_per_second: Some(390_000_000),
                receive_bits_per_second: Some(433_300_000),
                signal_dbm: Some(-61),
                frequency_hertz: Some(5_180_000_000),
                sent_packets: Some(6543),
                retried_packets: Some(311),
                failed_packets: Some(2),
            }),
        }],
        router: Some(RouterFacts {
            interfaces: vec![device::Nic { name: Some("eth1".into()), ..device::Nic::default() }],
            filter: Some(device::Netfilter {
                nft_rules_count: Some(40),
                ..device::Netfilter::default()
            }),
            rules_digest: Some("0123456789abcdef".into()),
        }),
    }));
    plan.drive_on([HostName::Local, client]);
    plan.factors = vec![Factor {
        name: "sysctl:net.ipv4.tcp_congestion_control".into(),
        host: HostName::Local,
        levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "bbr".into() }],
        switch: Switch::Live,
    }];
    let until_done = Length::UntilDone { at_most_seconds: 60.0 };
    let by_second_client = |job: Job| Part { job, client: 1, ..part(Pattern::RandomRead) };
    let copy = CopyJob {
        dataset: Dataset {
            source: DataSource::Directory { data: "/home/me/films".into() },
            files: 3,
            directories: 1,
            bytes: Bytes(5 * MIB),
        },
        transfer: Transfer::Up,
        method: Method::default(),
        block: Bytes(MIB),
        verify: false,
    };
    let scan = Part { client: 0, ..by_second_client(Job::Scan(ScanJob::default())) };
    plan.workloads.push(Workload {
        parts: vec![scan, by_second_client(Job::Copy(copy))],
        steps: None,
        length: until_done,
    });
    let stream = by_second_client(Job::Stream(StreamJob { connections: 2, rate: Some(1e6) }));
    plan.workloads.push(Workload {
        parts: vec![stream],
        steps: Some(Steps::Search {
            over: Parameter::Rate,
            from: 1e6,
            to: 1e9,
            resolution: 1e5,
            accept: vec![Bound::at_most(Metric::all(StreamJob::LOSS), 0.001)],
        }),
        length: until_done,
    });
    let mut mixed = workload(Pattern::RandomMixed);
    mixed.steps = Some(Steps::Sweep { over: Parameter::Depth, values: vec![1.0, 8.0] });
    plan.workloads.push(mixed);
    plan.contrasts = Contrast::against_first(plan);
    plan.contrasts[0].claim = false;

    let later: Metric = "some_later_figure_pixels".parse().unwrap();
    let quantities = |metrics: &[Metric]| metrics.iter().map(|metric| (*metric, 0.25)).collect();
    let scanned = PartResult {
        quantities: quantities(&[
            Metric::all(Measure::ENTRIES),
            Metric::for_kind(OpKind::LOOKUP, Measure::LATENCY_P50),
            later,
        ]),
        ops: [(OpKind::READ_DIRECTORY, OpStats { count: 40, ..OpStats::default() })].into(),
        ..PartResult::default()
    };
    let copied =
        PartResult { quantities: quantities(&[Metric::all(Measure::FILES)]), ..scanned.clone() };
    let mut both = trial(3);
    both.cell = Cell { subject: 1, workload: 2, setting: 1 };
    both.result.parts = vec![scanned, copied];
    let streamed = PartResult {
        quantities: quantities(&[Metric::all(StreamJob::LOSS)]),
        ..PartResult::default()
    };
    let mut searched = trial(4);
    searched.cell = Cell { subject: 2, workload: 3, setting: 0 };
    searched.points = [(1e6, Some(true)), (5e8, Some(false)), (1e6, None)]
        .map(|(at, accepted)| Point {
            at,
            accepted,
            parts: vec![streamed.clone()],
            loads: Vec::new(),
        })
        .into();
    searched.points[1].loads = searched.loads.clone();
    searched.result.parts = vec![streamed];
    study.trials.extend([both, searched]);
    study.measures = measures(&[
        Measure::SERVER_CPU_PER_OP,
        Measure::SERVER_CPU_PER_BYTE,
        Measure::FILES,
        Measure::ENTRIES,
        StreamJob::LOSS,
    ]);
    study.measures.push(MeasureInfo {
        measure: later.measure,
        unit: "px".into(),
        per: "file".into(),
        direction: Direction::Neither,
        aggregation: Aggregation::Geometric,
        combine: Combine::Max,
    });
    study
}

/// An account with a value in every field.
pub fn mount(x: f64, n: u64) -> MountAccount {
    let wire = MountWire {
        transmissions: n,
        timeouts: 1,
        sent_bytes: n,
        received_bytes: n,
        queue_seconds: x,
        round_trip_seconds: x,
        execution_seconds: x,
    };
    let operation = MountOperation { count: n, errors: 2, wire: Some(wire), command: None };
    let plain = MountOperation { wire: None, ..operation };
    let operations = [("READ".to_owned(), operation), ("Writes".to_owned(), plain)];
    MountAccount { file_system: "nfs4".into(), operations: operations.into() }
}

/// A load with a value in every field.
pub fn load(host: HostName) -> HostLoad {
    let cpu = CpuTimes { user: 1.0, system: 2.0, idle: 6.0, softirq: 1.25, ..CpuTimes::default() };
    let memory = MemoryNow {
        total_bytes: 2 * GIB,
        available_bytes: GIB,
        cached_bytes: GIB / 2,
        dirty_bytes: 4096,
    };
    let moved = Moved {
        disk_read_bytes: 1,
        disk_written_bytes: 1 << 20,
        received_bytes: 1 << 21,
        sent_bytes: 4096,
    };
    let stretch = LoadStretch {
        seconds: 1.0,
        cpu,
        memory: Some(memory),
        moved: Some(moved),
        frequency_hertz: Some(1.2e9),
    };
    HostLoad {
        host,
        seconds: 5.0,
        cpu,
        cores_busy: vec![0.5],
        idle_baseline: 0.03125,
        idle: Some(CpuTimes { system: 0.03125, idle: 0.96875, ..CpuTimes::default() }),
        cores: vec![cpu],
        run_seconds: Some(4.5),
        memory_stall_seconds: Some(0.25),
        memory: Some(MemoryLoad {
            least_available_bytes: GIB,
            most_dirty_bytes: 4096,
            cached_bytes: GIB / 2,
        }),
        disks: vec![DiskLoad {
            name: "sda".into(),
            reads: 1,
            read_bytes: 512,
            writes: 300,
            written_bytes: 1 << 20,
            busy_seconds: 2.5,
            in_flight_seconds: 7.25,
        }],
        interfaces: vec![InterfaceLoad {
            name: "eth0".into(),
            received_bytes: 1 << 21,
            received_packets: 1500,
            sent_bytes: 4096,
            sent_packets: 800,
            errors: 1,
            drops: 2,
        }],
        tcp_retransmitted: Some(3),
        softirqs: Some(Softirqs { net_rx: 1500, net_tx: 10 }),
        softnet: Some(Softnet { processed: 1500, dropped: 1, squeezed: 2 }),
        conntrack: Some(ConntrackLoad {
            entries: 1200,
            most_entries: Some(262_144),
            insert_failed: 1,
            dropped: 2,
            early_dropped: 3,
            offloaded: Some(64),
            offloaded_in_hardware: true,
        }),
        queues: vec![QueueLoad {
            interface: "eth1".into(),
            discipline: "cake".into(),
            dropped: 40,
            overlimits: 900,
            marked: 7,
        }],
        load_average: Some(2.25),
        frequency: Some(Frequency { lowest_hertz: 6e8, highest_hertz: 1.2e9 }),
        temperature_celsius: Some(61.5),
        nfsd: Some(NfsdLoad {
            calls: 300,
            read_bytes: 0,
            written_bytes: 1 << 20,
            threads: Some(8),
        }),
        control_group: Some(ControlGroupLoad {
            cpu_seconds: 0.125,
            quota_cores: Some(0.5),
            throttled_share: Some(0.25),
        }),
        watcher_cpu_seconds: Some(0.02),
        stretches: vec![stretch, stretch],
    }
}

pub fn plan() -> Plan {
    let nfs = NfsTarget {
        host: "nas".into(),
        port: Some(2049),
        path: "/volume1".into(),
        mount_port: Some(20048),
        uid: Some(1000),
        gid: None,
        rsize: Some(1 << 20),
        wsize: None,
        source_port: SourcePort::Auto,
        version: None,
        transport: None,
        nconnect: None,
    };
    let subjects = vec![
        Subject::from(Target::Nfs(nfs)),
        Subject::from(Target::Directory(DirectoryTarget { path: "/srv/Übung".into() })),
    ];
    let workloads = vec![workload(Pattern::RandomMixed), workload(Pattern::SequentialWrite)];
    let design = Design { seed: u64::MAX, ..Design::default() };
    Plan {
        storage: StorageOptions {
            server_memory: Some(Bytes(2 * GIB)),
            engine: Some(Engine::Psync),
            adapt_size: true,
            ..StorageOptions::default()
        },
        command: "plimsoll check nfs://nas/volume1 /srv/Übung".into(),
        ..Plan::new(subjects, workloads, design)
    }
}

/// A run of another tool with a value in every field.
pub fn imported(x: f64, n: u32) -> ImportedRun {
    let latency = LatencySummary { standard_deviation_seconds: Some(x), ..Default::default() };
    ImportedRun {
        tool: "fio-3.36".into(),
        file: "fio_output.txt".into(),
        line: 12,
        name: "random_read".into(),
        engine: "psync".into(),
        jobs: Some(n),
        runtime_seconds: x,
        cpu: Some(ImportedCpu {
            user_percent: x,
            system_percent: 3.0,
            user_seconds: Some(x),
            system_seconds: Some(0.5),
            context_switches: 501_743,
            major_faults: 1,
            minor_faults: 49,
        }),
        depth_shares: [("1".to_owned(), 1.0), (">=64".to_owned(), 0.0)].into(),
        submission_latency: [(OpKind::READ, latency.clone())].into(),
        total_latency: [(OpKind::READ, latency)].into(),
        notes: vec!["ran at the same time as: writer".into()],
    }
}
