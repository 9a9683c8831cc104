//! Screens of studies beside which others used the hosts.

use super::{SCREEN, base, fits, four_verdicts, screen, sequential, words};
use crate::support::plain::{add_blocks, fail, storage};
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::*;
use plimsoll_report::Document;

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
            host: "ssh://root@nas".parse().unwrap(),
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
    assert!(text.contains("% slower: other work used ssh://root@nas"), "{screen}");
    assert!(text.contains("Figures leave them out, verdicts do not."), "{screen}");
    let whole = words(&Document::of_study(&study).text(&SCREEN));
    assert!(whole.contains("from 2025-10-09 08:53 to 08:5"), "when: {whole}");
    let network = "(its network by up to 80.0 MB/s and its disk by up to 3.00 MB/s in 1)";
    assert!(whole.contains(network), "{whole}");
    assert!(
        whole.contains("% slower than at other times: other work used ssh://root@nas"),
        "{whole}"
    );
    let why = "The figures leave them out. Verdicts compare whole blocks and count them: a target";
    assert!(whole.contains(why), "{whole}");
    assert!(whole.contains("which clients and transfers used it at that time"), "{whole}");
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
    assert!(whole.contains("were not slower than at other times"), "{whole}");
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
        Flag::BusyBaseline { host: "local".parse().unwrap(), busy: 0.96, windows: windows.clone() },
        Flag::OtherTraffic { host: "local".parse().unwrap(), bytes_per_second: 9e6, windows },
        Flag::NotWatched {
            host: "ssh://nas".parse().unwrap(),
            reason: "Connection refused".into(),
        },
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
    assert!(words(&screen).contains("A quick look of 13 min is preliminary. !"), "{screen}");
    assert!(!screen.contains("may not decide"), "{screen}");
}

/// Beside "run again" nothing said that an interrupted study can be continued.
#[test]
fn an_interrupted_study_on_a_disturbed_machine_can_be_continued() {
    let mut study = four_verdicts();
    study.plan.command = "plimsoll check nfs://nas/volume1 smb://me@nas/volume1".into();
    let windows = IdleWindows::default();
    study.flags = vec![Flag::BusyBaseline { host: "local".parse().unwrap(), busy: 0.96, windows }];
    let failure = Failure::new(Cause::Unreachable, "read from the share")
        .on("nfs://nas/volume1")
        .happened("no answer within 30 s")
        .next("See whether the server still runs.");
    let stop = "Stop other work on this machine, then run again: plimsoll check nfs://nas/volume1";
    for (ended, expected) in
        [(Ended::Done, false), (Ended::Interrupted, true), (Ended::Failed { failure }, true)]
    {
        study.ended = ended;
        let screen = screen(&study);
        fits(&screen);
        let go_on = screen.contains("Or continue: plimsoll check --continue 5eed0001");
        assert!(screen.contains(stop) && go_on == expected, "{screen}");
    }
}

/// "Narrow the intervals" was the advice of a study without any figure, as its server had died in the first trial.
#[test]
fn a_study_that_failed_before_its_first_figure_is_continued_after_a_check() {
    let mut study = sequential(&["nfs://nas/volume1"], &[Pattern::RandomRead]);
    study.plan.contrasts.clear();
    study.plan.command = "plimsoll check nfs://nas/volume1".into();
    add_blocks(&mut study, 1, 0.01, |_, pattern| base(pattern));
    study.trials.truncate(1);
    fail(&mut study.trials[0]);
    let failed = |cause| {
        let failure = Failure::new(cause, "read from the share")
            .on("nfs://nas/volume1")
            .happened("the server closed the connection")
            .next("Check that the server is running, and read its log.");
        Ended::Failed { failure }
    };
    let go_on = "continue: plimsoll check --continue 5eed0001";
    let assert_says = |study: &Study, what: &str| {
        let screen = screen(study);
        fits(&screen);
        let text = words(&screen);
        assert!(text.contains("No trial ran to its end, so there are no figures."), "{screen}");
        assert!(text.contains(&format!("{what} {go_on}")), "{what} in\n{screen}");
        for other in ["Narrow the intervals", "Decide", "Or continue"] {
            assert!(!text.contains(other), "{other} in\n{screen}");
        }
    };
    study.ended = failed(Cause::Unreachable);
    assert_says(&study, "Check the server, then");
    // Before other work, which did not stop it.
    with_idle_windows(&mut study, |_| 1.9);
    assert_says(&study, "Check the server, then");
    study.ended = failed(Cause::NoSpace);
    assert_says(&study, "Follow the advice above, then");
    study.plan.drive_on(["ssh://me@client".parse().unwrap()]);
    study.ended = failed(Cause::Unreachable);
    assert_says(&study, "Check the hosts, then");
    // One that was interrupted so early has blocks to measure, and no intervals.
    study.plan.drive_on(["local".parse().unwrap()]);
    (study.ended, study.flags) = (Ended::Interrupted, Vec::new());
    study.trials.iter_mut().for_each(|trial| trial.loads.clear());
    let text = words(&screen(&study));
    let remaining = "Measure the remaining blocks: plimsoll check --continue 5eed0001";
    assert!(text.contains(remaining) && !text.contains("Narrow the intervals"), "{text}");
}

/// "Narrow the intervals" was also the advice of a study whose server had died after its first figures. More blocks need the
/// server.
#[test]
fn a_study_that_failed_after_its_first_figures_is_continued_after_a_check() {
    let measured = |targets: &[&str], cause| {
        let mut study = sequential(targets, &[Pattern::RandomRead]);
        study.plan.command = format!("plimsoll check {}", targets.join(" "));
        if targets.len() == 1 {
            study.plan.contrasts.clear();
        }
        add_blocks(&mut study, 3, 0.2, |_, pattern| base(pattern));
        fail(study.trials.last_mut().unwrap());
        let failure = Failure::new(cause, "read from the share")
            .on("nfs://nas/volume1")
            .happened("the server closed the connection")
            .next("Check that the server is running, and read its log.");
        study.ended = Ended::Failed { failure };
        study
    };
    let two = ["nfs://nas/volume1", "smb://me@nas/volume1"];
    for (targets, cause, what) in [
        (&two[..1], Cause::Unreachable, "Check the server, then continue"),
        (&two[..], Cause::Unreachable, "Check the server, then continue"),
        (&two[..1], Cause::NoSpace, "Follow the advice above, then continue"),
    ] {
        let screen = screen(&measured(targets, cause));
        fits(&screen);
        let text = words(&screen);
        let go_on = format!("{what}: plimsoll check --continue 5eed0001");
        assert!(text.contains(&go_on), "{go_on} in\n{screen}");
        assert!(text.contains(" IOPS"), "no figures:\n{screen}");
        for other in ["Narrow the intervals", "Decide", "Name the bottleneck", "Or continue"] {
            assert!(!text.contains(other), "{other} in\n{screen}");
        }
    }
}

/// Loads of this machine, so many cores busy in the idle window before each trial.
fn with_idle_windows(study: &mut Study, busy_cores: impl Fn(&Trial) -> f64) {
    for trial in &mut study.trials {
        let idle_baseline = busy_cores(trial);
        trial.loads = vec![HostLoad {
            host: "local".parse().unwrap(),
            seconds: 5.0,
            cores_busy: vec![0.3; 2],
            idle_baseline,
            ..HostLoad::default()
        }];
    }
    let windows = IdleWindows::default();
    study.flags = vec![Flag::BusyBaseline { host: "local".parse().unwrap(), busy: 0.52, windows }];
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
        let flag = Flag::OtherLoad { host: "local".parse().unwrap(), resource: cpu, per_second };
        study.trials[3].result.flags = vec![flag];
        words(&Document::of_study(&study).text(&SCREEN))
    };
    assert!(used(3.0).contains("(both of its cores)"), "{}", used(3.0));
    assert!(used(0.92).contains("(its CPU by up to 0.92 cores)"), "{}", used(0.92));
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
    study.flags = vec![Flag::BusyBaseline { host: "local".parse().unwrap(), busy: 0.96, windows }];
    let busy = "Nothing could be decided: this machine was 96% busy with other work. Stop other work and run again.";
    assert!(words(&screen(&study)).contains(busy), "{}", screen(&study));
}

/// All at once, of two targets: such a screen of 80 columns had 26 lines. What the details say as well is shorter then.
#[test]
fn a_quick_look_that_stopped_on_a_busy_machine_fits_a_terminal() {
    let measured = |patterns: &[Pattern], left_out: &[&str]| {
        let mut study = sequential(&["nfs://server/srv/data", "smb://ann@server/data"], patterns);
        study.plan.command =
            "plimsoll check --quick nfs://server/srv/data smb://ann@server/data".into();
        add_blocks(&mut study, 7, 0.004, |_, pattern| base(pattern));
        for trial in &mut study.trials {
            let place = trial.block.unwrap() as usize + usize::from(trial.cell.subject);
            let noise = [0.7, 1.4, 1.0][place % 3];
            trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= noise);
        }
        let writes = [1, 3, 4].into_iter().filter(|number| *number < patterns.len());
        let state = |workload: usize| WriteState {
            workload: workload as u16,
            seconds: 0.0,
            bytes: Bytes(0),
            steady_bytes_per_second: None,
        };
        let states: Vec<WriteState> = writes.map(state).collect();
        for facts in study.subjects.iter_mut().map(storage) {
            facts.writes = states.clone();
        }
        let workloads: Vec<String> = left_out.iter().map(|name| (*name).to_owned()).collect();
        study.flags = vec![
            Flag::BusyBaseline {
                host: "local".parse().unwrap(),
                busy: 0.99,
                windows: IdleWindows::default(),
            },
            Flag::Quick { resolvable: None },
            Flag::Burst { workloads: vec!["sequential write".into()], why: Burst::NotConditioned },
            Flag::NotCleaned {
                target: "nfs://server/srv/data".into(),
                directory: ".plimsoll-0893b3cb-d271315e".into(),
                on: None,
            },
        ];
        study.flags.extend((!workloads.is_empty()).then_some(Flag::LeftOut { workloads }));
        let tried = "write the file '.plimsoll-0893b3cb-d271315e/lease.json'";
        let failure = Failure::new(Cause::Unreachable, tried)
            .on("nfs://server/srv/data")
            .happened("the server closed the connection")
            .next("Check that the server is running, and read its log.");
        study.ended = Ended::Failed { failure };
        study
    };
    let all = measured(&Pattern::USUAL, &[]);
    let some = measured(&Pattern::USUAL[..3], &["random write", "random mixed"]);
    for study in [&all, &some] {
        let screen = screen(study);
        fits(&screen);
        let text = words(&screen);
        for said in [
            "The study stopped: the server closed the connection (nfs://server/srv/data).",
            "Check that the server is running, and read its log.",
            "Nothing could be decided: this machine was 99% busy with other work.",
            "* burst: a write cache may have taken these writes",
            "could not be removed from nfs",
            "plimsoll clean",
            "Stop other work on this machine, then run again: plimsoll check --quick",
            "Or continue: plimsoll check --continue",
        ] {
            assert!(text.contains(said), "{said} in\n{screen}");
        }
        let whole = words(&Document::of_study(study).text(&SCREEN));
        for said in [
            "; could not write the file",
            "with other work. Stop other work and run again.",
            "For the sustained speed, raise --max-time.",
            "A quick look of",
        ] {
            assert!(whole.contains(said), "{said} in\n{whole}");
        }
    }
    let left_out = "Random write and random mixed were not measured for lack of time.";
    assert!(words(&screen(&some)).contains(left_out), "{}", screen(&some));
}
