//! What watching a host costs over there, for people to look at: a host with dropbear and BusyBox
//! alone, asked once a second. Its whole tree of processes is counted: the ssh server, the shell, and
//! what that starts. The same on this machine's own /proc, by the thread that reads it.
//!
//!     cargo bench -p plimsoll --bench watch_cost [-- SECONDS]

use host::proc_files::Sample;
use host::watch::{Local, Remote};
use host::{Ask, Shell, Watch};
use lab::servers::Dropbear;
use lab::{Need, Stage};
use load::SystemClock;
use model::Clock;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
/// What watching may take of a core.
const GOAL: f64 = 0.005;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(60);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let needs = [Need::Dropbear, Need::Busybox, Need::SshClient];
    let Some(stage) = Stage::enter_or_skip(&needs) else { return Ok(()) };
    let host = Dropbear::start(&stage, Dropbear::PORT)?;
    let mut shell = watch_over_ssh(&host, &clock)?;
    answered(&mut shell)?;

    let (before, forks) = (tree_seconds(&host.processes()), processes_begun()?);
    let first = answered(&mut shell)?;
    let begun = Instant::now();
    let mut waits = Vec::new();
    for second in 1..=seconds {
        std::thread::sleep((Duration::from_secs(second)).saturating_sub(begun.elapsed()));
        waits.push(answered(&mut shell)?.within * 2);
    }
    let last = answered(&mut shell)?;
    let elapsed = begun.elapsed().as_secs_f64();
    let cost = (tree_seconds(&host.processes()) - before) / elapsed;
    let told = last.watcher_seconds.zip(first.watcher_seconds).map_or(f64::NAN, |(b, a)| b - a);
    waits.sort_unstable();
    println!("shell over dropbear, a sample a second for {seconds} s");
    println!("  {:.3}% of a core over there; goal {:.1}%", 100.0 * cost, 100.0 * GOAL);
    println!("  {:.3}% by its own account", 100.0 * told / elapsed);
    println!("  there and back {:.1?} at the median", waits[waits.len() / 2]);
    println!(
        "  {} processes begun on this machine meanwhile, whoever did",
        processes_begun()? - forks
    );

    let mut local = Local::new(clock);
    let first = answered(&mut local)?;
    (0..1000).try_for_each(|_| answered(&mut local).map(drop))?;
    let last = answered(&mut local)?;
    let each = last.watcher_seconds.zip(first.watcher_seconds).map_or(f64::NAN, |(b, a)| b - a);
    println!("this machine's own /proc: {:.0} µs of CPU a sample", 1e6 * each / 1001.0);
    Ok(())
}

fn watch_over_ssh(host: &Dropbear, clock: &Arc<dyn Clock>) -> Result<Remote, Box<dyn Error>> {
    let settings = host::reach::Settings {
        configuration: Some(host.configuration()),
        may_ask: false,
        ..host::reach::Settings::from_environment()
    };
    let name = host.url().parse()?;
    let reach: host::watch::Connect =
        Box::new(move || Ok(Arc::new(host::reach::Ssh::connect(&name, &settings)?)));
    Ok(Shell::watch_by(reach()?, reach, clock.clone())?)
}

fn answered(watch: &mut dyn Watch) -> Result<Sample, Box<dyn Error>> {
    let mut asked = watch.ask(Ask::Counters);
    Ok(asked.sample(PATIENCE).ok_or("no answer")?.clone())
}

/// CPU seconds of these processes and of the children that they have waited for.
fn tree_seconds(ids: &[u32]) -> f64 {
    let of = |id: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let files = [
            (host::proc_files::FileKind::Stat, "cpu 0 0 0 0\n"),
            (host::proc_files::FileKind::Watcher, text.as_str()),
        ];
        Sample::from_files(100.0, files)?.watcher_seconds
    };
    ids.iter().filter_map(of).sum()
}

/// Processes that this machine has begun since it booted.
fn processes_begun() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().find_map(|line| line.strip_prefix("processes ")).ok_or("no count")?;
    Ok(line.trim().parse()?)
}
