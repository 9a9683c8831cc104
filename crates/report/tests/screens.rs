//! The one screen that answers: golden ones, what must be found on each, and odd studies.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod screens_for_a_reader;
mod screens_of_copies;
mod screens_of_operations;
mod screens_of_real_size;
mod support;

use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::*;
use plimsoll_report::{Document, Style};
use std::num::{NonZeroU16, NonZeroU32};
use support::plain::{add_blocks, empty, fail, storage};
use unicode_width::UnicodeWidthStr;

const SCREEN: Style = Style { width: 80, colour: false };
const DEVICE: &str = include_str!("../../record/tests/golden/device-nas.json");

fn screen(study: &Study) -> String {
    Document::of_study(study).screen(&SCREEN)
}

/// A study of the rule as shipped, with the noise that it is given.
fn sequential(targets: &[&str], patterns: &[Pattern]) -> Study {
    let mut study = empty(targets, patterns);
    study.plan.design.rule =
        Rule::Sequential { first: 6, half_width: 0.0244, at_least_seconds: 120.0 };
    let labels = label::labels(&study.plan);
    study.subjects.iter_mut().zip(labels).for_each(|(facts, label)| facts.set_label(label));
    for facts in study.subjects.iter_mut().map(storage) {
        facts.reads_from = Some(StoredOn::Disk);
        if facts.given.starts_with("smb:") {
            facts.protocol = "SMB 3.1.1, signed".to_owned();
        }
    }
    study
}

/// Bytes a second of a pattern on the first of two.
fn base(pattern: Pattern) -> f64 {
    match pattern {
        Pattern::SequentialRead => 112e6,
        Pattern::SequentialWrite => 98e6,
        Pattern::RandomRead => 7334.0 * 4096.0,
        Pattern::RandomWrite => 1210.0 * 4096.0,
        Pattern::RandomMixed | Pattern::SequentialMixed => 2400.0 * 4096.0,
    }
}

/// Lines of a terminal of 80 columns, which breaks long commands.
fn lines(screen: &str) -> usize {
    screen.lines().map(|line| line.width().div_ceil(80).max(1)).sum()
}

/// Fits a terminal of 80 x 24, the prompt's line left over; commands may be longer to be copied.
fn fits(screen: &str) {
    assert!(lines(screen) <= 23, "{} lines:\n{screen}", lines(screen));
    for line in screen.lines().filter(|line| !line.contains(": plimsoll ")) {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    assert!(screen.contains("More: plimsoll show 5eed0001 --details"), "{screen}");
}

/// The same without the ends of lines.
fn words(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The row of a kind of work.
fn row<'a>(screen: &'a str, work: &str) -> &'a str {
    let row = screen.lines().find(|line| line.starts_with(&format!("{work}  ")));
    row.unwrap_or_else(|| panic!("{work} in\n{screen}"))
}

/// 30% faster, the same, 6% faster (perhaps less than the margin), and too noisy to tell.
fn four_verdicts() -> Study {
    let patterns = [
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
        Pattern::RandomRead,
        Pattern::RandomWrite,
        Pattern::RandomMixed,
    ];
    let mut study = sequential(&["nfs://nas/volume1", "smb://me@nas/volume1"], &patterns);
    add_blocks(&mut study, 14, 0.004, |target, pattern| {
        let factor = match pattern {
            Pattern::SequentialRead => 1.0,
            Pattern::SequentialWrite => 1.052,
            Pattern::RandomRead => 0.75,
            Pattern::RandomWrite => 1.3,
            Pattern::RandomMixed | Pattern::SequentialMixed => 0.9,
        };
        if target == 0 { base(pattern) } else { base(pattern) * factor }
    });
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 4) {
        let noise = [0.7, 1.4, 1.0][trial.number as usize % 3];
        trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= noise);
    }
    study
}

#[test]
fn two_targets_with_all_four_verdicts() {
    let study = four_verdicts();
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "sequential read").contains("  practically equal  "), "{screen}");
    assert!(row(&screen, "random read").contains("nfs faster: ≥ 3"), "{screen}");
    assert!(row(&screen, "random write").contains("smb faster: ≥ 2"), "{screen}");
    // A lower bound below the margin says that it may be too little to matter.
    assert!(row(&screen, "sequential write").contains("smb faster: ≥ 4.8%"), "{screen}");
    assert!(
        words(&screen).contains("smb is faster than nfs for sequential write and random write; nfs is faster for random read"),
        "{screen}"
    );
    assert!(row(&screen, "random mixed").contains("  inconclusive  "), "{screen}");
    // Half a day would decide the last row: monitoring the server helps more.
    let next = "Name the bottleneck: plimsoll check nfs://nas/volume1 smb://me@nas/volume1 \
                --host ssh://root@nas";
    assert!(screen.contains(next), "{screen}");
    insta::assert_snapshot!(screen);
}

/// What was written before the first block: enough for one of the two at sequential writes, for neither
/// at random ones.
#[test]
fn whether_writes_are_sustained() {
    let mut study = four_verdicts();
    let state = |workload, seconds, rate: f64| WriteState {
        workload,
        seconds,
        bytes: Bytes((rate * seconds) as u64),
        steady_bytes_per_second: (seconds > 0.0).then_some(rate),
    };
    for (target, rate) in [98e6, 61e6].into_iter().enumerate() {
        let facts = storage(&mut study.subjects[target]);
        facts.writes = vec![state(1, 65.0, rate), state(3, 0.0, 0.0)];
    }
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "sequential write").contains(" 98.0 MB/s   103 MB/s*  "), "{screen}");
    assert!(row(&screen, "random write").contains(" 1210 IOPS*  1574 IOPS*  "), "{screen}");
    assert_eq!(screen.matches('*').count(), 4, "marks and what they mean: {screen}");
    assert!(screen.contains("\n* burst: a write cache may have taken these writes"), "{screen}");
    let details = words(&Document::of_study(&study).text(&SCREEN));
    let told = "Writes: nfs sustained (steady at 98.0 MB/s after 5.93 GiB in 65 s) and smb a burst \
                (trials differ from 61.0 MB/s after 3.69 GiB in 65 s).";
    assert!(details.contains(told), "{details}");
    assert!(!details.contains("no writes before the trials)"), "{details}");
}

#[test]
fn a_cell_that_failed() {
    let mut study = four_verdicts();
    study.trials.iter_mut().filter(|t| t.cell.workload == 2 && t.cell.subject == 1).for_each(fail);
    let screen = screen(&study);
    fits(&screen);
    let row = row(&screen, "random read");
    assert!(row.contains("failed") && row.contains("nothing to compare"), "{screen}");
    assert!(
        screen.contains("! 14 of 140 trials failed (random read on smb): no answer "),
        "{screen}"
    );
    insta::assert_snapshot!(screen);
}

#[test]
fn a_watched_server() {
    let mut study = four_verdicts();
    support::enrich(&mut study, 0.1);
    support::watch(&mut study, "ssh://root@nas");
    for trial in &mut study.trials {
        trial.result.flags =
            vec![Flag::ClientSaturated { host: None, core_busy: 0.99, serves: false }];
    }
    let screen = screen(&study);
    fits(&screen);
    assert!(screen.contains("monitored: MIPS 74Kc V4.12, 1 core"), "{screen}");
    let bottleneck = "! This machine may be the bottleneck, not the server: a core was 99% busy in every trial. \
                      Use fewer workers or a faster client.";
    assert!(words(&screen).contains(bottleneck), "{screen}");
    insta::assert_snapshot!(screen);
}

/// Long names, and names of other scripts, whose letters are two columns wide.
#[test]
fn long_names() {
    let wide = "数据".repeat(50);
    for (a, b) in [("a".repeat(200), "b".repeat(200)), (format!("甲{wide}"), format!("乙{wide}"))]
    {
        let targets = [format!("/srv/{a}"), format!("/srv/{b}")];
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let mut study = sequential(&targets, &[Pattern::SequentialRead]);
        add_blocks(&mut study, 30, 0.01, |target, _| 1e8 * [1.0, 1.5][target]);
        let screen = screen(&study);
        fits(&screen);
        assert!(row(&screen, "sequential read").contains("B faster: ≥ 4"), "{screen}");
        assert!(screen.lines().any(|line| line.starts_with("B  /srv/")), "{screen}");
        if a.starts_with('a') {
            insta::assert_snapshot!(screen);
        }
    }
}

#[test]
fn one_target() {
    let mut study = sequential(&["nfs://nas/volume1"], &Pattern::USUAL);
    study.plan.contrasts.clear();
    add_blocks(&mut study, 8, 0.01, |_, pattern| base(pattern));
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "sequential read").contains("112 MB/s ["), "{screen}");
    assert!(row(&screen, "random read").contains("IOPS"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_device() {
    let study = plimsoll_record::from_json(DEVICE).unwrap();
    let screen = screen(&study);
    assert!(screen.lines().count() <= 23, "{screen}");
    assert!(screen.contains("copy, memory") && screen.contains("AES-128-GCM"), "{screen}");
    insta::assert_snapshot!(screen);
}

/// Widths that terminals have, and studies that have little or very much to say.
#[test]
fn odd_studies_on_odd_terminals() {
    let many: Vec<String> = (0..30).map(|i| format!("nfs://nas{i}/x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut thirty = sequential(&many, &Pattern::USUAL);
    add_blocks(&mut thirty, 8, 0.01, |target, pattern| {
        base(pattern) * (1.0 + target as f64 / 10.0)
    });
    let mut all_failed = sequential(&["/a", "/b"], &[Pattern::RandomRead]);
    add_blocks(&mut all_failed, 2, 0.01, |_, pattern| base(pattern));
    all_failed.trials.iter_mut().for_each(fail);
    let mut no_variance = sequential(&["/a", "/b"], &[Pattern::RandomRead]);
    add_blocks(&mut no_variance, 30, 0.0, |_, pattern| base(pattern));
    let mut one_block = sequential(&["/a", "/b"], &[Pattern::RandomRead]);
    add_blocks(&mut one_block, 1, 0.01, |_, pattern| base(pattern));
    for width in [40, 80, 300] {
        let style = Style { width, colour: false };
        for (study, said) in [
            (&thirty, "29 faster"),
            (&all_failed, "No trial ran to its end"),
            (&no_variance, "practically equal"),
            (&one_block, "Nothing could be decided: 1 block gave no verdict."),
        ] {
            let screen = Document::of_study(study).screen(&style);
            assert!(words(&screen).contains(said), "{said} in\n{screen}");
            for line in screen.lines().filter(|line| !line.contains(": plimsoll ")) {
                assert!(line.width() <= width.max(40), "{} columns: {line}", line.width());
            }
        }
    }
}

/// However little room there is, and whatever failed besides.
#[test]
fn what_is_left_on_a_target_is_on_the_screen() {
    let mut study = four_verdicts();
    study.trials.iter_mut().filter(|trial| trial.cell.workload == 2).for_each(fail);
    let failed = study.trials.iter().find_map(|trial| match &trial.result.outcome {
        Outcome::Failed { failure, .. } => Some(failure.clone()),
        _ => None,
    });
    study.ended = Ended::Failed { failure: failed.unwrap() };
    study.flags = vec![
        Flag::BusyBaseline { host: "local".into(), busy: 0.5, windows: IdleWindows::default() },
        Flag::NotCleaned {
            target: "nfs://nas/volume1".into(),
            directory: ".plimsoll-5eed0001-ab12".into(),
            on: None,
        },
    ];
    let screen = words(&screen(&study));
    assert!(screen.contains("The study stopped") && screen.contains(" more warning"), "{screen}");
    assert!(screen.contains("could not be removed from"), "{screen}");
    assert!(screen.contains("plimsoll clean"), "{screen}");
}

/// Another client of the server in four trials: one line on the screen, with the effect first, when it was, and each
/// resource with its own trials.
#[test]
fn what_others_did_is_said_by_host_and_resource_with_its_effect_and_time() {
    let mut study = four_verdicts();
    let disturbed: Vec<usize> = (0..study.trials.len())
        .filter(|n| study.trials[*n].cell.workload == 0 && study.trials[*n].cell.subject == 0)
        .take(4)
        .collect();
    for (nth, number) in disturbed.iter().enumerate() {
        let trial = &mut study.trials[*number];
        for (metric, value) in &mut trial.result.parts[0].quantities {
            if matches!(metric.measure, Measure::THROUGHPUT | Measure::IOPS) {
                *value *= 0.5;
            }
        }
        let load = |resource, per_second| Flag::OtherLoad {
            host: "ssh://root@nas".into(),
            resource,
            per_second,
        };
        trial.result.flags = vec![load(HostResource::Network, 80e6)];
        if nth == 0 {
            trial.result.flags.push(load(HostResource::Disk, 3e6));
        }
    }
    let screen = screen(&study);
    fits(&screen);
    let text = words(&screen);
    let all = study.trials.len();
    let said = format!("! 4 of {all} trials (sequential read) were ");
    assert!(text.contains(&said), "{said} in\n{screen}");
    assert!(
        text.contains("% slower than the same work at other times: others used ssh://root@nas"),
        "{screen}"
    );
    let whole = words(&Document::of_study(&study).text(&SCREEN));
    assert!(whole.contains("from 2025-10-09 08:53 to 08:5"), "when: {whole}");
    let network = "(its network by up to 80.0 MB/s and its disk by up to 3.00 MB/s in 1)";
    assert!(whole.contains(network), "{whole}");
    assert!(whole.contains("which clients and transfers used it then"), "{whole}");
    assert!(!whole.contains("(its disk by"), "resources are not merged: {whole}");
    let slower: Vec<u32> = whole
        .split("trials (sequential read) were ")
        .nth(1)
        .and_then(|rest| rest.split('%').next())
        .map(|range| range.split('–').map(|number| number.parse().unwrap()).collect())
        .unwrap();
    assert!(slower.iter().all(|percent| (45..=55).contains(percent)), "{slower:?}");
    // Without any effect it is no matter for a full screen, but it is not hidden.
    for number in disturbed {
        for (metric, value) in &mut study.trials[number].result.parts[0].quantities {
            if matches!(metric.measure, Measure::THROUGHPUT | Measure::IOPS) {
                *value *= 2.0;
            }
        }
    }
    let whole = words(&Document::of_study(&study).text(&SCREEN));
    assert!(whole.contains("were not slower than the same work at other times"), "{whole}");
}

/// What failed in a trial and ended the study, with what to do about it, is said once.
#[test]
fn the_failure_that_ended_a_study_is_said_once() {
    let mut study = four_verdicts();
    let last = study.trials.last_mut().unwrap();
    fail(last);
    let Outcome::Failed { failure, .. } = &last.result.outcome else { panic!("it failed") };
    let (happened, next) = (failure.happened.clone(), failure.next.clone());
    assert!(!next.is_empty());
    study.ended = Ended::Failed { failure: failure.clone() };
    let whole = words(&Document::of_study(&study).text(&SCREEN));
    for said in ["The study stopped", &happened, &next, "failed at '"] {
        assert_eq!(whole.matches(said).count(), 1, "{said} in\n{whole}");
    }
}

/// Corruption first, then disturbances, caches and possible bottlenecks; each once, and the screen counts those without
/// room.
#[test]
fn warnings_come_by_how_much_they_explain() {
    let mut study = four_verdicts();
    study.flags = vec![
        Flag::BusyBaseline { host: "local".into(), busy: 0.5, windows: IdleWindows::default() },
        Flag::WorkingSet {
            target: "nfs://nas/volume1".into(),
            size: Bytes(GIB),
            reads_from: StoredOn::ServerMemory,
            settles: Some(Bytes(4 * GIB)),
        },
    ];
    for trial in &mut study.trials {
        trial.result.flags = vec![
            Flag::ClientSaturated { host: None, core_busy: 0.99, serves: false },
            Flag::BadContent { stale: 0, misplaced: 0, corrupt: 1 },
        ];
    }
    let whole = Document::of_study(&study).text(&SCREEN);
    let place = |words: &str| whole.find(words).unwrap_or_else(|| panic!("{words} in\n{whole}"));
    let places =
        ["! Data came back", "! Figures may be", "! Reads on nfs came", "! This machine may be"]
            .map(place);
    assert!(places.is_sorted(), "{whole}");
    let screen = screen(&study);
    assert!(
        screen.contains("! Data came back wrong") && screen.contains(" more warning"),
        "{screen}"
    );
}

/// Hours of measuring do not help on a machine that other work keeps busy; three warnings of at most two lines fit the
/// screen, and how preliminary a quick look is stays on it.
#[test]
fn a_disturbed_machine_replaces_an_offer_of_hours() {
    let mut study = four_verdicts();
    study.plan.command = "plimsoll check --quick nfs://nas/volume1 smb://me@nas/volume1".into();
    let windows = IdleWindows::default();
    study.flags = vec![
        Flag::CapReached { blocks: 14, wanted: 4471 },
        Flag::Quick { resolvable: Some(1.24) },
        Flag::WorkingSet {
            target: "nfs://nas/volume1".into(),
            size: Bytes(GIB),
            reads_from: StoredOn::ServerMemory,
            settles: None,
        },
        Flag::BusyBaseline { host: "local".into(), busy: 0.96, windows: windows.clone() },
        Flag::OtherTraffic { host: "local".into(), bytes_per_second: 9e6, windows },
        Flag::NotWatched { host: "ssh://nas".into(), reason: "Connection refused".into() },
        Flag::SameTarget { target: "nfs://nas/volume1".into() },
    ];
    let screen = screen(&study);
    let warnings: Vec<&str> = screen.lines().filter(|line| line.starts_with("! ")).collect();
    assert!(warnings.len() <= 4, "{screen}");
    // Once, on top.
    let busy = "his machine was 96% busy with other work";
    assert_eq!(words(&screen).matches(busy).count(), 1, "{screen}");
    assert!(warnings.last().unwrap().contains(" more warning"), "{screen}");
    assert!(!screen.contains("other network traffic"), "one warning a busy machine: {screen}");
    let next = "Stop other work on this machine, then run again: plimsoll check --quick nfs://nas";
    assert!(screen.contains(next) && !screen.contains("--continue"), "{screen}");
    // Smaller differences than that are decided here.
    assert!(words(&screen).contains("Preliminary: a quick look of 13 min. !"), "{screen}");
    assert!(!screen.contains("may be inconclusive"), "{screen}");
}

/// A disk of a namespace is memory: "make room" or "read 49 GB" leads nowhere.
#[test]
fn a_server_whose_disks_are_memory_has_no_advice_on_disks() {
    let whole = |kind: &str| {
        let mut study = sequential(&["nfs://near/srv"], &[Pattern::SequentialRead]);
        study.plan.contrasts.clear();
        add_blocks(&mut study, 8, 0.01, |_, pattern| base(pattern));
        let settings = [("host near kind", kind), ("host near disk data at", "/srv")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        study.hosts[0].lab = Some(LabFacts { name: "bed".into(), settings });
        study.flags = vec![Flag::WorkingSet {
            target: storage(&mut study.subjects[0]).given.clone(),
            size: Bytes(GIB),
            reads_from: StoredOn::ServerMemory,
            settles: Some(Bytes(4 * GIB)),
        }];
        (words(&screen(&study)), words(&Document::of_study(&study).text(&SCREEN)))
    };
    let (screen, details) = whole("netns");
    assert!(!screen.contains("not from the disk"), "{screen}");
    assert!(details.contains("A namespace of a lab keeps its disks in memory"), "{details}");
    let (screen, details) = whole("vm");
    assert!(screen.contains("came from the server's memory, not from the disk"), "{screen}");
    assert!(!details.contains("keeps its disks in memory"), "{details}");
}

/// Loads of this machine, so many cores busy in the idle window before each trial.
fn with_idle_windows(study: &mut Study, busy_cores: impl Fn(&Trial) -> f64) {
    for trial in &mut study.trials {
        let idle_baseline = busy_cores(trial);
        trial.loads = vec![HostLoad {
            host: "local".into(),
            seconds: 5.0,
            cores_busy: vec![0.3; 2],
            idle_baseline,
            ..HostLoad::default()
        }];
    }
    let windows = IdleWindows::default();
    study.flags = vec![Flag::BusyBaseline { host: "local".into(), busy: 0.52, windows }];
}

/// Two of eight idle windows were busy, and reads were the same with and without: "stop other work" was the first that a
/// reader would have done.
#[test]
fn other_work_that_moves_no_figure_is_no_reason_to_run_again() {
    let measured = |slower: f64, is_busy: fn(u32) -> bool| {
        let mut study = sequential(&["nfs://nas/volume1"], &Pattern::USUAL);
        study.plan.contrasts.clear();
        add_blocks(&mut study, 8, 0.01, |_, pattern| base(pattern));
        let is_busy = |trial: &Trial| is_busy(trial.block.unwrap());
        for trial in study.trials.iter_mut().filter(|trial| is_busy(trial)) {
            trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= slower);
        }
        with_idle_windows(&mut study, |trial| if is_busy(trial) { 1.03 } else { 0.05 });
        study
    };
    let two = |block: u32| block == 1 || block == 5;
    let without_effect = measured(1.0, two);
    let screen_of = |study: &Study| words(&screen(study));
    let calm = screen_of(&without_effect);
    assert!(!calm.contains("top other work") && !calm.contains("may be too low"), "{calm}");
    let whole = words(&Document::of_study(&without_effect).text(&SCREEN));
    let same = "The figures are the same without it: this machine was 52% busy with other work";
    assert!(whole.contains(same) && !whole.contains("Stop other work"), "{whole}");
    let stop = "Stop other work on this machine, then run again: plimsoll check nfs://nas/volume1";
    for disturbed in [measured(0.7, two), measured(1.0, |_| true)] {
        let screen = screen_of(&disturbed);
        assert!(screen.contains(stop), "{screen}");
        assert!(screen.contains("This machine was 52% busy with other work"), "{screen}");
    }
}

/// Threads that waited for a core were counted as if there were more of them: "3.00 cores" of two.
#[test]
fn others_use_no_more_cores_than_there_are() {
    let used = |per_second| {
        let mut study = four_verdicts();
        let cpu = HostResource::Cpu;
        let flag = Flag::OtherLoad { host: "local".into(), resource: cpu, per_second };
        study.trials[3].result.flags = vec![flag];
        words(&Document::of_study(&study).text(&SCREEN))
    };
    assert!(used(3.0).contains("(both of its cores)"), "{}", used(3.0));
    assert!(used(0.92).contains("(its CPU by up to 0.92 cores)"), "{}", used(0.92));
}

/// Work at a rate that was asked for: its writes are neither sustained nor a burst, and more blocks have the same rate.
#[test]
fn a_fixed_rate_is_no_result() {
    let state = WriteState {
        workload: 1,
        seconds: 65.0,
        bytes: Bytes(GIB),
        steady_bytes_per_second: Some(base(Pattern::SequentialWrite)),
    };
    let measured = |per_second: Option<u32>, options: &str| {
        let patterns = [Pattern::SequentialRead, Pattern::SequentialWrite];
        let mut study = sequential(&["nfs://nas/volume1"], &patterns);
        study.plan.contrasts.clear();
        study.plan.command = format!("plimsoll check nfs://nas/volume1{options} --quick");
        if let Some(per_second) = per_second.and_then(NonZeroU32::new) {
            for workload in &mut study.plan.workloads {
                workload.parts[0].arrival = Arrival::Paced { depth: NonZeroU16::MIN, per_second };
            }
        }
        add_blocks(&mut study, 4, 0.05, |_, pattern| base(pattern));
        storage(&mut study.subjects[0]).writes = vec![state.clone()];
        // As earlier versions recorded it.
        let workloads = vec!["sequential write".to_owned()];
        study.flags = vec![Flag::Burst { workloads, why: Burst::NotConditioned }];
        words(&screen(&study))
    };
    let without_rate = measured(None, "");
    assert!(without_rate.contains("--continue"), "{without_rate}");
    for option in [" --rate=30", " --rate 30"] {
        let screen = measured(Some(30), option);
        assert!(!screen.contains("--continue") && !screen.contains('*'), "{screen}");
        assert!(screen.contains("Whether writes are sustained or a burst is unknown."), "{screen}");
        assert!(screen.contains("nothing saturated (1)"), "{screen}");
        let next = "Find the limit: plimsoll check nfs://nas/volume1 --quick More: ";
        assert!(screen.contains(next), "{screen}");
    }
    // 46.9 of 50 operations a second were "the fixed rate was reached": few were missing in a short trial.
    let missed = measured(Some(115), " --rate 115");
    assert!(missed.contains("not known (1)") && !missed.contains("was reached"), "{missed}");
}

/// Each screen among the snapshots is one of a terminal of 80 x 24.
#[test]
fn every_screen_of_the_snapshots_fits_a_terminal() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut screens = 0;
    let directories = [
        "snapshots",
        "screens_of_copies/snapshots",
        "screens_of_operations/snapshots",
        "screens_of_real_size/snapshots",
    ];
    for directory in directories {
        for file in std::fs::read_dir(tests.join(directory)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            // Other snapshots are pages, details and charts.
            if !name.starts_with("screens__") || !text.contains("\nexpression: screen\n") {
                continue;
            }
            let screen = text.splitn(3, "---\n").nth(2).unwrap();
            assert!(lines(screen) <= 23, "{name}: {} lines", lines(screen));
            // Commands stay in one line, so that they can be copied.
            for line in screen.lines().filter(|line| !line.contains(": plimsoll ")) {
                assert!(line.width() <= 80, "{name}: {} columns: {line}", line.width());
            }
            screens += 1;
        }
    }
    assert!(screens >= 16, "{screens} screens");
}

/// Where nothing could be decided the first sentence says so, and why, if other work kept the machine busy.
#[test]
fn nothing_decided_is_said_on_top() {
    let mut study = sequential(&["/mnt/a", "/mnt/b"], &[Pattern::RandomRead]);
    add_blocks(&mut study, 14, 0.004, |_, pattern| base(pattern));
    for trial in &mut study.trials {
        let noise = [0.7, 1.4, 1.0][trial.number as usize % 3];
        trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= noise);
    }
    let top = |study: &Study| screen(study).lines().nth(1).unwrap().to_owned();
    assert!(
        top(&study).starts_with("Nothing could be decided: the figures vary"),
        "{}",
        top(&study)
    );
    let windows = IdleWindows::default();
    study.flags = vec![Flag::BusyBaseline { host: "local".into(), busy: 0.96, windows }];
    let busy = "Nothing could be decided: this machine was 96% busy with other work. Stop other work and run again.";
    assert!(words(&screen(&study)).contains(busy), "{}", screen(&study));
}

/// The first sentence said that nothing could be decided, above one with "8.62 to 8.84 times as fast".
#[test]
fn few_blocks_that_agree_are_said_on_top() {
    let mut study = sequential(&["/mnt/a", "/mnt/b"], &[Pattern::RandomRead]);
    add_blocks(&mut study, 2, 0.01, |target, pattern| base(pattern) * (1.0 + 9.0 * target as f64));
    let said = "2 blocks give no verdict, but /mnt/b was faster in each of them for random read.";
    let shown = words(&screen(&study));
    assert!(shown.contains(said) && !shown.contains("Nothing could be decided"), "{shown}");
    // They do not agree.
    let slower = |trial: &&mut Trial| trial.block == Some(1) && trial.cell.subject == 1;
    for trial in study.trials.iter_mut().filter(slower) {
        trial.result.parts[0].quantities.values_mut().for_each(|value| *value /= 20.0);
    }
    let shown = words(&screen(&study));
    assert!(shown.contains("Nothing could be decided"), "{shown}");
}

/// A copy has no --stability, whatever is advised for checks.
#[test]
fn advice_is_for_the_command_that_measured() {
    let advised = |command: &str| {
        let mut study = four_verdicts();
        study.plan.command = format!("plimsoll {command} nfs://nas/volume1 smb://me@nas/volume1");
        study.flags = vec![Flag::StabilityDiffers { detail: "one commits each write".into() }];
        words(&Document::of_study(&study).text(&SCREEN))
    };
    assert!(advised("check").contains("Compare with --stability filesync, or read"));
    let copy = advised("copy");
    assert!(!copy.contains("--stability"), "{copy}");
    assert!(copy.contains("-> Read the write verdicts with this in mind."), "{copy}");
}

/// The slots of a mount and the slower of two interfaces are on the screen.
#[test]
fn what_lies_between_is_on_the_screen() {
    let mut study = four_verdicts();
    storage(&mut study.subjects[0]).mount_options = Some("rw,vers=4.2".into());
    study.hosts[0].link_rates =
        [("eth0".to_owned(), 100_000_000), ("eth1".to_owned(), 1_000_000_000)].into();
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.subject == 0) {
        let wire = MountWire {
            queue_seconds: 20.0,
            round_trip_seconds: 20.0,
            sent_bytes: 160 * 1600,
            ..MountWire::default()
        };
        let read = MountOperation { count: 1600, wire: Some(wire), ..MountOperation::default() };
        trial.mount = Some(MountAccount {
            file_system: "nfs4".into(),
            operations: [("READ".to_owned(), read)].into(),
        });
        let eth0 = InterfaceLoad {
            name: "eth0".into(),
            received_bytes: 118_000_000,
            ..InterfaceLoad::default()
        };
        trial.loads = vec![HostLoad {
            host: "local".into(),
            seconds: 10.0,
            interfaces: vec![eth0],
            ..HostLoad::default()
        }];
    }
    let text = words(&screen(&study));
    let slots = "keeps 2 calls in flight to nfs, although 4 are requested. A call waits 12.5 ms for a slot and \
         12.5 ms for its reply. See max_session_slots";
    assert!(text.contains(slots), "{text}");
    let slower = "The traffic of this machine went over eth0 (100 Mbit/s, up to 94% busy), while eth1 (1 Gbit/s) \
         was idle.";
    assert!(text.contains(slower), "{text}");
}

/// What a killed run left is on the screen of a busy machine, too, and so is memory that was measured in place of the
/// storage.
#[test]
fn leftovers_and_figures_of_something_else_are_on_any_screen() {
    let mut study = four_verdicts();
    let windows = IdleWindows::default();
    let busy =
        |host: &str| Flag::BusyBaseline { host: host.into(), busy: 0.9, windows: windows.clone() };
    study.flags = vec![
        busy("local"),
        busy("ssh://root@nas"),
        Flag::Stolen { host: "local".into(), share: 0.3 },
        Flag::Leftovers {
            directories: vec![".plimsoll-0badc0de-1".into()],
            target: "nfs://nas/volume1".into(),
            on: None,
        },
        Flag::SameTarget { target: "nfs://nas/volume1".into() },
    ];
    let screen = screen(&study);
    let warnings: Vec<&str> = screen.lines().filter(|line| line.starts_with("! ")).collect();
    assert!(screen.contains("\nThis machine was 90% busy"), "{screen}");
    assert_eq!(warnings.len(), 3, "two, and how many more: {screen}");
    let text = words(&screen);
    assert!(text.contains("A killed run left .plimsoll-0badc0de-1 on nfs"), "{screen}");
    assert!(text.contains("Remove with: plimsoll clean 'nfs://nas/volume1'"), "{screen}");
    assert!(text.contains("was given twice"), "{screen}");
}

/// Servers of a lab on one machine are expected to share it: a note for the details, one for all of them.
#[test]
fn servers_on_one_machine_are_one_note() {
    let mut study = four_verdicts();
    study.flags = ["lab://bed/near", "lab://bed/far"]
        .map(|host| Flag::SameMachine { host: host.into() })
        .into();
    assert!(!screen(&study).contains("share one machine"), "{}", screen(&study));
    let whole = words(&Document::of_study(&study).text(&SCREEN));
    let said = "Client and server (lab://bed/near and lab://bed/far) share one machine";
    assert_eq!(whole.matches("share one machine").count(), 1, "{whole}");
    assert!(whole.contains(said), "{whole}");
}

/// What a quick look had no time for is on its screen, and how to get it.
#[test]
fn what_was_left_out_is_named() {
    let mut study = four_verdicts();
    study.flags = vec![Flag::LeftOut { workloads: vec!["random read".into(), "scan".into()] }];
    let said = "Not measured for lack of time: random read and scan. Raise --max-time or name them with --pattern.";
    assert!(words(&screen(&study)).contains(said), "{}", screen(&study));
}

/// Where the bytes of a row were is in the row, or in a sentence where that has no room.
#[test]
fn each_row_says_where_its_bytes_were() {
    let state = WriteState {
        workload: 1,
        seconds: 60.0,
        bytes: Bytes(GIB),
        steady_bytes_per_second: Some(98e6),
    };
    let mut study = sequential(&["nfs://nas/volume1"], &Pattern::USUAL);
    study.plan.contrasts.clear();
    add_blocks(&mut study, 8, 0.001, |_, pattern| base(pattern));
    storage(&mut study.subjects[0]).writes = vec![state];
    for trial in &mut study.trials {
        let latency =
            |metric: &Metric| matches!(metric.measure, Measure::LATENCY_P50 | Measure::LATENCY_P99);
        trial.result.parts[0].quantities.retain(|metric, _| !latency(metric));
    }
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "sequential read").ends_with("  disk"), "{screen}");
    assert!(row(&screen, "sequential write").ends_with("  sustained"), "{screen}");
    assert!(row(&screen, "random write").ends_with("  unknown"), "{screen}");
    // Two targets leave no room for it.
    let mut two = four_verdicts();
    storage(&mut two.subjects[1]).reads_from = Some(StoredOn::ServerMemory);
    let screen = words(&self::screen(&two));
    let said = "Reads come from: nfs: disk; smb: server memory. Whether writes are sustained or a burst is unknown.";
    assert!(screen.contains(said), "{screen}");
}

/// Two studies of one target: the answer is the first line below the title.
#[test]
fn a_comparison_of_studies_begins_with_a_sentence() {
    let study = |started, rate: fn(Pattern) -> f64| {
        let patterns = [Pattern::SequentialRead, Pattern::RandomRead];
        let mut study = sequential(&["nfs://nas/volume1"], &patterns);
        study.started_unix_seconds += started;
        add_blocks(&mut study, 12, 0.002, |_, pattern| rate(pattern));
        study
    };
    let faster = |pattern| match pattern {
        Pattern::RandomRead => 1.1 * base(pattern),
        _ => base(pattern),
    };
    let second = |a: &Study, b: &Study| {
        let screen = Document::of_two(a, b).screen(&SCREEN);
        screen.lines().nth(1).unwrap().to_owned()
    };
    let (old, new) = (study(0, base), study(86_400, faster));
    let said = second(&old, &new);
    assert!(said.starts_with("The new study (B) is faster for random read (≥ "), "{said}");
    assert!(said.ends_with("%); nothing else changed."), "{said}");
    assert!(second(&new, &old).starts_with("Study A is faster for random read"), "{said}");
    let same = second(&old, &study(86_400, base));
    assert_eq!(same, "Nothing changed: all 2 rows are practically equal.");
    // Why nothing could be decided was not said.
    let noisy = |started, blocks, noise| {
        let mut study = sequential(&["nfs://nas/volume1"], &[Pattern::RandomRead]);
        study.started_unix_seconds += started;
        add_blocks(&mut study, blocks, noise, |_, pattern| base(pattern));
        study
    };
    let said = second(&noisy(0, 12, 0.9), &noisy(86_400, 12, 0.9));
    let varies = "Nothing could be decided: the figures vary more than the studies differ.";
    assert_eq!(said, varies);
    let said = second(&noisy(0, 1, 0.1), &noisy(86_400, 1, 0.1));
    assert_eq!(said, "Nothing could be decided: 2 blocks gave no verdict.");
}
