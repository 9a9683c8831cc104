//! `plimsoll demo`: the whole way without a server and without root. A small NFS server inside the
//! program serves one temporary directory; another is measured as it is.

mod server;
#[cfg(test)]
mod tests;

use crate::arguments::{DemoArguments, StoreArguments};
use crate::check::{self, More};
use crate::command_line::{Arguments, Command};
use crate::{output, plan};
use clap::Parser;
use plimsoll_model::{Cause, Failure};
use server::BuiltinServer;

/// The demonstration's own arguments: small files, three blocks of short trials.
const SETTINGS: [&str; 6] =
    ["--size=64MiB", "--repeats=3", "--time=1s", "--max-time=55s", "--workers=2", "--seed=1"];

/// Runs the demonstration and returns the exit code.
pub fn run(demo: &DemoArguments, store: &StoreArguments) -> Result<u8, Failure> {
    let stage = |e: &dyn std::fmt::Display| {
        Failure::new(
            Cause::Trial,
            "set the stage for the demonstration",
            std::env::temp_dir().display(),
            e,
            "Set TMPDIR to a directory with 300 MB of free space.",
        )
    };
    let served = tempfile::tempdir().map_err(|e| stage(&e))?;
    let plain = tempfile::tempdir().map_err(|e| stage(&e))?;
    let server = BuiltinServer::start(served.path()).map_err(|e| stage(&e))?;
    let url = server.url();
    output::complain(
        "A small NFS server inside this program against a plain directory: not a fast server, but \
         the whole way.",
    );
    let directory = plain.path().display().to_string();
    let words = ["plimsoll", "check", &url, &directory].into_iter().chain(SETTINGS);
    let Command::Check(arguments) = Arguments::parse_from(words).command else {
        return Ok(Cause::Usage.exit_code());
    };
    let targets = crate::arguments::targets(&arguments.targets)?;
    let mut plan = plan::check(targets, &arguments.hosts, &arguments.what, &arguments.how)?;
    plan.design.baseline_seconds = 1.0;
    plan.command = "plimsoll demo".to_owned();
    let (study, interrupted) =
        check::measure(plan, &arguments.access, &demo.output, store, More::default())?;
    Ok(check::exit_code(&study, interrupted))
}
