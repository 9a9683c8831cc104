//! The search, exactly, on scripted points.

use super::*;
use crate::steps::tests::{UNBOUNDED, reads};
use crate::steps::{Conditions, measure};
use plimsoll_model::{
    DatagramsJob, Flow, Length, Measure, Outcome, Parameter, Part, PartResult, Point, Steps,
    StreamJob, VoidReason, Workload,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

const LOSS: Metric = Metric::all(StreamJob::LOSS);

fn searched(carried: impl Fn(f64) -> f64, at_most: f64, seed: u64) -> (PointResult, Vec<Point>) {
    let accept = vec![Bound::at_most(LOSS, at_most)];
    let over = Parameter::Rate;
    let steps = Steps::Search { over, from: 1e4, to: 1e10, resolution: 0.01, accept };
    let job = DatagramsJob::new(Flow::Out).into();
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let workload = Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 });
    let mut order = plimsoll_stats::order::generator(seed, "steps");
    let mut point = |at: &Workload, _: f64| {
        let plimsoll_model::Job::Datagrams(job) = &at.parts[0].job else { panic!("{at:?}") };
        let offered = f64::from(job.rate.unwrap().get()) * job.payload.0 as f64;
        let carried = carried(offered);
        let quantities = [
            (Metric::all(Measure::THROUGHPUT), carried),
            (LOSS, (1.0 - carried / offered).max(0.0)),
        ];
        let part = PartResult { quantities: quantities.into(), ..PartResult::default() };
        let complete = PointResult::empty(Outcome::Complete);
        (PointResult { parts: vec![part], ..complete }, Vec::new())
    };
    let (result, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
    (result, points)
}

#[test]
fn a_rate_is_found_in_a_few_points_and_not_on_one_grid() {
    let mut all = Vec::new();
    for seed in 0..20 {
        let (found, points) = searched(|offered| offered.min(1.2e8), 0.005, seed);
        let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!((1.19e8..1.2061e8).contains(&at), "{at}");
        assert!(points.len() <= 10, "{} points", points.len());
        let rejected = points.iter().filter(|point| point.accepted == Some(false));
        let bad = rejected.map(|point| point.at).fold(f64::INFINITY, f64::min);
        assert!(bad / at < 1.0101, "{bad} {at}");
        all.push(points[0].at);
    }
    all.dedup();
    assert_eq!(all.len(), 20, "{all:?}");
}

#[test]
fn a_path_that_collapses_under_overload_is_searched_to_the_end() {
    let collapsing = |offered: f64| if offered > 5e7 { 2e6 } else { offered };
    let (found, points) = searched(collapsing, 0.0, 1);
    let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
    assert!((4.95e7..=5e7).contains(&at), "{at}");
    assert!(points.len() < 25, "{} points", points.len());
}

#[test]
fn a_path_that_loses_at_any_rate_fails_and_one_without_loss_takes_one_point() {
    let (lossy, _) = searched(|offered| 0.5 * offered, 0.1, 1);
    let Outcome::Failed { failure, .. } = lossy.outcome else { panic!("{lossy:?}") };
    assert!(failure.happened.contains("loss_ratio is above 0.1"), "{failure}");
    let (_, points) = searched(|offered| offered, 0.0, 1);
    assert_eq!(points.len(), 1);
}

/// Searches 1 to 64 workers for a p99 of 10 ms; `latencies` are p99 and largest latency of so many.
fn most_workers(
    latencies: impl Fn(u16) -> (Option<f64>, f64),
    seed: u64,
) -> (PointResult, Vec<Point>) {
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
    let over = Parameter::Workers;
    let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.05, accept };
    let workload = reads();
    let mut order = plimsoll_stats::order::generator(seed, "steps");
    let mut point = |at: &Workload, _: f64| {
        let (p99, largest) = latencies(at.parts[0].workers.get());
        let mut quantities = vec![(Metric::all(Measure::LATENCY_MAX), largest)];
        quantities.extend(p99.map(|p99| (Metric::all(Measure::LATENCY_P99), p99)));
        let quantities = quantities.into_iter().collect();
        let part = PartResult { quantities, ..PartResult::default() };
        let complete = PointResult::empty(Outcome::Complete);
        (PointResult { parts: vec![part], ..complete }, Vec::new())
    };
    let (result, _, points) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
    (result, points)
}

#[test]
fn numbers_of_workers_are_whole_and_the_largest_accepted_one_is_found() {
    for (most, seed) in (1..64).zip(0..) {
        let latency = |workers: u16| if workers > most { 20e-3 } else { 1e-3 };
        let (found, points) = most_workers(|workers| (Some(latency(workers)), 1.0), seed);
        let at = found.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!(at <= f64::from(most) && f64::from(most) <= 1.05 * at, "{at} of {most}");
        assert!(points.iter().all(|point| point.at.fract() == 0.0), "{points:?}");
        assert!(points.len() <= 12, "{} points for {most}", points.len());
    }
}

#[test]
fn a_quantile_of_too_few_operations_is_no_larger_than_the_largest() {
    let few = |workers: u16| (None, 2e-3 * f64::from(workers));
    let (found, _) = most_workers(few, 1);
    assert_eq!(found.value(0, Metric::all(Measure::STEP)), Some(5.0));
    let (none, _) = most_workers(|_| (None, 20e-3), 1);
    let Outcome::Failed { failure, .. } = none.outcome else { panic!("{none:?}") };
    assert!(failure.happened.contains("too few operations ended for latency_p99"), "{failure}");
}

/// The p99 of reads grows with the workers that write, and their operations per second shrink.
#[test]
fn bounds_on_the_second_part_decide() {
    let found = |accept: Vec<Bound>| {
        let over = Parameter::Workers;
        let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
        let parts = [reads().parts, reads().parts].concat();
        let workload = Workload { parts, ..reads() };
        let mut order = plimsoll_stats::order::generator(1, "steps");
        let mut point = |at: &Workload, _: f64| {
            let workers = f64::from(at.parts[0].workers.get());
            assert_eq!(at.parts[1].workers, NonZeroU16::MIN);
            let part = |p99: f64, iops: f64| {
                let figures = [(Measure::LATENCY_P99, p99), (Measure::IOPS, iops)];
                let figures = figures.map(|(measure, value)| (Metric::all(measure), value));
                PartResult { quantities: figures.into(), ..PartResult::default() }
            };
            let parts = vec![part(1e-3, 100.0), part(1e-3 * workers, 3000.0 / workers)];
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts, ..complete }, Vec::new())
        };
        measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point).0
    };
    let step = |accept| found(accept).value(0, Metric::all(Measure::STEP));
    let p99 = Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3);
    assert_eq!(step(vec![p99.on(1)]), Some(10.0));
    let iops = Bound::at_least(Metric::all(Measure::IOPS), 1000.0).on(1);
    assert_eq!(step(vec![iops]), Some(3.0));
    assert_eq!(step(vec![p99.on(1), iops]), Some(3.0), "all of them decide");
    assert!(step(vec![p99]).is_some_and(|workers| workers > 60.0), "the first part is fast");
    let never = Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.5e-3);
    let Outcome::Failed { failure, .. } = found(vec![p99, never.on(1)]).outcome else { panic!() };
    assert!(failure.happened.contains("seconds of random read is above 0.0005"), "{failure}");
}

/// Every other point is void, or all of them are.
#[test]
fn a_void_point_is_neither_accepted_nor_rejected() {
    let found = |always: bool| {
        let over = Parameter::Workers;
        let p99 = Metric::all(Measure::LATENCY_P99);
        let accept = vec![Bound::at_most(p99, 10e-3)];
        let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
        let mut order = plimsoll_stats::order::generator(1, "steps");
        let mut is_void = false;
        let mut point = |at: &Workload, _: f64| {
            is_void = always || !is_void;
            let reason = VoidReason::LateGenerator { late_seconds: 0.5, seconds: 1.0 };
            // A void point that was counted would accept everything.
            let latency = if is_void { 0.0 } else { 1e-3 };
            let quantities = [(p99, latency * f64::from(at.parts[0].workers.get()))].into();
            let part = PartResult { quantities, ..PartResult::default() };
            let outcome = if is_void { Outcome::Void { reason } } else { Outcome::Complete };
            (PointResult { parts: vec![part], ..PointResult::empty(outcome) }, Vec::new())
        };
        let (result, _, points) = measure(&reads(), &steps, &UNBOUNDED, &mut order, &mut point);
        (result, points)
    };
    let (result, points) = found(false);
    assert_eq!(result.value(0, Metric::all(Measure::STEP)), Some(10.0));
    assert_eq!(result.flags, [Flag::VoidPoints { count: points.len() as u32 }]);
    let (result, points) = found(true);
    assert!(result.outcome.is_void() && points.is_empty(), "{result:?}");
}

/// Searches 1 to 64 workers for a p99 of 10 ms, which depends on their number and on how often it was measured.
fn observed(p99: impl Fn(u16, usize) -> f64, most_seconds: f64) -> (PointResult, Vec<Point>, f64) {
    let metric = Metric::all(Measure::LATENCY_P99);
    let accept = vec![Bound::at_most(metric, 10e-3)];
    let over = Parameter::Workers;
    let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
    let mut order = plimsoll_stats::order::generator(1, "steps");
    let spent = Cell::new(0.0);
    let mut times: BTreeMap<u16, usize> = BTreeMap::new();
    let mut point = |at: &Workload, _: f64| {
        spent.set(spent.get() + 1.0);
        let workers = at.parts[0].workers.get();
        let times = times.entry(workers).or_default();
        let quantities = [(metric, p99(workers, *times))].into();
        *times += 1;
        let part = PartResult { quantities, ..PartResult::default() };
        let complete = PointResult::empty(Outcome::Complete);
        (PointResult { parts: vec![part], ..complete }, Vec::new())
    };
    let time = TimeLimit { most_seconds, spent: &|| spent.get() };
    let conditions = Conditions { start: None, time };
    let (result, _, points) = measure(&reads(), &steps, &conditions, &mut order, &mut point);
    (result, points, spent.get())
}

/// Whether a value was measured three times, or three times again, and was always decided alike.
fn are_all(points: &[Option<bool>], accepted: bool) -> bool {
    let alike = points.iter().all(|own| *own == Some(accepted));
    !points.is_empty() && points.len().is_multiple_of(3) && alike
}

/// From 9 to 20 workers, one of three trials shows the opposite.
#[test]
fn a_value_near_its_bound_is_decided_by_three_trials() {
    let cycle = |first: f64, others: f64| {
        let p99 = move |workers: u16, times: usize| match workers {
            0..=8 => 5e-3,
            9..=20 if times.is_multiple_of(3) => first,
            9..=20 => others,
            _ => 40e-3,
        };
        let (result, points, _) = observed(p99, f64::INFINITY);
        let found = result.value(0, Metric::all(Measure::STEP)).unwrap();
        let at = |value: f64| -> Vec<Option<bool>> {
            let own = points.iter().filter(|point| point.at == value);
            own.map(|point| point.accepted).collect()
        };
        assert!(result.flags.is_empty(), "{result:?}");
        (found, result.value(0, Metric::all(Measure::LATENCY_P99)).unwrap(), at(found), at(9.0))
    };
    let (found, p99, _, lowest) = cycle(9.5e-3, 10.5e-3);
    assert_eq!((found, p99), (8.0, 5e-3), "the first trial alone would accept 20 workers");
    assert!(are_all(&lowest, false), "{lowest:?}");
    let (found, p99, own, _) = cycle(10.5e-3, 9.5e-3);
    assert_eq!((found, p99), (20.0, 9.5e-3), "the first trial alone would reject 9 workers");
    assert!(are_all(&own, true), "{own:?}");
}

#[test]
fn a_search_ends_in_its_time_with_the_largest_value_so_far() {
    let most = |most: u16| move |workers: u16, _: usize| if workers > most { 20e-3 } else { 1e-3 };
    let (result, points, spent) = observed(most(10), 4.0);
    let found = result.value(0, Metric::all(Measure::STEP)).unwrap();
    assert!(spent <= 4.0 && points.len() == 4, "{points:?}");
    let accepted = points.iter().filter(|point| point.accepted == Some(true));
    assert_eq!(accepted.map(|point| point.at).fold(0.0, f64::max), found);
    let rejected = points.iter().filter(|point| point.accepted == Some(false));
    let least = rejected.map(|point| point.at).fold(f64::INFINITY, f64::min);
    let [Flag::SearchUnfinished { width_ratio }] = result.flags[..] else { panic!("{result:?}") };
    assert!((width_ratio / (least / found - 1.0) - 1.0).abs() < 0.2, "{width_ratio}");
    // Without an accepted value the last point is the smallest one.
    let (none, points, spent) = observed(most(0), 4.0);
    assert!(spent <= 4.0 && points.last().unwrap().at == 1.0, "{points:?}");
    assert!(matches!(none.outcome, Outcome::Failed { .. }), "{none:?}");
    // With time enough it is exact.
    let (result, ..) = observed(most(10), 60.0);
    assert_eq!(result.value(0, Metric::all(Measure::STEP)), Some(10.0));
    assert!(result.flags.is_empty(), "{result:?}");
}

/// A trial of a search: its workers and its length in seconds.
type LengthAt = (f64, f64);

/// Searches 1 to 64 workers for a p99 of 10 ms, in trials of so many seconds that begin shorter. `figures` depend on the
/// workers and the seconds.
fn lengthening(
    figures: impl Fn(u16, f64) -> Vec<(Measure, f64)>,
    seconds: f64,
    most_seconds: f64,
) -> (PointResult, Vec<Point>, Vec<LengthAt>) {
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
    let over = Parameter::Workers;
    let steps = Steps::Search { over, from: 1.0, to: 64.0, resolution: 0.01, accept };
    let length = Length::For { seconds, warm_up_seconds: 0.1 * seconds };
    let workload = Workload { length, ..reads() };
    let mut order = plimsoll_stats::order::generator(1, "steps");
    let spent = Cell::new(0.0);
    let mut trials = Vec::new();
    let mut point = |at: &Workload, _: f64| {
        let workers = at.parts[0].workers.get();
        spent.set(spent.get() + at.seconds());
        trials.push((f64::from(workers), at.seconds()));
        let figures = figures(workers, at.seconds()).into_iter();
        let quantities = figures.map(|(measure, value)| (Metric::all(measure), value)).collect();
        let part = PartResult { quantities, ..PartResult::default() };
        let complete = PointResult::empty(Outcome::Complete);
        (PointResult { parts: vec![part], ..complete }, Vec::new())
    };
    let time = TimeLimit { most_seconds, spent: &|| spent.get() };
    let conditions = Conditions { start: None, time };
    let (result, _, points) = measure(&workload, &steps, &conditions, &mut order, &mut point);
    (result, points, trials)
}

/// A p99 far below the bound up to so many workers, and far above it for more.
fn far(workers: u16, most: u16) -> Vec<(Measure, f64)> {
    vec![(Measure::LATENCY_P99, if workers > most { 40e-3 } else { 1e-3 })]
}

fn found(result: &PointResult) -> Option<f64> {
    result.value(0, Metric::all(Measure::STEP))
}

#[test]
fn a_search_begins_with_short_trials_and_decides_by_long_ones() {
    let (result, points, trials) = lengthening(|workers, _| far(workers, 10), 8.0, f64::INFINITY);
    assert_eq!(found(&result), Some(10.0));
    assert!(result.flags.is_empty(), "{result:?}");
    assert_eq!(trials[0].1, 2.0, "{trials:?}");
    assert_eq!(trials[1..], [(8.0, 2.0), (9.0, 8.0), (11.0, 2.0), (10.0, 8.0), (11.0, 8.0)]);
    assert!(points.iter().all(|point| point.accepted == Some(point.at <= 10.0)), "{points:?}");
}

#[test]
fn short_trials_find_what_long_ones_find_in_less_time() {
    let mut spent = [0.0, 0.0];
    for most in 1..63 {
        for (number, seconds) in [8.0, 0.5].into_iter().enumerate() {
            let (result, _, trials) =
                lengthening(|workers, _| far(workers, most), seconds, f64::INFINITY);
            assert_eq!(found(&result), Some(f64::from(most)));
            spent[number] += trials.iter().map(|(_, own)| own / seconds).sum::<f64>();
        }
    }
    assert!(spent[0] < 0.55 * spent[1], "{spent:?} trials of full length");
}

/// Short trials show a border at 8 or at 40 workers.
#[test]
fn short_trials_that_are_wrong_do_not_decide() {
    for (short, full, count) in [(8, 20, 11), (40, 10, 15)] {
        let figures =
            |workers: u16, seconds: f64| far(workers, if seconds < 8.0 { short } else { full });
        let (result, points, trials) = lengthening(figures, 8.0, f64::INFINITY);
        let most = f64::from(full);
        assert_eq!(found(&result), Some(most));
        assert!(result.flags.is_empty(), "{result:?}");
        assert!(trials.contains(&(most, 8.0)) && trials.contains(&(most + 1.0, 8.0)), "{trials:?}");
        assert!(points.iter().all(|point| point.accepted == Some(point.at <= most)), "{points:?}");
        assert_eq!(trials.len(), count, "no short trial after one that was wrong: {trials:?}");
    }
}

/// A short trial varies more: by 15% it may show the opposite, and one of full length may not.
#[test]
fn a_short_trial_near_the_bound_is_followed_by_a_long_one() {
    let figures = |workers: u16, _: f64| match workers {
        0..=8 => vec![(Measure::LATENCY_P99, 8.7e-3)],
        _ => far(workers, 8),
    };
    let (result, _, trials) = lengthening(figures, 8.0, f64::INFINITY);
    assert_eq!(found(&result), Some(8.0));
    assert_eq!(trials[1..], [(8.0, 2.0), (8.0, 8.0), (9.0, 8.0)]);
}

/// 300 operations per second: 2000 of them end within 8 s, and not within 2 s.
#[test]
fn a_short_trial_has_the_operations_that_its_figure_needs_or_does_not_decide() {
    let searched = |median: fn(u16) -> f64| {
        let figures = move |workers: u16, seconds: f64| {
            let p99 = (Measure::LATENCY_P99, 1e-3 * f64::from(workers));
            let known = [
                (Measure::IOPS, 300.0),
                (Measure::LATENCY_MAX, 50e-3),
                (Measure::LATENCY_P50, median(workers)),
            ];
            known.into_iter().chain((seconds >= 8.0).then_some(p99)).collect::<Vec<_>>()
        };
        let (result, _, trials) = lengthening(figures, 8.0, f64::INFINITY);
        assert_eq!(found(&result), Some(10.0));
        let top = trials[0].0;
        assert_eq!(trials[0].1, 2.0);
        assert!(trials[1..].iter().all(|(_, seconds)| *seconds == 8.0), "{trials:?}");
        trials.iter().filter(|(workers, _)| *workers == top).count()
    };
    assert_eq!(searched(|_| 0.5e-3), 2, "the largest latency alone does not decide");
    assert_eq!(searched(|workers| if workers > 10 { 30e-3 } else { 0.5e-3 }), 1, "a median does");
}

#[test]
fn short_trials_of_rates_last_until_enough_operations_are_due() {
    let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3)];
    let over = Parameter::Rate;
    let steps = Steps::Search { over, from: 50.0, to: 5000.0, resolution: 0.01, accept };
    let length = Length::For { seconds: 8.0, warm_up_seconds: 0.8 };
    let workload = Workload { length, ..reads() };
    let mut order = plimsoll_stats::order::generator(1, "steps");
    let mut lengths = Vec::new();
    let mut point = |at: &Workload, _: f64| {
        let rate = f64::from(at.parts[0].arrival.per_second().unwrap().get());
        let needed = (1.1 * 2000.0 / rate / 0.9).max(2.0);
        let is_short = (at.seconds() / needed - 1.0).abs() < 1e-6;
        assert!(is_short || at.seconds() == 8.0, "{} s at {rate}", at.seconds());
        lengths.push(at.seconds());
        let p99 = if rate > 300.0 { 100e-3 } else { 1e-3 };
        let quantities = [(Metric::all(Measure::LATENCY_P99), p99)].into();
        let part = PartResult { quantities, ..PartResult::default() };
        let complete = PointResult::empty(Outcome::Complete);
        (PointResult { parts: vec![part], ..complete }, Vec::new())
    };
    let (result, ..) = measure(&workload, &steps, &UNBOUNDED, &mut order, &mut point);
    assert_eq!(found(&result), Some(300.0));
    assert_eq!(lengths[0], 2.0);
    assert!(lengths.iter().any(|seconds| (2.1..8.0).contains(seconds)), "{lengths:?}");
}

#[test]
fn a_search_of_short_trials_has_time_for_a_long_one_at_its_result() {
    let (result, points, trials) = lengthening(|workers, _| far(workers, 10), 8.0, 20.0);
    assert_eq!((found(&result), trials[1..].to_vec()), (Some(8.0), vec![(8.0, 2.0), (8.0, 8.0)]));
    let expected = trials[0].0 / 8.0 - 1.0;
    let [Flag::SearchUnfinished { width_ratio }] = result.flags[..] else { panic!("{result:?}") };
    assert!((width_ratio - expected).abs() < 1e-9, "{width_ratio}, not {expected}");
    assert_eq!(points.last().unwrap().accepted, Some(true));
    // And for one at the smallest value, where the other one rejects its result.
    let figures = |workers: u16, seconds: f64| far(workers, if seconds < 8.0 { 40 } else { 5 });
    let (result, points, trials) = lengthening(figures, 8.0, 20.0);
    assert_eq!(found(&result), Some(1.0));
    assert_eq!(trials[1..], [(8.0, 2.0), (8.0, 8.0), (1.0, 8.0)]);
    assert_eq!(trials.iter().map(|(_, seconds)| seconds).sum::<f64>(), 20.0);
    assert!(points.iter().all(|point| point.accepted == Some(point.at <= 1.0)), "{points:?}");
}
