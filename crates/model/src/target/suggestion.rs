//! Shares as other programs write them.

use super::letters::Escaped;
use super::{NfsTarget, PATH_ESCAPES, Target};

/// URL of a share in another notation: `host:/export` (mount), `//host/share` (mount.cifs) or
/// `\\host\share` (Windows). `None` for any other path. A path in such a notation may still exist.
pub fn suggested_url(path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix(r"\\") {
        return smb(&rest.replace('\\', "/"));
    }
    if let Some(rest) = path.strip_prefix("//") {
        return smb(rest);
    }
    let (host, rest) = path.split_once(":/")?;
    match host.to_ascii_lowercase().as_str() {
        // One stroke too few.
        "smb" | "cifs" => return smb(rest),
        "nfs" => return readable(format!("nfs://{rest}")),
        _ => {}
    }
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    let host = host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(host);
    // A single letter is a drive.
    if host.len() < 2 || host.contains('/') {
        return None;
    }
    let target = NfsTarget { host: host.into(), path: format!("/{rest}"), ..NfsTarget::default() };
    readable(target.to_string())
}

/// Share as `smb://`, without a possible password.
pub(super) fn smb(rest: &str) -> Option<String> {
    let (authority, path) = rest.trim_end_matches('/').split_once('/')?;
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user.split(':').next().unwrap_or_default(), host),
        None => ("", authority),
    };
    let at = if user.is_empty() { "" } else { "@" };
    readable(format!("smb://{user}{at}{host}/{}", Escaped(path, PATH_ESCAPES)))
}

/// Only what is understood is worth typing.
fn readable(url: String) -> Option<String> {
    url.parse::<Target>().is_ok().then_some(url)
}
