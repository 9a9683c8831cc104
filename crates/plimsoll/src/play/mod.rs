//! `plimsoll play`: do films play without a stall, how many at once, and while a backup runs?

mod film;
mod follow;
mod links;
mod work;

use crate::arguments::{
    self, AccessArguments, CacheChoice, HostArguments, OutputArguments, StoreArguments,
};
use crate::check::{self, More};
use crate::plan::{self, Storage, Work};
use clap::{Args, ValueEnum};
use follow::Wanted;
use plimsoll_model::units::{self, Bytes, GIB, MIB, parse_duration};
use plimsoll_model::{
    Arrival, Cause, Design, Failure, Job, Length, Pace, Part, Plan, PlaybackJob, Player, Rule,
    SlidesJob, StorageOptions, Study, Workload,
};
use std::num::NonZeroU16;
use std::time::Duration;
use work::OtherWork;

/// Numbers of streams to begin with, and the most that are tried.
const STREAMS: [u16; 4] = [1, 2, 4, 8];
const MOST_STREAMS: u16 = 64;
/// Blocks of each number of streams, and seconds of their trials: the interval is then about ±8%.
const BLOCKS: u32 = 6;
const QUICK_BLOCKS: u32 = 3;
const SECONDS: f64 = 5.0;
const QUICK_SECONDS: f64 = 2.0;
const SHORTEST_SECONDS: f64 = 0.5;
/// Share of a trial that is not counted, and most of it in seconds.
const WARM_UP: f64 = 0.1;
const MOST_WARM_UP_SECONDS: f64 = 0.5;
/// Seconds that streams play at their rate.
const PLAYED_SECONDS: f64 = 30.0;
/// Seconds between two seeks.
const SEEK_SECONDS: f64 = 5.0;
/// Time limit, where none is given, apart from the time that films play.
const CAP_SECONDS: f64 = 600.0;
const CAP_WITH_WORK_SECONDS: f64 = 1200.0;
const BASELINE_SECONDS: f64 = 5.0;
const DEFAULT_SIZE: Bytes = Bytes(GIB);
/// Photos of a slide show, the seconds that each is shown, and those of a trial.
const PHOTOS: [Bytes; 2] = [Bytes(3_000_000), Bytes(24_000_000)];
const SHOWN_SECONDS: f64 = 3.0;
const SLIDES_SECONDS: f64 = 15.0;
/// Longer than the time after which a photo is late: the first one is in time or late then.
const SHORTEST_SLIDES_SECONDS: f64 = 1.0;
const SLIDES_SIZE: Bytes = Bytes(256 * MIB);
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
    fn player(&self) -> Result<Player, Failure> {
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
    fn request(&self, usual: Bytes) -> Result<Bytes, Failure> {
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

    fn streams(&self) -> Result<Vec<u16>, Failure> {
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

    fn size(&self) -> Bytes {
        match (self.size, self.server_memory) {
            (Some(size), _) => size,
            (None, Some(memory)) => Bytes(memory.0.saturating_mul(2)),
            (None, None) => DEFAULT_SIZE,
        }
    }

    fn played_seconds(&self) -> f64 {
        match (self.soak, self.how.quick) {
            (Some(soak), _) => soak.as_secs_f64(),
            (None, true) => 0.0,
            (None, false) => PLAYED_SECONDS,
        }
    }

    fn design(&self) -> Design {
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

    /// Length of a trial, which is the usual one unless it is given, and the shortest one at least; in seconds.
    fn length(&self, usual: f64, shortest: f64) -> Result<Length, Failure> {
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

fn length(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: (WARM_UP * seconds).min(MOST_WARM_UP_SECONDS) }
}

/// Plays films, and returns the exit code.
pub fn run(play: &PlayArguments, store: &StoreArguments) -> Result<u8, Failure> {
    let measured = |mut plan: Plan, more: More| -> Result<u8, Failure> {
        plan.command = plan::repeatable_command(&plan);
        let more = More { allow_open: play.hosts.allow_open, ..more };
        let study = check::measure(plan, &play.access, &play.output, store, more)?;
        Ok(check::exit_code(&study.0, study.1))
    };
    if play.slides {
        return measured(slides(play)?, More::default());
    }
    let (plan, wanted) = planned(play)?;
    let opened = (!play.output.quiet).then_some(links::say_rates as fn(&_, &[_], &[_]));
    let follow = Box::new(move |study: &Study| wanted.follow(study));
    measured(plan, More { opened, follow: Some(follow), ..More::default() })
}

/// The plan of a slide show.
fn slides(play: &PlayArguments) -> Result<Plan, Failure> {
    let mut design = play.design();
    design.rule = Rule::Fixed { blocks: play.how.repeats.unwrap_or(QUICK_BLOCKS) };
    let length = play.length(SLIDES_SECONDS, SHORTEST_SLIDES_SECONDS)?;
    let request = play.request(Bytes(MIB))?;
    let jobs = PHOTOS.iter().flat_map(|photo| [false, true].map(|ahead| (*photo, ahead)));
    let work = jobs.map(|(photo, ahead)| {
        let job = SlidesJob {
            photo,
            shown_seconds: SHOWN_SECONDS,
            ahead,
            block: request,
            size: play.size.or(play.server_memory.map(|_| play.size())).unwrap_or(SLIDES_SIZE),
        };
        let depth = play.in_flight.unwrap_or(NonZeroU16::MIN);
        let (workers, arrival) = (NonZeroU16::MIN, Arrival::Closed { depth });
        Work { job: job.into(), workers, arrival, length, explain: false, steps: None }
    });
    let plan = plan::plan(storage(play, work.collect(), design)?)?;
    let storage = StorageOptions { server_memory: play.server_memory, ..plan.storage };
    Ok(Plan { contrasts: Vec::new(), storage, ..plan })
}

/// What a plan is made of.
fn storage(play: &PlayArguments, work: Vec<Work>, design: Design) -> Result<Storage<'_>, Failure> {
    Ok(Storage {
        targets: arguments::targets(&play.targets)?,
        hosts: &play.hosts,
        work,
        engine: None,
        cache: play.cache.map(Into::into),
        timeout: play.how.timeout,
        factors: plan::factors(&play.hosts)?,
        design,
    })
}

/// The plan of the first stage, and what is wanted after it.
fn planned(play: &PlayArguments) -> Result<(Plan, Wanted), Failure> {
    // The second host does the other work.
    let most = if play.during.is_some() { 2 } else { 1 };
    if let Some(host) = play.hosts.on.get(most) {
        let happened =
            "one host plays the films, and with --while a second one does the other work";
        let next = "Give --on once, with more --streams; or twice, with --while.";
        return Err(Failure::new(Cause::Usage, "plan the films")
            .on(host)
            .happened(happened)
            .next(next));
    }
    if let (Some(soak), Some(limit)) = (play.soak, play.how.max_time)
        && soak > limit
    {
        let [soak, limit] = [soak, limit].map(|time| units::chosen_time(time.as_secs_f64()));
        return Err(Failure::new(Cause::Usage, "plan the films")
            .on("--soak")
            .happened(format!("films are to play for {soak}, and --max-time is {limit}"))
            .next("Leave --max-time out: the time of --soak comes on top of its default."));
    }
    let other_client = u16::from(play.hosts.on.len() > 1);
    let design = play.design();
    let usual = if play.how.quick { QUICK_SECONDS } else { SECONDS };
    let (player, streams, length) =
        (play.player()?, play.streams()?, play.length(usual, SHORTEST_SECONDS)?);
    let film = film::film(play, &player, design.seed)?;
    let in_flight = player.in_flight;
    let seek_every_seconds = play.seeks.then_some(SEEK_SECONDS);
    let (pace, size) = (Pace::Uncapped, play.size());
    let other = play.during.map(|during| during.part(design.seed, size)).transpose()?;
    let other = other.map(|other| Part { client: other_client, ..other });
    let job = PlaybackJob { film, player, pace, size, seek_every_seconds };
    let work = streams.iter().filter_map(|streams| NonZeroU16::new(*streams)).map(|workers| {
        let (job, arrival) = (Job::from(job.clone()), Arrival::Closed { depth: in_flight });
        Work { job, workers, arrival, length, explain: false, steps: None }
    });
    let blocks = design.rule.first_blocks();
    let mut plan = plan::plan(storage(play, work.collect(), design)?)?;
    // Each target and setting has a number of films of its own: that is the comparison.
    plan.contrasts.clear();
    // Films are played by the first host alone.
    plan.workloads.iter_mut().for_each(|workload| workload.parts.truncate(1));
    if let Some(other) = &other {
        let with_work = plan.workloads.clone().into_iter().map(|mut workload| {
            workload.parts.push(other.clone());
            workload
        });
        let with_work: Vec<Workload> = with_work.collect();
        plan.workloads.extend(with_work);
    }
    // How much a backup copies is not adapted.
    let copies = other.as_ref().is_some_and(|other| other.job.file_work().is_some());
    let adapt_size = play.size.is_none() && !copies;
    let (fit_size, server_memory) = (play.size.is_none(), play.server_memory);
    plan.storage = StorageOptions { adapt_size, fit_size, server_memory, ..plan.storage };
    let wanted = Wanted {
        blocks,
        length,
        refines: play.streams.is_empty() && !play.how.quick,
        played_seconds: play.played_seconds(),
    };
    Ok((plan, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Arguments, Command};
    use clap::Parser;

    fn planned(words: &[&str]) -> Result<(Plan, Wanted), Failure> {
        let words = ["plimsoll", "play", "/mnt"].iter().chain(words);
        let Command::Play(given) = Arguments::parse_from(words).command else { panic!() };
        super::planned(&given)
    }

    fn streams(plan: &Plan) -> Vec<(u16, usize)> {
        plan.workloads.iter().map(|w| (w.parts[0].workers.get(), w.parts.len())).collect()
    }

    #[test]
    fn each_number_of_streams_is_measured_alone_and_during_other_work() {
        let (plan, wanted) = planned(&[]).unwrap();
        assert_eq!(streams(&plan), [(1, 1), (2, 1), (4, 1), (8, 1)]);
        assert_eq!((plan.first_blocks(), plan.contrasts.len()), (6, 0));
        assert!(wanted.refines && plan.storage.adapt_size);
        let seconds: f64 = plan.workloads.iter().map(Workload::seconds).sum();
        assert_eq!(seconds, 20.0);
        let (plan, wanted) = planned(&["--streams=3,1", "--while=backup"]).unwrap();
        assert_eq!(streams(&plan), [(1, 1), (3, 1), (1, 2), (3, 2)]);
        assert!(!wanted.refines);
    }

    #[test]
    fn of_two_hosts_one_plays_and_the_other_does_the_other_work() {
        let hosts = ["--on=ssh://a", "--on=ssh://b", "--streams=1", "--while=backup"];
        let (plan, _) = planned(&hosts).unwrap();
        assert_eq!((streams(&plan), plan.clients().count()), (vec![(1, 1), (1, 2)], 2));
        let clients: Vec<u16> = plan.workloads[1].parts.iter().map(|part| part.client).collect();
        assert_eq!(clients, [0, 1]);
    }

    #[test]
    fn films_have_their_rates() {
        let rate = |words: &[&str]| {
            let (plan, _) = planned(words).unwrap();
            let Job::Playback(job) = &plan.workloads[0].parts[0].job else { panic!() };
            (job.film.rate(), job.player.name.clone())
        };
        let shown = |rate: &str, player: &str| (rate.to_owned(), player.to_owned());
        assert_eq!(rate(&[]), shown("12.5 Mbit/s", "kodi"));
        assert_eq!(rate(&["--film=4k-80", "--player=vlc"]), shown("80 Mbit/s", "vlc"));
        assert_eq!(rate(&["--rate=300kbit/s"]), shown("300 kbit/s", "kodi"));
        // With a second in the buffer, the worst scenes need more than the mean; 15 MiB carry over them.
        let (small, _) = planned(&["--variable", "--player=mpv", "--seed=7"]).unwrap();
        let Job::Playback(job) = &small.workloads[0].parts[0].job else { panic!() };
        assert!(job.film.required_rate > 1.2 * job.film.mean_rate, "{:?}", job.film.required_rate);
        assert_eq!(job.film.second_bytes.len(), 600);
    }

    /// They had no effect, and a request of 0 bytes was called a file that is too small.
    #[test]
    fn a_slide_show_takes_no_option_of_films_and_checks_its_own() {
        let parsed =
            |word: &str| Arguments::try_parse_from(["plimsoll", "play", "/mnt", "--slides", word]);
        for word in ["--film=4k", "--buffer=1MiB", "--player=vlc", "--soak=1h"] {
            assert!(parsed(word).is_err(), "{word}");
        }
        for (word, expected) in [
            ("--request=0", "a multiple of 512 bytes"),
            ("--request=128MiB", "at most 64 MiB"),
            ("--time=600ms", "at least 1 s"),
        ] {
            let Ok(Arguments { command: Command::Play(given), .. }) = parsed(word) else {
                panic!("{word}")
            };
            let failure = slides(&given).map(|_| ()).unwrap_err();
            assert!(failure.happened.contains(expected), "{failure}");
        }
        assert!(parsed("--request=64KiB").is_ok());
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        for (words, expected) in [
            (&["--request=1000"][..], "512"),
            (&["--streams=65"], "64 films"),
            (&["--time=100ms"], "0.5 s"),
            (&["--on=ssh://a", "--on=ssh://b"], "one host"),
            (&["--on=ssh://a", "--on=ssh://b", "--on=ssh://c", "--while=scan"], "one host"),
            (&["--film=/no/such/film.mkv"], "No such file"),
            (&["--soak=2h", "--max-time=10min"], "for 2 h, and --max-time is 10 min"),
        ] {
            let failure = planned(words).map(|_| ()).unwrap_err();
            assert!(failure.happened.contains(expected), "{failure}");
        }
        // A path is one of this machine, also where directories are another one's.
        let failure =
            planned(&["--on=ssh://a", "--film=/no/such/film.mkv"]).map(|_| ()).unwrap_err();
        assert!(failure.next.contains("from this machine, also with --on"), "{failure}");
        assert!(film::rate("0Mbit/s").is_err() && film::rate("25").is_err());
        assert_eq!(film::rate("8Mbit/s"), Ok(1e6));
    }
}
