//! Figures carry their evidence: what was copied, whose load was on the server, what is known of its memory.

mod support;

use plimsoll_model::units::{Bytes, GIB, MIB};
use plimsoll_model::*;
use plimsoll_record::{StudySummary, SubjectSummary};
use plimsoll_report::{Document, Style, list};
use proptest::prelude::*;
use std::num::NonZeroU16;
use support::plain::{add, add_trial, copied, copies, dataset, empty};

const SCREEN: Style = Style { width: 80, colour: false };
const READ: Pattern = Pattern::SequentialRead;

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn storage(study: &mut Study) -> &mut TargetFacts {
    match &mut study.subjects[0] {
        SubjectFacts::Storage(facts) => facts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_files_say_nothing_of_200_gigabytes() {
    let pictures =
        Dataset { files: 2, bytes: Bytes(5_839_246), ..dataset(DataClass::Pictures, 1.0) };
    let study_of = |dataset| {
        let mut study = copied(&["nfs://nas/a"], copies(&[dataset]), 8, 0.01, |_, work| {
            work.bytes.0 as f64 / 1e9
        });
        study.plan.amounts = vec!["200GB:photos".parse().unwrap()];
        words(&Document::of_study(&study).screen(&SCREEN))
    };
    let screen = study_of(pictures);
    for said in ["200 GB of pictures: up unknown from ", "copy at least 1.86 GiB (--scale 13.18)"] {
        assert!(screen.contains(said), "'{said}' is missing in: {screen}");
    }
    assert!(!screen.contains("up 3"), "{screen}");
    let enough = study_of(dataset(DataClass::Pictures, 14.0));
    assert!(enough.contains("200 GB of pictures: up 3.3"), "{enough}");
    assert!(!enough.contains("--scale"), "{enough}");
}

/// 12 trials of 5 s, `apart` from begin to begin, on each of these targets; every fourth of the first has a
/// stall that begins after a second and lasts so long.
fn stalled(targets: &[&str], apart: f64, seconds: f64) -> Study {
    let mut study = empty(targets, &[READ]);
    for (block, target) in (0..12).flat_map(|block| (0..targets.len()).map(move |t| (block, t))) {
        add(&mut study, block, target, READ, 12.1e6);
        let trial = study.trials.last_mut().unwrap();
        trial.started_seconds = apart * f64::from(trial.number);
        let part = &mut trial.result.parts[0];
        part.answered_seconds = Some(5.0);
        if block % 4 == 0 && target == 0 && seconds > 0.0 {
            let seconds = if block == 4 { seconds } else { seconds - 0.3 };
            let stall = Stall { phase: StallPhase::Measured, start_seconds: 1.0, seconds };
            part.stalls.push(stall);
            trial.result.flags.push(Flag::LongGap { seconds });
        }
    }
    study
}

/// smbd stood still for 5 s in every 20, and the screen said "12.1 MB/s [12.0–12.2]" and not a word of it.
#[test]
fn a_server_that_does_not_answer_leads_the_screen() {
    let screen = |study: &Study| words(&Document::of_study(study).screen(&SCREEN));
    let said = "The server did not answer for 25% of the time: 3 stalls, the longest 5.30 s.";
    let one = screen(&stalled(&["smb://nas/a"], 5.5, 5.3));
    let table = one.find("12.1 MB/s").expect("the rate between stalls");
    assert!(one.find(said).is_some_and(|at| at < table), "it comes first: {one}");
    // 60 s answered and 15.3 s not.
    assert!(one.contains("(9.64 over all time)"), "{one}");
    assert!(!one.contains("o operation completed"), "a stall is told of once: {one}");
    let directory = screen(&stalled(&["/mnt/films"], 5.5, 5.3));
    assert!(directory.contains("The directory's storage did not answer for 25%"), "{directory}");
    let two = screen(&stalled(&["smb://nas/a", "nfs://nas/b"], 5.5, 5.3));
    assert!(two.contains("did not answer for 23% of the time"), "{two}");
    assert_eq!(two.matches("over all time").count(), 1, "the other answered: {two}");
}

/// Adds a stall of 5 s to every fourth trial, each of which was answered for 5 s.
fn stall_some(study: &mut Study) {
    for (number, trial) in (0..).zip(&mut study.trials) {
        trial.started_seconds = 6.25 * f64::from(number);
        let part = &mut trial.result.parts[0];
        part.answered_seconds = Some(5.0);
        if trial.block.unwrap() % 4 == 0 {
            let phase = StallPhase::Measured;
            part.stalls.push(Stall { phase, start_seconds: 1.0, seconds: 5.0 });
        }
    }
}

/// Copies and single operations had the figure between stalls alone.
#[test]
fn copies_and_operations_have_their_rates_over_all_time() {
    let screen = |study: &Study| words(&Document::of_study(study).screen(&SCREEN));
    let movies = dataset(DataClass::Movies, 1.0);
    let (count, mean) = DataClass::Movies.files_and_mean_bytes();
    let rate = |_: u16, _: &FileWork| count as f64 * mean / 100e6;
    let mut copy = copied(&["nfs://nas/a"], copies(&[movies]), 12, 0.0, rate);
    stall_some(&mut copy);
    let copy = screen(&copy);
    // 5 s answered and 1.25 s not, on average.
    assert_eq!(copy.matches("100 MB/s [100–100] (80.0 over all time)").count(), 2, "{copy}");

    let mut ops = empty(&["nfs://nas/a"], &[]);
    let job = OperationsJob { entries: 10, block: Bytes(4096) };
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 5.0, warm_up_seconds: 0.5 };
    ops.plan.workloads = vec![Workload::new(part, length)];
    let mean = Metric { kind: Some(OpKind::LOOKUP), measure: Measure::LATENCY_MEAN };
    for block in 0..12 {
        let quantities = [(mean, 5e-3), (Metric::all(Measure::IOPS), 200.0)].into();
        let part = PartResult { quantities, ..PartResult::default() };
        add_trial(&mut ops, block, Cell::default(), part);
    }
    assert!(!screen(&ops).contains("over all time"));
    stall_some(&mut ops);
    let ops = screen(&ops);
    assert!(ops.contains("Mean of all kinds: 5.00 ms (6.25 over all time)."), "{ops}");
}

#[test]
fn few_stalls_are_in_the_details_alone() {
    let few = stalled(&["smb://nas/a"], 55.0, 1.5);
    let document = Document::of_study(&few);
    let screen = words(&document.screen(&SCREEN));
    assert!(!screen.contains("did not answer") && !screen.contains("over all time"), "{screen}");
    let details = words(&document.text(&SCREEN));
    let said = "The server did not answer for 0.6% of the time: 3 stalls, the longest 1.50 s.";
    assert!(details.contains(said), "{details}");
    let none = words(&Document::of_study(&stalled(&["smb://nas/a"], 5.5, 0.0)).text(&SCREEN));
    assert!(!none.contains("did not answer") && !none.contains("over all time"), "{none}");
}

/// 12 blocks; other load slows every fourth trial of the first target.
fn with_other_load(targets: &[&str]) -> Study {
    let mut study = empty(targets, &[READ]);
    for (block, target) in (0..12).flat_map(|block| (0..targets.len()).map(move |t| (block, t))) {
        let is_slowed = target == 0 && block % 4 == 0;
        add(&mut study, block, target, READ, if is_slowed { 6e7 } else { 1e8 });
        if is_slowed {
            study.trials.last_mut().unwrap().result.flags.push(Flag::OtherLoad {
                host: "ssh://root@nas".parse().unwrap(),
                resource: HostResource::Network,
                per_second: 5e7,
            });
        }
    }
    study
}

#[test]
fn other_peoples_load_is_not_in_the_figure() {
    let study = with_other_load(&["nfs://nas/a"]);
    let document = Document::of_study(&study);
    let screen = words(&document.screen(&SCREEN));
    let said = "Sequential read: 60.0 MB/s in 3 of 12 trials with other load on a host. The figure above does not \
         include these trials.";
    assert!(screen.contains("sequential read 100 MB/s"), "{screen}");
    assert!(screen.contains(said), "{screen}");
    assert!(document.text(&SCREEN).contains("3 trials disturbed"));
}

/// A verdict counts every block, so the texts name the trials that the figures leave out.
#[test]
fn a_comparison_says_that_it_counts_what_the_figures_leave_out() {
    let study = with_other_load(&["nfs://nas/a", "/srv/data"]);
    let document = Document::of_study(&study);
    let screen = words(&document.screen(&SCREEN));
    for said in [
        "in 3 of 12 trials with other load on a host.",
        "The figure above does not include these trials, comparisons do.",
    ] {
        assert!(screen.contains(said), "'{said}' is missing in: {screen}");
    }
    let said = "The comparison counts 12 blocks. The figures leave out trials of 3 of them, because of other load on a \
         host.";
    let whole = words(&document.text(&SCREEN));
    assert!(whole.contains(said), "{whole}");
    let mut without = study;
    without.trials.iter_mut().for_each(|trial| trial.result.flags.clear());
    let whole = words(&Document::of_study(&without).text(&SCREEN));
    assert!(!whole.contains("The comparison counts"), "{whole}");
}

/// A level without an interval says why.
#[test]
fn one_trial_has_no_interval_and_says_so() {
    let mut study = empty(&["nfs://nas/a"], &[READ]);
    add(&mut study, 0, 0, READ, 1e8);
    let screen = words(&Document::of_study(&study).screen(&SCREEN));
    assert!(screen.contains("sequential read 100 MB/s [1 trial]"), "{screen}");
}

/// The advice uses the server's memory and the free space, where they are known.
#[test]
fn advice_uses_what_is_known() {
    let advice = |memory: Option<u64>, free: u64| {
        let mut study = empty(&["nfs://nas/a"], &[READ]);
        add(&mut study, 0, 0, READ, 1e8);
        let target = study.subjects[0].given().to_owned();
        storage(&mut study).space_bytes = (4000 * GIB, free);
        let host: HostName = "ssh://root@nas".parse().unwrap();
        if let Some(memory_bytes) = memory {
            let name = host.clone();
            study.hosts.push(HostFacts { name, memory_bytes, ..HostFacts::default() });
            study.plan.watched.push(Watched::new(host, HostRole::Server));
        }
        let reads_from = StoredOn::ServerMemory;
        let size = Bytes(64 * MIB);
        study.flags.push(Flag::WorkingSet { target, size, reads_from, settles: None });
        words(&Document::of_study(&study).text(&SCREEN))
    };
    let known = advice(Some(24 * GIB), 1000 * GIB);
    assert!(known.contains("--size 48GiB (twice the server's memory)"), "{known}");
    assert!(!known.contains("--server-memory"), "{known}");
    for (memory, said) in [
        (Some(24 * GIB), "needs 48 GiB (twice the server's memory), but 512 MiB are free"),
        (None, "twice the server's memory, but 512 MiB are free"),
    ] {
        let little = advice(memory, 512 * MIB);
        assert!(little.contains(said), "'{said}' is missing in: {little}");
        assert!(!little.contains("--size 4"), "{little}");
    }
    let unknown = advice(None, 1000 * GIB);
    assert!(unknown.contains("--host or give its memory with --server-memory"), "{unknown}");
    assert!(!unknown.contains("--size "), "{unknown}");
}

/// Names have their letters on screens, lists and pages, however old the study is.
#[test]
fn names_have_their_letters() {
    let url = "nfs://nas/Zdj%C4%99cia%20rodzinne";
    let mut study = empty(&[url], &[READ]);
    storage(&mut study).given = url.to_owned();
    add(&mut study, 0, 0, READ, 1e8);
    let document = Document::of_study(&study);
    for shown in [document.screen(&SCREEN), document.text(&SCREEN), document.html()] {
        assert!(words(&shown).contains("Zdjęcia rodzinne"), "{shown}");
        assert!(!shown.contains("Zdj%C4%99cia"), "{shown}");
    }
}

fn summary(given: &str) -> StudySummary {
    let study = empty(&["nfs://nas/a"], &[READ]);
    StudySummary {
        id: study.id.clone(),
        started_unix_seconds: study.started_unix_seconds,
        origin: study.origin.clone(),
        ended: Ended::Done,
        subjects: vec![SubjectSummary { given: given.into(), kind: None, model: None }],
        jobs: Vec::new(),
        blocks: 1,
        complete: 1,
        incomplete: 0,
    }
}

#[test]
fn lists_have_letters() {
    let listed = list(&[summary("smb://me@nas/Zdj%C4%99cia%20rodzinne")], &SCREEN);
    assert!(words(&listed).contains("smb://me@nas/Zdjęcia rodzinne"), "{listed}");
}

proptest! {
    /// Whatever a name's escapes stand for: controls, bidirectional overrides and line breaks never get out.
    #[test]
    fn nothing_unsafe_gets_out_of_a_list(bytes in proptest::collection::vec(any::<u8>(), 0..24), raw in any::<String>()) {
        let escapes: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
        let hostile = "%1b%5b2J%0a%e2%80%ae%c2%9b";
        let listed = list(&[summary(&format!("nfs://nas/{hostile}{escapes}{raw}"))], &SCREEN);
        for c in listed.chars().filter(|c| *c != '\n') {
            let bidirectional = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!c.is_control() && !bidirectional, "{listed:?}");
        }
        prop_assert!(listed.contains("%1b"), "{listed:?}");
    }
}
