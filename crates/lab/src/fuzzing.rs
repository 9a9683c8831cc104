//! What labs read from outside, for fuzzing. Not part of the interface.

use super::plan::Plan;
use super::state::Bed;

use super::vm::Monitor;
use serde_json::json;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A lab file: what is read can be written down and read again.
pub fn plan(text: &str) {
    if let Ok(plan) = Plan::read(text, "lab.toml") {
        let json = serde_json::to_string(&plan).expect("a plan is JSON");
        assert_eq!(serde_json::from_str::<Plan>(&json).expect("JSON of a plan is a plan"), plan);
    }
}

/// What a machine's monitor says from its greeting on; 64 KiB at most are heard.
pub fn monitor(said: &[u8]) {
    let said = &said[..said.len().min(64 << 10)];
    let (ours, mut theirs) = UnixStream::pair().expect("two ends");
    theirs.write_all(said).expect("as much as a socket takes");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    let Ok(mut monitor) = Monitor::on(ours, Duration::from_secs(1)) else { return };
    // Nobody reads the commands, and a socket takes some hundreds.
    let mut more = 0..100;
    while more.next().is_some() && monitor.execute("query-status", &json!({})).is_ok() {}
}

/// What a lab has made, as it was written down.
pub fn state(text: &str) {
    if let Ok(bed) = serde_json::from_str::<Bed>(text) {
        let json = serde_json::to_string(&bed).expect("a bed is JSON");
        let again: Bed = serde_json::from_str(&json).expect("JSON of a bed is a bed");
        assert_eq!(serde_json::to_string(&again).expect("a bed is JSON"), json);
    }
}

#[cfg(test)]
mod tests {
    /// The inputs that fuzzing begins with are what they are to be.
    #[test]
    fn corpora_are_lab_files_and_states() {
        for (name, text) in crate::SHIPPED {
            super::plan(text);
            assert!(crate::Plan::read(text, name).is_ok(), "{name}");
        }
        super::monitor(include_bytes!("../../../fuzz/corpus/lab_monitor/answers"));
        let state = include_str!("../../../fuzz/corpus/lab_state/up");
        super::state(state);
        assert!(serde_json::from_str::<crate::state::Bed>(state).is_ok());
    }
}
