//! The command line of `plimsoll play`, and what it says of players, trials and their times.

use super::film;
use super::work::OtherWork;
use crate::arguments::{self, AccessArguments, CacheChoice, HostArguments, OutputArguments};
use clap::{Args, ValueEnum};
use plimsoll_model::units::{self, Bytes, GIB, MIB, parse_duration};
use plimsoll_model::{Cause, Design, Failure, Length, Player, Rule};
use std::num::NonZeroU16;
use std::time::Duration;

/// Numbers of streams to begin with, and the most that are tried.
const STREAMS: [u16; 4] = [1, 2, 4, 8];
pub(super) const MOST_STREAMS: u16 = 64;
/// Blocks of each number of streams, and seconds of their trials: the interval is then about ±8%.
const BLOCKS: u32 = 6;
pub(super) const QUICK_BLOCKS: u32 = 3;
const SECONDS: f64 = 5.0;
const QUICK_SECONDS: f64 = 2.0;
const SHORTEST_SECONDS: f64 = 0.5;
/// Share of a trial that is not counted, and most of it in seconds.
const WARM_UP: f64 = 0.1;
const MOST_WARM_UP_SECONDS: f64 = 0.5;
/// Seconds that streams play at their rate.
const PLAYED_SECONDS: f64 = 30.0;
/// Time limit, where none is given, apart from the time that films play.
const CAP_SECONDS: f64 = 600.0;
const CAP_WITH_WORK_SECONDS: f64 = 1200.0;
const BASELINE_SECONDS: f64 = 5.0;
const DEFAULT_SIZE: Bytes = Bytes(GIB);
const LARGEST_REQUEST: u64 = 64 * MIB;

#[derive(Args)]
pub struct PlayArguments {
    /// Directory, nfs:// or smb:// URL, as for check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Film: 1080p, 4k, 4k-50, 4k-80, music, or a file
    ///
    /// These have 12.5, 25, 50, 80 and 1.5 Mbit/s. The rate of a file is read from its index (MP4 sample tables or
    /// Matroska cues). The file is on this machine, or on a server: nfs://host/export/film.mkv or
    /// smb://user@host/share/film.mkv. plimsoll plays test files of the same rate
    #[arg(long, value_name = "FILM", default_value = "1080p", conflicts_with = "rate")]
    pub film: String,
    /// Rate of the film: 25Mbit/s
    #[arg(long, value_name = "RATE", value_parser = film::rate)]
    pub rate: Option<f64>,
    /// Vary the rate of the film from scene to scene, as --seed determines
    #[arg(long)]
    pub variable: bool,
    /// Player whose requests and buffer are used
    #[arg(long, value_enum, default_value = "kodi")]
    pub player: PlayerChoice,
    /// Bytes of a request [default: as the player]
    #[arg(long, value_name = "SIZE")]
    pub request: Option<Bytes>,
    /// Requests in flight [default: as the player]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU16>)]
    pub in_flight: Option<NonZeroU16>,
    /// Bytes of the buffer [default: as the player]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<Bytes>,
    /// Numbers of streams [default: 1,2,4,8, then as needed]
    ///
    /// By default, further numbers are measured until the largest number that plays and one more are known
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(value_parser = arguments::at_least_one::<NonZeroU16>)]
    pub streams: Vec<NonZeroU16>,
    /// Show photos of 3 and 24 MB instead, one every 3 s
    ///
    /// Each size is shown with and without the next photo fetched ahead
    #[arg(long, conflicts_with_all = ["film", "rate", "variable", "player", "buffer", "streams", "seeks", "during", "soak"])]
    pub slides: bool,
    /// Also jump to another place every 5 s while films play at their rate
    #[arg(long, conflicts_with = "quick")]
    pub seeks: bool,
    /// Also measure during a backup or a job of check
    ///
    /// The patterns of check, such as random-write, are possible too
    #[arg(long = "while", value_name = "WORK", value_enum)]
    pub during: Option<OtherWork>,
    /// Play the largest number of films for this long
    ///
    /// Without it, they play for 30 s. A film can stall later, after an hour or two
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub soak: Option<Duration>,
    /// Bypass or use the page cache of directories [default: direct]
    ///
    /// With 'page', a mounted share is read as a player reads it, with the read-ahead of its client
    #[arg(long, value_enum)]
    pub cache: Option<CacheChoice>,
    /// Size of all test files together [default: 1GiB]
    ///
    /// With --server-memory, the default is twice that memory
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Memory of the server, so that films are not read from it
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<Bytes>,
    #[command(flatten)]
    pub how: PlayRule,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Blocks and lengths of a study of films.
#[derive(Args)]
#[command(next_help_heading = "Duration and statistics")]
pub struct PlayRule {
    /// Length of one trial [default: 5s; 2s with --quick]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// Time limit [default: 10min; 20min with --while; --soak comes on top]
    ///
    /// plimsoll does not start a block that would end later
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// Idle time before the run, to measure the background load of the hosts [default: 5s; 1s with --quick]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub baseline: Option<Duration>,
    /// Number of blocks of each number of streams [default: 6; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: Option<u32>,
    /// First look: short trials, and no films at their rate
    #[arg(long, conflicts_with = "soak")]
    pub quick: bool,
    /// Time limit of one request
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Seed of order, offsets and content [default: random, recorded]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlayerChoice {
    /// 128 KiB, a buffer of 15 MiB
    Kodi,
    /// 128 KiB, a buffer of one second
    Mpv,
    /// 1 MiB, a buffer of 16 MiB
    Vlc,
    /// 256 KiB, a buffer of 10 s and 20 MiB at most
    Browser,
}

impl PlayArguments {
    pub(super) fn player(&self) -> Result<Player, Failure> {
        let mut player = match self.player {
            PlayerChoice::Kodi => Player::kodi(),
            PlayerChoice::Mpv => Player::mpv(),
            PlayerChoice::Vlc => Player::vlc(),
            PlayerChoice::Browser => Player::browser(),
        };
        player.request = self.request(player.request)?;
        player.in_flight = self.in_flight.unwrap_or(player.in_flight);
        player.buffer = self.buffer.unwrap_or(player.buffer);
        Ok(player)
    }

    /// Bytes of a request; those that are usual, if none are given.
    pub(super) fn request(&self, usual: Bytes) -> Result<Bytes, Failure> {
        let request = self.request.unwrap_or(usual);
        let is_possible = (1..=LARGEST_REQUEST).contains(&request.0);
        if is_possible && request.0.is_multiple_of(512) {
            return Ok(request);
        }
        let happened = "a request must be a multiple of 512 bytes and at most 64 MiB";
        Err(Failure::new(Cause::Usage, "plan the requests")
            .on(format!("--request {}", request.to_string().replace(' ', "")))
            .happened(happened)
            .next("Try 128KiB."))
    }

    pub(super) fn streams(&self) -> Result<Vec<u16>, Failure> {
        let mut streams: Vec<u16> = match self.streams.as_slice() {
            [] => STREAMS.to_vec(),
            some => some.iter().map(|streams| streams.get()).collect(),
        };
        streams.sort_unstable();
        streams.dedup();
        if let Some(many) = streams.iter().find(|streams| **streams > MOST_STREAMS) {
            let (on, happened) = (format!("--streams {many}"), "at most 64 films play at once");
            let next = "Give 64 at most.";
            return Err(Failure::new(Cause::Usage, "plan the films")
                .on(on)
                .happened(happened)
                .next(next));
        }
        Ok(streams)
    }

    pub(super) fn size(&self) -> Bytes {
        match (self.size, self.server_memory) {
            (Some(size), _) => size,
            (None, Some(memory)) => Bytes(memory.0.saturating_mul(2)),
            (None, None) => DEFAULT_SIZE,
        }
    }

    pub(super) fn played_seconds(&self) -> f64 {
        match (self.soak, self.how.quick) {
            (Some(soak), _) => soak.as_secs_f64(),
            (None, true) => 0.0,
            (None, false) => PLAYED_SECONDS,
        }
    }

    pub(super) fn design(&self) -> Design {
        let PlayRule { quick, .. } = self.how;
        let blocks = self.how.repeats.unwrap_or(if quick { QUICK_BLOCKS } else { BLOCKS });
        let cap = if self.during.is_some() { CAP_WITH_WORK_SECONDS } else { CAP_SECONDS };
        // Two numbers of streams play for that long.
        let cap = cap + self.soak.map_or(0.0, |soak| 2.0 * soak.as_secs_f64());
        let baseline = if quick { 1.0 } else { BASELINE_SECONDS };
        Design {
            rule: Rule::Fixed { blocks },
            cap_seconds: self.how.max_time.map_or(cap, |time| time.as_secs_f64()),
            baseline_seconds: self.how.baseline.map_or(baseline, |time| time.as_secs_f64()),
            confidence: arguments::CONFIDENCE,
            seed: self.how.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
            ..Design::default()
        }
    }

    /// Length of a trial with streams that are uncapped.
    pub(super) fn trial(&self) -> Result<Length, Failure> {
        let usual = if self.how.quick { QUICK_SECONDS } else { SECONDS };
        self.length(usual, SHORTEST_SECONDS)
    }

    /// Length of a trial, which is the usual one unless it is given, and the shortest one at least; in seconds.
    pub(super) fn length(&self, usual: f64, shortest: f64) -> Result<Length, Failure> {
        let seconds = self.how.time.map_or(usual, |time| time.as_secs_f64());
        if seconds >= shortest {
            return Ok(length(seconds));
        }
        Err(Failure::new(Cause::Usage, "plan the trials")
            .on("--time")
            .happened(format!("a trial must last at least {}", units::chosen_time(shortest)))
            .next(format!("Give --time {usual}s for reliable figures.")))
    }
}

/// A trial of so many seconds, the first of which are not counted.
pub(super) fn length(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: (WARM_UP * seconds).min(MOST_WARM_UP_SECONDS) }
}
