//! Strategies that reach every variant and every field of a study.

use super::{full, imported};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::num::{NonZeroU8, NonZeroU16};

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
        Flag::BusyBaseline { host: target(), busy: x, windows: IdleWindows::later(x) },
        Flag::OtherLoad { host: target(), resource: HostResource::Disk, per_second: x },
        Flag::OtherTraffic { host: target(), bytes_per_second: x, windows: IdleWindows::default() },
        Flag::ClientSaturated { host: None, core_busy: x, serves: false },
        Flag::OtherRun { directory: target() },
        Flag::Leftovers { directories: vec![target(), target()], target: target(), on: None },
        working_set(text, n, StoredOn::ServerMemory, None),
        working_set(text, n, StoredOn::Unknown, Some(Bytes(n))),
        Flag::SizeLowered { wanted: Bytes(n), used: Bytes(n / 2), bytes_per_second: x },
        Flag::SameTarget { target: target() },
        Flag::RateHeld { target: target(), run: target(), by: target() },
        Flag::BadContent { stale: n, misplaced: 1, corrupt: 0 },
        Flag::NotCleaned { target: target(), directory: target(), on: None },
        Flag::StabilityDiffers { detail: target() },
        Flag::CapReached { blocks: n as u32, wanted: 7 },
        Flag::Quick { resolvable: Some(x) },
        Flag::Quick { resolvable: None },
        Flag::FewOperations { count: n },
        Flag::BehindSchedule { due_per_second: x, per_second: -x },
    ]
}

/// Flags that the golden file does not have.
pub fn flags_since(x: f64, n: u64, text: &str) -> Vec<Flag> {
    let text = || text.to_owned();
    vec![
        Flag::NamesNotUtf8 { directory: text(), first: text(), count: n },
        client_memory(text(), ClientMemory::FileSystem { name: text() }, true),
        client_memory(text(), ClientMemory::PageCache, n.is_multiple_of(2)),
        client_memory(text(), ClientMemory::LoopDevice, false),
        Flag::LeftOut { workloads: vec![text()] },
        Flag::FarSlower { times: x },
        Flag::Burst { workloads: vec![text(), text()], why: Burst::NotAgreed },
        Flag::SizeFitted {
            target: text(),
            wanted: Bytes(n),
            used: Bytes(n / 2),
            available: Bytes(n),
        },
        Flag::Scaled { wanted: x, used: x / 2.0, most: Some(x), why: Scaled::Time { seconds: x } },
        Flag::Scaled {
            wanted: x,
            used: x / 2.0,
            most: None,
            why: Scaled::Space { target: text(), available: Bytes(n) },
        },
        Flag::NearClientCeiling { bytes_per_second: x, ceiling_bytes_per_second: x },
        Flag::AskedToWait { target: text(), times: n },
        kept_rate(&text(), n, RateCaveat::AtLeast),
        kept_rate(&text(), n, RateCaveat::CannotHold { void_ratio: x }),
        kept_rate(&text(), n, RateCaveat::QuietMoments { share: x }),
        kept_rate(&text(), n, RateCaveat::BurstCredit { bytes: x, frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Collapse { frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Interruptions { frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Unfinished { width_ratio: x }),
        kept_rate(&text(), n, RateCaveat::Unsteady { loss_ratio: x, seconds: -x }),
        kept_rate(&text(), n, RateCaveat::Late { delay_seconds: x, seconds: -x }),
        Flag::FrameCapped { wanted: Bytes(n), used: Bytes(n), path_mtu: Bytes(n) },
        Flag::PayloadCapped { wanted: Bytes(n), used: Bytes(n), path_mtu: Bytes(n) },
        Flag::RouterIsEnd { host: text() },
        Flag::EndIsGateway { host: text() },
        Flag::SocketBufferCapped { host: text(), wanted: Bytes(n), used: Bytes(n) },
        Flag::WarmScan { target: text() },
        Flag::SecondWriter { target: text() },
        Flag::LockNotUpgraded { target: text(), reason: text() },
        Flag::SparseFiles { directory: text(), count: n, holes: Bytes(n) },
        Flag::Reconnected { target: text(), times: n, at_seconds: x, seconds: x },
        Flag::WrittenAgain { target: text(), bytes: n },
        Flag::OtherOwner { target: text(), uid: Some(1), owner: Some(2) },
        Flag::Retransmitted { target: text(), times: n, late: n / 2, doubled: 1 },
        Flag::ReplySurplus { target: text(), call: text(), bytes: n },
        Flag::CallFailed { target: text(), call: text(), reason: text(), instead: text() },
        Flag::OperationRefused {
            target: text(),
            operation: OpKind::RENAME,
            tried: text(),
            reason: text(),
        },
        Flag::Continued { unix_seconds: n, block: 12 },
        Flag::Stolen { host: text(), share: x },
        Flag::ProgramLeft { host: text(), reason: text(), next: text() },
        Flag::FiguresDisturbed {
            figures: vec![device::DisturbedFigure {
                figure: text(),
                by: text(),
                cpu_share: Some(x),
                slowest_share: None,
                slower_than: Some(text()),
            }],
            of: n as u32,
        },
    ]
}

/// Every kind of flag about a host that the golden file does not have.
pub fn flags_of_hosts(x: f64, text: &str) -> Vec<Flag> {
    let host = || text.to_owned();
    vec![
        Flag::BusyProcess {
            host: host(),
            process: host(),
            cores: x,
            kernel: true,
            windows: IdleWindows::default(),
        },
        Flag::BusyRaid { host: host(), work: host(), windows: IdleWindows::default() },
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

fn kept_rate(workload: &str, frame: u64, caveat: RateCaveat) -> Flag {
    Flag::KeptRate { workload: workload.to_owned(), frame: Bytes(frame), caveat }
}

fn client_memory(target: String, memory: ClientMemory, surely: bool) -> Flag {
    Flag::ClientMemory { target, memory, surely }
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
    (select(causes.to_vec()), text(), text(), text(), text()).prop_map(
        |(cause, tried, on, why, next)| Failure::new(cause, tried).on(on).happened(why).next(next),
    )
}

pub fn target() -> impl Strategy<Value = Target> {
    let ports = select(vec![SourcePort::Auto, SourcePort::Privileged, SourcePort::Any]);
    let numbers = (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>());
    let version = option::of(select(NfsVersion::ALL.to_vec()));
    let transport = option::of(select(vec![NfsTransport::Tcp, NfsTransport::Udp]));
    let means = (ports, version, transport, option::of(any::<NonZeroU8>()));
    let nfs = (text(), text(), any::<(Option<u16>, Option<u16>)>(), numbers, means).prop_map(
        |(host, path, (port, mount_port), (uid, gid, rsize), means)| {
            let (source_port, version, transport, nconnect) = means;
            Target::Nfs(NfsTarget {
                host,
                port,
                path,
                mount_port,
                uid,
                gid,
                rsize,
                wsize: rsize,
                source_port,
                version,
                transport,
                nconnect,
            })
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

fn source() -> impl Strategy<Value = DataSource> {
    let class = select(DataClass::ALL.to_vec());
    let generated = (class, any::<(u64, u64)>(), any::<(f64, f64)>()).prop_map(|(class, n, x)| {
        let ((count, seed), (mean_bytes, scale)) = (n, x);
        DataSource::Generated(GeneratedData { class, count, mean_bytes, scale, seed })
    });
    prop_oneof![text().prop_map(|data| DataSource::Directory { data }), generated]
}

fn job() -> impl Strategy<Value = Job> {
    let pattern = (
        select(Pattern::ALL.to_vec()),
        any::<(u64, u64, bool)>(),
        select(vec![Layout::Disjoint, Layout::Shared]),
        select(vec![Stability::Unstable, Stability::FileSync]),
    )
        .prop_map(|(pattern, (block, size, verify), layout, stability)| {
            let (block, size) = (Bytes(block), Bytes(size));
            PatternJob { pattern, block, size, layout, stability, verify }.into()
        });
    let scan = any::<(u32, u32)>().prop_map(|(directories, files)| {
        Job::Scan(ScanJob { directories, files, ..ScanJob::default() })
    });
    let transfer = select(Transfer::ALL.to_vec());
    let method = prop_oneof![
        Just(Method::Rsync),
        any::<NonZeroU16>().prop_map(|files| Method::Pipelined { files })
    ];
    let copy = (source(), transfer, method, any::<[u64; 4]>());
    let copy = copy.prop_map(|(source, transfer, method, n)| {
        let [block, files, directories, bytes] = n;
        let (block, bytes) = (Bytes(block), Bytes(bytes));
        let dataset = Dataset { source, files, directories, bytes };
        Job::Copy(CopyJob { dataset, transfer, method, block, verify: true })
    });
    let stream = (any::<u16>(), option::of(any::<f64>()))
        .prop_map(|(connections, rate)| Job::Stream(StreamJob { connections, rate }));
    let operations = any::<(u32, u64)>().prop_map(|(entries, block)| {
        Job::Operations(OperationsJob { entries, block: Bytes(block) })
    });
    let file = (any::<(u64, u64)>(), any::<bool>()).prop_map(|((buffer, size), reads)| {
        let way = if reads { FileWay::Read } else { FileWay::Write };
        let (buffer, size, stability) = (Bytes(buffer), Bytes(size), Stability::FileSync);
        Job::File(FileJob { way, buffer, size, stability })
    });
    let flow = || select(vec![Flow::Out, Flow::In, Flow::Both]);
    let tcp = (flow(), any::<(u16, u64)>(), option::of(any::<u64>()), option::of(text()));
    let tcp = tcp.prop_map(|(flow, (streams, block), buffer, congestion)| {
        Job::TcpStream(TcpStreamJob {
            flow,
            streams,
            block: Bytes(block),
            socket_buffer: buffer.map(Bytes),
            no_delay: congestion.is_some(),
            congestion,
        })
    });
    let calls = select(vec![DatagramCall::One, DatagramCall::Mmsg, DatagramCall::Gso]);
    let datagrams = (flow(), calls, any::<(u16, u64)>(), any::<Option<std::num::NonZeroU32>>());
    let datagrams = datagrams.prop_map(|(flow, call, (streams, payload), rate)| {
        let socket_buffer = rate.map(|_| Bytes(payload));
        let payload = Bytes(payload);
        Job::Datagrams(DatagramsJob { flow, streams, payload, call, rate, socket_buffer })
    });
    let request = (any::<(u16, u64, u64)>(), any::<Option<std::num::NonZeroU32>>());
    let request = request.prop_map(|((streams, request, response), rate)| {
        let (request, response) = (Bytes(request), Bytes(response));
        Job::Request(RequestJob { streams, request, response, rate })
    });
    let connect = any::<u16>().prop_map(|streams| Job::Connect(ConnectJob { streams }));
    let of_frames = any::<(u64, u16, Option<u64>)>();
    let forwarding = (flow(), of_frames, any::<Option<std::num::NonZeroU32>>());
    let forwarding = forwarding.prop_map(|(flow, (frame, flows, imix), rate)| {
        let (frame, imix) = (Bytes(frame), imix.map(Bytes));
        Job::Forwarding(ForwardingJob { flow, frame, imix, flows, rate, is_timed: imix.is_some() })
    });
    let on_paths = prop_oneof![stream, tcp, datagrams, request, connect, forwarding];
    prop_oneof![pattern, scan, operations, file, copy, on_paths]
}

fn part() -> impl Strategy<Value = Part> {
    use std::num::{NonZeroU16, NonZeroU32};
    let numbers = any::<(u16, NonZeroU16, NonZeroU16)>();
    let paced = any::<Option<NonZeroU32>>();
    (job(), numbers, any::<bool>(), paced).prop_map(
        |(job, (client, workers, depth), rounds, paced)| {
            let techniques = vec![
                Technique::AttributeCache { lifetime_seconds: f64::from(client) / 7.0 },
                Technique::WriteBack { gather: Bytes(client.into()) },
                Technique::ReadAhead { window: depth },
            ];
            let techniques = if rounds { techniques } else { Vec::new() };
            let part = Part { client, techniques, ..Part::closed(job, workers, depth) };
            match (rounds, paced) {
                (true, _) => Part { arrival: Arrival::Rounds { depth }, ..part },
                (false, Some(per_second)) => {
                    Part { arrival: Arrival::Paced { depth, per_second }, ..part }
                }
                (false, None) => part,
            }
        },
    )
}

pub fn workload() -> impl Strategy<Value = Workload> {
    let over = select(vec![
        Parameter::Depth,
        Parameter::Workers,
        Parameter::Rate,
        Parameter::Block,
        Parameter::Arrivals,
    ]);
    let steps = (over, vec(any::<f64>(), 0..3), any::<[f64; 4]>(), metric(), any::<bool>())
        .prop_map(|(over, values, [from, to, resolution, at_most], metric, sweep)| match sweep {
            true => Steps::Sweep { over, values },
            false => {
                let accept = Accept { metric, at_most };
                match values.is_empty() {
                    true => Steps::Search { over, from, to, resolution, accept },
                    false => {
                        let final_seconds = values.first().copied();
                        Steps::Kept {
                            over,
                            from,
                            to,
                            width: resolution,
                            losses: values,
                            final_seconds,
                            accept: Some(accept).filter(|accept| accept.at_most > 0.0),
                            is_quick: from > 0.0,
                        }
                    }
                }
            }
        });
    let length = prop_oneof![
        any::<(f64, f64)>()
            .prop_map(|(seconds, warm_up_seconds)| Length::For { seconds, warm_up_seconds }),
        any::<f64>().prop_map(|at_most_seconds| Length::UntilDone { at_most_seconds }),
    ];
    (vec(part(), 0..3), option::of(steps), length).prop_map(|(parts, steps, length)| Workload {
        parts,
        steps,
        length,
    })
}

/// Metrics known here, and one that is not.
fn metric() -> impl Strategy<Value = Metric> {
    let later = ["some_later_figure_pixels".parse::<Metric>().unwrap()];
    let kinds = [None, Some(OpKind::READ), Some(OpKind::LOOKUP)];
    let known = kinds
        .into_iter()
        .flat_map(|kind| Measure::known().map(move |measure| Metric { kind, measure }));
    select(known.chain(later).collect::<Vec<_>>())
}

fn subject() -> impl Strategy<Value = Subject> {
    let host = || select(vec![HostName::Local, "ssh://me@client".parse().unwrap()]);
    let path = (host(), host(), option::of(host()), any::<Option<std::net::Ipv4Addr>>()).prop_map(
        |(from, to, via, address)| {
            let from = Endpoint { host: from, address: None };
            let to = Endpoint { host: to, address: address.map(Into::into) };
            Subject::from(PathSubject { from, to, via })
        },
    );
    let clock = host().prop_map(|host| Subject::from(clock_call::ClockSubject { host }));
    let kernel = host().prop_map(|host| Subject::from(kernel_trace::TraceSubject { host }));
    let host = host().prop_map(|host| Subject::from(HostSubject { host }));
    prop_oneof![3 => target().prop_map(Subject::from), 1 => path, 1 => host, 1 => clock, 1 => kernel]
}

fn factor() -> impl Strategy<Value = Factor> {
    let level = prop_oneof![
        Just(FactorLevel::AsFound),
        text().prop_map(|value| FactorLevel::Set { value }),
    ];
    let switch = select(vec![Switch::Live, Switch::Restart]);
    (text(), vec(level, 0..3), switch).prop_map(|(name, levels, switch)| Factor {
        name,
        host: HostName::Local,
        levels,
        switch,
    })
}

fn commands() -> impl Strategy<Value = Commands> {
    let switch = select(vec![Switch::Live, Switch::Restart]);
    (text(), text(), text(), option::of(text()), switch).prop_map(
        |(read, apply, undo, verify, switch)| Commands { read, apply, undo, verify, switch },
    )
}

fn reboot() -> impl Strategy<Value = Reboot> {
    (option::of(text()), any::<f64>()).prop_map(|(command, within_seconds)| Reboot {
        host: "ssh://root@nas".parse().unwrap(),
        command,
        within_seconds,
    })
}

fn contrast() -> impl Strategy<Value = Contrast> {
    let measurand = || {
        (any::<[u16; 4]>(), metric()).prop_map(|([subject, workload, setting, part], metric)| {
            Measurand { cell: Cell { subject, workload, setting }, part, metric }
        })
    };
    (measurand(), measurand(), any::<bool>()).prop_map(|(of, against, claim)| Contrast {
        of,
        against,
        claim,
    })
}

fn amount() -> impl Strategy<Value = Amount> {
    let files = prop_oneof![
        select(DataClass::ALL.to_vec()).prop_map(AmountOf::Class),
        any::<u64>().prop_map(|mean| AmountOf::MeanBytes(Bytes(mean))),
    ];
    (any::<u64>(), files).prop_map(|(bytes, files)| Amount { bytes: Bytes(bytes), files })
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let rules = prop_oneof![
        any::<(u32, f64, f64)>().prop_map(|(first, half_width, at_least_seconds)| {
            Rule::Sequential { first, half_width, at_least_seconds }
        }),
        any::<u32>().prop_map(|blocks| Rule::Fixed { blocks }),
    ];
    let compared = (
        vec(factor(), 0..3),
        btree_map(text(), commands(), 0..2),
        vec(contrast(), 0..3),
        vec(amount(), 0..3),
        (option::of(reboot()), option::of(path_parts())),
    );
    (
        vec(subject(), 0..4),
        vec(workload(), 0..4),
        compared,
        rules,
        any::<[f64; 5]>(),
        (any::<u64>(), option::of(0usize..9), vec(text(), 0..3)),
        option::of(select(vec![Engine::IoUring, Engine::Psync])),
        text(),
    )
        .prop_map(
            |(subjects, workloads, compared, rule, x, (seed, server, labels), engine, command)| {
                let (factors, commands, contrasts, amounts, (reboot, parts)) = compared;
                let hosts = server.map(|subject| ServerHost {
                    host: HostName::Local,
                    subject: Some(subject),
                    guessed: false,
                });
                Plan {
                    subjects,
                    names: labels.iter().rev().cloned().collect(),
                    gate: labels.first().map(|baseline: &String| Gate {
                        baseline: baseline.clone(),
                        conditions: vec![GateCondition {
                            work: command.clone(),
                            fails: GateSide::Below,
                            share: x[0],
                        }],
                    }),
                    labels,
                    workloads,
                    factors,
                    commands,
                    reboot,
                    parts,
                    contrasts,
                    amounts,
                    design: Design {
                        rule,
                        cap_seconds: x[0],
                        baseline_seconds: x[1],
                        margin: x[2],
                        confidence: x[3],
                        seed,
                        calibrate: false,
                        quick: false,
                    },
                    clients: engine.iter().map(|_| "ssh://me@client".parse().unwrap()).collect(),
                    hosts: hosts.into_iter().collect(),
                    storage: StorageOptions {
                        operation_timeout_seconds: x[4],
                        engine,
                        server_memory: engine.map(|_| Bytes(seed)),
                        cache: match seed.is_multiple_of(7) {
                            true => plimsoll_model::PageCache::Page,
                            false => plimsoll_model::PageCache::Direct,
                        },
                        adapt_size: seed.is_multiple_of(2),
                        fit_size: seed.is_multiple_of(3),
                        drop_caches: seed.is_multiple_of(5),
                    },
                    command,
                }
            },
        )
}

fn path_parts() -> impl Strategy<Value = PathParts> {
    let priced = (select(PathPart::ALL.to_vec()), any::<(u16, u16)>());
    let priced = priced.prop_map(|(part, (with, without))| PricedPart { part, with, without });
    let missing = (select(PathPart::ALL.to_vec()), text());
    let missing = missing.prop_map(|(part, reason)| MissingPart { part, reason });
    let alone = (select(PathPart::ALL.to_vec()), any::<u16>());
    let alone = alone.prop_map(|(part, setting)| PartAlone { part, setting });
    (any::<(u16, u16)>(), vec(priced, 0..3), vec(alone, 0..3), vec(missing, 0..3)).prop_map(
        |((whole, control), priced, alone, missing)| PathParts {
            whole,
            control,
            priced,
            alone,
            missing,
        },
    )
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

fn kind() -> impl Strategy<Value = OpKind> {
    let later: OpKind = "some_later_operation".parse().unwrap();
    select(vec![OpKind::READ, OpKind::WRITE, OpKind::FLUSH, OpKind::READ_DIRECTORY, later])
}

/// Without windows there is no length of windows.
fn series() -> impl Strategy<Value = Series> {
    let counts = || vec(any::<u64>(), 0..4);
    let column = (vec(any::<u64>(), 1..4), counts())
        .prop_map(|(operations, bytes)| Column { operations, bytes });
    let late =
        (any::<u64>(), any::<u64>()).prop_map(|(operations, bytes)| Count { operations, bytes });
    (any::<f64>(), btree_map(kind(), column, 0..3), counts(), late).prop_map(
        |(window_seconds, kinds, in_flight_ns, late)| {
            let series = Series { window_seconds, kinds, in_flight_ns, late };
            if series.is_empty() { Series::default() } else { series }
        },
    )
}

fn results() -> impl Strategy<Value = Vec<PartResult>> {
    let part = (btree_map(metric(), any::<f64>(), 0..9), btree_map(kind(), ops(), 0..3), series())
        .prop_map(|(quantities, ops, series)| PartResult {
            quantities,
            ops,
            series,
            answered_seconds: Some(0.5),
            stalls: vec![Stall { phase: StallPhase::WarmUp, start_seconds: 0.1, seconds: 2.0 }],
            functions: vec![kernel_trace::KernelFunction {
                depth: 3,
                name: "nft_do_chain".into(),
                block: Some("netfilter".into()),
                traced_nanoseconds: Some(1200),
            }],
            buffer: Some(BufferSeries { every_seconds: 0.25, seconds: vec![0.5, 1.0] }),
        });
    vec(part, 0..3)
}

pub fn any_trial() -> impl Strategy<Value = Trial> {
    let outcome = prop_oneof![
        2 => Just(Outcome::Complete),
        1 => Just(Outcome::Stopped),
        1 => (text(), failure()).prop_map(|(phase, failure)| Outcome::Failed { phase, failure }),
    ];
    let cell = (0u16..5, 0u16..5, 0u16..5).prop_map(|(subject, workload, setting)| Cell {
        subject,
        workload,
        setting,
    });
    let point = (any::<f64>(), option::of(any::<bool>()), results(), vec(text(), 0..2)).prop_map(
        |(at, accepted, parts, hosts)| Point { at, accepted, parts, loads: loads(&hosts) },
    );
    (
        (any::<u32>(), option::of(0u32..9), cell, any::<[f64; 3]>()),
        outcome,
        results(),
        vec(point, 0..2),
        flags(),
        vec(text(), 0..2),
    )
        .prop_map(|((number, block, cell, x), outcome, parts, points, flags, hosts)| Trial {
            number,
            block,
            cell,
            started_seconds: x[1],
            result: PointResult { outcome, together: parts.last().cloned(), parts, flags },
            points,
            loads: loads(&hosts),
            mount: number.is_multiple_of(2).then(|| super::mount(x[2], number.into())),
            imported: (x[2] > 0.0).then(|| imported(x[2], number)),
        })
}

fn loads(hosts: &[String]) -> Vec<HostLoad> {
    hosts.iter().map(|host| super::load(host)).collect()
}

/// What a store notes of the measures of these trials.
fn measures(trials: &[Trial]) -> Vec<MeasureInfo> {
    let points = |trial: &Trial| trial.points.clone();
    let parts = trials.iter().flat_map(|trial| {
        let of_points = points(trial).into_iter().flat_map(|point| point.parts);
        trial.result.parts.clone().into_iter().chain(of_points)
    });
    let used: std::collections::BTreeSet<Measure> =
        parts.flat_map(|part| part.quantities.into_keys()).map(|metric| metric.measure).collect();
    used.into_iter().filter(|m| !m.is_common()).filter_map(Measure::info).collect()
}

fn subject_facts() -> impl Strategy<Value = SubjectFacts> {
    let path = (text(), text(), vec(text(), 0..2)).prop_map(|(label, given, notes)| {
        let interface = PathInterface { end: given.clone(), ..PathInterface::default() };
        let router = Some(RouterFacts { rules_digest: Some(label.clone()), ..Default::default() });
        let (root_adds, interfaces) = (notes.clone(), vec![interface]);
        SubjectFacts::Path(PathFacts { label, given, notes, root_adds, interfaces, router })
    });
    prop_oneof![3 => facts().prop_map(SubjectFacts::Storage), 1 => path]
}

fn facts() -> impl Strategy<Value = TargetFacts> {
    let stored = select(vec![
        StoredOn::ClientMemory,
        StoredOn::ServerMemory,
        StoredOn::Disk,
        StoredOn::Unknown,
    ]);
    (text(), text(), any::<(u64, u64)>(), option::of(stored), vec(text(), 0..3)).prop_map(
        |(label, given, space_bytes, reads_from, notes)| TargetFacts {
            protocol: given.clone(),
            client_cache: label.clone(),
            label,
            given,
            advertised: AdvertisedSizes {
                largest_read_bytes: reads_from.map(|_| space_bytes.0 as u32),
                listing_bytes: notes.first().map(|_| space_bytes.1 as u32),
                ..AdvertisedSizes::default()
            },
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
    let lists = (vec(subject_facts(), 0..4), flags(), vec(any_trial(), 0..6));
    (plan(), lists, ended, origin, 0..=i64::MAX as u64, any::<u32>()).prop_map(
        |(plan, (subjects, flags, mut trials), ended, origin, started, id)| {
            for (number, trial) in trials.iter_mut().enumerate() {
                trial.number = number as u32;
            }
            Study {
                schema: SCHEMA.into(),
                id: StudyId(format!("{id:08x}")),
                started_unix_seconds: started,
                origin,
                plan,
                subjects,
                hosts: full().hosts,
                flags,
                measures: measures(&trials),
                trials,
                ended,
            }
        },
    )
}
