//! The runner as a program: it is deployed on the host that trials are driven on. It is of this package, so
//! that it is linked from what the program itself is linked from, and nothing is built twice.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    plimsoll_remote::server::run()
}
