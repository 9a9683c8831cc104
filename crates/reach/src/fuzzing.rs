//! What reads the output of hosts, for fuzz targets. Not part of the interface.

use super::complaint;
use super::shell::{Begun, Greeting, Instead};
use plimsoll_model::HostName;

/// Output up to the beginning of a command, in pieces of so many bytes.
pub fn greeting(output: &[u8], piece: usize) {
    let mut greeting = Greeting::default();
    for piece in output.chunks(piece.max(1)) {
        if greeting.take(piece) != Begun::NotYet {
            break;
        }
    }
}

/// What stands in for a shell, and what ssh complains of.
///
/// # Panics
/// If what is reported has a control character in it or is longer than a few lines.
pub fn complaint(status: Option<i32>, output: &[u8], errors: &[u8]) {
    let host = HostName::Ssh { user: None, host: "host".into(), port: Some(22) };
    let instead = Instead { status, output: output.into(), errors: errors.into() };
    let reported = [
        complaint::not_let_in(&host, &instead),
        complaint::not_begun(&host, &instead),
        complaint::lost(&host, errors),
    ];
    for failure in reported {
        assert!(!failure.happened.contains(char::is_control), "{failure}");
        assert!(failure.happened.chars().count() < 1000, "{failure}");
    }
}
