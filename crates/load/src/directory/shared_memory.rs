//! Whether programs can share memory by a file of a directory: two processes map it, and each waits for what the other
//! one writes there.
//!
//! Why processes: the kernel ends a program (SIGBUS) that uses mapped memory whose file was cut or whose server is gone.
//! So nothing is mapped here, but in two copies of this process.
//!
//! Why unsafe: a copy of a process with threads has one thread, and locks that the others held stay locked. What makes
//! it sound here: a copy makes system calls until its end, and neither allocates nor locks nor panics. It maps memory
//! where nothing is yet, and uses it by atomic numbers alone, as the other copy writes there, too.
#![allow(unsafe_code)]

use super::file::OpenFile;
use super::tree::{Tree, Trouble};
use libc::c_int;
use nix::errno::Errno;
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use plimsoll_model::Deadline;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes that are mapped: as many as SQLite maps at a time.
const LENGTH: usize = 32 << 10;
/// How often the processes answer each other.
const ROUNDS: u32 = 8;
/// How often a process looks for an answer, a millisecond each time.
const LOOKS: u32 = 3000;
/// How a process ends that got no answer; a call that failed has a smaller number.
const NO_ANSWER: c_int = 255;
const NOT_SEEN: &str = "one process did not see what the other one wrote";

/// How long both processes may take, and how often this one looks whether they have ended.
const LONGEST: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
/// How often it looks after they were told to end. What waits for a server does not end.
const LAST_LOOKS: u32 = 500;

/// Tries it on a file of the run's own, which is overwritten: why it failed, in words.
pub(super) fn on_file(tree: &Tree, path: &str, deadline: &Deadline) -> Result<(), String> {
    let open = || -> Result<[OpenFile; 2], Trouble> {
        let (directory, name) = tree.own_place(path)?;
        let first = OpenFile::open_own_cached(&directory, name)?;
        first.for_flush().write_all_at(&[0; LENGTH], 0)?;
        Ok([first, OpenFile::open_own_cached(&directory, name)?])
    };
    let [first, second] = open().map_err(|trouble| trouble.to_string())?;
    between(first.for_flush(), second.for_flush(), LOOKS, deadline)
}

/// Tries it between two processes, each of which maps one of the files.
fn between(first: &File, second: &File, looks: u32, deadline: &Deadline) -> Result<(), String> {
    let end = deadline.within(LONGEST);
    let begun = [begin(first, true, looks), begin(second, false, looks)];
    let ended = begun.map(|process| process.and_then(|process| wait(process, &end)));
    let reasons: Vec<String> = ended.into_iter().filter_map(Result::err).collect();
    // Where one could not write, the other one saw nothing: the first tells more.
    match reasons.iter().find(|reason| reason.as_str() != NOT_SEEN).or(reasons.first()) {
        Some(reason) => Err(reason.clone()),
        None => Ok(()),
    }
}

/// Begins a copy of this process that maps a file.
fn begin(file: &File, is_first: bool, looks: u32) -> Result<Pid, String> {
    let file = file.as_raw_fd();
    // SAFETY: the copy calls `exchange`, which does what a copy may do, and ends without the work of this process's end.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => Ok(child),
        Ok(ForkResult::Child) => {
            let code = exchange(file, is_first, looks);
            // SAFETY: it only ends the process.
            unsafe { libc::_exit(code) }
        }
        Err(errno) => Err(format!("a process could not be started: {}", errno.desc())),
    }
}

/// Maps a file. In each round it writes the round's number into its own word, and waits for the other one's. How it ended.
fn exchange(file: RawFd, is_first: bool, looks: u32) -> c_int {
    // There may be a password in this memory.
    let _ = set_dumpable(false);
    // SAFETY: the kernel chooses a free place, which nobody unmaps. It is aligned as pages are and longer than two words.
    // A file without these bytes ends the process by SIGBUS, which the standard library must not handle here: it may lock.
    let [one, other] = unsafe {
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let mapped = libc::mmap(ptr::null_mut(), LENGTH, access, kind, file, 0);
        if mapped == libc::MAP_FAILED {
            return Errno::last_raw();
        }
        // A copy that hangs keeps no connection, lock or directory of the run.
        libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32);
        &*mapped.cast::<[AtomicU32; 2]>()
    };
    let (mine, theirs) = if is_first { (one, other) } else { (other, one) };
    for round in 1..=ROUNDS {
        mine.store(round, Ordering::SeqCst);
        let mut left = looks;
        while theirs.load(Ordering::SeqCst) < round {
            if left == 0 {
                return NO_ANSWER;
            }
            left -= 1;
            // SAFETY: without descriptors it only waits, for a millisecond.
            unsafe { libc::poll(ptr::null_mut(), 0, 1) };
        }
    }
    0
}

/// Waits for a process: why it did not get its answers.
fn wait(process: Pid, end: &Deadline) -> Result<(), String> {
    while end.sleep(POLL).is_ok() {
        match waitpid(process, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
            Ok(WaitStatus::Exited(_, NO_ANSWER)) => return Err(NOT_SEEN.to_owned()),
            Ok(WaitStatus::Exited(_, errno)) => {
                return Err(format!("mmap: {}", Errno::from_raw(errno).desc()));
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Err(format!("{signal} ended a process that used the memory"));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(format!("waitpid: {}", errno.desc())),
        }
    }
    let _ = kill(process, Signal::SIGKILL);
    for _ in 0..LAST_LOOKS {
        let is_alive = waitpid(process, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
        if !is_alive {
            break;
        }
        end.clock().sleep_until(end.now() + POLL);
    }
    Err("a process that used the memory did not end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_transport::SystemClock;
    use std::fs::OpenOptions;
    use std::sync::Arc;

    fn file_of(length: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(length as u64).unwrap();
        file
    }

    fn tried(first: &File, second: &File) -> Result<(), String> {
        between(first, second, 50, &Deadline::new(Arc::new(SystemClock::new()), Arc::default()))
    }

    #[test]
    fn processes_that_map_one_file_see_each_others_writes() {
        let file = file_of(LENGTH);
        let deadline = Deadline::new(Arc::new(SystemClock::new()), Arc::default());
        assert_eq!(between(file.as_file(), &file.reopen().unwrap(), LOOKS, &deadline), Ok(()));
        let two = file_of(LENGTH);
        assert_eq!(tried(file_of(LENGTH).as_file(), two.as_file()), Err(NOT_SEEN.to_owned()));
    }

    /// The end of a process by the kernel is not the end of this one.
    #[test]
    fn why_memory_is_not_shared_is_told() {
        let empty = file_of(0);
        let told = tried(empty.as_file(), &empty.reopen().unwrap());
        assert_eq!(told, Err("SIGBUS ended a process that used the memory".to_owned()));
        // One of them can map its file.
        let file = file_of(LENGTH);
        let read_only = OpenOptions::new().read(true).open(file.path()).unwrap();
        let told = tried(file.as_file(), &read_only);
        assert_eq!(told, Err(format!("mmap: {}", Errno::EACCES.desc())));
    }

    #[test]
    fn a_process_that_does_not_end_is_ended() {
        let deadline = Deadline::new(Arc::new(SystemClock::new()), Arc::default());
        let file = file_of(LENGTH);
        let process = begin(file.as_file(), true, u32::MAX).unwrap();
        let told = wait(process, &deadline.within(Duration::from_millis(20)));
        assert!(told.is_err_and(|reason| reason.ends_with("did not end")));
        assert_eq!(waitpid(process, None), Err(Errno::ECHILD), "it was waited for");
    }
}
