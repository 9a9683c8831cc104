//! /proc/fs/cifs/Stats (the kernel's fs/smb/client/cifs_debug.c, smb2ops.c and smb1ops.c; fs/cifs
//! on older ones). Older kernels have it only if they were built with CONFIG_CIFS_STATS.

use plimsoll_model::MountOperation;
use std::collections::BTreeMap;

/// Kinds of operations that are believed.
const MOST: usize = 64;

/// The operations on the share that was mounted from this source (`//nas/films`); `None` where there
/// is none. The kernel counts by share and session: several mounts of one share may be one, and
/// where there are several sessions they are added up.
pub fn operations(stats: &str, source: &str) -> Option<BTreeMap<String, MountOperation>> {
    let mut sums: Option<BTreeMap<String, MountOperation>> = None;
    let mut own = false;
    for line in stats.lines() {
        if let Some(share) = share(line) {
            own = is_share(share, source);
            if own {
                sums.get_or_insert_default();
            }
        } else if let (true, Some(sums), Some((name, more))) = (own, &mut sums, operation(line))
            && (sums.contains_key(&name) || sums.len() < MOST)
        {
            let sum = sums.entry(name).or_default();
            sum.count = sum.count.saturating_add(more.count);
            sum.errors = sum.errors.saturating_add(more.errors);
        }
    }
    sums
}

/// "1) \\nas\films"
fn share(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let counted = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // What follows the name, such as a disconnected state, is parted by a tab.
    counted.then(|| name.split('\t').next().unwrap_or(name).trim())
}

/// Names of servers and shares do not tell large letters from small ones.
fn is_share(share: &str, source: &str) -> bool {
    let plain = |name: &str| name.replace('\\', "/").trim_end_matches('/').to_lowercase();
    // A mount may begin below the share.
    let parts: Vec<String> = plain(source).split('/').take(4).map(str::to_owned).collect();
    plain(share) == parts.join("/")
}

/// "Reads: 40 total 1 failed" of SMB 2 and 3, "sent" instead of "total" on older kernels; of
/// SMB 1 "Reads:  40 Bytes: 163840" and "Flushes: 3".
fn operation(line: &str) -> Option<(String, MountOperation)> {
    let (name, figures) = line.trim().split_once(':')?;
    let words: Vec<&str> = figures.split_ascii_whitespace().collect();
    let (count, errors) = match words[..] {
        [count, "total" | "sent", failed, "failed"] => (count, failed),
        [count, "Bytes:", _] => (count, "0"),
        [count] if name == "Flushes" => (count, "0"),
        _ => return None,
    };
    let (count, errors) = (count.parse().ok()?, errors.parse().ok()?);
    let plain = name.len() <= 32 && name.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| (name.to_owned(), MountOperation { count, errors, wire: None }))
}
