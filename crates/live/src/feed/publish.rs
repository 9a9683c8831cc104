//! The writing end: a run's own thread writes its feed.

use super::{PREFIX, SUFFIX};
use crate::news::{Header, News, Notice};
use crate::outlet::{Missed, Outlet};
use plimsoll_model::{Cause, Failure};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

/// Length in bytes at which a feed is replaced by a shorter one: about an hour of windows.
const LONGEST: u64 = 8 << 20;

/// A run's feed. Dropping it removes the file.
pub struct Feed {
    outlet: Option<Outlet>,
    path: PathBuf,
}

impl Feed {
    /// Begins a feed in `directory`.
    pub fn open(directory: &Path, header: &Header) -> Result<Feed, Failure> {
        Feed::with_limit(directory, header, LONGEST)
    }

    fn with_limit(directory: &Path, header: &Header, longest: u64) -> Result<Feed, Failure> {
        let name = format!("{PREFIX}{}{SUFFIX}", header.study);
        let path = directory.join(name);
        let mut paper = Paper {
            path: path.clone(),
            header: line(header),
            lasting: Vec::new(),
            file: None,
            length: 0,
            longest,
        };
        paper.replace().map_err(|e| {
            let next = "plimsoll serve cannot show this run. The measurement is not affected.";
            Failure::new(Cause::Trial, "publish the progress of the run")
                .on(path.display())
                .happened(e)
                .next(next)
        })?;
        let outlet = Outlet::start("feed", move |receiver, missed| paper.write(receiver, &missed));
        Ok(Feed { outlet: Some(outlet), path })
    }

    /// Publishes a piece of news, or leaves it out where the disk is too slow. Never waits.
    pub fn send(&self, notice: &Notice) {
        if let Some(outlet) = &self.outlet {
            outlet.send(notice.clone());
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        drop(self.outlet.take());
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The file, and what a shorter one would say.
struct Paper {
    path: PathBuf,
    header: Vec<u8>,
    /// Lines that a picture of the run cannot do without.
    lasting: Vec<u8>,
    file: Option<File>,
    length: u64,
    longest: u64,
}

impl Paper {
    fn write(mut self, news: Receiver<Notice>, missed: &Missed) {
        let mut known = 0;
        for notice in news {
            let count = missed.count();
            let at_seconds = notice.at_seconds;
            let gap =
                (count > known).then_some(Notice { at_seconds, news: News::Missed { count } });
            known = count;
            // Where the disk is full there is no feed any more, but the run goes on.
            if gap.into_iter().chain([notice]).try_for_each(|notice| self.add(&notice)).is_err() {
                return;
            }
        }
    }

    fn add(&mut self, notice: &Notice) -> io::Result<()> {
        let line = line(notice);
        if !notice.news.is_passing() {
            self.lasting.extend_from_slice(&line);
        }
        if self.length + line.len() as u64 > self.longest.max(2 * self.lasting.len() as u64) {
            return self.replace();
        }
        self.length += line.len() as u64;
        // A whole line in one call: readers see it whole or see that its end is missing.
        self.file.as_ref().map_or(Ok(()), |mut file| file.write_all(&line))
    }

    /// Puts a fresh file, locked and with what lasts in it, in the place of the old one.
    fn replace(&mut self) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let _ = std::fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let written = file
            .lock()
            .and_then(|()| file.write_all(&[&self.header[..], &self.lasting].concat()))
            .and_then(|()| std::fs::rename(&fresh, &self.path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&fresh);
            return Err(error);
        }
        self.length = (self.header.len() + self.lasting.len()) as u64;
        self.file = Some(file);
        Ok(())
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Our own types have no maps with keys that JSON cannot write.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Follower;
    use crate::support::{header, window};

    #[test]
    fn a_long_feed_is_replaced_and_the_reader_follows() {
        let directory = tempfile::tempdir().unwrap();
        let feed = Feed::with_limit(directory.path(), &header(), 3000).unwrap();
        let mut follower = Follower::new(directory.path());
        for number in 0..100 {
            feed.send(&crate::support::trial(number));
            feed.send(&window(f64::from(number)));
        }
        let path = feed.path.clone();
        // What is queued is worked off; the file is removed after.
        let mut last = 0;
        while last < 99 {
            follower.look();
            last =
                follower.runs().filter_map(|r| Some(r.trial.as_ref()?.number)).max().unwrap_or(0);
        }
        assert!(path.metadata().unwrap().len() < 100_000);
        drop(feed);
        assert!(!path.exists());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_place_for_a_feed_is_a_failure_and_no_panic() {
        let nowhere = Path::new("/nowhere/at/all");
        let failure = Feed::open(nowhere, &header()).err().unwrap();
        assert!(failure.happened.contains("No such file"), "{failure}");
    }
}
