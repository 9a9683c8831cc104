//! Standard output and error. A reader that goes away is no error of ours.

use model::{Cause, Failure};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Read, Write, stderr, stdout};
use std::path::{Path, PathBuf};

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

/// The same for what another program said, as it is.
pub fn complain_bytes(bytes: &[u8]) {
    let _ = stderr().lock().write_all(bytes);
}

/// A file of text that is no longer than so many bytes.
pub fn read_text(path: &Path, longest: usize) -> Result<String, String> {
    let mut text = String::new();
    let limit = longest as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| error.to_string())
}

/// One line on the terminal that says what is being done, and is gone afterwards.
pub struct Progress {
    shown: bool,
}

impl Progress {
    /// Shown on a terminal, unless this is to be quiet.
    pub fn new(quiet: bool) -> Progress {
        Progress { shown: !quiet && stderr().is_terminal() }
    }

    /// Says it instead of what was said before.
    pub fn show(&self, what: &str) {
        if self.shown {
            let what: String = report::printable(what).chars().take(72).collect();
            let _ = write!(stderr().lock(), "\r\u{1b}[K{what}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("");
    }
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
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map(drop)
        .map_err(|e| cannot_write(path, &e))
}

/// A file that is opened before the work starts and written when it is done. What is there already
/// is not touched unless that is wanted; what was not written is not left behind.
pub struct NewFile {
    path: PathBuf,
    /// `None`: standard output.
    file: Option<File>,
    /// Whether an empty file has to go if nothing is written.
    made: bool,
}

impl NewFile {
    /// Opens a new file, or standard output for '-'; an existing file only where `replace` is set.
    pub fn create(path: &Path, replace: bool) -> Result<NewFile, Failure> {
        let path = path.to_owned();
        if path == Path::new("-") {
            return Ok(NewFile { path, file: None, made: false });
        }
        let mut open = OpenOptions::new();
        open.write(true);
        let (opened, made) = match open.clone().create_new(true).open(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && replace => (open.open(&path), false),
            opened => (opened, true),
        };
        match opened {
            Ok(file) => Ok(NewFile { path, file: Some(file), made }),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(Failure::new(
                Cause::Usage,
                "write the output",
                path.display(),
                "it is there already",
                "Name another file, or remove it; plimsoll report takes --force to replace it.",
            )),
            Err(e) => Err(cannot_write(&path, &e)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the text, instead of what was there.
    pub fn write(mut self, text: &str) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return print(text) };
        let regular = file.metadata().is_ok_and(|m| m.is_file());
        // A device or a pipe has no length to set.
        let emptied = if regular { file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|e| cannot_write(&self.path, &e))?;
        self.made = false;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
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
