//! Whole pages, settled as snapshots, and what must hold for any study.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod forwarding;
mod imports;
mod jobs;
#[path = "../../explain/tests/support/mod.rs"]
mod support;
mod written;

use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::{
    Ended, Failure, Flag, Measure, Metric, Pattern, Rule, Stability, StoredOn, Study, StudyId,
    SubjectKind,
};
use plimsoll_record::{StudySummary, SubjectSummary};
use plimsoll_report::{Document, Style, list};
use proptest::prelude::*;
use support as plain;
use support::{add, add_blocks, empty, fail};
use written::{compare, study};

const NARROW: Style = Style { width: 80, colour: false };
const WIDE: Style = Style { width: 120, colour: false };
const TWO: [&str; 2] = ["nfs://nas/volume1", "/srv/data"];

/// Bytes per second: the second target is a third faster, but the same at writing in order, and
/// too noisy to tell at writing at random.
fn rate(target: usize, pattern: Pattern) -> f64 {
    let base = match pattern {
        Pattern::SequentialRead => 112e6,
        Pattern::SequentialWrite => 98e6,
        Pattern::RandomRead => 7334.0 * 4096.0,
        Pattern::RandomWrite => 1210.0 * 4096.0,
        Pattern::RandomMixed | Pattern::SequentialMixed => 2400.0 * 4096.0,
    };
    let factor = match pattern {
        Pattern::SequentialWrite | Pattern::RandomWrite => 1.0,
        Pattern::RandomMixed => 3.1,
        _ => 4.0 / 3.0,
    };
    if target == 0 { base } else { base * factor }
}

/// A cost that cannot be distinguished from zero has no ratio worth a digit: it is reported in words.
#[test]
fn cpu_that_may_be_nothing_is_reported_in_words() {
    let mut study = two_targets();
    for trial in &mut study.trials {
        let noise = [3e-9, -2e-9, 0.0][trial.block.unwrap() as usize % 3];
        for measure in [Measure::SERVER_CPU_PER_BYTE, Measure::SERVER_CPU_PER_OP] {
            let cost = if trial.cell.subject == 0 { noise } else { 1e-9 + noise / 1e3 };
            trial.result.parts[0].quantities.insert(Metric::all(measure), cost);
        }
    }
    let text =
        crate::written::study(&study, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("server CPU of nas not distinguishable from zero"), "{text}");
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.subject == 0) {
        for measure in [Measure::SERVER_CPU_PER_BYTE, Measure::SERVER_CPU_PER_OP] {
            trial.result.parts[0].quantities.insert(Metric::all(measure), 2e-9);
        }
    }
    let text =
        crate::written::study(&study, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text.contains("distinguishable") && text.contains("server CPU 0.5"), "{text}");
}

fn two_targets() -> Study {
    let mut study = empty(&TWO, &Pattern::USUAL);
    add_blocks(&mut study, 6, 0.015, rate);
    for trial in &mut study.trials {
        let workload = study.plan.workload(trial.cell).unwrap();
        if plain::pattern_of(workload) == Pattern::RandomWrite {
            let noise = [0.7, 1.4, 1.0][trial.number as usize % 3];
            for (metric, value) in &mut trial.result.parts[0].quantities {
                if matches!(metric.measure, Measure::THROUGHPUT | Measure::IOPS) {
                    *value *= noise;
                }
            }
        }
        if trial.number % 20 == 3 {
            trial.result.flags.push(Flag::LongGap { seconds: 1.0 + f64::from(trial.number) });
        }
    }
    study.flags = vec![Flag::WorkingSet {
        target: "nfs://nas/volume1".into(),
        size: Bytes(GIB),
        reads_from: StoredOn::ServerMemory,
        settles: Some(Bytes(4 * GIB)),
    }];
    study
}

#[test]
fn two_targets_narrow() {
    insta::assert_snapshot!(study(&two_targets(), &NARROW));
}

#[test]
fn two_targets_wide() {
    insta::assert_snapshot!(study(&two_targets(), &WIDE));
}

/// Blocks that a stall halved, and blocks that move slowly together: said below the verdict.
#[test]
fn what_speaks_against_a_verdict_is_said() {
    let with = |log: fn(u32) -> f64| {
        let mut doubtful = empty(&TWO, &[Pattern::SequentialRead]);
        for block in 0..20 {
            add(&mut doubtful, block, 0, Pattern::SequentialRead, 1e8);
            add(&mut doubtful, block, 1, Pattern::SequentialRead, 1e8 * log(block).exp());
        }
        study(&doubtful, &WIDE)
    };
    let stalls = with(|block| if block % 10 == 3 { -0.7 } else { 0.01 * f64::from(block % 3) });
    assert!(stalls.contains("2 of 20 blocks far from the others"), "{stalls}");
    assert!(!stalls.contains("are correlated"), "{stalls}");
    let slow = with(|block| 0.1 * (f64::from(block) / 4.0).sin());
    assert!(slow.contains("Neighbouring blocks are correlated ("), "{slow}");
    assert!(!slow.contains("far from the others"), "{slow}");
    let quiet = with(|block| 0.01 * f64::from(block % 2));
    assert!(!quiet.contains("are correlated") && !quiet.contains("far from"), "{quiet}");
}

#[test]
fn one_target_with_a_fixed_number_of_repeats() {
    let mut one = empty(&TWO[..1], &[Pattern::SequentialRead, Pattern::RandomMixed]);
    one.plan.design.rule = Rule::Fixed { blocks: 5 };
    one.plan.workloads.iter_mut().for_each(|w| plain::job(w).stability = Stability::FileSync);
    add_blocks(&mut one, 5, 0.05, rate);
    plain::storage(&mut one.subjects[0]).reads_from = Some(StoredOn::Unknown);
    insta::assert_snapshot!(study(&one, &NARROW));
}

#[test]
fn failed_stopped_and_one_block() {
    let mut partial = empty(&TWO, &[Pattern::SequentialRead, Pattern::RandomRead]);
    add_blocks(&mut partial, 2, 0.05, rate);
    // Block 1: the NAS is gone.
    partial.trials.iter_mut().filter(|t| t.block == Some(1) && t.cell.subject == 0).for_each(fail);
    partial.trials[7].result.outcome = plimsoll_model::Outcome::Stopped;
    partial.ended = Ended::Interrupted;
    insta::assert_snapshot!(study(&partial, &NARROW));
}

#[test]
fn void_trials_are_counted_apart_with_their_reason() {
    let mut void = empty(&TWO, &[Pattern::SequentialRead]);
    add_blocks(&mut void, 2, 0.05, rate);
    let first = void.trials.iter_mut().find(|trial| trial.cell.subject == 0).unwrap();
    let reason = plimsoll_model::VoidReason::LateGenerator { late_seconds: 0.5, seconds: 1.0 };
    first.result.outcome = plimsoll_model::Outcome::Void { reason };
    let text = study(&void, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "1 of 2 trials were void: the load generator was late for 0.5 s of 1.0 s.";
    assert!(text.contains(words), "{text}");
}

#[test]
fn nothing_measured() {
    let mut nothing = empty(&TWO, &[Pattern::SequentialRead]);
    nothing.subjects.clear();
    nothing.ended = Ended::Failed {
        failure: Failure::new(plimsoll_model::Cause::Unreachable, "connect to the NFS service")
            .on("nfs://nas/volume1")
            .happened("connection refused")
            .next("Check that the server runs, and the port."),
    };
    insta::assert_snapshot!(study(&nothing, &NARROW));
}

#[test]
fn two_studies_compared() {
    let mut before = empty(&TWO[..1], &[Pattern::SequentialRead, Pattern::SequentialWrite]);
    add_blocks(&mut before, 6, 0.015, |_, pattern| rate(0, pattern));
    let mut after = empty(
        &["nfs://nas/volume1"],
        &[Pattern::SequentialRead, Pattern::SequentialWrite, Pattern::RandomRead],
    );
    after.id = StudyId("5eed0002".into());
    after.started_unix_seconds += 86_400;
    plain::storage(&mut after.subjects[0]).stability = "FILE_SYNC".into();
    add_blocks(&mut after, 8, 0.015, |_, pattern| rate(1, pattern));
    plain::job(&mut after.plan.workloads[1]).stability = Stability::FileSync;
    insta::assert_snapshot!(compare(&before, &after, &NARROW));
}

/// Half the working set is other work: nothing is called slower, and the one difference is named once, with both
/// values, in a trend as in a comparison.
#[test]
fn other_work_is_named_and_not_compared() {
    let patterns = [Pattern::SequentialRead, Pattern::RandomRead];
    let sized = |id: &str, size: u64, day: u64, factor: f64| {
        let mut study = empty(&TWO[..1], &patterns);
        study.id = StudyId(id.into());
        study.started_unix_seconds += 86_400 * day;
        study.plan.workloads.iter_mut().for_each(|w| plain::job(w).size = Bytes(size << 20));
        add_blocks(&mut study, 6, 0.015, |target, pattern| factor * rate(target, pattern));
        study
    };
    let (large, small) = (sized("5eed0001", 64, 0, 1.0), sized("5eed0002", 32, 1, 0.6));
    let trend = Document::of_studies(&[large.clone(), small.clone()]);
    for document in [Document::of_two(&large, &small), trend] {
        let whole = document.text(&NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
        let screen = document.screen(&NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [&whole, &screen] {
            let difference = "working set 64 MiB, then 32 MiB";
            assert_eq!(text.matches(difference).count(), 1, "{text}");
            assert!(text.contains("(sequential read and random read)"), "{text}");
            assert_eq!(text.matches("not compared: different work").count(), 2, "{text}");
            assert!(text.contains("no equal work in common"), "{text}");
            assert!(text.contains("--size sets the working set"), "{text}");
            assert!(!text.contains("slower") && !text.contains("inconclusive"), "{text}");
        }
        assert!(screen.contains("then 32 MiB. Measure again with equal settings"), "{screen}");
    }
    // Each has a curve of its own in the trend, under a name that says what sets it apart.
    let trend = Document::of_studies(&[large.clone(), small.clone()]).text(&NARROW);
    for name in ["Sequential read (64 MiB)", "Sequential read (32 MiB)"] {
        assert!(trend.contains(name), "{name} in\n{trend}");
    }
    // With what is equal, that is compared, and the rest is named.
    let mut mixed = small.clone();
    plain::job(&mut mixed.plan.workloads[1]).size = Bytes(64 << 20);
    let text = compare(&large, &mixed, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("(sequential read): working set 64 MiB, then 32 MiB"), "{text}");
    assert_eq!(text.matches("not compared: different work").count(), 1, "{text}");
    assert!(text.contains("is at least") || text.contains("faster"), "{text}");
}

/// A server that answers by another protocol, or another client: two curves, and no verdict across them.
#[test]
fn a_trend_does_not_go_on_across_another_protocol() {
    let mut before = empty(&TWO[..1], &[Pattern::SequentialRead]);
    add_blocks(&mut before, 6, 0.015, |_, pattern| rate(0, pattern));
    let mut after = before.clone();
    after.id = StudyId("5eed0002".into());
    after.started_unix_seconds += 86_400;
    plain::storage(&mut after.subjects[0]).protocol = "NFSv4.1 over TCP".into();
    let document = Document::of_studies(&[before.clone(), after.clone()]);
    let text = document.text(&NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("protocol NFSv3 over TCP, then NFSv4.1 over TCP"), "{text}");
    assert!(!text.contains("practically equal"), "{text}");
    let (_, chart) = document.charts().find(|(name, _)| name.ends_with("-trend.svg")).unwrap();
    assert!(chart.contains("nas, protocol NFSv4.1 over TCP"), "{chart}");
    // Two protocols side by side are a comparison like others: the difference is named once.
    let text = compare(&before, &after, &NARROW).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("NFSv3 over TCP, then NFSv4.1 over TCP").count(), 1, "{text}");
    assert!(text.contains("practically equal"), "{text}");
}

/// Single runs of another tool: ratios without intervals, always stated of the faster one.
#[test]
fn an_import_of_two_targets() {
    let import = imports::study(&TWO, &imports::PUBLISHED);
    insta::assert_snapshot!(study(&import, &NARROW));
    let mut measured = empty(&TWO[1..], &[Pattern::RandomRead]);
    add_blocks(&mut measured, 6, 0.015, rate);
    insta::assert_snapshot!(compare(&import, &measured, &NARROW));
}

#[test]
fn studies_listed() {
    let summary = |id: &str, ended| StudySummary {
        id: StudyId(id.into()),
        started_unix_seconds: 1_760_000_000,
        subjects: TWO
            .map(|given| SubjectSummary {
                given: given.to_owned(),
                kind: Some(SubjectKind::Storage),
                model: None,
            })
            .into(),
        jobs: Pattern::USUAL.map(Pattern::name).into(),
        blocks: 6,
        complete: 58,
        incomplete: 2,
        ended,
        origin: plimsoll_model::Origin::Measured { version: "0.1.0".into() },
    };
    let studies = [summary("5eed0001", Ended::Done), summary("5eed0002", Ended::Open)];
    insta::assert_snapshot!(list(&studies, &NARROW));
    assert!(list(&[], &NARROW).contains("plimsoll check"));
}

#[test]
fn colours_change_no_text() {
    let colour = Style { colour: true, ..NARROW };
    let shown = study(&two_targets(), &colour);
    assert!(shown.contains("\u{1b}[1m") && shown.contains("\u{1b}[33m"));
    let plain = shown.replace("\u{1b}[1m", "").replace("\u{1b}[33m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, study(&two_targets(), &NARROW));
}

#[test]
fn hostile_names_and_messages_do_not_reach_the_terminal() {
    let mut hostile = two_targets();
    let evil = "\u{1b}]0;owned\u{7}\u{202e}\r\nevil";
    let facts = plain::storage(&mut hostile.subjects[0]);
    facts.label = evil.into();
    facts.given = evil.into();
    facts.notes = vec![evil.into()];
    facts.stability = evil.into();
    hostile.plan.command = evil.into();
    hostile.flags.push(Flag::StabilityDiffers { detail: evil.into() });
    fail(&mut hostile.trials[0]);
    if let plimsoll_model::Outcome::Failed { phase, failure } =
        &mut hostile.trials[0].result.outcome
    {
        *phase = evil.into();
        failure.happened = evil.into();
    }
    for page in [study(&hostile, &NARROW), compare(&hostile, &hostile, &NARROW)] {
        assert!(page.contains("evil"));
        assert!(!page.chars().any(|c| c != '\n' && c.is_control()), "{page}");
        assert!(!page.contains('\u{202e}'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_study_is_shown(
        a in any_study::any::study(), b in any_study::any::study(),
        width in 0usize..200, bad in any::<u64>(),
    ) {
        let mut a = a;
        for (i, trial) in a.trials.iter_mut().enumerate() {
            if i % 2 < a.plan.workloads.len() {
                trial.cell.workload = (i % 2) as u16;
            }
            if bad >> i & 1 == 1 {
                trial.started_seconds = f64::NAN;
                let odd = [f64::NAN, f64::INFINITY, -1.0, 1e300];
                for part in &mut trial.result.parts {
                    part.quantities.insert(Metric::all(Measure::THROUGHPUT), odd[i % 4]);
                }
            }
        }
        let style = Style { width, colour: false };
        for page in [study(&a, &style), study(&b, &style), compare(&a, &b, &style)] {
            prop_assert!(!page.chars().any(|c| c != '\n' && c.is_control()));
        }
    }

    #[test]
    fn pages_keep_to_their_width(width in 60usize..160, blocks in 1u32..8, targets in 1usize..4) {
        let all = ["nfs://nas/volume1", "/srv/data", "nfs://other.example.org/x"];
        let mut some = empty(&all[..targets], &Pattern::USUAL);
        add_blocks(&mut some, blocks, 0.1, rate);
        some.plan.command = "plimsoll check".into();
        let page = study(&some, &Style { width, colour: false });
        // Commands are left whole, so that they can be copied.
        for line in page.lines().filter(|line| !line.contains(": plimsoll ")) {
            prop_assert!(line.chars().count() <= width, "{}", page);
        }
    }
}
