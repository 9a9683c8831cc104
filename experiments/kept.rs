//! What a measurement has come to so far.

use plimsoll_stats::proportion::share;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a measurement may take, in minutes, before it is to be started again.
const MINUTES: u64 = 150;

/// A number from the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Where a file of a measurement is kept.
pub fn place(name: &str) -> PathBuf {
    let directory = std::env::var_os("PLIMSOLL_KEPT").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).into());
    fs::create_dir_all(&directory).expect("a directory to keep what is measured");
    directory.join(name)
}

/// The time that a measurement has.
pub struct Until(Instant);

impl Until {
    /// It begins now.
    pub fn now() -> Until {
        Until::share(1.0)
    }

    /// The same of a part that has this share of it.
    pub fn share(share: f64) -> Until {
        let whole = Duration::from_secs(60 * setting("PLIMSOLL_MINUTES", MINUTES));
        Until(Instant::now() + whole.mul_f64(share))
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Cases that were measured, each a line of JSON in a file.
pub struct Kept<T> {
    path: PathBuf,
    /// In the order in which they were measured.
    pub cases: Vec<T>,
}

impl<T: Serialize + DeserializeOwned> Kept<T> {
    /// Those of a file; a line that was cut off by an interruption is no case.
    pub fn open(name: &str) -> Kept<T> {
        let path = place(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let cases = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Kept { path, cases }
    }

    /// One more.
    pub fn add(&mut self, case: T) {
        let line = serde_json::to_string(&case).expect("JSON");
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.path).expect("the file");
        // What an interruption left of a line is ended first.
        writeln!(file, "\n{line}").expect("it is kept");
        self.cases.push(case);
    }
}

/// What a quiet machine has at most in its run queue, and for how many seconds one is waited for.
const QUIET: f64 = 1.5;
const PATIENCE: u64 = 600;

/// Waits until the machine is quiet, or for ten minutes, unless `PLIMSOLL_PATIENCE` sets other seconds: what
/// is left of other work is in what is kept.
pub fn until_quiet() {
    let begun = Instant::now();
    let patience = Duration::from_secs(setting("PLIMSOLL_PATIENCE", PATIENCE));
    let load = || load_average().split(' ').next().and_then(|load| load.parse::<f64>().ok());
    while load().is_some_and(|load| load > QUIET) && begun.elapsed() < patience {
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// The machine's load averages.
pub fn load_average() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

/// A share with its interval, in words.
pub fn words(count: u32, of: u32) -> String {
    share(count, of, 0.95).map_or_else(String::new, |share| {
        format!("{count} of {of} [{:.0}–{:.0}%]", 100.0 * share.low, 100.0 * share.high)
    })
}
