//! Tables whose rows take one line each, for screens without room for more.

use super::fit::{COLUMNS, GAP, drawn_width};
use super::rows::{LATENCY, NOTHING, add_column};
use crate::chart::Table;
use crate::study::Shown;
use crate::study::bottleneck::{self, BY_COLUMN, Notes};
use crate::text::{shortened, width};
use plimsoll_model::Cell;

/// Columns of the longest name of work.
const LONGEST: usize = 20;

const BY_COLUMN_HEADING: &str = "bottleneck (by column)";

/// Heading of the source of reads and the state of writes.
pub(super) const DATA: &str = "data";

/// A table with the bottlenecks of the cells that each row is about, and perhaps with `data`: with one line a row where
/// that holds all of them, and the same with one line for each row.
pub(super) fn tables(
    shown: &Shown<'_>,
    base: &Table,
    cells: &[Vec<Cell>],
    data: Option<&[Option<String>]>,
    notes: &mut Notes,
) -> Vec<Table> {
    let of_data = data.unwrap_or_default().iter().flatten().map(|words| width(words) + GAP).max();
    let bottlenecks: Vec<Vec<String>> =
        cells.iter().map(|cells| bottleneck::lines(shown, cells, notes)).collect();
    let mut variants = vec![in_lines(base)];
    while let Some(shorter) = variants.last().and_then(without_last_latency) {
        variants.push(shorter);
    }
    variants.extend(variants.last().map(with_units_once));
    let room = |table: &Table| {
        COLUMNS.saturating_sub(drawn_width(table) + GAP + of_data.unwrap_or_default())
    };
    let holds = |table: &&Table| {
        let longest = bottlenecks.iter().filter_map(|words| words.first());
        longest.map(|words| width(words)).all(|columns| columns <= room(table))
    };
    let chosen = variants.iter().find(holds).or(variants.last()).unwrap_or(base);
    let room = room(chosen);
    let with = |words: Vec<String>| {
        let mut table = chosen.clone();
        // Lines of a cell are in the order of the columns, too.
        let by_column = words.iter().any(|words| words.contains(BY_COLUMN) || words.contains('\n'));
        let heading = match by_column {
            true if width(BY_COLUMN_HEADING) <= room => BY_COLUMN_HEADING,
            true => "bottleneck by column",
            false => "bottleneck",
        };
        table.header.push(heading.to_owned());
        table.rows.iter_mut().zip(words).for_each(|(row, word)| row.push(word));
        if let Some(data) = data {
            add_column(&mut table, DATA, data);
        }
        table
    };
    let in_one_line = |words: &Vec<String>| {
        let fitting = words.iter().find(|word| width(word) <= room).or(words.last());
        fitting.cloned().unwrap_or_else(|| NOTHING.to_owned())
    };
    let in_lines = |words: &Vec<String>| {
        let fits = |word: &&String| word.split(BY_COLUMN).all(|part| width(part) <= room);
        let words_of_all = words.len().saturating_sub(1);
        let fitting = words.iter().take(words_of_all).find(fits);
        match fitting.filter(|word| width(word) > room) {
            Some(word) => word.replace(BY_COLUMN, "\n"),
            None => in_one_line(words),
        }
    };
    let [whole, brief] = [
        bottlenecks.iter().map(in_lines).collect::<Vec<_>>(),
        bottlenecks.iter().map(in_one_line).collect(),
    ];
    match whole == brief {
        true => vec![with(brief)],
        false => vec![with(whole), with(brief)],
    }
}

/// The same with short names and verdicts.
fn in_lines(base: &Table) -> Table {
    let mut table = base.clone();
    for heading in &mut table.header {
        *heading = heading.replace("verdict (", "faster (");
    }
    for row in &mut table.rows {
        for (column, cell) in row.iter_mut().enumerate() {
            // Of a verdict in two lines the second has the blocks.
            let first = cell.lines().next().unwrap_or_default().trim_end_matches(':');
            *cell = match column {
                0 => shortened(&short_work(&cell.replace('\n', " ")), LONGEST),
                _ => first.replace(" faster: ≥", " ≥"),
            };
        }
    }
    table
}

/// The name of work with abbreviations where it is too long: "seq. read at 32/s".
fn short_work(name: &str) -> String {
    match width(name) > LONGEST {
        true => name.replace("sequential ", "seq. "),
        false => name.to_owned(),
    }
}

/// The same without the last column, if that has latencies.
fn without_last_latency(table: &Table) -> Option<Table> {
    let columns = table.header.len() - 1;
    table.header.last().filter(|heading| heading.starts_with(LATENCY))?;
    let mut table = table.clone();
    table.header.truncate(columns);
    table.rows.iter_mut().for_each(|row| row.truncate(columns));
    Some(table)
}

/// A figure that has the unit of the one to its right stands without it.
fn with_units_once(table: &Table) -> Table {
    let unit = |cell: &str| {
        let (value, unit) = cell.split_once(' ')?;
        let is_figure = value.starts_with(|c: char| c.is_ascii_digit());
        is_figure.then(|| (value.to_owned(), unit.trim_end_matches('*').to_owned()))
    };
    let mut table = table.clone();
    for row in &mut table.rows {
        for column in 1..row.len().saturating_sub(1) {
            let Some((value, own)) = unit(&row[column]) else { continue };
            if unit(&row[column + 1]).is_some_and(|(_, other)| other == own) {
                let mark = if row[column].ends_with('*') { "*" } else { "" };
                row[column] = value + mark;
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(header: &[&str], rows: &[&[&str]]) -> Table {
        let mut table = Table::new(header.iter().map(|name| (*name).to_owned()).collect());
        table.rows.extend(rows.iter().map(|row| row.iter().map(|c| (*c).to_owned()).collect()));
        table
    }

    #[test]
    fn rows_take_one_line() {
        let table = table(
            &["work", "as rsync", "pipelined", "verdict (95%)"],
            &[
                &[
                    "movies of a long holiday up",
                    "48.5 MB/s",
                    "49.1 MB/s*",
                    "pipelined faster: ≥ 27%",
                ],
                &["update", "15.2 ms", "0.900 s", "inconclusive:\nrsync 1.1–1.3x in 2 of 2"],
            ],
        );
        let once = with_units_once(&in_lines(&table));
        assert_eq!(once.header[3], "faster (95%)");
        assert_eq!(once.rows[0], ["movies of..oliday up", "48.5", "49.1 MB/s*", "pipelined ≥ 27%"]);
        assert_eq!(once.rows[1], ["update", "15.2 ms", "0.900 s", "inconclusive"]);
    }

    #[test]
    fn long_names_of_work_are_abbreviated_before_they_are_cut() {
        assert_eq!(short_work("sequential write"), "sequential write");
        assert_eq!(short_work("sequential read at 32/s"), "seq. read at 32/s");
    }

    #[test]
    fn latencies_go_from_the_right() {
        let table = table(&["work", "speed", "latency\np50"], &[&["read", "1 MB/s", "1 ms"]]);
        let less = without_last_latency(&table).unwrap();
        assert_eq!((less.header.len(), less.rows[0].len()), (2, 2));
        assert!(without_last_latency(&less).is_none());
    }
}
