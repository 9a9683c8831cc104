//! Several hosts in one study, and hosts that are lost.

use super::super::support::sound::assert_complete;
use super::super::support::{ended, wait_until};
use super::super::{device, figures, program, record, study};
use plimsoll_model::device::ReadBy;
use plimsoll_model::{Cause, Ended, Job, Metric, Outcome, Study};
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, enter_or_skip};

/// Every part of every host once a block, figures with intervals, and which box is faster.
#[test]
fn hosts_are_measured_in_blocks_and_compared() {
    let stage = enter_or_skip!(Need::Sshd);
    let host = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program = program().with("PLIMSOLL_SSH_CONFIG", host.configuration().to_str().unwrap());
    let url = host.url();
    let short = ["--quick", "--repeats=3", "--only=inventory,cpu,memory", "--json=-"];
    let words = ["device", "local", &url, "--seed=7"];
    let whole = study(&program.run(&[&words[..], &short[..]].concat()).expect(0));
    assert_eq!(whole.ended, Ended::Done);
    let mut order = Vec::new();
    for block in 0..3 {
        let trials = whole.trials.iter().filter(|trial| trial.block == Some(block));
        let cells: Vec<_> = trials.map(|t| (t.cell.subject, t.cell.workload)).collect();
        let mut sorted = cells.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(0, 0), (0, 1), (1, 0), (1, 1)], "block {block}");
        order.push(cells);
    }
    assert!(order.iter().any(|cells| *cells != order[0]), "shuffled: {order:?}");
    assert_complete(&whole);
    for subject in 0..2 {
        let whole_device = device(&whole, subject.into());
        assert!(
            whole_device.is_complete() && whole_device.inventory.is_some(),
            "{:?}",
            whole_device.parts
        );
        // The details are those of the last block; every block has figures of its own.
        let last = figures(&whole, subject, Some(2));
        let blocks: Vec<_> = (0..3).map(|block| figures(&whole, subject, Some(block))).collect();
        assert!(blocks.iter().all(|figures| figures.len() == last.len()));
        assert!(blocks[0] != blocks[1], "measured anew");
        let measured = whole_device.measured();
        assert_eq!(measured.len(), last.len());
        for figure in measured {
            let metric = Metric::all(figure.info().unwrap().measure);
            assert!(last.contains(&(metric, figure.value)), "{figure:?} in {last:?}");
        }
    }
    let findings = plimsoll_explain::findings(&whole);
    for workload in &findings.workloads {
        let levels = workload.cells.iter().flat_map(|cell| cell.levels.values());
        assert!(levels.clone().count() >= 4 && levels.into_iter().all(|l| l.interval.is_some()));
        let claim = workload.pairs[0].claim.expect("the second host against the first");
        assert!(claim.verdict.is_some() && claim.ratio.blocks == 3);
    }
    let shown = program.run(&["show", "--details"]).expect(0).out;
    let jobs = whole.plan.workloads.iter().map(|w| match w.parts[0].job {
        Job::Device(job) => job.part.name(),
        _ => panic!("{w:?}"),
    });
    assert_eq!(jobs.collect::<Vec<_>>(), ["cpu", "memory"]);
    for words in ["Inventory: this machine", "Memory: 127.0.0.1", "copy, memory"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    assert_eq!(study(&program.run(&["export"]).expect(0)), whole);
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains("3 blocks, 12 trials, done"), "{list}");

    // The same from two records: of two boxes, or of one before and after.
    for host in ["local", &url] {
        program.run(&[&["device", host][..], &short[..]].concat()).expect(0);
    }
    let list = program.run(&["list"]).expect(0).out;
    let ids: Vec<&str> = list.lines().filter(|line| !line.starts_with(' ')).collect();
    let ids: Vec<&str> = ids.iter().map(|line| line.split(' ').next().unwrap()).collect();
    let [_, a, b] = ids[..] else { panic!("{list}") };
    let one = program.run(&["show", a, "--details"]).expect(0).out;
    assert!(one.contains("geometric means of 3 blocks"), "{one}");
    let compared = program.run(&["compare", a, b, "--details"]).expect(0).out;
    for figure in ["copy, memory", "integer rounds, one core"] {
        let row = compared.lines().find(|line| line.starts_with(figure));
        let row = row.unwrap_or_else(|| panic!("{figure} in\n{compared}"));
        assert_eq!((row.matches('[').count(), row.matches(']').count()), (3, 3), "{row}");
        assert!(compared.contains(&format!("> {figure}: ")), "{compared}");
    }
    let page = program.home().join("page.html");
    program.run(&["report", a, "--output", page.to_str().unwrap()]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("geometric means of 3 blocks") && page.contains("<svg"));
}

/// What a box is can be found out without any work on it.
#[test]
fn an_inventory_alone_is_a_study_without_trials() {
    let program = program();
    let ran = program.run(&["device", "local", "--only", "inventory", "--json=-"]).expect(0);
    let (whole, device) = (study(&ran), record(&ran));
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 0));
    assert_eq!(device.inventory.as_ref().unwrap().read_by, Some(ReadBy::Probe));
    let shown = program.run(&["show", "--details"]).expect(0).out;
    assert!(shown.contains("Inventory") && !shown.contains("Memory\n"), "{shown}");
    assert_eq!(study(&program.run(&["export"]).expect(0)), whole);
}

/// What was measured before is kept, and the other host is measured to the end.
#[test]
fn a_host_that_is_lost_half_way_leaves_the_others() {
    let stage = enter_or_skip!(Need::Sshd);
    let mut host = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program = program().with("PLIMSOLL_SSH_CONFIG", host.configuration().to_str().unwrap());
    let url = host.url();
    let words = ["device", "local", &url, "--quick", "--repeats=4", "--only=cpu,memory"];
    let child = program.start(&words);
    let of_host = |study: &Study, complete: bool| {
        let trials = study.trials.iter().filter(|trial| trial.cell.subject == 1);
        trials.filter(|t| (t.result.outcome == Outcome::Complete) == complete).count()
    };
    wait_until("it was measured once", || {
        let kept = program.run(&["export"]);
        kept.code == Some(0) && of_host(&study(&kept), true) > 0
    });
    host.kill();
    let ran = ended(child).expect(1);
    let whole = study(&program.run(&["export"]).expect(0));
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 16));
    let (complete, failed) = (of_host(&whole, true), of_host(&whole, false));
    assert!(complete > 0 && failed > 0 && complete + failed == 8, "{complete} and {failed}");
    let mut local = whole.trials.iter().filter(|trial| trial.cell.subject == 0);
    assert!(local.all(|trial| trial.result.outcome == Outcome::Complete));
    assert!(device(&whole, 0).is_complete() && !device(&whole, 1).is_complete());
    assert!(!device(&whole, 1).measured().is_empty(), "what came before is kept");
    assert!(ran.out.contains(&url), "{}", ran.out);
}

/// A study of nothing but hosts that are gone is given up, and its figures are kept.
#[test]
fn the_only_host_that_is_lost_ends_the_study() {
    let stage = enter_or_skip!(Need::Sshd);
    let mut host = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program = program().with("PLIMSOLL_SSH_CONFIG", host.configuration().to_str().unwrap());
    let words = ["device", &host.url(), "--quick", "--repeats=20", "--only=memory"];
    let child = program.start(&words);
    wait_until("it was measured once", || {
        let kept = program.run(&["export"]);
        kept.code == Some(0) && !study(&kept).trials.is_empty()
    });
    host.kill();
    let ran = ended(child).expect(1);
    assert!(ran.out.contains("The study stopped"), "{}", ran.out);
    let exported = program.run(&["export"]).expect(0);
    let whole = study(&exported);
    let Ended::Failed { failure } = &whole.ended else { panic!("{:?}", whole.ended) };
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(whole.trials.len() < 20 && !record(&exported).measured().is_empty());
}
