//! kill -9 at any moment and at every write: the store opens, finished trials are there, and
//! `clean` removes the leftovers and nothing else.
//!
//! `PLIMSOLL_SEED` sets the seed of the random moments. `make test` has all moments, `cargo test` one in a few.

mod support;

use plimsoll_model::{Ended, Flag, Outcome, Study};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use support::{Plimsoll, Ran, listing, run_directories, strace, wait_until};

const SEED: u64 = 50;
/// Kills at random moments on a directory, shared out among so many stores used at once.
const KILLS: usize = 50;
const FEW_KILLS: usize = 10;
const LANES: usize = 2;
/// The same on a server, with one store.
const KILLS_ON_A_SERVER: usize = 6;
/// The moments lie between the start and the end of about so many trials.
const TRIALS_BEFORE: usize = 6;

/// Small files and short trials, without an idle window first.
const SHORT: [&str; 5] = ["--size=1MiB", "--time=100ms", "--workers=1", "--baseline=0s", "--quiet"];

fn check(target: &str, more: &[&str]) -> Vec<String> {
    ["check", target].iter().chain(&SHORT).chain(more).map(|s| (*s).to_owned()).collect()
}

/// Ends the program with the test, whatever becomes of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What others keep on the target, with names that are nearly ours.
fn put_foreign_files(directory: &Path) {
    for name in [".plimsoll-notours", ".plimsoll-0123abcd-0123ABCD", "films"] {
        fs::create_dir(directory.join(name)).unwrap();
        fs::write(directory.join(name).join("read.data"), "precious").unwrap();
    }
    fs::write(directory.join(".plimsoll-0123abcd-01234567"), "a file, not a directory").unwrap();
    fs::write(directory.join("lease.json"), "{}").unwrap();
}

/// The last parts of paths.
fn names(directories: impl IntoIterator<Item = PathBuf>) -> BTreeSet<String> {
    directories.into_iter().map(|d| d.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Whatever the moment of the kill: the store opens, is whole, shows its studies, and the killed
/// study, if it began, has finished trials without a gap. Returns that study.
fn survivor(program: &Plimsoll, before: Option<&Study>) -> Option<Study> {
    program.run(&["list"]).expect(0);
    let latest = program.exported("latest");
    let store = rusqlite::Connection::open(program.db()).unwrap();
    let verdict: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans: i64 = store
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(orphans, 0);
    let Some(study) = latest else {
        assert_eq!(before, None, "a study that was kept is gone");
        return None;
    };
    program.run(&["show", "--details"]).expect(0);
    if before.is_some_and(|b| b.id == study.id) {
        assert_eq!(before, Some(&study), "an older study changed");
        return None;
    }
    for (number, trial) in study.trials.iter().enumerate() {
        assert_eq!(trial.number as usize, number, "a gap in the trials");
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
    }
    Some(study)
}

/// A target on which programs are killed, with foreign files and with a live run of another
/// program beside them, and the store of the killed ones.
struct Ground {
    program: Plimsoll,
    target: String,
    directory: PathBuf,
    neighbour: Running,
    neighbours: BTreeSet<String>,
    before: Vec<(PathBuf, Option<u64>)>,
    /// Every study in the store, the latest last.
    known: Vec<Study>,
    leftovers_seen: usize,
    trials_seen: usize,
}

impl Ground {
    fn new(target: &str, directory: &Path) -> Self {
        put_foreign_files(directory);
        let foreign = names(run_directories(directory));
        let waiting = ["--pattern=random-read", "--baseline=1h"];
        let arguments: Vec<String> =
            check(target, &waiting).into_iter().filter(|a| a != "--baseline=0s").collect();
        let neighbour = Plimsoll::new();
        let running = Running(neighbour.start(&arguments));
        let its = || {
            names(run_directories(directory)).difference(&foreign).cloned().collect::<BTreeSet<_>>()
        };
        wait_until("the neighbour is ready", || {
            its().iter().any(|name| {
                let length = |file| fs::metadata(directory.join(name).join(file)).map(|m| m.len());
                length("read-7.data").is_ok_and(|l| l == (1 << 20) / 8)
                    && length("lease.json").is_ok_and(|l| l > 0)
            })
        });
        Ground {
            program: Plimsoll::new(),
            target: target.to_owned(),
            directory: directory.to_owned(),
            neighbour: running,
            neighbours: its(),
            before: listing(directory),
            known: Vec::new(),
            leftovers_seen: 0,
            trials_seen: 0,
        }
    }

    fn leftovers(&self) -> BTreeSet<String> {
        let before: BTreeSet<_> = self.before.iter().map(|(path, _)| path.clone()).collect();
        names(run_directories(&self.directory).into_iter().filter(|d| !before.contains(d)))
    }

    fn start(&self) -> Running {
        // Three patterns: one reads, one writes, one does both.
        let patterns = "--pattern=sequential-read,random-write,random-mixed";
        Running(self.program.start(&check(&self.target, &[patterns, "--repeats=1000"])))
    }

    /// How long this machine takes, as busy as it is, until some trials are kept.
    fn span(&mut self) -> Duration {
        let begin = Instant::now();
        let running = self.start();
        let kept = || self.program.exported("latest").map_or(0, |study| study.trials.len());
        wait_until("some trials are kept", || kept() >= TRIALS_BEFORE);
        let span = begin.elapsed();
        self.after_the_kill(running, None);
        span
    }

    /// Kills a run so long after its start, and looks at what it leaves. What the store held
    /// shortly before must be there afterwards.
    fn kill_after(&mut self, moment: Duration) {
        let begin = Instant::now();
        let running = self.start();
        let look = Duration::from_millis(100);
        let mut acknowledged = None;
        if moment > look {
            std::thread::sleep(moment - look);
            acknowledged = self.program.exported("latest");
        }
        std::thread::sleep(moment.saturating_sub(begin.elapsed()));
        self.after_the_kill(running, acknowledged);
    }

    fn after_the_kill(&mut self, running: Running, acknowledged: Option<Study>) {
        drop(running);
        let killed = survivor(&self.program, self.known.last());
        if let Some(acknowledged) = acknowledged {
            let found = killed.as_ref().or(self.known.last()).expect("it was there");
            if self.known.last().is_none_or(|known| known.id != acknowledged.id) {
                assert_eq!(found.id, acknowledged.id, "the study is gone");
                let kept = found.trials.get(..acknowledged.trials.len());
                assert_eq!(kept, Some(&acknowledged.trials[..]), "a finished trial is lost");
            }
        }
        if let Some(killed) = killed {
            assert_eq!(killed.ended, Ended::Open, "it never came to its end");
            self.trials_seen += killed.trials.len();
            self.known.push(killed);
        }
        let leftovers = self.leftovers();
        self.leftovers_seen += leftovers.len();
        assert!(leftovers.len() <= 1, "one run, one directory: {leftovers:?}");
        self.check_again(&leftovers);
        self.clean(&leftovers);
    }

    /// The next run works, warns of what lies there, and touches none of it.
    fn check_again(&mut self, leftovers: &BTreeSet<String>) {
        let with_leftovers = listing(&self.directory);
        let next = check(&self.target, &["--pattern=random-write", "--repeats=1"]);
        let (ran, study) = (self.program.run(&next).expect(0), self.program.latest());
        self.known.push(study.clone());
        assert_eq!((study.trials.len(), &study.ended), (1, &Ended::Done));
        let warned: Option<BTreeSet<String>> = study.flags.iter().find_map(|flag| match flag {
            Flag::Leftovers { directories, .. } => Some(directories.iter().cloned().collect()),
            _ => None,
        });
        assert_eq!(warned.unwrap_or_default(), *leftovers);
        assert_eq!(ran.out.contains("plimsoll clean"), !leftovers.is_empty(), "{}", ran.out);
        let others = study.flags.iter().filter_map(|flag| match flag {
            Flag::OtherRun { directory } => Some(directory.clone()),
            _ => None,
        });
        assert_eq!(others.collect::<BTreeSet<_>>(), self.neighbours, "who else is here");
        assert_eq!(listing(&self.directory), with_leftovers);
    }

    fn clean(&self, leftovers: &BTreeSet<String>) {
        let ran = self.program.run(&["clean", &self.target]).expect(0);
        assert_cleaned(&ran, leftovers);
        for name in &self.neighbours {
            assert!(
                ran.out.contains(&format!("kept {name}: its run is still alive")),
                "{}",
                ran.out
            );
        }
        assert_eq!(listing(&self.directory), self.before, "leftovers are gone and nothing else");
    }

    /// In the end every study is as it was when it was first seen, and the neighbour's directory
    /// was spared only because its run was alive.
    fn end(mut self) -> (usize, usize) {
        for study in &self.known {
            assert_eq!(self.program.exported(&study.id.0).as_ref(), Some(study));
        }
        assert!(self.neighbour.0.try_wait().unwrap().is_none(), "the neighbour waits on");
        self.neighbour.0.kill().unwrap();
        self.neighbour.0.wait().unwrap();
        let ran = self.program.run(&["clean", &self.target]).expect(0);
        assert_cleaned(&ran, &self.neighbours);
        let its = |path: &Path| {
            self.neighbours.iter().any(|name| path.starts_with(self.directory.join(name)))
        };
        let expected: Vec<_> = self.before.iter().filter(|(path, _)| !its(path)).cloned().collect();
        assert_eq!(listing(&self.directory), expected);
        (self.leftovers_seen, self.trials_seen)
    }
}

/// `clean` says that it removed these and no others.
#[track_caller]
fn assert_cleaned(ran: &Ran, leftovers: &BTreeSet<String>) {
    let removed = ran.out.lines().filter_map(|line| line.strip_prefix("removed "));
    let removed: BTreeSet<_> = removed.filter_map(|l| Some(l.split_once(" from ")?.0)).collect();
    assert_eq!(removed, leftovers.iter().map(String::as_str).collect(), "{}", ran.out);
}

/// Kills so many runs at random moments. Returns how many left something behind, and how many
/// trials they kept.
fn kill_at_random(mut ground: Ground, mut random: Pcg64, kills: usize) -> (usize, usize) {
    let span = ground.span();
    for kill in 0..kills {
        let moment = span.mul_f64(random.random_range(0.0..1.0));
        println!("kill {kill} on {} after {moment:?}", ground.target);
        ground.kill_after(moment);
    }
    ground.end()
}

/// The generator of one of several sequences of moments; says the seed.
fn random(sequence: u64) -> Pcg64 {
    let given = std::env::var("PLIMSOLL_SEED").ok();
    let seed = given.map_or(SEED, |s| s.parse().expect("PLIMSOLL_SEED is a number"));
    println!("PLIMSOLL_SEED={seed}");
    Pcg64::seed_from_u64(seed.wrapping_add(sequence << 32))
}

#[test]
fn killed_at_random_moments_on_a_directory() {
    let kills = thorough::some_of(FEW_KILLS, KILLS, "kills");
    let outcomes: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let lane = |lane: usize| {
            move || {
                let directory = tempfile::tempdir().unwrap();
                let ground = Ground::new(directory.path().to_str().unwrap(), directory.path());
                kill_at_random(ground, random(lane as u64), kills.div_ceil(LANES))
            }
        };
        let lanes: Vec<_> = (0..LANES).map(|n| scope.spawn(lane(n))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let (leftovers, trials) = outcomes.iter().fold((0, 0), |(l, t), o| (l + o.0, t + o.1));
    assert!(leftovers > kills / 4 && trials > kills / 4, "{leftovers} leftovers, {trials} trials");
}

#[test]
fn killed_at_random_moments_on_a_server() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let directory = server.directory("films").unwrap();
    let ground = Ground::new(&server.url_with_ports("films"), directory);
    let (leftovers, _) = kill_at_random(ground, random(9), KILLS_ON_A_SERVER);
    assert!(leftovers > 0);
}

/// Trials of a run that is killed at every write.
const TRIALS: usize = 3;

/// The arguments of that run.
fn short_run(directory: &Path) -> Vec<String> {
    let repeats = format!("--repeats={TRIALS}");
    let more = ["--pattern=random-write", "--engine=psync", &repeats];
    check(directory.to_str().unwrap(), &more)
}

/// A program and a directory with foreign files, for one run.
struct Place {
    program: Plimsoll,
    there: tempfile::TempDir,
    before: Vec<(PathBuf, Option<u64>)>,
}

impl Place {
    fn new() -> Self {
        let there = tempfile::tempdir().unwrap();
        put_foreign_files(there.path());
        let before = listing(there.path());
        Place { program: Plimsoll::new(), there, before }
    }

    fn leftovers(&self) -> BTreeSet<String> {
        let is_new = |d: &PathBuf| self.before.iter().all(|(path, _)| path != d);
        names(run_directories(self.there.path()).into_iter().filter(is_new))
    }

    fn run(
        &self,
        calls: &str,
        paths: Paths,
        kill_before: Option<(&str, usize)>,
    ) -> (Ran, strace::Log) {
        let paths = paths(&self.program, self.there.path());
        let tracer = strace::Tracer { calls, paths: &paths, kill_before };
        tracer.run(&self.program, &short_run(self.there.path()))
    }
}

/// Whose calls count: only calls on these paths, or all where there are none.
type Paths = fn(&Plimsoll, &Path) -> Vec<PathBuf>;

/// The store's file, its rollback journal, and their directory, which is synced after a commit.
fn store_paths(program: &Plimsoll, _target: &Path) -> Vec<PathBuf> {
    let store = program.db();
    let journal = store.with_file_name("studies.db-journal");
    vec![store.parent().unwrap().to_owned(), store, journal]
}

/// Names are looked up from the target's own descriptor, and from that of the run directory, whose
/// name is not known before: by their last names.
fn target_paths(_: &Plimsoll, target: &Path) -> Vec<PathBuf> {
    let files = ["lease.json", "read-0.data", "read-7.data", "write-0.data", "write-7.data"]
        .map(PathBuf::from);
    [target.to_owned()].into_iter().chain(files).collect()
}

fn every_path(_: &Plimsoll, _: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Kills a run before the first, the second, … of each of these calls, until one comes to its end
/// unharmed; or before one in so many of them, from the first on. Every time, all that must hold after a kill holds;
/// `look` sees the calls made and the study found. Returns the number of kills.
fn kill_before_every<S: AsRef<str> + Sync>(
    calls: &[S],
    step_of: impl Fn(&str) -> usize + Sync,
    paths: Paths,
    look: impl Fn(&strace::Log, Option<&Study>) + Sync,
) -> usize {
    let kill = |call: &str, nth: usize| {
        let place = Place::new();
        let (ran, log) = place.run("openat,unlink", paths, Some((call, nth)));
        if ran.code == Some(0) {
            return false;
        }
        println!("killed before {call} {nth}");
        assert_eq!(ran.code, None, "{}{}", ran.out, ran.err);
        look(&log, survivor(&place.program, None).as_ref());
        let left = place.leftovers();
        let target = place.there.path().to_str().unwrap();
        let cleaned = place.program.run(&["clean", target]).expect(0);
        assert_cleaned(&cleaned, &left);
        assert_eq!(listing(place.there.path()), place.before);
        true
    };
    let lane = |lane: usize| {
        let of_one = |call: &S| {
            let (call, step) = (call.as_ref(), step_of(call.as_ref()));
            let moments = (1 + lane * step..).step_by(LANES * step);
            moments.take_while(|nth| kill(call, *nth)).count()
        };
        calls.iter().map(of_one).sum::<usize>()
    };
    std::thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES).map(|n| scope.spawn(move || lane(n))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
    })
}

#[test]
fn killed_before_every_write_to_the_store() {
    if !plimsoll_testkit::available(Need::Strace) {
        return;
    }
    // Whatever SQLite does to its files, but for what cannot change anything.
    let (ran, whole) = Place::new().run("%file,%desc", store_paths, None);
    ran.expect(0);
    let calls = whole.writing_calls();
    assert!(["openat", "pwrite64", "unlink"].iter().all(|c| calls.contains(*c)), "{calls:?}");
    let calls: Vec<_> = calls.into_iter().collect();

    // A commit ends with a removal: there is a kill between any two commits, whatever is left out.
    let step = thorough::one_in(6, "calls on the store's files but for removals");
    let step_of = |call: &str| if call == "unlink" { 1 } else { step };
    // What the store holds follows from the commits alone: nothing, the study, trial by trial.
    let found = Mutex::new(BTreeMap::<usize, BTreeSet<Option<usize>>>::new());
    let kills = kill_before_every(&calls, step_of, store_paths, |log, study| {
        let trials = study.map(|s| s.trials.len());
        found.lock().unwrap().entry(log.commits()).or_default().insert(trials);
    });
    println!("{kills} kills before {calls:?}");
    let found = found.into_inner().unwrap();
    println!("trials by commits: {found:?}");
    // After the last removal the directory is synced, and no more: that may be left out.
    let last = found.keys().next_back().copied().unwrap_or(0);
    assert!(last == whole.commits() || step > 1 && last + 1 == whole.commits(), "{found:?}");
    assert!(found.keys().copied().eq(0..=last), "kills between all commits");
    assert!(found.values().all(|trials| trials.len() == 1), "one commit, one content");
    let mut contents: Vec<_> = found.values().flatten().copied().collect();
    contents.dedup();
    let expected = std::iter::once(None).chain((0..=TRIALS).map(Some));
    assert!(contents.into_iter().eq(expected), "a commit brings one trial at most");
}

#[test]
fn killed_before_every_change_on_the_target() {
    if !plimsoll_testkit::available(Need::Strace) {
        return;
    }
    let seen = Mutex::new(BTreeSet::new());
    let look = |log: &strace::Log, study: Option<&Study>| {
        let trials = study.map(|s| s.trials.len());
        // The lease is written when the directory is made and at the start of each trial: by then
        // the trial before is finished.
        let finished = log.written("lease.json").saturating_sub(2);
        assert!(trials.unwrap_or(0) >= finished, "{finished} trials finished, {trials:?} kept");
        seen.lock().unwrap().insert((finished, trials));
    };
    let step = thorough::one_in(3, "calls that change the target");
    // Directories and files that are made and removed, and everything that fills the lease.
    let of_names = ["mkdirat", "openat", "unlinkat"];
    let names = kill_before_every(&of_names, |_| step, target_paths, look);
    let of_content = ["write", "ftruncate", "fdatasync"];
    let content = kill_before_every(&of_content, |_| step, every_path, look);
    println!("{names} kills before a name changed, {content} before content did");
    assert!(step * names > 2 * TRIALS && step * content > 2 * TRIALS);
    let seen = seen.into_inner().unwrap();
    println!("finished and kept: {seen:?}");
    let kept: BTreeSet<_> = seen.iter().map(|(_, kept)| *kept).collect();
    let all: BTreeSet<_> = std::iter::once(None).chain((0..=TRIALS).map(Some)).collect();
    if step == 1 {
        assert_eq!(kept, all, "kills before, between and after all trials");
    } else {
        let ends = (kept.first(), kept.last());
        assert_eq!(ends, (all.first(), all.last()), "kills before and after all trials");
    }
    assert!(seen.iter().any(|(finished, _)| *finished == TRIALS - 1), "the lease was looked for");
}
