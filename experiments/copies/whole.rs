//! The whole source tree, 56,206 files, to NFS-Ganesha and back: the memory of the program, and the time
//! that it says is left beside the time that it took.

use super::{copy_of, figure};
use crate::kept::{Kept, Until, load_average, place};
use crate::support::{Plimsoll, ended};
use plimsoll_live::Run;
use plimsoll_live::feed::Follower;
use plimsoll_model::Measure;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

const FILES: u64 = 56_206;
const COPIES: [(&str, &str); 4] =
    [("rsync", "up"), ("rsync", "down"), ("pipelined", "up"), ("pipelined", "down")];
/// Most memory in bytes, and how far the time left may be off from the tenth part of a copy on.
const MOST_BYTES: u64 = 100_000_000;
const MOST_OFF: f64 = 0.25;
/// A rate takes some windows of a tenth of a second.
const FIRST_SECONDS: f64 = 0.5;
/// In the last second a quarter of what is left is as long as from one estimate to the next.
const LAST_SECONDS: f64 = 1.0;
const LOOK: Duration = Duration::from_millis(100);

/// What was seen of a copy at one moment.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct CopyMoment {
    /// Seconds since the program was started.
    at: f64,
    /// Seconds left, as shown while the copy is made.
    left: Option<f64>,
    resident_bytes: u64,
}

/// One copy.
#[derive(Serialize, Deserialize)]
struct Case {
    method: String,
    way: String,
    seen: Vec<CopyMoment>,
    /// Most memory that it ever had.
    peak_bytes: u64,
    /// What the copy itself took, without what is made ready and removed.
    seconds: f64,
    load_average: String,
}

impl Case {
    /// The largest error of the time left, relative to the truth, at which part of the copy that was, and of
    /// how many looks.
    fn worst(&self) -> Option<(f64, f64, usize)> {
        let shown: Vec<(f64, f64)> =
            self.seen.iter().filter_map(|seen| Some((seen.at, seen.left?))).collect();
        let (began, ended) = (shown.first()?.0, shown.last()?.0);
        let from = began + ((ended - began) / 10.0).max(FIRST_SECONDS);
        let counts = |at: f64| at >= from && at < ended - LAST_SECONDS;
        let errors = shown.iter().filter(|(at, _)| counts(*at));
        let errors: Vec<(f64, f64)> =
            errors.map(|(at, left)| ((left / (ended - at) - 1.0).abs(), *at)).collect();
        let worst = errors.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((worst.0, (worst.1 - began) / (ended - began), errors.len()))
    }

    fn show(&self) {
        let met = |good| if good { "met" } else { "NOT met" };
        println!(
            "{} {}: {:.1} s; at most {:.1} MB of memory, wanted below 100: {}; load average {}",
            self.way,
            self.method,
            self.seconds,
            self.peak_bytes as f64 / 1e6,
            met(self.peak_bytes < MOST_BYTES),
            self.load_average
        );
        let Some((worst, share, looks)) = self.worst() else {
            return println!("    NO time left was shown for long enough");
        };
        println!(
            "    of {looks} looks at the time left the worst was off by {:.0}% (at {:.0}% of the copy), \
             wanted {:.0}%: {}",
            100.0 * worst,
            100.0 * share,
            100.0 * MOST_OFF,
            met(worst <= MOST_OFF),
        );
    }
}

/// A figure of a process in bytes.
fn memory(pid: u32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kb| kb << 10)
}

fn measure(program: &Plimsoll, url: &str, method: &str, way: &str) -> Case {
    let load_average = load_average();
    let words = ["copy", url, "--dataset=source", "--scale=1", "--repeats=1", "--seed=5"];
    let how = [format!("--method={method}"), format!("--only={way}")];
    let more = ["--baseline=0s", "--max-time=2h", &how[0], &how[1]];
    let begun = Instant::now();
    let mut child = program.start(&[&words[..], &more].concat());
    let mut feeds = Follower::new(&program.home().join("plimsoll"));
    let (mut seen, mut peak_bytes) = (Vec::<CopyMoment>::new(), 0);
    while child.try_wait().expect("it is ours").is_none() {
        feeds.look();
        let copies = |run: &&Run| run.trial.as_ref().is_some_and(|trial| !trial.ended);
        peak_bytes = memory(child.id(), "VmHWM").unwrap_or(0).max(peak_bytes);
        seen.push(CopyMoment {
            at: begun.elapsed().as_secs_f64(),
            left: feeds.runs().find(copies).and_then(Run::seconds_left),
            resident_bytes: memory(child.id(), "VmRSS").unwrap_or(0),
        });
        std::thread::sleep(LOOK);
    }
    ended(child).expect(0);
    let study = program.latest();
    let [trial] = &study.trials[..] else { panic!("{:?}", study.trials) };
    assert_eq!(copy_of(&study, trial).dataset.files, FILES);
    let seconds = figure(trial, Measure::ELAPSED).expect("it was done");
    let [method, way] = [method, way].map(str::to_owned);
    Case { method, way, seen, peak_bytes, seconds, load_average }
}

#[test]
#[ignore = "takes minutes: make measure-copies"]
fn measure_copies_of_a_whole_tree() {
    let stage = enter_or_skip!(Need::Ganesha);
    let until = Until::share(0.05);
    let mut kept = Kept::<Case>::open("copies-whole.jsonl");
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let program = Plimsoll::new();
    for (method, way) in COPIES {
        let is_it = |case: &Case| (&*case.method, &*case.way) == (method, way);
        if !until.is_over() && !kept.cases.iter().any(is_it) {
            kept.add(measure(&program, &server.url("films"), method, way));
        }
    }
    println!(
        "\n{FILES} files up and down; every look is in {}",
        place("copies-whole.jsonl").display()
    );
    kept.cases.iter().for_each(Case::show);
}
