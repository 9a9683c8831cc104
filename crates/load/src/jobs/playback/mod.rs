//! Films: each stream reads files of its own by the requests of its player, as fast as it can or as it plays.

mod buffer;
mod demand;
mod supply;

use super::test_files::{Endless, TestFiles};
use super::{Asks, LaidOut, NotGood, Point, StorageJob, Workspace};
use crate::op::{Done, Op, Span};
use crate::random::mix;
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use buffer::Playing;
use plimsoll_model::{
    BufferSeries, Cause, Failure, Flag, Measure, Nanos, OpKind, Pace, PlaybackJob,
};
use std::time::Duration;
use supply::Supply;

/// Shortest time between two samples of a buffer.
const SAMPLED_EVERY: Duration = Duration::from_millis(250);

const ENDLESS: Endless = Endless {
    tried: "play without a time limit",
    on: "the films",
    happened: "films play until they are stopped",
};

/// Films on the files that patterns read.
pub(crate) struct PlaybackRun {
    job: PlaybackJob,
    /// Those of the point that is measured.
    files: Vec<LaidOut>,
    figures: Vec<(Measure, f64)>,
    buffer: Option<BufferSeries>,
}

impl PlaybackRun {
    pub fn new(job: &PlaybackJob) -> Self {
        let (files, figures) = Default::default();
        PlaybackRun { job: job.clone(), files, figures, buffer: None }
    }
}

impl StorageJob for PlaybackRun {
    type Source = StreamSource;

    fn claim(&self, files: &mut TestFiles) {
        files.claim_reads(self.job.size.0, self.job.file_bytes());
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.figures.clear();
        self.buffer = None;
        self.files = TestFiles::of_endless(at, point, &ENDLESS)?;
        Ok(())
    }

    fn asks(&self) -> Asks {
        let block = u32::try_from(self.job.player.request.0).unwrap_or(u32::MAX);
        Asks { block, verify: false, kinds: &[OpKind::READ] }
    }

    fn source(&self, point: &Point, worker: u16, _: &dyn Lane) -> Result<StreamSource, Failure> {
        let request = self.job.player.request.0;
        let file_bytes = match self.files.len() as u64 {
            // Of a single file in place all is read.
            files @ 1.. => self.job.size.0 / files / request * request,
            0 => 0,
        };
        let length = u32::try_from(request).ok().filter(|_| request > 0 && file_bytes > 0);
        let length = length.ok_or_else(|| {
            let happened = format!("its files are too small for requests of {request} bytes");
            let next = "Give a larger --size.";
            Failure::new(Cause::Usage, "play films").on("--size").happened(happened).next(next)
        })?;
        let (streams, files) = (usize::from(point.workers.get()), self.files.len());
        let turn = usize::from(worker) % files;
        // More streams than files share them, each from a place of its own.
        let shared_by = streams.div_ceil(files) as u64;
        let place = (usize::from(worker) / files) as u64;
        let offset = file_bytes / request * place / shared_by.max(1) * request;
        let playing = match self.job.pace {
            Pace::Uncapped => None,
            Pace::Played => {
                let playing = Playing::new(&self.job.film, &self.job.player);
                Some(playing.sampled(SAMPLED_EVERY, point.length))
            }
        };
        let every = self.job.seek_every_seconds.filter(|_| playing.is_some());
        let every = every.and_then(|every| Duration::try_from_secs_f64(every).ok());
        let seed = point.seed.wrapping_add(u64::from(worker) << 32);
        let seeks = every.map(|every| Seeks { every, seed, next: Nanos(u64::MAX), number: 0 });
        Ok(StreamSource {
            files: self.files.clone(),
            turn,
            file_bytes,
            length,
            offset,
            begun: false,
            supply: Supply::new(point.warm_up, point.length),
            uncapped: Playing::new(&self.job.film, &self.job.player),
            playing,
            next_number: 0,
            in_order: 0,
            early: Vec::new(),
            in_flight: Vec::new(),
            seeks,
        })
    }

    fn finish(
        &mut self,
        sources: Vec<StreamSource>,
        _: &mut Workspace<'_>,
        _: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        (self.figures, self.buffer) = figures(&self.job, sources);
        Ok(Vec::new())
    }

    fn buffer(&self) -> Option<BufferSeries> {
        self.buffer.clone()
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        self.figures.clone()
    }
}

/// Figures of all streams together, most of them those of the worst, and its buffer.
fn figures(
    job: &PlaybackJob,
    sources: Vec<StreamSource>,
) -> (Vec<(Measure, f64)>, Option<BufferSeries>) {
    let mut buffer = None;
    let longest_pause = sources.iter().map(|source| source.supply.longest_pause().as_secs_f64());
    let mut all = vec![(PlaybackJob::LONGEST_PAUSE, longest_pause.fold(0.0, f64::max))];
    match job.pace {
        Pace::Uncapped => {
            let rates = sources.iter().map(|source| source.supply.rate());
            let worst = rates.fold(f64::INFINITY, f64::min);
            if worst.is_finite() {
                all.push((PlaybackJob::SUPPLY, worst));
                all.push((PlaybackJob::HEADROOM, worst / job.film.required_rate));
            }
            // Of a stream that never showed a frame there is no time.
            let first = sources.iter().map(|source| source.uncapped.first_frame());
            all.extend(last_of(first));
        }
        Pace::Played => {
            let played: Vec<Playing> =
                sources.into_iter().filter_map(StreamSource::into_played).collect();
            let stalls = || played.iter().map(|playing| playing.stalls());
            let count: u64 = stalls().map(|stalls| stalls.count).sum();
            let longest = stalls().map(|stalls| stalls.longest.as_secs_f64()).fold(0.0, f64::max);
            let share = |playing: &Playing| {
                let stalled = playing.stalls().all.as_secs_f64();
                stalled / (stalled + playing.played()).max(1e-9)
            };
            let stalled = played.iter().map(share).fold(0.0, f64::max);
            all.push((PlaybackJob::STALLS, count as f64));
            all.push((PlaybackJob::LONGEST_STALL, longest));
            all.push((PlaybackJob::STALLED, stalled));
            all.push((PlaybackJob::PLAYED, played.iter().map(Playing::played).sum()));
            all.extend(seeks(&played));
            all.extend(last_of(played.iter().map(Playing::first_frame)));
            buffer = least(&played);
        }
    }
    (all, buffer)
}

/// The buffer of the stream that has the least at each time.
fn least(played: &[Playing]) -> Option<BufferSeries> {
    let mut streams = played.iter().filter_map(Playing::samples);
    let (every, first) = streams.next()?;
    let mut seconds = first.to_vec();
    for (_, other) in streams {
        seconds.truncate(other.len());
        for (least, other) in seconds.iter_mut().zip(other) {
            *least = least.min(*other);
        }
    }
    // Milliseconds are more than a chart shows.
    seconds.iter_mut().for_each(|seconds| *seconds = (1e3 * *seconds).round() / 1e3);
    Some(BufferSeries { every_seconds: every.as_secs_f64(), seconds })
}

/// Times from seeks to pictures, of all streams.
fn seeks(played: &[Playing]) -> Vec<(Measure, f64)> {
    let times: Vec<f64> =
        played.iter().flat_map(Playing::seeks).map(Duration::as_secs_f64).collect();
    if times.is_empty() {
        return Vec::new();
    }
    let count = times.len() as f64;
    vec![
        (PlaybackJob::SEEKS, count),
        (PlaybackJob::SEEK_TIME, times.iter().sum::<f64>() / count),
        (PlaybackJob::LONGEST_SEEK, times.iter().copied().fold(0.0, f64::max)),
    ]
}

/// Time to the first frame of the last stream; none where one shows none.
fn last_of(streams: impl Iterator<Item = Option<Duration>>) -> Option<(Measure, f64)> {
    let all: Vec<f64> =
        streams.map(|first| first.map(|first| first.as_secs_f64())).collect::<Option<_>>()?;
    let last = all.into_iter().fold(0.0, f64::max);
    (last > 0.0).then_some((PlaybackJob::FIRST_FRAME, last))
}

/// One stream: endless, until the driver's time is up.
pub(crate) struct StreamSource {
    files: Vec<LaidOut>,
    /// Which of them it reads.
    turn: usize,
    file_bytes: u64,
    length: u32,
    offset: u64,
    begun: bool,
    supply: Supply,
    /// The player as it fills its buffer at first, where streams are uncapped.
    uncapped: Playing,
    /// The player, where it plays.
    playing: Option<Playing>,
    /// Number of the next request, and of the first that is not there.
    next_number: u64,
    in_order: u64,
    /// Requests that are there before earlier ones.
    early: Vec<u64>,
    /// Requests in flight by their places in files, and their numbers.
    in_flight: Vec<(Span, u64)>,
    seeks: Option<Seeks>,
}

/// When a stream jumps to another place, and where to.
struct Seeks {
    every: Duration,
    seed: u64,
    next: Nanos,
    number: u64,
}

impl StreamSource {
    /// Jumps to another place of its file when it is time, and it plays.
    fn seek_if_due(&mut self, now: Nanos) {
        let (Some(seeks), Some(playing)) = (&mut self.seeks, &mut self.playing) else { return };
        if now < seeks.next || !playing.plays() {
            return;
        }
        playing.seek(now);
        seeks.next = now + seeks.every;
        seeks.number += 1;
        let requests = (self.file_bytes / u64::from(self.length)).max(1);
        self.offset = mix(seeks.seed ^ seeks.number) % requests * u64::from(self.length);
        // What is in flight is no longer a part of what it plays.
        self.early.clear();
        self.in_order = self.next_number;
    }

    /// The next request of the file, or of the next file.
    fn request(&mut self) -> Op {
        if self.offset + u64::from(self.length) > self.file_bytes {
            self.turn = (self.turn + 1) % self.files.len();
            self.offset = 0;
        }
        let LaidOut { file, generation } = self.files[self.turn];
        let span = Span { file, offset: self.offset, length: self.length, generation };
        self.offset += u64::from(self.length);
        self.in_flight.push((span, self.next_number));
        self.next_number += 1;
        Op::Read(span)
    }

    /// The player at the end of its trial.
    fn into_played(self) -> Option<Playing> {
        let mut playing = self.playing?;
        playing.end(self.supply.end());
        Some(playing)
    }

    /// How much more of the film is there without a gap, now that a request has completed.
    fn in_order(&mut self, span: &Span) -> u64 {
        let Some(place) = self.in_flight.iter().position(|(known, _)| known == span) else {
            return 0;
        };
        let (_, number) = self.in_flight.swap_remove(place);
        if number < self.in_order {
            return 0;
        }
        self.early.push(number);
        let before = self.in_order;
        while let Some(place) = self.early.iter().position(|number| *number == self.in_order) {
            self.early.swap_remove(place);
            self.in_order += 1;
        }
        (self.in_order - before) * u64::from(self.length)
    }
}

impl OperationSource for StreamSource {
    fn next(&mut self, now: Nanos) -> Step {
        if !self.begun {
            self.begun = true;
            self.supply.begin(now);
            self.uncapped.begin(now);
            self.playing.iter_mut().for_each(|playing| playing.begin(now));
            self.seeks.iter_mut().for_each(|seeks| seeks.next = now + seeks.every);
        }
        self.playing.iter_mut().for_each(|playing| playing.advance(now));
        self.seek_if_due(now);
        if let Some(playing) = &mut self.playing {
            if !playing.has_room() {
                let seek = self.seeks.as_ref().filter(|_| playing.plays());
                return Step::WaitUntil(
                    seek.map_or(playing.room_at(), |seeks| seeks.next.min(playing.room_at())),
                );
            }
            playing.requested();
        }
        self.supply.issued(now);
        Step::Issue(self.request())
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        let Op::Read(span) = op else { return };
        // What is drained after the end is no longer played.
        let counts = self.supply.completed(done);
        let bytes = self.in_order(span);
        if done.result.is_err() || !counts {
            return;
        }
        match &mut self.playing {
            Some(playing) => playing.received(bytes, done.done),
            None if self.uncapped.first_frame().is_none() => {
                self.uncapped.received(bytes, done.done);
            }
            None => {}
        }
    }
}
