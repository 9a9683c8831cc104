//! A slide show: photos in the files that patterns read, one after the other.

use super::test_files::{Endless, TestFiles};
use super::{Asks, LaidOut, NotGood, Point, StorageJob, Workspace};
use crate::op::{Done, Op, Span};
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Cause, Failure, Flag, Measure, Nanos, OpKind, SlidesJob};
use std::time::Duration;

const ENDLESS: Endless = Endless {
    tried: "show slides without a time limit",
    on: "the photos",
    happened: "slides change until they are stopped",
};

/// Photos on the files that patterns read.
pub(crate) struct SlidesRun {
    job: SlidesJob,
    /// Those of the point that is measured.
    files: Vec<LaidOut>,
    length: Duration,
    figures: Vec<(Measure, f64)>,
}

impl SlidesRun {
    pub fn new(job: &SlidesJob) -> Self {
        let (files, figures) = Default::default();
        SlidesRun { job: job.clone(), files, length: Duration::ZERO, figures }
    }
}

impl StorageJob for SlidesRun {
    type Source = SlidesSource;

    fn claim(&self, files: &mut TestFiles) {
        files.claim_reads(self.job.size.0, self.job.file_bytes());
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.figures.clear();
        self.length = point.length;
        self.files = TestFiles::of_endless(at, point, &ENDLESS)?;
        Ok(())
    }

    fn asks(&self) -> Asks {
        let block = u32::try_from(self.job.block.0).unwrap_or(u32::MAX);
        Asks { block, verify: false, kinds: &[OpKind::READ] }
    }

    fn source(&self, _: &Point, worker: u16, _: &dyn Lane) -> Result<SlidesSource, Failure> {
        let files = self.files.len().max(1) as u64;
        let SlidesJob { photo, block, size, shown_seconds, ahead } = self.job;
        let in_file = size.0 / files / photo.0.max(1);
        let block = u32::try_from(block.0).ok().filter(|block| *block > 0);
        let Some(block) = block.filter(|_| in_file > 0 && !self.files.is_empty()) else {
            let happened = format!("its files are smaller than a photo of {photo}");
            let next = "Give a larger --size.";
            return Err(Failure::new(Cause::Usage, "show slides")
                .on("--size")
                .happened(happened)
                .next(next));
        };
        Ok(SlidesSource {
            files: self.files.clone(),
            photo: photo.0,
            block,
            in_file,
            shown: Duration::try_from_secs_f64(shown_seconds).unwrap_or(Duration::MAX),
            ahead,
            begun: None,
            number: u64::from(worker),
            due: Nanos(0),
            from: Nanos(0),
            offset: 0,
            in_flight: 0,
            times: Vec::new(),
        })
    }

    fn finish(
        &mut self,
        sources: Vec<SlidesSource>,
        _: &mut Workspace<'_>,
        _: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        let length = self.length;
        let times = sources.into_iter().flat_map(|source| source.until(length));
        let times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
        let count = times.len() as f64;
        if !times.is_empty() {
            let late = times.iter().filter(|time| **time > SlidesJob::LATE_SECONDS).count();
            self.figures = vec![
                (SlidesJob::PHOTO_TIME, times.iter().sum::<f64>() / count),
                (SlidesJob::PHOTO_LONGEST, times.iter().copied().fold(0.0, f64::max)),
                (SlidesJob::LATE, late as f64 / count),
                (SlidesJob::PHOTOS, count),
            ];
        }
        Ok(Vec::new())
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        self.figures.clone()
    }
}

/// One slide show: endless, until the driver's time is up.
pub(crate) struct SlidesSource {
    files: Vec<LaidOut>,
    photo: u64,
    block: u32,
    /// Photos in each file.
    in_file: u64,
    /// How long each is on the screen.
    shown: Duration,
    ahead: bool,
    begun: Option<Nanos>,
    /// Number of the photo that comes next.
    number: u64,
    /// When the slide changes to it, and from when on it is fetched.
    due: Nanos,
    from: Nanos,
    /// Its bytes that were requested.
    offset: u64,
    in_flight: u32,
    /// When the slide changed to each photo, and the time from then to the photo.
    times: Vec<(Nanos, Duration)>,
}

impl SlidesSource {
    /// The times of all photos that were due in so long. That of the last is at least the time until then: one that may
    /// still be in time is left out, unless it is the only one.
    fn until(self, length: Duration) -> Vec<Duration> {
        let Some(begun) = self.begun else { return Vec::new() };
        let end = begun + length;
        // What was fetched ahead may be due later.
        let due = self.times.iter().filter(|(due, _)| *due < end);
        let mut times: Vec<Duration> = due.map(|(_, time)| *time).collect();
        let waits = end.since(self.due.min(end));
        let is_late = waits.as_secs_f64() > SlidesJob::LATE_SECONDS;
        if self.due < end && (is_late || times.is_empty()) {
            times.push(waits);
        }
        times
    }

    fn request(&mut self) -> Op {
        let files = self.files.len() as u64;
        let LaidOut { file, generation } = self.files[(self.number % files) as usize];
        let place = self.number / files % self.in_file * self.photo;
        let length = u64::from(self.block).min(self.photo - self.offset) as u32;
        let span = Span { file, offset: place + self.offset, length, generation };
        self.offset += u64::from(length);
        self.in_flight += 1;
        Op::Read(span)
    }
}

impl OperationSource for SlidesSource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.begun.is_none() {
            (self.begun, self.due, self.from) = (Some(now), now, now);
        }
        match self.offset < self.photo {
            true if now < self.from => Step::WaitUntil(self.from),
            true => Step::Issue(self.request()),
            false => Step::WaitUntil(Nanos(u64::MAX)),
        }
    }

    fn completed(&mut self, _: &Op, done: &Done) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.offset < self.photo || self.in_flight > 0 {
            return;
        }
        self.times.push((self.due, done.done.since(self.due)));
        // It is on the screen from now on, or from when it was due if it was there before.
        let on_screen = done.done.max(self.due);
        self.due = on_screen + self.shown;
        self.from = if self.ahead { on_screen } else { self.due };
        (self.number, self.offset) = (self.number + 1, 0);
    }
}
