//! A value in a file of /proc or /sys: a line, written in one call and read back.

use super::{LONGEST, command};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Reach, quote};

/// What such a file says, without the end of its line.
pub(super) fn get(host: &dyn Reach, file: &str) -> Result<String, Failure> {
    let tried = format!("read {file}");
    let text = command(host, &tried, &format!("cat {}", quote(file)), b"")?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    check(value).map_err(|why| {
        Failure::new(Cause::NotPermitted, tried)
            .on(host.name())
            .happened(why)
            .next("Use another setting.")
    })?;
    Ok(value.to_owned())
}

/// Writes a value. It goes by standard input, so no shell reads it; and in one write, as the kernel
/// wants it.
pub(super) fn put(host: &dyn Reach, file: &str, value: &str) -> Result<(), Failure> {
    let name = quote(file);
    let text = format!("[ -f {name} ] && v=$(cat) && printf '%s\\n' \"$v\" >{name}");
    let tried = format!("write \"{value}\" to {file}");
    command(host, &tried, &text, value.as_bytes()).map(drop).map_err(refused)
}

/// Rights are not what is missing where the kernel has read the value.
fn refused(failure: Failure) -> Failure {
    let refusals = ["Invalid argument", "No such file", "out of range", "too large"];
    match refusals.iter().any(|words| failure.happened.contains(words)) {
        true => Failure {
            happened: format!("the kernel does not accept this value: {}", failure.happened),
            next: "Give a value that this kernel accepts.".into(),
            ..failure
        },
        false => failure,
    }
}

/// Fails unless the file has that value.
pub(super) fn expect(
    host: &dyn Reach,
    setting: &str,
    file: &str,
    wanted: &str,
) -> Result<(), Failure> {
    let value = get(host, file)?;
    match same(&value, wanted) {
        true => Ok(()),
        false => Err(not_in_effect(host, setting, &value, wanted)),
    }
}

/// The kernel has something else than was set.
pub(super) fn not_in_effect(host: &dyn Reach, setting: &str, value: &str, wanted: &str) -> Failure {
    let happened = format!("the kernel uses \"{value}\" instead of \"{wanted}\"");
    let next = "Give a value that this kernel accepts unchanged.";
    Failure::new(Cause::Trial, format!("set {setting}"))
        .on(host.name())
        .happened(happened)
        .next(next)
}

/// Whether this can be such a value.
pub(super) fn check(value: &str) -> Result<(), String> {
    if value.len() > LONGEST {
        return Err(format!("its value is longer than {LONGEST} bytes"));
    }
    match value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
        true => Ok(()),
        false => Err("its value is not one line of printable characters".into()),
    }
}

/// Which start of the host's kernel this is: what lies in its memory alone is gone after the next.
pub(super) fn boot(host: &dyn Reach) -> Result<String, Failure> {
    get(host, "/proc/sys/kernel/random/boot_id")
}

/// Fails where the host has been started anew since `found`: what would be set now, nobody would undo.
pub(super) fn expect_boot(host: &dyn Reach, setting: &str, found: &str) -> Result<(), Failure> {
    if boot(host)? == found {
        return Ok(());
    }
    let happened = "the host has rebooted since the study started";
    let next = "Start the study again.";
    Err(Failure::new(Cause::Trial, format!("set {setting}"))
        .on(host.name())
        .happened(happened)
        .next(next))
}

/// Whether that can be from [`boot`].
pub(super) fn is_boot(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// The kernel parts numbers by tabs and takes them parted by spaces.
fn same(one: &str, other: &str) -> bool {
    one.split_ascii_whitespace().eq(other.split_ascii_whitespace())
}
