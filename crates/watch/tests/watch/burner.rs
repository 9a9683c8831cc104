//! A burner of known duty: what it really used is known from its own thread's clock, which the
//! scheduler keeps exactly, and is compared with the shares that the watch finds.

use crate::support::{by_shell, sample};
use nix::time::{ClockId, clock_gettime};
use plimsoll_model::{CpuTimes, Flag, HostLoad, HostName};
use plimsoll_testkit::Need;
use plimsoll_watch::{Account, Ask, Watch};
use std::fs::File;
use std::io::Read;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The share that is to be found, in points.
const POINTS: f64 = 0.02;
/// The core that is burnt.
const CORE: usize = 0;

fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into()
}

/// Binds this thread to the core, before all others: they get what it leaves.
fn seize_core() {
    let id = nix::unistd::gettid().to_string();
    let run = |program: &str, words: &[&str]| {
        assert!(Command::new(program).args(words).output().unwrap().status.success(), "{program}");
    };
    run("taskset", &["-pc", &CORE.to_string(), &id]);
    // Niced work has a class of its own.
    run("renice", &["-n", "0", "-p", &id]);
    run("chrt", &["--fifo", "--pid", "50", &id]);
}

/// Work in user space or in the kernel.
struct Work {
    zeros: File,
    buffer: Vec<u8>,
}

impl Work {
    fn new() -> Work {
        Work { zeros: File::open("/dev/zero").unwrap(), buffer: vec![0; 256 << 10] }
    }

    /// Until then; returns what this thread used.
    fn burn(&mut self, kernel: bool, until: Instant) -> Duration {
        let begun = thread_time();
        let mut sum = 0u64;
        while Instant::now() < until {
            if kernel {
                // Some 20 µs that are nearly all the kernel's.
                sum += self.zeros.read(&mut self.buffer).unwrap() as u64;
            } else {
                (0..20_000u64).for_each(|i| sum = std::hint::black_box(sum ^ i));
            }
        }
        assert!(sum != 1);
        thread_time() - begun
    }
}

/// Rounds of a length that no tick divides, kept to the clock, so that ticks fall everywhere in them
/// alike. `round` does its part from the given moment on; a twentieth is left to others, as the
/// kernel wants it.
fn rounds(until: Instant, mut round: impl FnMut(Instant)) {
    let mut begin = Instant::now();
    while begin < until {
        round(begin);
        begin += ROUND;
        std::thread::sleep(begin.saturating_duration_since(Instant::now()));
    }
}

const ROUND: Duration = Duration::from_micros(7_310);

/// One burner at a time.
static BURNING: Mutex<()> = Mutex::new(());

/// Burns on another thread while this one watches; returns the load, and what the burner used.
fn watched<T: Send + 'static>(
    seconds: u64,
    burner: impl FnOnce(Instant) -> T + Send + 'static,
) -> (HostLoad, Vec<Flag>, T) {
    let _alone = BURNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watch = by_shell();
    let mut account = Account::new(&HostName::Local, watch.hardware().clone(), None);
    let until = Instant::now() + Duration::from_secs(seconds);
    account.add(&sample(&mut watch, Ask::Counters));
    let burner = std::thread::spawn(move || {
        seize_core();
        burner(until)
    });
    for _ in 1..seconds {
        std::thread::sleep(Duration::from_secs(1));
        account.add(&sample(&mut watch, Ask::Counters));
    }
    let used = burner.join().unwrap();
    account.add(&sample(&mut watch, Ask::Counters));
    (account.load().unwrap(), account.flags(), used)
}

/// What the kernel's own file says of the core: user, system.
fn of_kernel() -> [f64; 2] {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let line = stat.lines().find(|line| line.starts_with(&format!("cpu{CORE} "))).unwrap();
    let ticks: Vec<f64> = line.split(' ').skip(1).map(|n| n.parse().unwrap()).collect();
    // USER_HZ is 100.
    [ticks[0] / 100.0, ticks[2] / 100.0]
}

/// Counters only grow, so what is found lies between what the kernel's own file gained inside the
/// time watched and around it: however busy the machine is.
#[test]
fn shares_are_those_of_the_kernels_own_account() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    let _alone = BURNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watch = by_shell();
    let mut account = Account::new(&HostName::Local, watch.hardware().clone(), None);
    let around = of_kernel();
    account.add(&sample(&mut watch, Ask::Counters));
    let inside = of_kernel();
    let burner = std::thread::spawn(|| {
        seize_core();
        let mut work = Work::new();
        let mut burn = |kernel| work.burn(kernel, Instant::now() + Duration::from_millis(700));
        (burn(false), burn(true))
    });
    let (user, system) = burner.join().unwrap();
    let inside_end = of_kernel();
    account.add(&sample(&mut watch, Ask::Counters));
    let around_end = of_kernel();
    let core = account.load().unwrap().cores[CORE];
    for (found, class) in [(core.user, 0), (core.system, 1)] {
        let (least, most) = (inside_end[class] - inside[class], around_end[class] - around[class]);
        assert!((least - 1e-3..=most + 1e-3).contains(&found), "{found}, not {least} to {most}");
    }
    assert!(core.user > 0.0 && core.system > 0.0, "{core:?}, burnt {user:?} and {system:?}");
}

/// A core shared by user space and kernel: `make measure-burner`.
#[test]
#[ignore = "a measurement: it takes a machine where nothing else runs"]
fn user_and_system_shares_of_a_busy_core() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    for duty in [0.1, 0.5, 0.9] {
        let (load, _, (user, system)) = watched(8, move |until| {
            let (mut work, mut used) = (Work::new(), (Duration::ZERO, Duration::ZERO));
            rounds(until, |begin| {
                used.0 += work.burn(false, begin + ROUND.mul_f64(0.95 * duty));
                used.1 += work.burn(true, begin + ROUND.mul_f64(0.95));
            });
            used
        });
        let share = |class: fn(&CpuTimes) -> f64| class(&load.cores[CORE]) / load.seconds;
        let shares = [(share(|c| c.user), user), (share(|c| c.system), system)];
        // What others got of the core is in either class: printed, to tell why one is off.
        let idle = share(|c| c.idle + c.iowait);
        let others = 1.0 - idle - (user + system).as_secs_f64() / load.seconds;
        for (found, used) in shares {
            let truth = used.as_secs_f64() / load.seconds;
            println!("duty {duty}: {found:.3} found, truly {truth:.3}, others {others:.3}");
            assert!((found - truth).abs() <= POINTS, "duty {duty}: {found:.3}, truly {truth:.3}");
        }
    }
}

/// How long a tick is: what the kernel was built for, or 250 a second.
fn tick() -> Duration {
    let config = Command::new("sh")
        .args(["-c", "zcat /proc/config.gz 2>/dev/null || cat /boot/config-$(uname -r)"])
        .output();
    let config = String::from_utf8_lossy(&config.unwrap().stdout).into_owned();
    let hertz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok());
    Duration::from_secs(1) / hertz.unwrap_or(250)
}

/// A burner that sleeps whenever a tick falls. Where ticks are all there is, the shares cannot hold
/// it; then that is reported, if the scheduler's own clock can be read. `make measure-burner`.
#[test]
#[ignore = "a measurement: it takes a machine where nothing else runs"]
fn what_runs_between_the_ticks_is_seen_or_reported_as_hidden() {
    let _stage = plimsoll_testkit::enter_or_skip!(Need::Namespaces);
    let tick = tick();
    let (load, flags, used) = watched(6, move |until| {
        let mut work = Work::new();
        let mut used = Duration::ZERO;
        while Instant::now() < until {
            // Ticks fall at whole multiples of their length on this clock: from 0.3 to 0.8 of one.
            let phase = monotonic().as_nanos() % tick.as_nanos();
            let ahead = (tick.as_nanos() * 13 / 10 - phase) % tick.as_nanos();
            std::thread::sleep(Duration::from_nanos(ahead as u64));
            used += work.burn(false, Instant::now() + tick.mul_f64(0.5));
        }
        used
    });
    let truth = used.as_secs_f64() / load.seconds;
    // Where others use the rest of the core, ticks find them instead, and nothing is missing.
    let by_ticks = load.cores[CORE].busy().0 / load.seconds;
    let flagged = flags.iter().any(|flag| matches!(flag, Flag::HiddenFromTicks { .. }));
    println!("truly {truth:.3}, by ticks {by_ticks:.3}, by the scheduler {:?}", load.run_seconds);
    assert!(truth > 0.2, "the burner got no time: {truth}");
    let accounting = by_shell().facts().cpu_accounting;
    match load.run_seconds {
        _ if by_ticks >= truth - POINTS => assert_ne!(accounting, "", "it was seen"),
        Some(_) => assert!(flagged, "{by_ticks} of {truth}: {flags:?}"),
        None => assert!(accounting.starts_with("ticks") || accounting == "unknown"),
    }
}

/// `make measure-burner`.
#[test]
#[ignore = "a measurement: it takes a machine where nothing else runs"]
fn shares_of_a_sleeping_core() {
    println!("class   duty   truly   found  difference, points");
    for (class, kernel) in [("user", false), ("system", true)] {
        for duty in [0.1, 0.5, 0.9] {
            let (load, _, used) = watched(20, move |until| {
                let (mut work, mut used) = (Work::new(), Duration::ZERO);
                rounds(until, |begin| used += work.burn(kernel, begin + ROUND.mul_f64(duty)));
                used
            });
            let core = load.cores[CORE];
            let found = if kernel { core.system } else { core.user } / load.seconds;
            let truth = used.as_secs_f64() / load.seconds;
            let points = 100.0 * (found - truth);
            println!("{class:<6}  {duty:.2}  {truth:>6.3}  {found:>6.3}  {points:>6.2}");
        }
    }
}
