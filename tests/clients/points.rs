//! Clients with one target, their points, and what must hold of them.

use super::super::support::runner_program::runner;
use nix::time::{ClockId, clock_gettime};
use plimsoll_load::{OpenOptions, SystemClock};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    Event, Failure, Length, LoadObserver, Measure, Metric, Nanos, OpKind, Outcome, Part,
    PartResult, Pattern, PatternJob, PointResult, PointSpec, StudyId, SubjectRunner, Workload,
};
use plimsoll_reach::Reach;
use plimsoll_reach::deploy::Programs;
use plimsoll_remote::{BUNDLE, Clients};
use plimsoll_runner::RunnerOptions;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

pub fn options() -> RunnerOptions {
    RunnerOptions {
        study: StudyId("0123abcd".into()),
        nonce: 7,
        longest_trial: Duration::from_secs(60),
        operation_timeout: Duration::from_secs(30),
        server_memory: None,
        live: true,
        set_up: Duration::from_secs(600),
        deadline: SystemClock::no_deadline(),
    }
}

pub fn start(hosts: Vec<Arc<dyn Reach>>) -> Result<Clients, Failure> {
    Clients::start(hosts, &Programs::at(BUNDLE, runner()), &options())
}

pub const BLOCK: u64 = 64 << 10;

/// Each client does one of the patterns.
pub fn workload(patterns: &[Pattern], seconds: f64) -> Workload {
    let two = NonZeroU16::new(2).unwrap();
    let part = |(client, pattern): (u16, &Pattern)| {
        let job = PatternJob::new(*pattern, Bytes(BLOCK), Bytes(16 * MIB));
        Part { client, ..Part::closed(job.into(), two, two) }
    };
    let length = Length::For { seconds, warm_up_seconds: 0.1 };
    Workload { parts: (0..).zip(patterns).map(part).collect(), steps: None, length }
}

pub fn spec(patterns: &[Pattern], seconds: f64) -> PointSpec {
    PointSpec { seed: 5, ..plimsoll_testkit::points::spec(workload(patterns, seconds)) }
}

/// Looks on.
pub struct Watch<F: FnMut(LoadEvent<'_>)> {
    see: F,
    /// How often a load began and ended.
    pub loads: (u32, u32),
}

pub enum LoadEvent<'a> {
    Begin,
    End,
    Event(&'a Event),
}

pub fn watch<F: FnMut(LoadEvent<'_>)>(see: F) -> Watch<F> {
    Watch { see, loads: (0, 0) }
}

impl<F: FnMut(LoadEvent<'_>)> LoadObserver for Watch<F> {
    fn load_begins(&mut self) {
        self.loads.0 += 1;
        (self.see)(LoadEvent::Begin);
    }

    fn load_ends(&mut self) {
        self.loads.1 += 1;
        (self.see)(LoadEvent::End);
    }

    fn event(&mut self, event: Event) {
        (self.see)(LoadEvent::Event(&event));
    }
}

/// One point; its load has as many begins as ends.
pub fn point(clients: &mut Clients, spec: &PointSpec) -> (PointResult, u32) {
    let mut watch = watch(|_| {});
    let result = clients.point(spec, &mut watch);
    assert_eq!(watch.loads.0, watch.loads.1);
    (result, watch.loads.0)
}

/// Clients with one target, ready for points of any of the patterns.
pub fn prepared(hosts: Vec<Arc<dyn Reach>>, target: &str) -> Clients {
    let number = hosts.len();
    with_target(start(hosts).unwrap(), number, target)
}

pub fn with_target(mut clients: Clients, number: usize, target: &str) -> Clients {
    clients.connect(&target.parse().unwrap(), &OpenOptions::default()).unwrap();
    clients.attach(0).unwrap();
    let both = [Pattern::RandomRead, Pattern::SequentialWrite];
    let both = both.map(|pattern| workload(&vec![pattern; number], 1.0));
    while clients.prepare(0, &both, &mut watch(|_| {})).unwrap().more {}
    clients
}

pub fn operations(part: &PartResult) -> Vec<u64> {
    part.series.windows().map(|window| window.operations()).collect()
}

/// What all did is what each did, added up.
#[track_caller]
pub fn assert_sum(result: &PointResult, spec: &PointSpec, kind: OpKind) {
    assert_eq!(result.outcome, Outcome::Complete, "{result:?}");
    let PointResult { parts, together: Some(total), .. } = result else { panic!("{result:?}") };
    assert_eq!(parts.len(), spec.workload.parts.len());
    let each = |part: &PartResult| {
        let ops = &part.ops[&kind];
        assert!(ops.count > 0 && ops.bytes == ops.count * BLOCK);
        (ops.count, ops.bytes, ops.client_latency.histogram.as_ref().unwrap().count())
    };
    let added = parts.iter().map(each);
    let added = added.fold((0, 0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1, sum.2 + it.2));
    assert_eq!(each(total), added);
    let mut windows = vec![0; operations(total).len()];
    for part in parts {
        operations(part).iter().zip(&mut windows).for_each(|(more, sum)| *sum += more);
    }
    assert_eq!(operations(total), windows);
    assert_eq!(total.series.total(), result.moved());
    // Of the part after the warm-up, which is half of the time at least: no more than everything
    // in that.
    let figure = |part: &PartResult, measure| part.quantities[&Metric::all(measure)];
    let rate = figure(total, Measure::THROUGHPUT);
    let all = total.series.total().bytes as f64;
    assert!(rate > 0.0 && rate <= all / (spec.workload.seconds() / 2.0), "{rate} of {all}");
    assert!(figure(total, Measure::START_SPREAD_ERROR) > 0.0);
    for part in parts {
        assert!(figure(part, Measure::THROUGHPUT) > 0.0);
        let latency = |part: &PartResult| part.ops[&kind].client_latency.clone();
        assert!(latency(part).min_seconds >= latency(total).min_seconds);
        assert!(latency(part).max_seconds <= latency(total).max_seconds);
    }
}

/// How far apart clients began as measured, and how far off that may be.
pub fn spread(result: &PointResult) -> [Duration; 2] {
    let all = result.together.as_ref().expect("all together");
    [Measure::START_SPREAD, Measure::START_SPREAD_ERROR]
        .map(|measure| Duration::from_secs_f64(all.quantities[&Metric::all(measure)]))
}

/// The kernel's clock, which all hosts of a lab have in common.
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    Nanos(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// How far apart hosts of a lab began: their clocks are one.
pub fn true_spread(clients: &Clients) -> Duration {
    let begun = clients.begun().iter().map(|begun| begun.expect("it began"));
    let at: Vec<Nanos> = begun.map(|begun| begun.start.at + begun.late).collect();
    *at.iter().max().unwrap() - *at.iter().min().unwrap()
}

/// What a host's interface has counted.
pub fn counted(reach: &dyn Reach, what: &str) -> u64 {
    let command = format!("cat /sys/class/net/lan/statistics/{what}");
    let output = reach.run(&command, b"", Duration::from_secs(30)).unwrap().output;
    String::from_utf8_lossy(&output).trim().parse().unwrap()
}
