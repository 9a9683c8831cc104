//! What the client itself can do: its part of a copy, without any storage.

use crate::content::Content;
use crate::dataset::FileSet;
use crate::op::{FileId, Span};
use plimsoll_model::Clock;
use std::num::NonZeroU16;
use std::time::Duration;

/// How long it is tried.
const TRIED: Duration = Duration::from_millis(50);
/// How long at most, where others have the processor meanwhile.
const LONGEST: Duration = Duration::from_secs(2);
/// What takes less tells nothing.
const SHORTEST: Duration = Duration::from_millis(5);

/// What all workers together do in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ceiling {
    pub bytes_per_second: f64,
    pub files_per_second: f64,
}

/// What is tried.
#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub files: &'a dyn FileSet,
    pub content: &'a Content,
    pub block: u32,
    pub clock: &'a dyn Clock,
    /// Whether content is compared, as that of a copy from the storage; else it is made.
    pub compares: bool,
}

/// What one worker did, in which time.
#[derive(Default)]
struct Done {
    bytes: u64,
    files: u64,
    busy: Duration,
}

impl Trial<'_> {
    /// Generates or compares files by so many workers at once; `None` where nothing comes of it that
    /// can be timed.
    pub fn ceiling(self, workers: NonZeroU16) -> Option<Ceiling> {
        let all = usize::from(workers.get());
        let done: Vec<Done> = std::thread::scope(|scope| {
            let begin = |worker| scope.spawn(move || self.work(worker, all));
            let begun: Vec<_> = (0..all).map(begin).collect();
            begun.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        let rate = |of: fn(&Done) -> u64| -> f64 {
            let busy = done.iter().filter(|done| done.busy >= SHORTEST);
            busy.map(|done| of(done) as f64 / done.busy.as_secs_f64()).sum()
        };
        let (bytes_per_second, files_per_second) =
            (rate(|done| done.bytes), rate(|done| done.files));
        (bytes_per_second > 0.0).then_some(Ceiling { bytes_per_second, files_per_second })
    }

    /// Every `step`th file, from `first`.
    fn work(self, first: usize, step: usize) -> Done {
        let mut done = Done::default();
        let mut writer = self.content.writer(self.block);
        let begun = self.clock.now();
        let (end, last) = (begun + TRIED, begun + LONGEST);
        loop {
            for file in (first..self.files.files()).step_by(step) {
                let size = self.files.size(file);
                let mut offset = 0;
                while offset < size {
                    let length = (size - offset).min(u64::from(self.block)) as u32;
                    let span = Span { file: FileId(0), offset, length, generation: file as u32 };
                    let begun = self.clock.now();
                    let bytes = writer.fill(&span);
                    let begun = if self.compares { self.clock.now() } else { begun };
                    if self.compares
                        && self.content.check(span.file, span.generation, offset, bytes).is_err()
                    {
                        return Done::default();
                    }
                    let ended = self.clock.now();
                    done.busy += ended.since(begun);
                    done.bytes += u64::from(length);
                    offset += u64::from(length);
                    if ended >= last || ended >= end && done.busy >= SHORTEST {
                        return done;
                    }
                }
                done.files += 1;
            }
            // Nothing that takes time, or a clock that stands still.
            if done.busy.is_zero() {
                return done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Manifest;
    use plimsoll_model::{DataClass, GeneratedData};
    use plimsoll_transport::SystemClock;

    #[test]
    fn what_the_client_can_do_is_of_bytes_that_are_made() {
        let data = GeneratedData {
            class: DataClass::Source,
            count: 300,
            mean_bytes: 5e3,
            scale: 1.0,
            seed: 1,
        };
        let files = Manifest::new(&data.dataset(), &data).unwrap();
        let content = Content::of_generated(1, true);
        let (clock, virtual_clock) = (SystemClock::new(), crate::VirtualClock::new());
        let trial =
            Trial { files: &files, content: &content, block: 4096, clock: &clock, compares: false };
        for compares in [false, true] {
            let trial = Trial { compares, ..trial };
            for workers in [1, 3].map(|n| NonZeroU16::new(n).unwrap()) {
                let found = trial.ceiling(workers).expect("it can be timed");
                let mean = found.bytes_per_second / found.files_per_second;
                // Not all files were begun as often when the time was over.
                assert!((1e3..25e3).contains(&mean), "{found:?}");
            }
        }
        let stands_still = Trial { clock: &virtual_clock, ..trial };
        assert_eq!(stands_still.ceiling(NonZeroU16::MIN), None, "no time went by");
    }
}
