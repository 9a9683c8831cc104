//! Files are closed whatever comes of the work with them; and names are what can be used.

use super::*;
use plimsoll_model::Deadline;
use plimsoll_transport::Channel;

/// A server with one file: what its calls are refused with, and how often it was closed.
struct OneFile {
    read: Option<Error>,
    close: Option<Error>,
    closed: u32,
}

/// What reading a file does not call.
fn never() -> ! {
    panic!("a file is opened, read and closed");
}

impl Calls for OneFile {
    type Handle = u8;
    type File = u8;
    const KEEPS_FILES_OPEN: bool = true;

    fn open(&mut self, _: u8, _: Name<'_>) -> Result<(u8, About), Error> {
        Ok((1, About::default()))
    }
    fn read(&mut self, _: &u8, _: u64, _: u32) -> Result<(Vec<u8>, bool), Error> {
        self.read.clone().map_or(Ok((b"read".to_vec(), true)), Err)
    }
    fn close(&mut self, _: &u8) -> Result<(), Error> {
        self.closed += 1;
        self.close.clone().map_or(Ok(()), Err)
    }

    fn channel(&self) -> &Channel {
        never()
    }
    fn set_deadline(&mut self, _: Deadline) {}
    fn null(&mut self) -> Result<(), Error> {
        Ok(())
    }
    fn attributes(&mut self, _: u8) -> Result<About, Error> {
        never()
    }
    fn lookup(&mut self, _: u8, _: Name<'_>) -> Result<(u8, About), Error> {
        never()
    }
    fn list(&mut self, _: u8) -> Result<Vec<DirectoryEntry>, Error> {
        never()
    }
    fn make_directory(&mut self, _: u8, _: Name<'_>) -> Result<u8, Error> {
        never()
    }
    fn remove_directory(&mut self, _: u8, _: Name<'_>) -> Result<(), Error> {
        never()
    }
    fn remove_file(&mut self, _: u8, _: Name<'_>) -> Result<(), Error> {
        never()
    }
    fn create(&mut self, _: u8, _: Name<'_>) -> Result<u8, Error> {
        never()
    }
    fn open_to_write(&mut self, _: u8, _: Name<'_>) -> Result<(u8, About), Error> {
        never()
    }
    fn write(&mut self, _: &u8, _: u64, _: &[u8]) -> Result<u32, Error> {
        never()
    }
    fn set_size(&mut self, _: &u8, _: u64) -> Result<(), Error> {
        never()
    }
    fn space(&mut self, _: u8) -> Result<Space, Error> {
        never()
    }
    fn tell_oddities(&mut self, _: &Site) {}
}

/// A server that still had it open would hold it against others.
#[test]
fn a_file_is_closed_whatever_comes_of_reading_it_and_the_first_error_counts() {
    let (lost, empty) = (Some(Error::DataLost), Some(Error::EmptyFragments));
    for (read, close, expected) in [
        (None, None, Ok(4)),
        (lost.clone(), None, Err(lost.clone())),
        (None, empty.clone(), Err(empty.clone())),
        (lost.clone(), empty, Err(lost)),
    ] {
        let mut calls = OneFile { read, close, closed: 0 };
        let held = Directories::new(0);
        let mut names = Names { calls: &mut calls, held: &held, again: false };
        let told = names.read_part("f", 0, 10).map(|bytes| bytes.len());
        let told = told.map_err(|trouble| match trouble {
            Trouble::Nfs(error) => Some(error),
            _ => None,
        });
        assert_eq!((told, calls.closed), (expected, 1));
    }
}

#[test]
fn strange_names_are_nobodys() {
    let directory = Some(FileType::Directory);
    for bad in [&b"../x"[..], b"a/b", b"\xff\xfe", b"", b"a\0"] {
        let entry = entry(&DirectoryEntry { name: bad.to_vec(), kind: directory });
        assert_eq!(entry.kind, EntryKind::Other);
        assert!(!entry.name.contains(['/', '\0']), "{entry:?}");
    }
    let good = entry(&DirectoryEntry { name: "Übung 1".into(), kind: directory });
    assert_eq!(good, Entry { name: "Übung 1".into(), kind: EntryKind::Directory });
    let link = DirectoryEntry { name: b"l".to_vec(), kind: Some(FileType::Link) };
    assert_eq!(entry(&link).kind, EntryKind::Other);
}
