//! Damaged data, and what a study left behind.

use super::{Words, clean};
use crate::HostName;
use crate::flag::Severity;

pub(super) fn bad_content(stale: u64, misplaced: u64, corrupt: u64, seen: &str) -> Words {
    Words::new(
        Severity::Corruption,
        format!(
            "Data came back wrong{seen}: {corrupt} corrupt, {stale} stale and {misplaced} misplaced pieces of \
             4 KiB"
        ),
    )
    .action("Check the server's disks and memory.")
    .advice(
        "Do not trust this storage with data; run again with --verify and check its disks and memory.",
    )
    .fact(format!(
        "{corrupt} corrupt, {stale} stale and {misplaced} misplaced pieces of 4 KiB were read"
    ))
}

pub(super) fn setting_not_restored(host: &HostName, setting: &str, reason: &str) -> Words {
    Words::new(Severity::NotPutBack, format!("{setting} of {host} could not be restored: {reason}"))
        .action(format!("When it is reachable again: plimsoll restore {host}"))
}

pub(super) fn not_cleaned(target: &str, directory: &str, on: Option<&str>) -> Words {
    Words::new(Severity::NotPutBack, format!("{directory} could not be removed from {target}"))
        .action(format!("When it is reachable again: {}", clean(on, target)))
}

pub(super) fn program_left(host: &HostName, reason: &str, next: &str) -> Words {
    Words::new(
        Severity::NotPutBack,
        format!("The program deployed on {host} could not be removed: {reason}"),
    )
    .action(next)
}

pub(super) fn leftovers(directories: &[String], target: &str, on: Option<&str>) -> Words {
    Words::new(
        Severity::Leftovers,
        match directories {
            [one] => format!("A killed run left {one} on {target}"),
            several => {
                format!("Killed runs left {} directories on {target}", several.len())
            }
        },
    )
    .details(if directories.len() > 1 { directories.join(", ") } else { String::new() })
    .action(format!("Remove with: {}", clean(on, target)))
}
