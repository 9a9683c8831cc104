//! What is odd about a study, and what to do about it: what a screen says of that, and what it leaves to the details.

use super::{SCREEN, base, four_verdicts, screen, sequential, words};
use crate::support::plain::{add_blocks, fail, storage};
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::*;
use plimsoll_report::Document;

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
        Flag::BusyBaseline {
            host: "local".parse().unwrap(),
            busy: 0.5,
            windows: IdleWindows::default(),
        },
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
        Flag::BusyBaseline {
            host: "local".parse().unwrap(),
            busy: 0.5,
            windows: IdleWindows::default(),
        },
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
            host: "local".parse().unwrap(),
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
    let busy = |host: &str| Flag::BusyBaseline {
        host: host.parse().unwrap(),
        busy: 0.9,
        windows: windows.clone(),
    };
    study.flags = vec![
        busy("local"),
        busy("ssh://root@nas"),
        Flag::Stolen { host: "local".parse().unwrap(), share: 0.3 },
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
        .map(|host| Flag::SameMachine { host: host.parse().unwrap() })
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
    let said = "Random read and scan were not measured for lack of time. Raise --max-time or name them with --pattern.";
    assert!(words(&screen(&study)).contains(said), "{}", screen(&study));
}

/// Reads that never ran were said to come from the server's memory: the files are tested before the first trial.
#[test]
fn a_warning_about_memory_needs_a_trial_that_it_is_about() {
    let measured = |pattern, kind, flag: &Flag| {
        let mut study = sequential(&["nfs://nas/volume1"], &[pattern]);
        study.plan.contrasts.clear();
        add_blocks(&mut study, 2, 0.01, |_, pattern| base(pattern));
        for trial in &mut study.trials {
            let stats = OpStats { count: 1024, bytes: GIB, ..OpStats::default() };
            trial.result.parts[0].ops.insert(kind, stats);
        }
        study.flags = vec![flag.clone()];
        study
    };
    let target = String::from("nfs://nas/volume1");
    let server = Flag::WorkingSet {
        target: target.clone(),
        size: Bytes(GIB),
        reads_from: StoredOn::ServerMemory,
        settles: Some(Bytes(4 * GIB)),
    };
    let client = Flag::ClientMemory { target, memory: ClientMemory::PageCache, surely: true };
    let whole = |study: &Study| words(&Document::of_study(study).text(&SCREEN));
    for (flag, said) in
        [(&server, "came from the server's memory"), (&client, "came from the client's memory")]
    {
        let mut reads = measured(Pattern::SequentialRead, OpKind::READ, flag);
        assert!(whole(&reads).contains(said), "{}", whole(&reads));
        reads.trials.iter_mut().for_each(fail);
        assert!(!whole(&reads).contains(said), "{}", whole(&reads));
        reads.trials.clear();
        assert!(!whole(&reads).contains(said), "{}", whole(&reads));
    }
    let writes = whole(&measured(Pattern::SequentialWrite, OpKind::WRITE, &server));
    assert!(!writes.contains("came from the server's memory"), "{writes}");
}
