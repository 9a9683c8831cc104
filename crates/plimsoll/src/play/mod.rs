//! `plimsoll play`: do films play without a stall, how many at once, and while a backup runs?

mod film;
mod follow;
mod links;
mod options;
mod work;

use crate::arguments::{self, StoreArguments};
use crate::check::{self, More};
use crate::plan::{self, Storage, Work};
use follow::Wanted;
pub(crate) use follow::continued;
pub use options::PlayArguments;
use options::QUICK_BLOCKS;
use plimsoll_model::units::{self, Bytes, MIB};
use plimsoll_model::{
    Arrival, Cause, Design, Failure, Job, JobFacts, Pace, Part, PatternJob, Plan, PlaybackJob,
    Rule, SlidesJob, StorageOptions, Study, Workload,
};
use std::num::NonZeroU16;

/// Seconds between two seeks.
const SEEK_SECONDS: f64 = 5.0;
/// Photos of a slide show, the seconds that each is shown, and those of a trial.
const PHOTOS: [Bytes; 2] = [Bytes(3_000_000), Bytes(24_000_000)];
const SHOWN_SECONDS: f64 = 3.0;
const SLIDES_SECONDS: f64 = 15.0;
/// Longer than the time after which a photo is late: the first one is in time or late then.
const SHORTEST_SLIDES_SECONDS: f64 = 1.0;
const SLIDES_SIZE: Bytes = Bytes(256 * MIB);

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
    let size = play.size.or(play.server_memory.map(|_| play.size())).unwrap_or(SLIDES_SIZE);
    let job = |photo, ahead| {
        let shown_seconds = SHOWN_SECONDS;
        SlidesJob { photo, shown_seconds, ahead, block: request, size }
    };
    for photo in PHOTOS {
        expect_fits(job(photo, false), size, format!("a photo of {} MB", photo.0 / 1_000_000))?;
    }
    let jobs = PHOTOS.iter().flat_map(|photo| [false, true].map(|ahead| job(*photo, ahead)));
    let work = jobs.map(|job| {
        let depth = play.in_flight.unwrap_or(NonZeroU16::MIN);
        let (workers, arrival) = (NonZeroU16::MIN, Arrival::Closed { depth });
        Work { job: job.into(), workers, arrival, length, explain: false, steps: None }
    });
    let plan = plan::plan(storage(play, work.collect(), design)?)?;
    let storage = StorageOptions { server_memory: play.server_memory, ..plan.storage };
    Ok(Plan { contrasts: Vec::new(), storage, ..plan })
}

/// Fails where each of the test files is too small for a request, or for a photo.
fn expect_fits(mut job: impl JobFacts, size: Bytes, least: String) -> Result<(), Failure> {
    if job.fit(1, size.0) {
        return Ok(());
    }
    let files = PatternJob::FILES;
    Err(Failure::new(Cause::Usage, "plan the test files")
        .on(format!("--size {}", size.to_string().replace(' ', "")))
        .happened(format!("each of the {files} test files must have room for {least}"))
        .next("Give a larger --size."))
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
    let (player, streams, length) = (play.player()?, play.streams()?, play.trial()?);
    let film = film::film(play, &player, design.seed)?;
    let in_flight = player.in_flight;
    let seek_every_seconds = play.seeks.then_some(SEEK_SECONDS);
    let (pace, size) = (Pace::Uncapped, play.size());
    let other = play.during.map(|during| during.part(design.seed, size)).transpose()?;
    let other = other.map(|other| Part { client: other_client, ..other });
    let request = format!("a request of {}", player.request);
    let job = PlaybackJob { film, player, pace, size, seek_every_seconds };
    expect_fits(job.clone(), size, request)?;
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
    Ok((plan, Wanted::of(play, blocks, length)))
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
            ("--size=100MiB", "room for a photo of 24 MB"),
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
            (&["--size=512KiB"], "a request of 128 KiB"),
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
