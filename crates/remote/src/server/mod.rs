//! The host's end: requests are taken from standard input and answered on standard output, in lines of
//! JSON (see [`crate::protocol`]).
//!
//! It keeps nothing. It ends when its input does, when it is not heard from any more, and by a
//! signal; in each case it first ends the trial under way and removes what it made on the targets.

mod connection;
mod gate;
mod serve;

use std::process::ExitCode;

/// What the program `plimsoll-runner` does, to its end.
pub fn run() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--version") {
        println!("plimsoll-runner {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    match connection::Connection::of_this_process() {
        Ok(connection) => serve::serve(connection),
        Err(error) => {
            eprintln!("plimsoll-runner: {}", plimsoll_model::printable_lines(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}
