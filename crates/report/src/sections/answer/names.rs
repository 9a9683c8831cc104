//! Names that are short enough for the columns of one screen.

use super::shape::has_columns;
use crate::study::{Shown, speed};
use crate::text::{listed, printable, shortened, width};
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{Cell, Factor, factor};

/// Columns of the longest name that a column has room for.
const LONGEST: usize = 10;

/// Most setups that letters stand for.
const LETTERS: usize = 8;

/// A short name for every subject under every setting.
pub(super) struct Brief {
    names: Vec<((u16, u16), String)>,
    /// What letters, or the names of levels, stand for, where those of settings are too long.
    pub(super) settings: Vec<(String, String)>,
    /// Whether subjects have letters.
    pub(super) has_letters: bool,
}

impl Brief {
    pub(super) fn new(shown: &Shown<'_>) -> Brief {
        let subjects = shown.names.subjects.len();
        let own = |cell: Cell| match shown.names.levels(cell.setting) {
            levels if subjects == 1 && !levels.is_empty() => levels,
            _ => shown.names.setup(cell),
        };
        let all: Vec<(Cell, String)> =
            shown.names.every_setup().map(|cell| (cell, own(cell))).collect();
        let settings = shown.names.settings().len();
        let is_short = all.iter().all(|(_, name)| width(name) <= LONGEST);
        match (all.len(), settings) {
            _ if has_columns(shown) => Brief::by_setting(shown, all),
            _ if is_short || all.len() == 1 => Brief::plain(all),
            (2, _) => Brief::by_letter(all, subjects == 1),
            (_, 2..) if shown.study.plan.factors.is_empty() => Brief::plain(all),
            (_, 2..=LETTERS) => Brief::by_setting(shown, all),
            (..=LETTERS, 0 | 1) => Brief::by_letter(all, false),
            (_, 0 | 1) => Brief::plain(all),
            _ => Brief::by_level(shown, all),
        }
    }

    fn plain(all: Vec<(Cell, String)>) -> Brief {
        let names = all.into_iter().map(|(cell, name)| (key(cell), name)).collect();
        Brief { names, settings: Vec::new(), has_letters: false }
    }

    /// A letter for each: of settings of one subject they stand for these.
    fn by_letter(all: Vec<(Cell, String)>, of_settings: bool) -> Brief {
        let letters = ('A'..).map(String::from).zip(&all);
        let settings = letters.clone().filter(|_| of_settings);
        Brief {
            names: letters.map(|(letter, (cell, _))| (key(*cell), letter)).collect(),
            settings: settings.map(|(letter, (_, name))| (letter, name.clone())).collect(),
            has_letters: !of_settings,
        }
    }

    /// "A", "nas, A": a letter for each setting.
    fn by_setting(shown: &Shown<'_>, all: Vec<(Cell, String)>) -> Brief {
        let settings = shown.names.settings();
        let letters: Vec<String> = ('A'..).map(String::from).take(settings.len()).collect();
        let name = |(cell, _): (Cell, String)| {
            let place = settings.iter().position(|setting| *setting == cell.setting);
            let letter = place.map_or("", |place| &letters[place]);
            let name = match shown.names.subjects.len() {
                1 => letter.to_owned(),
                _ => format!("{}, {letter}", shown.names.subject(cell.subject)),
            };
            (key(cell), name)
        };
        let names = all.into_iter().map(name).collect();
        let levels = settings.iter().map(|setting| shown.names.levels(*setting));
        let settings = letters.iter().cloned().zip(levels).collect();
        Brief { names, settings, has_letters: false }
    }

    /// "sync, 32768": the levels without the names of their factors, which are said once.
    fn by_level(shown: &Shown<'_>, all: Vec<(Cell, String)>) -> Brief {
        let factors = &shown.study.plan.factors;
        let levels = |setting: u16| -> String {
            let level = |(factor, place): (&Factor, usize)| {
                let level = factor.levels.get(place).map_or_else(String::new, ToString::to_string);
                shortened(&printable(&level), LONGEST)
            };
            let of_each = factors.iter().zip(factor::levels(factors, setting)).map(level);
            of_each.collect::<Vec<_>>().join(", ")
        };
        let name = |(cell, _): (Cell, String)| {
            let name = match shown.names.subjects.len() {
                1 => levels(cell.setting),
                _ => format!("{}: {}", shown.names.subject(cell.subject), levels(cell.setting)),
            };
            (key(cell), name)
        };
        let names = all.into_iter().map(name).collect();
        let factors: Vec<String> =
            factors.iter().map(|factor| printable(factor.short_name())).collect();
        let settings = vec![("settings".to_owned(), factors.join(", "))];
        Brief { names, settings, has_letters: false }
    }

    /// The name of a subject, whatever its setting.
    pub(super) fn subject(&self, shown: &Shown<'_>, subject: u16) -> String {
        let mut own = self.names.iter().filter(|((_, known), _)| *known == subject);
        match (own.next(), own.next()) {
            (Some((_, name)), None) if shown.study.plan.factors.is_empty() => name.clone(),
            _ => shown.names.subject(subject),
        }
    }

    /// The letter of a setting, where each has one.
    pub(super) fn setting(&self, shown: &Shown<'_>, setting: u16) -> String {
        let place = shown.names.settings().iter().position(|known| *known == setting);
        let letter = place.and_then(|place| self.settings.get(place));
        letter.map_or_else(|| shown.names.levels(setting), |(letter, _)| letter.clone())
    }

    /// The name of a subject under its setting.
    pub(super) fn setup(&self, shown: &Shown<'_>, cell: Cell) -> String {
        let known = self.names.iter().find(|(key, _)| *key == (cell.setting, cell.subject));
        known.map_or_else(|| shown.names.setup(cell), |(_, name)| name.clone())
    }
}

/// Setting and subject.
fn key(cell: Cell) -> (u16, u16) {
    (cell.setting, cell.subject)
}

/// Name of a kind of work in a row: of a job with many figures the one that verdicts are about, and the work during which
/// it was measured.
pub(super) fn work(shown: &Shown<'_>, found: &WorkloadFindings) -> String {
    if !found.workload.subject().is_some_and(|kind| kind.info().has_many_figures) {
        return shown.names.workload(found.number);
    }
    let figure = shown.shape(speed(&found.workload)).name;
    let others = found.workload.parts.iter().skip(1).map(|part| part.job.title());
    match listed(&others.collect::<Vec<String>>()) {
        others if others.is_empty() => figure,
        others => format!("{figure} during {others}"),
    }
}
