//! Strategies of plans.

use super::target::target;
use super::text;
use super::workload::{metric, workload};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

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
                let client = match engine {
                    Some(_) => "ssh://me@client".parse().unwrap(),
                    None => HostName::Local,
                };
                let roles = [HostRole::Server, HostRole::Router, HostRole::Peer];
                let other = server.map(|subject| Watched {
                    subject: Some(subject),
                    ..Watched::new(HostName::Local, roles[subject % roles.len()])
                });
                let client = Watched::new(client, HostRole::Client);
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
                    watched: [client].into_iter().chain(other).collect(),
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
