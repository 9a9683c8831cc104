//! What looking on costs the measurement: the same trials without anybody looking on, with a feed
//! that nobody reads, and with `plimsoll serve` and a page that shows the run. The three take turns
//! in an order that changes from round to round; each ratio is of trials close in time. On the
//! null lane with a worker for every core, so that whatever looking on takes is missing there.
//!
//! Throughput on a shared machine swings by far more than a percent from trial to trial; so the CPU
//! time that looking on takes is printed as well, as a share of all cores: what it must cost at least.

#[path = "support/trials.rs"]
mod trials;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use plimsoll_live::feed::Feed;
use plimsoll_live::{Header, News, Notice};
use plimsoll_load::NullShare;
use plimsoll_model::units::{Bytes, GIB, KIB};
use plimsoll_model::{
    Cell, Design, Measure, Metric, PartResult, Pattern, Plan, Rule, StudyId, Target, Workload,
};
use plimsoll_study::Progress;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU16;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trials::{Trials, workload};

const ROUNDS: usize = 60;
const SECONDS: f64 = 0.5;
/// What a page may take of the throughput.
const GOAL: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let cores = std::thread::available_parallelism()?.get().min(64) as u16;
    let workers = NonZeroU16::new(cores).unwrap_or(NonZeroU16::MIN);
    let (block, size) = (Bytes(4 * KIB), Bytes(GIB));
    let workload = workload(Pattern::RandomRead, block, size, workers, NonZeroU16::MIN);
    let runs = tempfile::tempdir()?;
    let directory = runs.path().join("plimsoll");
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let mut trials = Trials::open(Arc::new(NullShare::new()), std::slice::from_ref(&workload))?;
    let mut log_ratios = [Vec::new(), Vec::new()];
    // CPU seconds of telling, and of telling, serving and reading.
    let (mut telling, mut serving) = (0.0, 0.0);
    let seen = Arc::new(AtomicU64::new(0));
    for round in 0..ROUNDS {
        let mut rates = [0.0; 3];
        // Each is first, in the middle and last equally often.
        for turn in 0..3 {
            let who = (round + turn) % 3;
            rates[who] = match who {
                0 => rate(&trials.run(&workload, SECONDS)?)?,
                1 => watched(&mut trials, &workload, &directory, &mut telling)?,
                _ => {
                    let page = Page::open(runs.path(), seen.clone())?;
                    let before = page.cpu_seconds()?;
                    let rate = watched(&mut trials, &workload, &directory, &mut serving)?;
                    serving += page.cpu_seconds()? - before;
                    rate
                }
            };
        }
        log_ratios[0].push(f64::ln(rates[1] / rates[0]));
        log_ratios[1].push(f64::ln(rates[2] / rates[0]));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "null lane, 4 KiB random reads, {cores} workers, {ROUNDS} rounds of {SECONDS} s trials (load \
         average {}):",
        load.split(' ').next().unwrap_or_default()
    );
    let all_cores = ROUNDS as f64 * SECONDS * f64::from(cores);
    for (name, log_ratios, cpu) in [
        ("a feed that nobody reads", &log_ratios[0], telling),
        ("serve and a live page", &log_ratios[1], serving),
    ] {
        let share = cpu / all_cores;
        let interval =
            plimsoll_stats::interval::ratio_interval(log_ratios, 0.95).ok_or("an interval")?;
        let verdict = match (interval.low > 1.0 - GOAL, share < GOAL) {
            (true, true) => "within 1%",
            (false, true) => "CPU time within 1%, throughput not resolved to 1%",
            _ => "MORE THAN 1%",
        };
        println!(
            "  {name}: CPU time {:.3}% of all cores; throughput {:.4} of that without [{:.4} to \
             {:.4}]: {verdict}",
            100.0 * share,
            interval.estimate,
            interval.low,
            interval.high
        );
    }
    match seen.load(Ordering::Relaxed) {
        0 => Err("the page saw nothing: the figures say nothing".into()),
        pictures => {
            println!("  the page was sent {pictures} pictures of the run");
            Ok(())
        }
    }
}

/// A trial with a feed, as `check` has it; adds the CPU seconds of telling to `cpu`.
fn watched(
    trials: &mut Trials,
    workload: &Workload,
    runs: &Path,
    cpu: &mut f64,
) -> Result<f64, Box<dyn Error>> {
    let header = header(workload);
    let feed = Feed::open(runs, &header)?;
    let begun = Instant::now();
    let tell = |progress: Progress<'_>| {
        let news = News::new(progress, &header.plan);
        feed.send(&Notice { at_seconds: begun.elapsed().as_secs_f64(), news });
    };
    let (number, block, cell) = (0, 0, Cell::default());
    let (planned, seconds_left) = (1, SECONDS);
    tell(Progress::Trial { number, block, cell, workload, planned, seconds_left });
    let result = trials.run_watched(workload, SECONDS, &mut |event| {
        let before = cpu_of_this_thread();
        tell(Progress::Event(&event));
        *cpu += cpu_of_this_thread() - before;
    })?;
    rate(&result)
}

/// In seconds. What the feed's own threads take is not seen here, but is missing in the throughput.
fn cpu_of_this_thread() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |t| t.tv_sec() as f64 + t.tv_nsec() as f64 * 1e-9)
}

fn rate(result: &PartResult) -> Result<f64, Box<dyn Error>> {
    let rate = result.quantities.get(&Metric::all(Measure::THROUGHPUT));
    rate.copied().ok_or_else(|| "a trial without a figure".into())
}

fn header(workload: &Workload) -> Header {
    let target: Target = "/null".parse().expect("a directory");
    let rule = Rule::Fixed { blocks: 1 };
    let design = Design { rule, baseline_seconds: 0.0, ..Design::default() };
    let plan = Plan::new(vec![target.into()], vec![workload.clone()], design);
    Header::new(StudyId("00000001".to_owned()), 0, plan)
}

/// The built program's page, and a reader of what it sends.
struct Page {
    server: Child,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Page {
    fn open(runtime: &Path, seen: Arc<AtomicU64>) -> Result<Page, Box<dyn Error>> {
        let mut server = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .arg("serve")
            .env("XDG_RUNTIME_DIR", runtime)
            .env("PLIMSOLL_DB", runtime.join("studies.db"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let out = server.stdout.take().ok_or("standard output is piped")?;
        BufReader::new(out).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").ok_or("an address")?;
        let (host, path) = address.split_once('/').ok_or("a token")?;
        let mut stream = TcpStream::connect(host)?;
        write!(stream, "GET /{path}events HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
        // The first picture is of nothing under way; the trial begins after it.
        let mut first = [0; 1];
        stream.read_exact(&mut first)?;
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let picture = line.starts_with("data: ") && line.contains("<article>");
                seen.fetch_add(u64::from(picture), Ordering::Relaxed);
            }
        });
        Ok(Page { server, reader: Some(reader) })
    }
}

impl Page {
    /// CPU seconds of the serving process so far.
    fn cpu_seconds(&self) -> Result<f64, Box<dyn Error>> {
        let clock = clock_getcpuclockid(Pid::from_raw(self.server.id() as i32))?;
        let time = clock_gettime(clock)?;
        Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
