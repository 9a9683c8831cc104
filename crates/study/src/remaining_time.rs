//! How long a study still takes, by what was measured so far: the change-overs of the runs before the first block,
//! the trials and the time between blocks, up to the cap; and while a trial runs that ends with its work, by how much
//! of that is done.

use plimsoll_explain::Forecast;
use plimsoll_model::{Cell, Length, OpKind, Window, Workload};
use std::collections::BTreeMap;

/// What a file costs beside its bytes, in bytes. The files of a dataset are much alike, and little depends
/// on it.
const BYTES_PER_FILE: f64 = 256e3;
/// Seconds from one estimate to the next.
const EVERY: f64 = 0.2;

/// The work of all files that a trial moves whole; `None` where its length does not follow from that.
fn work(workload: &Workload) -> Option<f64> {
    let work = workload.file_work()?;
    let bytes = if work.all { work.bytes.0 as f64 } else { 0.0 };
    Some(workload.parts.len() as f64 * (bytes + BYTES_PER_FILE * work.files as f64))
}

/// Whether a trial's length is known before one was measured: what is measured of a host ends by itself after about
/// as long as it may last.
fn has_length(workload: &Workload) -> bool {
    matches!(workload.length, Length::For { .. })
        || workload.subject().is_some_and(|kind| kind.info().has_typical_length)
}

/// What follows a trial.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Later {
    /// Seconds of what was measured before, or has a length of its own.
    pub seconds: f64,
    /// The work of what was not.
    pub work: f64,
    /// Seconds and work of all trials so far.
    pub so_far: (f64, f64),
}

/// What was measured so far of the time that a study takes.
#[derive(Default)]
pub(crate) struct Took {
    /// By workload: of its trials, with all that comes before and after each.
    trials: BTreeMap<u16, Times>,
    /// Before the first trials of blocks.
    before_blocks: Times,
    /// Of points beyond the length that is planned for them.
    change_overs: Times,
}

/// So many times, and their sum.
#[derive(Clone, Copy, Default)]
struct Times {
    seconds: f64,
    count: u32,
}

impl Times {
    fn add(&mut self, count: u32, seconds: f64) {
        self.count += count;
        self.seconds += seconds;
    }

    /// 0 before there is one.
    fn mean(self) -> f64 {
        self.seconds / f64::from(self.count.max(1))
    }
}

/// What is still to be done after a trial, and when.
pub(crate) struct Ahead<'a> {
    pub workloads: &'a [Workload],
    pub forecast: &'a Forecast,
    /// The rest of this block.
    pub rest: &'a [Cell],
    /// All of it: blocks to come are like it, less what is decided.
    pub block: &'a [Cell],
    /// When the trial begins, in seconds of the study.
    pub now: f64,
    /// No block is begun that would end later.
    pub cap: f64,
}

impl Took {
    /// One more trial.
    pub fn add(&mut self, number: u16, workload: &Workload, seconds: f64) {
        self.trials.entry(number).or_default().add(1, seconds);
        if let Length::For { .. } = workload.length {
            self.changed_over(workload.points(), seconds - workload.trial_seconds());
        }
    }

    /// What lay between so many points.
    pub fn changed_over(&mut self, points: usize, seconds: f64) {
        self.change_overs.add(points as u32, seconds.max(0.0));
    }

    /// What came before the first trial of a block.
    pub fn before_block(&mut self, seconds: f64) {
        self.before_blocks.add(1, seconds);
    }

    /// Seconds of a trial: as those took that were measured, else its length and what lay between others; `None`
    /// where it lasts until its files are done, and none has.
    fn trial(&self, number: u16, workload: &Workload) -> Option<f64> {
        match self.trials.get(&number) {
            Some(measured) => Some(measured.mean()),
            None if work(workload).is_some() || !has_length(workload) => None,
            None => {
                let change_overs = workload.points() as f64 * self.change_overs.mean();
                Some(workload.trial_seconds() + change_overs)
            }
        }
    }

    /// Seconds until the study ends, where a trial of this workload begins now; `None` before its time is known.
    pub fn seconds_left(&self, number: u16, workload: &Workload, later: &Later) -> Option<f64> {
        let this = self.trial(number, workload)?;
        let others = match later.work > 0.0 {
            // What files took so far tells what others take.
            true => later.work * later.so_far.0 / later.so_far.1,
            false => 0.0,
        };
        Some(this + later.seconds + others).filter(|seconds| seconds.is_finite())
    }

    /// What follows a trial: the rest of its block, and the blocks after it that are needed and end before the cap.
    pub fn later(&self, number: u16, ahead: &Ahead<'_>) -> Later {
        let mut later = Later::default();
        // Of each workload: blocks after this one, and the seconds of its trials in one.
        let mut blocks: Vec<(u64, f64)> = Vec::new();
        let mut this = 0.0;
        for (of, workload) in (0..).zip(ahead.workloads) {
            let trials = |cells: &[Cell]| cells.iter().filter(|c| c.workload == of).count() as f64;
            let more = ahead.forecast.blocks_of(of).saturating_sub(1);
            match (self.trial(of, workload), work(workload)) {
                (Some(seconds), known) => {
                    later.seconds += trials(ahead.rest) * seconds;
                    blocks.push((more, trials(ahead.block) * seconds));
                    this = if of == number { seconds } else { this };
                    if let (Some(work), Some(took)) = (known, self.trials.get(&of)) {
                        later.so_far.0 += took.seconds;
                        later.so_far.1 += f64::from(took.count) * work;
                    }
                }
                (None, work) => {
                    let trials = trials(ahead.rest) + more as f64 * trials(ahead.block);
                    later.work += trials * work.unwrap_or(0.0);
                }
            }
        }
        later.seconds +=
            self.blocks_until(&mut blocks, ahead.cap - ahead.now - this - later.seconds);
        later
    }

    /// Seconds of the blocks that are needed and end within so many seconds.
    fn blocks_until(&self, needed: &mut [(u64, f64)], within: f64) -> f64 {
        needed.sort_by_key(|(blocks, _)| *blocks);
        let (mut seconds, mut done) = (0.0, 0);
        // Between two of these numbers all blocks are alike.
        for at in 0..needed.len() {
            let alike = (needed[at].0 - done) as f64;
            let trials: f64 = needed[at..].iter().map(|(_, seconds)| seconds).sum();
            let each = trials + self.before_blocks.mean();
            if alike == 0.0 || each <= 0.0 {
                continue;
            }
            let fitting = ((within - seconds) / each).floor().clamp(0.0, alike);
            seconds += fitting * each;
            if fitting < alike {
                break;
            }
            done = needed[at].0;
        }
        seconds
    }
}

/// The estimate while one trial runs.
pub(crate) struct RemainingTime {
    work: f64,
    /// Whether all files are moved; else most are only looked at.
    all: bool,
    later: Later,
    done: f64,
    /// When files began to be done, in seconds since the first operation, and what was done by then: what is
    /// done of directories before takes other time.
    first: Option<(f64, f64)>,
    next: f64,
}

impl RemainingTime {
    /// Before a trial; `None` where its length does not follow from its work.
    pub fn new(workload: &Workload, later: Later) -> Option<RemainingTime> {
        let all = workload.file_work()?.all;
        Some(RemainingTime {
            work: work(workload)?,
            all,
            later,
            done: 0.0,
            first: None,
            next: EVERY,
        })
    }

    /// Another window has ended, so many seconds after the first operation: seconds left of the study, from
    /// time to time and once they are known.
    pub fn window(&mut self, at: f64, window: &Window) -> Option<f64> {
        let files = match self.all {
            true => &[OpKind::CLOSE, OpKind::PUT, OpKind::GET][..],
            false => &[OpKind::LOOKUP],
        };
        let files: u64 = files.iter().map(|kind| window.count(*kind).operations).sum();
        let bytes = if self.all { window.total().bytes as f64 } else { 0.0 };
        self.done += bytes + BYTES_PER_FILE * files as f64;
        if self.done > 0.0 && self.first.is_none() {
            self.first = Some((at, self.done));
        }
        let (began, before) = self.first?;
        let rate = (self.done - before) / (at - began);
        if at < self.next || !(rate.is_finite() && rate > 0.0) {
            return None;
        }
        self.next = at + EVERY;
        let Later { seconds, work, so_far } = self.later;
        let others = (so_far.0 + at) / (so_far.1 + self.done);
        Some((self.work - self.done).max(0.0) / rate + seconds + work * others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::{Bytes, MIB};
    use plimsoll_model::{CopyJob, DataClass, GeneratedData, Length, Method, Part, Transfer};
    use std::num::NonZeroU16;

    fn workload(class: DataClass, transfer: Transfer) -> Workload {
        let (count, mean_bytes) = class.files_and_mean_bytes();
        let dataset = GeneratedData { class, count, mean_bytes, scale: 1.0, seed: 1 }.dataset();
        let (method, block) = (Method::Rsync, Bytes(MIB));
        let job = CopyJob { dataset, transfer, method, block, verify: false }.into();
        let length = Length::UntilDone { at_most_seconds: 7200.0 };
        Workload::new(Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN), length)
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("it is known");
        assert!((found / expected - 1.0).abs() < 0.01, "{found}, not {expected}");
    }

    /// 56,206 files at 562.06 a second, after five seconds in which directories were made.
    #[test]
    fn a_source_tree_takes_as_long_as_its_files_at_their_rate() {
        let mut left =
            RemainingTime::new(&workload(DataClass::Source, Transfer::Up), Later::default())
                .unwrap();
        let made = Window::only(OpKind::MAKE_DIRECTORY, 730, 0);
        for second in 1..=5 {
            assert_eq!(left.window(f64::from(second), &made), None);
        }
        let mut files = Window::only(OpKind::CLOSE, 281, 0);
        files.add(&Window::only(OpKind::WRITE, 281, 281 * 11_567));
        files.add(&Window::only(OpKind::LOOKUP, 281, 0));
        for half in 1..=200 {
            let found = left.window(5.0 + f64::from(half) / 2.0, &files);
            let expected = 100.0 - f64::from(half) / 2.0;
            match half {
                1 => assert_eq!(found, None, "no rate yet"),
                _ if half < 196 => near(found, expected),
                _ => assert!(found.unwrap() < 2.1),
            }
        }
    }

    #[test]
    fn a_film_takes_as_long_as_its_bytes_and_what_follows_it_is_added() {
        let film = workload(DataClass::Movies, Transfer::Down);
        let one = work(&film).unwrap();
        let later = Later { seconds: 30.0, work: 2.0 * one, so_far: (0.0, 0.0) };
        let mut left = RemainingTime::new(&film, later).unwrap();
        let tenth = Window::only(OpKind::READ, 93, 92_867_075);
        assert_eq!(left.window(1.0, &tenth), None, "no rate yet");
        near(left.window(2.0, &tenth), 8.0 + 30.0 + 20.0);
        // The first one was slower, and so are those that were never measured.
        let so_far = (3.0 * 10.0, one);
        let mut left = RemainingTime::new(&film, Later { so_far, ..later }).unwrap();
        left.window(1.0, &tenth);
        near(left.window(2.0, &tenth), 8.0 + 30.0 + 2.0 * 32.0 / 1.2);
    }

    #[test]
    fn of_an_update_files_are_looked_at() {
        let mut left =
            RemainingTime::new(&workload(DataClass::Source, Transfer::Update), Later::default())
                .unwrap();
        let looked = Window::only(OpKind::LOOKUP, 5620, 0);
        left.window(1.0, &looked);
        near(left.window(2.0, &looked), 8.0);
        let pattern = plimsoll_model::PatternJob::named("random-read", Bytes(MIB)).unwrap().into();
        let length = Length::For { seconds: 2.0, warm_up_seconds: 0.2 };
        let part = Part::closed(pattern, NonZeroU16::MIN, NonZeroU16::MIN);
        assert!(RemainingTime::new(&Workload::new(part, length), Later::default()).is_none());
    }
}
