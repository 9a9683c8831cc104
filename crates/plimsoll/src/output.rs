//! Standard output and error, and files. A reader that goes away is no error of ours.
//!
//! All that the program says for people leaves it here, and here it is escaped: what steers a
//! terminal never gets there, wherever it came from. What [`write()`] and [`NewFile`] write was
//! escaped by its format.

use crate::arguments::{DocumentArguments, DocumentFormat, FormatArguments};
use plimsoll_live::Paced;
use plimsoll_model::{Cause, Failure, printable, printable_lines};
use plimsoll_record::open_regular;
use plimsoll_report::Document;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, IsTerminal, Read, Write, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Prints to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    put(&plimsoll_report::for_terminal(text, style().colour))
}

fn put(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Cause::Trial, "print the result").on("standard output").happened(e))
        }
        _ => Ok(()),
    }
}

/// Prints a line, or several, to standard error, whatever becomes of it.
pub fn complain(line: &str) {
    let _ = writeln!(stderr().lock(), "{}", printable_lines(line));
}

/// Whether somebody at the terminal can be asked.
pub fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks a question at the terminal; whether the answer is yes.
pub fn agrees(question: &str) -> bool {
    complain(question);
    let mut answer = String::new();
    stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// The same for panics, which can have anything in their message.
pub fn complain_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let trace = Backtrace::capture();
        complain(&match trace.status() {
            BacktraceStatus::Captured => format!("{panic}\n{trace}"),
            _ => panic.to_string(),
        });
    }));
}

/// What a command in a lab said, as it is: its terminal is this one.
pub fn complain_bytes(bytes: &[u8]) {
    let _ = stderr().lock().write_all(bytes);
}

/// A file of text that is no longer than so many bytes.
pub fn read_text(path: &Path, longest: usize) -> Result<String, String> {
    let mut text = String::new();
    let limit = longest as u64 + 1;
    let read = open_regular(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| error.to_string())
}

/// One line on the terminal that says what is being done, and is gone afterwards; without a
/// terminal a line from time to time.
pub struct Progress {
    shown: Shown,
}

enum Shown {
    Never,
    Line,
    Paced(RefCell<Paced>),
}

impl Progress {
    /// Shown on a terminal, unless this is to be quiet.
    pub fn new(quiet: bool) -> Progress {
        let shown = match (quiet, stderr().is_terminal()) {
            (true, _) => Shown::Never,
            (false, true) => Shown::Line,
            (false, false) => Shown::Paced(RefCell::new(Paced::from(Instant::now()))),
        };
        Progress { shown }
    }

    /// Says it instead of what was said before.
    pub fn show(&self, what: &str) {
        match &self.shown {
            Shown::Line => {
                let what: String = printable(what).chars().take(72).collect();
                let _ = write!(stderr().lock(), "\r\u{1b}[K{what}");
            }
            Shown::Paced(paced)
                if !what.is_empty() && paced.borrow_mut().is_due(Instant::now()) =>
            {
                complain(&printable(what));
            }
            Shown::Paced(_) | Shown::Never => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("");
    }
}

/// How standard output should look.
pub fn style() -> plimsoll_report::Style {
    let terminal = stdout().is_terminal();
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let width = columns.filter(|c| terminal && *c >= 40).unwrap_or(100);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    plimsoll_report::Style { width, colour: terminal && !plain }
}

/// Writes to a file, or to standard output for '-'.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return put(text);
    }
    std::fs::write(path, text).map_err(|e| cannot_write(path, &e))
}

/// A text that is written in parts to a file, or to standard output for '-'. The file is made with the first
/// part.
pub struct Parts<'a> {
    path: &'a Path,
    to: Option<Box<dyn Write>>,
    /// Whether the reader of standard output has gone away.
    unread: bool,
}

impl<'a> Parts<'a> {
    /// None yet.
    pub fn new(path: &'a Path) -> Self {
        Parts { path, to: None, unread: false }
    }

    /// Writes the next one.
    pub fn write(&mut self, part: &str) -> Result<(), Failure> {
        let to = match self.to.take() {
            Some(to) => to,
            None if self.path == Path::new("-") => Box::new(BufWriter::new(stdout())),
            None => {
                let made = File::create(self.path).map_err(|e| cannot_write(self.path, &e))?;
                Box::new(BufWriter::new(made)) as Box<dyn Write>
            }
        };
        let to = self.to.insert(to);
        if self.unread {
            return Ok(());
        }
        let written = to.write_all(part.as_bytes());
        self.done(written)
    }

    /// Writes out what is still in memory.
    pub fn end(mut self) -> Result<(), Failure> {
        let flushed = self.to.as_mut().filter(|_| !self.unread).map_or(Ok(()), |to| to.flush());
        self.done(flushed)
    }

    fn done(&mut self, written: std::io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.unread = true,
            Err(e) => return Err(cannot_write(self.path, &e)),
            Ok(()) => {}
        }
        Ok(())
    }
}

/// Writes a document as the arguments ask.
pub fn document(document: &Document, how: &DocumentArguments) -> Result<u8, Failure> {
    formatted(document, how.details, &how.format)
}

/// The same, with its details in text or without.
pub fn formatted(document: &Document, details: bool, how: &FormatArguments) -> Result<u8, Failure> {
    let text = match how.format {
        Some(DocumentFormat::Html) => document.html(),
        Some(DocumentFormat::Markdown) => document.markdown(None),
        Some(DocumentFormat::Tables) => document.csv(),
        None => {
            let style = style();
            let text = if details { document.text(&style) } else { document.screen(&style) };
            match &how.output {
                Some(path) => write(path, &plimsoll_report::for_terminal(&text, false))?,
                None => print(&text)?,
            }
            return Ok(0);
        }
    };
    write(how.output.as_deref().unwrap_or(Path::new("-")), &text)?;
    Ok(0)
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
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                Err(Failure::new(Cause::Usage, "write the output")
                    .on(path.display())
                    .happened("the file exists")
                    .next("Name another file, or overwrite this one with --force."))
            }
            Err(e) => Err(cannot_write(&path, &e)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is standard output.
    pub fn is_standard_output(&self) -> bool {
        self.file.is_none()
    }

    /// Writes the text, instead of what was there.
    pub fn write(mut self, text: &str) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return put(text) };
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
    Failure::new(Cause::Usage, "write the output")
        .on(path.display())
        .happened(error)
        .next("Name a file in an existing directory to which you may write.")
}
