//! `plimsoll play` end to end: how many films play from a directory and from servers whose capacity is known.

mod support;

use plimsoll_explain::{Films, playback};
use plimsoll_model::{Ended, Job, Metric, Outcome, Pace, PlaybackJob, SlidesJob, Study, Trial};
use plimsoll_stats::playback::Verdict;
use plimsoll_testkit::proxy::TcpProxy;
use plimsoll_testkit::responder::{Costs, Responder, Stalls};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;
use support::sound::assert_complete;
use support::{Plimsoll, full, listing, unwrapped};

/// Short trials of small files.
const SHORT: [&str; 5] = ["--size=8MiB", "--baseline=0s", "--seed=7", "--quiet", "--request=64KiB"];

fn play(program: &Plimsoll, target: &str, words: &[&str]) -> (Study, String) {
    let arguments = [&["play", target][..], &SHORT, words].concat();
    let shown = program.run(&arguments).expect(0).out;
    let study = program.latest();
    assert_complete(&study);
    (study, shown)
}

fn alone(study: &Study) -> Films {
    let [only] = &playback(study)[..] else { panic!("one target") };
    only.alone.clone()
}

fn job(study: &Study, trial: &Trial) -> PlaybackJob {
    match &study.plan.workload(trial.cell).unwrap().parts[0].job {
        Job::Playback(job) => job.clone(),
        other => panic!("{other:?}"),
    }
}

/// The values of a measure in the trials at one pace.
fn values(study: &Study, pace: Pace, measure: plimsoll_model::Measure) -> Vec<f64> {
    let own = study.trials.iter().filter(|trial| job(study, trial).pace == pace);
    own.map(|trial| trial.result.value(0, Metric::all(measure)).unwrap()).collect()
}

#[test]
fn films_play_from_a_directory_and_nothing_is_left() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let words = ["--rate=1Mbit/s", "--streams=2", "--repeats=3", "--time=500ms", "--soak=1s"];
    let (study, shown) = play(&program, path, &words);
    let films = alone(&study);
    assert!(films.played.iter().all(|row| row.seeks.is_none()), "{films:?}");
    assert_eq!((films.most(), films.is_bounded()), (Some(2), false), "{films:?}");
    // Two films and three play for a second.
    let played: Vec<u16> = films.played.iter().map(|row| row.streams).collect();
    assert_eq!(played, [2, 3]);
    assert!(values(&study, Pace::Uncapped, PlaybackJob::HEADROOM).len() == 3);
    assert!(values(&study, Pace::Played, PlaybackJob::PLAYED).iter().all(|played| *played > 1.0));
    for trial in &study.trials {
        let buffer = trial.result.parts[0].buffer.as_ref();
        let seconds = buffer.map(|buffer| buffer.seconds.len());
        // A second has four samples, the last of which may fall to its end.
        match job(&study, trial).pace {
            Pace::Uncapped => assert_eq!(seconds, None),
            Pace::Played => assert!((3..=4).contains(&seconds.unwrap()), "{buffer:?}"),
        }
    }
    let page = program.run(&["report", "--output=-"]).expect(0).out;
    assert!(page.contains("Buffer over time"), "the page has a chart");
    assert!(shown.contains("At least 2 films of 1 Mbit/s play at once"), "{shown}");
    assert!(shown.contains("Player kodi sends requests of 64 KiB"), "{shown}");
    assert!(shown.lines().count() <= 24, "{shown}");
    assert_eq!(listing(target.path()), vec![]);
    // What is kept says the same again.
    assert_eq!(program.run(&["show"]).expect(0).out, shown);
}

/// A server of 4 MB/s carries three films of 1 MB/s and not five.
#[test]
fn the_capacity_of_a_server_decides_how_many_films_play() {
    let costs = Costs { byte: 1.0 / 4e6, ..Costs::FREE };
    let server = Responder::start_with(costs).unwrap();
    let program = Plimsoll::new();
    let soak = thorough::shorter("--soak=1s", "--soak=4s");
    let words = ["--rate=8Mbit/s", "--streams=3,5", "--repeats=4", "--time=2s", soak];
    let (study, shown) = play(&program, &server.url(), &words);
    let films = alone(&study);
    let verdict = |streams| {
        films.uncapped.iter().find(|row| row.streams == streams).unwrap().verdict.unwrap()
    };
    assert_eq!(verdict(3), Verdict::Plays, "{films:?}");
    assert_ne!(verdict(5), Verdict::Plays, "{films:?}");
    assert_eq!(films.most(), Some(3));
    // Four were not measured.
    let expected = "At least 3 and at most 4 films of 8 Mbit/s play at once";
    assert!(unwrapped(&shown).contains(expected), "{shown}");
    assert!(shown.contains("A film needs 8 Mbit/s; the slowest of 3 players gets"), "{shown}");
    assert!(films.played.iter().any(|row| row.streams == 3), "{films:?}");
    let page = program.run(&["report", "--output=-"]).expect(0).out;
    assert!(page.contains("Headroom over the number of films"), "the page has a chart");
}

/// A server of 1 MB/s, and a film of 2 MB/s.
#[test]
fn a_film_that_needs_more_than_there_is_stalls() {
    let server = Responder::start_with(Costs { byte: 1e-6, ..Costs::FREE }).unwrap();
    let (program, url) = (Plimsoll::new(), server.url());
    let films = ["--rate=16Mbit/s", "--player=mpv", "--request=64KiB", "--streams=1"];
    let short = ["--size=1MiB", "--repeats=4", "--time=1s", "--soak=5s", "--baseline=0s"];
    let words = [&["play", &url, "--quiet"][..], &films, &short].concat();
    let shown = program.run(&words).expect(0).out;
    let study = program.latest();
    assert_complete(&study);
    let films = alone(&study);
    assert_eq!(films.most(), Some(0), "{films:?}");
    assert!(shown.contains("A film of 16 Mbit/s stalls"), "{shown}");
    // One film plays at its rate nevertheless, and stalls.
    let stalls = values(&study, Pace::Played, PlaybackJob::STALLS);
    assert!(!stalls.is_empty() && stalls.iter().all(|stalls| *stalls > 0.0), "{stalls:?}");
}

/// Without numbers of streams the largest that plays is closed in on.
#[test]
fn the_largest_number_is_found() {
    if !thorough::has_time(30) {
        return;
    }
    let costs = Costs { byte: 1.0 / 4e6, ..Costs::FREE };
    let server = Responder::start_with(costs).unwrap();
    let program = Plimsoll::new();
    // 4 MB/s are 5.3 films of 0.75 MB/s.
    let words = ["--rate=6Mbit/s", "--repeats=3", "--time=1500ms", "--soak=2s"];
    let (study, _) = play(&program, &server.url(), &words);
    let films = alone(&study);
    assert!(films.is_bounded(), "{films:?}");
    let measured: Vec<u16> = films.uncapped.iter().map(|row| row.streams).collect();
    assert!(measured.starts_with(&[1, 2, 4]) && measured.contains(&5), "{measured:?}");
    assert!((4..=5).contains(&films.most().unwrap()), "{films:?}");
}

#[test]
fn a_server_that_freezes_stalls_a_film_whose_buffer_is_shorter() {
    if !thorough::has_time(25) {
        return;
    }
    let stalls = Some(Stalls { length: Duration::from_secs(2), every: Duration::from_secs(5) });
    let server = Responder::start_with(Costs { stalls, ..Costs::FREE }).unwrap();
    let program = Plimsoll::new();
    let words = ["--rate=2Mbit/s", "--player=mpv", "--streams=1", "--repeats=2"];
    let (study, _) =
        play(&program, &server.url(), &[&words[..], &["--time=2s", "--soak=10s"]].concat());
    let longest = values(&study, Pace::Played, PlaybackJob::LONGEST_PAUSE);
    assert!(longest.iter().all(|pause| *pause > 1.5), "{longest:?}");
    let stalled = values(&study, Pace::Played, PlaybackJob::STALLS);
    assert!(!stalled.is_empty() && stalled.iter().all(|stalls| *stalls > 0.0), "{stalled:?}");
}

#[test]
fn a_backup_beside_films_is_compared_with_either_alone() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let words = ["--rate=1Mbit/s", "--streams=1", "--repeats=2", "--time=1s", "--soak=1s"];
    let other = ["--while=backup", "--host=local"];
    let (study, shown) = play(&program, path, &[&words[..], &other].concat());
    let [only] = &playback(&study)[..] else { panic!("one target") };
    let during = only.during.as_ref().expect("films during a backup");
    assert_eq!(during.films.uncapped.len(), 1);
    assert!(during.film_loss.contains_key(&1), "{during:?}");
    assert!(during.work_loss.is_none_or(|(streams, _)| streams == 1), "{during:?}");
    assert!(shown.contains("during a backup"), "{shown}");
    let compared = program.run(&["compare", "latest", "--with", "puskas2017"]).expect(0).out;
    assert!(compared.contains("N750") && compared.contains("83%"), "{compared}");
    assert_eq!(listing(target.path()), vec![]);
}

#[test]
fn jobs_of_check_beside_films_are_compared_with_either_alone() {
    for (work, name) in [("database", "commits of a database"), ("random-write", "random writes")] {
        let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
        let path = target.path().to_str().unwrap();
        let short = ["--rate=1Mbit/s", "--streams=1", "--repeats=2", "--time=1s", "--soak=1s"];
        let other = format!("--while={work}");
        let (study, shown) = play(&program, path, &[&short[..], &[&other]].concat());
        let [only] = &playback(&study)[..] else { panic!("one target") };
        let during = only.during.as_ref().expect("films during other work");
        assert_eq!(during.work, name);
        assert!(during.film_loss.contains_key(&1), "{during:?}");
        assert!(shown.contains(name), "{shown}");
        assert_eq!(listing(target.path()), vec![]);
    }
}

#[test]
fn a_disk_that_fills_up_during_a_backup_ends_the_study() {
    let stage = enter_or_skip!(Need::Ganesha);
    // Backups in a trial take 110 MB and more.
    let config = GaneshaConfig::one(Export::directory("small").size(320 << 20));
    let server = Ganesha::start(&stage, config).unwrap();
    let (url, disk) = (server.url_with_ports("small"), server.directory("small").unwrap());
    let films = ["--rate=1Mbit/s", "--streams=1", "--while=backup:full"];
    let endless = ["--repeats=300", "--time=1s"];
    let words = [&["play", &url][..], &SHORT, &films, &endless].concat();
    full::assert_ends(&Plimsoll::new(), &words, disk);
}

/// What its time limit left out, larger numbers and films at their rate, is measured when it is continued.
#[test]
fn a_study_of_films_is_continued_to_its_end() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let words = ["--rate=1Mbit/s", "--streams=2", "--repeats=3", "--time=500ms", "--soak=1s"];
    let words = [&["play", path][..], &SHORT, &words, &["--max-time=1s"]].concat();
    let stopped = program.run(&words);
    assert!(matches!(stopped.code, Some(0 | 1)), "{stopped:?}");
    let study = program.latest();
    assert_eq!((&study.ended, alone(&study).played.len()), (&Ended::CapReached, 0));
    program.run(&["check", "--continue", "latest", "--quiet"]).expect(0);
    let study = program.latest();
    let films = alone(&study);
    let played: Vec<u16> = films.played.iter().map(|row| row.streams).collect();
    assert_eq!((&study.ended, &played[..]), (&Ended::Done, &[2, 3][..]), "{films:?}");
    assert_eq!(listing(target.path()), vec![]);
}

/// A server that takes no more connections is not one that is gone: other numbers of films are measured.
#[test]
fn more_films_than_a_server_takes_connections_fail_alone() {
    let stage = enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("films")).line("max smbd processes = 12");
    let server = Samba::start(&stage, config).unwrap();
    let reasons = reasons_of_too_many(&server.url("films"), "--time=500ms");
    assert!(reasons.iter().all(|reason| reason.contains(" of 16 connections: ")), "{reasons:?}");
}

/// One that closes its oldest connection for a new one takes them all, that for the names with them.
#[test]
fn more_films_than_a_server_keeps_connections_fail_alone() {
    let stage = enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let address = (Ipv4Addr::LOCALHOST, server.port()).into();
    let proxy = TcpProxy::before(address, Duration::ZERO).unwrap();
    proxy.keep_newest(8);
    let (own, before) = (proxy.address().port(), server.port());
    let url = server.url("films").replace(&before.to_string(), &own.to_string());
    let reasons = reasons_of_too_many(&url, "--time=2s");
    let is_limit = |reason: &String| reason.contains("the server answered other connections");
    assert!(reasons.iter().all(is_limit), "{reasons:?}");
}

/// Why 16 films fail, where the study goes on with one.
fn reasons_of_too_many(url: &str, time: &str) -> Vec<String> {
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let short = ["--rate=1Mbit/s", "--streams=1,16", "--repeats=3", time, "--soak=1s"];
    let shown = program.run(&[&["play", url][..], &SHORT, &short].concat()).expect(1).out;
    let study = program.latest();
    let films = alone(&study);
    assert_eq!((films.most(), &films.failed[..]), (Some(1), &[16][..]), "{films:?}");
    let expected = "At least 1 and at most 15 films of 1 Mbit/s play at once";
    assert!(unwrapped(&shown).contains(expected), "{shown}");
    let reasons = study.trials.iter().filter_map(|trial| match &trial.result.outcome {
        Outcome::Failed { failure, .. } => Some(failure.happened.clone()),
        _ => None,
    });
    let reasons: Vec<String> = reasons.collect();
    assert_eq!(reasons.len(), 3, "one a block");
    reasons
}

#[test]
fn a_film_is_there_again_after_a_seek() {
    if !thorough::has_time(15) {
        return;
    }
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let words = ["--rate=1Mbit/s", "--streams=1", "--repeats=2", "--time=500ms", "--soak=7s"];
    let (study, shown) = play(&program, path, &[&words[..], &["--seeks"]].concat());
    let seeks = alone(&study).played[0].seeks.expect("a seek after five seconds");
    assert_eq!(seeks.count, 1);
    assert!(seeks.longest_seconds >= seeks.mean_seconds, "{seeks:?}");
    assert!(shown.contains("After a seek, 1 film shows a picture in"), "{shown}");
    assert_eq!(listing(target.path()), vec![]);
}

#[test]
fn photos_are_shown_with_and_without_the_next_one_fetched_ahead() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let time = thorough::shorter("--time=2s", "--time=4s");
    let words = ["play", path, "--slides", time, "--repeats=1", "--baseline=0s", "--quiet"];
    let shown = program.run(&words).expect(0).out;
    let study = program.latest();
    assert_complete(&study);
    let photos = |trial: &Trial| trial.result.value(0, Metric::all(SlidesJob::PHOTOS)).unwrap();
    // At 0 s, and 3 s after the first was there.
    let all: Vec<f64> = study.trials.iter().map(photos).collect();
    assert!(all.len() == 4 && all.iter().all(|photos| (1.0..=2.0).contains(photos)), "{all:?}");
    assert!(shown.contains("photos of 24 MB"), "{shown}");
    assert_eq!(listing(target.path()), vec![]);
}

/// A box of an MP4 file.
fn boxed(kind: &[u8; 4], inner: &[u8]) -> Vec<u8> {
    [&(inner.len() as u32 + 8).to_be_bytes()[..], kind, inner].concat()
}

/// The index of a film that needs so many bytes in each of its seconds.
fn film(at: &Path, seconds: &[u32]) {
    let words = |of: &[u32]| -> Vec<u8> { of.iter().flat_map(|w| w.to_be_bytes()).collect() };
    let count = seconds.len() as u32;
    let sizes = boxed(b"stsz", &words(&[&[0, 0, count], seconds].concat()));
    let table = boxed(b"stbl", &[boxed(b"stts", &words(&[0, 1, count, 1])), sizes].concat());
    let header = boxed(b"mdhd", &words(&[0, 0, 0, 1, count, 0]));
    let media = boxed(b"mdia", &[header, boxed(b"minf", &table)].concat());
    let movie_header = boxed(b"mvhd", &words(&[0, 0, 0, 1, count]));
    let movie = boxed(b"moov", &[movie_header, boxed(b"trak", &media)].concat());
    let content = vec![0; seconds.iter().sum::<u32>() as usize];
    std::fs::write(at, [boxed(b"ftyp", b"isom"), movie, boxed(b"mdat", &content)].concat())
        .unwrap();
}

#[test]
fn the_rate_of_a_film_is_read_from_its_file() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let file = target.path().join("holiday.mp4");
    let mut seconds = vec![100_000; 60];
    seconds[30..33].fill(400_000);
    film(&file, &seconds);
    let path = target.path().to_str().unwrap();
    let given = format!("--film={}", file.display());
    let words = [&given, "--player=mpv", "--streams=1", "--repeats=2", "--time=500ms", "--soak=1s"];
    let (study, shown) = play(&program, path, &words);
    let film = job(&study, &study.trials[0]).film;
    // mpv holds about one second of the three that need most.
    assert!(film.required_rate > 2.0 * film.mean_rate, "{film:?}");
    assert!(unwrapped(&shown).contains("holiday.mp4 has a variable rate"), "{shown}");
    let left: Vec<_> = listing(target.path()).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [file]);
}

/// A folder behind both servers: the rate is that of the file itself, and nothing is written for it.
#[test]
fn the_rate_of_a_film_is_read_from_a_server() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let folder = nfs.directory("films").unwrap().to_owned();
    let share = SambaShare::existing("films", &folder);
    let smb = Samba::start(&stage, SambaConfig::one(share)).unwrap();
    std::fs::create_dir(folder.join("new")).unwrap();
    let mut seconds = vec![20_000; 60];
    seconds[30..33].fill(80_000);
    film(&folder.join("new/Holiday 1.mp4"), &seconds);
    std::fs::write(folder.join("notes.mkv"), "no film at all, but long enough to be one").unwrap();
    let before = listing(&folder);
    let (program, target) =
        (Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let words = ["--player=mpv", "--streams=1", "--repeats=2", "--time=500ms"];
    let required = |file: &str| {
        let given = format!("--film={file}");
        let (study, shown) = play(&program, path, &[&words[..], &[&given, "--soak=1s"]].concat());
        assert!(unwrapped(&shown).contains("Holiday 1.mp4 has a variable rate"), "{file}: {shown}");
        job(&study, &study.trials[0]).film
    };
    let local = required(folder.join("new/Holiday 1.mp4").to_str().unwrap());
    let (of_nfs, of_smb) = (nfs.url_with_ports("films"), smb.url("films"));
    for (url, options) in [(&of_nfs, "&vers=3"), (&of_nfs, "&vers=4.2"), (&of_smb, "?vers=3.1.1")] {
        let (address, own) = url
            .split_once('?')
            .map_or((&**url, String::new()), |(address, own)| (address, format!("?{own}")));
        let file = |name: &str| match own.is_empty() {
            true => format!("{address}/{name}{}", options.replace('&', "?")),
            false => format!("{address}/{name}{own}{options}"),
        };
        assert_eq!(required(&file("new/Holiday 1.mp4")), local, "{url} {options}");
        for (name, expected) in [
            ("notes.mkv", "neither MP4 nor Matroska"),
            ("new/none.mp4", "none.mp4"),
            ("new", "It is a directory: name a file in it."),
        ] {
            let refused = program.run(&["play", path, "--film", &file(name)]);
            assert!(refused.code.is_some_and(|code| (1..=5).contains(&code)), "{refused:?}");
            assert!(refused.err.contains(expected), "{url} {name}: {}", refused.err);
            assert!(refused.err.contains("next:"), "{url} {name}: {}", refused.err);
            assert!(!refused.err.contains("log of the server"), "{url} {name}: {}", refused.err);
        }
    }
    let stranger = Plimsoll::new().with("PLIMSOLL_PASSWORD", "not this one");
    let file = format!("{of_smb}/new/Holiday 1.mp4");
    let refused = stranger.run(&["play", path, "--film", &file]).expect(4);
    assert!(refused.err.contains("next:"), "{}", refused.err);
    assert_eq!((listing(&folder), listing(target.path())), (before, vec![]));
}

#[test]
fn what_is_no_film_is_refused_before_anything_is_touched() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let text = program.home().join("notes.txt");
    std::fs::write(&text, "no film at all, but long enough to be one").unwrap();
    let text = format!("--film={}", text.display());
    let directory = format!("--film={path}");
    for (word, expected) in [
        ("--film=/no/such/film.mkv", "No such file"),
        (&text, "neither MP4 nor Matroska"),
        (&directory, "Name a film in this directory."),
        ("--film=nfs:/nas/films/x.mkv", "No such file"),
        ("--film=nfs:/nas/films/x.mkv", "Write it as nfs://nas/films/x.mkv"),
        ("--film=smb://nas/films", "it names no file"),
        ("--film=ftp://nas/x.mkv", "'ftp://' is not supported"),
        ("--rate=0Mbit/s", "not between 1 kbit/s and 100 Gbit/s"),
        ("--rate=fast", "write it as 25Mbit/s"),
        ("--request=1", "multiple of 512"),
        ("--streams=65", "at most 64 films"),
    ] {
        let refused = program.run(&["play", path, word]).expect(2);
        assert!(refused.err.contains(expected), "{word}: {}", refused.err);
    }
    assert_eq!(listing(target.path()), vec![]);
}
