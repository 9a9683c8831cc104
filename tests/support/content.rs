//! What the program writes, as another client has read it.

use super::sound::assert_incompressible;
use super::{Plimsoll, ended, read_files, wait_until};
use plimsoll_load::{Content, FileId, Span};
use std::path::Path;

/// Fails unless these are the bytes of a whole test file of the run in this directory. A page begins with whose
/// it is: study (8 bytes), file, generation (4 each).
#[track_caller]
pub fn assert_own_content(bytes: &[u8], directory: &str) {
    let number = |at| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a page"));
    let study = u64::from(number(0)) | u64::from(number(4)) << 32;
    let name = format!(".plimsoll-{:08x}-", number(0));
    assert!(directory.starts_with(&name), "{directory} holds what belongs to {name}");
    let (file, generation, length) = (FileId(number(8)), number(12), bytes.len() as u32);
    let whole = Span { file, offset: 0, length, generation };
    let same = Content::new(study).writer(length).fill(&whole) == bytes;
    assert!(same, "{file:?} of {directory}: other bytes");
}

/// Checks a share, and has another client `read` one of the files that were created, by its path on the share: it
/// gets the bytes that are on the server's disk.
#[track_caller]
pub fn assert_same_for_another_client(
    program: &Plimsoll,
    url: &str,
    disk: &Path,
    read: impl FnOnce(&str) -> Vec<u8>,
) {
    const SIZE: u64 = 16 << 20;
    let options = ["--pattern=sequential-read", "--size=16MiB", "--repeats=1", "--time=5s", "-q"];
    let child = program.start(&[&["check", url], &options[..]].concat());
    wait_until("the files are created", || read_files(disk, SIZE).is_some());
    let file = read_files(disk, SIZE).expect("files").swap_remove(3);
    let path = file.strip_prefix(disk).expect("a file of the share");
    let read = read(path.to_str().expect("letters"));
    let on_disk = std::fs::read(&file).expect("a file");
    ended(child).expect(0);
    assert_eq!(read.len() as u64, SIZE / 8);
    assert!(read == on_disk, "another client reads other bytes than the server's disk has");
    assert_incompressible(&on_disk);
}
