//! /proc/fs/cifs/Stats (the kernel's fs/smb/client/cifs_debug.c, smb2ops.c and smb1ops.c; fs/cifs
//! on older ones). Older kernels have it only if they were built with CONFIG_CIFS_STATS.

use plimsoll_model::{MountCommand, MountOperation};
use std::collections::BTreeMap;

/// Kinds of operations that are believed.
const MOST: usize = 64;

/// What the kernel calls the commands of SMB 2 and 3 that have a number here (MS-SMB2, section 2.2.1.2), as it
/// counts them by share.
const COMMANDS: [(u64, &str); 10] = [
    (5, "Creates"),
    (6, "Closes"),
    (7, "Flushes"),
    (8, "Reads"),
    (9, "Writes"),
    (10, "Locks"),
    (11, "IOCTLs"),
    (14, "QueryDirectories"),
    (16, "QueryInfos"),
    (17, "SetInfos"),
];
/// Ticks per second that are believed.
const TICKS: std::ops::RangeInclusive<u64> = 10..=10_000;

/// The operations on the share that was mounted from this source (`//nas/films`); `None` where there
/// is none. The kernel counts by share and session: several mounts of one share may be one, and
/// where there are several sessions they are added up. Times it keeps by server, above its shares, and
/// only if it was built with CONFIG_CIFS_STATS2.
pub fn operations(stats: &str, source: &str) -> Option<BTreeMap<String, MountOperation>> {
    let mut sums: Option<BTreeMap<String, MountOperation>> = None;
    let mut own = false;
    let mut server = Server::default();
    for line in stats.lines() {
        if server.begins(line) {
            own = false;
        } else if let Some(share) = share(line) {
            own = is_share(share, source);
            if own {
                server.give_times(sums.get_or_insert_default());
            }
        } else if let (false, Some((name, more))) = (own, server.command(line)) {
            server.commands.insert(name, more);
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

/// The times of one server's commands.
#[derive(Default)]
struct Server {
    /// Of the kernel's clock; 0 where it keeps no times.
    ticks_per_second: u64,
    commands: BTreeMap<&'static str, MountCommand>,
    given: bool,
}

impl Server {
    /// "Total time spent processing by command. Time units are jiffies (250 per second)": another server's.
    fn begins(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("Total time spent processing by command.") else {
            return false;
        };
        let ticks = rest.split_once('(').and_then(|(_, rest)| rest.split_once(" per second)"));
        let ticks = ticks.and_then(|(number, _)| number.parse().ok());
        let ticks_per_second = ticks.filter(|ticks| TICKS.contains(ticks)).unwrap_or(0);
        *self = Server { ticks_per_second, ..Server::default() };
        true
    }

    /// "  8\t\t900\t20\t\t0\t1": a command, how many, all their ticks, those of the fastest and the slowest.
    fn command(&self, line: &str) -> Option<(&'static str, MountCommand)> {
        let mut figures = line.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        let [number, count, ticks, _, _] = std::array::from_fn(|_| figures.next().flatten());
        let known = figures.next().is_none() && self.ticks_per_second > 0;
        let (_, name) = COMMANDS.into_iter().find(|(command, _)| Some(*command) == number)?;
        let seconds = ticks? as f64 / self.ticks_per_second as f64;
        known.then_some((name, MountCommand { count: count?, seconds }))
    }

    /// The server's times, once, though it may have the share in several sessions.
    fn give_times(&mut self, sums: &mut BTreeMap<String, MountOperation>) {
        if std::mem::replace(&mut self.given, true) {
            return;
        }
        for (name, command) in &self.commands {
            let sum = sums.entry((*name).to_owned()).or_default().command.get_or_insert_default();
            sum.count = sum.count.saturating_add(command.count);
            sum.seconds += command.seconds;
        }
    }
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
    plain.then(|| (name.to_owned(), MountOperation { count, errors, wire: None, command: None }))
}
