//! `plimsoll clock` end to end: on this machine, on a host of a lab, and continued.

#[path = "../../../tests/support/mod.rs"]
mod support;

use plimsoll_model::clock_call::ClockJob;
use plimsoll_model::{Ended, Flag, Measure, Metric, Outcome, Study, SubjectFacts};
use plimsoll_testkit::Need;
use support::beds::Beds;
use support::{Plimsoll, Ran, probes};

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().expect("a path in letters"))
}

#[track_caller]
fn study(ran: &Ran) -> Study {
    plimsoll_record::from_json(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// The figures of a clock on a host, trial by trial.
fn figures(study: &Study, workload: u16, measure: Measure) -> Vec<f64> {
    let own = study.trials.iter().filter(|trial| trial.cell.workload == workload);
    own.filter_map(|trial| trial.result.value(0, Metric::all(measure))).collect()
}

#[test]
fn clocks_of_this_machine_are_measured_kept_shown_and_compared() {
    let program = program();
    let ran = program.run(&["clock", "local", "--time=60ms", "--json=-", "--quiet"]).expect(0);
    let whole = study(&ran);
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 9));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let SubjectFacts::Clock(facts) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(source).ok().map(|text| text.trim().to_owned());
    assert_eq!(facts.source, source.filter(|source| !source.is_empty()));
    for workload in 0..3 {
        for measure in [ClockJob::CALL, ClockJob::SYSTEM_CALL] {
            let figures = figures(&whole, workload, measure);
            assert_eq!(figures.len(), 3);
            assert!(figures.iter().all(|seconds| (1e-10..1e-3).contains(seconds)), "{figures:?}");
        }
    }

    let id = &whole.id.0;
    let shown = program.run(&["show", id]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    let row = |name: &str| {
        let found = shown.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("{name} in\n{shown}")).to_owned()
    };
    for name in ["monotonic clock", "realtime clock", "process CPU clock"] {
        let row = row(name);
        assert!(row.contains("vDSO") || row.contains("system call"), "{row}");
        assert!(row.contains("ns") || row.contains("µs"), "{row}");
    }
    // Only the kernel knows it, however busy the machine is.
    assert!(row("process CPU clock").contains("system call"), "{shown}");
    let explained = program.run(&["explain", id]).expect(0).out;
    assert!(explained.contains("Process CPU clock: "), "{explained}");
    let details = program.run(&["show", id, "--details"]).expect(0).out;
    assert!(details.contains("clock source") || facts.source.is_none(), "{details}");
    assert!(!details.contains("1 worker"), "{details}");
    let exported = study(&program.run(&["export", id]).expect(0));
    assert_eq!((&exported.plan, &exported.subjects), (&whole.plan, &whole.subjects));
    assert_eq!(exported.trials.len(), whole.trials.len());
    let table = program.run(&["export", id, "--csv"]).expect(0).out;
    assert!(table.contains("clock_call_seconds"), "{table}");
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains(id) && list.contains("clock-monotonic"), "{list}");
    let compared = program.run(&["compare", id, id]).expect(0).out;
    assert!(compared.contains("monotonic clock"), "{compared}");
    let page = program.home().join("page.html");
    program.run(&["report", "--output", page.to_str().unwrap()]).expect(0);
}

#[test]
fn a_study_that_its_time_limit_ended_is_continued_by_its_command() {
    let program = program();
    let words = ["--clock=monotonic", "--time=50ms", "--repeats=500", "--max-time=1s", "--quiet"];
    program.run(&[&["clock", "local"], &words[..]].concat()).expect(0);
    let before = program.latest();
    assert_eq!(before.ended, Ended::CapReached);
    let id = &before.id.0;
    let shown = program.run(&["show", id]).expect(0).out;
    assert!(shown.contains(&format!("plimsoll clock --continue {id}")), "{shown}");

    program.run(&["clock", "--continue", id, "--max-time=1s", "--quiet"]).expect(0);
    let after = program.latest();
    assert_eq!(after.id, before.id);
    assert_eq!(after.trials[..before.trials.len()], before.trials[..]);
    assert!(after.trials.len() > before.trials.len());
    assert!(after.flags.iter().any(|flag| matches!(flag, Flag::Continued { .. })));
    let last = before.trials.last().unwrap().block.unwrap();
    assert_eq!(after.trials[before.trials.len()].block, Some(last + 1));

    // A command continues what it measures, and keeps the options of a study.
    let refused = program.run(&["check", "--continue", id]).expect(2);
    assert!(refused.err.contains(&format!("Run plimsoll clock --continue {id}")), "{refused:?}");
    program.run(&["clock", "--continue", id, "local"]).expect(2);
    program.run(&["clock"]).expect(2);
    program.run(&["clock", "local", "--time=1ms"]).expect(2);
    assert_eq!(program.latest(), after);
}

#[test]
fn two_hosts_of_a_lab_are_compared() {
    let needs = [Need::Namespaces, Need::Nftables, Need::Ping];
    if !needs.into_iter().all(plimsoll_testkit::available) {
        return;
    }
    let beds = Beds::with_program(program());
    let text = "[host.a]\nkind = \"netns\"\n[host.b]\nkind = \"netns\"\n[link.lan]\nbetween = [\"a\", \"b\"]\n";
    let file = beds.file("pair", text);
    beds.lab(&["up", &file]).expect(0);
    let words = ["clock", "lab://pair/a", "lab://pair/b", "--time=50ms", "--json=-", "--quiet"];
    let whole = study(&beds.program.run(&words).expect(0));
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 18));
    assert_eq!(whole.plan.contrasts.len(), 3);
    let given: Vec<&str> = whole.subjects.iter().map(SubjectFacts::given).collect();
    assert_eq!(given, ["lab://pair/a", "lab://pair/b"]);
    let shown = beds.program.run(&["show"]).expect(0).out;
    // A wide table breaks the names of its rows.
    assert!(shown.lines().any(|line| line.starts_with("process CPU")), "{shown}");
    assert!(shown.contains("system call") || shown.contains("vDSO"), "{shown}");
}
