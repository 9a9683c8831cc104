//! `plimsoll clean`: remove what dead runs left on a target, and nothing else.

use crate::arguments::{self, CleanArguments};
use crate::signals::Signals;
use crate::{credentials, output};
use load::OpenOptions;
use model::{Cause, Failure};
use std::fmt::Write;

/// Cleans every target given; the exit code is 1 where something had to be left.
pub fn run(clean: &CleanArguments) -> Result<u8, Failure> {
    let signals = Signals::listen()?;
    let passwords = credentials::passwords(clean.access.credentials.as_deref(), &signals);
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    let mut code = 0;
    for (target, given) in arguments::targets(&clean.targets)?.iter().zip(&clean.targets) {
        if let Some(cause) = signals.cause() {
            return Ok(cause.exit_code());
        }
        let mut namespace = load::open(target, &options)?.namespace()?;
        let cleaned = runner::clean(&mut *namespace, None, &std::thread::sleep)?;
        let mut text = String::new();
        for name in &cleaned.removed {
            let _ = writeln!(text, "removed {name} from {given}");
        }
        for name in &cleaned.live {
            let _ = writeln!(text, "left {name}: its run is alive");
        }
        for (name, why) in &cleaned.left {
            let _ = writeln!(text, "could not remove {name}: {why}");
            code = Cause::Trial.exit_code();
        }
        if text.is_empty() {
            let _ = writeln!(text, "nothing to remove on {given}");
        }
        output::print(&text)?;
    }
    Ok(code)
}
