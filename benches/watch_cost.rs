//! What watching a remote host costs, for people to look at: hosts with OpenSSH's server, and
//! with dropbear and BusyBox alone, asked once a second, by a shell and by the probe. Their whole tree
//! of processes is counted: the ssh server, what watches, and what that starts. The same on this
//! machine's own /proc, by the thread that reads it.
//!
//!     cargo bench -p plimsoll --bench watch_cost [-- SECONDS]
//!
//! The probe is looked for as plimsoll does: `make probes` builds it, PLIMSOLL_PROBES names it.

use plimsoll_load::SystemClock;
use plimsoll_model::{Clock, WatchedBy};
use plimsoll_reach::probe::{BUNDLE, Programs};
use plimsoll_reach::{Settings, Ssh};
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage};
use plimsoll_watch::proc_files::{FileKind, Sample};
use plimsoll_watch::{Ask, Connect, Local, Probe, Remote, Shell, Watch};
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
/// What watching may take of a core, by a shell and by the probe alone.
const GOALS: [f64; 2] = [0.005, 0.0005];

type Any<T> = Result<T, Box<dyn Error>>;

fn main() -> Any<()> {
    let seconds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(60);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let needs = [Need::Sshd, Need::Dropbear, Need::Busybox, Need::SshClient];
    let Some(stage) = Stage::enter_or_skip(&needs) else { return Ok(()) };
    let sshd = Sshd::start(&stage, SshdConfig::default())?;
    let dropbear = Dropbear::start(&stage, Dropbear::PORT)?;
    println!(
        "a sample a second for {seconds} s; goals: a shell {:.1}% of a core and a fork a sample, the probe {:.2}%",
        100.0 * GOALS[0],
        100.0 * GOALS[1]
    );
    println!("server    by     core, all   core, by itself   forks a sample   there and back");
    for by in [WatchedBy::Shell, WatchedBy::Probe] {
        let watch = |url: String, configuration| watched(by, url, configuration, &clock);
        let mut watching = watch(sshd.url(), sshd.configuration())?;
        row("OpenSSH", by, &mut watching, &|| sshd.processes(), seconds)?;
        drop(watching);
        let mut watching = watch(dropbear.url(), dropbear.configuration())?;
        row("dropbear", by, &mut watching, &|| dropbear.processes(), seconds)?;
    }

    let mut local = Local::new(clock);
    let first = answered(&mut local)?;
    (0..1000).try_for_each(|_| answered(&mut local).map(drop))?;
    let each = since(&first, &answered(&mut local)?);
    println!("this machine's own /proc: {:.0} µs of CPU a sample", 1e6 * each / 1001.0);
    Ok(())
}

fn watched(by: WatchedBy, url: String, at: PathBuf, clock: &Arc<dyn Clock>) -> Any<Remote> {
    let settings =
        Settings { configuration: Some(at), may_ask: false, ..Settings::from_environment() };
    let name = url.parse()?;
    let reach: Connect = Box::new(move || Ok(Arc::new(Ssh::connect(&name, &settings)?)));
    let watch = match by {
        WatchedBy::Probe => {
            Probe::watch_by(reach()?, reach, Programs::of_this_program(BUNDLE), clock.clone())?
        }
        _ => Shell::watch_by(reach()?, reach, clock.clone())?,
    };
    let facts = watch.facts();
    match facts.watched_by == Some(by) {
        true => Ok(watch),
        false => Err(format!("no probe: {:?}", facts.without_probe).into()),
    }
}

fn row(
    server: &str,
    by: WatchedBy,
    watch: &mut Remote,
    processes: &dyn Fn() -> Vec<u32>,
    seconds: u64,
) -> Any<()> {
    answered(watch)?;
    let there = processes();
    let root = *there.first().ok_or("the server has no process")?;
    let (cost, forks) = (tree_seconds(&there), forks(root)?);
    let (first, begun) = (answered(watch)?, Instant::now());
    let mut waits = Vec::new();
    for second in 1..=seconds {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(begun.elapsed()));
        waits.push(answered(watch)?.within * 2);
    }
    let last = answered(watch)?;
    let elapsed = begun.elapsed().as_secs_f64();
    waits.sort_unstable();
    println!(
        "{server:<8}  {:<5}  {:>8.3}%   {:>14.4}%   {:>14.2}   {:>14.1?}",
        if by == WatchedBy::Probe { "probe" } else { "shell" },
        100.0 * (tree_seconds(&processes()) - cost) / elapsed,
        100.0 * since(&first, &last) / elapsed,
        (self::forks(root)? - forks - 1) as f64 / (seconds + 2) as f64,
        waits[waits.len() / 2],
    );
    Ok(())
}

/// CPU seconds of watching between two samples, by its own account.
fn since(from: &Sample, to: &Sample) -> f64 {
    to.watcher_seconds.zip(from.watcher_seconds).map_or(f64::NAN, |(to, from)| to - from)
}

fn answered(watch: &mut dyn Watch) -> Any<Sample> {
    let mut asked = watch.ask(Ask::Counters);
    Ok(asked.sample(PATIENCE).ok_or("no answer")?.clone())
}

/// CPU seconds of these processes, by the scheduler's clock, and of the children that they have
/// waited for.
fn tree_seconds(ids: &[u32]) -> f64 {
    let own = |id: &u32| -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
    };
    let children = |id: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (name, fields) = text.rsplit_once(") ")?;
        let mut fields: Vec<&str> = fields.split(' ').collect();
        // User and system time of its own.
        (fields[11], fields[12]) = ("0", "0");
        let text = format!("{name}) {}", fields.join(" "));
        let files = [(FileKind::Stat, "cpu 0 0 0 0\n"), (FileKind::Watcher, text.as_str())];
        Sample::from_files(100.0, files)?.watcher_seconds
    };
    ids.iter().filter_map(own).sum::<f64>() + ids.iter().filter_map(children).sum::<f64>()
}

/// Processes begun so far in the namespace that this process is the first of, and one for looking.
fn forks(root: u32) -> Any<u64> {
    let looked = Command::new("nsenter")
        .args(["-t", &root.to_string(), "-p", "cat", "/proc/sys/kernel/ns_last_pid"])
        .output()?;
    Ok(String::from_utf8(looked.stdout)?.trim().parse()?)
}
