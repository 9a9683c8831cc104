//! What a team of workers did, ready to become a trial's figures.

use crate::driver::Ended;
use crate::op::KINDS;
use crate::tally::{
    Counts, Finished, KindTally, Segment, Timing, by_kind, histogram, segment_length,
};
use hdrhistogram::Histogram;
use plimsoll_model::{Count, ErrorKind, LatencySummary, OpKind, OpStats, Window};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a team of workers did in one trial, all of them together.
///
/// An operation counts at the instant its completion was stamped. Those that complete after the
/// trial's end, while the workers drain what is in flight, are in [`late`](Self::late) and
/// [`total`](Self::total) alone: not in windows, counts, latencies or rates.
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
    /// Longest final flush of any worker; `None` if there was none.
    pub flush: Option<Duration>,
    /// CPU time of the workers' threads and of their lanes' helpers, from the first operation to
    /// the end of the flush.
    pub cpu: Duration,
    /// Operations that failed.
    pub errors: BTreeMap<OpKind, BTreeMap<ErrorKind, u64>>,
    /// The first failure of the first worker that had one, with the kind in it.
    pub first_error: Option<crate::op::OpError>,
    timing: Timing,
    /// Per worker.
    segments: Vec<Vec<Segment>>,
}

/// The figures of a measured part.
pub struct Measured {
    /// Where it begins, from the start of the trial: at least the cut that was asked for.
    pub from: Duration,
    /// How long it is.
    pub length: Duration,
    /// The operations that completed in it; kinds without any are absent.
    pub kinds: BTreeMap<OpKind, Kind>,
    /// Time-integrated number of operations in flight, divided by the length.
    pub in_flight: f64,
    /// Longest time in which a worker completed nothing; the longest of all workers.
    pub longest_gap: Duration,
}

/// Figures of one kind of operation in a measured part. `operations` = `client.len()` unless a
/// counter of the histogram overflowed (2^32).
#[derive(Clone)]
pub struct Kind {
    /// Operations that completed without error.
    pub operations: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Client latencies (issued to done) in nanoseconds.
    pub client: Histogram<u32>,
    /// RPC latencies (sent to done) in nanoseconds; `None` where there is no wire.
    pub rpc: Option<Histogram<u32>>,
    /// Operations and bytes for rates: of operations that cross the ends of the measured part, the
    /// share of their time inside.
    pub shares: (f64, f64),
}

impl Kind {
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
}

impl TeamResult {
    /// Merges the workers' results.
    pub(crate) fn merge(timing: Timing, workers: Vec<WorkerResult>) -> TeamResult {
        let mut team = TeamResult {
            ended: Ended::Complete,
            measured: Duration::ZERO,
            windows: Vec::new(),
            total: Window::default(),
            late: Count::default(),
            flush: None,
            cpu: Duration::ZERO,
            errors: BTreeMap::new(),
            first_error: None,
            timing,
            segments: Vec::with_capacity(workers.len()),
        };
        for worker in workers {
            team.add(worker);
        }
        team
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
                let mut merged = merge_kind(of_kind.clone().filter(|k| k.operations > 0));
                let (operations, bytes) = &mut merged.shares;
                for of in of_kind {
                    *operations += of.operations as f64 + of.unfinished.operations;
                    *bytes += of.bytes as f64 + of.unfinished.bytes;
                }
                for worker in self.segments.iter().filter_map(|w| w.get(first)) {
                    *operations -= worker.kinds[index].before.operations;
                    *bytes -= worker.kinds[index].before.bytes;
                }
                (merged.operations > 0).then_some((kind, merged))
            })
            .collect();
        Measured {
            from,
            length,
            kinds,
            in_flight: in_flight / (length.as_nanos() as f64).max(1.0),
            longest_gap: Duration::from_nanos(parts().map(|s| s.longest_gap).max().unwrap_or(0)),
        }
    }
}

fn merge_kind<'a>(parts: impl Iterator<Item = &'a KindTally>) -> Kind {
    let (client, shares) = (histogram(), (0.0, 0.0));
    let mut merged = Kind { operations: 0, bytes: 0, client, rpc: None, shares };
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
