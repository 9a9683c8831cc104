//! What a team of workers did, ready to become a trial's figures.

use crate::advice::FEWER_CONNECTIONS;
use crate::op::{KINDS, OpError};
use crate::prepare;
use crate::source::Ended;
use crate::stall::{SILENCE, Silence, Stalled, least_seconds, stalls};
use crate::tally::{
    Counts, Finished, KindTally, Segment, Timing, by_kind, histogram, segment_length,
};
use hdrhistogram::Histogram;
use plimsoll_model::{
    Cause, Count, ErrorKind, Failure, LatencySummary, Nanos, OpKind, OpStats, Stall, StallPhase,
    Window,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a team of workers did in one trial, all of them together.
///
/// An operation counts at the instant its completion was stamped. Those that complete after the
/// trial's end, while the workers drain what is in flight, are in [`late`](Self::late),
/// [`total`](Self::total) and the latencies alone: not in windows, counts or rates.
pub struct TeamResult {
    /// How it ended: complete only if every worker did.
    pub ended: Ended,
    /// How long it was measured: the trial's length, unless it ended early or when its work was
    /// done.
    pub measured: Duration,
    /// What completed in each window, from the start on. The last window is shorter where the
    /// trial's length is no multiple of the window.
    pub windows: Vec<Window>,
    /// Everything that completed, late operations included: what the CPU time was spent on and
    /// the flush made stable. The final flush is not counted.
    pub total: Window,
    /// What completed after the end.
    pub late: Count,
    /// Operations of an open loop that were due and not issued; they are in the latencies with the time
    /// that they had waited.
    pub left_over: u64,
    /// Time by which a worker woke up too late with nothing in flight; of all workers the longest. Neither the target
    /// nor other operations made it wait.
    pub overslept: Duration,
    /// Times in which the target did nothing although it was asked.
    pub stalls: Vec<Stalled>,
    /// The same while the lanes were made, before the load.
    pub set_up_stalls: Vec<Stall>,
    /// Longest final flush of any worker; `None` if there was none.
    pub flush: Option<Duration>,
    /// CPU time of the workers' threads and of their lanes' helpers, from the first operation to
    /// the end of the flush.
    pub cpu: Duration,
    /// Operations that failed.
    pub errors: BTreeMap<OpKind, BTreeMap<ErrorKind, u64>>,
    /// The first failure of the first worker that had one, with the kind in it.
    pub first_error: Option<OpError>,
    /// Whether the target went on answering some workers long after the last answer to each that failed.
    answers_others: bool,
    timing: Timing,
    start: Nanos,
    /// Per worker.
    segments: Vec<Vec<Segment>>,
    silences: Vec<Vec<Silence>>,
    in_stalls: u64,
}

/// The figures of a measured part.
pub struct Measured {
    /// Where it begins, from the start of the trial: at least the cut that was asked for.
    pub from: Duration,
    /// How long it is.
    pub length: Duration,
    /// Its length without the stalls in it.
    pub answered: Duration,
    /// The operations that began or completed in it; kinds without any are absent.
    pub kinds: BTreeMap<OpKind, KindFigures>,
    /// Time-integrated number of operations in flight, divided by the length.
    pub in_flight: f64,
    /// Longest time in which a worker completed nothing, to the completion that ended it; the longest of
    /// all workers.
    pub longest_gap: Duration,
}

/// Figures of one kind of operation in a measured part. Operations count where they complete, latencies
/// where operations begin.
#[derive(Clone)]
pub struct KindFigures {
    /// Operations that completed in it without error.
    pub operations: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Client latencies (issued or, in an open loop, due to done) in nanoseconds, of the operations that
    /// began in it.
    pub client: Histogram<u32>,
    /// RPC latencies (sent to done) in nanoseconds; `None` where there is no wire.
    pub rpc: Option<Histogram<u32>>,
    /// Operations and bytes for rates: of operations that cross the ends of the measured part, the
    /// share of their time inside.
    pub shares: (f64, f64),
}

impl KindFigures {
    /// As a trial keeps it, without errors: those are counted over the whole trial, in
    /// [`TeamResult::errors`].
    pub fn stats(&self) -> OpStats {
        OpStats {
            count: self.operations,
            bytes: self.bytes,
            errors: BTreeMap::new(),
            client_latency: LatencySummary::from(&self.client),
            rpc_latency: self.rpc.as_ref().map(LatencySummary::from),
        }
    }
}

/// What one worker brings home.
pub(crate) struct WorkerResult {
    pub ended: Ended,
    pub counted: Finished,
    pub flush: Option<Duration>,
    pub cpu: Duration,
    /// When its lane was begun and how long that took, if it took as long as a stall.
    pub set_up: Option<(Nanos, Duration)>,
}

impl TeamResult {
    /// Merges the results of the workers of one part. `answered` is the [`last_answer`] to a worker of any part.
    pub(crate) fn merge(
        timing: Timing,
        workers: Vec<WorkerResult>,
        answered: Option<Nanos>,
    ) -> TeamResult {
        let mut team = TeamResult {
            ended: Ended::Complete,
            measured: Duration::ZERO,
            windows: Vec::new(),
            total: Window::default(),
            late: Count::default(),
            left_over: 0,
            overslept: Duration::ZERO,
            stalls: Vec::new(),
            set_up_stalls: Vec::new(),
            flush: None,
            cpu: Duration::ZERO,
            errors: BTreeMap::new(),
            first_error: None,
            answers_others: answers_others(&workers, answered, timing.length),
            timing,
            start: Nanos(0),
            segments: Vec::with_capacity(workers.len()),
            silences: Vec::with_capacity(workers.len()),
            in_stalls: 0,
        };
        for worker in workers {
            team.add(worker);
        }
        team.stalls = stalls(team.start, &team.silences, || team.stall_seconds());
        team
    }

    /// The least length of a stall, in seconds.
    fn stall_seconds(&self) -> f64 {
        let mut all = histogram();
        for kind in self.segments.iter().flatten().flat_map(|segment| &segment.kinds) {
            let _ = kind.client.as_ref().map(|client| all.add(client));
        }
        least_seconds(&all, self.in_stalls + self.left_over, &self.silences)
    }

    fn add(&mut self, worker: WorkerResult) {
        let counted = worker.counted;
        // A failure explains the stop of the others.
        match (&self.ended, &worker.ended) {
            (Ended::Complete, _) | (Ended::Stopped, Ended::Failed(_) | Ended::NotDone) => {
                self.ended = worker.ended;
            }
            _ => {}
        }
        self.measured = self.measured.max(counted.measured);
        self.start = counted.start;
        self.set_up_stalls.extend(worker.set_up.map(|(begun, took)| Stall {
            phase: StallPhase::SetUp,
            start_seconds: -counted.start.since(begun).as_secs_f64(),
            seconds: took.as_secs_f64(),
        }));
        self.silences.push(counted.silences);
        self.in_stalls += counted.in_stalls;
        self.left_over += counted.left_over;
        self.overslept = self.overslept.max(counted.overslept);
        let windows = self.windows.len().max(counted.windows.len());
        self.windows.resize(windows, Window::default());
        for (all, one) in self.windows.iter_mut().zip(&counted.windows) {
            all.add(&one.into());
        }
        let window = |counts: &Counts| Window { kinds: by_kind(counts).collect(), in_flight_ns: 0 };
        let late = window(&counted.late);
        self.total.add(&window(&counted.on_time));
        self.total.add(&late);
        self.late.add(late.total());
        self.flush = self.flush.max(worker.flush);
        self.cpu += worker.cpu;
        for (kind, errors) in KINDS.iter().zip(counted.errors) {
            for (error, count) in errors {
                let counts = self.errors.entry(*kind).or_default();
                *counts.entry(error).or_default() += count;
            }
        }
        if self.first_error.is_none() {
            self.first_error = counted.first_error;
        }
        self.segments.push(counted.segments);
    }

    /// Time of the load without the stalls in it and with the final flush, warm-up included.
    pub fn answered(&self) -> Duration {
        let stalled: Duration =
            self.stalls.iter().map(|stall| stall.within(Duration::ZERO, self.measured)).sum();
        self.measured.saturating_sub(stalled) + self.flush.unwrap_or_default()
    }

    /// The figures of the whole trial and of what was in flight at its end, up to the last completion; `None` where
    /// nothing completed.
    pub fn to_the_last(&self) -> Option<Measured> {
        // The last silence of a worker begins with its last completion.
        let last = self.silences.iter().filter_map(|own| own.last()).map(|silence| silence.from);
        let length = last.max()?.since(self.start);
        let mut whole = self.measured(Duration::ZERO);
        (whole.length, whole.answered) = (length, length);
        for (name, kind) in &mut whole.kinds {
            let all = self.total.count(*name);
            (kind.operations, kind.bytes) = (all.operations, all.bytes);
            kind.shares = (all.operations as f64, all.bytes as f64);
        }
        (self.total.operations() > 0).then_some(whole)
    }

    /// The failure that an error leads to, by which it ended. A server that closed the connections of some workers and went
    /// on answering others has a limit of them: that ends the trial and not the study.
    pub fn failure(&self, tried: &str, on: &str, error: &OpError) -> Failure {
        let failure = prepare::failure(tried, on.to_owned(), error);
        if !self.answers_others || error.kind != ErrorKind::ConnectionLost {
            return failure;
        }
        let happened = format!("{}; the server answered other connections", failure.happened);
        Failure { cause: Cause::Trial, happened, next: FEWER_CONNECTIONS.to_owned(), ..failure }
    }

    /// The figures after a warm-up of `cut` is taken off. The trial is kept in 20ths: the cut is
    /// rounded up to the next one, and to half of the trial at most. Nothing is cut off where it
    /// ended when its work was done.
    pub fn measured(&self, cut: Duration) -> Measured {
        let segment = segment_length(self.timing.length);
        let segments = self.segments.iter().map(Vec::len).max().unwrap_or(1);
        let first = cut.as_nanos().div_ceil(segment.as_nanos()).min(segments as u128 - 1) as usize;
        let from = segment * first as u32;
        let length = self.measured.saturating_sub(from);
        let parts = || self.segments.iter().filter_map(|w| w.get(first..)).flatten();
        let in_flight: f64 = parts().map(|s| s.in_flight as f64).sum();
        let kinds = (KINDS.into_iter().enumerate())
            .filter_map(|(index, kind)| {
                let of_kind = parts().map(|s| &s.kinds[index]);
                // Most kinds have nothing, and a histogram is large.
                if !of_kind.clone().any(KindTally::has_any) {
                    return None;
                }
                let mut merged = merge_kind(of_kind.clone());
                let (operations, bytes) = &mut merged.shares;
                for of in of_kind {
                    *operations += of.operations as f64 + of.unfinished.operations;
                    *bytes += of.bytes as f64 + of.unfinished.bytes;
                }
                for worker in self.segments.iter().filter_map(|w| w.get(first)) {
                    *operations -= worker.kinds[index].before.operations;
                    *bytes -= worker.kinds[index].before.bytes;
                }
                Some((kind, merged))
            })
            .collect();
        let stalled: Duration =
            self.stalls.iter().map(|stall| stall.within(from, from + length)).sum();
        Measured {
            from,
            length,
            answered: length.saturating_sub(stalled),
            kinds,
            in_flight: in_flight / (length.as_nanos() as f64).max(1.0),
            longest_gap: Duration::from_nanos(parts().map(|s| s.longest_gap).max().unwrap_or(0)),
        }
    }
}

/// When the target last answered one of the workers that did not fail.
pub(crate) fn last_answer<'w>(
    workers: impl IntoIterator<Item = &'w WorkerResult>,
) -> Option<Nanos> {
    let goes_on = |worker: &&WorkerResult| !has_failed(worker);
    workers.into_iter().filter(goes_on).filter_map(last_progress).max()
}

/// Whether the target went on answering some workers, up to `answered`, long after each of these that failed had begun to
/// wait for it: for a silence, or for half of a `trial` that is short.
fn answers_others(workers: &[WorkerResult], answered: Option<Nanos>, trial: Duration) -> bool {
    let lost = workers.iter().filter(|worker| has_failed(worker)).filter_map(waits_from).max();
    let long = SILENCE.min(trial / 2);
    lost.zip(answered).is_some_and(|(lost, answered)| answered.since(lost) >= long)
}

fn has_failed(worker: &WorkerResult) -> bool {
    matches!(worker.ended, Ended::Failed(_))
}

fn last_progress(worker: &WorkerResult) -> Option<Nanos> {
    // The last silence begins with it.
    worker.counted.silences.last().map(|last| last.from)
}

/// Since when it has waited for an operation: a worker may have had none for long, as films whose buffers are full.
fn waits_from(worker: &WorkerResult) -> Option<Nanos> {
    let last = worker.counted.silences.last()?;
    let has_waited = last.waiting_from < Nanos(u64::MAX);
    Some(if has_waited { last.from.max(last.waiting_from) } else { last.from })
}

fn merge_kind<'a>(parts: impl Iterator<Item = &'a KindTally>) -> KindFigures {
    let (client, shares) = (histogram(), (0.0, 0.0));
    let mut merged = KindFigures { operations: 0, bytes: 0, client, rpc: None, shares };
    for part in parts {
        merged.operations += part.operations;
        merged.bytes += part.bytes;
        // Same bounds everywhere: adding cannot fail.
        if let Some(client) = &part.client {
            let _ = merged.client.add(client);
        }
        if let Some(rpc) = &part.rpc {
            let _ = merged.rpc.get_or_insert_with(histogram).add(rpc);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Shape, Tally};

    const TIMING: Timing =
        Timing { length: SILENCE, until_done: false, window: Duration::from_millis(100) };

    /// What a worker brings home whose last answer came so many milliseconds after the begin.
    fn worker(ended: Ended, answered_ms: u64) -> WorkerResult {
        let mut tally = Tally::new(Shape { timing: None, kinds: &[] });
        let at = Nanos(answered_ms * 1_000_000);
        tally.begin(at);
        let (flush, cpu, set_up) = (None, Duration::ZERO, None);
        WorkerResult { ended, counted: tally.finish(at), flush, cpu, set_up }
    }

    /// The study ended, and its user was told that the server was down.
    #[test]
    fn a_server_that_closes_some_connections_and_answers_others_ends_the_trial_alone() {
        let error = |kind| OpError { kind, detail: "closed".into() };
        let failed = |kind, answered_ms| worker(Ended::Failed(error(kind)), answered_ms);
        let lost = ErrorKind::ConnectionLost;
        let limit = vec![worker(Ended::Stopped, 3000), failed(lost.clone(), 10)];
        let by_its_end = vec![failed(lost.clone(), 10), worker(Ended::Complete, 3000)];
        let gone = vec![worker(Ended::Stopped, 3000), failed(lost.clone(), 2900)];
        let gone_for_all = vec![failed(lost.clone(), 3000), failed(lost.clone(), 10)];
        let alone = vec![failed(lost, 10)];
        let full = vec![worker(Ended::Stopped, 3000), failed(ErrorKind::NoSpace, 10)];
        for (workers, cause) in [
            (limit, Cause::Trial),
            (by_its_end, Cause::Trial),
            (gone, Cause::Unreachable),
            (gone_for_all, Cause::Unreachable),
            (alone, Cause::Unreachable),
            (full, Cause::NoSpace),
        ] {
            let answered = last_answer(&workers);
            let team = TeamResult::merge(TIMING, workers, answered);
            let Ended::Failed(error) = &team.ended else { panic!("{:?}", team.ended) };
            let failure = team.failure("finish the trial", "nas", error);
            assert_eq!(failure.cause, cause, "{failure}");
            let is_limit = cause == Cause::Trial;
            assert_eq!(failure.next.contains("fewer connections"), is_limit, "{failure}");
            assert_eq!(failure.happened.contains("other connections"), is_limit, "{failure}");
        }
    }

    /// It had nothing to ask for while the others were answered, and saw as the first one that the server was gone.
    #[test]
    fn a_worker_that_was_idle_waits_from_its_next_operation_on() {
        let error = OpError { kind: ErrorKind::ConnectionLost, detail: "closed".into() };
        let mut tally = Tally::new(Shape { timing: Some(TIMING), kinds: &[] });
        tally.begin(Nanos(0));
        tally.issued(Nanos(0) + SILENCE * 3);
        let idle = WorkerResult {
            counted: tally.finish(Nanos(0) + SILENCE * 4),
            ..worker(Ended::Failed(error.clone()), 0)
        };
        let workers = vec![idle, worker(Ended::Stopped, 3000)];
        let answered = last_answer(&workers);
        let team = TeamResult::merge(TIMING, workers, answered);
        assert_eq!(team.failure("finish the trial", "nas", &error).cause, Cause::Unreachable);
    }

    /// A backup beside films has one connection.
    #[test]
    fn the_other_connections_may_be_those_of_another_part() {
        let error = OpError { kind: ErrorKind::ConnectionLost, detail: "closed".into() };
        let backup = vec![worker(Ended::Failed(error.clone()), 10)];
        let films = [worker(Ended::Stopped, 3000)];
        let answered = last_answer(backup.iter().chain(&films));
        let team = TeamResult::merge(TIMING, backup, answered);
        assert_eq!(team.failure("finish the trial", "nas", &error).cause, Cause::Trial);
    }
}
