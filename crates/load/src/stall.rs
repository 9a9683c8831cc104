//! Times in which a target did nothing although it was asked.
//!
//! A worker keeps its [`Silence`]s, times of a second and more without a completion and, where its lane counts them,
//! without bytes of operations in flight; also those after the end of the trial. Over a slow link that streams share
//! evenly, large operations end together long after they began, and the target is at work all the time. The stalls of
//! a team are the times in which all its workers were silent.

use crate::op::Done;
use hdrhistogram::Histogram;
use plimsoll_model::{Nanos, Stall, StallPhase};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A time without a completion is kept if it is at least this long. A stall is never shorter.
pub const SILENCE: Duration = Duration::from_secs(1);

/// How much of it at least something has to be in flight. What an open loop asks a server that stands still
/// for a second waits for a little less.
const WAITED: Duration = Duration::from_millis(900);

/// Silences that are kept of a worker, and stalls that are kept between two loads.
const MOST: usize = 4096;

/// So many bytes of operations in flight, where none completes, are progress. Less may be what servers say while they
/// do nothing: that an operation takes long, or that a connection is alive.
pub(crate) const PROGRESS_BYTES: u64 = 4096;

/// A time in which a worker made no progress, of [`SILENCE`] at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// The progress before it, or the begin of the trial.
    pub from: Nanos,
    /// Since when the worker waited for an operation: never, where it had nothing in flight.
    pub waiting_from: Nanos,
    /// The progress that ended it; never, where none came.
    pub until: Nanos,
}

impl Silence {
    /// Whether it is as long as the least stall, and not for want of operations.
    fn is_stall(&self) -> bool {
        let waited = self.until.since(self.waiting_from.max(self.from));
        self.until.since(self.from) >= SILENCE && waited >= WAITED
    }
}

/// The silences of one worker, as its operations are issued and complete.
#[derive(Default)]
pub(crate) struct Silences {
    kept: Vec<Silence>,
    last_completion: Nanos,
    /// When bytes were last seen of operations that had not completed.
    last_bytes: Nanos,
    /// When an operation was last issued with none in flight.
    idle_until: Nanos,
    /// When the last stall ended, and how many operations were in flight or due in one.
    stalled_until: Nanos,
    in_stalls: u64,
    /// How long stalls were after the end of the trial.
    after_end: Duration,
}

impl Silences {
    /// The trial begins.
    pub(crate) fn begin(&mut self, start: Nanos) {
        (self.last_completion, self.stalled_until) = (start, start);
    }

    /// An operation was issued with none in flight.
    #[inline]
    pub(crate) fn wait_from(&mut self, at: Nanos) {
        self.idle_until = at;
    }

    /// An operation completed. Returns the time since the completion before it, in nanoseconds; none between two
    /// that completed after the end of the trial.
    #[inline]
    pub(crate) fn completed(&mut self, done: &Done, end: Nanos) -> u64 {
        let gap = done.done.0.saturating_sub(self.last_completion.0);
        if gap >= SILENCE.as_nanos() as u64 {
            self.ended(done.done, end);
        }
        if done.issued < self.stalled_until {
            self.in_stalls += 1;
        }
        let counts = self.last_completion <= end;
        self.last_completion = done.done.max(self.last_completion);
        if counts { gap } else { 0 }
    }

    /// Bytes of operations in flight were seen while none completed, in a trial that ends at `end`.
    #[cold]
    pub(crate) fn bytes_moved(&mut self, at: Nanos, end: Nanos) {
        self.ended(at, end);
        self.last_bytes = at;
    }

    #[cold]
    fn ended(&mut self, until: Nanos, end: Nanos) {
        let from = self.last_progress();
        if until.since(from) < SILENCE {
            return;
        }
        let waiting_from = self.idle_until.max(from);
        let silence = Silence { from, waiting_from, until };
        if self.kept.len() < MOST {
            self.kept.push(silence);
        }
        if silence.is_stall() {
            self.stalled_until = until;
            self.after_end += until.since(waiting_from.max(end));
        }
    }

    /// Whether an operation that is due at `due` belongs to a trial that ends at `end`: before that, or before the
    /// end of a stall that began before and outlasts it. Then the histogram has of the stall what a trial without
    /// end would have.
    pub(crate) fn takes(&self, due: Nanos, end: Nanos) -> bool {
        let outlasts = |silence: &&Silence| silence.waiting_from < end && silence.is_stall();
        let last = self.kept.iter().rev().find(outlasts);
        due < last.map_or(end, |silence| silence.until.max(end))
    }

    fn last_progress(&self) -> Nanos {
        self.last_completion.max(self.last_bytes)
    }

    /// Whether nothing has completed since an instant.
    pub(crate) fn since(&self, at: Nanos) -> bool {
        self.last_completion <= at
    }

    /// How long operations completed after the end of the trial.
    pub(crate) fn answered_since(&self, end: Nanos, now: Nanos) -> Duration {
        now.since(end).saturating_sub(self.after_end)
    }

    /// Time from the last completion to an instant, in nanoseconds.
    pub(crate) fn gap_to(&self, at: Nanos) -> u64 {
        at.0.saturating_sub(self.last_completion.0)
    }

    /// Ends them, at `waits_until` if the worker still waits for an operation: one that is done does not end the
    /// stalls of others. Also returns how many operations were in flight or due in a stall.
    pub(crate) fn finish(mut self, waits_until: Option<Nanos>) -> (Vec<Silence>, u64) {
        let never = Nanos(u64::MAX);
        let from = waits_until.map_or(self.last_completion, |_| self.last_progress());
        let waiting_from = waits_until.map_or(never, |_| self.idle_until.max(from));
        let until = waits_until.map_or(never, |at| at.max(from));
        self.kept.push(Silence { from, waiting_from, until });
        (self.kept, self.in_stalls)
    }
}

/// A stall under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// From the start of the load to the last progress before it, or to the first operation after that.
    pub start: Duration,
    /// From then to the progress that ended it, which may be after the end of the trial.
    pub length: Duration,
}

impl Stalled {
    /// The times in which all of several loads stalled, of which each has its stalls and its length: one that has ended
    /// does not end the stalls of others. They have one start.
    pub fn of_all(loads: &[(Vec<Stalled>, Duration)]) -> Vec<Stalled> {
        let at = |after: Duration| Nanos(0) + after;
        let silences = |(stalls, length): &(Vec<Stalled>, Duration)| -> Vec<Silence> {
            let mut all: Vec<Silence> = stalls
                .iter()
                .map(|stall| (at(stall.start), at(stall.start + stall.length)))
                .map(|(from, until)| Silence { from, waiting_from: from, until })
                .collect();
            let from = all.iter().map(|silence| silence.until).fold(at(*length), Nanos::max);
            let never = Nanos(u64::MAX);
            all.push(Silence { from, waiting_from: never, until: never });
            all
        };
        let all: Vec<Vec<Silence>> = loads.iter().map(silences).collect();
        stalls(Nanos(0), &all, || 0.0)
    }

    /// How much of it lies between two instants of the load.
    pub fn within(&self, from: Duration, until: Duration) -> Duration {
        (self.start + self.length).min(until).saturating_sub(self.start.max(from))
    }

    /// As a trial keeps it, of which the part from `from` to `until` is measured.
    pub fn stall(&self, from: Duration, until: Duration) -> Stall {
        let phase = match self.start {
            early if early < from => StallPhase::WarmUp,
            late if late >= until => StallPhase::Drain,
            _ => StallPhase::Measured,
        };
        let (start_seconds, seconds) = (self.start.as_secs_f64(), self.length.as_secs_f64());
        Stall { phase, start_seconds, seconds }
    }
}

/// The stalls of a team: the times in which all its workers were silent, of a second and of
/// `least_seconds` at least. A worker that has nothing in flight does not end a stall.
pub(crate) fn stalls(
    start: Nanos,
    workers: &[Vec<Silence>],
    least_seconds: impl FnOnce() -> f64,
) -> Vec<Stalled> {
    let Some((first, others)) = workers.split_first() else { return Vec::new() };
    let together = others.iter().fold(first.clone(), |all, own| overlaps(&all, own));
    let stalled = |silence: &Silence| {
        let from = silence.from.max(silence.waiting_from);
        Stalled { start: from.since(start), length: silence.until.since(from) }
    };
    let mut stalls: Vec<Stalled> =
        together.iter().filter(|silence| silence.is_stall()).map(stalled).collect();
    if !stalls.is_empty() {
        let least = Duration::try_from_secs_f64(least_seconds()).unwrap_or(Duration::MAX);
        stalls.retain(|stall| stall.length >= least);
    }
    stalls
}

/// The times in which two were silent; each is in the order of time.
fn overlaps(one: &[Silence], other: &[Silence]) -> Vec<Silence> {
    let mut both = Vec::new();
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        let (from, until) = (a.from.max(b.from), a.until.min(b.until));
        if from < until {
            let waiting_from = a.waiting_from.min(b.waiting_from);
            both.push(Silence { from, waiting_from, until });
        }
        if a.until <= b.until {
            ones.next();
        } else {
            others.next();
        }
    }
    both
}

/// The least length of a stall (method, section 4): 20 times the 99th percentile of the latencies, in seconds. The
/// operations that were in flight or due in a silence are left out: they have the largest latencies, and where stalls
/// are long they are more than one in a hundred. Where there are no others, the server is slow if its workers were
/// silent more than once each; else it stood still from the begin.
pub(crate) fn least_seconds(
    latencies: &Histogram<u32>,
    in_stalls: u64,
    workers: &[Vec<Silence>],
) -> f64 {
    let mut counted = latencies.len().saturating_sub(in_stalls);
    if counted == 0 {
        // The last of each worker's is what came after its last completion.
        let silences: usize = workers.iter().map(|own| own.len() - 1).sum();
        if silences <= workers.len() {
            return 0.0;
        }
        counted = latencies.len();
    }
    let rank = 0.99 * counted as f64 / latencies.len().max(1) as f64;
    20.0 * latencies.value_at_quantile(rank) as f64 / 1e9
}

/// Stalls outside of loads: while files are created or read back, and in calls on names. Clones have them in common.
#[derive(Clone, Debug, Default)]
pub struct OutsideStalls(Arc<Mutex<Vec<(Nanos, Duration)>>>);

impl OutsideStalls {
    /// Keeps the time of a call, if it is as long as a stall.
    pub fn keep(&self, begun: Nanos, took: Duration) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if took >= SILENCE && kept.len() < MOST {
            kept.push((begun, took));
        }
    }

    /// Those since this was called last, as stalls of a load that began at `load`.
    pub fn take(&self, load: Nanos) -> Vec<Stall> {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let stall = |(begun, took): (Nanos, Duration)| Stall {
            phase: if begun < load { StallPhase::SetUp } else { StallPhase::Drain },
            start_seconds: begun.since(load).as_secs_f64() - load.since(begun).as_secs_f64(),
            seconds: took.as_secs_f64(),
        };
        kept.into_iter().map(stall).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Tag;

    const NEVER: u64 = u64::MAX;

    fn silences(of: &[[u64; 3]]) -> Vec<Silence> {
        let at = |ms: u64| Nanos(ms.saturating_mul(1_000_000));
        let silence = |[from, waiting, until]: &[u64; 3]| Silence {
            from: at(*from),
            waiting_from: at(*waiting),
            until: at(*until),
        };
        of.iter().map(silence).collect()
    }

    fn of_team(workers: &[&[[u64; 3]]], least_seconds: f64) -> Vec<(u128, u128)> {
        let workers: Vec<_> = workers.iter().map(|own| silences(own)).collect();
        let stalls = stalls(Nanos(0), &workers, || least_seconds);
        stalls.iter().map(|s| (s.start.as_millis(), s.length.as_millis())).collect()
    }

    #[test]
    fn a_team_stalls_while_all_that_wait_are_silent() {
        let silent = [1000, 1000, 6000];
        let done = [8000, NEVER, NEVER];
        assert_eq!(of_team(&[&[silent, done]], 0.0), [(1000, 5000)]);
        let other = [1500, 1500, 6100];
        assert_eq!(of_team(&[&[silent, done], &[other, done]], 0.0), [(1500, 4500)]);
        let answers = [[1000, 1000, 3400], [3400, 3400, 4200], [5300, 5300, 6000]];
        assert_eq!(of_team(&[&[silent, done], &answers], 0.0), [(1000, 2400)]);
        assert_eq!(of_team(&[&[silent, done], &[done]], 0.0), [], "the other one completes some");
        let idle = [500, NEVER, NEVER];
        assert_eq!(of_team(&[&[silent, done], &[idle]], 0.0), [(1000, 5000)], "it is done");
        assert_eq!(of_team(&[&[silent, done]], 5.001), []);
        assert_eq!(of_team(&[], 0.0), []);
    }

    /// One worker's, of operations in flight from the start on: bytes seen at these times in ms, then a completion.
    fn with_bytes(seen: &[u64], done: u64) -> (Vec<Silence>, u64) {
        let at = |ms: u64| Nanos(ms * 1_000_000);
        let mut own = Silences::default();
        own.begin(at(0));
        own.wait_from(at(0));
        seen.iter().for_each(|ms| own.bytes_moved(at(*ms), at(1000)));
        let (issued, done) = (at(0), at(done));
        let done = Done { tag: Tag(0), issued, sent: issued, done, bytes: 1, result: Ok(None) };
        assert_eq!(own.completed(&done, at(1000)), done.done.0, "the gap is that of completions");
        own.finish(None)
    }

    #[test]
    fn bytes_end_a_silence() {
        let last = |from| [from, NEVER, NEVER];
        // None are counted, or they come at short intervals.
        let (own, in_stalls) = with_bytes(&[], 1600);
        assert_eq!((own, in_stalls), (silences(&[[0, 0, 1600], last(1600)]), 1));
        let (own, in_stalls) = with_bytes(&[200, 1100, 1500], 1600);
        assert_eq!((own, in_stalls), (silences(&[last(1600)]), 0));
        // No more after 0.2 s; none before 3 s.
        let (own, in_stalls) = with_bytes(&[200], 4000);
        assert_eq!((own, in_stalls), (silences(&[[200, 200, 4000], last(4000)]), 1));
        let (own, in_stalls) = with_bytes(&[3000, 3500], 3600);
        assert_eq!((own, in_stalls), (silences(&[[0, 0, 3000], last(3600)]), 1));
    }

    /// What is given up was silent since its last bytes.
    #[test]
    fn bytes_come_before_a_silence_that_nothing_ends() {
        let at = |ms: u64| Nanos(ms * 1_000_000);
        let mut own = Silences::default();
        own.begin(at(0));
        own.wait_from(at(0));
        own.bytes_moved(at(700), at(1000));
        assert!(own.since(at(0)), "nothing has completed");
        let (own, _) = own.finish(Some(at(5000)));
        assert_eq!(own, silences(&[[700, 700, 5000]]));
    }

    #[test]
    fn several_loads_stall_together_while_none_of_them_goes_on() {
        let ms = Duration::from_millis;
        let stalled = |of: &[(u64, u64)]| -> Vec<Stalled> {
            let stall =
                |(start, length): &(u64, u64)| Stalled { start: ms(*start), length: ms(*length) };
            of.iter().map(stall).collect()
        };
        let load = |stalls: &[(u64, u64)], length| (stalled(stalls), ms(length));
        let one = [(1000, 5000), (9500, 3000)];
        let all = |other: &[(u64, u64)], length| {
            Stalled::of_all(&[load(&one, 10_000), load(other, length)])
        };
        assert_eq!(all(&[(1200, 5000)], 10_000), stalled(&[(1200, 4800), (10_000, 2500)]));
        assert_eq!(all(&[], 10_000), stalled(&[(10_000, 2500)]), "the other one completed some");
        assert_eq!(all(&[], 500), stalled(&one), "it had ended");
        assert_eq!(all(&[(9000, 3000)], 10_000), stalled(&[(9500, 2500)]));
        assert_eq!(Stalled::of_all(&[]), []);
    }

    #[test]
    fn time_without_anything_in_flight_is_no_stall() {
        let later = [1000, 4000, 6000];
        let done = [8000, NEVER, NEVER];
        assert_eq!(of_team(&[&[later, done]], 0.0), [(4000, 2000)]);
        assert_eq!(of_team(&[&[done], &[done]], 0.0), []);
        // A server that stands still for a second, and is asked every 10 ms.
        assert_eq!(of_team(&[&[[995, 1005, 2000], done]], 0.0), [(1005, 995)]);
        assert_eq!(of_team(&[&[[995, 1200, 2000], done]], 0.0), []);
    }

    #[test]
    fn a_stall_belongs_to_the_phase_in_which_it_begins() {
        let ms = Duration::from_millis;
        let stalled = Stalled { start: ms(900), length: ms(5000) };
        for (from, until, phase, within) in [
            (0, 1000, StallPhase::Measured, 100),
            (900, 8000, StallPhase::Measured, 5000),
            (1000, 2000, StallPhase::WarmUp, 1000),
            (0, 900, StallPhase::Drain, 0),
        ] {
            assert_eq!(stalled.stall(ms(from), ms(until)).phase, phase);
            assert_eq!(stalled.within(ms(from), ms(until)), ms(within));
        }
    }
}
