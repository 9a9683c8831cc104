//! Figures that are missing, contradict each other or are too few.

use crate::support::servers::{SERVER, Truth, count_cores, study};
use crate::{base, named, one, support};
use plimsoll_explain::{Resource, Unseen, limits};
use plimsoll_model::*;

#[test]
fn figures_that_are_none_and_trials_that_failed_are_left_out() {
    let truth = base(4);
    let mut odd = study(truth, true);
    odd.trials[0].result.parts[0].quantities.insert(Metric::all(Measure::IOPS), f64::NAN);
    odd.trials[1].loads.clear();
    support::fail(&mut odd.trials[2]);
    let found = one(&odd);
    assert!(found.per_second.is_finite() && found.uses.iter().all(|u| u.utilisation.is_finite()));
    odd.trials.clear();
    assert!(limits(&odd).is_empty());
    let mut none = study(truth, true);
    for trial in &mut none.trials {
        trial.result.parts[0].quantities.clear();
        trial.loads.iter_mut().for_each(|load| load.seconds = f64::INFINITY);
    }
    assert!(limits(&none).is_empty());
}

/// A quick copy's trials of some milliseconds: a tick or two fell into them, and "the CPU of this machine would allow
/// 68.9 MB/s alone" stood beside the 212 MB/s that were measured.
#[test]
fn a_few_ticks_are_no_limit() {
    let truth = Truth { server: 100e-6, driver: 50e-6, seconds: 0.02, ..base(4) };
    let with_ticks = |truth: Truth, ticks: f64| {
        let mut study = study(truth, true);
        for trial in &mut study.trials {
            for load in &mut trial.loads {
                load.cores = vec![CpuTimes { system: 0.01 * ticks, ..CpuTimes::default() }; 2];
                count_cores(load);
            }
        }
        one(&study)
    };
    // Two ticks of each of two cores in each of three trials: all of their time, and twelve of them.
    let found = with_ticks(truth, 2.0);
    let processor = found.uses.iter().find(|one| one.resource == Resource::Processor).unwrap();
    assert!(!processor.is_conclusive() && processor.alone_per_second.is_none(), "{processor:?}");
    assert_eq!(processor.utilisation, 1.0);
    assert!(!named(&found).contains("processor"), "{found:#?}");
    assert_eq!(found.unseen, [Unseen::FewTicks]);
    // The same share of longer trials is enough of them.
    let found = with_ticks(Truth { seconds: 0.2, ..truth }, 20.0);
    assert!(named(&found).contains("processor"), "{found:#?}");
    assert!(!found.unseen.contains(&Unseen::FewTicks));
    // Few ticks in a long time are few of them, and that is known.
    let found = with_ticks(Truth { seconds: 2.0, ..truth }, 2.0);
    assert!(!found.unseen.contains(&Unseen::FewTicks), "{found:#?}");
}

#[test]
fn a_cost_that_cannot_be_distinguished_from_idle_is_no_limit() {
    let mut study = study(Truth { server: 800e-6, ..base(16) }, true);
    assert_eq!(named(&one(&study)), "processor");
    // What the host does anyway differed from block to block by more than the load took.
    for (trial, idle) in study.trials.iter_mut().zip([0.1, 1.9, 3.0]) {
        let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
        server.idle_baseline = idle;
    }
    let found = one(&study);
    assert!(!named(&found).contains("processor"), "{found:#?}");
    assert_eq!(found.unseen, [Unseen::FewTicks], "it is busy, nobody knows by whom");
}

#[test]
fn more_than_a_link_can_carry_is_a_contradiction() {
    let mut study = study(Truth { link: 300e-6, ..base(16) }, true);
    study.hosts[0].link_rates.insert("eth0".into(), 100_000_000);
    assert_eq!(named(&one(&study)), "not link");
}

/// Counters that were read for longer than the operations took: a core "would allow 2.00 GB/s" beside 2.14.
#[test]
fn a_ceiling_below_what_was_measured_is_a_contradiction_unless_it_was_busy_all_the_time() {
    let limits_at = |busy: f64, rate: f64| {
        let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
        let mut study = study(truth, true);
        for trial in &mut study.trials {
            *trial.result.parts[0].quantities.get_mut(&Metric::all(Measure::IOPS)).unwrap() *= rate;
            let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
            server.cores[0] =
                CpuTimes { system: 2.0 * busy, idle: 2.0 - 2.0 * busy, ..CpuTimes::default() };
            count_cores(server);
        }
        one(&study)
    };
    let full = limits_at(1.0, 1.2);
    assert_eq!(named(&full), "core", "{full:#?}");
    let core = full.binding().unwrap();
    assert_eq!((core.utilisation, core.alone_per_second), (1.0, Some(full.per_second)));
    // Seven tenths of the time are not all that is had of it.
    let found = limits_at(0.7, 2.0);
    assert_eq!(named(&found), "not core", "{found:#?}");
    assert!(found.uses[0].utilisation > 1.3 && found.uses[0].alone_per_second.is_none());
    assert_eq!((found.uses[0].demand_seconds, found.uses[0].gain), (0.0, 0.0));
}

/// What contradicts itself takes nothing off what is known.
#[test]
fn a_limit_stands_beside_a_contradiction() {
    let truth = Truth { link: 100e-6, disk: 400e-6, ..base(16) };
    let mut study = study(truth, true);
    study.hosts[0].link_rates.insert("eth0".into(), 100_000_000);
    let found = one(&study);
    assert_eq!(named(&found), "disk", "{found:#?}");
    let contradictory: Vec<&Resource> =
        found.uses.iter().filter(|one| one.is_contradictory()).map(|one| &one.resource).collect();
    assert!(matches!(contradictory[..], [Resource::Link { .. }]), "{contradictory:?}");
}
