//! A disk that others fill while the program copies to it.

use super::{Plimsoll, ended, has_copy, run_directories, unwrapped, wait_until};
use plimsoll_model::{Cause, Ended};
use std::io::Write;
use std::path::Path;

/// Bytes that a share has which is to fill up.
pub const SMALL: u64 = 48 << 20;

/// Copies new files in each trial, as [`assert_ends`].
#[track_caller]
pub fn assert_copy_ends(program: &Plimsoll, url: &str, disk: &Path, source: &[&str]) {
    let endless = ["--only=up", "--repeats=300", "--baseline=0s"];
    assert_ends(program, &[&["copy", url], source, &endless].concat(), disk);
}

/// Starts a command that copies new files in each trial, as patterns overwrite in place, and fills the disk after
/// plimsoll's look at its free space. The study ends for want of space, and nothing of it is left.
#[track_caller]
pub fn assert_ends(program: &Plimsoll, words: &[&str], disk: &Path) {
    let mut child = program.start(words);
    wait_until("trials run", || run_directories(disk).iter().any(|run| has_copy(run)));
    let filler = disk.join("someone else's");
    // Whatever becomes free is taken at once.
    let mut others = std::fs::File::create(&filler).expect("a file");
    while child.try_wait().expect("a child").is_none() {
        let _ = others.write(&[1u8; 1 << 16]);
    }
    let ran = ended(child).expect(6);
    let Ended::Failed { failure } = program.latest().ended else {
        panic!("{}{}", ran.out, ran.err)
    };
    assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
    let shown = unwrapped(&ran.out);
    assert!(shown.contains(&unwrapped(&failure.happened)), "{failure}\n{shown}");
    assert_eq!(run_directories(disk), Vec::<std::path::PathBuf>::new());
    assert!(filler.exists(), "what others wrote stays");
}

/// The same with one film, as [`assert_copy_ends`].
#[track_caller]
pub fn assert_copy_of_a_film_ends(program: &Plimsoll, url: &str, disk: &Path) {
    let data = tempfile::tempdir().expect("a directory");
    std::fs::write(data.path().join("film"), vec![7; 16 << 20]).expect("a film");
    let data = format!("--data={}", data.path().display());
    assert_copy_ends(program, url, disk, &[&data]);
}
