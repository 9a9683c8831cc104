//! Whole sessions with a server of version 4 that lies: the input is the transcript that it answers from.
#![no_main]

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../crates/nfs/tests/support/session4.rs"]
mod session4;

use libfuzzer_sys::fuzz_target;
use plimsoll_testkit::servers::liar::{Liar, Transcript, Wire};
use std::time::Duration;

/// How long a client waits in vain before it is hung up on.
const PATIENCE: Duration = Duration::from_millis(3);
const LIMIT: Duration = Duration::from_secs(2);

fuzz_target!(|data: &[u8]| {
    let transcript = Transcript::from_bytes(data);
    let liar = Liar::start(Wire::Rpc, transcript, Some(PATIENCE)).expect("a port");
    session4::run(liar.address(), "/run/export/data", LIMIT);
});
