//! What the URLs of all protocols have in common: escapes, paths, and the failure of one that cannot be parsed.

use super::authority::without_password;
use crate::{Cause, Failure};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str};
use std::fmt;

pub(super) const PATH_ESCAPES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'?').add(b'#').add(b'%').add(b'"').add(b'\'').add(b'<').add(b'>');

/// Target that cannot be parsed, shown without a possible password.
pub(super) fn usage(on: &str, happened: impl fmt::Display, next: &str) -> Failure {
    let on = without_password(on);
    Failure::new(Cause::Usage, "understand the target").on(on).happened(happened).next(next)
}

pub(super) fn decode(given: &str, part: &str) -> Result<String, Failure> {
    let decoded = percent_decode_str(part).decode_utf8().map_err(|_| {
        usage(given, "its %-escapes do not make valid UTF-8", "Write %25 for a percent sign.")
    })?;
    if decoded.contains('\0') {
        return Err(usage(given, "it contains a NUL byte", "No path can; leave %00 out."));
    }
    Ok(decoded.into_owned())
}

/// Path that stays below its start.
pub(super) fn without_parents(given: &str, path: String) -> Result<String, Failure> {
    if path.split('/').any(|part| part == "..") {
        return Err(usage(given, "its path contains '..'", "Write the path without it."));
    }
    Ok(path)
}
