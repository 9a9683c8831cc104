//! Running a program that a host has, so that it can be stopped half-way.

use crate::reach::{Reach, quote};
use model::{Cause, Failure};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes that a program may write; what benchmarks print is a page.
const MOST_OUTPUT: usize = 256 << 10;
/// How long a host may take to do something small.
pub(super) const SMALL: Duration = Duration::from_secs(30);
/// What each program of the command says first, so that it can be ended.
const PID: &str = "plimsoll-pid ";

/// Directories of programs that are not always searched for those who are not root.
const SURROUNDINGS: &str = "PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin; \
                            LC_ALL=C; export PATH LC_ALL; ";

/// What a program left.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// Its exit code.
    pub(super) status: Option<i32>,
    /// What it printed.
    pub(super) output: String,
    /// The end of what it printed to standard error.
    pub(super) errors: String,
}

impl Ran {
    /// What it said of what went wrong.
    pub(super) fn complaint(&self) -> String {
        let said = if self.errors.trim().is_empty() { &self.output } else { &self.errors };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let said: String = lines.join(" ").chars().take(200).collect();
        match (said.is_empty(), self.status) {
            (false, _) => said,
            (true, Some(status)) => format!("it ended with exit code {status} and said nothing"),
            (true, None) => "it was killed".to_owned(),
        }
    }
}

/// The command in surroundings where programs are found and speak English.
pub(super) fn in_english(command: &str) -> String {
    format!("{SURROUNDINGS}{command}")
}

/// A single program, which [`run`] can end.
pub(super) fn program(command: &str) -> String {
    format!("echo \"{PID}$$\"; exec {command}")
}

/// As many of a program at once as `count`, each line of what they print with the number of the
/// one that printed it in front: `3|…`.
pub(super) fn programs(path: &str, count: u64) -> String {
    let start = quote(&format!("echo \"{PID}$$\" >&3; exec \"$0\""));
    format!(
        "exec 3>&1; i=0; while [ $i -lt {count} ]; do sh -c {start} {} 2>&1 | sed \"s/^/$i|/\" & \
         i=$((i+1)); done; wait",
        quote(path)
    )
}

/// Runs a command made by [`program`] or [`programs`]; `None` where the user wanted an end.
///
/// # Errors
/// The host cannot be reached, or the program takes longer than `limit` or prints without end.
pub(super) fn run(
    reach: &dyn Reach,
    command: &str,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Option<Ran>, Failure> {
    let until = Instant::now() + limit;
    let mut channel = reach.open(&in_english(command))?;
    let mut output = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    let trouble = loop {
        if stop.load(Ordering::Relaxed) {
            end(reach, &output);
            return Ok(None);
        }
        if Instant::now() >= until {
            break format!("no end of it in {} s", limit.as_secs());
        }
        match channel.read(&mut buffer, until.min(Instant::now() + LOOK)) {
            Ok(0) => break String::new(),
            Ok(count) => output.extend_from_slice(&buffer[..count]),
            Err(e) if e.kind() == ErrorKind::TimedOut => {}
            Err(e) => {
                // A lost connection tells why when it is finished with.
                channel.finish(SMALL)?;
                return Err(failed(reach, &e.to_string()));
            }
        }
        if output.len() > MOST_OUTPUT {
            break format!("it printed over {MOST_OUTPUT} bytes");
        }
    };
    if !trouble.is_empty() {
        end(reach, &output);
        return Err(failed(reach, &trouble));
    }
    let ended = channel.finish(SMALL)?;
    Ok(Some(Ran {
        status: ended.status,
        output: without_pids(&String::from_utf8_lossy(&output)),
        errors: String::from_utf8_lossy(&ended.errors).into_owned(),
    }))
}

fn failed(reach: &dyn Reach, happened: &str) -> Failure {
    let next = "See on that host what it does; --only leaves this part out.";
    Failure::new(Cause::Trial, "run a program", reach.name(), happened, next)
}

/// Ends the programs that said their number. That they are gone then is not made sure of: they end
/// by themselves in seconds.
fn end(reach: &dyn Reach, output: &[u8]) {
    let output = String::from_utf8_lossy(output);
    let numbers = output.lines().filter_map(|line| line.strip_prefix(PID)?.trim().parse().ok());
    let numbers: Vec<String> =
        numbers.filter(|pid: &u32| *pid > 1).take(512).map(|pid| pid.to_string()).collect();
    if !numbers.is_empty() {
        let _ = reach.run(&format!("kill {}", numbers.join(" ")), &[], SMALL);
    }
}

fn without_pids(output: &str) -> String {
    output.lines().filter(|l| !l.starts_with(PID)).flat_map(|line| [line, "\n"]).collect()
}

/// Which of these programs the host has, with their paths.
///
/// # Errors
/// The host cannot be reached.
pub(super) fn found(reach: &dyn Reach, names: &[&str]) -> Result<Vec<(String, String)>, Failure> {
    let look = format!(
        "for t in {}; do p=$(command -v \"$t\") && echo \"$t=$p\"; done; true",
        names.join(" ")
    );
    let said = reach.run(&in_english(&look), &[], SMALL)?;
    let said = String::from_utf8_lossy(&said.output).into_owned();
    let known = |line: &str| {
        let (name, path) = line.split_once('=')?;
        let sound = names.contains(&name) && path.starts_with('/') && path.len() < 1024;
        sound.then(|| (name.to_owned(), path.to_owned()))
    };
    Ok(said.lines().filter_map(known).collect())
}

/// The path of one of those found.
pub(super) fn path<'a>(found: &'a [(String, String)], name: &str) -> Option<&'a str> {
    found.iter().find(|(n, _)| n == name).map(|(_, path)| path.as_str())
}
