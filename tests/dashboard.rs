//! `check --live` on a terminal of its own: the dashboard is there while the run goes on, and the
//! terminal is as before when it is over, however it ends.

mod support;

use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use support::{Plimsoll, run_directories, wait_until};

/// What terminals take for entering and leaving the alternate screen (xterm's control sequences).
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// The program on a terminal of 80 x 24.
struct OnTerminal {
    child: Child,
    keys: File,
    /// Kept open so that the terminal outlives the program.
    terminal: OwnedFd,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl OnTerminal {
    fn start(program: &Plimsoll, arguments: &[&str]) -> OnTerminal {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None).expect("a terminal");
        let mut first = Command::new("setsid");
        first.args(["--ctty", "--wait"]);
        let stdio = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let child = program
            .command_under(first, arguments)
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .expect("setsid starts the program");
        let keys = File::from(master);
        let mut screen = keys.try_clone().expect("a descriptor");
        let (sender, output) = channel();
        // Ends with the terminal.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        OnTerminal { child, keys, terminal: slave, output, seen: String::new() }
    }

    /// Reads until `wanted` is on the screen.
    #[track_caller]
    fn wait_for(&mut self, wanted: &str) {
        let begun = Instant::now();
        while !self.seen.contains(wanted) {
            self.read();
            assert!(begun.elapsed() < Duration::from_secs(60), "no {wanted:?} in:\n{}", self.seen);
        }
    }

    fn read(&mut self) {
        if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(50)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Waits for the end and checks that the terminal is as it was.
    #[track_caller]
    fn end(mut self) -> (ExitStatus, String) {
        let status = loop {
            self.read();
            if let Some(status) = self.child.try_wait().expect("the program is ours") {
                break status;
            }
        };
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        let settings = tcgetattr(&self.terminal).expect("a terminal has settings");
        assert!(settings.local_flags.contains(LocalFlags::ECHO | LocalFlags::ICANON));
        assert_eq!(self.seen.matches(ENTER).count(), 1, "{}", self.seen);
        assert_eq!(self.seen.matches(LEAVE).count(), 1, "{}", self.seen);
        let (_, after) = self.seen.split_once(LEAVE).expect("the screen was left");
        assert!(after.contains("\u{1b}[?25h"), "the cursor is shown again: {after:?}");
        (status, after.to_owned())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Trials without end: who waits for something to be seen must not be overtaken by the end of the
/// run, however busy the machine is.
const ENDLESS: &str = "--repeats=10000";

fn check(directory: &str, repeats: &'static str) -> Vec<String> {
    let more = ["--live", "--size=16MiB", repeats, "--pattern=random-read", "--baseline=0s"];
    ["check", directory, "--time=1s"].iter().chain(&more).map(|s| (*s).to_owned()).collect()
}

#[test]
fn the_dashboard_is_shown_and_the_result_after_it() {
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let arguments = check(plain.path().to_str().unwrap(), "--repeats=2");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut run = OnTerminal::start(&program, &arguments);
    run.wait_for(ENTER);
    let (status, after) = run.end();
    assert_eq!(status.code(), Some(0), "{after}");
    assert!(after.contains("random read"), "{after}");
}

#[test]
fn ctrl_c_gives_the_terminal_back_and_keeps_what_was_measured() {
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let arguments = check(plain.path().to_str().unwrap(), ENDLESS);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut run = OnTerminal::start(&program, &arguments);
    for part in [ENTER, "throughput", "latency", "plan", "random-read", "op/s", "core 0"] {
        run.wait_for(part);
    }
    // Only what changes on the screen is written, so the store tells how far the run is.
    let kept = || program.exported("latest").is_some_and(|study| !study.trials.is_empty());
    wait_until("a trial is kept", kept);
    run.keys.write_all(b"\x03").unwrap();
    let (status, after) = run.end();
    assert_eq!(status.code(), Some(130), "{after}");
    assert!(after.contains("interrupted") && after.contains("random read"), "{after}");
    assert_eq!(run_directories(plain.path()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn termination_gives_the_terminal_back() {
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let arguments = check(plain.path().to_str().unwrap(), ENDLESS);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut run = OnTerminal::start(&program, &arguments);
    run.wait_for("op/s");
    support::signal(&run.child, "-TERM");
    let (status, after) = run.end();
    assert_eq!(status.code(), Some(143), "{after}");
}

#[test]
fn a_failure_gives_the_terminal_back() {
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let directory = plain.path().to_str().unwrap();
    let arguments = ["check", directory, "--live", "--size=512TiB", "--pattern=random-read"];
    let (status, after) = OnTerminal::start(&program, &arguments).end();
    assert_eq!(status.code(), Some(6), "{after}");
    assert!(after.contains("could not"), "{after}");
}

#[test]
fn without_a_terminal_it_says_so_and_goes_on() {
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let arguments = check(plain.path().to_str().unwrap(), "--repeats=2");
    let ran = program.run(&arguments).expect(0);
    assert!(ran.err.contains("no dashboard") && ran.err.contains("not a terminal"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}') && ran.out.contains("random read"), "{}", ran.err);
}
