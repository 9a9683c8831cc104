//! A table of the answer, and the columns that explain its rows: the bottlenecks, and where the bytes were.

use super::compact;
use super::fit::{broken, fits_a_screen, is_narrow};
use crate::chart::Table;
use crate::study::bottleneck::{self, Notes, Room};
use crate::study::{Shown, stored};
use crate::text::listed;
use plimsoll_model::Cell;

pub(super) const NOTHING: &str = "–";
/// Begin of the headings of latencies, which are the last columns of a table of levels.
pub(super) const LATENCY: &str = "latency\n";

/// A table of the answer, with the cells that each row is about.
pub(super) struct Rows {
    pub(super) table: Table,
    cells: Vec<Vec<Cell>>,
    /// Whether figures stay beside each other, so that bottlenecks without room for a column stand below the table.
    pub(super) keeps_columns: bool,
    /// Those bottlenecks, in sentences.
    pub(super) below: Vec<String>,
    /// The same table with fewer lines, the fewest last, if a row takes several.
    pub(super) compact: Vec<Table>,
}

impl Rows {
    pub(super) fn new(header: Vec<String>) -> Rows {
        let table = Table::new(header);
        Rows {
            table,
            cells: Vec::new(),
            keeps_columns: false,
            below: Vec::new(),
            compact: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, row: Vec<String>, cells: Vec<Cell>) {
        self.table.rows.push(row);
        self.cells.push(cells);
    }

    /// Adds the columns of bottlenecks and of where the bytes were, as far as they have room, each cell by its name where
    /// they differ, and the reasons below the table. Says which of them the table has.
    pub(super) fn explain(
        &mut self,
        shown: &Shown<'_>,
        name: &dyn Fn(Cell) -> String,
        notes: &mut Notes,
    ) -> Explained {
        // Other tools report neither loads of hosts nor caches.
        if shown.findings.imported {
            return Explained::default();
        }
        let stored = self.cells.iter().map(|cells| stored::words(shown, cells, name));
        let stored: Vec<Option<String>> = stored.collect();
        // A sentence takes fewer lines than rows of two.
        let are_stored = stored.iter().any(Option::is_some)
            && !stored.iter().flatten().any(|words| words.contains('\n'))
            && !stored.iter().flatten().all(|words| words == stored::UNKNOWN);
        // Without room for names, those of several are in the order of the columns; and latencies stand with the details.
        let all = self.table.header.len();
        let latencies = self.table.header.iter().filter(|name| name.starts_with(LATENCY)).count();
        let mut attempts = vec![(Room::Names, are_stored, all)];
        for room in [Room::Names, Room::Order, Room::Line] {
            attempts.extend((0..=latencies).map(|less| (room, false, all - less)));
        }
        let last = attempts.len() - 1;
        for (number, (room, with_stored, columns)) in attempts.into_iter().enumerate() {
            let mut own = notes.clone();
            let mut words =
                |cells: &Vec<Cell>| bottleneck::words(shown, cells, name, room, &mut own);
            let limits: Vec<Option<String>> = self.cells.iter().map(&mut words).collect();
            let limited = limits.iter().any(Option::is_some);
            let mut table = self.table.clone();
            table.header.truncate(columns);
            table.rows.iter_mut().for_each(|row| row.truncate(columns));
            if limited {
                let is_by_column = room != Room::Names
                    && limits.iter().flatten().any(|words| words.contains('\n'));
                let heading = if is_by_column { "bottleneck,\nby column" } else { "bottleneck" };
                add_column(&mut table, heading, &limits);
            }
            if with_stored {
                add_column(&mut table, compact::DATA, &stored);
            }
            let fits = if with_stored { is_narrow(&table) } else { fits_a_screen(&mut table) };
            if limited && !fits && number == last {
                if self.keeps_columns {
                    self.below = self.in_sentences(shown, name, notes);
                    return Explained { limited, stored: false };
                }
                broken(&mut table);
            }
            // Every table has the bottlenecks, however wide it is.
            if (limited || with_stored) && (fits || limited && number == last) {
                let in_lines =
                    limited && table.rows.iter().flatten().any(|cell| cell.contains('\n'));
                let of_data = with_stored.then_some(stored.as_slice());
                if in_lines {
                    self.compact =
                        compact::tables(shown, &self.table, &self.cells, of_data, &mut own);
                }
                (self.table, *notes) = (table, own);
                return Explained { limited, stored: with_stored };
            }
        }
        Explained::default()
    }

    /// The bottlenecks, those of rows that share them once.
    fn in_sentences(
        &self,
        shown: &Shown<'_>,
        name: &dyn Fn(Cell) -> String,
        notes: &mut Notes,
    ) -> Vec<String> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for (row, cells) in self.table.rows.iter().zip(&self.cells) {
            let words = bottleneck::words(shown, cells, name, Room::Names, notes);
            let (Some(words), Some(work)) = (words, row.first()) else { continue };
            let words = words.replace("\nor ", " or ").replace('\n', "; ");
            match found.iter_mut().find(|(known, _)| *known == words) {
                Some((_, works)) => works.push(work.clone()),
                None => found.push((words, vec![work.clone()])),
            }
        }
        let sentence = |(words, works): (String, Vec<String>)| match works.len() {
            all if all == self.table.rows.len() => format!("Bottleneck: {words}."),
            _ => format!("Bottleneck of {}: {words}.", listed(&works)),
        };
        found.into_iter().map(sentence).collect()
    }
}

/// What a table of the answer has of each row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Explained {
    /// Its bottleneck.
    pub(super) limited: bool,
    /// Where its bytes were.
    pub(super) stored: bool,
}

pub(super) fn add_column(table: &mut Table, heading: &str, cells: &[Option<String>]) {
    table.header.push(heading.to_owned());
    for (row, words) in table.rows.iter_mut().zip(cells) {
        row.push(words.clone().unwrap_or_else(|| NOTHING.to_owned()));
    }
}
