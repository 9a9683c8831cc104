//! Films that play: each stream reads a file of its own as a player does.

use super::pattern::{PatternJob, fit_units, of_each};
use super::{CannotSet, Footprint, JobFacts, Settable, settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::{self, Bytes, KIB, MIB};
use crate::{Measure, Metric, Parameter, SubjectKind};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

/// Pattern of requests of a player, and its buffer. The buffer is the smaller of a number of bytes and of seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Player {
    /// Name.
    pub name: String,
    /// Bytes of a request.
    pub request: Bytes,
    /// Requests in flight.
    pub in_flight: NonZeroU16,
    /// Bytes of the buffer.
    pub buffer: Bytes,
    /// Seconds of film in the buffer; `None` if only its bytes limit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_seconds: Option<f64>,
    /// Seconds of film that are there before the first frame is shown.
    pub start_seconds: f64,
    /// Seconds of film that are there before it goes on after a stall; `None` if as many as before the first frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_seconds: Option<f64>,
    /// Seconds of a frame of a player that shows whole frames, and needs the next frame by the end of each; `None` if it
    /// shows all that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_seconds: Option<f64>,
}

impl Player {
    /// Kodi: reads of 128 KiB (setting `filecache.chunksize`) into a cache of 20 MiB (`filecache.memorysize`), a quarter
    /// of which is for what was played (`CFileCache`). From Kodi's settings.xml and its wiki on the video cache. The
    /// start is chosen: its player waits until its queues have about a second.
    pub fn kodi() -> Player {
        Player::new("kodi", 128 * KIB, 15 * MIB, None, 1.0)
    }

    /// mpv on a mounted share: `--demuxer-readahead-secs` 1, `--demuxer-max-bytes` 150 MiB, `--stream-buffer-size` 128
    /// KiB, by its manual. It starts with the first frame that it can show (`--cache-pause-initial` is off), and goes on
    /// after a stall with `--cache-pause-wait`, 1 s. It shows a frame when it has the one after it, too
    /// (`get_req_frames`), and stalls when a frame has had its time and no other can be shown (`vo_still_displaying` in
    /// its `player/video.c`). Films have 24 frames a second.
    pub fn mpv() -> Player {
        let at_once = Player::new("mpv", 128 * KIB, 150 * MIB, Some(1.0), 0.0);
        Player { resume_seconds: Some(1.0), frame_seconds: Some(1.0 / 24.0), ..at_once }
    }

    /// VLC on a share: its filter `prefetch` has a buffer of 16 MiB (`prefetch-buffer-size`), and `network-caching` is 1
    /// s. Its read size was 16 KiB and is 8 MiB or more now, cut by the client of the share; 1 MiB is what most servers
    /// take.
    pub fn vlc() -> Player {
        Player::new("vlc", MIB, 16 * MIB, None, 1.0)
    }

    /// A browser: Chromium's `MultibufferDataSource` preloads 10 s of film, within 2 to 20 MiB. What reads the share is
    /// the web server behind it; its 256 KiB are chosen.
    pub fn browser() -> Player {
        Player::new("browser", 256 * KIB, 20 * MIB, Some(10.0), 1.0)
    }

    fn new(
        name: &str,
        request: u64,
        buffer: u64,
        buffer_seconds: Option<f64>,
        start_seconds: f64,
    ) -> Player {
        Player {
            name: name.to_owned(),
            request: Bytes(request),
            in_flight: NonZeroU16::MIN,
            buffer: Bytes(buffer),
            buffer_seconds,
            start_seconds,
            resume_seconds: None,
            frame_seconds: None,
        }
    }

    /// Bytes that its buffer holds, and seconds of a film of this rate, in bytes per second: the smaller of both limits
    /// it. There is room for [`Player::least_bytes`].
    pub fn limits(&self, rate: f64) -> (f64, f64) {
        let least = self.least_bytes();
        let seconds = self.buffer_seconds.unwrap_or(f64::INFINITY);
        ((self.buffer.0 as f64).max(least), seconds.max(least / rate))
    }

    /// Bytes that its buffer has room for at least: twice its requests in flight. With less it would wait for each.
    pub fn least_bytes(&self) -> f64 {
        2.0 * self.request.0 as f64 * f64::from(self.in_flight.get())
    }

    /// Seconds of a film of this rate, in bytes per second, that its buffer holds.
    pub fn holds_seconds(&self, rate: f64) -> f64 {
        let (bytes, seconds) = self.limits(rate);
        seconds.min(bytes / rate)
    }
}

/// Schedule of the bytes of a film.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Film {
    /// Name: "1080p".
    pub name: String,
    /// Name of the file that it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Mean rate in bytes per second.
    pub mean_rate: f64,
    /// Rate in bytes per second at which it plays with the player's buffer; the mean rate if that is constant.
    pub required_rate: f64,
    /// Bytes of each second of the part that is played, in which the worst window comes when the buffer can be full; empty
    /// of a constant rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_bytes: Vec<u64>,
}

impl Film {
    /// A film of constant rate, in bytes per second.
    pub fn constant(name: impl Into<String>, rate: f64) -> Film {
        let name = name.into();
        Film { name, file: None, mean_rate: rate, required_rate: rate, second_bytes: Vec::new() }
    }

    /// Name in tables: "1080p", "holiday.mkv", "holiday.mkv (mean only)".
    pub fn title(&self) -> String {
        match (&self.file, self.second_bytes.is_empty()) {
            (None, _) => self.name.clone(),
            (Some(file), false) => file.clone(),
            (Some(file), true) => format!("{file} (mean only)"),
        }
    }

    /// Its required rate in words: "12.5 Mbit/s".
    pub fn rate(&self) -> String {
        units::bit_rate(self.required_rate)
    }
}

/// How streams read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As fast as they get it, with the requests of their player.
    #[default]
    Uncapped,
    /// As their player does: when its buffer has room.
    Played,
}

/// Streams that play films. Each worker is a stream with a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaybackJob {
    /// What is played.
    pub film: Film,
    /// The player.
    pub player: Player,
    /// Whether streams read as fast as they can, or play.
    pub pace: Pace,
    /// Size of all its files together; there are as many as patterns have.
    pub size: Bytes,
    /// Seconds between two seeks of a stream that plays; `None` if it plays the film as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_every_seconds: Option<f64>,
}

impl PlaybackJob {
    /// Supply of the worst stream, over the rate that its film needs.
    pub const HEADROOM: Measure = Measure::own("headroom");
    /// Supply of the worst stream.
    pub const SUPPLY: Measure = Measure::own("worst_stream_bytes_per_second");
    /// Time to the first frame of the last stream that shows one.
    pub const FIRST_FRAME: Measure = Measure::own("first_frame_seconds");
    /// Longest time in which a stream waited for a request, of all streams.
    pub const LONGEST_PAUSE: Measure = Measure::own("longest_pause_seconds");
    /// Stalls of all streams.
    pub const STALLS: Measure = Measure::own("stalls");
    /// Longest stall of any stream.
    pub const LONGEST_STALL: Measure = Measure::own("longest_stall_seconds");
    /// Share of the time after its first frame that the worst stream stalled.
    pub const STALLED: Measure = Measure::own("stalled_ratio");
    /// Time that was played, of all streams together.
    pub const PLAYED: Measure = Measure::own("played_seconds");
    /// Seeks of all streams.
    pub const SEEKS: Measure = Measure::own("seeks");
    /// Mean time from a seek to the picture.
    pub const SEEK_TIME: Measure = Measure::own("seek_seconds");
    /// Longest of these times.
    pub const LONGEST_SEEK: Measure = Measure::own("longest_seek_seconds");

    /// The same with another pace.
    #[must_use]
    pub fn with_pace(&self, pace: Pace) -> PlaybackJob {
        PlaybackJob { pace, ..self.clone() }
    }

    /// Size of each of its files, in bytes: one request at least.
    pub fn file_bytes(&self) -> u64 {
        of_each(self.size, self.player.request)
    }
}

use Aggregation::{Arithmetic, Geometric};

pub(super) const MEASURES: [Row; 11] = [
    (PlaybackJob::HEADROOM, "1", "", Direction::More, Geometric, Combine::None),
    (PlaybackJob::SUPPLY, "B/s", "", Direction::More, Geometric, Combine::None),
    (PlaybackJob::FIRST_FRAME, "s", "", Direction::Less, Geometric, Combine::Max),
    (PlaybackJob::LONGEST_PAUSE, "s", "", Direction::Less, Geometric, Combine::Max),
    (PlaybackJob::STALLS, "1", "", Direction::Less, Arithmetic, Combine::Sum),
    (PlaybackJob::LONGEST_STALL, "s", "", Direction::Less, Arithmetic, Combine::Max),
    (PlaybackJob::STALLED, "1", "", Direction::Less, Arithmetic, Combine::Max),
    (PlaybackJob::PLAYED, "s", "", Direction::Neither, Arithmetic, Combine::Sum),
    (PlaybackJob::SEEKS, "1", "", Direction::Neither, Arithmetic, Combine::Sum),
    (PlaybackJob::SEEK_TIME, "s", "", Direction::Less, Geometric, Combine::Max),
    (PlaybackJob::LONGEST_SEEK, "s", "", Direction::Less, Geometric, Combine::Max),
];

impl JobFacts for PlaybackJob {
    fn kind(&self) -> &'static str {
        "playback"
    }

    fn title(&self) -> String {
        match self.pace {
            Pace::Uncapped => "films".to_owned(),
            Pace::Played => "films at their rate".to_owned(),
        }
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        match self.pace {
            Pace::Uncapped => Metric::all(PlaybackJob::HEADROOM),
            Pace::Played => Metric::all(Measure::THROUGHPUT),
        }
    }

    fn speed(&self) -> Measure {
        Measure::THROUGHPUT
    }

    fn has_fixed_rate(&self) -> bool {
        self.pace == Pace::Played
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![
            format!("{} of {}", self.film.title(), self.film.rate()),
            format!("player {}", self.player.name),
            format!("requests of {}", self.player.request),
            self.size.to_string(),
        ];
        if !self.film.second_bytes.is_empty() {
            settings
                .insert(1, format!("variable rate, mean {}", units::bit_rate(self.film.mean_rate)));
        }
        if let (Some(seconds), Pace::Played) = (self.seek_every_seconds, self.pace) {
            settings.push(format!("a seek every {seconds} s"));
        }
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let pace = match self.pace {
            Pace::Uncapped => "uncapped",
            Pace::Played => "played",
        };
        let seeks =
            self.seek_every_seconds.map(|seconds| ("seek_every_seconds", seconds.to_string()));
        let all = [
            ("film", self.film.title()),
            ("mean_bytes_per_second", self.film.mean_rate.to_string()),
            ("required_bytes_per_second", self.film.required_rate.to_string()),
            ("player", self.player.name.clone()),
            ("block_bytes", self.player.request.0.to_string()),
            ("size_bytes", self.size.0.to_string()),
            ("pace", pace.to_owned()),
        ];
        all.into_iter().chain(seeks).collect()
    }

    fn footprint(&self) -> Footprint {
        let files = self.file_bytes().saturating_mul(u64::from(PatternJob::FILES));
        Footprint { read: files.max(self.size.0), shared: true, ..Footprint::default() }
    }

    /// The player decides when a request begins.
    fn settable(&self) -> Settable {
        Settable { block: true, ..Settable::OF_WORKERS }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.player.request)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.player.request = settable::block(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }

    fn fit(&mut self, _: u16, largest: u64) -> bool {
        let unit = self.player.request.0.saturating_mul(u64::from(PatternJob::FILES));
        fit_units(&mut self.size, unit, largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_people_name_them() {
        for (megabits, words) in [(12.5, "12.5 Mbit/s"), (25.0, "25 Mbit/s"), (1.5, "1.5 Mbit/s")] {
            assert_eq!(Film::constant("x", megabits * 125_000.0).rate(), words);
        }
        assert_eq!(units::bit_rate(125.0), "1 kbit/s");
        assert_eq!(units::bit_rate(250e6), "2 Gbit/s");
        assert_eq!(units::bit_rate(12.5e6), "100 Mbit/s");
    }

    #[test]
    fn a_buffer_is_the_smaller_of_bytes_and_seconds_and_holds_two_requests() {
        let rate = 12.5e6 / 8.0;
        assert_eq!(Player::kodi().holds_seconds(rate), (15 << 20) as f64 / rate);
        assert_eq!(Player::mpv().holds_seconds(rate), 1.0);
        assert_eq!(Player::browser().holds_seconds(10e6), (20 << 20) as f64 / 10e6);
        // A second of music is less than two of the requests.
        assert_eq!(Player::mpv().holds_seconds(1e5), (2 * 128 * 1024) as f64 / 1e5);
    }
}
