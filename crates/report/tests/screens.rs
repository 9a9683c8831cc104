//! The one screen that answers: golden ones, what must be found on each, and odd studies.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod screens_for_a_reader;
mod screens_of_copies;
mod screens_of_disturbed_studies;
mod screens_of_operations;
mod screens_of_real_size;
mod screens_with_warnings;
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
            facts.protocol = "SMB 3.1.1, signed".into();
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
    let bottleneck = "! This machine may be the bottleneck, not the storage: a core was 99% busy in every trial. \
                      Use fewer workers or a faster CPU.";
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
