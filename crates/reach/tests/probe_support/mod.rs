//! What the tests of the probe share: its builds, hosts that are not what they should be, and
//! processes to be killed.
#![allow(dead_code)]

pub mod emulated;

use plimsoll_model::Failure;
use plimsoll_reach::probe::{BUNDLE, Machine, Placed, Programs, Request};
use plimsoll_reach::{Channel, Local, Output, Reach};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Long enough for everything, also where many tests run at once.
pub const LONG: Duration = Duration::from_secs(60);

/// The directory that cargo builds in.
fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().into()
}

/// Where the probe's builds are.
fn directory() -> PathBuf {
    target().join("probes")
}

/// A place for files of tests that no test mounts anything on.
pub fn directory_of_tests() -> PathBuf {
    let place = target().join("tmp");
    fs::create_dir_all(&place).unwrap();
    place
}

/// The builds that are there. The native one always is: it is made now if need be.
pub fn programs() -> Programs {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../probe");
        let target = format!("TARGET={}", target().display());
        let made = Command::new("make").arg("-sC").arg(sources).args([&target, "probe"]).output();
        let made = made.expect("make is there");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    });
    Programs::at(BUNDLE, directory())
}

/// The build for one machine, alone in a directory, so that no other one is taken.
/// `None`, said on standard error, where it was not built; where everything ought to be there,
/// that of a big-endian MIPS must be.
pub fn only(machine: Machine) -> Option<(tempfile::TempDir, Programs)> {
    let path = directory().join(machine.name()).join("plimsoll-probe");
    if !path.exists() {
        skip(&format!("no probe for {machine} was built: make probes"), machine == Machine::Mips);
        return None;
    }
    Some(alone(machine, &fs::read(path).unwrap()))
}

/// Says what a test is skipped for; where everything ought to be there, that is a failure if it is
/// `required`.
pub fn skip(missing: &str, required: bool) {
    let all =
        std::env::var(plimsoll_testkit::require::VARIABLE).is_ok_and(|list| list.contains("all"));
    assert!(!(all && required), "{missing}");
    let test = std::thread::current();
    let line = format!("SKIPPED {}: {missing}\n", test.name().unwrap_or("a test"));
    // Not `eprintln!`, whose output the test harness keeps to itself when a test passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A directory of builds with these bytes as the only one.
pub fn alone(machine: Machine, bytes: &[u8]) -> (tempfile::TempDir, Programs) {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(machine.name())).unwrap();
    fs::write(directory.path().join(machine.name()).join("plimsoll-probe"), bytes).unwrap();
    let programs = Programs::at(BUNDLE, directory.path());
    (directory, programs)
}

pub fn local() -> Arc<dyn Reach> {
    Arc::new(Local)
}

/// Runs a verb; all its sections, and how it ended.
pub fn run(
    placed: &Placed,
    request: &Request,
) -> (Vec<Value>, Result<plimsoll_reach::probe::Done, Failure>) {
    let mut sections = Vec::new();
    let done = placed.run(request, &mut |value| sections.push(value), &AtomicBool::new(false));
    (sections, done)
}

/// Waits for something to come true.
pub fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "not in {} s: {what}", LONG.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes whose command line contains that text, but for this one.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| *number != std::process::id())
        .filter(|number| {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}

/// Kills a process that this test started.
pub fn kill(number: u32) {
    let pid = nix::unistd::Pid::from_raw(number.cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// A host where something else than the probe answers.
pub struct Impostor {
    /// What runs in its place, a line of shell.
    pub script: String,
}

impl Reach for Impostor {
    fn name(&self) -> &str {
        "impostor"
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        Local.run(command, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        let probe = command.contains("/plimsoll-probe'");
        Local.open(if probe { &self.script } else { command })
    }
}
