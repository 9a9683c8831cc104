//! What work costs a host in CPU time, beside what the host does anyway.

use super::{READ, paired};
use crate::support::{add, empty};
use plimsoll_explain::{across, findings};
use plimsoll_model::{CpuTimes, HostLoad, Measure, Metric, OpKind, Rule, Series, Study, Window};
use plimsoll_stats::fieller::{self, Quotient};

const SERVER_CPU: Metric = Metric::all(Measure::SERVER_CPU_PER_BYTE);

/// Sets the CPU time of a watched server in each block, for both targets.
fn with_costs(costs: [&[f64]; 2]) -> Study {
    let mut study = paired(Rule::Fixed { blocks: 6 });
    for trial in &mut study.trials {
        let of_block = costs[usize::from(trial.cell.subject)][trial.block.unwrap() as usize];
        trial.result.parts[0].quantities.insert(SERVER_CPU, of_block);
    }
    study
}

/// Blocks whose cost is at or below zero stay in: without them the ratio here would be 4.5 and
/// more, by the two blocks that have logarithms.
#[test]
fn cpu_costs_at_and_below_zero_count_as_any_others() {
    let a = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0];
    let b = [5.0, -1.0, 4.0, 0.0, -0.5, -1.5];
    let found = findings(&with_costs([&a, &b]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert!((ratio.estimate - 1.0).abs() < 1e-12 && ratio.blocks == 6, "{ratio:?}");
    let Some(Quotient::Bounded(expected)) = fieller::paired(&a, &b, 0.95) else { panic!() };
    assert_eq!(ratio.interval, Some(expected));
    assert_eq!(ratio.zero, (false, true), "the mean of B is 1 ± 2.9");

    // The other way round there is no interval with ends.
    let found = findings(&with_costs([&b, &a]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert_eq!((ratio.interval, ratio.zero, ratio.blocks), (None, (true, false), 6));

    // Where costs are clear of zero, so is their ratio.
    let clear = a.map(|cost| 2.0 * cost + 0.1);
    let found = findings(&with_costs([&a, &clear]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert!((ratio.estimate - 2.1).abs() < 1e-12 && ratio.zero == (false, false), "{ratio:?}");
    assert!(ratio.interval.is_some_and(|i| i.low > 2.0 && i.contains(2.1)), "{ratio:?}");
    // What is missing altogether is left out, and nothing else is.
    let mut study = with_costs([&a, &clear]);
    study.trials[0].result.parts[0].quantities.remove(&SERVER_CPU);
    assert_eq!(findings(&study).workloads[0].pairs[0].ratios[&SERVER_CPU].blocks, 5);
}

#[test]
fn cpu_costs_of_two_studies_count_as_well_where_they_are_below_zero() {
    let a = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0];
    let b = [5.0, -1.0, 4.0, 0.0, -0.5, -1.5];
    let counterparts = across(&with_costs([&a, &a]), &with_costs([&b, &a])).counterparts;
    let ratio = counterparts[0].ratios[&SERVER_CPU];
    let Some(Quotient::Bounded(expected)) = fieller::independent(&a, &b, 0.95) else { panic!() };
    assert_eq!((ratio.interval, ratio.zero), (Some(expected), (false, true)));
    assert_eq!(ratio.blocks, 12);
    assert!((counterparts[1].ratios[&SERVER_CPU].estimate - 1.0).abs() < 1e-12);
}

/// A trial of 1000 operations of 4 KiB a second, and a host that is 0.5 of a core busy anyway, its
/// classes as far from that as given.
fn beside_other_work(study: &mut Study, block: u32, user: f64, system: f64) {
    add(study, block, 0, READ, 1e8);
    let trial = study.trials.last_mut().unwrap();
    let window = Window::only(OpKind::READ, 10_000, 40_960_000);
    trial.result.parts[0].series = Series::new(10.0, &[window]);
    let idle = CpuTimes { user: 0.3, system: 0.2, ..CpuTimes::default() };
    let more = CpuTimes { user, system, steal: 7.0, idle: 8.0, ..CpuTimes::default() };
    trial.loads = vec![HostLoad {
        host: "local".parse().unwrap(),
        seconds: 10.0,
        cpu: idle * 10.0 + more,
        idle_baseline: 0.5,
        idle: Some(idle),
        ..HostLoad::default()
    }];
}

#[test]
fn a_cost_within_what_a_host_does_anyway_is_distinguished_from_one_above_it() {
    let work = |costs: &[(f64, f64)]| {
        let mut study = empty(&["/srv/data"], &[READ]);
        for (block, (user, system)) in (0..).zip(costs) {
            beside_other_work(&mut study, block, *user, *system);
        }
        findings(&study).hosts[0].work[0].clone()
    };
    // Six trials around nothing; one class below its baseline on average.
    let noise = [(0.5, -0.6), (-0.4, 0.3), (0.3, -0.5), (-0.2, 0.1), (0.4, -0.2), (-0.1, 0.2)];
    let found = work(&noise);
    assert!(!found.above_idle, "{found:?}");
    let interval = found.operation_interval.unwrap();
    assert!(interval.low < 0.0 && interval.high > 0.0 && interval.high < 1e-4, "{interval:?}");
    assert!((found.byte_interval.unwrap().high - interval.high / 4096.0).abs() < 1e-15);
    // As much as the baseline is off, added to each: it is reported, to the digit.
    let above = noise.map(|(user, system)| (user + 2.0, system));
    let found = work(&above);
    assert!(found.above_idle);
    let (mean, per) = (12.0 - 0.2, found.per_operation.unwrap());
    assert!((per.busy().0 - mean / 60_000.0).abs() < 1e-12, "{per:?}");
    assert_eq!(per.steal, 0.0, "what others had is no cost of the host");

    // One trial has no interval: half of the baseline more is needed.
    assert!(!work(&[(2.4, 0.0)]).above_idle && work(&[(2.4, 0.2)]).above_idle);
    assert_eq!(work(&[(2.4, 0.0)]).operation_interval, None);
    assert!(!work(&[(-1.0, 0.5)]).above_idle);
}

/// "server CPU < 0.0175 s/GB" was printed of a machine without an idle moment.
#[test]
fn a_host_that_other_work_keeps_busy_has_no_costs() {
    let work = |cores: usize| {
        let mut study = empty(&["/srv/data"], &[READ]);
        (0..3).for_each(|block| beside_other_work(&mut study, block, 2.0, 0.5));
        let loads = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
        // Half of a core is taken anyway.
        loads.for_each(|load| load.cores_busy = vec![0.5; cores]);
        findings(&study).hosts[0].work[0].clone()
    };
    let quiet = work(2);
    assert!(!quiet.busy_anyway && quiet.per_operation.is_some() && quiet.per_byte.is_some());
    let mut study = empty(&["/srv/data"], &[READ]);
    (0..3).for_each(|block| beside_other_work(&mut study, block, 2.0, 0.5));
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        (load.cores_busy, load.idle_baseline) = (vec![0.9; 2], 1.1);
    }
    let busy = findings(&study).hosts[0].work[0].clone();
    assert!(busy.busy_anyway, "{busy:?}");
    assert_eq!((busy.per_operation, busy.per_byte), (None, None));
}
