//! Films: each stream reads files of its own by the requests of its player, as fast as it can or as it plays.

mod buffer;
mod demand;
mod supply;

use super::test_files::TestFiles;
use super::{Asks, LaidOut, NotGood, OperationSource, Point, Step, StorageJob, Workspace};
use crate::op::{Done, Op, Span};
use crate::share::Lane;
use buffer::Playing;
use plimsoll_model::{Cause, Failure, Flag, Measure, Nanos, OpKind, Pace, PlaybackJob};
use supply::Supply;

/// Films on the files that patterns read.
pub(crate) struct PlaybackRun {
    job: PlaybackJob,
    /// Those of the point that is measured.
    files: Vec<LaidOut>,
    figures: Vec<(Measure, f64)>,
}

impl PlaybackRun {
    pub fn new(job: &PlaybackJob) -> Self {
        PlaybackRun { job: job.clone(), files: Vec::new(), figures: Vec::new() }
    }
}

impl StorageJob for PlaybackRun {
    type Source = StreamSource;

    fn claim(&self, files: &mut TestFiles) {
        files.working_set = files.working_set.max(self.job.size.0);
        files.read_size = files.read_size.max(self.job.file_bytes());
    }

    fn prepare(&mut self, _: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        Ok(Vec::new())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.figures.clear();
        if point.once {
            let (happened, next) =
                ("films play until they are stopped", "Give a length in seconds.");
            let tried = "play without a time limit";
            return Err(Failure::new(Cause::Usage, tried, "the films", happened, next));
        }
        self.files = TestFiles::of_point(at, false, point, false)?.read;
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
            Failure::new(Cause::Usage, "play films", "--size", happened, next)
        })?;
        let (streams, files) = (usize::from(point.workers.get()), self.files.len());
        let turn = usize::from(worker) % files;
        // More streams than files share them, each from a place of its own.
        let shared_by = streams.div_ceil(files) as u64;
        let place = (usize::from(worker) / files) as u64;
        let offset = file_bytes / request * place / shared_by.max(1) * request;
        let playing = match self.job.pace {
            Pace::Uncapped => None,
            Pace::Played => Some(Playing::new(&self.job.film, &self.job.player)),
        };
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
        })
    }

    fn finish(
        &mut self,
        sources: Vec<StreamSource>,
        _: &mut Workspace<'_>,
        _: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        self.figures = figures(&self.job, sources);
        Ok(Vec::new())
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        self.figures.clone()
    }
}

/// Figures of all streams together, most of them those of the worst.
fn figures(job: &PlaybackJob, sources: Vec<StreamSource>) -> Vec<(Measure, f64)> {
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
            all.extend(last_of(played.iter().map(Playing::first_frame)));
        }
    }
    all
}

/// Time to the first frame of the last stream; none where one shows none.
fn last_of(streams: impl Iterator<Item = Option<std::time::Duration>>) -> Option<(Measure, f64)> {
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
}

impl StreamSource {
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
        }
        if let Some(playing) = &mut self.playing {
            playing.advance(now);
            if !playing.has_room() {
                return Step::WaitUntil(playing.room_at());
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
