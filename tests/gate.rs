//! `check --baseline --fail-on` on directories: what fails, what does not, and what is refused before anything is
//! measured.

mod support;

use plimsoll_model::{Measure, Metric, Study, StudyId};
use plimsoll_record::Store;
use std::path::Path;
use support::{Plimsoll, unwrapped};

/// A study of a second.
const SHORT: [&str; 7] = [
    "--pattern=random-read,random-write",
    "--size=1MiB",
    "--time=200ms",
    "--repeats=2",
    "--workers=1",
    "--baseline=0s",
    "--quiet",
];

const DAY: u64 = 86_400;

fn check(target: &Path, more: &[&str]) -> Vec<String> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    // What is given again replaces the usual; an idle time stands beside the studies to compare with.
    let is_usual = |word: &&&str| {
        name(word) == "--baseline" || more.iter().all(|other| name(other) != name(word))
    };
    let words = ["check", target.to_str().unwrap()];
    let words = words.iter().chain(SHORT.iter().filter(is_usual)).chain(more);
    words.map(|word| (*word).to_owned()).collect()
}

/// A store with so many copies of a measured study, on as many earlier days, whose figures lie around `level` of its own,
/// up to 2% from day to day.
fn with_baseline(measured: &Study, count: u32, level: f64) -> Plimsoll {
    let copy = |number: u32| {
        let mut study = measured.clone();
        study.id = StudyId(format!("ba5e{number:04x}"));
        study.started_unix_seconds -= DAY * u64::from(count - number);
        let wobble = 1.0 + 0.02 * (f64::from(number * 7 % 5) - 2.0) / 2.0;
        for trial in &mut study.trials {
            let quantities = &mut trial.result.parts[0].quantities;
            for measure in [Measure::THROUGHPUT, Measure::IOPS] {
                let value = quantities.get_mut(&Metric::all(measure)).unwrap();
                *value *= level * wobble;
            }
        }
        study
    };
    let program = Plimsoll::new();
    let studies: Vec<Study> = (0..count).map(copy).collect();
    Store::open(program.db()).unwrap().import(&studies).unwrap();
    program
}

#[test]
fn a_change_beyond_bound_and_spread_fails_and_one_by_chance_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let first = Plimsoll::new();
    first.run(&check(directory.path(), &[])).expect(0);
    let measured = first.latest();

    // Days on which it was a hundred times as fast, whatever this machine does meanwhile.
    let program = with_baseline(&measured, 6, 100.0);
    let gate = ["--baseline=last", "--fail-on=read<-10%", "--fail-on=random-write<-10%"];
    let failed = program.run(&check(directory.path(), &gate)).expect(7);
    let said = unwrapped(&failed.out);
    assert!(said.contains("Gate failed (exit code 7)"), "{}", failed.out);
    assert!(said.contains("Baseline: 6 studies up to ba5e0005."), "{}", failed.out);
    assert!(said.contains("at most 5%, over all 2 rows together"), "{}", failed.out);
    let id = program.latest().id;
    let junit = program.run(&["export", "latest", "--junit"]).expect(0).out;
    assert!(junit.contains("failures=\"2\"") && junit.contains(&id.0), "{junit}");
    // The same without a bound is a comparison, and no failure.
    let compared = program.run(&check(directory.path(), &["--baseline=ba5e0005"])).expect(0).out;
    assert!(compared.contains("Compared with earlier studies"), "{compared}");

    // A hundred times as slow: higher figures do not fail a lower bound; they fail an upper one.
    let slower = with_baseline(&measured, 6, 0.01);
    let passed = slower.run(&check(directory.path(), &gate)).expect(0).out;
    assert!(passed.contains("Gate passed"), "{passed}");
    let upper = ["--baseline=ba5e0005", "--fail-on=all>+50%", "--json=-"];
    let failed = slower.run(&check(directory.path(), &upper)).expect(7);
    assert!(failed.err.contains("Gate failed"), "{}", failed.err);
    let study: Study = serde_json::from_str(&failed.out).expect("the study alone");
    assert_eq!(study.plan.gate.unwrap().baseline, "ba5e0005");
}

#[test]
fn too_few_studies_have_no_known_spread_and_fail_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let gate = ["--baseline=last", "--fail-on=all<-1%", "--as=scratch"];
    let first = program.run(&check(directory.path(), &gate)).expect(0).out;
    assert!(unwrapped(&first).contains("Baseline: no earlier study of equal work."), "{first}");
    assert!(first.contains("no baseline"), "{first}");
    let measured = program.latest();
    let four = with_baseline(&measured, 4, 100.0);
    let unknown = four.run(&check(directory.path(), &gate)).expect(0).out;
    let said = unwrapped(&unknown);
    assert!(said.contains("The day-to-day spread is unknown: it needs 5 studies"), "{unknown}");
    assert!(said.contains("Baseline: 4 studies up to ba5e0003."), "{unknown}");
    let history = four.run(&["history", "--as", "scratch"]).expect(0).out;
    assert!(history.contains("5 studies from"), "{history}");
    let junit = four.run(&["export", "--junit"]).expect(0).out;
    assert!(junit.contains("skipped=\"2\"") && junit.contains("failures=\"0\""), "{junit}");
}

#[test]
fn what_cannot_be_compared_is_refused_before_it_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    program.run(&check(directory.path(), &[])).expect(0);
    let id = program.latest().id;
    let refused = |more: &[&str]| {
        let ran = program.run(&check(directory.path(), more)).expect(2);
        assert_eq!(program.latest().id, id, "nothing was measured");
        unwrapped(&ran.err)
    };
    let other = refused(&["--size=2MiB", "--baseline=last", "--fail-on=read<-10%"]);
    assert!(other.contains("its work differs: working set 1 MiB, now 2 MiB"), "{other}");
    let other = refused(&["--workers=2", "--baseline=latest"]);
    assert!(other.contains("workers 1, now 2"), "{other}");
    let typo = refused(&["--baseline=last", "--fail-on=raed<-10%"]);
    assert!(typo.contains("no work of this study is called 'raed'"), "{typo}");
    assert!(typo.contains("random read"), "{typo}");
    let without = refused(&["--fail-on=read<-10%"]);
    assert!(without.contains("no baseline is given"), "{without}");
    let unknown = refused(&["--baseline=77777777", "--fail-on=read<-10%"]);
    assert!(unknown.contains("no study has this id"), "{unknown}");
    let words = refused(&["--baseline=last", "--fail-on=read<10%"]);
    assert!(words.contains("is not a condition"), "{words}");
    let twice = program.run(&[
        "check",
        directory.path().to_str().unwrap(),
        directory.path().to_str().unwrap(),
        "--as=films",
        "--as=films",
    ]);
    assert!(twice.expect(2).err.contains("another target has the same name"));
    // A first study of another target has nothing to differ from.
    let elsewhere = tempfile::tempdir().unwrap();
    program.run(&check(elsewhere.path(), &["--baseline=last", "--fail-on=all<-10%"])).expect(0);
}
