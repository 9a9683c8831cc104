//! Sampled kernels: what a screen says of the samples of one operation.

mod support;

use plimsoll_model::kernel_samples::SampleJob;
use plimsoll_model::kernel_trace::{
    TraceFacts, TraceJob, TraceSubject, TracedOperation, block_kind,
};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_report::{Document, Style, folded};
use std::num::NonZeroU16;
use support::plain::empty;

const SCREEN: Style = Style { width: 80, colour: false };
/// Samples of one measurement without rules: 100, of which 2 are in no subsystem.
const BLOCKS: [(&str, u32); 12] = [
    ("driver", 30),
    ("memory", 17),
    ("buffers", 11),
    ("locks and RCU", 10),
    ("IP", 7),
    ("routing", 6),
    ("UDP", 5),
    ("queue discipline", 4),
    ("security", 3),
    ("socket API", 2),
    ("netfilter", 2),
    ("my driver", 1),
];

/// Three measurements of each payload, and of each level, which adds so many samples in netfilter.
fn study(payloads: &[u64], levels: &[(&str, u32)]) -> Study {
    let mut study = empty(&[], &[]);
    let host: HostName = "ssh://root@router".parse().unwrap();
    study.plan.subjects = vec![TraceSubject { host: host.clone() }.into()];
    let facts =
        TraceFacts { label: "router".into(), given: host.to_string(), ..Default::default() };
    study.subjects = vec![SubjectFacts::Trace(facts)];
    let operation = TracedOperation::Sendto;
    let job = |payload: &u64| SampleJob { operation, payload: Bytes(*payload), calls: 900 };
    let part = |payload| Part::closed(job(payload).into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::UntilDone { at_most_seconds: 120.0 };
    study.plan.workloads =
        payloads.iter().map(|payload| Workload::new(part(payload), length)).collect();
    let set = |level: &(&str, u32)| FactorLevel::Set { value: level.0.to_owned() };
    if !levels.is_empty() {
        study.plan.factors = vec![Factor {
            name: "nft-ruleset".into(),
            host,
            levels: levels.iter().map(set).collect(),
            switch: Switch::Live,
        }];
    }
    study.plan.contrasts = Contrast::against_first(&study.plan);
    for block in 0..3 {
        for cell in study.plan.cells() {
            let more = levels.get(usize::from(cell.setting)).map_or(0, |level| level.1);
            let mut part = PartResult::default();
            let samples = Metric::all(SampleJob::SAMPLES);
            part.quantities.insert(samples, f64::from(100 + more));
            part.quantities.insert(Metric::all(TraceJob::UNTRACED), 7e-6);
            for (name, count) in BLOCKS {
                let count = if name == "netfilter" { count + more } else { count };
                let kind = block_kind(name).unwrap();
                part.quantities
                    .insert(Metric::for_kind(kind, SampleJob::SAMPLES), f64::from(count));
            }
            study.trials.push(Trial {
                number: study.trials.len() as u32,
                block: Some(block),
                cell,
                started_seconds: study.trials.len() as f64,
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

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_screen_says_what_share_rules_have() {
    let study = study(&[400, 1450], &[("none", 0), ("/etc/nftables/rules100.nft", 100)]);
    let document = Document::of_study(&study);
    let screen = document.screen(&SCREEN);
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let said = words(&screen);
    // Of 300 and of 600 samples: 6 and 306.
    for sentence in [
        "Of the time of one sendto of 400 B, netfilter has 2% [0.7%–4.3%] with nft-ruleset=none, \
         51% [47%–55%] with nft-ruleset=rules100.nft.",
        "all samples 300 600 300",
        "in no subsystem 2% [0.7%–4.3%]",
        "These are shares of samples of the kernel, not of calls of its functions.",
        "1 more column: see --details.",
    ] {
        assert!(said.contains(sentence), "'{sentence}' is missing in:\n{screen}");
    }
    let details = words(&document.text(&SCREEN));
    for sentence in ["netfilter 6, 2% [0.7%–4.3%] 306, 51%", "Clopper", "my driver"] {
        assert!(details.contains(sentence), "'{sentence}' is missing in:\n{details}");
    }
    assert_eq!(folded(&study), "");
}

#[test]
fn without_settings_the_largest_shares_are_named() {
    let screen = words(&Document::of_study(&study(&[400], &[])).screen(&SCREEN));
    let sentence = "Of the time of one sendto of 400 B, 30% [25%–36%] is in driver, 17% [13%–22%] is in memory and 11%";
    assert!(screen.contains(sentence), "{screen}");
    assert!(screen.contains("locks and RCU 10%"), "{screen}");
}

#[test]
fn odd_numbers_of_samples_are_survived() {
    for odd in [f64::NAN, f64::INFINITY, -3.0, 0.0, 300_000.0, 1e300] {
        let mut study = study(&[400], &[]);
        for trial in &mut study.trials {
            for value in trial.result.parts[0].quantities.values_mut() {
                *value = odd;
            }
        }
        let document = Document::of_study(&study);
        document.screen(&SCREEN);
        document.text(&SCREEN);
    }
}

#[test]
fn a_study_without_a_complete_trial_has_no_figures() {
    let mut study = study(&[400], &[]);
    for trial in &mut study.trials {
        trial.result = PointResult::empty(Outcome::Stopped);
    }
    let screen = Document::of_study(&study).screen(&SCREEN);
    assert!(screen.contains("No trial ran to its end"), "{screen}");
}
