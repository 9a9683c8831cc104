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
    /// Seconds of film that are there before the first frame, and before it goes on after a stall.
    start_seconds: f64,
    resume_seconds: f64,
    /// Seconds of film that are out of its buffer and were not shown.
    decoded_seconds: f64,
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
            start_seconds: player.start_seconds,
            resume_seconds: player.resume_seconds.unwrap_or(player.start_seconds),
            decoded_seconds: player.decoded_seconds.unwrap_or(0.0),
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
        let Some(samples) = &mut self.samples else { return };
        if samples.next > now {
            return;
        }
        let ahead = self.demand.seconds(self.there as f64) - self.position;
        while samples.next <= now && samples.seconds.len() < MOST_SAMPLES {
            let played = match self.state {
                PlayerState::Playing => samples.next.since(self.now).as_secs_f64(),
                PlayerState::Filling(_) | PlayerState::Seeking(_) => 0.0,
            };
            samples.seconds.push((ahead - played).max(0.0));
            samples.next = samples.next + samples.every;
        }
    }

    /// Plays on until now.
    pub(super) fn advance(&mut self, now: Nanos) {
        self.sample(now);
        let passed = now.since(self.now).as_secs_f64();
        if self.state == PlayerState::Playing {
            let dry = self.demand.seconds(self.there as f64) - self.decoded_seconds;
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
        (self.position, self.state) = (position, PlayerState::Seeking(now));
    }

    fn start_if_filled(&mut self) {
        let (PlayerState::Filling(since) | PlayerState::Seeking(since)) = self.state else {
            return;
        };
        let buffered =
            self.demand.seconds(self.there as f64) - self.decoded_seconds - self.position;
        let is_full = self.there == self.requested && !self.has_room();
        let has_jumped = self.state == PlayerState::Seeking(since);
        let has_stalled = self.first_frame.is_some() && !has_jumped;
        let needs = if has_stalled { self.resume_seconds } else { self.start_seconds };
        if buffered + ROUNDING < needs && !is_full {
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

    /// Position, in seconds of film, from which the buffer has room for one more request.
    fn room_from(&self) -> f64 {
        let end = (self.requested + self.request) as f64;
        let by_bytes = self.demand.seconds((end - self.buffer_bytes).max(0.0));
        by_bytes.max(self.demand.seconds(end) - self.buffer_seconds) - self.decoded_seconds
    }

    /// Whether the buffer has room for one more request now.
    pub(super) fn has_room(&self) -> bool {
        self.position + ROUNDING >= self.room_from()
    }

    /// When it has, if it plays until then.
    pub(super) fn room_at(&self) -> Nanos {
        match self.state {
            PlayerState::Playing => {
                let wait = (self.room_from() - self.position).max(ROUNDING);
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
mod tests {
    use super::*;
    use plimsoll_model::units::Bytes;

    /// A film of 1000 B/s; requests of 500 B, a buffer of 3000 B, a start after 1 s of film.
    fn playing() -> Playing {
        let player = Player {
            request: Bytes(500),
            buffer: Bytes(3000),
            start_seconds: 1.0,
            ..Player::kodi()
        };
        let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
        playing.begin(at(0));
        playing
    }

    fn at(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    fn ms(of: Duration) -> u128 {
        of.as_nanos().div_ceil(1000) / 1000
    }

    #[test]
    fn it_starts_when_its_threshold_is_there_and_stalls_when_the_buffer_is_dry() {
        let mut playing = playing();
        playing.received(500, at(100));
        assert_eq!(playing.first_frame(), None);
        playing.received(500, at(200));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(200)));
        // 1000 B from 200 ms on: dry at 1200 ms; 1 s of film is there again at 2000 ms.
        playing.received(500, at(1500));
        assert_eq!(playing.stalls(), Stalls::default());
        playing.received(500, at(2000));
        let stalls = playing.stalls();
        assert_eq!((stalls.count, ms(stalls.longest), ms(stalls.all)), (1, 800, 800));
        // Dry again at 3000 ms, to the end.
        playing.end(at(3500));
        let stalls = playing.stalls();
        assert_eq!((stalls.count, ms(stalls.longest), ms(stalls.all)), (2, 800, 1300));
        assert!((playing.played() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn one_that_starts_at_once_goes_on_after_a_stall_with_more() {
        let player = Player {
            request: Bytes(500),
            buffer: Bytes(3000),
            start_seconds: 0.0,
            resume_seconds: Some(1.0),
            ..Player::kodi()
        };
        let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
        playing.begin(at(0));
        (0..3).for_each(|_| playing.requested());
        assert!(!playing.plays());
        playing.received(500, at(100));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
        // Dry at 600 ms; half a second of film is not enough to go on.
        playing.received(500, at(700));
        assert!(!playing.plays());
        playing.received(500, at(900));
        let stalls = playing.stalls();
        assert_eq!((stalls.count, ms(stalls.longest)), (1, 300));
        // After a jump it starts at once.
        playing.seek(at(1000));
        playing.requested();
        playing.received(500, at(1200));
        assert_eq!(playing.seeks(), [Duration::from_millis(200)]);
    }

    #[test]
    fn what_its_decoder_has_taken_is_missing_in_the_buffer() {
        let player = Player {
            request: Bytes(500),
            buffer: Bytes(1500),
            start_seconds: 0.0,
            resume_seconds: Some(1.0),
            decoded_seconds: Some(0.5),
            ..Player::kodi()
        };
        let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
        playing.begin(at(0));
        (0..4).for_each(|_| playing.requested());
        assert!(!playing.has_room(), "1.5 s in the buffer, and half a second in the decoder");
        // The decoder has the first half a second, and the buffer is dry.
        playing.received(500, at(100));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
        playing.received(500, at(300));
        playing.received(500, at(600));
        let stalls = playing.stalls();
        assert_eq!((stalls.count, ms(stalls.longest)), (1, 500));
        // Of 2 s, half a second is in the decoder: dry at 2100 ms.
        playing.received(500, at(700));
        playing.advance(at(2099));
        assert!(playing.plays());
        playing.advance(at(2101));
        assert!(!playing.plays());
        assert!((playing.played() - 1.5).abs() < 1e-6, "{}", playing.played());
    }

    #[test]
    fn samples_of_the_buffer_are_as_it_is_at_their_times() {
        let ms = Duration::from_millis;
        let mut playing = playing().sampled(ms(100), ms(1000));
        playing.begin(at(0));
        // 0.5 s of film at 150 ms, a second at 250 ms, of which 250 ms are played by 500 ms.
        playing.received(500, at(150));
        playing.received(500, at(250));
        playing.advance(at(500));
        let (every, seconds) = playing.samples().unwrap();
        assert_eq!(every, ms(100));
        let rounded: Vec<f64> = seconds.iter().map(|s| (1e6 * s).round() / 1e6).collect();
        assert_eq!(rounded, [0.0, 0.5, 0.95, 0.85, 0.75]);
        // Dry at 1250 ms, and nothing comes.
        playing.advance(at(1500));
        let (_, seconds) = playing.samples().unwrap();
        assert_eq!((seconds.len(), seconds[14]), (15, 0.0));
    }

    #[test]
    fn it_requests_what_its_buffer_has_room_for() {
        let mut playing = playing();
        for _ in 0..6 {
            assert!(playing.has_room());
            playing.requested();
        }
        assert!(!playing.has_room());
        assert_eq!(playing.room_at(), Nanos(u64::MAX), "it does not play yet");
        playing.received(3000, at(100));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(100)));
        // 500 B are played by 600 ms.
        assert_eq!(playing.room_at(), at(600));
        playing.advance(at(599));
        assert!(!playing.has_room());
        playing.advance(at(600));
        assert!(playing.has_room());
    }

    #[test]
    fn a_full_buffer_starts_however_high_the_threshold_is() {
        let player = Player {
            request: Bytes(500),
            buffer: Bytes(1000),
            start_seconds: 60.0,
            ..Player::kodi()
        };
        let mut playing = Playing::new(&Film::constant("x", 1000.0), &player);
        playing.begin(at(0));
        playing.requested();
        playing.requested();
        playing.received(500, at(10));
        assert_eq!(playing.first_frame(), None);
        playing.received(500, at(20));
        assert_eq!(playing.first_frame(), Some(Duration::from_millis(20)));
    }

    #[test]
    fn after_a_jump_the_buffer_is_filled_again_and_that_is_no_stall() {
        let mut playing = playing();
        for _ in 0..4 {
            playing.requested();
        }
        playing.received(1500, at(100));
        assert!(playing.plays());
        // One request is still in flight, and is dropped.
        playing.seek(at(600));
        assert!(!playing.plays() && playing.has_room());
        playing.requested();
        playing.requested();
        playing.received(500, at(800));
        assert_eq!(playing.seeks(), []);
        playing.received(500, at(1000));
        assert_eq!(playing.seeks(), [Duration::from_millis(400)]);
        playing.advance(at(1500));
        playing.seek(at(1500));
        playing.end(at(1700));
        assert_eq!(playing.seeks()[1..], [Duration::from_millis(200)]);
        assert!(
            (playing.played() - 1.0).abs() < 1e-6,
            "half a second before each: {}",
            playing.played()
        );
        assert_eq!(
            (playing.stalls(), playing.first_frame()),
            (Stalls::default(), Some(Duration::from_millis(100)))
        );
    }

    #[test]
    fn a_buffer_of_seconds_holds_more_bytes_where_the_film_needs_more() {
        let film =
            Film { second_bytes: vec![1000, 1000, 4000, 4000], ..Film::constant("x", 2500.0) };
        let player = Player {
            request: Bytes(1000),
            buffer_seconds: Some(2.0),
            start_seconds: 1.0,
            ..Player::kodi()
        };
        let mut playing = Playing::new(&film, &player);
        playing.begin(at(0));
        playing.requested();
        playing.requested();
        assert!(!playing.has_room(), "two seconds are two requests");
        playing.received(2000, at(0));
        // The third request ends a quarter of a second further in the film.
        assert_eq!(playing.room_at(), at(250));
    }
}
