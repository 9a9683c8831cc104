//! What a machine writes to its console, which is kept in a file. Untrusted, and only shown.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes at its end that are looked at.
const TAIL: u64 = 16 << 10;

/// Lines that are shown.
const LINES: usize = 12;

/// What the start script in the image says when it is done.
const UP: &str = "plimsoll: the machine is up";

/// Signs that a machine will not come up, and what they mean.
const GAVE_UP: [(&str, &str); 3] = [
    ("Kernel panic", "its kernel panicked"),
    ("System is deadlocked on memory", "it has too little memory"),
    ("plimsoll: there is no root", "its image is damaged"),
];

/// The file that a machine's console goes to.
pub fn console(directory: &Path, machine: &str) -> PathBuf {
    directory.join(format!("{machine}.console"))
}

/// Whether it says that it is up.
pub(super) fn is_up(directory: &Path, machine: &str) -> bool {
    tail(directory, machine).contains(UP)
}

/// Why it will not come up, if it says so.
pub(super) fn gave_up(directory: &Path, machine: &str) -> Option<&'static str> {
    let said = tail(directory, machine);
    GAVE_UP.iter().find(|(sign, _)| said.contains(sign)).map(|(_, meaning)| *meaning)
}

/// Its last lines, without control characters.
pub(super) fn last_lines(directory: &Path, machine: &str) -> String {
    let said = tail(directory, machine);
    let lines: Vec<_> = said.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(LINES);
    if lines.is_empty() { "    (nothing)".to_owned() } else { lines[from..].join("\n") }
}

fn plain(line: &str) -> String {
    let shown: String = line.chars().filter(|c| !c.is_control()).take(160).collect();
    let shown = shown.trim_end();
    if shown.is_empty() { String::new() } else { format!("    {shown}") }
}

/// Empties it. QEMU appends to the file.
pub(super) fn forget(directory: &Path, machine: &str) -> io::Result<()> {
    File::options().write(true).open(console(directory, machine))?.set_len(0)
}

fn tail(directory: &Path, machine: &str) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(console(directory, machine))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
