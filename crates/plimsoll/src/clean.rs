//! `plimsoll clean`: remove what dead runs left on a target, and nothing else.

use crate::arguments::{self, AccessArguments};
use crate::signals::Signals;
use crate::{credentials, forgotten, hosts, output};
use clap::Args;
use plimsoll_load::{Names, OpenOptions, SystemClock, TimeLimits};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Cause, Deadline, Failure, HostName, StudyId, printable};
use plimsoll_reach::deploy::{self, Programs};
use plimsoll_reach::{Local, Reach};
use plimsoll_remote::RemoteRunner;
use plimsoll_runner::RunnerOptions;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Longest time where the user named none.
const DAY: Duration = Duration::from_secs(24 * 3600);

#[derive(Args)]
pub struct CleanArguments {
    /// Directory, nfs:// or smb:// URL to clean
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Reach the targets from this host, as check --on does
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// Time limit of one operation
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Time limit for all targets [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    #[command(flatten)]
    pub access: AccessArguments,
}

/// Cleans every target given; the exit code is 1 where something had to be left.
pub fn run(clean: &CleanArguments) -> Result<u8, Failure> {
    let signals = Signals::listen()?;
    signals.announce();
    run_until(clean, &signals).map_err(|failure| signals.explain(failure))
}

fn run_until(clean: &CleanArguments, signals: &Signals) -> Result<u8, Failure> {
    let deadline = Deadline::new(Arc::new(SystemClock::new()), signals.stop.clone());
    deadline.give(clean.max_time.unwrap_or(DAY));
    let passwords = credentials::passwords(clean.access.credentials.as_deref(), signals);
    let limits = TimeLimits::of_calls(clean.timeout);
    let options = OpenOptions {
        passwords,
        limits,
        names: Names::resolved_by(plimsoll_reach::names::resolve),
        deadline: deadline.clone(),
        ..OpenOptions::default()
    };
    let targets = arguments::targets(&clean.targets)?;
    let mut far = clean.on.as_deref().map(|host| start(host, clean, &deadline)).transpose()?;
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
                let mut namespace = plimsoll_load::open(target, &options)?.namespace()?;
                plimsoll_runner::clean(&mut *namespace, None, &|time| {
                    let _ = deadline.sleep(time);
                })?
            }
        };
        let mut text = String::new();
        for name in &cleaned.removed {
            let _ = writeln!(text, "removed {} from {given}", printable(name));
        }
        for name in &cleaned.live {
            let _ = writeln!(text, "kept {}: its run is still alive", printable(name));
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
    match &far {
        Some(far) => {
            for line in forgotten::lines(&deploy::forgotten(far.reach(), &[]), far.host()) {
                output::print(&format!("{line}\n"))?;
            }
        }
        None => forgotten::note(&deploy::forgotten(&Local, &[]), Local.name()),
    }
    Ok(signals.cause().map_or(code, Cause::exit_code))
}

/// The program that does it on another host.
fn start(host: &str, clean: &CleanArguments, deadline: &Deadline) -> Result<RemoteRunner, Failure> {
    let host: HostName = host.parse()?;
    let runner_options = RunnerOptions {
        study: StudyId("00000000".into()),
        nonce: 0,
        longest_trial: Duration::ZERO,
        operation_timeout: clean.timeout,
        server_memory: None,
        live: false,
        set_up: clean.max_time.unwrap_or(DAY),
        deadline: deadline.clone(),
    };
    Signals::leave_when_over(deadline, "start the runner", host.clone(), move || {
        RemoteRunner::start(
            hosts::open(&host, true)?,
            &Programs::of_this_program(plimsoll_remote::BUNDLE),
            &runner_options,
        )
    })
}
