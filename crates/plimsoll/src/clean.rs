//! `plimsoll clean`: remove what dead runs left on a target, and nothing else.

use crate::arguments::{self, CleanArguments};
use crate::signals::Signals;
use crate::{credentials, hosts, output};
use load::{OpenOptions, SystemClock, TimeLimits};
use model::{Cause, Failure, StudyId, printable};
use runner::RunnerOptions;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use study::far::{Far, Program};

/// Cleans every target given; the exit code is 1 where something had to be left.
pub fn run(clean: &CleanArguments) -> Result<u8, Failure> {
    let signals = Signals::listen()?;
    let passwords = credentials::passwords(clean.access.credentials.as_deref(), &signals);
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    let targets = arguments::targets(&clean.targets)?;
    let mut far = clean.on.as_deref().map(|host| start(host, &signals)).transpose()?;
    let mut code = 0;
    for (number, (target, given)) in targets.iter().zip(&clean.targets).enumerate() {
        let given = printable(given);
        if let Some(cause) = signals.cause() {
            return Ok(cause.exit_code());
        }
        let cleaned = match &mut far {
            Some(far) => {
                far.connect(target, &options)?;
                far.clean(number, false)?
            }
            None => {
                let mut namespace = load::open(target, &options)?.namespace()?;
                runner::clean(&mut *namespace, None, &std::thread::sleep)?
            }
        };
        let mut text = String::new();
        for name in &cleaned.removed {
            let _ = writeln!(text, "removed {} from {given}", printable(name));
        }
        for name in &cleaned.live {
            let _ = writeln!(text, "left {}: its run is alive", printable(name));
        }
        for (name, why) in &cleaned.left {
            let _ = writeln!(text, "could not remove {}: {}", printable(name), printable(why));
            code = Cause::Trial.exit_code();
        }
        if text.is_empty() {
            let _ = writeln!(text, "nothing to remove on {given}");
        }
        output::print(&text)?;
    }
    Ok(code)
}

/// The program that does it on another host.
fn start(host: &str, signals: &Signals) -> Result<Far, Failure> {
    let told = RunnerOptions {
        study: StudyId("00000000".into()),
        nonce: 0,
        longest_trial: Duration::ZERO,
        operation_timeout: TimeLimits::default().call,
        server_memory: None,
        live: false,
        clock: Arc::new(SystemClock::new()),
        stop: signals.stop.clone(),
    };
    Far::start(hosts::open(&host.parse()?, true)?, &Program::find()?, &told)
}
