//! What the comparisons have in common: a private server, CPU time of each side, rounds.

pub mod ours;
pub mod proxy;
pub mod smb2_crate;
pub mod smbclient;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_testkit::servers::samba::{Samba, SambaConfig, SambaShare, User};
use std::error::Error;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The share, and who comes to it.
pub const SHARE: &str = "bench";
pub const USER: &str = "root";
pub const PASSWORD: &str = "open sesame";

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// What protects the messages of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Signed,
    Encrypted,
}

/// A private Samba whose share lies in memory where there is some.
pub struct Server {
    pub samba: Samba,
    directory: TempDir,
}

impl Server {
    pub fn start() -> Outcome<Server> {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let directory = tempfile::Builder::new().prefix("plimsoll-smb-").tempdir_in(place)?;
        let share = directory.path().join("share");
        std::fs::create_dir(&share)?;
        std::fs::create_dir(directory.path().join("local"))?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut config = SambaConfig::one(SambaShare::existing(SHARE, share)).port(port);
        config.users = vec![User { name: USER.into(), password: PASSWORD.into() }];
        let samba = Samba::start_in(directory.path().join("samba"), config)?;
        Ok(Server { samba, directory })
    }

    /// The share, as a directory of this machine.
    pub fn share(&self) -> PathBuf {
        self.directory.path().join("share")
    }

    /// A directory that is not shared.
    pub fn local(&self) -> PathBuf {
        self.directory.path().join("local")
    }
}

/// What one run of one side took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time of the client, user and system.
    pub cpu: f64,
    /// Elapsed time in seconds.
    pub elapsed: f64,
}

/// Runs something on this thread; what it took.
pub fn cost_of_thread<T>(run: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Cost)> {
    cost(UsageWho::RUSAGE_THREAD, run)
}

/// Runs something that waits for child processes; what they took.
pub fn cost_of_children<T>(run: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Cost)> {
    cost(UsageWho::RUSAGE_CHILDREN, run)
}

fn cost<T>(who: UsageWho, run: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Cost)> {
    let cpu = || -> Outcome<i64> {
        let usage = getrusage(who)?;
        Ok(usage.user_time().num_microseconds() + usage.system_time().num_microseconds())
    };
    let (begun, before) = (Instant::now(), cpu()?);
    let value = run()?;
    let cpu = Duration::from_micros((cpu()? - before).unsigned_abs());
    Ok((value, Cost { cpu: cpu.as_secs_f64(), elapsed: begun.elapsed().as_secs_f64() }))
}

/// Runs both sides in rounds, in alternating order, after one round that does not count.
pub fn rounds(
    count: usize,
    mut ours: impl FnMut() -> Outcome<Cost>,
    mut theirs: impl FnMut() -> Outcome<Cost>,
) -> Outcome<Vec<(Cost, Cost)>> {
    let mut all = Vec::new();
    for number in 0..=count {
        let pair = if number % 2 == 0 {
            let our_cost = ours()?;
            (our_cost, theirs()?)
        } else {
            let their_cost = theirs()?;
            (ours()?, their_cost)
        };
        if number > 0 {
            all.push(pair);
        }
    }
    Ok(all)
}

/// The middle one.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints what both sides came to, and the ratio of the medians beside the goal.
pub fn print(name: &str, unit: &str, ours: f64, peer: (&str, f64), goal: (&str, f64)) {
    let ratio = ours / peer.1;
    let met = if goal.0 == "<=" { ratio <= goal.1 } else { ratio >= goal.1 };
    println!(
        "{name:<44} plimsoll {ours:>9.3} {unit}, {} {:>9.3} {unit}: ratio {ratio:.2} (goal {} {}: {})",
        peer.0,
        peer.1,
        goal.0,
        goal.1,
        if met { "met" } else { "NOT met" }
    );
}
