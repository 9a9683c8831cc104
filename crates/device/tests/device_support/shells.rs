//! This machine, its commands run by a shell of one's choice.

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Channel, Output, Reach};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// A shell, such as `busybox ash`, and all that its commands printed.
pub struct ByShell {
    pub shell: &'static str,
    pub printed: Mutex<String>,
}

impl ByShell {
    pub fn new(shell: &'static str) -> ByShell {
        ByShell { shell, printed: Mutex::default() }
    }
}

impl Reach for ByShell {
    fn name(&self) -> &str {
        self.shell
    }

    fn run(&self, command: &str, _: &[u8], _: Duration) -> Result<Output, Failure> {
        let mut words = self.shell.split(' ');
        let mut shell = Command::new(words.next().expect("a shell"));
        let ran = shell.args(words).args(["-c", command]).output().expect("the shell starts");
        self.printed.lock().unwrap().push_str(&String::from_utf8_lossy(&ran.stdout));
        let (output, errors) = (ran.stdout, ran.stderr);
        Ok(Output { status: ran.status.code(), output, errors, ..Output::default() })
    }

    fn open(&self, _: &str) -> Result<Box<dyn Channel>, Failure> {
        Err(Failure::new(Cause::Usage, "open a channel").on(self.shell).happened("there is none"))
    }
}
