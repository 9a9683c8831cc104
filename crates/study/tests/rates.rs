//! Steps through rates of operations, exactly, on scripted shares.

mod support;

use plimsoll_load::Reply;
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, Bound, Cause, Design, Length, LogJob, Measure, Metric, Outcome, Parameter, PatternJob,
    Plan, Rule, Steps, Study,
};
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;
use support::{MS, plan_of, run};

/// Random reads at a rate that the steps change.
fn plan(steps: Steps) -> Plan {
    let job = PatternJob::random_reads(Bytes(4 * KIB), Bytes(MIB));
    let length = Length::For { seconds: 2.0, warm_up_seconds: 0.2 };
    let design = Design { rule: Rule::Fixed { blocks: 2 }, ..support::design() };
    let mut plan = plan_of(1, vec![job], length, design);
    let (depth, per_second) = (NonZeroU16::new(32).unwrap(), NonZeroU32::MIN);
    plan.workloads[0].parts[0].arrival = Arrival::Paced { depth, per_second };
    plan.workloads[0].steps = Some(steps);
    plan
}

/// A target that does one operation at a time, in this time each.
fn measured(steps: Steps, service: Duration) -> Study {
    let study = run(plan(steps), move |_, _| Reply::After(service)).unwrap();
    assert_eq!(study.trials.len(), 2);
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
    }
    study
}

#[test]
fn a_sweep_of_rates_does_as_many_operations_as_its_values() {
    let rates = [50.0, 200.0, 400.0];
    let steps = Steps::Sweep { over: Parameter::Rate, values: rates.to_vec() };
    for trial in measured(steps, MS).trials {
        let mut at = Vec::new();
        for point in &trial.points {
            let done = point.parts[0].quantities[&Metric::all(Measure::IOPS)];
            assert!((done / point.at - 1.0).abs() < 0.05, "{done} at {}", point.at);
            at.push(point.at);
        }
        at.sort_by(f64::total_cmp);
        assert_eq!(at, rates);
    }
}

/// Of 500 operations a second none waits; of more, those that are due last wait longest.
#[test]
fn the_highest_rate_with_a_bounded_latency_is_found() {
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
    let (over, from, to) = (Parameter::Rate, 50.0, 5000.0);
    let steps = Steps::Search { over, from, to, resolution: 0.02, accept };
    for trial in measured(steps, 2 * MS).trials {
        let found = trial.result.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!((485.0..=510.0).contains(&found), "{found}");
        assert!(trial.points.iter().all(|point| point.at.fract() == 0.0), "{:?}", trial.points);
    }
}

#[test]
fn a_plan_with_steps_that_its_job_does_not_have_is_refused() {
    let mut plan = plan(Steps::Sweep { over: Parameter::Depth, values: vec![1.0, 8.0] });
    plan.workloads[0].parts[0].job = LogJob { block: Bytes(4 * KIB), size: Bytes(MIB) }.into();
    let failure = run(plan, |_, _| Reply::After(MS)).unwrap_err();
    assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "log"));
    assert!(failure.happened.contains("it has no depth that can be set"), "{failure}");
}
