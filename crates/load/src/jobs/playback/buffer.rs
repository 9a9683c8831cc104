//! A player and its buffer, in the time of its load: what it plays, and when it stalls.

use super::demand::Demand;
use plimsoll_model::{Film, Nanos, Player};
use std::time::Duration;

/// What a player that is fed shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PlayerState {
    /// It fills its buffer, since this time: at first, or in a stall.
    Filling(Nanos),
    /// It has jumped at this time, and fills its buffer again.
    Seeking(Nanos),
    /// It plays.
    Playing,
}

/// Stalls of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stalls {
    pub count: u64,
    pub longest: Duration,
    pub all: Duration,
}

/// A player and its buffer. Requests come in the order of the film.
pub(super) struct Playing {
    demand: Demand,
    request: u64,
    buffer_bytes: f64,
    buffer_seconds: f64,
    /// Bytes that the buffer holds at least, however long they last.
    least_bytes: f64,
    /// Seconds of film that are there before the first frame, and before it goes on after a stall.
    start_seconds: f64,
    resume_seconds: f64,
    /// Seconds of a frame, of a player that needs the next one while it shows one; otherwise 0.
    frame_seconds: f64,
    /// Place in the film, in seconds, at which a frame begins: where it began, or jumped to.
    frames_from: f64,
    begun: Nanos,
    /// Until when its state is known.
    now: Nanos,
    state: PlayerState,
    /// Seconds of film up to the picture that is shown, and those of them that were skipped.
    position: f64,
    skipped: f64,
    /// Bytes from the begin of the film that are there without a gap, and that were requested.
    there: u64,
    requested: u64,
    first_frame: Option<Duration>,
    stalls: Stalls,
    /// Time from each jump to the picture.
    seeks: Vec<Duration>,
    samples: Option<Samples>,
}

/// Seconds of film in the buffer, at equal intervals.
struct Samples {
    every: Duration,
    next: Nanos,
    seconds: Vec<f64>,
}

/// Most samples of a trial.
const MOST_SAMPLES: usize = 600;

/// Bytes and seconds are sums of many: what is missing by less is rounding.
const ROUNDING: f64 = 1e-6;

impl Playing {
    pub(super) fn new(film: &Film, player: &Player) -> Playing {
        let (buffer_bytes, buffer_seconds) = player.limits(film.mean_rate.max(1.0));
        Playing {
            demand: Demand::new(film),
            request: player.request.0,
            buffer_bytes,
            buffer_seconds,
            least_bytes: player.least_bytes(),
            start_seconds: player.start_seconds,
            resume_seconds: player.resume_seconds.unwrap_or(player.start_seconds),
            frame_seconds: player.frame_seconds.unwrap_or(0.0),
            frames_from: 0.0,
            begun: Nanos(0),
            now: Nanos(0),
            state: PlayerState::Filling(Nanos(0)),
            position: 0.0,
            skipped: 0.0,
            there: 0,
            requested: 0,
            first_frame: None,
            stalls: Stalls::default(),
            seeks: Vec::new(),
            samples: None,
        }
    }

    /// The same with samples of its buffer, at intervals of at least `least` in a trial of this length.
    pub(super) fn sampled(self, least: Duration, length: Duration) -> Playing {
        let every = (length / MOST_SAMPLES as u32).max(least);
        let samples = Samples { every, next: Nanos(u64::MAX), seconds: Vec::new() };
        Playing { samples: Some(samples), ..self }
    }

    /// It begins to fill its buffer.
    pub(super) fn begin(&mut self, now: Nanos) {
        (self.begun, self.now, self.state) = (now, now, PlayerState::Filling(now));
        self.samples.iter_mut().for_each(|samples| samples.next = now + samples.every);
    }

    /// Takes the samples until `now`, with what is in the buffer since it was last known.
    fn sample(&mut self, now: Nanos) {
        let ahead = self.shown_until() - self.position;
        let Some(samples) = &mut self.samples else { return };
        while samples.next <= now && samples.seconds.len() < MOST_SAMPLES {
            let played = match self.state {
                PlayerState::Playing => samples.next.since(self.now).as_secs_f64(),
                PlayerState::Filling(_) | PlayerState::Seeking(_) => 0.0,
            };
            samples.seconds.push((ahead - played).max(0.0));
            samples.next = samples.next + samples.every;
        }
    }

    /// Position at which the buffer is dry: up to there it can show what it has. A player that shows whole frames needs
    /// the next one by the end of each.
    fn shown_until(&self) -> f64 {
        let there = self.demand.seconds(self.there as f64);
        if self.frame_seconds <= 0.0 {
            return there;
        }
        let frames = ((there - self.frames_from) / self.frame_seconds + ROUNDING).floor();
        self.frames_from + (frames - 1.0).max(0.0) * self.frame_seconds
    }

    /// Plays on until now.
    pub(super) fn advance(&mut self, now: Nanos) {
        self.sample(now);
        let passed = now.since(self.now).as_secs_f64();
        if self.state == PlayerState::Playing {
            let dry = self.shown_until();
            if self.position + passed > dry + ROUNDING {
                let played = (dry - self.position).max(0.0);
                let stalled_from = self.now + Duration::from_secs_f64(played);
                self.position = self.position.max(dry);
                self.state = PlayerState::Filling(stalled_from);
            } else {
                self.position += passed;
            }
        }
        self.now = now.max(self.now);
    }

    /// More of the film is there.
    pub(super) fn received(&mut self, bytes: u64, now: Nanos) {
        self.advance(now);
        self.there += bytes;
        self.start_if_filled();
    }

    /// A request was issued.
    pub(super) fn requested(&mut self) {
        self.requested += self.request;
    }

    /// Whether it plays now.
    pub(super) fn plays(&self) -> bool {
        self.state == PlayerState::Playing
    }

    /// It jumps to another place of the film: its buffer is empty, and what was requested is dropped. The film goes on
    /// there as it would have here.
    pub(super) fn seek(&mut self, now: Nanos) {
        self.advance(now);
        self.there = self.requested;
        let position = self.demand.seconds(self.there as f64);
        self.skipped += position - self.position;
        (self.position, self.frames_from) = (position, position);
        self.state = PlayerState::Seeking(now);
    }

    fn start_if_filled(&mut self) {
        let (PlayerState::Filling(since) | PlayerState::Seeking(since)) = self.state else {
            return;
        };
        let buffered = self.shown_until() - self.position;
        // Before what is requested is there it has room for it.
        let is_full = self.position + ROUNDING < self.room_from(self.there);
        let has_jumped = self.state == PlayerState::Seeking(since);
        let has_stalled = self.first_frame.is_some() && !has_jumped;
        let needs = if has_stalled { self.resume_seconds } else { self.start_seconds };
        if buffered + ROUNDING < needs.max(self.frame_seconds) && !is_full {
            return;
        }
        self.state = PlayerState::Playing;
        match self.first_frame {
            _ if has_jumped => self.seeks.push(self.now.since(since)),
            None => self.first_frame = Some(self.now.since(self.begun)),
            Some(_) => self.note_stall(self.now.since(since)),
        }
    }

    fn note_stall(&mut self, length: Duration) {
        self.stalls.count += 1;
        self.stalls.longest = self.stalls.longest.max(length);
        self.stalls.all += length;
    }

    /// Position, in seconds of film, from which the buffer has room for one more request after so many bytes. Two frames
    /// are out of the buffer and not shown: the one on the screen and the next.
    fn room_from(&self, bytes: u64) -> f64 {
        let end = (bytes + self.request) as f64;
        let less = |bytes: f64| self.demand.seconds((end - bytes).max(0.0));
        let by_seconds = self.demand.seconds(end) - self.buffer_seconds;
        // Where a film needs little, a few requests last longer than the seconds that the buffer holds.
        let by_seconds = by_seconds.min(less(self.least_bytes));
        less(self.buffer_bytes).max(by_seconds) - 2.0 * self.frame_seconds
    }

    /// Whether the buffer has room for one more request now.
    pub(super) fn has_room(&self) -> bool {
        self.position + ROUNDING >= self.room_from(self.requested)
    }

    /// When it has, if it plays until then.
    pub(super) fn room_at(&self) -> Nanos {
        match self.state {
            PlayerState::Playing => {
                let wait = (self.room_from(self.requested) - self.position).max(ROUNDING);
                self.now + Duration::from_secs_f64(wait.min(1e6))
            }
            PlayerState::Filling(_) | PlayerState::Seeking(_) => Nanos(u64::MAX),
        }
    }

    /// The end: a stall that lasts is one until then, and a jump takes at least so long.
    pub(super) fn end(&mut self, now: Nanos) {
        self.advance(now);
        if let PlayerState::Seeking(since) = self.state
            && since < self.now
        {
            self.seeks.push(self.now.since(since));
            self.state = PlayerState::Seeking(self.now);
        }
        if let (PlayerState::Filling(since), Some(_)) = (self.state, self.first_frame)
            && since < self.now
        {
            self.note_stall(self.now.since(since));
            self.state = PlayerState::Filling(self.now);
        }
    }

    pub(super) fn first_frame(&self) -> Option<Duration> {
        self.first_frame
    }

    pub(super) fn stalls(&self) -> Stalls {
        self.stalls
    }

    /// Time from each jump to the picture.
    pub(super) fn seeks(&self) -> &[Duration] {
        &self.seeks
    }

    /// The time between two samples of its buffer, and the samples.
    pub(super) fn samples(&self) -> Option<(Duration, &[f64])> {
        self.samples.as_ref().map(|samples| (samples.every, &*samples.seconds))
    }

    /// Seconds of film that were shown.
    pub(super) fn played(&self) -> f64 {
        self.position - self.skipped
    }
}

#[cfg(test)]
mod tests;
