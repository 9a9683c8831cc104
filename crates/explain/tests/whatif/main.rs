//! What changes would bring, held against servers whose truth is known.

mod advice;
mod paths;
mod ranges;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;

use plimsoll_explain::whatif::{
    Answer, Encryption, LinkEnd, LinkRate, NewDisk, Next, Part, Prediction, ProcessorSpeed,
    Processors, Refusal, Settle, Unknown, WhatIf, Why, advise, payload_of, predict, predicted_rows,
    scores,
};
use plimsoll_explain::{Resource, across, findings, limits};
use plimsoll_model::device::{DiskFigures, DiskPhase};
use plimsoll_model::{
    Arrival, DiskFacts, Flag, HostResource, InterfaceLoad, Measure, Metric, OpKind, Pattern,
    Protection, StoredOn, Study, Subject, Target,
};
use std::num::{NonZeroU16, NonZeroU32};
use support::servers::{SERVER, Truth, on_one_machine, study, with_ladder};

fn base(depth: u16) -> Truth {
    Truth {
        depth,
        driver: 10e-6,
        server: 100e-6,
        link: 100e-6,
        round_trip: 50e-6,
        at_a_time: 1.0,
        ..Truth::default()
    }
}

fn link(times: f64) -> WhatIf {
    WhatIf::Link { end: LinkEnd::Path, to: LinkRate::Times(times) }
}

fn server(times: f64) -> WhatIf {
    WhatIf::Processor { of: Processors::Server, speed: ProcessorSpeed::times(times) }
}

fn one(study: &Study, change: &WhatIf) -> Prediction {
    let found = predict(study, std::slice::from_ref(change));
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

/// Both ends, as times today.
fn ends(found: &Prediction) -> (f64, f64) {
    match found.answer {
        Answer::Same { .. } => (1.0, 1.0),
        Answer::Between { low, high } => (low / found.today, high / found.today),
        Answer::AtMost { low, high, .. } => (low.unwrap_or(0.0) / found.today, high / found.today),
        Answer::CannotSay(_) => panic!("{found:?}"),
    }
}

fn refusal(study: &Study, change: &WhatIf) -> Refusal {
    match one(study, change).answer {
        Answer::CannotSay(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn names(found: &Prediction) -> Vec<&'static str> {
    let name = |next: &Next| match next {
        Next::Resource(one) => match one.resource {
            Resource::Link { .. } => "link",
            Resource::Driver => "driver",
            Resource::Processor => "processor",
            Resource::Core { .. } => "core",
            Resource::Disk { .. } => "disk",
            Resource::RoundTrip => "round trip",
            _ => "other",
        },
        Next::OfPath(_) => "path",
        Next::Waiting => "waiting",
    };
    found.next.iter().map(name).collect()
}

/// One operation at a time takes the sum of all: 10 + 100 + 100 + 50 µs, of which the link's 100 become 40.
#[test]
fn one_in_flight_is_a_sum() {
    let found = one(&study(base(1), true), &link(2.5));
    let (low, high) = ends(&found);
    let expected = 260.0 / 200.0;
    assert!(
        (low / expected - 1.0).abs() < 0.01 && (high / expected - 1.0).abs() < 0.01,
        "{found:?}"
    );
    assert!(matches!(found.answer, Answer::Between { .. }), "{found:?}");
    assert_eq!(found.measure, Measure::IOPS);
    assert_eq!(names(&found), ["processor"]);
}

/// A link of 400 µs with 16 in flight carries 2500 a second. With 2.5 times its rate, 160 µs, it allows 6250; one core of
/// 100 µs allows more. Demands are known up to 3750.
#[test]
fn a_faster_link_is_a_bound_beyond_what_was_measured() {
    let truth = Truth { link: 400e-6, one_core: true, ..base(16) };
    let found = one(&study(truth, true), &link(2.5));
    let (low, high) = ends(&found);
    assert!((low - 1.5).abs() < 0.01 && (high - 2.5).abs() < 0.01, "{found:?}");
    let Answer::AtMost { unknown, .. } = &found.answer else { panic!("{found:?}") };
    assert!(
        matches!(unknown[..], [Unknown::Beyond(times)] if (times - 1.5).abs() < 1e-6),
        "{found:?}"
    );
    assert_eq!(names(&found), ["link"]);
}

/// A row has one rate, wherever it is named: trials during which others used a host are set apart, unless they are half
/// of all.
#[test]
fn trials_that_others_disturbed_are_in_no_rate() {
    let (quiet, changes) = (study(base(1), true), [link(2.5)]);
    let disturb = |study: &mut Study, block: u32| {
        let (part, loads) = Truth { hidden: 1e-3, ..base(1) }.run(1, true);
        support::servers::add(study, block, 0, vec![part], loads, Vec::new());
        let flag = Flag::OtherLoad {
            host: SERVER.parse().unwrap(),
            resource: HostResource::Network,
            per_second: 5e7,
        };
        study.trials.last_mut().unwrap().result.flags.push(flag);
    };
    let mut disturbed = quiet.clone();
    disturb(&mut disturbed, 3);
    let same = |a: String, b: String| assert_eq!(a, b);
    let predicted = predict(&disturbed, &changes);
    same(format!("{predicted:?}"), format!("{:?}", predict(&quiet, &changes)));
    same(format!("{:?}", limits(&disturbed)), format!("{:?}", limits(&quiet)));
    same(format!("{:?}", advise(&disturbed, None)), format!("{:?}", advise(&quiet, None)));

    let (today, metric) = (predicted[0].today, Metric::all(predicted[0].measure));
    let is_today = |figure: f64| (figure / today - 1.0).abs() < 1e-9;
    let shown = findings(&disturbed).workloads[0].cells[0].levels[&metric].estimate;
    let compared = across(&quiet, &disturbed).counterparts[0].ratios[&metric].estimate;
    let rows = predicted_rows(&quiet, &predicted);
    let scored = scores(&quiet, &changes, &rows, &disturbed)[0].measured;
    assert!([shown, compared * today, scored].into_iter().all(is_today), "{today}");

    disturb(&mut disturbed, 4);
    disturb(&mut disturbed, 5);
    let mixed = predict(&disturbed, &changes)[0].today;
    let shown = findings(&disturbed).workloads[0].cells[0].levels[&metric].estimate;
    assert!(mixed < 0.6 * today && (shown / mixed - 1.0).abs() < 1e-9, "{mixed}, {shown}");
}

/// TCP carries 96% of a link's rate. What is missing is no waiting: one operation at a time has none.
#[test]
fn a_saturated_link_that_is_not_counted_as_full_is_no_waiting() {
    let truth = Truth { driver: 2e-6, server: 10e-6, link: 400e-6, round_trip: 5e-6, ..base(4) };
    let mut study =
        with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth { depth, ..truth });
    for trial in &mut study.trials {
        let loads = trial.points.iter_mut().flat_map(|point| &mut point.loads);
        for one in trial.loads.iter_mut().chain(loads).flat_map(|load| &mut load.interfaces) {
            one.received_bytes = one.received_bytes * 96 / 100;
        }
    }
    let found = one(&study, &link(3.0));
    assert_eq!(names(&found), ["link"], "{found:#?}");
    let (low, high) = ends(&found);
    // Demands are known up to 1.5 times the highest rate.
    assert!(low > 1.4 && high > 2.9 && high < 3.2, "{found:#?}");
}

/// Two demands within 20% of the largest are both next.
#[test]
fn two_that_are_about_equal_are_both_next() {
    let truth = Truth { link: 200e-6, server: 140e-6, one_core: true, ..base(16) };
    assert_eq!(names(&one(&study(truth, true), &link(1.5))), ["core", "link"]);
    assert_eq!(names(&one(&study(truth, true), &link(2.0))), ["core"]);
}

#[test]
fn what_is_not_the_bottleneck_makes_no_difference() {
    let truth = Truth { disk: 2e-3, ..base(16) };
    let found = one(&study(truth, true), &link(2.5));
    assert_eq!(found.answer, Answer::Same { is_unused: false }, "{found:?}");
    assert_eq!(names(&found), ["disk"]);
    // Nothing is changed at all.
    let found = one(&study(truth, true), &link(1.0));
    assert_eq!(found.answer, Answer::Same { is_unused: true });
}

/// A disk that was never saturated has no known capacity: from today to the next bound.
#[test]
fn a_disk_that_was_never_saturated_is_not_known() {
    let truth = Truth { link: 400e-6, disk: 100e-6, ..base(16) };
    let found = one(&study(truth, true), &link(2.5));
    let (low, high) = ends(&found);
    assert!((low - 1.0).abs() < 1e-6 && (high - 2.5).abs() < 0.01, "{found:?}");
    let Answer::AtMost { unknown, .. } = &found.answer else { panic!("{found:?}") };
    let is_disk = |one: &Unknown| {
        matches!(one, Unknown::Disk { host, name, utilisation }
            if host == SERVER && name == "sda" && (utilisation - 0.25).abs() < 0.02)
    };
    assert!(unknown.iter().any(is_disk), "{unknown:?}");
}

#[test]
fn a_measured_disk_has_the_capacity_that_was_measured() {
    let truth = Truth { disk: 5e-3, ..base(1) };
    let study = study(truth, true);
    let phase = |block| DiskPhase {
        phase: Some("random_read".into()),
        block_bytes: Some(block),
        operations_per_second: Some(1000),
        ..DiskPhase::default()
    };
    let disk = |block| {
        WhatIf::Disk(NewDisk::Like(DiskFigures {
            phases: vec![phase(block)],
            ..DiskFigures::default()
        }))
    };
    let (low, high) = ends(&one(&study, &disk(4096)));
    let expected = (5000.0 + 260.0) / (1000.0 + 260.0);
    assert!((high / expected - 1.0).abs() < 0.01 && low > 1.4, "{low} {high}");
    assert_eq!(refusal(&study, &disk(1 << 20)).why, Why::NoDiskFigure);
}

#[test]
fn nothing_is_said_of_what_was_not_monitored() {
    let unwatched = study(base(4), false);
    let found = refusal(&unwatched, &server(2.0));
    assert_eq!(
        (found.why, found.settle),
        (Why::NotMonitored(Part::ServerProcessor), Settle::Monitor)
    );
    let mut from_disk = study(base(4), false);
    support::storage(&mut from_disk.subjects[0]).reads_from = Some(StoredOn::Disk);
    let found = refusal(&from_disk, &WhatIf::Disk(NewDisk::Times(2.0)));
    assert_eq!(found.why, Why::NotMonitored(Part::Disk));
    let mut no_rate = study(base(4), true);
    no_rate.hosts[0].link_rates.clear();
    assert_eq!(refusal(&no_rate, &link(2.0)).why, Why::NotMonitored(Part::Link));
    let no_trip = study(Truth { round_trip: 0.0, ..base(4) }, true);
    let found = refusal(&no_trip, &WhatIf::RoundTrip { seconds: 5e-3 });
    assert_eq!(found.why, Why::NotMonitored(Part::RoundTrip));
    // Nor of a round trip that is longer than a lookup, which contains one.
    let mut no_bound = study(base(4), true);
    let change = WhatIf::RoundTrip { seconds: 10e-6 };
    assert!(!matches!(one(&no_bound, &change).answer, Answer::CannotSay(_)));
    let lookup = Metric { kind: Some(OpKind::LOOKUP), measure: Measure::LATENCY_MEAN };
    for trial in &mut no_bound.trials {
        trial.result.parts[0].quantities.insert(lookup, 40e-6);
    }
    assert_eq!(refusal(&no_bound, &change).why, Why::NotMonitored(Part::RoundTrip));
}

#[test]
fn contradicting_figures_predict_nothing() {
    let mut study = study(base(16), true);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        for interface in &mut load.interfaces {
            interface.received_bytes *= 40;
        }
    }
    assert!(matches!(refusal(&study, &server(2.0)).why, Why::Contradiction(_)));
}

#[test]
fn a_fixed_rate_is_no_resource() {
    let mut study = study(base(4), true);
    let arrival = &mut study.plan.workloads[0].parts[0].arrival;
    *arrival = Arrival::Paced {
        depth: NonZeroU16::new(4).unwrap(),
        per_second: NonZeroU32::new(100).unwrap(),
    };
    let found = refusal(&study, &link(2.0));
    assert_eq!((found.why, found.settle), (Why::FixedRate, Settle::ClosedLoop));
}

#[test]
fn readers_of_a_rotating_disk_are_refused_unless_several_were_measured() {
    let eight = |n| WhatIf::Readers(NonZeroU16::new(n).unwrap());
    let at = |depth| Truth { disk: 5e-3, ..base(depth) };
    let mut plain = study(at(4), true);
    let rotating = DiskFacts { rotational: true, queue_depth: Some(32) };
    let set = |study: &mut Study, facts: DiskFacts| {
        let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
        server.disks.insert("sda".into(), facts);
    };
    set(&mut plain, rotating);
    let found = refusal(&plain, &eight(8));
    assert_eq!((found.why, found.settle), (Why::Rotating, Settle::Workers(8)));
    // What was measured with 4 and with 16 in flight has 8 between them.
    let mut swept = with_ladder(study(at(4), true), true, [1, 4, 16], at);
    set(&mut swept, rotating);
    let found = one(&swept, &eight(2));
    let (low, high) = ends(&found);
    assert!(low <= 1.0 && high <= 1.1, "{found:?}");
    // Of a solid-state disk one number tells a bound.
    set(&mut plain, DiskFacts { rotational: false, queue_depth: Some(32) });
    assert!(!matches!(one(&plain, &eight(8)).answer, Answer::CannotSay(_)));
}

/// A faster server drops packets before a slower client: today is no lower bound.
#[test]
fn links_of_two_rates_have_no_lower_bound() {
    let truth = Truth { link: 400e-6, ..base(16) };
    let mut study = study(truth, true);
    let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
    server.link_rates.insert("eth1".into(), 1_000_000_000);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        if load.host == *SERVER {
            let sent =
                InterfaceLoad { name: "eth1".into(), sent_bytes: 1, ..InterfaceLoad::default() };
            load.interfaces.push(sent);
        }
    }
    let change = WhatIf::Link { end: LinkEnd::Server, to: LinkRate::BitsPerSecond(2_500_000_000) };
    let found = one(&study, &change);
    match &found.answer {
        Answer::AtMost { low: None, unknown, .. } => {
            assert!(unknown.contains(&Unknown::MixedLinks), "{found:?}");
        }
        Answer::Same { .. } => panic!("{found:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_architecture_is_a_bound() {
    let truth = Truth { server: 800e-6, ..base(16) };
    let speed = ProcessorSpeed { other_architecture: true, ..ProcessorSpeed::times(1.3) };
    let found = one(&study(truth, true), &WhatIf::Processor { of: Processors::Server, speed });
    let Answer::AtMost { unknown, .. } = &found.answer else { panic!("{found:?}") };
    assert!(unknown.contains(&Unknown::Architecture), "{found:?}");
}

/// "The client's CPU was not monitored" was said of a machine that is both ends, and whose CPU was the bottleneck.
#[test]
fn faster_processors_are_those_of_a_machine_that_is_both_ends() {
    let truth = Truth { driver: 150e-6, server: 600e-6, ..base(16) };
    let mut both = study(truth, true);
    on_one_machine(&mut both);
    let all = WhatIf::Processor { of: Processors::All, speed: ProcessorSpeed::times(2.0) };
    let (low, high) = ends(&one(&both, &all));
    assert!(low > 1.2 && (1.8..2.1).contains(&high), "{low} {high}");
}

/// 4096 bytes of 25 ns each are 102 µs more of the server's two cores: 151 instead of 100 µs, at least.
#[test]
fn encryption_is_a_bound_by_the_cipher() {
    let truth = Truth { server: 200e-6, disk: 20e-6, ..base(16) };
    let mut study = study(truth, true);
    let change = |layer| WhatIf::Encrypt { layer, seconds_per_byte: 25e-9 };
    assert_eq!(refusal(&study, &change(Encryption::Smb)).why, Why::NotSmb);
    let found = one(&study, &change(Encryption::Disk));
    let Answer::AtMost { low: None, high, ref unknown } = found.answer else { panic!("{found:?}") };
    assert!(unknown.contains(&Unknown::Encryption), "{found:?}");
    let really = Truth { server: 302.4e-6, ..truth };
    let really = really.carries(16) / truth.carries(16);
    assert!(high / found.today < 0.8 && really <= 1.01 * high / found.today, "{found:?} {really}");
    // A server that is busy whether there is load or not: what an operation takes of it is not known.
    let mut busy = study.clone();
    for (trial, idle) in busy.trials.iter_mut().zip([0.1, 1.9, 3.0].into_iter().cycle()) {
        let load = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
        load.idle_baseline = idle;
    }
    let unknown = refusal(&busy, &change(Encryption::Disk)).why;
    assert_eq!(unknown, Why::NotMonitored(Part::ServerProcessor));
    study.plan.subjects = vec![Subject::from("smb://me@nas/a".parse::<Target>().unwrap())];
    let found = one(&study, &change(Encryption::Smb));
    assert!(matches!(found.answer, Answer::AtMost { low: None, .. }), "{found:?}");
    support::storage(&mut study.subjects[0]).protection =
        Some(Protection::Encryption { algorithm: "AES-128-GCM".into() });
    let found = one(&study, &change(Encryption::Smb));
    assert_eq!(found.answer, Answer::Same { is_unused: true });
}

/// An import has no loads: the rate of the new link is all that is known.
#[test]
fn without_hosts_only_the_new_link_is_known() {
    let mut study = study(base(4), true);
    for trial in &mut study.trials {
        trial.loads.clear();
        for part in &mut trial.result.parts {
            part.quantities.remove(&Metric::all(Measure::CLIENT_CPU_PER_OP));
        }
    }
    support::storage(&mut study.subjects[0]).round_trip_seconds = None;
    support::job(&mut study.plan.workloads[0]).pattern = Pattern::SequentialRead;
    let rate = 2_500_000_000;
    let change = WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(rate) };
    let found = one(&study, &change);
    assert!(found.limits.is_none(), "{found:?}");
    let Answer::AtMost { high, .. } = found.answer else { panic!("{found:?}") };
    assert_eq!(high, payload_of(rate));
    assert!((payload_of(1_000_000_000) / 1e6 - 117.685).abs() < 0.01);
    assert_eq!(refusal(&study, &server(2.0)).why, Why::NothingMonitored);
    // A bound far above today says nothing.
    let to = LinkRate::BitsPerSecond(100_000_000_000);
    let far = refusal(&study, &WhatIf::Link { end: LinkEnd::Path, to });
    assert_eq!((far.why, far.settle), (Why::BoundTooFar { times: 10.0 }, Settle::Monitor));
}
