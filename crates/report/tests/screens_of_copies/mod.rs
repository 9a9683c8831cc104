//! Screens of what was copied.

use super::{SCREEN, fits, row, screen, sequential, words};
use crate::support::plain::{copied, copies, copies_by, dataset};
use plimsoll_model::*;
use plimsoll_report::Document;

/// A home's files to and from these targets.
fn home(targets: &[&str], blocks: u32, seconds: impl Fn(u16, &FileWork) -> f64) -> Study {
    let workloads = copies(&DataClass::ALL.map(|class| dataset(class, 1.0)));
    let copied = copied(targets, workloads, blocks, 0.01, seconds);
    let mut study = sequential(targets, &[]);
    study.plan.workloads = copied.plan.workloads;
    study.plan.contrasts = copied.plan.contrasts;
    study.trials = copied.trials;
    study
}

/// The same by two methods; of each dataset and way the second is compared with the first, where there is one
/// target.
pub fn both_ways(targets: &[&str], blocks: u32, seconds: impl Fn(u16, &FileWork) -> f64) -> Study {
    let pipelined = Method::Pipelined { files: 32.try_into().unwrap() };
    let workloads =
        copies_by(&[Method::Rsync, pipelined], &DataClass::ALL.map(|class| dataset(class, 1.0)));
    let copied = copied(targets, workloads, blocks, 0.01, seconds);
    let mut study = sequential(targets, &[]);
    study.trials = copied.trials;
    study.plan.workloads = copied.plan.workloads;
    study.plan.contrasts = copied.plan.contrasts;
    if targets.len() == 1 {
        let metric = Metric::all(Measure::THROUGHPUT);
        let measurand = |workload| Measurand { cell: Cell::new(0, workload, 0), part: 0, metric };
        let contrast = |number: usize| Contrast {
            of: measurand(2 * number + 1),
            against: measurand(2 * number),
            claim: true,
        };
        study.plan.contrasts = (0..8).map(contrast).collect();
    }
    study
}

/// Seconds where a file costs so much beside its bytes.
fn adds_up(work: &FileWork, file: f64, rate: f64) -> f64 {
    work.files as f64 * file + work.bytes.0 as f64 / rate
}

#[test]
fn a_copy_to_one_target() {
    let mut study = home(&["nfs://nas/volume1"], 8, |_, work| adds_up(work, 4.1e-3, 1e8));
    let without = screen(&study);
    fits(&without);
    assert!(!without.contains("GB of"), "{without}");
    let mut disturbed = study.clone();
    disturbed.trials[0].result.flags.push(Flag::OtherLoad {
        host: HostName::Local,
        resource: HostResource::Cpu,
        per_second: 1.0,
    });
    let [details, of_disturbed] =
        [&study, &disturbed].map(|study| words(&Document::of_study(study).text(&SCREEN)));
    let said = "Costs of files include trials with other load on a host, the figures do not.";
    assert!(!details.contains(said) && of_disturbed.contains(said), "{of_disturbed}");
    study.plan.amounts = ["200GB:photos", "120GB:2MB"].map(|text| text.parse().unwrap()).into();
    let screen = screen(&study);
    fits(&screen);
    // 68,500 files of 4.1 ms and 2000 s; 60,000 and 1200 s.
    for (amount, minutes) in [("200 GB of pictures", 38), ("120 GB of 2 MB files", 24)] {
        let takes = format!("{amount}: up {minutes} min; down {minutes} min.");
        assert!(words(&screen).contains(&takes), "{takes} in\n{screen}");
    }
    assert!(words(&screen).contains("Fixed cost per file, up: 4.1"), "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_copy_to_two_targets() {
    let seconds =
        |subject, work: &FileWork| adds_up(work, [4.1e-3, 6.3e-3][usize::from(subject)], 1e8);
    let mut study = home(&["nfs://nas/volume1", "smb://me@nas/volume1"], 12, seconds);
    study.plan.amounts = vec!["200GB:photos".parse().unwrap()];
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "source tree up").contains("nfs faster: ≥ "), "{screen}");
    insta::assert_snapshot!(screen);
}

/// Seconds of two methods and two targets, up and down.
pub fn of_methods(subject: u16, work: &FileWork) -> f64 {
    let pipelined = if work.method == "pipelined" { 0.15 } else { 1.0 };
    let file = [4.1e-3, 7.3e-3][usize::from(subject)] * pipelined;
    adds_up(work, if work.way == "up" { file } else { file / 3.0 }, 1e8)
}

#[test]
fn a_copy_by_two_methods() {
    let mut study = both_ways(&["nfs://nas/volume1"], 12, of_methods);
    study.plan.amounts = vec!["200GB:photos".parse().unwrap()];
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "source tree up").contains("  pipelined faster: ≥ 5"), "{screen}");
    assert!(row(&screen, "movies down").contains("  practically equal"), "{screen}");
    let lead = "copying pipelined is faster than copying as rsync for small files (each ≥ 1.02x); both methods are practically equal for large files.";
    assert!(words(&screen).to_lowercase().contains(lead), "{screen}");
    let sentence = "Fixed cost per file, up: as rsync 4.1";
    assert!(words(&screen).contains(sentence), "{screen}");
    assert!(
        words(&screen).contains("(at least 8") && words(&screen).contains("% less)."),
        "{screen}"
    );
    insta::assert_snapshot!(screen);
    // What the details and the page have of it: costs, each time beside the model's, and the published router.
    let details = Document::of_study(&study).text(&SCREEN);
    let costs = details.find("Costs of files and bytes").unwrap();
    let end = details.find("Movies up, as rsync").unwrap();
    insta::assert_snapshot!("costs_of_two_methods", &details[costs..end]);
}

/// With rsync itself beside them there are marks, against the first.
#[test]
fn a_copy_by_three_methods() {
    let mut study = both_ways(&["/mnt/nas"], 12, of_methods);
    for number in (0..16).step_by(2) {
        let mut by_rsync = study.plan.workloads[number].clone();
        let Job::Copy(job) = &mut by_rsync.parts[0].job else { unreachable!() };
        job.method = Method::ByRsync;
        study.plan.workloads.push(by_rsync);
        let trials: Vec<Trial> = study
            .trials
            .iter()
            .filter(|t| usize::from(t.cell.workload) == number)
            .cloned()
            .collect();
        for trial in trials {
            let workload = (16 + number / 2) as u16;
            study.trials.push(Trial { cell: Cell { workload, ..trial.cell }, ..trial });
        }
        let first = study.plan.contrasts[number / 2];
        let cell = Cell::new(0, 16 + number / 2, 0);
        study.plan.contrasts.push(Contrast { of: Measurand { cell, ..first.of }, ..first });
    }
    let screen = screen(&study);
    fits(&screen);
    let source = row(&screen, "source tree up");
    assert!(source.contains(" files/s +  ") && source.contains(" files/s =  "), "{source}");
    assert!(words(&screen).contains("Compared with as rsync (95%"), "{screen}");
}

#[test]
fn a_copy_by_two_methods_to_two_targets() {
    let study = both_ways(&["nfs://nas/volume1", "smb://me@nas/volume1"], 12, of_methods);
    let screen = screen(&study);
    fits(&screen);
    let source = row(&screen, "source tree up");
    assert_eq!(source.matches(" files/s").count(), 4, "{source}");
    assert_eq!(source.matches(" -").count(), 2, "{source}");
    let document = Document::of_study(&study);
    let (_, heat) =
        document.charts().find(|chart| chart.0 == "settings-heat.svg").expect("a heat map");
    // Up and down have one scale: 135 files a second as rsync up to the second target, of 3110 down, pipelined.
    assert!(heat.contains("source tree up") && heat.contains("4.32"), "{heat}");
    insta::assert_snapshot!(screen);
}

/// One more than stand beside their verdicts: marks, whose meaning is below.
#[test]
fn a_copy_to_three_targets() {
    let seconds =
        |subject, work: &FileWork| adds_up(work, [4.1e-3, 9e-3, 2e-3][usize::from(subject)], 1e8);
    let study = home(&["nfs://nas/volume1", "smb://me@nas/volume1", "/mnt/nas"], 12, seconds);
    let screen = screen(&study);
    fits(&screen);
    let source = row(&screen, "source tree up");
    assert!(source.contains(" -  ") && source.contains(" +  "), "{source}");
    assert!(row(&screen, "movies down").contains(" =  "), "{screen}");
    assert!(words(&screen).contains("+ faster, - slower, = practically equal"), "{screen}");
    insta::assert_snapshot!(screen);
}

/// Times that are no sum, and too few datasets: no cost, no time of other files, and why.
#[test]
fn a_copy_of_which_no_cost_can_be_named() {
    let root = |_, work: &FileWork| (work.bytes.0 as f64).sqrt() * 1e-3;
    let mut study = home(&["nfs://nas/volume1"], 8, root);
    study.plan.amounts = vec!["120GB:2MB".parse().unwrap()];
    let screen = screen(&study);
    fits(&screen);
    assert!(
        !screen.contains("Fixed cost per file")
            && screen.contains("No cost per file (up and down)"),
        "{screen}"
    );
    assert!(screen.contains("120 GB of 2 MB files: up unknown; down unknown."), "{screen}");
    let details = words(&Document::of_study(&study).text(&SCREEN));
    assert!(details.contains("does not fit: error up to "), "{details}");
    study.plan.workloads.truncate(2);
    study.plan.contrasts.clear();
    study.trials.retain(|trial| trial.cell.workload < 2);
    let screen = self::screen(&study);
    fits(&screen);
    assert!(words(&screen).contains("needs at least three datasets: --dataset home."), "{screen}");
}

/// Ways and methods of one dataset stand side by side, on one scale: a longer bar is a faster copy.
#[test]
fn a_longer_bar_is_a_faster_copy() {
    let pipelined = Method::Pipelined { files: 32.try_into().unwrap() };
    let workloads = copies_by(&[Method::Rsync, pipelined], &[dataset(DataClass::Source, 0.1)]);
    let rate = |work: &FileWork| match (work.way, work.method) {
        ("up", "pipelined") => 3606.0,
        ("up", _) => 792.0,
        (_, "pipelined") => 5000.0,
        _ => 1500.0,
    };
    let study =
        copied(&["nfs://nas/volume1"], workloads, 4, 0.0, |_, work| work.files as f64 / rate(work));
    let document = Document::of_study(&study);
    let (_, svg) = document.charts().find(|chart| chart.0 == "speeds.svg").unwrap();
    let picture = roxmltree::Document::parse(&svg).unwrap();
    let text = |class: &str| -> Vec<&str> {
        let nodes = picture.descendants().filter(|node| node.attribute("class") == Some(class));
        nodes.filter_map(|node| node.text()).collect()
    };
    assert_eq!(text("unit"), ["Source tree"]);
    let labels = text("label").join("|");
    assert!(labels.contains("up, as rsync|792 files/s|up, pipelined|3606 files/s"), "{labels}");
    let is_bar = |node: &roxmltree::Node<'_, '_>| {
        node.attribute("class").is_some_and(|class| class.starts_with("bar"))
    };
    let bars = picture.descendants().filter(is_bar);
    let widths: Vec<f64> = bars.map(|b| b.attribute("width").unwrap().parse().unwrap()).collect();
    let [up_rsync, up, down_rsync, down] = widths[..] else { panic!("{svg}") };
    assert!(up_rsync < down_rsync && down_rsync < up && up < down, "{widths:?}");
}
