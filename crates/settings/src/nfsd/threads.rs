//! How many threads the server has. They are started and ended while it runs.

use super::super::{Found, Knob, Original, kernel_file};
use super::THREADS;
use super::server::{MOST_THREADS, Server, check_boot, expect_same_boot, is_same_boot};
use plimsoll_model::Failure;
use plimsoll_reach::Reach;

const FILE: &str = "/proc/fs/nfsd/threads";

#[derive(Debug)]
pub(super) struct Threads;

impl Knob for Threads {
    fn name(&self) -> String {
        THREADS.to_owned()
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let number = level.parse::<u32>().ok().filter(|n| n.to_string() == level);
        match number.is_some_and(|threads| (1..=MOST_THREADS).contains(&threads)) {
            true => Ok(()),
            false => Err(format!("it is not a number from 1 to {MOST_THREADS}")),
        }
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let server = Server::from_original(original).filter(|server| server.threads > 0);
        server.ok_or("the server is not running")?;
        check_boot(original)
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let server = Server::running(host)?;
        let original = server.to_original(&kernel_file::boot(host)?);
        Ok(Found { level: server.threads.to_string(), original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        expect_same_boot(host, THREADS, original)?;
        Server::running(host)?;
        kernel_file::put(host, FILE, level)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        kernel_file::expect(host, THREADS, FILE, level)
    }

    /// A server that does not run any more has no threads to set: who starts it says how many.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let threads = Server::from_original(original).map_or(0, |server| server.threads);
        if !is_same_boot(host, original)? || Server::read(host)?.threads == 0 {
            return Ok(());
        }
        kernel_file::put(host, FILE, &threads.to_string())?;
        kernel_file::expect(host, THREADS, FILE, &threads.to_string())
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        original.0.get("threads") == now.0.get("threads")
    }
}
