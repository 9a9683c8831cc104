//! Which later study measured a prediction: the first one after it whose facts show every change.

mod support;

use plimsoll_explain::whatif::{
    Encryption, LinkEnd, LinkRate, NewDisk, ProcessorSpeed, Processors, WhatIf, is_recorded,
    measured_by, predict, predicted_rows,
};
use plimsoll_explain::{history, recognise};
use plimsoll_model::{
    Arrival, HostFacts, KeptPrediction, LabFacts, PastStudy, Protection, Study, StudyId,
};
use std::num::NonZeroU16;
use support::servers::{SERVER, Truth, study};
use support::storage;

const GIGABIT: u64 = 1_000_000_000;
const MADE: u64 = 1_770_000_000;

fn before() -> Study {
    let truth = Truth {
        depth: 16,
        driver: 10e-6,
        server: 100e-6,
        one_core: true,
        link: 400e-6,
        round_trip: 0.2e-3,
        ..Truth::default()
    };
    let mut study = study(truth, true);
    study.hosts[1].memory_bytes = 4 << 30;
    study
}

/// The study of so many days after the prediction.
fn after(day: u64, change: impl Fn(&mut Study)) -> Study {
    let mut study = before();
    study.id = StudyId(format!("{day:08x}"));
    study.started_unix_seconds = MADE + 86_400 * day;
    change(&mut study);
    study
}

fn kept(study: &Study, changes: &[WhatIf]) -> KeptPrediction {
    KeptPrediction {
        study: study.id.clone(),
        made_unix_seconds: MADE,
        changes: changes.to_vec(),
        rows: predicted_rows(study, &predict(study, changes)),
        measured: None,
    }
}

/// Number of the day of the study that measured the changes.
fn found(changes: &[WhatIf], later: &[Study]) -> Option<u64> {
    let mut prediction = kept(&before(), changes);
    if prediction.rows.is_empty() {
        // What is predicted is not the question.
        prediction.rows = kept(&before(), &[link(GIGABIT * 5 / 2)]).rows;
    }
    day_of(&prediction, later)
}

fn day_of(prediction: &KeptPrediction, later: &[Study]) -> Option<u64> {
    let all = [&[before()], later].concat();
    let pasts: Vec<PastStudy> = all.iter().map(PastStudy::new).collect();
    let recognised = recognise(&all, &|key| key.given == "nfs://nas/a");
    let history = history(&pasts, &recognised.places, 1);
    let study = measured_by(prediction, &history.moments[0], &history)?;
    u64::from_str_radix(&study.0, 16).ok()
}

fn link(bits_per_second: u64) -> WhatIf {
    WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(bits_per_second) }
}

fn with_link(host: usize, interface: &str, rate: u64) -> impl Fn(&mut Study) {
    move |study: &mut Study| {
        study.hosts[host].link_rates.insert(interface.to_owned(), rate);
    }
}

fn number(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

#[test]
fn a_link_is_recognised_by_its_new_rate() {
    let fast = 5 * GIGABIT / 2;
    let change = [link(fast)];
    let times = [WhatIf::Link { end: LinkEnd::Client, to: LinkRate::Times(2.5) }];
    let same = after(1, |_| {});
    let faster = after(2, with_link(0, "eth0", fast));
    let adapter = after(3, with_link(0, "usb0", fast));
    let other = after(4, with_link(0, "eth0", 10 * GIGABIT));
    assert_eq!(found(&change, &[]), None);
    assert_eq!(found(&change, &[same.clone(), faster.clone(), adapter.clone()]), Some(2));
    assert_eq!(found(&times, &[same.clone(), faster.clone()]), Some(2));
    assert_eq!(found(&change, &[same.clone(), adapter.clone()]), Some(3), "another interface");
    assert_eq!(found(&times, std::slice::from_ref(&adapter)), None, "times which rate?");
    assert_eq!(found(&change, &[same, other]), None);
    // One end of the path was left as it was.
    let half = after(5, |study| {
        with_link(0, "eth0", fast)(study);
        with_link(1, "eth1", GIGABIT)(study);
    });
    assert_eq!(found(&change, std::slice::from_ref(&half)), None);
    assert_eq!(found(&times, std::slice::from_ref(&half)), Some(5), "the client's alone");
    // A study that was there before the prediction was made is no test of it.
    let early = Study { started_unix_seconds: MADE - 1, ..faster.clone() };
    assert_eq!(found(&change, std::slice::from_ref(&early)), None);
    let named = KeptPrediction { measured: Some(early.id.clone()), ..kept(&before(), &change) };
    assert_eq!(day_of(&named, &[early, faster]), Some(2), "the user knows better");
}

#[test]
fn only_equal_work_of_the_same_client_is_a_test() {
    let change = [link(5 * GIGABIT / 2)];
    let faster = |day, more: &dyn Fn(&mut Study)| {
        after(day, |study| {
            with_link(0, "eth0", 5 * GIGABIT / 2)(study);
            more(study);
        })
    };
    let bigger = faster(1, &|study| support::job(&mut study.plan.workloads[0]).size.0 *= 2);
    let remote = faster(2, &|study| study.plan.drive_on(["ssh://pc".parse().unwrap()]));
    let equal = faster(3, &|_| {});
    assert_eq!(found(&change, &[bigger, remote, equal]), Some(3));
}

#[test]
fn other_facts_are_recognised_too() {
    let round_trip = |seconds: f64| {
        move |study: &mut Study| {
            storage(&mut study.subjects[0]).round_trip_seconds = Some(seconds);
        }
    };
    let far = [WhatIf::RoundTrip { seconds: 5e-3 }];
    let later = [after(1, round_trip(0.21e-3)), after(2, round_trip(5.3e-3))];
    assert_eq!(found(&far, &later), Some(2));
    assert_eq!(found(&[WhatIf::RoundTrip { seconds: 0.2e-3 }], &later), None, "no change");

    let memory = |bytes: u64| move |study: &mut Study| study.hosts[1].memory_bytes = bytes;
    let later = [after(1, memory(5 << 30)), after(2, memory((8 << 30) - (300 << 20)))];
    assert_eq!(found(&[WhatIf::Memory(2.0)], &later), Some(2));
    assert_eq!(found(&[WhatIf::Memory(1.01)], &[after(1, |_| {})]), None, "no change");

    let algorithm = || "AES-128-GCM".to_owned();
    let sealed = |study: &mut Study| {
        let protection = Protection::Encryption { algorithm: algorithm() };
        storage(&mut study.subjects[0]).protection = Some(protection);
    };
    let signed = |study: &mut Study| {
        let protection = Protection::Signing { algorithm: algorithm() };
        storage(&mut study.subjects[0]).protection = Some(protection);
    };
    let smb = [WhatIf::Encrypt { layer: Encryption::Smb, seconds_per_byte: 1e-9 }];
    assert_eq!(found(&smb, &[after(1, signed), after(2, sealed)]), Some(2));

    let workers = |count: u16, depth: u16| {
        move |study: &mut Study| {
            let part = &mut study.plan.workloads[0].parts[0];
            part.workers = number(count);
            part.arrival = Arrival::Closed { depth: number(depth) };
        }
    };
    let later = [after(1, workers(8, 32)), after(2, workers(8, 16)), after(3, workers(1, 32))];
    assert_eq!(found(&[WhatIf::Readers(number(8))], &later), Some(2));
    assert_eq!(found(&[WhatIf::Depth(number(32))], &later), Some(3));
    let both = [WhatIf::Readers(number(8)), WhatIf::Depth(number(32))];
    assert_eq!(found(&both, &later), Some(1));
    assert_eq!(found(&[WhatIf::Depth(number(16))], &[after(1, |_| {})]), None, "no change");
}

#[test]
fn links_of_a_lab_have_the_rates_that_they_are_shaped_to() {
    let lab = |rate: &str| {
        let settings = [("link lan between", "nas, pc"), ("link lan shaped rate", rate)];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Some(LabFacts { name: "bed".into(), settings })
    };
    let named = |name: &str, rate: &str| HostFacts {
        name: name.parse().unwrap(),
        lab: lab(rate),
        ..HostFacts::default()
    };
    let in_lab = |rate: &'static str| {
        move |study: &mut Study| {
            study.plan.drive_on(["lab://bed/pc".parse().unwrap()]);
            study.hosts = vec![named("lab://bed/pc", rate), named(SERVER, rate)];
        }
    };
    let mut first = before();
    in_lab("100Mbit/s")(&mut first);
    let mut prediction = kept(&before(), &[link(GIGABIT)]);
    prediction.study = first.id.clone();
    let all = [first, after(1, in_lab("100Mbit/s")), after(2, in_lab("1Gbit/s"))];
    let pasts: Vec<PastStudy> = all.iter().map(PastStudy::new).collect();
    let recognised = recognise(&all, &|key| key.given == "nfs://nas/a");
    let history = history(&pasts, &recognised.places, 1);
    let measured = measured_by(&prediction, &history.moments[0], &history);
    assert_eq!(measured, Some(all[2].id.clone()));
}

#[test]
fn speeds_of_processors_and_disks_are_no_facts() {
    let speed = ProcessorSpeed::times(2.0);
    let faster = WhatIf::Processor { of: Processors::Server, speed };
    let sealed = WhatIf::Encrypt { layer: Encryption::Disk, seconds_per_byte: 1e-9 };
    for change in [faster, WhatIf::Disk(NewDisk::Times(2.0)), sealed] {
        assert!(!is_recorded(std::slice::from_ref(&change)));
        let both = [link(5 * GIGABIT / 2), change];
        assert!(!is_recorded(&both));
        assert_eq!(found(&both, &[after(1, with_link(0, "eth0", 5 * GIGABIT / 2))]), None);
    }
    assert!(is_recorded(&[link(GIGABIT)]) && !is_recorded(&[]));
}
