//! Sweeps and searches of jobs.

use super::assembled;
use plimsoll_model::{Bound, Cause, Measure, Metric, Parameter, Steps};

const STEPS: &str = r#"
about = "steps"

[[job]]
kind = "pattern"
pattern = ["random-read"]
SWEEP

[[job]]
kind = "scan"

[rule]
max-time = "5m"
"#;

#[test]
fn trials_of_a_job_go_through_values_or_search_the_largest_accepted_one() {
    let steps = |keys: &str| {
        let text = STEPS.replace("SWEEP", keys);
        let plan = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap().plan;
        assert_eq!(plan.workloads.len(), 2, "no sweep is added to it");
        assert_eq!(plan.workloads[1].steps, None, "the other job has none");
        plan.workloads[0].steps.clone().unwrap()
    };
    let sweep = |over, values: &[f64]| Steps::Sweep { over, values: values.to_vec() };
    assert_eq!(
        steps("sweep = { workers = [1, 4, 16] }"),
        sweep(Parameter::Workers, &[1.0, 4.0, 16.0])
    );
    assert_eq!(steps("sweep.depth = [8, 1]"), sweep(Parameter::Depth, &[8.0, 1.0]));
    assert_eq!(steps("[job.sweep]\nrate = [100, 2000]"), sweep(Parameter::Rate, &[100.0, 2000.0]));
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
    let (over, from, to) = (Parameter::Rate, 50.0, 20_000.0);
    assert_eq!(
        steps("search = { rate = [50, 20000], latency-p99 = \"10ms\" }"),
        Steps::Search { over, from, to, resolution: 0.05, accept }
    );
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_MAX), 2.0)];
    let (over, from, to) = (Parameter::Workers, 1.0, 64.0);
    assert_eq!(
        steps("search = { workers = [1, 64], latency-max = \"2s\", within = 10 }"),
        Steps::Search { over, from, to, resolution: 0.1, accept }
    );
    let accept = vec![
        Bound::at_most(Metric::all(Measure::LATENCY_P50), 1e-3),
        Bound::at_most(Metric::all(Measure::LATENCY_MAX), 2.0),
    ];
    assert_eq!(
        steps("search = { workers = [1, 64], latency-max = \"2s\", latency-p50 = \"1ms\" }"),
        Steps::Search { over, from, to, resolution: 0.05, accept }
    );
}

#[test]
fn steps_that_make_no_sense_are_refused_where_they_stand() {
    for (keys, happened) in [
        ("sweep = { workers = [4] }", "two or more different values"),
        ("sweep = { workers = [4, 4, 8] }", "two or more different values"),
        ("sweep = { workers = [1, 2], depth = [1, 2] }", "one of workers, depth and rate"),
        ("sweep = {}", "one of workers, depth and rate"),
        ("sweep = { threads = [1, 2] }", "unknown field `threads`"),
        ("sweep = { depth = [0, 2] }", "0 is not a whole number of at least 1"),
        ("sweep = { depth = [1, 70000] }", "70000 is not a whole number"),
        ("sweep = { depth = [1, 2.5] }", "2.5 is not a whole number"),
        ("sweep = { depth = [1, nan] }", "NaN is not a whole number"),
        ("sweep = \"depth\"", "expected struct"),
        ("search = { rate = [9, 9], latency-p99 = \"1ms\" }", "is not below"),
        ("search = { rate = [1, 9] }", "one of latency-mean"),
        ("search = { rate = [1, 9], latency = \"1s\" }", "unknown field `latency`"),
        ("search = { rate = [1, 9], latency-p50 = 1 }", "`latency-p50` must be a string"),
        ("search = { rate = [1, 9], iops = 5 }", "unknown field `iops`"),
        ("search = { rate = [1, 9], while.scan.iops = 0.5 }", "`iops` must be a whole number"),
        ("search = 5", "a search must be a table"),
        ("search = { rate = [1, 9], while = \"scan\" }", "must be a table of bounds"),
        ("search = { rate = [1, 9], while.scan = {} }", "no bound on this job"),
        ("search = { rate = [1, 9], while.scan = { iop = 1 } }", "unknown bound `iop`"),
        ("search = { rate = [1, 9], while.scan.iops = 1 }", "`scan` does not run at the same time"),
        ("search = { rate = [1, 9], latency-p99 = \"fast\" }", "'fast' is not a duration"),
        ("search = { rate = [1, 9], latency-p99 = \"1s\", within = 0 }", "within = 0"),
        ("rate = 5\nsearch = { rate = [1, 9], latency-p99 = \"1s\" }", "a fixed one of the job"),
        ("explain = true\nsweep = { depth = [1, 2] }", "`explain` is a sweep itself"),
        (
            "workers = 1\nsize = \"2MiB\"\nblock = \"1MiB\"\nsearch = { workers = [1, 3], latency-p50 = \"1s\" }",
            "too small for 3 workers",
        ),
        ("sweep.depth = [1, 2]\nsearch = {}", "either a sweep or a search"),
    ] {
        let text = STEPS.replace("SWEEP", keys);
        let failure = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap_err();
        assert!(failure.happened.contains(happened), "{keys}: {failure}");
        assert!(failure.on.contains("plan.toml:"), "{keys}: {failure}");
        assert_eq!(failure.cause, Cause::Usage, "{keys}: {failure}");
    }
}

/// A log has one record in flight, however many are allowed.
#[test]
fn a_log_has_steps_of_workers_and_none_of_depth() {
    let of_log = |keys: &str| {
        let kind = format!("kind = \"log\"\nworkers = 1\n{keys}");
        let text = STEPS.replace("SWEEP", "").replace("kind = \"scan\"", &kind);
        assembled(&text, &[], &["nfs://nas/a"], &[])
    };
    let failure = of_log("sweep.depth = [1, 8]").unwrap_err();
    assert!(failure.on.contains("plan.toml:"), "{failure}");
    assert!(failure.happened.contains("it has no depth that can be set"), "{failure}");
    let over = Parameter::Workers;
    let steps = |keys| of_log(keys).unwrap().plan.workloads.last().unwrap().steps.clone();
    let explained = Steps::Sweep { over, values: vec![1.0, 4.0, 16.0] };
    assert_eq!(steps("explain = true"), Some(explained));
    let swept = Steps::Sweep { over, values: vec![1.0, 8.0] };
    assert_eq!(steps("sweep.workers = [1, 8]"), Some(swept));
}
