//! Files that users write in TOML, such as labs and plans: what is wrong in one is reported with file,
//! line and the nearest good word.
#![forbid(unsafe_code)]

use plimsoll_model::{Cause, Failure};
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Such a file is a page of text; what is longer is something else.
pub const LONGEST_FILE: usize = 256 << 10;

/// Something that is written well but makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: keys from the top, an item of a list as its number.
    pub at: Vec<String>,
    /// What is wrong with it.
    pub happened: String,
    /// What to write instead.
    pub next: String,
}

impl Problem {
    /// What is wrong there, and what to write instead.
    pub fn new<S: AsRef<str>>(
        at: &[S],
        happened: impl Into<String>,
        next: impl Into<String>,
    ) -> Problem {
        let at = at.iter().map(|key| key.as_ref().to_owned()).collect();
        Problem { at, happened: happened.into(), next: next.into() }
    }
}

/// The text of such a file.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// What it says.
    pub text: &'a str,
    /// Its name for the reader.
    pub source: &'a str,
    /// What it is: "lab file".
    pub what: &'a str,
    /// The page with an example: "docs/lab.md".
    pub page: &'a str,
}

impl File<'_> {
    /// Reads it.
    ///
    /// # Errors
    /// [`Cause::Usage`], on `source:line`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        if self.text.len() > LONGEST_FILE {
            let length = self.text.len();
            let happened =
                format!("it has {length} bytes, but a {} has at most {LONGEST_FILE}", self.what);
            return Err(self.usage(None, &happened, &format!("Name a {}.", self.what)));
        }
        toml::from_str(self.text).map_err(|error| {
            let line = error.span().map(|span| line_of(self.text, &span));
            let (happened, next) = self.reworded(error.message());
            self.usage(line, &happened, &next)
        })
    }

    /// The failure of a problem, on `source:line`.
    pub fn failure(&self, problem: &Problem) -> Failure {
        self.usage(self.line(&problem.at), &problem.happened, &problem.next)
    }

    /// The line, from 1, of the value at these keys, or of the innermost part of them that is there.
    pub fn line<S: AsRef<str>>(&self, at: &[S]) -> Option<usize> {
        place(self.text, at).map(|span| line_of(self.text, &span))
    }

    fn usage(&self, line: Option<usize>, happened: &str, next: &str) -> Failure {
        let on = match line {
            Some(line) => format!("{}:{line}", self.source),
            None => self.source.to_owned(),
        };
        Failure::new(Cause::Usage, format!("read the {}", self.what))
            .on(on)
            .happened(happened)
            .next(next)
    }

    /// What the parser says in the words of a user, and what to do. Where it names what it expected,
    /// in backquotes after what it found, the nearest of that is proposed.
    fn reworded(&self, message: &str) -> (String, String) {
        let message = message.replace("unknown field", "unknown key").replace("variant", "word");
        let message = message.replace("missing field", "missing key");
        let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let Some((found, good)) = words.split_first().filter(|(_, good)| !good.is_empty()) else {
            return (message, format!("{} has an annotated example.", self.page));
        };
        let happened = message.split(", expected").next().unwrap_or(&message).to_owned();
        (happened, nearest(found, good))
    }
}

/// The line, from 1, on which a span begins.
fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where in the text the value at these keys stands, or the innermost part of them that is there.
fn place<S: AsRef<str>>(text: &str, keys: &[S]) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let (first, rest) = keys.split_first()?;
    let (key, mut value) = table.get_key_value(first.as_ref())?;
    let mut found = key.span();
    for key in rest {
        match value.get_ref() {
            DeValue::Table(table) => {
                let Some((key, inner)) = table.get_key_value(key.as_ref()) else { break };
                (found, value) = (key.span(), inner);
            }
            DeValue::Array(items) => {
                let item = key.as_ref().parse().ok().and_then(|number: usize| items.get(number));
                let Some(item) = item else { break };
                (found, value) = (item.span(), item);
            }
            _ => break,
        }
    }
    Some(found)
}

/// The nearest of the good words, if it is near.
pub fn nearest_word<'a, S: AsRef<str>>(found: &str, good: &'a [S]) -> Option<&'a str> {
    let distance = |word: &&str| strsim::damerau_levenshtein(found, word);
    let near = good.iter().map(AsRef::as_ref).min_by_key(distance);
    near.filter(|word| distance(word) <= word.len().max(3) / 2)
}

/// Proposes the nearest of the good words, and names them all.
pub fn nearest<S: AsRef<str>>(found: &str, good: &[S]) -> String {
    let all: Vec<&str> = good.iter().map(AsRef::as_ref).collect();
    match nearest_word(found, good) {
        Some(word) => format!("Did you mean `{word}`? Valid here: {}.", all.join(", ")),
        None if all.is_empty() => "None exists.".to_owned(),
        None => format!("Valid here: {}.", all.join(", ")),
    }
}
