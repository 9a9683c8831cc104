//! `plimsoll demo`: the whole way without a server and without root. A small NFS server inside the
//! program serves a temporary directory, and the same server is measured once more from a
//! millisecond further away.

mod far;
mod server;
#[cfg(test)]
mod tests;

use crate::arguments::{OutputArguments, StoreArguments};
use crate::check::{self, More};
use crate::command_line::{Arguments, Command};
use crate::{output, plan};
use clap::{Args, Parser};
use plimsoll_model::{Cause, Failure, Rule};
use server::BuiltinServer;
use std::time::Duration;

/// The demonstration's own arguments: small files, blocks of short trials, and this machine, on which all of it runs.
const SETTINGS: [&str; 6] =
    ["--size=64MiB", "--time=300ms", "--max-time=34s", "--workers=2", "--seed=1", "--host=local"];
/// What the way to the farther one adds to a round trip.
const FURTHER: Duration = Duration::from_millis(1);

#[derive(Args)]
pub struct DemoArguments {
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Runs the demonstration and returns the exit code.
pub fn run(demo: &DemoArguments, store: &StoreArguments) -> Result<u8, Failure> {
    let stage = |e: &dyn std::fmt::Display| {
        Failure::new(Cause::Trial, "prepare the demonstration")
            .on(std::env::temp_dir().display())
            .happened(e)
            .next("Set TMPDIR to a directory with 400 MB of free space.")
    };
    let served = tempfile::tempdir().map_err(|e| stage(&e))?;
    let server = BuiltinServer::start(served.path()).map_err(|e| stage(&e))?;
    let relay = far::Relay::start(server.port(), FURTHER).map_err(|e| stage(&e))?;
    output::complain(
        "Comparing a small NFS server inside this program with the same server 1 ms further away: how much \
         does a millisecond cost?",
    );
    let near = server.url();
    let far = near.replace(&server.port().to_string(), &relay.port().to_string());
    let words = ["plimsoll", "check", &near, &far].into_iter().chain(SETTINGS);
    let Command::Check(arguments) = Arguments::parse_from(words).command else {
        return Ok(Cause::Usage.exit_code());
    };
    let targets = crate::arguments::targets(&arguments.targets)?;
    let mut plan = plan::check(targets, &arguments.hosts, &arguments.what, &arguments.how)?;
    plan.design.baseline_seconds = 1.0;
    if let Rule::Sequential { at_least_seconds, .. } = &mut plan.design.rule {
        *at_least_seconds = 0.0;
    }
    plan.command = "plimsoll demo".to_owned();
    plan.labels = ["near", "1 ms away"].map(str::to_owned).into();
    let (study, interrupted) =
        check::measure(plan, &arguments.access, &demo.output, store, More::default())?;
    Ok(check::exit_code(&study, interrupted))
}
