//! A timer on a host that undoes a change which may have cut the link to it.
//!
//! It is a shell in the background there, started before the change. It outlives the connection,
//! and ends when it is replaced by the next one (renewed), when the entry of the undo journal is
//! gone, or when its time is over: then it undoes, and leaves the entry for [`super::restore`].

use super::command;
use plimsoll_model::Failure;
use plimsoll_reach::{Reach, quote};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a host goes without being renewed before it undoes by itself.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Renewals in that time.
const RENEWALS: u32 = 4;

/// Seconds between looks whether the entry is still there.
const STEP: u64 = 2;

/// A timer that is renewed by a thread of this program while this value lives.
pub(super) struct Guard {
    stop: Option<Sender<()>>,
    renewing: Option<JoinHandle<Timer>>,
}

/// The timer on the host.
struct Timer {
    host: Arc<dyn Reach>,
    entry: String,
    undo: String,
    patience: Duration,
    /// The shells that have it, by their numbers there: the last one, and those that could not be
    /// ended.
    processes: Vec<u32>,
}

impl Guard {
    /// Starts the timer; when this returns, it runs.
    pub fn start(
        host: Arc<dyn Reach>,
        entry: &str,
        undo: String,
        patience: Duration,
    ) -> Result<Guard, Failure> {
        let mut timer =
            Timer { host, entry: entry.to_owned(), undo, patience, processes: Vec::new() };
        timer.renew()?;
        let (stop, stopped) = mpsc::channel();
        let renewing = std::thread::spawn(move || {
            // A renewal that fails is no failure of the study: the link may come back in time.
            while stopped.recv_timeout(patience / RENEWALS) == Err(RecvTimeoutError::Timeout) {
                let _ = timer.renew();
            }
            timer
        });
        Ok(Guard { stop: Some(stop), renewing: Some(renewing) })
    }

    /// Ends the timer, after the setting has been put back.
    pub fn end(mut self) -> Result<(), Failure> {
        self.stop = None;
        match self.renewing.take().map(JoinHandle::join) {
            Some(Ok(mut timer)) => timer.kill(0),
            _ => Ok(()),
        }
    }
}

impl Drop for Guard {
    /// The timer goes on: whoever drops it without [`Guard::end`] has not put things back.
    fn drop(&mut self) {
        self.stop = None;
    }
}

impl Timer {
    /// The next timer first, then the end of the one before.
    fn renew(&mut self) -> Result<(), Failure> {
        let entry = quote(&self.entry);
        let steps = (self.patience.as_secs() / STEP).max(1);
        let text = format!(
            "undo=$(cat); n=0; while [ $n -lt {steps} ]; do
                sleep {STEP}; n=$((n + 1)); [ -e {entry} ] || exit 0
            done; eval \"$undo\""
        );
        // Deaf to the end of the connection; with setsid, it is in no process group of it either. What
        // it undoes may be longer than an argument of a program can be: it reads that.
        let start = format!(
            "trap '' HUP INT TERM
            alone=$(command -v setsid || true)
            undo=$(cat)
            printf '%s\\n' \"$undo\" | $alone sh -c {} {} >/dev/null 2>&1 &
            echo $!",
            quote(&text),
            quote(&self.mark())
        );
        let process = command(
            &*self.host,
            "start the timer that undoes a change",
            &start,
            self.undo.as_bytes(),
        )?;
        self.processes.extend(process.trim().parse::<u32>());
        self.kill(1)
    }

    /// The name that its shell has in the list of processes there.
    fn mark(&self) -> String {
        format!("plimsoll-guard {}", self.entry)
    }

    /// Ends all shells but so many, the last ones. Their numbers may be other processes' by now.
    /// They are deaf to all signals but KILL.
    fn kill(&mut self, spared: usize) -> Result<(), Failure> {
        let mark = quote(&self.mark());
        while self.processes.len() > spared {
            let process = self.processes[0];
            // BusyBox's grep sees no further than the first NUL of a line.
            let text = format!(
                "tr '\\000' ' ' 2>/dev/null </proc/{process}/cmdline | grep -qF {mark} || exit 0
                kill -9 {process} || true"
            );
            command(&*self.host, "end the timer that undoes a change", &text, b"")?;
            self.processes.remove(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::Local;
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    fn running(entry: &Path) -> usize {
        let mark = format!("plimsoll-guard {}", entry.display());
        // Its name alone: those that end a timer have it in their text.
        let named =
            |line: Vec<u8>| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
        let parent = |process: &Path| -> Option<String> {
            let status = fs::read_to_string(process.join("status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
            Some(line.trim().to_owned())
        };
        let timers: Vec<(String, Option<String>)> = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(named))
            .map(|process| (process.file_name().display().to_string(), parent(&process.path())))
            .collect();
        // A child has its parent's line until it runs a program of its own.
        let forked = |own: &Option<String>| {
            own.as_ref().is_some_and(|own| timers.iter().any(|(process, _)| process == own))
        };
        timers.iter().filter(|(_, parent)| !forked(parent)).count()
    }

    #[track_caller]
    fn until(what: &str, mut ready: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !ready() {
            assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_timer_undoes_unless_it_is_renewed_or_ended() {
        let place = tempfile::tempdir().unwrap();
        let [entry, undone] = ["entry", "undone"].map(|name| place.path().join(name));
        let undo = format!("echo >{}", undone.display());
        let start = |patience| {
            fs::write(&entry, "").unwrap();
            Guard::start(Arc::new(Local), entry.to_str().unwrap(), undo.clone(), patience).unwrap()
        };
        // Renewed many times; one timer is there, or two for a moment.
        let short = Duration::from_secs(6);
        let guard = start(short);
        let begun = Instant::now();
        while begun.elapsed() < 2 * short + Duration::from_secs(1) {
            // One that has just been started is not named so yet.
            until("a timer runs, or two do", || (1..=2).contains(&running(&entry)));
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(!undone.exists(), "it was renewed");
        guard.end().unwrap();
        // What is killed is listed until it has ended.
        until("it has ended", || running(&entry) == 0);
        assert!(!undone.exists());
        // Not ended and not renewed any more: as after kill -9, or a lost link.
        let timer = start(short);
        drop(timer);
        until("it undoes", || undone.exists());
        assert!(entry.exists(), "the entry is left for restore");
        until("it has ended", || running(&entry) == 0);
        // Restored by somebody else.
        fs::remove_file(&undone).unwrap();
        drop(start(Duration::from_secs(600)));
        fs::remove_file(&entry).unwrap();
        until("it has ended", || running(&entry) == 0);
        assert!(!undone.exists());
    }
}
