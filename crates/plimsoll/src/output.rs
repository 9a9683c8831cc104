//! Standard output and error. A reader that goes away is no error of ours.

use model::{Cause, Failure};
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::Path;

/// Prints to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Cause::Trial, "print the result", "standard output", e, ""))
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard error, whatever becomes of it.
pub fn complain(line: &str) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// How standard output should look.
pub fn style() -> report::Style {
    let terminal = stdout().is_terminal();
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let width = columns.filter(|c| terminal && *c >= 40).unwrap_or(100);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    report::Style { width, colour: terminal && !plain }
}

/// Writes to a file, or to standard output for '-'.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print(text);
    }
    std::fs::write(path, text).map_err(|e| cannot_write(path, &e))
}

/// Makes sure that a file can be written before the work starts.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
        .map_err(|e| cannot_write(path, &e))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Cause::Usage,
        "write the output",
        path.display(),
        error,
        "Name a file in a directory that exists and that you may write to.",
    )
}
