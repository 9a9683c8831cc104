//! A configuration file of a host: read, and replaced whole or not at all.

use super::command;
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};

/// Ending of the file that a new content is written to, beside the file itself; none that reads
/// whole directories of files takes one of that name.
const PART: &str = ".plimsoll";

/// What it holds.
pub(super) fn content(host: &dyn Reach, file: &str) -> Result<String, Failure> {
    command(host, &format!("read {file}"), &format!("cat {}", quote(file)), b"")
}

/// Replaces it, with the owner and rights that it has, and where a link leads; returns when that is
/// on the host's disk.
pub(super) fn replace(host: &dyn Reach, file: &str, content: &str) -> Result<(), Failure> {
    let (name, length) = (quote(file), content.len());
    let text = format!(
        "f=$(readlink -f {name}) && p=\"$f{PART}\" && rm -f \"$p\" && cp -p \"$f\" \"$p\" || exit 1
        cat >\"$p\" && [ \"$(wc -c <\"$p\")\" -eq {length} ] && sync && mv -f \"$p\" \"$f\" ||
            {{ rm -f \"$p\"; exit 1; }}
        sync"
    );
    command(host, &format!("write {file}"), &text, content.as_bytes()).map(drop)
}

/// Removes what a killed run had not finished writing.
pub(super) fn remove_part(host: &dyn Reach, file: &str) -> Result<(), Failure> {
    let name = quote(file);
    let text = format!("f=$(readlink -f {name}) || exit 0; rm -f \"$f{PART}\"");
    command(host, &format!("check {file}"), &text, b"").map(drop)
}

/// Whether this can be the name of one; journals are bytes from outside.
pub(super) fn is_name(file: &str) -> bool {
    file.starts_with('/') && !file.ends_with('/') && !file.contains(char::is_control)
}
