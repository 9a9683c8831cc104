//! What the first stage printed of its records, and whether what is printed now has every figure
//! of it where it belongs. Layout, wording and further figures are free.

use super::Plimsoll;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const UNITS: [&str; 20] = [
    "k", "M", "G", "ns", "µs", "ms", "s", "B", "B/s", "kB/s", "MB/s", "GB/s", "MB", "GB", "KiB",
    "MiB", "GiB", "MHz", "s/100k", "s/GB",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/first_stage")
}

/// What the first stage wrote into this file.
pub fn text(file: &str) -> String {
    let path = directory().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The same as its last version printed it: some figures of CPU time are printed otherwise since.
pub fn latest(file: &str) -> String {
    let since = directory().join("since").join(file);
    std::fs::read_to_string(since).unwrap_or_else(|_| text(file))
}

/// Makes this the latest output if PLIMSOLL_BLESS is set: for changes of layout and wording, to be read in the diff.
pub fn bless(file: &str, now: &str) {
    if std::env::var_os("PLIMSOLL_BLESS").is_some() && !missing(&latest(file), now).is_empty() {
        std::fs::write(directory().join("since").join(file), now).expect("the latest output");
    }
}

/// The program with a copy of the first stage's store.
pub fn program() -> Plimsoll {
    let program = Plimsoll::new();
    std::fs::copy(directory().join("studies.db"), program.db()).expect("a copy of the store");
    program
}

/// Name and id of each record.
pub fn records() -> BTreeMap<String, String> {
    let list = text("records.txt");
    let pairs = list.lines().map(|line| line.split_once(' ').expect("id and name"));
    pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

/// Figures with their units, and how often each is there.
type Figures = BTreeMap<String, usize>;

/// Words that begin with a digit; the parts of an interval are apart.
fn figures(text: &str) -> Figures {
    let text = text.replace('\\', "");
    let bare = |word: &str| word.trim_matches(|c| "[](),;:.|*".contains(c)).to_owned();
    let words: Vec<String> = text.split(['–', ' ', '\n']).map(bare).collect();
    let words: Vec<&String> = words.iter().filter(|word| !word.is_empty()).collect();
    let mut figures = Figures::new();
    for (i, word) in words.iter().enumerate() {
        let digits = word.strip_prefix(['-', '−']).unwrap_or(word);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            let unit = words.get(i + 1).filter(|next| UNITS.contains(&next.as_str()));
            let figure = unit.map_or(word.to_string(), |unit| format!("{word} {unit}"));
            *figures.entry(figure).or_default() += 1;
        }
    }
    figures
}

/// The figures in the rows of all tables by the first cell of their row, and those of all sentences
/// under no name.
fn by_row(text: &str) -> BTreeMap<String, Figures> {
    let mut rows = BTreeMap::<String, String>::new();
    let mut label = String::new();
    for line in text.lines() {
        let row = line.trim();
        let cells = match row.strip_prefix('|') {
            Some(cells) => cells.split_once('|'),
            None => row.split_once("  "),
        };
        // An interval stands below its value; in a sentence a line is indented by less.
        let below = line.starts_with("     ") && row.starts_with('[');
        let (label, cells) = match cells {
            _ if below => (label.clone(), row),
            Some((first, cells)) => {
                label = first.trim().to_owned();
                (label.clone(), cells)
            }
            None => (String::new(), row),
        };
        let cells_of_row = rows.entry(label).or_default();
        cells_of_row.push(' ');
        cells_of_row.push_str(cells);
    }
    rows.into_iter().map(|(label, cells)| (label, figures(&cells))).collect()
}

/// How many figures there are.
pub fn count(text: &str) -> usize {
    by_row(text).values().flat_map(BTreeMap::values).sum()
}

/// The figures that were printed before and are not there now, each with its row.
pub fn missing(before: &str, now: &str) -> Vec<String> {
    let (before, now) = (by_row(before), by_row(now));
    let mut missing = Vec::new();
    for (label, figures) in &before {
        for (figure, times) in figures {
            let there = now.get(label).and_then(|row| row.get(figure)).copied().unwrap_or(0);
            if there < *times {
                missing.push(format!("'{label}': {figure}, {there} of {times} times"));
            }
        }
    }
    missing
}
