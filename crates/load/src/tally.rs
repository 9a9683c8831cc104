//! What one worker counts: operations, latencies, windows and the number in flight over time, in
//! arrays by kind of operation. Nothing is allocated for an operation.
//!
//! Counts and windows take an operation at its completion ([`Done::done`]): up to the end of the trial it
//! counts, later (while in-flight operations are drained) it is `late`. Latencies take it at its begin, with
//! its whole time, however late it ends: a server that stands still at the end of a trial must not take
//! the time of its slowest operations out of the histogram. Rates count the parts of operations: of one
//! that crosses the begin or the end of what is measured, the share of its time that lies inside. Else a
//! short trial of slow operations would come out in whole operations, and one that is a tenth faster the
//! same.

use crate::op::{Done, KINDS, OpError};
use crate::stall::{Silence, Silences};
use hdrhistogram::Histogram;
use plimsoll_model::{Count, ErrorKind, Nanos, OpKind, Window};
use std::collections::BTreeMap;
use std::time::Duration;

/// The first half of a trial is kept in this many segments, so that a warm-up can be cut off when
/// the trial is over; the second half is one segment.
pub(crate) const WARM_UP_SEGMENTS: u32 = 10;

/// Longest latency recorded as it is, in nanoseconds; longer ones count as this long.
const LONGEST_NANOS: u64 = 1_000_000_000_000;

/// Least time by which a worker woke up too late that counts. Timers are late by less.
const OVERSLEPT: Duration = Duration::from_millis(10);

/// Number of kinds of operation.
const MANY: usize = KINDS.len();

/// What completed, by [`Op::index`](crate::op::Op::index).
pub(crate) type Counts = [Count; MANY];

/// What completed between two readings of the same counters.
pub(crate) fn difference(now: &Counts, before: &Counts) -> Counts {
    std::array::from_fn(|kind| Count {
        operations: now[kind].operations - before[kind].operations,
        bytes: now[kind].bytes - before[kind].bytes,
    })
}

/// The kinds of which anything completed.
pub(crate) fn by_kind(counts: &Counts) -> impl Iterator<Item = (OpKind, Count)> {
    KINDS.into_iter().zip(*counts).filter(|(_, count)| *count != Count::default())
}

/// What completed in one window, and the number in flight integrated over it.
#[derive(Clone, Copy)]
pub(crate) struct WindowCounts {
    counts: Counts,
    in_flight_ns: u64,
}

impl From<&WindowCounts> for Window {
    fn from(of: &WindowCounts) -> Window {
        Window { kinds: by_kind(&of.counts).collect(), in_flight_ns: of.in_flight_ns }
    }
}

/// A latency histogram: values in nanoseconds, three significant digits.
pub(crate) fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LONGEST_NANOS, 3).expect("constant bounds are valid")
}

/// How long a load lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// So long; or so long at most.
    pub length: Duration,
    /// Whether it ends when the work is done. Then no warm-up is cut off.
    pub until_done: bool,
    /// Length of a window.
    pub window: Duration,
}

impl Timing {
    /// Length of the segments that a warm-up may be cut off by.
    fn segment(self) -> Option<Duration> {
        (!self.until_done).then(|| segment_length(self.length))
    }
}

/// What is counted.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// How long it takes; `None` for work that ends by itself and is not measured.
    pub timing: Option<Timing>,
    /// Kinds of operation expected: their histograms are made beforehand.
    pub kinds: &'static [OpKind],
}

/// Completions of one kind in one segment.
#[derive(Clone, Default)]
pub(crate) struct KindTally {
    pub operations: u64,
    pub bytes: u64,
    pub client: Option<Histogram<u32>>,
    pub rpc: Option<Histogram<u32>>,
    /// What was done before the segment began of operations that completed later; the last segment also
    /// has what was done before the end of those that completed after it.
    pub before: Share,
    pub unfinished: Share,
}

/// Operations and bytes, by shares of their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share {
    pub operations: f64,
    pub bytes: f64,
}

impl Share {
    /// What was done of an operation before an instant within its time.
    fn add(&mut self, done: &Done, until: Nanos) {
        let time = done.done.0.saturating_sub(done.issued.0).max(1) as f64;
        let share = until.0.saturating_sub(done.issued.0) as f64 / time;
        self.operations += share;
        self.bytes += share * f64::from(done.bytes);
    }
}

impl KindTally {
    /// Whether an operation completed in the segment, or has its latency there.
    pub(crate) fn has_any(&self) -> bool {
        self.operations > 0 || self.client.as_ref().is_some_and(|client| !client.is_empty())
    }

    /// Latencies alone: counts and bytes follow from the totals when the segment ends.
    #[inline]
    fn record(&mut self, done: &Done) {
        let client = done.done.0.saturating_sub(done.issued.0);
        self.client.get_or_insert_with(histogram).saturating_record(client);
        // Lanes without a wire give the same instant twice.
        if done.sent != done.issued {
            let rpc = done.done.0.saturating_sub(done.sent.0);
            self.rpc.get_or_insert_with(histogram).saturating_record(rpc);
        }
    }
}

/// A part of a trial.
#[derive(Clone, Default)]
pub(crate) struct Segment {
    pub kinds: [KindTally; MANY],
    /// Operations in flight, integrated over time: operations x nanoseconds. 65,535 in flight for
    /// three days fit, for the whole trial.
    pub in_flight: u64,
    /// Longest time without a completion that ended in this segment, in nanoseconds; in the last one also
    /// that which ended after the trial.
    pub longest_gap: u64,
}

/// What one worker counts.
pub(crate) struct Tally {
    shape: Shape,
    start: Nanos,
    end: Nanos,
    /// Up to when everything is counted.
    now: Nanos,
    /// The next end of a segment or window.
    boundary: Nanos,
    segment_start: Nanos,
    segment_end: Nanos,
    window_end: Nanos,
    segment: usize,
    segments: Vec<Segment>,
    windows: Vec<WindowCounts>,
    /// In flight now, and its integral since the trial began; and what that was when the segment
    /// and the window began.
    in_flight: u64,
    area: u64,
    area_before_segment: u64,
    area_before_window: u64,
    silences: Silences,
    /// What completed up to the end; when the segment began; when the window began. Windows and
    /// segments are differences of totals: an operation adds to one counter, not to three.
    on_time: Counts,
    before_segment: Counts,
    before_window: Counts,
    /// What completed after the end, and what was due and was not issued.
    late: Counts,
    left_over: u64,
    overslept: Duration,
    pub errors: [BTreeMap<ErrorKind, u64>; MANY],
    pub first_error: Option<OpError>,
}

impl Tally {
    /// Nothing counted yet. Everything large is allocated here.
    pub(crate) fn new(shape: Shape) -> Tally {
        let cut = shape.timing.and_then(Timing::segment);
        let segments = if cut.is_some() { WARM_UP_SEGMENTS as usize + 1 } else { 1 };
        let mut empty = Segment::default();
        for (kind, tally) in KINDS.iter().zip(&mut empty.kinds) {
            tally.client = shape.kinds.contains(kind).then(histogram);
        }
        let windows = shape.timing.map_or(0, windows_in);
        Tally {
            start: Nanos(0),
            end: Nanos(u64::MAX),
            now: Nanos(0),
            boundary: Nanos(u64::MAX),
            segment_start: Nanos(0),
            segment_end: Nanos(u64::MAX),
            window_end: Nanos(u64::MAX),
            segment: 0,
            segments: vec![empty; segments],
            windows: Vec::with_capacity(windows),
            in_flight: 0,
            area: 0,
            area_before_segment: 0,
            area_before_window: 0,
            silences: Silences::default(),
            on_time: Counts::default(),
            before_segment: Counts::default(),
            before_window: Counts::default(),
            late: Counts::default(),
            left_over: 0,
            overslept: Duration::ZERO,
            errors: Default::default(),
            first_error: None,
            shape,
        }
    }

    /// The trial begins at `start`.
    pub(crate) fn begin(&mut self, start: Nanos) {
        (self.start, self.now) = (start, start);
        self.silences.begin(start);
        if let Some(timing) = self.shape.timing {
            self.end = start + timing.length;
            self.segment_end = timing.segment().map_or(Nanos(u64::MAX), |long| start + long);
            self.window_end = start + timing.window;
            self.boundary = self.segment_end.min(self.window_end);
        }
    }

    /// When the trial ends; never, for unmeasured work.
    pub(crate) fn end(&self) -> Nanos {
        self.end
    }

    /// The trial ends at `at`, before its time.
    pub(crate) fn end_at(&mut self, at: Nanos) {
        self.end = self.end.min(at.max(self.now));
    }

    /// What completed so far and in time.
    #[inline]
    pub(crate) fn on_time(&self) -> &Counts {
        &self.on_time
    }

    /// An operation was handed over at `at`.
    #[inline]
    pub(crate) fn issued(&mut self, at: Nanos) {
        self.advance(at);
        if self.in_flight == 0 {
            self.silences.wait_from(at);
        }
        self.in_flight += 1;
    }

    /// An operation of a kind completed.
    #[inline]
    pub(crate) fn completed(&mut self, kind: usize, done: &Done) {
        // A completion may be found when more time is counted than its stamp: then it was counted
        // as in flight for too long.
        let early = self.now.0.saturating_sub(done.done.0);
        self.area = self.area.saturating_sub(early);
        self.advance(done.done);
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Err(error) = &done.result {
            self.failed(kind, error);
            return;
        }
        let gap = self.silences.completed(done, self.end);
        if done.issued < self.segment_start {
            self.crossed(kind, done);
        } else {
            self.segments[self.segment].kinds[kind].record(done);
        }
        let segment = &mut self.segments[self.segment];
        segment.longest_gap = segment.longest_gap.max(gap);
        if done.done > self.end {
            self.late(kind, done);
            return;
        }
        add(&mut self.on_time, kind, done.bytes);
    }

    /// An operation completed after the end.
    #[cold]
    fn late(&mut self, kind: usize, done: &Done) {
        add(&mut self.late, kind, done.bytes);
        let segment = &mut self.segments[self.segment];
        if done.issued < self.end {
            segment.kinds[kind].unfinished.add(done, self.end);
        }
    }

    /// Whether an operation that is due at `due` belongs to the trial.
    pub(crate) fn takes(&self, due: Nanos) -> bool {
        self.silences.takes(due, self.end)
    }

    /// Whether something is in flight, and nothing has completed since an instant.
    pub(crate) fn is_silent_since(&self, at: Nanos) -> bool {
        self.in_flight > 0 && self.silences.since(at)
    }

    /// Bytes of what is in flight were seen at `at`, while nothing completed.
    pub(crate) fn bytes_moved(&mut self, at: Nanos) {
        self.silences.bytes_moved(at, self.end);
    }

    /// How long operations completed after the end.
    pub(crate) fn answered_after_end(&self, now: Nanos) -> Duration {
        self.silences.answered_since(self.end, now)
    }

    /// How long it takes.
    pub(crate) fn length(&self) -> Duration {
        self.end.since(self.start)
    }

    /// So many operations of a kind that were due are not issued any more: they enter the histogram with the
    /// time that the first of them has waited.
    pub(crate) fn left_over(&mut self, kind: usize, due: Nanos, now: Nanos, count: u64) {
        let segment = self.segment_of(due);
        let client = &mut self.segments[segment].kinds[kind].client;
        let waited = now.0.saturating_sub(due.0);
        let recorded = u32::try_from(count).unwrap_or(u32::MAX);
        client.get_or_insert_with(histogram).saturating_record_n(waited, recorded);
        self.left_over += count;
    }

    /// A worker with nothing in flight woke up so much later than it wanted to.
    pub(crate) fn overslept(&mut self, by: Duration) {
        if by >= OVERSLEPT {
            self.overslept += by;
        }
    }

    /// The segment in which an instant lies, of those that have begun.
    fn segment_of(&self, at: Nanos) -> usize {
        let Some(long) = self.shape.timing.and_then(Timing::segment) else { return 0 };
        let number = at.since(self.start).as_nanos() / long.as_nanos().max(1);
        usize::try_from(number).unwrap_or(usize::MAX).min(self.segment)
    }

    /// An operation crossed the beginning of segments: its latency is that of the one in which it began.
    #[cold]
    fn crossed(&mut self, kind: usize, done: &Done) {
        let began = self.segment_of(done.issued);
        self.segments[began].kinds[kind].record(done);
        let Some(long) = self.shape.timing.and_then(Timing::segment) else { return };
        for number in began + 1..=self.segment {
            let start = self.start + long * number as u32;
            self.segments[number].kinds[kind].before.add(done, start);
        }
    }

    /// An operation failed; the first failure is kept in words.
    #[cold]
    pub(crate) fn failed(&mut self, kind: usize, error: &OpError) {
        *self.errors[kind].entry(error.kind.clone()).or_default() += 1;
        self.first_error.get_or_insert_with(|| error.clone());
    }

    /// Ends the count at `at`, or at the end of the trial if that is earlier.
    pub(crate) fn finish(mut self, at: Nanos) -> Finished {
        self.advance(at);
        let window = self.shape.timing.map_or(Duration::MAX, |timing| timing.window);
        if self.now.0 > self.window_end.0.saturating_sub(nanos(window)) {
            self.close_window();
        }
        self.close_segment();
        // Silence up to the end is a gap too; while something is in flight it goes on.
        let waits = self.in_flight > 0 && self.end < Nanos(u64::MAX);
        if self.silences.since(self.end) {
            let gap = self.silences.gap_to(if waits { at } else { self.now });
            let segment = &mut self.segments[self.segment];
            segment.longest_gap = segment.longest_gap.max(gap);
        }
        let (silences, in_stalls) = self.silences.finish(waits.then_some(at));
        Finished {
            start: self.start,
            measured: self.now - self.start,
            silences,
            in_stalls,
            left_over: self.left_over,
            overslept: self.overslept,
            segments: self.segments,
            windows: self.windows,
            on_time: self.on_time,
            late: self.late,
            errors: self.errors,
            first_error: self.first_error,
        }
    }

    /// Counts up to `at`. Time never goes back and stops at the end: a completion found late enters
    /// the segment and window that are open then.
    #[inline]
    fn advance(&mut self, at: Nanos) {
        let at = at.min(self.end);
        while at >= self.boundary && self.boundary < self.end {
            self.integrate(self.boundary);
            self.cross();
        }
        self.integrate(at);
    }

    #[inline]
    fn integrate(&mut self, at: Nanos) {
        if at > self.now {
            self.area += self.in_flight * (at.0 - self.now.0);
            self.now = at;
        }
    }

    /// Goes on to the next window, segment or both.
    #[cold]
    fn cross(&mut self) {
        if self.boundary == self.window_end {
            self.close_window();
            let window = self.shape.timing.map_or(Duration::MAX, |timing| timing.window);
            self.window_end = self.window_end + window;
        }
        if self.boundary == self.segment_end {
            self.close_segment();
            self.segment += 1;
            self.segment_start = self.boundary;
            self.segment_end = match self.shape.timing.and_then(Timing::segment) {
                Some(long) if self.segment < WARM_UP_SEGMENTS as usize => self.segment_end + long,
                _ => Nanos(u64::MAX),
            };
        }
        self.boundary = self.segment_end.min(self.window_end);
    }

    /// Keeps what the current window has come to.
    fn close_window(&mut self) {
        let counts = difference(&self.on_time, &self.before_window);
        let in_flight_ns = self.area.saturating_sub(self.area_before_window);
        self.windows.push(WindowCounts { counts, in_flight_ns });
        (self.before_window, self.area_before_window) = (self.on_time, self.area);
    }

    /// Keeps what the current segment has come to.
    fn close_segment(&mut self) {
        let done = difference(&self.on_time, &self.before_segment);
        self.before_segment = self.on_time;
        let segment = &mut self.segments[self.segment];
        // A correction for a completion found late may reach back over the boundary.
        segment.in_flight = self.area.saturating_sub(self.area_before_segment);
        self.area_before_segment = self.area;
        for (kind, count) in segment.kinds.iter_mut().zip(done) {
            (kind.operations, kind.bytes) = (count.operations, count.bytes);
        }
    }
}

/// What one worker has counted.
pub(crate) struct Finished {
    pub start: Nanos,
    /// From the start to the end of the count.
    pub measured: Duration,
    /// In their order; the last one has what came after the last completion.
    pub silences: Vec<Silence>,
    /// Operations that completed and were in flight or due in a stall.
    pub in_stalls: u64,
    /// Operations that were due and not issued.
    pub left_over: u64,
    /// Time by which the worker woke up too late with nothing in flight.
    pub overslept: Duration,
    pub segments: Vec<Segment>,
    pub windows: Vec<WindowCounts>,
    /// What completed up to the end, and after it.
    pub on_time: Counts,
    pub late: Counts,
    pub errors: [BTreeMap<ErrorKind, u64>; MANY],
    pub first_error: Option<OpError>,
}

/// Length of a warm-up segment: a 20th of the trial, at least 1 ns.
pub(crate) fn segment_length(duration: Duration) -> Duration {
    (duration / (2 * WARM_UP_SEGMENTS)).max(Duration::from_nanos(1))
}

fn windows_in(timing: Timing) -> usize {
    // A capacity only; bounded so that a strange window cannot ask for much memory.
    timing.length.as_nanos().div_ceil(timing.window.as_nanos().max(1)).min(1 << 12) as usize
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[inline]
fn add(counts: &mut Counts, kind: usize, bytes: u32) {
    let count = &mut counts[kind];
    count.operations += 1;
    count.bytes += u64::from(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Tag;

    #[test]
    fn a_completion_found_late_was_not_in_flight_since() {
        let (length, window) = (Duration::from_nanos(1000), Duration::from_nanos(100));
        let timing = Some(Timing { length, until_done: false, window });
        let mut tally = Tally::new(Shape { timing, kinds: &[OpKind::READ] });
        tally.begin(Nanos(0));
        let done = |issued, done| Done {
            tag: Tag(0),
            issued: Nanos(issued),
            sent: Nanos(issued),
            done: Nanos(done),
            bytes: 1,
            result: Ok(None),
        };
        tally.issued(Nanos(0));
        tally.issued(Nanos(20));
        tally.completed(0, &done(0, 15));
        tally.completed(0, &done(20, 40));
        let counted = tally.finish(Nanos(2000));
        assert_eq!(counted.measured, Duration::from_nanos(1000));
        assert_eq!(counted.segments.iter().map(|s| s.in_flight).sum::<u64>(), 15 + 20);
        assert_eq!(counted.windows.len(), 10);
        let first = Window::from(&counted.windows[0]);
        assert_eq!((first.count(OpKind::READ).operations, first.in_flight_ns), (2, 15 + 20));
    }
}
