//! Notes that do not change the figures.

use super::{NOBODY, Words, capital, close, place};
use crate::HostName;
use crate::flag::Severity;
use crate::units::{self, Bytes};

pub(super) fn impossible_counters(host: &HostName) -> Words {
    Words::new(
        Severity::Note,
        format!("{} showed counters that cannot be true", capital(&place(host))),
    )
    .action(format!("Its load is left out of this trial; check /proc/stat of {host}."))
}

pub(super) fn hidden_from_ticks(host: &HostName, by_ticks: f64, by_scheduler: f64) -> Words {
    Words::new(
        Severity::Note,
        format!(
            "The CPU figures of {} are too low: its ticks counted {by_ticks:.2} busy cores, its scheduler \
             {by_scheduler:.2}",
            place(host)
        ),
    )
    .action("Do not rely on them: ticks miss short work.")
}

pub(super) fn host_lost(host: &HostName, reason: &str) -> Words {
    Words::new(
        Severity::Note,
        format!("{} could not be monitored any more: {reason}", capital(&place(host))),
    )
    .action(format!("The finished trials are kept; check {host} and its link, and run again."))
}

pub(super) fn entries_skipped(directory: &str, count: u64) -> Words {
    Words::new(
        Severity::Note,
        format!("{count} links, devices, pipes or sockets in {directory} were not copied"),
    )
    .action("Only regular files and directories are copied; no action is needed.")
}

pub(super) fn names_not_utf8(directory: &str, first: &str, count: u64) -> Words {
    let (names, is, were) = match count {
        1 => ("1 name".to_owned(), "is", "was"),
        _ => (format!("{count} names"), "are", "were"),
    };
    Words::new(
        Severity::Note,
        format!("{names} in {directory} that {is} not UTF-8 {were} not copied, the first {first}"),
    )
    .action("Rename it to copy it as well (convmv converts the names of a whole directory).")
}

pub(super) fn sparse_files(directory: &str, count: u64, holes: Bytes) -> Words {
    let files = if count == 1 { "1 file" } else { &format!("{count} files") };
    Words::new(
        Severity::Note,
        format!("{files} in {directory} with holes: {holes} of zeros were copied, too"),
    )
    .action("rsync does so too without --sparse; no action is needed.")
}

pub(super) fn warm_scan(target: &str) -> Words {
    Words::new(Severity::Note, format!("The scan on {target} was answered from a warm cache"))
        .details("before each trial the client's kernel has walked all names")
        .action("For a cold cache, run again with --drop-caches, as root.")
}

pub(super) fn size_lowered(wanted: Bytes, used: Bytes, bytes_per_second: f64) -> Words {
    Words::new(
        Severity::Note,
        format!(
            "The files have {used} instead of {wanted}: writing runs at {}",
            units::bytes_per_second(bytes_per_second)
        ),
    )
    .action(format!(
        "Small files are more easily cached; give --size {} --max-time 1h for files of full size.",
        close(wanted)
    ))
}

pub(super) fn size_fitted(target: &str, wanted: Bytes, used: Bytes, available: Bytes) -> Words {
    Words::new(
        Severity::Note,
        format!(
            "The files have {used} instead of {wanted}: {target} has {} free",
            units::amount(available)
        ),
    )
    .action(format!(
        "Small files are more easily cached; make room for two times {wanted}, for files of full size."
    ))
}

pub(super) fn reply_surplus(target: &str, call: &str, bytes: u64) -> Words {
    Words::new(
        Severity::Note,
        format!("The server of {target} sent {bytes} bytes beyond the end of its {call} reply"),
    )
    .action(format!("They were ignored: {call} of {target} has a bug in the server's software."))
}

pub(super) fn call_failed(target: &str, call: &str, reason: &str, instead: &str) -> Words {
    Words::new(Severity::Note, format!("{target}: could not {call}: {reason}")).action(instead)
}

pub(super) fn other_owner(target: &str, uid: Option<u32>, owner: Option<u32>) -> Words {
    let nobody = owner.is_some_and(|owner| NOBODY.contains(&owner));
    let who = if nobody { "nobody" } else { "another user" };
    let root = uid == Some(0);
    let why = if root { "root_squash or all_squash" } else { "all_squash" };
    let number = |of: Option<u32>| of.map_or("N".to_owned(), |of| of.to_string());
    Words::new(
        Severity::Note,
        format!(
            "{target}: files of uid {} belong to uid {}: the server takes it for {who} ({why}, or it maps \
             users)",
            number(uid),
            number(owner)
        ),
    )
    .action(format!(
        "Speeds are not affected. For files of your own set {} on the export (exports(5); Squash = None \
         in NFS-Ganesha), or call as a user whom the server knows, with ?uid=N&gid=N.",
        if root { "no_root_squash" } else { "no_all_squash" }
    ))
}

pub(super) fn continued(block: u32) -> Words {
    Words::new(
        Severity::Note,
        format!("The study had stopped and was continued with block {}", u64::from(block) + 1),
    )
    .action("Figures are means over both parts of the study; comparisons are made within blocks.")
}

pub(super) fn lock_not_upgraded(target: &str, reason: &str) -> Words {
    Words::new(
        Severity::Note,
        format!(
            "Commits on {target} gave shared locks back before exclusive ones, as SQLite on Windows does: it refused \
             to turn one into the other ({reason})"
        ),
    )
}

pub(super) fn memory_not_shared(target: &str, reason: &str) -> Words {
    Words::new(
        Severity::Note,
        format!("Two processes did not share memory by a file on {target} ({reason})"),
    )
    .action("Speeds are not affected. Do not set journal_mode=WAL for a SQLite database there.")
}
