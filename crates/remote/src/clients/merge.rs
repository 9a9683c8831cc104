//! What several clients did of one job, put together.

use plimsoll_load::Stalled;
use plimsoll_model::{
    Combine, Count, Job, LatencySummary, Length, Measure, Metric, OpKind, OpStats, PartResult,
    PointSpec, Series, Stall, StallPhase, Window,
};
use plimsoll_runner::{PAYLOAD, WRITING};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Several clients' parts of the same job as one. Operations, bytes and windows add up, latencies by
/// their histograms; rates are those of everything over the time that the clients have in common,
/// and latencies those of each client's own measured part. Stalls are the times in which no client completed
/// anything. It has quantities only if every part has.
pub(super) fn together(spec: &PointSpec, parts: &[PartResult]) -> PartResult {
    let mut windows = Vec::new();
    let mut ops: BTreeMap<OpKind, OpStats> = BTreeMap::new();
    let mut late = Count::default();
    for part in parts {
        windows.resize(part.series.len().max(windows.len()), Window::default());
        for (sum, window) in windows.iter_mut().zip(part.series.windows()) {
            sum.add(&window);
        }
        late.add(part.series.late);
        for (kind, more) in &part.ops {
            add(ops.entry(*kind).or_default(), more);
        }
    }
    let series = Series { late, ..Series::new(spec.window_seconds, &windows) };
    let mut all = PartResult { series, ..PartResult::default() };
    if let Some(main) = spec.workload.main() {
        let stalled = stalled(spec, parts);
        let paced = main.arrival.per_second().is_some();
        let sum =
            Sum { spec, job: &main.job, parts, windows: &windows, ops: &ops, stalled: &stalled };
        let measured = sum.measured(paced);
        all.stalls = set_up_stalls(parts);
        let (from, until) = (seconds(measured.from), seconds(measured.until));
        all.stalls.extend(stalled.iter().map(|stall| stall.stall(from, until)));
        if parts.iter().all(|part| !part.quantities.is_empty()) {
            all.quantities = sum.quantities(&measured);
            let flush = sum.largest(Measure::FLUSH_TIME).unwrap_or(0.0);
            all.answered_seconds = Some(measured.until - sum.stalled(0.0, measured.until) + flush);
        }
    }
    all.ops = ops;
    all
}

/// The times in which all clients stalled; one that is done does not wait.
fn stalled(spec: &PointSpec, parts: &[PartResult]) -> Vec<Stalled> {
    let load = |part: &PartResult| {
        let elapsed = part.quantities.get(&Metric::all(Measure::ELAPSED)).copied();
        let length = match spec.workload.length {
            Length::For { seconds, .. } => seconds,
            Length::UntilDone { .. } => elapsed.unwrap_or(f64::MAX),
        };
        let own = part.stalls.iter().filter(|stall| stall.phase != StallPhase::SetUp);
        let own = own.map(|stall| Stalled {
            start: seconds(stall.start_seconds),
            length: seconds(stall.seconds),
        });
        (own.collect(), seconds(length))
    };
    Stalled::of_all(&parts.iter().map(load).collect::<Vec<_>>())
}

/// Stalls before the load, of the client that waited longest: the others waited for it.
fn set_up_stalls(parts: &[PartResult]) -> Vec<Stall> {
    let set_up = |part: &PartResult| -> Vec<Stall> {
        let stalls = part.stalls.iter().copied();
        stalls.filter(|stall| stall.phase == StallPhase::SetUp).collect()
    };
    let time = |stalls: &Vec<Stall>| stalls.iter().map(|stall| stall.seconds).sum::<f64>();
    let longest = parts.iter().map(set_up).max_by(|a, b| time(a).total_cmp(&time(b)));
    longest.unwrap_or_default()
}

/// A time of another host, which may be anything.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 {
        MOST
    } else {
        Duration::ZERO
    })
}

/// Longer than any trial.
const MOST: Duration = Duration::from_secs(1 << 32);

fn add(sum: &mut OpStats, more: &OpStats) {
    sum.count = sum.count.saturating_add(more.count);
    sum.bytes = sum.bytes.saturating_add(more.bytes);
    for (error, count) in &more.errors {
        let errors = sum.errors.entry(error.clone()).or_default();
        *errors = errors.saturating_add(*count);
    }
    // Of operations that began in the measured part, or none.
    if more.client_latency.histogram.is_some() {
        sum.client_latency.add(&more.client_latency);
    }
    if let Some(more) = &more.rpc_latency {
        sum.rpc_latency.get_or_insert_default().add(more);
    }
}

/// Complete parts, and what they are together so far.
struct Sum<'a> {
    spec: &'a PointSpec,
    job: &'a Job,
    parts: &'a [PartResult],
    windows: &'a [Window],
    ops: &'a BTreeMap<OpKind, OpStats>,
    stalled: &'a [Stalled],
}

/// What is measured of all windows.
struct Measured {
    /// What completed.
    sum: Window,
    /// Its begin and its end, in seconds since the start.
    from: f64,
    until: f64,
    /// The time that it took, without the stalls in it where nothing was due in them.
    seconds: f64,
    /// Its share of the final flush, which made everything stable that was written from the start
    /// on, in seconds.
    flush: f64,
}

impl Sum<'_> {
    fn quantities(&self, measured: &Measured) -> BTreeMap<Metric, f64> {
        let mut q = BTreeMap::new();
        let is_payload = |kind: &OpKind| !self.job.moves_payload() || PAYLOAD.contains(kind);
        let all: Vec<OpKind> = self.ops.keys().copied().filter(is_payload).collect();
        self.of_kinds(&mut q, None, &all, measured);
        for kind in self.job.kinds_apart() {
            self.of_kinds(&mut q, Some(*kind), &[*kind], measured);
        }
        let mut put = |measure, value: Option<f64>| {
            value.map(|value| q.insert(Metric::all(measure), value));
        };
        let each = self.parts.iter().flat_map(|part| part.quantities.keys());
        let each: BTreeSet<&Metric> = each.filter(|metric| metric.kind.is_none()).collect();
        for measure in each.into_iter().map(|metric| metric.measure) {
            put(measure, self.combined(measure, &all));
        }
        // What the CPU time of all was, by what each client did in its whole trial.
        let each = self.parts.iter().map(|part| {
            let per = part.quantities.get(&Metric::all(Measure::CLIENT_CPU_PER_OP));
            let done = done(&part.series, &all);
            Some((per? * done.operations as f64, done))
        });
        if let Some(each) = each.collect::<Option<Vec<(f64, Count)>>>() {
            let spent: f64 = each.iter().map(|(spent, _)| spent).sum();
            let operations: u64 = each.iter().map(|(_, done)| done.operations).sum();
            let bytes: u64 = each.iter().map(|(_, done)| done.bytes).sum();
            let per = |count: u64| (count > 0).then(|| spent / count as f64);
            put(Measure::CLIENT_CPU_PER_OP, per(operations));
            put(Measure::CLIENT_CPU_PER_BYTE, per(bytes));
        }
        q
    }

    /// One figure of each client.
    fn figures(&self, measure: Measure) -> impl Iterator<Item = f64> {
        let metric = Metric::all(measure);
        self.parts.iter().filter_map(move |part| part.quantities.get(&metric).copied())
    }

    fn largest(&self, measure: Measure) -> Option<f64> {
        self.figures(measure).reduce(f64::max)
    }

    /// One figure of all clients, by the rule of its measure.
    fn combined(&self, measure: Measure, kinds: &[OpKind]) -> Option<f64> {
        let combine = measure.info()?.combine;
        let longest = self.largest(Measure::ELAPSED);
        let weight = |part: &PartResult| match (combine, longest) {
            // What was done at a rate lasted as long as the client was at work.
            (Combine::SumOfRates, Some(longest)) if longest > 0.0 => {
                let own = part.quantities.get(&Metric::all(Measure::ELAPSED));
                own.map_or(1.0, |own| own / longest)
            }
            (Combine::WeightedMean, _) => done(&part.series, kinds).operations as f64,
            _ => 1.0,
        };
        let figure = |part: &PartResult| part.quantities.get(&Metric::all(measure)).copied();
        combine.apply(self.parts.iter().filter_map(|part| Some((figure(part)?, weight(part)))))
    }

    /// What is left after the warm-up that all windows together show; half of the trial stays, as
    /// with one client.
    fn measured(&self, paced: bool) -> Measured {
        let window = self.spec.window_seconds.max(1e-9);
        let stalled = !self.stalled.is_empty();
        let cut = plimsoll_runner::warm_up(self.windows, self.job, self.spec, stalled);
        let cut = cut.as_secs_f64() / window;
        let first = (cut.ceil() as usize).min(self.windows.len() / 2);
        let total = match self.spec.workload.length {
            Length::For { seconds, .. } => seconds,
            Length::UntilDone { .. } => self.largest(Measure::ELAPSED).unwrap_or(0.0),
        };
        let mut sum = Window::default();
        self.windows[first..].iter().for_each(|window| sum.add(window));
        let written = |window: &Window| count(window, &WRITING).operations;
        let ever: u64 = self.windows.iter().map(written).sum();
        let flush = self.largest(Measure::FLUSH_TIME).unwrap_or(0.0);
        let flush = flush * written(&sum) as f64 / ever.max(1) as f64;
        let from = first as f64 * window;
        let stalled = if paced { 0.0 } else { self.stalled(from, total) };
        Measured { sum, from, until: total, seconds: (total - from - stalled).max(1e-9), flush }
    }

    /// How much of the time between two instants all clients stalled, in seconds.
    fn stalled(&self, from: f64, until: f64) -> f64 {
        let within = |stall: &Stalled| stall.within(seconds(from), seconds(until)).as_secs_f64();
        self.stalled.iter().map(within).sum()
    }

    /// Rates and latencies of some kinds of operation.
    fn of_kinds(
        &self,
        q: &mut BTreeMap<Metric, f64>,
        name: Option<OpKind>,
        kinds: &[OpKind],
        measured: &Measured,
    ) {
        let mut stats = OpStats::default();
        kinds.iter().filter_map(|kind| self.ops.get(kind)).for_each(|kind| add(&mut stats, kind));
        if stats.count == 0 {
            return;
        }
        let flushed = name.is_none_or(|kind| WRITING.contains(&kind));
        let seconds = measured.seconds + if flushed { measured.flush } else { 0.0 };
        let done = count(&measured.sum, kinds);
        let mut put = |measure, value| q.insert(Metric { kind: name, measure }, value);
        if done.operations > 0 {
            put(Measure::IOPS, done.operations as f64 / seconds);
        }
        if done.bytes > 0 {
            put(Measure::THROUGHPUT, done.bytes as f64 / seconds);
        }
        if done.operations == 0 {
            // Trials that were too short for an operation went on, by each client for itself.
            for measure in [Measure::IOPS, Measure::THROUGHPUT] {
                let metric = Metric { kind: name, measure };
                let each = self.parts.iter().filter_map(|part| part.quantities.get(&metric));
                each.copied().reduce(|all, one| all + one).map(|all| put(measure, all));
            }
        }
        let client = &stats.client_latency;
        put(Measure::LATENCY_MEAN, client.mean_seconds);
        put(Measure::LATENCY_MAX, client.max_seconds);
        let rpc = stats.rpc_latency.as_ref();
        for (measure, value) in [
            (Measure::LATENCY_P50, client.quantile("0.5")),
            (Measure::LATENCY_P99, client.quantile("0.99")),
            (Measure::RPC_LATENCY_P50, rpc.and_then(|rpc: &LatencySummary| rpc.quantile("0.5"))),
        ] {
            value.map(|value| put(measure, value));
        }
    }
}

/// What completed of some kinds in a whole trial.
fn done(series: &Series, kinds: &[OpKind]) -> Count {
    series.windows().fold(Count::default(), |mut done, window| {
        done.add(count(&window, kinds));
        done
    })
}

/// What completed of some kinds.
fn count(window: &Window, kinds: &[OpKind]) -> Count {
    let mut count = Count::default();
    kinds.iter().for_each(|kind| count.add(window.count(*kind)));
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::Bytes;
    use plimsoll_model::{CopyJob, Histogram, LogJob, Part, PatternJob, ScanJob, Workload};
    use std::num::NonZeroU16;

    fn spec(job: Job, length: Length) -> PointSpec {
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let parts = [0, 1].map(|client| Part { client, ..part.clone() }).into();
        PointSpec {
            number: 0,
            subject: 0,
            workload: Workload { parts, steps: None, length },
            rotation: 0,
            window_seconds: 0.5,
            left_seconds: 1e4,
            seed: 1,
        }
    }

    /// `count` operations of `bytes` in each of the windows, which took so long each.
    fn part(
        kind: OpKind,
        counts: &[u64],
        bytes: u64,
        ns: u64,
        more: &[(Measure, f64)],
    ) -> PartResult {
        let windows: Vec<Window> =
            counts.iter().map(|n| Window::only(kind, *n, n * bytes)).collect();
        let count = counts.iter().sum();
        let seconds = ns as f64 / 1e9;
        let client_latency = LatencySummary {
            mean_seconds: seconds,
            min_seconds: seconds,
            max_seconds: seconds,
            histogram: Some(Histogram { buckets_ns: vec![(ns, count)] }),
            ..LatencySummary::default()
        };
        let stats = OpStats { count, bytes: count * bytes, client_latency, ..OpStats::default() };
        PartResult {
            quantities: more.iter().map(|(m, value)| (Metric::all(*m), *value)).collect(),
            ops: BTreeMap::from([(kind, stats)]),
            series: Series::new(0.5, &windows),
            ..PartResult::default()
        }
    }

    #[track_caller]
    fn assert_near(part: &PartResult, measure: Measure, expected: f64) {
        let value = part.quantities.get(&Metric::all(measure)).copied();
        let near = value.is_some_and(|value| (value - expected).abs() < 1e-9 * expected.max(1.0));
        assert!(near, "{measure}: {value:?}, not {expected}");
    }

    #[test]
    fn what_two_wrote_adds_up_and_the_slower_flush_counts() {
        let job = PatternJob::named("random-write", Bytes(1 << 20)).unwrap();
        let spec = spec(job.into(), Length::For { seconds: 2.0, warm_up_seconds: 0.5 });
        let cpu = Measure::CLIENT_CPU_PER_OP;
        let one = [(Measure::FLUSH_TIME, 0.4), (Measure::IN_FLIGHT, 1.5), (cpu, 1e-3)];
        let two = [(Measure::FLUSH_TIME, 0.8), (Measure::IN_FLIGHT, 2.0), (cpu, 4e-3)];
        let parts = [
            part(OpKind::WRITE, &[10, 20, 20, 20], 4096, 1000, &one),
            part(OpKind::WRITE, &[0, 10, 10, 10], 4096, 4000, &two),
        ];
        let all = together(&spec, &parts);
        let ops = &all.ops[&OpKind::WRITE];
        assert_eq!((ops.count, ops.bytes), (100, 100 * 4096));
        let columns: Vec<u64> = all.series.windows().map(|window| window.operations()).collect();
        assert_eq!(columns, [10, 30, 30, 30]);
        // Without the first window: 90 of 100 operations in 1.5 s, and as much of the flush.
        let seconds = 1.5 + 0.8 * 0.9;
        assert_near(&all, Measure::IOPS, 90.0 / seconds);
        assert_near(&all, Measure::THROUGHPUT, 90.0 * 4096.0 / seconds);
        assert_near(&all, Measure::LATENCY_MEAN, (70.0 * 1e-6 + 30.0 * 4e-6) / 100.0);
        assert_near(&all, Measure::LATENCY_MAX, 4e-6);
        assert_near(&all, Measure::IN_FLIGHT, 3.5);
        assert_near(&all, Measure::FLUSH_TIME, 0.8);
        assert_near(&all, cpu, (70.0 * 1e-3 + 30.0 * 4e-3) / 100.0);
        assert_near(&all, Measure::CLIENT_CPU_PER_BYTE, (70.0 * 1e-3 + 30.0 * 4e-3) / 409_600.0);
    }

    #[test]
    fn work_that_ends_by_itself_took_as_long_as_the_slowest() {
        let job = Job::Scan(ScanJob::default());
        let spec = spec(job, Length::UntilDone { at_most_seconds: 60.0 });
        let figures = |elapsed, entries| [(Measure::ELAPSED, elapsed), (Measure::ENTRIES, entries)];
        let parts = [
            part(OpKind::LOOKUP, &[100], 0, 1000, &figures(0.5, 200.0)),
            part(OpKind::LOOKUP, &[25, 25, 25, 25], 0, 1000, &figures(2.0, 50.0)),
        ];
        let all = together(&spec, &parts);
        assert_near(&all, Measure::ELAPSED, 2.0);
        assert_near(&all, Measure::ENTRIES, 100.0);
        assert_near(&all, Measure::IOPS, 100.0);
    }

    #[test]
    fn the_clients_stalls_are_stalls_of_all_while_none_of_them_goes_on() {
        let job = PatternJob::named("random-read", Bytes(1 << 20)).unwrap();
        let spec = spec(job.into(), Length::For { seconds: 4.0, warm_up_seconds: 0.5 });
        let stall = |phase, start_seconds, seconds| Stall { phase, start_seconds, seconds };
        let with = |counts: &[u64], stalls: &[Stall]| PartResult {
            stalls: stalls.to_vec(),
            ..part(OpKind::READ, counts, 4096, 1000, &[(Measure::IN_FLIGHT, 1.0)])
        };
        use StallPhase::{Drain, Measured, SetUp};
        // The second goes on for half a second longer, and stalls alone later on; both wait at the end.
        let one = [stall(SetUp, -2.0, 1.5), stall(Measured, 1.0, 1.5), stall(Measured, 3.9, 2.0)];
        let two = [stall(Measured, 1.5, 1.0), stall(Drain, 4.0, 1.7)];
        let parts = [
            with(&[10, 10, 0, 0, 0, 10, 10, 10], &one),
            with(&[10, 10, 10, 0, 0, 10, 10, 10], &two),
        ];
        let all = together(&spec, &parts);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let found = all.stalls.iter().map(|s| (s.phase, s.start_seconds, s.seconds));
        let found: Vec<_> = found.collect();
        let expected = [(SetUp, -2.0, 1.5), (Measured, 1.5, 1.0), (Drain, 4.0, 1.7)];
        let same = found
            .iter()
            .zip(&expected)
            .all(|(a, b)| a.0 == b.0 && near(a.1, b.1) && near(a.2, b.2));
        assert!(found.len() == expected.len() && same, "{found:?}");
        // 90 operations without the first window, in 3.5 s of which the server did not answer for one.
        assert_near(&all, Measure::IOPS, 90.0 / 2.5);
        assert!(all.answered_seconds.is_some_and(|answered| near(answered, 3.0)), "{all:?}");
    }

    #[test]
    fn the_rule_of_a_measure_says_how_clients_are_put_together() {
        let spec = spec(Job::Scan(ScanJob::default()), Length::UntilDone { at_most_seconds: 60.0 });
        let with = |elapsed, ceiling, commits| {
            let figures = [
                (Measure::ELAPSED, elapsed),
                (CopyJob::CLIENT_CEILING, ceiling),
                (LogJob::COMMITS, commits),
                (Measure::LATENCY_P50, 0.25),
            ];
            part(OpKind::LOOKUP, &[10], 0, 1000, &figures)
        };
        let all = together(&spec, &[with(1.0, 1e6, 300.0), with(3.0, 2e6, 100.0)]);
        assert_near(&all, CopyJob::CLIENT_CEILING, 3e6);
        // The first one was done after a third of the time.
        assert_near(&all, LogJob::COMMITS, 200.0);
        // Without a rule nothing follows from the figures: quantiles come from the histograms.
        assert_eq!(all.quantities.get(&Metric::all(Measure::LATENCY_P50)), None);
    }

    #[test]
    fn there_is_no_sum_of_what_is_not_complete() {
        let job = PatternJob::named("random-read", Bytes(1 << 20)).unwrap();
        let spec = spec(job.into(), Length::For { seconds: 2.0, warm_up_seconds: 0.5 });
        let one = [(Measure::IN_FLIGHT, 1.0)];
        let parts = [
            part(OpKind::READ, &[1, 2, 2, 2], 4096, 1000, &one),
            part(OpKind::READ, &[1, 1], 4096, 1000, &[]),
        ];
        let all = together(&spec, &parts);
        assert!(all.quantities.is_empty());
        assert_eq!(all.series.total(), Count { operations: 9, bytes: 9 * 4096 });
        assert!(together(&spec, &[PartResult::default(), PartResult::default()]).ops.is_empty());
    }
}
