//! The reading end: follows the feeds of all runs of this user.

use super::{LONGEST_LINE, PREFIX, SUFFIX};
use crate::news::{FORMAT, Header, Notice};
use crate::run::{CELLS, Run, cells};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most feeds that are followed, and most bytes read of one in one look.
const FEEDS: usize = 64;
const ONE_LOOK: u64 = 4 << 20;
/// A file that a dying run left half made is removed when it is older than this.
const HALF_MADE: Duration = Duration::from_secs(60);

/// Follows the feeds in a directory.
pub struct Follower {
    directory: PathBuf,
    feeds: BTreeMap<OsString, Following>,
}

/// One feed.
struct Following {
    file: File,
    inode: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    run: Option<Run>,
    /// Whether it is no feed that this program understands.
    refused: bool,
}

impl Follower {
    /// Follows what is, or will be, in `directory`.
    pub fn new(directory: &Path) -> Follower {
        Follower { directory: directory.to_owned(), feeds: BTreeMap::new() }
    }

    /// Reads what is new; says whether anything was. Feeds of dead processes are removed.
    pub fn look(&mut self) -> bool {
        let mut changed = false;
        let before = self.feeds.len();
        let names = self.names();
        self.feeds.retain(|name, _| names.contains(name));
        changed |= self.feeds.len() != before;
        for name in names {
            let path = self.directory.join(&name);
            let known = self.feeds.get(&name).map(|f| f.inode);
            let found = path.symlink_metadata().map(|m| m.ino()).ok();
            if known.is_none() || known != found {
                changed |= self.feeds.remove(&name).is_some();
                if let Ok(feed) = Following::open(&path) {
                    self.feeds.insert(name.clone(), feed);
                }
            }
            let Some(feed) = self.feeds.get_mut(&name) else { continue };
            if feed.is_stale() {
                changed |= feed.run.is_some();
                remove_if_same(&path, feed.inode);
                self.feeds.remove(&name);
                continue;
            }
            changed |= feed.read();
        }
        changed
    }

    /// The runs under way.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.feeds.values().filter_map(|feed| feed.run.as_ref())
    }

    fn names(&self) -> Vec<OsString> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(text) = name.to_str().filter(|n| n.starts_with(PREFIX)) else { continue };
            if text.ends_with(SUFFIX) && names.len() < FEEDS {
                names.push(name);
            } else if text.ends_with(".new") {
                remove_half_made(&entry.path());
            }
        }
        names
    }
}

impl Following {
    fn open(path: &Path) -> io::Result<Following> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(
                nix::fcntl::OFlag::O_NOFOLLOW.bits() | nix::fcntl::OFlag::O_NONBLOCK.bits(),
            )
            .open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("not a file"));
        }
        Ok(Following { file, inode: found.ino(), rest: Vec::new(), run: None, refused: false })
    }

    /// Whether its writer is gone: a living one holds the lock.
    fn is_stale(&self) -> bool {
        match self.file.try_lock_shared() {
            Ok(()) => {
                let _ = self.file.unlock();
                true
            }
            Err(_) => false,
        }
    }

    /// Reads what was added; says whether anything was.
    fn read(&mut self) -> bool {
        if self.refused {
            return false;
        }
        let mut added = Vec::new();
        if (&self.file).take(ONE_LOOK).read_to_end(&mut added).is_err() || added.is_empty() {
            return false;
        }
        self.take(&mut added);
        true
    }

    /// Takes what was added.
    fn take(&mut self, added: &mut Vec<u8>) {
        self.rest.append(added);
        let whole = self.rest.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            self.line(line);
        }
        self.refused |= self.rest.len() > LONGEST_LINE;
        if self.refused {
            (self.run, self.rest) = (None, Vec::new());
        }
    }

    fn line(&mut self, line: &[u8]) {
        match &mut self.run {
            None => self.run = header(line).map(Run::new),
            Some(run) => {
                // A line that is not understood is of a newer program: the others still hold.
                if let Some(notice) = understood::<Notice>(line) {
                    run.apply(&notice);
                }
            }
        }
        self.refused |= self.run.is_none();
    }
}

/// A run whose feed has these bytes, which come in pieces of a size, for fuzzing.
pub(crate) fn of_bytes(bytes: &[u8], piece: usize) -> Option<Run> {
    let file = File::open("/dev/null").ok()?;
    let mut feed = Following { file, inode: 0, rest: Vec::new(), run: None, refused: false };
    for piece in bytes.chunks(piece.max(1)) {
        if feed.refused {
            break;
        }
        feed.take(&mut piece.to_vec());
    }
    feed.run
}

/// What a line says; `None` where it is not understood. It is read as text, as studies are: that code is
/// compiled already.
fn understood<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

fn header(line: &[u8]) -> Option<Header> {
    let header: Header = understood(line)?;
    (header.format == FORMAT && cells(&header.plan) <= CELLS).then_some(header)
}

/// Removes a stale feed unless another has taken its place meanwhile.
fn remove_if_same(path: &Path, inode: u64) {
    if path.symlink_metadata().is_ok_and(|found| found.ino() == inode) {
        let _ = std::fs::remove_file(path);
    }
}

fn remove_half_made(path: &Path) {
    let made = path.symlink_metadata().and_then(|found| found.modified());
    if made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > HALF_MADE)) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Feed;
    use crate::support::{header, window};
    use std::io::Write;

    fn study(follower: &Follower) -> Vec<String> {
        follower.runs().map(|r| r.header.study.0.clone()).collect()
    }

    #[test]
    fn a_run_appears_moves_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let mut follower = Follower::new(directory.path());
        assert!(!follower.look());
        let feed = Feed::open(directory.path(), &header()).unwrap();
        assert!(follower.look());
        assert_eq!(study(&follower), ["00c0ffee"]);
        assert!(!follower.look(), "nothing is new");
        feed.send(&crate::support::trial(0));
        feed.send(&window(0.1));
        while follower.runs().all(|r| r.now().is_none()) {
            follower.look();
        }
        drop(feed);
        assert!(follower.look());
        assert_eq!(study(&follower), [""; 0]);
    }

    #[test]
    fn what_a_dead_process_left_is_ignored_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-dead.jsonl");
        let text = serde_json::to_string(&header()).unwrap() + "\n";
        std::fs::write(&path, text).unwrap();
        let mut follower = Follower::new(directory.path());
        assert!(!follower.look());
        assert_eq!(study(&follower), [""; 0]);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_that_dies_while_it_is_followed_goes_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-00c0ffee.jsonl");
        let mut file = File::create(&path).unwrap();
        file.lock().unwrap();
        writeln!(file, "{}", serde_json::to_string(&header()).unwrap()).unwrap();
        let mut follower = Follower::new(directory.path());
        assert!(follower.look());
        assert_eq!(study(&follower).len(), 1);
        drop(file);
        assert!(follower.look());
        assert_eq!(study(&follower).len(), 0);
        assert!(!path.exists());
    }

    #[test]
    fn strange_files_are_left_out_without_harm() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mut locked = Vec::new();
        for (name, bytes) in [
            ("run-garbage.jsonl", &b"\xff\x00{}\n[[[[\n"[..]),
            ("run-long.jsonl", &vec![b'x'; 2 * LONGEST_LINE][..]),
            ("run-other.jsonl", &b"{\"format\":\"plimsoll-live/9\"}\n"[..]),
            ("run-empty.jsonl", &b""[..]),
        ] {
            std::fs::write(at(name), bytes).unwrap();
            let file = File::open(at(name)).unwrap();
            file.lock().unwrap();
            locked.push(file);
        }
        std::os::unix::fs::symlink("/etc/passwd", at("run-link.jsonl")).unwrap();
        nix::unistd::mkfifo(&at("run-pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::create_dir(at("run-directory.jsonl")).unwrap();
        std::fs::write(at("notes.txt"), "mine").unwrap();
        let mut follower = Follower::new(directory.path());
        follower.look();
        follower.look();
        assert_eq!(follower.runs().count(), 0);
        assert!(at("notes.txt").exists() && at("run-link.jsonl").exists());
        drop(locked);
    }

    #[test]
    fn half_a_line_waits_for_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = File::create(directory.path().join("run-1.jsonl")).unwrap();
        file.lock().unwrap();
        let text = serde_json::to_string(&header()).unwrap();
        let (begin, end) = text.split_at(text.len() / 2);
        let mut follower = Follower::new(directory.path());
        file.write_all(begin.as_bytes()).unwrap();
        follower.look();
        assert_eq!(follower.runs().count(), 0);
        writeln!(file, "{end}").unwrap();
        follower.look();
        assert_eq!(follower.runs().count(), 1);
        // What is not understood does not hide what is.
        write!(file, "{{\"at_seconds\":1,\"news\":\"singing\"}}\n{{}}\n").unwrap();
        writeln!(file, "{}", serde_json::to_string(&crate::support::trial(3)).unwrap()).unwrap();
        follower.look();
        assert_eq!(follower.runs().next().unwrap().trial.as_ref().unwrap().number, 3);
    }
}
