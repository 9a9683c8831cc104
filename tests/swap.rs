//! Another local user puts something else in the place of a run directory, at any moment of `check`
//! and `clean`: nothing outside is touched.
//!
//! The moment is forced (the program is stopped before each of its system calls) and left to chance
//! (an attacker runs beside it). `make fuzz` has the long run of the second, and `make test` all moments of the
//! first.

mod support;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use plimsoll_testkit::thorough;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::stepped::{self, Call};
use support::{Plimsoll, Ran, run_directories};

/// Files of our names, which are not ours.
const PRECIOUS: [&str; 3] = ["read.data", "write.data", "lease.json"];
const LEFTOVER: &str = ".plimsoll-0123abcd-01234567";
/// The shortest check that reads and writes. It does both now and then: no name is looked up meanwhile, and each
/// operation is a stop.
const SHORT: [&str; 9] = [
    "--pattern=random-mixed",
    "--size=64KiB",
    "--time=100ms",
    "--rate=100",
    "--depth=1",
    "--workers=1",
    "--repeats=1",
    "--baseline=0s",
    "--quiet",
];

/// What is put in the place of a run directory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bait {
    /// A symbolic link to a directory elsewhere.
    Link,
    /// A directory that lies beside it.
    Directory,
}

/// A target, and beside it what somebody would miss.
struct Ground {
    base: tempfile::TempDir,
    bait: Bait,
}

impl Ground {
    fn new(bait: Bait) -> Self {
        let ground = Ground { base: tempfile::tempdir().unwrap(), bait };
        fs::create_dir(ground.target()).unwrap();
        let precious = match bait {
            Bait::Link => ground.base.path().join("outside"),
            Bait::Directory => ground.bait(),
        };
        fs::create_dir(&precious).unwrap();
        PRECIOUS.iter().for_each(|name| fs::write(precious.join(name), "precious").unwrap());
        if bait == Bait::Link {
            symlink(&precious, ground.bait()).unwrap();
        }
        ground
    }

    fn target(&self) -> PathBuf {
        self.base.path().join("target")
    }

    fn bait(&self) -> PathBuf {
        self.target().join("films")
    }

    /// What a dead run left.
    fn leave(&self) -> PathBuf {
        let directory = support::leftover(&self.target(), 0x0123_4567);
        for number in 0..8 {
            for kind in ["read", "write"] {
                fs::write(directory.join(format!("{kind}-{number}.data")), "left").unwrap();
            }
        }
        directory
    }

    /// Exchanges the run directory and the bait, or exchanges them back.
    fn swap(&self, directory: &Path) -> bool {
        let flags = RenameFlags::RENAME_EXCHANGE;
        renameat2(AT_FDCWD, directory, AT_FDCWD, &self.bait(), flags).is_ok()
    }

    /// Where the precious files are now.
    fn precious(&self) -> PathBuf {
        let outside = self.base.path().join("outside");
        if self.bait == Bait::Link {
            return outside;
        }
        let holds = |path: &PathBuf| {
            let kept = fs::read(path.join(PRECIOUS[0]));
            kept.is_ok_and(|bytes| bytes == b"precious")
        };
        let entries = fs::read_dir(self.target()).unwrap().map(|e| e.unwrap().path());
        entries.into_iter().find(holds).unwrap_or(self.bait())
    }

    /// What somebody would miss now.
    fn lost(&self) -> Vec<&'static str> {
        let precious = self.precious();
        let intact = |name: &&str| fs::read(precious.join(name)).is_ok_and(|b| b == b"precious");
        let mut lost: Vec<_> = PRECIOUS.into_iter().filter(|name| !intact(name)).collect();
        let count = fs::read_dir(&precious).map_or(0, Iterator::count);
        if count != PRECIOUS.len() {
            lost.push("something came or went");
        }
        lost
    }
}

fn clean(ground: &Ground) -> Vec<String> {
    vec!["clean".into(), ground.target().display().to_string()]
}

fn check(ground: &Ground) -> Vec<String> {
    let mut words = vec!["check".to_owned(), ground.target().display().to_string()];
    words.extend(SHORT.map(str::to_owned));
    words
}

/// The run directory that an attacker sees.
fn run_directory(ground: &Ground) -> Option<PathBuf> {
    let mut found = run_directories(&ground.target());
    found.retain(|path| !path.to_string_lossy().contains("-probe-"));
    found.pop()
}

/// It ends by itself and in order, whatever was done to it.
#[track_caller]
fn in_order(ran: &Ran, what: &str) {
    assert!(ran.code.is_some_and(|code| code <= 6), "{what}: {ran:?}");
}

/// Attacks the nth call of those that `counts`, and with `back` undoes it before the next one. Calls count from the
/// first that names the target or what is in it: whatever is swapped earlier is found swapped by that call. They
/// count while there is a run directory: before and after, there is nothing to swap. Returns the number of such
/// calls, up to the last one that was attacked, and what was lost.
fn attack(
    ground: &Ground,
    command: &std::process::Command,
    counts: fn(&Call) -> bool,
    nth: usize,
    back: bool,
) -> (usize, Vec<&'static str>, Ran) {
    let target = ground.target().to_string_lossy().into_owned();
    let (mut begun, mut number, mut swapped) = (false, 0, None);
    let ran = stepped::run(command, &mut |call| {
        let named = |path: &String| path.starts_with(&target) || path.contains(".plimsoll-");
        begun |= call.path.as_ref().is_some_and(named);
        if !begun || !counts(call) {
            return ControlFlow::Continue(());
        }
        let there = run_directory(ground);
        if there.is_none() && swapped.is_none() {
            return ControlFlow::Continue(());
        }
        if number == nth {
            swapped = there.filter(|directory| ground.swap(directory));
        } else if let (true, Some(directory)) = (back, swapped.take()) {
            ground.swap(&directory);
        }
        number += 1;
        // After that it runs to its end, swapped or not.
        let last = if back { nth + 1 } else { nth };
        if number > last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (number, ground.lost(), ran)
}

/// Runs that are attacked at once: each waits for its trial.
const LANES: usize = 2;

/// Every call that `counts`, or one in `step` of them, is attacked, each in a run of its own. Returns how many there
/// are.
fn attack_each(
    step: usize,
    arguments: fn(&Ground) -> Vec<String>,
    leave: bool,
    counts: fn(&Call) -> bool,
    bait: Bait,
    back: bool,
) -> usize {
    let lane = |lane: usize| {
        let program = Plimsoll::new();
        for nth in (lane * step..).step_by(LANES * step) {
            let ground = Ground::new(bait);
            if leave {
                ground.leave();
            }
            let command = program.command(&arguments(&ground));
            let (calls, lost, ran) = attack(&ground, &command, counts, nth, back);
            let what = format!("{bait:?} before call {nth}, undone: {back}");
            in_order(&ran, &what);
            assert!(lost.is_empty(), "{what}: lost {lost:?}\n{}{}", ran.out, ran.err);
            if nth >= calls {
                return calls;
            }
        }
        0
    };
    std::thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES).map(|number| scope.spawn(move || lane(number))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("nothing was lost")).max().unwrap_or(0)
    })
}

/// Undone before the next call, or not.
const WAYS: [bool; 2] = [false, true];

#[test]
fn a_swap_between_any_two_calls_of_clean() {
    let step = thorough::one_in(12, "calls of clean");
    for bait in [Bait::Link, Bait::Directory] {
        for back in WAYS {
            // Every call that can meet a swap, whatever it is.
            let calls = attack_each(step, clean, true, |_| true, bait, back);
            println!(
                "{bait:?}, undone {back}: one in {step} of {calls} calls of clean was attacked"
            );
            assert!(calls >= 100, "a whole clean: {calls}");
        }
    }
}

#[test]
fn a_link_between_any_two_calls_of_check() {
    check_attacked(Bait::Link);
}

#[test]
fn another_directory_between_any_two_calls_of_check() {
    check_attacked(Bait::Directory);
}

/// Of a check, those calls that look a name up below a directory: between two of them all others
/// work on what is open, and a swap shows in the next one that looks up.
fn check_attacked(bait: Bait) {
    let step = thorough::one_in(12, "look-ups of check");
    for back in WAYS {
        let calls = attack_each(step, check, false, Call::looks_up, bait, back);
        println!(
            "{bait:?}, undone {back}: one in {step} of {calls} look-ups of check was attacked"
        );
        assert!(calls >= 20, "a whole check: {calls}");
    }
}

/// What the two tests above find in a program that goes by names.
#[test]
fn a_swap_between_two_calls_of_a_program_that_goes_by_names() {
    let by_name = format!("[ -d {LEFTOVER} ] && [ ! -h {LEFTOVER} ] && rm -f {LEFTOVER}/read.data");
    for bait in [Bait::Link, Bait::Directory] {
        let mut losses = 0;
        for nth in 0..20 {
            let ground = Ground::new(bait);
            ground.leave();
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &by_name]).current_dir(ground.target());
            let (_, lost, _) = attack(&ground, &command, Call::looks_up, nth, false);
            losses += usize::from(!lost.is_empty());
        }
        assert!(losses > 0, "{bait:?}: the attack is none");
    }
}

/// Swaps for as long as it lives.
struct Attacker<'a> {
    ground: &'a Ground,
    swaps: AtomicUsize,
    stop: AtomicBool,
}

impl<'a> Attacker<'a> {
    /// Attacks while something is done. Returns what that gave, and the number of swaps.
    fn during<T>(ground: &'a Ground, work: impl FnOnce(&AtomicUsize) -> T) -> (T, usize) {
        let attacker =
            Attacker { ground, swaps: AtomicUsize::new(0), stop: AtomicBool::new(false) };
        let done = std::thread::scope(|scope| {
            scope.spawn(|| attacker.run());
            let done = work(&attacker.swaps);
            attacker.stop.store(true, Ordering::Relaxed);
            done
        });
        (done, attacker.swaps.into_inner())
    }

    fn run(&self) {
        let mut directory: Option<PathBuf> = None;
        while !self.stop.load(Ordering::Relaxed) {
            match &directory {
                Some(known) if self.ground.swap(known) => {
                    self.swaps.fetch_add(1, Ordering::Relaxed);
                }
                _ => directory = run_directory(self.ground),
            }
        }
    }
}

fn bait(round: usize) -> Bait {
    if round.is_multiple_of(2) { Bait::Link } else { Bait::Directory }
}

/// So many rounds of the program beside an attacker. Returns the swaps made meanwhile, and how many
/// rounds ended as if nothing had happened.
fn rounds(count: usize, arguments: fn(&Ground) -> Vec<String>, leave: bool) -> (usize, usize) {
    let program = Plimsoll::new();
    let (mut swaps, mut whole) = (0, 0);
    for round in 0..count {
        let ground = Ground::new(bait(round));
        if leave {
            ground.leave();
        }
        let (ran, swapped) = Attacker::during(&ground, |swaps| {
            while leave && swaps.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            program.run(&arguments(&ground))
        });
        in_order(&ran, &format!("round {round}"));
        let lost = ground.lost();
        assert!(lost.is_empty(), "round {round}: lost {lost:?}\n{}{}", ran.out, ran.err);
        swaps += swapped;
        whole += usize::from(ran.code == Some(0));
    }
    println!("{count} rounds: {swaps} swaps, {whole} ended with 0");
    (swaps, whole)
}

#[test]
fn a_hundred_cleans_beside_an_attacker() {
    let (swaps, _) = rounds(100, clean, true);
    assert!(swaps > 100, "{swaps} swaps are no attack");
}

#[test]
fn five_checks_beside_an_attacker() {
    let (swaps, _) = rounds(5, check, false);
    assert!(swaps > 5, "{swaps} swaps are no attack");
}

/// In a directory where everybody may make names: what belongs to somebody else looks like ours, and
/// its owner may swap it, so root leaves it alone and says so.
#[test]
fn the_directory_of_another_user_is_left_and_named() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED: only root can make a directory of another user");
        return;
    }
    for round in 0..20 {
        let ground = Ground::new(bait(round));
        fs::set_permissions(ground.target(), fs::Permissions::from_mode(0o1777)).unwrap();
        let directory = ground.leave();
        chown(&directory, Some(65534), None).unwrap();
        let (ran, _) = Attacker::during(&ground, |_| Plimsoll::new().run(&clean(&ground)));
        assert!(!ran.out.contains("removed"), "{}", ran.out);
        assert_eq!(ground.lost(), Vec::<&str>::new());
        let theirs = [LEFTOVER, "films"].map(|name| ground.target().join(name));
        let kept = |path: &PathBuf| fs::read(path.join("write.data")).is_ok_and(|b| b == b"left");
        assert!(theirs.iter().any(kept), "{}", ran.out);
    }
    let ground = Ground::new(Bait::Link);
    let directory = ground.leave();
    let files = || fs::read_dir(&directory).unwrap().count();
    let left = files();
    for path in [directory.clone(), directory.join("lease.json")] {
        chown(path, Some(65534), None).unwrap();
    }
    let ran = Plimsoll::new().run(&clean(&ground)).expect(1);
    assert!(ran.out.contains("it belongs to user 65534"), "{}", ran.out);
    assert_eq!(files(), left);
}

/// More luck for an attacker.
#[test]
#[ignore = "minutes; make fuzz runs it"]
fn a_thousand_rounds_beside_an_attacker() {
    let (swaps, _) = rounds(1000, clean, true);
    assert!(swaps > 1000, "{swaps} swaps are no attack");
    rounds(50, check, false);
}

/// The attacker of the tests above takes files from a program that goes by names.
#[test]
fn the_attacker_succeeds_where_names_are_gone_by() {
    for bait in [Bait::Link, Bait::Directory] {
        let begin = Instant::now();
        let lost = || {
            let ground = Ground::new(bait);
            let directory = ground.leave();
            Attacker::during(&ground, |_| {
                for _ in 0..1000 {
                    if fs::symlink_metadata(&directory).is_ok_and(|m| m.is_dir()) {
                        let _ = fs::remove_file(directory.join("read.data"));
                    }
                }
            });
            !ground.lost().is_empty()
        };
        while !lost() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{bait:?}: the attack is none");
        }
    }
}
