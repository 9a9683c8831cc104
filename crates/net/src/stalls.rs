//! Times in which no byte arrived on any TCP stream of a trial, although there were bytes to send. Pure: no input or
//! output.

use crate::report::{Row, Stream};
use plimsoll_model::{Flag, PartResult, Stall, StallPhase};

/// Nanoseconds of a second.
const NANOSECONDS: f64 = 1e9;
/// A stall is at least this long, and at least so many times the usual gap between two calls that took bytes.
const LEAST_NS: u64 = 1_000_000_000;
const GAPS: f64 = 20.0;
/// Share of the calls before which the gap is not longer than the usual one.
const USUAL: f64 = 0.95;

/// The stalls of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stalls {
    /// Begin and end of each, in nanoseconds since the start of the streams.
    spans: Vec<(u64, u64)>,
    /// The time that counts.
    measured: (u64, u64),
}

impl Stalls {
    /// The times in which none of the streams got a byte. An interval in which some arrived is in none of them, so
    /// they are up to two intervals longer than known here.
    pub fn new<'a>(received: impl Iterator<Item = &'a Stream>) -> Stalls {
        let mut busy: Vec<(u64, u64)> = Vec::new();
        let mut gaps: Vec<(f64, u64)> = Vec::new();
        let (mut end, mut measured) = (0, (0, 0));
        for stream in received {
            let (mut before, mut last_busy) = (Row::default(), 0);
            for row in sums(stream) {
                if row.bytes > before.bytes {
                    let calls = row.operations.saturating_sub(before.operations).max(1);
                    busy.push((before.at_ns, row.at_ns));
                    gaps.push(((row.at_ns - last_busy) as f64 / calls as f64, calls));
                    last_busy = row.at_ns;
                }
                before = row;
            }
            end = end.max(before.at_ns);
            let whole = stream.rows.last().map_or(0, |row| row.at_ns);
            measured = (stream.lead_ns(), whole).max(measured);
        }
        let least = LEAST_NS.max((GAPS * usual(gaps)) as u64);
        busy.sort_unstable();
        let mut spans = Vec::new();
        let mut silent_from = 0;
        for (from, until) in busy.into_iter().chain([(end, end)]) {
            if from.saturating_sub(silent_from) >= least {
                spans.push((silent_from, from));
            }
            silent_from = silent_from.max(until);
        }
        Stalls { spans, measured }
    }

    /// Their time, in seconds.
    pub fn seconds(&self) -> f64 {
        self.within(0, u64::MAX)
    }

    /// Their time in the part of the trial that counts, in seconds.
    pub fn measured_seconds(&self) -> f64 {
        self.within(self.measured.0, self.measured.1)
    }

    fn within(&self, from: u64, until: u64) -> f64 {
        let overlap = |span: &(u64, u64)| span.1.min(until).saturating_sub(span.0.max(from));
        self.spans.iter().map(overlap).sum::<u64>() as f64 / NANOSECONDS
    }

    /// All of them, as the result of a part has them.
    pub fn list(&self) -> Vec<Stall> {
        let phase = |from: u64| match (from < self.measured.0, from < self.measured.1) {
            (true, _) => StallPhase::WarmUp,
            (false, true) => StallPhase::Measured,
            (false, false) => StallPhase::Drain,
        };
        let stall = |&(from, until): &(u64, u64)| Stall {
            phase: phase(from),
            start_seconds: from as f64 / NANOSECONDS,
            seconds: (until - from) as f64 / NANOSECONDS,
        };
        self.spans.iter().map(stall).collect()
    }
}

/// What a stream had got by the end of each interval, and by its end: after the last interval it waits for bytes that
/// are still on the way.
fn sums(stream: &Stream) -> impl Iterator<Item = Row> {
    let last = stream.rows.last().copied();
    let total = |key: &str| stream.number(key).map(|number| number as u64);
    let end = last.zip(total("total_elapsed_ns")).zip(total("total_bytes"));
    let end = end.map(|((last, at_ns), bytes)| Row { at_ns, bytes, ..last });
    let end = end.filter(|end| last.is_some_and(|last| end.at_ns > last.at_ns));
    stream.rows.iter().copied().chain(end)
}

/// The gap that is not exceeded before most calls, in nanoseconds; 0 without a call.
fn usual(mut gaps: Vec<(f64, u64)>) -> f64 {
    gaps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = gaps.iter().map(|(_, calls)| *calls as f64).sum();
    let mut passed = 0.0;
    let reaches = |(_, calls): &&(f64, u64)| {
        passed += *calls as f64;
        passed >= USUAL * all
    };
    gaps.iter().find(reaches).map_or(0.0, |(gap, _)| *gap)
}

/// The flag of a trial whose parts stalled.
pub(crate) fn flags(parts: &[PartResult]) -> Vec<Flag> {
    let all = parts.iter().flat_map(|part| &part.stalls);
    let longest = all.map(|stall| stall.seconds).reduce(f64::max);
    longest.map(|seconds| Flag::LongGap { seconds }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A stream that counts after 200 ms, with sums of bytes and calls at each tenth of a second.
    fn stream(sums: &[(u64, u64)], total: Option<(u64, u64)>) -> Stream {
        let rows: Vec<Value> = sums
            .iter()
            .enumerate()
            .map(|(number, (bytes, calls))| json!([(number + 1) * 100_000_000, bytes, calls]))
            .collect();
        let elapsed = (sums.len() as u64 * 100_000_000).saturating_sub(200_000_000);
        let mut section = json!({"section": "net_stream", "stream_number": 0, "direction": "receive",
            "outcome": "done", "elapsed_ns": elapsed});
        if let Some((ns, bytes)) = total {
            section["total_elapsed_ns"] = ns.into();
            section["total_bytes"] = bytes.into();
        }
        let intervals = json!({"section": "net_intervals", "stream_number": 0,
            "columns": ["at_ns", "bytes", "calls_count"], "rows": rows});
        let mut report = Report::default();
        report.take(&section, 0).unwrap();
        report.take(&intervals, 0).unwrap();
        report.streams.remove(0)
    }

    /// Sums of a stream that gets 1000 bytes by 100 calls in each tenth of a second, except in these.
    fn except(count: usize, silent: impl Fn(usize) -> bool) -> Vec<(u64, u64)> {
        let mut sum = (0, 0);
        let next = |number: usize| {
            if !silent(number) {
                sum = (sum.0 + 1000, sum.1 + 100);
            }
            sum
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn a_second_without_a_byte_on_any_stream_is_a_stall() {
        let all = |streams: &[Stream]| Stalls::new(streams.iter());
        let one = stream(&except(50, |i| (10..25).contains(&i)), None);
        let found = all(std::slice::from_ref(&one));
        let phase = StallPhase::Measured;
        assert_eq!(found.list(), [Stall { phase, start_seconds: 1.0, seconds: 1.5 }]);
        assert_eq!((found.seconds(), found.measured_seconds()), (1.5, 1.5));
        // Another stream went on for a part of it: 0.9 s are too short.
        let other = stream(&except(50, |i| (16..30).contains(&i)), None);
        assert_eq!(all(&[one.clone(), other]).list(), []);
        let other = stream(&except(50, |i| (14..30).contains(&i)), None);
        let both = all(&[one, other]).list();
        assert_eq!(both, [Stall { phase, start_seconds: 1.4, seconds: 1.1 }]);
        assert_eq!(all(&[stream(&except(50, |i| i % 10 > 0), None)]).list(), []);
        assert_eq!(all(&[]).list(), []);
    }

    #[test]
    fn what_never_goes_on_counts_to_the_end_of_the_waiting() {
        let sums = except(30, |i| i >= 12);
        let found = Stalls::new([stream(&sums, Some((4_000_000_000, 12_000)))].iter());
        let phase = StallPhase::Measured;
        assert_eq!(found.list(), [Stall { phase, start_seconds: 1.2, seconds: 2.8 }]);
        assert_eq!((found.seconds(), found.measured_seconds()), (2.8, 1.8));
        // The rest came late.
        let found = Stalls::new([stream(&sums, Some((4_000_000_000, 13_000)))].iter());
        assert_eq!(found.list(), [Stall { phase, start_seconds: 1.2, seconds: 1.8 }]);
        // Nothing at all arrived.
        let found = Stalls::new([stream(&[(0, 0); 30], Some((4_000_000_000, 0)))].iter());
        let phase = StallPhase::WarmUp;
        assert_eq!(found.list(), [Stall { phase, start_seconds: 0.0, seconds: 4.0 }]);
    }

    /// A sender on a path of 0.5 Mbit/s hands over a block every two seconds.
    #[test]
    fn a_slow_stream_does_not_stall() {
        let mut sum = (16_000_000, 16);
        let rows = (1..=100).map(|tenth: u64| {
            if tenth.is_multiple_of(20) {
                sum = (sum.0 + 131_072, sum.1 + 1);
            }
            sum
        });
        let rows: Vec<(u64, u64)> = rows.collect();
        assert_eq!(Stalls::new([stream(&rows, None)].iter()).list(), []);
    }

    #[test]
    fn the_longest_stall_is_flagged() {
        let part = |lengths: &[f64]| PartResult {
            stalls: lengths
                .iter()
                .map(|&seconds| Stall { phase: StallPhase::Measured, start_seconds: 0.0, seconds })
                .collect(),
            ..PartResult::default()
        };
        assert_eq!(flags(&[part(&[]), part(&[])]), []);
        let found = flags(&[part(&[1.5]), part(&[1.0, 2.5])]);
        assert_eq!(found, [Flag::LongGap { seconds: 2.5 }]);
    }

    proptest! {
        /// Stalls are in order, do not overlap, are long enough, and no byte arrived in them.
        #[test]
        fn stalls_are_times_without_a_byte(steps in prop::collection::vec(0_u64..3, 0..80)) {
            let mut sum = (0, 0);
            let rows: Vec<(u64, u64)> = steps
                .iter()
                .map(|step| {
                    sum = (sum.0 + (step / 2) * 100, sum.1 + (step / 2) * 50);
                    sum
                })
                .collect();
            let stream = stream(&rows, None);
            let found = Stalls::new([stream].iter());
            let mut last = 0;
            for (from, until) in &found.spans {
                prop_assert!(*from >= last && until - from >= LEAST_NS);
                last = *until;
                let (from, until) = (from / 100_000_000, until / 100_000_000);
                prop_assert!(steps[from as usize..until as usize].iter().all(|step| *step < 2));
            }
            prop_assert!(found.measured_seconds() <= found.seconds() + 1e-9);
        }
    }
}
