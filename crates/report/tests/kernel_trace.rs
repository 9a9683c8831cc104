//! Traced kernels: what a screen says of the functions of one operation.

mod support;

use plimsoll_model::kernel_trace::{
    KernelFunction, TraceFacts, TraceJob, TraceSubject, TracedOperation, block_kind,
};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_report::{Document, Style, folded};
use std::num::NonZeroU16;
use support::plain::empty;

const SCREEN: Style = Style { width: 80, colour: false };
const BLOCKS: [(&str, f64); 12] = [
    ("system call", 1.0),
    ("socket API", 7.0),
    ("security", 12.0),
    ("UDP", 9.0),
    ("routing", 14.0),
    ("IP", 13.0),
    ("netfilter", 1.0),
    ("neighbour", 5.0),
    ("queue discipline", 20.0),
    ("driver", 41.0),
    ("buffers", 26.0),
    ("memory", 36.0),
];

fn function(depth: u16, name: &str, block: Option<&str>) -> KernelFunction {
    let block = block.map(str::to_owned);
    KernelFunction { depth, name: name.to_owned(), block, traced_nanoseconds: Some(900) }
}

/// What one send did with so many rules.
fn result(rules: f64, corrected: bool) -> PartResult {
    let mut part = PartResult::default();
    let mut put = |metric, value| {
        part.quantities.insert(metric, value);
    };
    for (block, count) in BLOCKS {
        let count = if block == "netfilter" { count + rules } else { count };
        let kind = block_kind(block).unwrap();
        put(Metric::for_kind(kind, TraceJob::FUNCTIONS), count);
        if corrected {
            put(Metric::for_kind(kind, TraceJob::CORRECTED), count * 1e-7);
        }
    }
    put(Metric::all(TraceJob::FUNCTIONS), 185.0 + rules);
    put(Metric::all(TraceJob::SAME), 0.98);
    put(Metric::all(TraceJob::UNTRACED), 20e-6);
    put(Metric::all(TraceJob::TRACED), 160e-6);
    if corrected {
        put(Metric::all(TraceJob::CORRECTED), 19e-6);
    }
    part.functions = vec![function(0, "__x64_sys_sendto", Some("system call"))];
    part.functions.extend(BLOCKS.iter().skip(1).map(|(block, _)| function(1, "f", Some(*block))));
    part.functions.push(function(2, "g;\x1b[2J", None));
    part
}

/// Sends of two payloads from a router, with and without a hundred rules.
fn study(payloads: &[u64], levels: &[&str], corrected: bool) -> Study {
    study_of(TracedOperation::Sendto, payloads, levels, corrected)
}

/// The same of another operation.
fn study_of(
    operation: TracedOperation,
    payloads: &[u64],
    levels: &[&str],
    corrected: bool,
) -> Study {
    let mut study = empty(&[], &[]);
    let host: HostName = "ssh://root@router".parse().unwrap();
    study.plan.subjects = vec![TraceSubject { host: host.clone() }.into()];
    study.subjects = vec![SubjectFacts::Trace(TraceFacts {
        label: "router".into(),
        given: host.to_string(),
        release: Some("6.1.0".into()),
        machine: Some("x86_64".into()),
    })];
    let job = |payload: &u64| TraceJob { operation, payload: Bytes(*payload), calls: 50 };
    let part = |payload| Part::closed(job(payload).into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::UntilDone { at_most_seconds: 120.0 };
    study.plan.workloads =
        payloads.iter().map(|payload| Workload::new(part(payload), length)).collect();
    let set = |level: &&str| FactorLevel::Set { value: (*level).to_owned() };
    if !levels.is_empty() {
        study.plan.factors = vec![Factor {
            name: "nft-ruleset".into(),
            host,
            levels: levels.iter().map(set).collect(),
            switch: Switch::Live,
        }];
    }
    study.plan.command = "plimsoll trace ssh://root@router".into();
    study.plan.contrasts = Contrast::against_first(&study.plan);
    for block in 0..3 {
        for cell in study.plan.cells() {
            let parts = vec![result(100.0 * f64::from(cell.setting), corrected)];
            study.trials.push(Trial {
                number: study.trials.len() as u32,
                block: Some(block),
                cell,
                started_seconds: study.trials.len() as f64,
                result: PointResult { parts, ..PointResult::empty(Outcome::Complete) },
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
fn a_screen_says_what_rules_add() {
    let study = study(&[400, 1450], &["none", "/etc/nftables/rules100.nft"], false);
    let document = Document::of_study(&study);
    let screen = document.screen(&SCREEN);
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let said = words(&screen);
    for sentence in [
        "One sendto of 400 B runs 185 kernel functions with nft-ruleset=none, 285 with \
         nft-ruleset=rules100.nft. Netfilter has 1 and 101 of them.",
        "netfilter 1 101 1 101",
        "all functions 185 285 185 285",
        "calls with this number 98% 98% 98% 98%",
        "No times by subsystem: a traced call takes up to 8.00 times as long",
    ] {
        assert!(said.contains(sentence), "'{sentence}' is missing in:\n{screen}");
    }
    // Nothing of the kernel's names gets out as it is.
    let details = document.text(&SCREEN);
    assert!(!details.contains('\x1b') && !document.html().contains('\x1b'));
    for sentence in ["traced time", "I. Kofler et al., 2011", "50 calls"] {
        assert!(details.contains(sentence), "'{sentence}' is missing in:\n{details}");
    }
    let names: Vec<String> = document.charts().map(|(name, _)| name).collect();
    assert!(names.contains(&"kernel-blocks.svg".to_owned()), "{names:?}");
    assert!(names.contains(&"kernel-calls-1.svg".to_owned()), "{names:?}");
}

#[test]
fn without_settings_the_largest_blocks_are_named() {
    let screen = words(&Document::of_study(&study(&[400], &[], false)).screen(&SCREEN));
    let sentence = "One sendto of 400 B runs 185 kernel functions: 41 of driver, 36 of memory and 26 of buffers.";
    assert!(screen.contains(sentence), "{screen}");
}

/// Work for other hosts has the same tables; no published figure is of it.
#[test]
fn packets_and_calls_to_a_server_are_counted_like_system_calls() {
    for (operation, sentence) in [
        (TracedOperation::Forward, "One forwarded packet of 400 B runs 185 kernel functions"),
        (TracedOperation::NfsRead, "One NFS READ of 400 B runs 185 kernel functions"),
        (TracedOperation::NfsWrite, "One NFS WRITE of 400 B runs 185 kernel functions"),
    ] {
        let study = study_of(operation, &[400], &["none", "rules.nft"], false);
        let document = Document::of_study(&study);
        let screen = document.screen(&SCREEN);
        assert!(screen.lines().count() <= 24, "{screen}");
        assert!(words(&screen).contains(sentence), "{screen}");
        let details = words(&document.text(&SCREEN));
        assert!(details.contains("while only their first function is traced"), "{details}");
        assert!(folded(&study).contains(";__x64_sys_sendto"), "{}", folded(&study));
    }
    let details = words(&Document::of_study(&study(&[400], &[], false)).text(&SCREEN));
    assert!(!details.contains("only their first function"), "{details}");
}

#[test]
fn times_are_shown_where_they_are_valid() {
    let screen = words(&Document::of_study(&study(&[400], &[], true)).screen(&SCREEN));
    assert!(screen.contains("driver 41, 4.10 µs"), "{screen}");
    assert!(!screen.contains("No times by subsystem"), "{screen}");
}

#[test]
fn many_columns_are_for_the_details() {
    let levels = ["none", "a.nft", "b.nft", "c.nft"];
    for (corrected, more) in [(false, 3), (true, 5)] {
        let document = Document::of_study(&study(&[400, 1450], &levels, corrected));
        let screen = document.screen(&SCREEN);
        assert!(screen.lines().count() <= 24, "{screen}");
        assert!(screen.contains(&format!("{more} more columns: see --details.")), "{screen}");
    }
}

#[test]
fn call_trees_are_folded_stacks() {
    let text = folded(&study(&[400], &["none", "rules.nft"], false));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().any(|line| line.ends_with(";__x64_sys_sendto 1")), "{text}");
    assert!(lines.iter().any(|line| line.contains("nft-ruleset=none;")), "{text}");
    assert!(!text.contains('\x1b'));
    let timed = folded(&study(&[400], &[], true));
    assert!(timed.contains("__x64_sys_sendto;f "), "{timed}");
    assert_eq!(folded(&empty(&[], &[])), "");
}

#[test]
fn a_study_without_a_complete_trial_has_no_figures() {
    let mut study = study(&[400], &[], false);
    for trial in &mut study.trials {
        trial.result = PointResult::empty(Outcome::Stopped);
    }
    let screen = Document::of_study(&study).screen(&SCREEN);
    assert!(screen.contains("No trial ran to its end"), "{screen}");
}
