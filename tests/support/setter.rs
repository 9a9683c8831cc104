//! A program that changes settings until it is killed: the test's own, started again with the
//! environment that [`command`] gives it.

use super::{Plimsoll, wait_until};
use plimsoll_model::{Failure, HostName};
use plimsoll_settings::{Factor, FactorRequest, Journal, Session, guard, knob};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What it sets, parted by line breaks; the test that does it runs only with this.
const SETS: &str = "PLIMSOLL_TEST_SETS";

/// The study's id in the journals.
pub const STUDY: &str = "5e77e100";

/// How long a host that is cut off waits, in seconds: for one that sets everything once.
const PATIENCE: &str = "PLIMSOLL_TEST_PATIENCE";

/// Reaches any host.
fn open(host: &HostName) -> Result<std::sync::Arc<dyn plimsoll_reach::Reach>, Failure> {
    match host {
        HostName::Lab { lab, host } => plimsoll_lab::reach(lab, host),
        _ => plimsoll_reach::open(host, false),
    }
}

/// A session that has these factors, each as `--set` takes it.
pub fn session(journal: Journal, sets: &[&str]) -> Result<Session, Failure> {
    session_within(journal, sets, guard::PATIENCE)
}

/// The same, where a host that is cut off waits so long.
fn session_within(journal: Journal, sets: &[&str], patience: Duration) -> Result<Session, Failure> {
    let factor = |text: &&str| {
        let FactorRequest { host, knob: name, levels } = text.parse()?;
        let name_of_host = host.expect("a host");
        let host = open(&name_of_host)?;
        Ok(Factor { knob: knob(&name)?, name: name_of_host, host, levels })
    };
    let factors = sets.iter().map(factor).collect::<Result<_, Failure>>()?;
    Session::begin_within(journal, STUDY, factors, patience)
}

/// Sets every factor to each of its levels in turn, for ever; or to the first one alone, for a test
/// of how long that lasts.
pub fn set_until_killed() {
    let Ok(sets) = std::env::var(SETS) else { return };
    let sets: Vec<&str> = sets.lines().collect();
    let count = |set: &&str| set.parse::<FactorRequest>().unwrap().levels.len();
    let levels: Vec<usize> = sets.iter().map(count).collect();
    let patience: Option<u64> = std::env::var(PATIENCE).ok().and_then(|text| text.parse().ok());
    let within = Duration::from_secs(patience.unwrap_or(600));
    let mut session = session_within(Journal::of_this_user().unwrap(), &sets, within).unwrap();
    println!("\nbegun");
    for turn in 0.. {
        for (factor, levels) in levels.iter().enumerate() {
            session.set(factor, turn % levels).unwrap();
        }
        // Once everything has been set.
        if turn == 0 {
            println!("\nset");
        }
        while patience.is_some() {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// Whether a command of a setter runs that has this home: on this machine, with its environment; or in this network
/// namespace, over ssh. Timers do not count, for they are to outlive it.
fn has_commands(home: &Path) -> bool {
    let own = fs::read_link("/proc/thread-self/ns/net").expect("a namespace");
    let variables = [format!("{SETS}="), format!("XDG_STATE_HOME={}", home.display())];
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    processes.map(|process| process.path()).any(|process| {
        let read = |file: &str| {
            let bytes = fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let environment = read("environ");
        let is_set = |variable: &String| environment.split('\0').any(|v| v.starts_with(variable));
        let line = read("cmdline");
        let is_here = || fs::read_link(process.join("ns/net")).is_ok_and(|space| space == own);
        // The name of the shell that ssh starts.
        let is_remote = line.ends_with("\0plimsoll\0") && is_here();
        // What sleeps has a shell that waits for it: a timer, or one that is found itself.
        let is_timer = line.contains("\0plimsoll-guard ") || line.starts_with("sleep\0");
        !is_timer && (variables.iter().all(is_set) || is_remote)
    })
}

/// A running one, killed with the test.
pub struct Setter {
    child: Child,
    /// Where its journal is.
    home: PathBuf,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Setter {
    /// Starts it, with the name of the test that calls [`set_until_killed`].
    pub fn start(program: &Plimsoll, test: &str, patience: Option<u64>, sets: &[&str]) -> Setter {
        let none: [&str; 0] = [];
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        for (name, value) in program.command(&none).get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command
            .args(["--ignored", "--exact", "--nocapture", test])
            .env(SETS, sets.join("\n"))
            .env(PATIENCE, patience.map_or_else(String::new, |seconds| seconds.to_string()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("the test starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Setter { child, home: program.home().to_owned(), lines }
    }

    /// Waits until it says so.
    #[track_caller]
    pub fn wait_for(&mut self, word: &str) {
        let said = self.lines.by_ref().map_while(Result::ok).any(|line| line == word);
        assert!(said, "it ended before '{word}'");
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as kill -9 does, and waits for the end of its last commands: their shells have process groups of their
    /// own and outlive it. Fails if it had ended by itself.
    #[track_caller]
    pub fn kill(&mut self) {
        assert_eq!(self.child.try_wait().expect("a child"), None, "it ended by itself");
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        wait_until("its last commands have ended", || !has_commands(&self.home));
    }
}

impl Drop for Setter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
