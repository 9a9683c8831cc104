//! /proc/fs/cifs/Stats (the kernel's fs/smb/client/cifs_debug.c and smb2ops.c). It is there if the
//! kernel was built with CONFIG_CIFS_STATS2 or is newer than 4.15.

use model::MountOperation;
use std::collections::BTreeMap;

/// Kinds of operations that are believed.
const MOST: usize = 64;

/// The operations on the share that was mounted from this source (`//nas/films`); `None` where there
/// is none. The kernel counts by share: two mounts of one share are one.
pub fn operations(stats: &str, source: &str) -> Option<BTreeMap<String, MountOperation>> {
    let mut lines = stats.lines().skip_while(|line| !is_share(line, source));
    lines.next()?;
    let own = lines.take_while(|line| share(line).is_none());
    Some(own.filter_map(operation).take(MOST).collect())
}

/// "1) \\nas\films"
fn share(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let counted = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // What follows the name, such as a disconnected state, is parted by a tab.
    counted.then(|| name.split('\t').next().unwrap_or(name).trim())
}

/// Names of servers and shares do not tell large letters from small ones.
fn is_share(line: &str, source: &str) -> bool {
    let plain = |name: &str| name.replace('\\', "/").trim_end_matches('/').to_lowercase();
    // A mount may begin below the share.
    let parts: Vec<String> = plain(source).split('/').take(4).map(str::to_owned).collect();
    share(line).is_some_and(|name| plain(name) == parts.join("/"))
}

/// "Reads: 40 total 1 failed"
fn operation(line: &str) -> Option<(String, MountOperation)> {
    let (name, figures) = line.trim().split_once(':')?;
    let words: Vec<&str> = figures.split_ascii_whitespace().collect();
    let [total, "total", failed, "failed"] = words[..] else { return None };
    let (count, errors) = (total.parse().ok()?, failed.parse().ok()?);
    let plain = name.len() <= 32 && name.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| (name.to_owned(), MountOperation { count, errors, wire: None }))
}
