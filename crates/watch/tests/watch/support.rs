//! What tests of watching need: a clock, waiting for answers, and hosts that are not what they seem.

use plimsoll_model::{Clock, Failure, HostName, Nanos};
use plimsoll_reach::{Channel, Local, Output, Reach};
use plimsoll_watch::proc_files::Sample;
use plimsoll_watch::{Ask, Connect, PendingSample, Remote, Shell, Watch};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More than any answer takes.
pub const LONG: Duration = Duration::from_secs(120);

struct Since(Instant);

impl Clock for Since {
    fn now(&self) -> Nanos {
        Nanos(self.0.elapsed().as_nanos() as u64)
    }
    fn sleep_until(&self, _: Nanos) {}
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(Since(Instant::now()))
}

/// This machine, watched by a shell.
pub fn by_shell() -> Remote {
    Shell::watch(&HostName::Local, plimsoll_reach::open, clock()).unwrap()
}

/// Asks and waits for the answer.
pub fn sample(watch: &mut dyn Watch, what: Ask) -> Sample {
    let mut asked: PendingSample = watch.ask(what);
    match asked.sample(LONG) {
        Some(sample) => sample.clone(),
        None => panic!("no answer: {:?}", watch.lost()),
    }
}

/// This machine, where each command is another one. `{}` in it stands for the command, as a word.
pub struct Instead(pub String);

impl Reach for Instead {
    fn name(&self) -> &str {
        "ssh://odd"
    }
    fn run(&self, _: &str, _: &[u8], _: Duration) -> Result<Output, Failure> {
        unreachable!("nothing here runs commands to their end")
    }
    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Local.open(&self.0.replace("{}", &plimsoll_reach::quote(command)))
    }
}

pub fn instead(command: impl Into<String>) -> Result<Remote, Failure> {
    let command = command.into();
    let reach: Connect = Box::new(move || Ok(Arc::new(Instead(command.clone()))));
    Shell::watch_by(reach()?, reach, clock())
}
