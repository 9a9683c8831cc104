//! Changes of level in synthetic series of 12 to 60 studies: how many steps of 10% are found within one study, and how
//! many series have a false alarm. `PLIMSOLL_STUDIES` is the number of series of each kind.
//!
//! `PLIMSOLL_CHANGES` names another program for the same series. It reads one series a line: values, with spaces
//! between. It answers each line with one line: indices of the first values after the changes, with spaces between.

use plimsoll_stats::divisive::{LEVEL, Outcome, Series, Setup, simulate};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const SEED: u64 = 40_2026;
/// Logarithm of 10% less.
const STEP: f64 = -0.105_360_515_657_826_3;

fn series() -> u32 {
    std::env::var("PLIMSOLL_STUDIES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

/// The changes that another program finds in the series of [`simulate`]. It gets the figures, not their logarithms.
fn found_by(program: &OsStr, setup: Setup, count: u32) -> Outcome {
    let all: Vec<Series> = (0..count).map(|number| Series::drawn(setup, number, SEED)).collect();
    let mut lines = String::new();
    for series in &all {
        let figures = series.values.iter().map(|value| value.exp().to_string());
        writeln!(lines, "{}", figures.collect::<Vec<String>>().join(" ")).expect("memory");
    }
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program of PLIMSOLL_CHANGES starts");
    let mut input = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all series");
    let answers = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<Vec<usize>> = answers
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().expect("an index")).collect())
        .collect();
    assert_eq!(answers.len(), all.len(), "one line for each series");
    let mut outcome = Outcome::default();
    for (series, found) in all.iter().zip(&answers) {
        outcome.add(setup, series, found);
    }
    outcome
}

fn cells(setup: Setup, outcome: Outcome) -> String {
    let (power, alarms) = (outcome.power(), outcome.false_alarm_rate());
    let found = if setup.step == 0.0 { "-".to_owned() } else { format!("{power:.3}") };
    format!("{found:>8} {alarms:>13.3}")
}

#[test]
#[ignore = "a simulation: make simulate"]
fn series_of_studies() {
    let series = series();
    let other = std::env::var_os("PLIMSOLL_CHANGES");
    println!("seed {SEED}, {series} series of each kind, level {LEVEL}");
    print!(
        "{:>7} {:>5} {:>6} {:>6} {:>8} {:>13}",
        "studies", "sd", "drift", "step", "found", "false alarms"
    );
    println!("{}", if other.is_some() { "   the other program" } else { "" });
    let mut missed = Vec::new();
    for studies in [12, 20, 30, 60] {
        for sd in [0.02, 0.03, 0.05] {
            for (drift, step) in [(0.0, 0.0), (0.05, 0.0), (0.1, 0.0), (0.0, STEP)] {
                let setup = Setup { studies, sd, drift, step };
                let outcome = simulate(setup, series, SEED);
                let (power, alarms) = (outcome.power(), outcome.false_alarm_rate());
                let own = cells(setup, outcome);
                let beside = other.as_deref().map(|program| found_by(program, setup, series));
                let beside = beside.map(|outcome| cells(setup, outcome)).unwrap_or_default();
                println!("{studies:>7} {sd:>5} {drift:>6} {step:>6.2} {own} {beside}");
                // 5%, give or take two standard errors; a step in the wrong place is none.
                let error = 2.0 * (0.05 * 0.95 / f64::from(series)).sqrt();
                let is_good = step != 0.0 || alarms <= 0.05 + error;
                // Steps of few studies are found if the spread is a fifth of the step.
                let is_large = sd <= 0.02 || sd <= 0.03 && studies >= 20;
                let is_found = step == 0.0 || !is_large || power >= 0.8;
                if !is_good || !is_found {
                    missed
                        .push(format!("{studies} studies, sd {sd}, drift {drift}, step {step:.2}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
