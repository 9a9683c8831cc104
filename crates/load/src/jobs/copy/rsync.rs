//! A copy by rsync itself, between a directory of the client's and a mounted target: when each file was
//! done is what it prints, by this program's clock; its own rates are rounded to half seconds.

use crate::cpu;
use crate::op::{Done, FileId, Op, OpError, PathId, Tag, Whole};
use crate::share::{Full, Lane, LaneDead};
use crate::source::{OperationSource, Step};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use plimsoll_model::{Clock, ErrorKind, Nanos, OpKind, Stability};
use plimsoll_process::child;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest message of rsync's that is kept.
const MOST_WORDS: u64 = 4096;
/// How long rsync may take to remove what it has not finished.
const PATIENCE: Duration = Duration::from_secs(2);

/// What rsync copies.
#[derive(Clone, Debug)]
pub(super) struct Copying {
    /// The directory whose files are copied.
    pub from: PathBuf,
    /// The directory that they are copied to.
    pub to: PathBuf,
    /// Files that it should copy.
    pub files: u64,
}

/// As many operations as rsync copies files.
pub(crate) struct RsyncSource {
    left: u64,
    kind: OpKind,
}

impl RsyncSource {
    pub(super) fn new(files: u64, kind: OpKind) -> Self {
        RsyncSource { left: files, kind }
    }
}

impl OperationSource for RsyncSource {
    fn next(&mut self, _now: Nanos) -> Step {
        if self.left == 0 {
            return Step::End;
        }
        self.left -= 1;
        // Which of the files it is rsync alone decides.
        let whole = Whole { path: PathId(0), length: 0, content: FileId(0), generation: 0 };
        Step::Issue(match self.kind {
            OpKind::PUT => Op::Put(whole, Stability::Unstable),
            _ => Op::Get(whole),
        })
    }
}

/// What rsync has said.
enum Said {
    /// A file is copied: when, and its bytes.
    Copied(Nanos, u64),
    /// It has ended: when, and the bytes of all files, or why it failed.
    Ended(Nanos, Result<u64, String>),
}

/// Runs rsync with the first operation that is submitted; each completes with a file of it.
pub(super) struct RsyncLane {
    copying: Copying,
    depth: usize,
    clock: Arc<dyn Clock>,
    running: Option<Running>,
    waiting: VecDeque<(Tag, Nanos)>,
    /// The file that was copied last: it counts when the next one is, or rsync has ended well.
    held: Option<(Nanos, u64)>,
    /// Bytes and files that were copied.
    copied: (u64, u64),
}

struct Running {
    group: Pid,
    said: Receiver<Said>,
    reader: Option<JoinHandle<()>>,
}

impl RsyncLane {
    pub fn new(copying: Copying, depth: u16, clock: Arc<dyn Clock>) -> Self {
        RsyncLane {
            copying,
            depth: depth.into(),
            clock,
            running: None,
            waiting: VecDeque::new(),
            held: None,
            copied: (0, 0),
        }
    }

    fn start(&mut self) -> Result<Running, String> {
        let Copying { from, to, .. } = &self.copying;
        let mut child = child::command("rsync")
            .args(["--archive", "--stats", "--no-human-readable", "--out-format=%i %l", "--"])
            .args([contents(from), contents(to)])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("rsync: {error}"))?;
        let group = Pid::from_raw(child.id() as i32);
        let (say, said) = channel();
        let clock = self.clock.clone();
        let reader = std::thread::spawn(move || follow(&mut child, &say, &*clock));
        Ok(Running { group, said, reader: Some(reader) })
    }

    fn complete(&mut self, done: Nanos, bytes: u64, out: &mut Vec<Done>) {
        let Some((tag, issued)) = self.waiting.pop_front() else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        out.push(Done {
            tag,
            issued,
            sent: issued,
            done: done.max(issued),
            bytes,
            result: Ok(None),
        });
    }

    fn fail(&mut self, why: String, out: &mut Vec<Done>) {
        let Some((tag, issued)) = self.waiting.pop_front() else { return };
        let done = self.clock.now();
        let error = OpError { kind: ErrorKind::Io, detail: why.into() };
        out.push(Done { tag, issued, sent: issued, done, bytes: 0, result: Err(error) });
    }

    fn take(&mut self, said: Said, out: &mut Vec<Done>) {
        match said {
            Said::Copied(at, bytes) => {
                self.copied = (self.copied.0 + bytes, self.copied.1 + 1);
                if let Some((done, before)) = self.held.replace((at, bytes)) {
                    self.complete(done, before, out);
                }
            }
            Said::Ended(at, Ok(bytes)) => match (self.copied, self.held.take()) {
                ((of_files, files), Some((_, last)))
                    if of_files == bytes && files == self.copying.files =>
                {
                    self.complete(at, last, out);
                }
                ((_, files), _) => {
                    let expected = self.copying.files;
                    self.fail(format!("rsync copied {files} files instead of {expected}"), out);
                }
            },
            Said::Ended(_, Err(why)) => self.fail(why, out),
        }
    }
}

/// Whether there is an rsync to run, and why not.
pub(super) fn available() -> Result<(), String> {
    let found = child::command("rsync")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("rsync --version ended with {status}")),
        Err(error) => Err(format!("rsync cannot be started: {error}")),
    }
}

/// The contents of a directory, as rsync names them.
fn contents(directory: &Path) -> std::ffi::OsString {
    let mut path = directory.as_os_str().to_owned();
    path.push("/");
    path
}

/// Reads what rsync prints until it has ended.
fn follow(child: &mut Child, say: &Sender<Said>, clock: &dyn Clock) {
    let errors = child.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut errors) = errors {
            let _ = errors.by_ref().take(MOST_WORDS).read_to_end(&mut text);
            // What is too much is read all the same: rsync would wait.
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    });
    let mut total = None;
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let Ok(line) = line else { break };
        if let Some(bytes) = copied(&line) {
            let _ = say.send(Said::Copied(clock.now(), bytes));
        }
        total = total.or(transferred(&line));
    }
    let ended = child.wait();
    let words = errors.join().unwrap_or_default();
    let result = match (ended, total) {
        (Ok(status), Some(total)) if status.success() => Ok(total),
        (Ok(status), None) if status.success() => Err("rsync printed no statistics".to_owned()),
        (Ok(status), _) => Err(format!("rsync ended with {status}: {words}")),
        (Err(error), _) => Err(format!("rsync: {error}")),
    };
    let _ = say.send(Said::Ended(clock.now(), result));
}

/// The length of a regular file that a line says is copied: `>f+++++++++ 1234`.
fn copied(line: &str) -> Option<u64> {
    let (what, bytes) = line.split_once(' ')?;
    let is_copied = what.starts_with(">f") || what.starts_with("<f");
    is_copied.then(|| bytes.parse().ok())?
}

/// Bytes of the files that were copied, in the line of the statistics that says so.
fn transferred(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Total transferred file size: ")?;
    rest.split(' ').next()?.replace(',', "").parse().ok()
}

impl Lane for RsyncLane {
    fn submit(&mut self, tag: Tag, _op: &Op, issued: Nanos) -> Result<(), Full> {
        if self.waiting.len() == self.depth {
            return Err(Full);
        }
        self.waiting.push_back((tag, issued));
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        if self.running.is_none() {
            match self.start() {
                Ok(running) => self.running = Some(running),
                Err(detail) => return Err(LaneDead { kind: ErrorKind::Io, detail }),
            }
        }
        let before = out.len();
        while out.len() == before
            && let Some(running) = &self.running
        {
            let left = until.since(self.clock.now());
            match running.said.recv_timeout(left) {
                Ok(said) => self.take(said, out),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    let detail = "rsync has ended, but files are missing".to_owned();
                    return Err(LaneDead { kind: ErrorKind::Io, detail });
                }
            }
        }
        Ok(())
    }

    fn does(&self, kind: OpKind) -> bool {
        matches!(kind, OpKind::PUT | OpKind::GET)
    }

    fn helper_cpu(&self) -> Duration {
        cpu::of_children()
    }
}

impl Drop for RsyncLane {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let Some(reader) = running.reader.take() else { return };
        let waited = self.clock.now() + PATIENCE;
        // Asked first, so that it removes the file that it is at.
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            if !reader.is_finished() {
                let _ = killpg(running.group, signal);
            }
            while !reader.is_finished() && self.clock.now() < waited {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = reader.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_rsync_are_read() {
        assert_eq!(copied(">f+++++++++ 928670754"), Some(928_670_754));
        assert_eq!(copied(">f..t...... 0"), Some(0));
        for line in ["cd+++++++++ 4096", ".d..t...... 4096", ">f+++++++++", ">f+++++++++ x", ""] {
            assert_eq!(copied(line), None, "{line}");
        }
        let total = "Total transferred file size: 13,001,825 bytes";
        assert_eq!(transferred(total), Some(13_001_825));
        assert_eq!(transferred("Total transferred file size: 0 bytes"), Some(0));
        for line in ["Total file size: 13 bytes", "Total transferred file size: many bytes"] {
            assert_eq!(transferred(line), None, "{line}");
        }
    }
}
