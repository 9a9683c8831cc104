//! Names that are short enough for the columns of one screen.

use super::table::has_columns;
use crate::study::Shown;
use crate::text::width;
use plimsoll_model::Cell;

/// Columns of the longest name that a column has room for.
const LONGEST: usize = 10;

/// A short name for every subject under every setting.
pub(super) struct Brief {
    names: Vec<((u16, u16), String)>,
    /// What letters stand for, where those of settings are too long.
    pub(super) settings: Vec<(String, String)>,
}

impl Brief {
    pub(super) fn new(shown: &Shown<'_>) -> Brief {
        let subjects = shown.names.subjects.len();
        let own = |cell: Cell| match shown.names.levels(cell.setting) {
            levels if subjects == 1 && !levels.is_empty() => levels,
            _ => shown.names.setup(cell),
        };
        let key = |cell: Cell| (cell.setting, cell.subject);
        let all: Vec<(Cell, String)> =
            shown.names.every_setup().map(|cell| (cell, own(cell))).collect();
        if has_columns(shown) {
            let settings = shown.names.settings();
            let letters: Vec<String> = ('A'..).map(String::from).take(settings.len()).collect();
            let name = |(cell, _): (Cell, String)| {
                let place = settings.iter().position(|setting| *setting == cell.setting);
                let letter = place.map_or("", |place| &letters[place]);
                let name = match subjects {
                    1 => letter.to_owned(),
                    _ => format!("{}, {letter}", shown.names.subject(cell.subject)),
                };
                (key(cell), name)
            };
            let names = all.into_iter().map(name).collect();
            let levels = settings.iter().map(|setting| shown.names.levels(*setting));
            return Brief { names, settings: letters.iter().cloned().zip(levels).collect() };
        }
        // More than two have rows, in which there is room.
        if all.len() != 2 || all.iter().all(|(_, name)| width(name) <= LONGEST) {
            let names = all.into_iter().map(|(cell, name)| (key(cell), name)).collect();
            return Brief { names, settings: Vec::new() };
        }
        let letters = ["A", "B"].map(str::to_owned).into_iter().zip(&all);
        let settings = letters.clone().filter(|_| subjects == 1);
        Brief {
            names: letters.map(|(letter, (cell, _))| (key(*cell), letter)).collect(),
            settings: settings.map(|(letter, (_, name))| (letter, name.clone())).collect(),
        }
    }

    /// The name of a subject, whatever its setting.
    pub(super) fn subject(&self, shown: &Shown<'_>, subject: u16) -> String {
        let mut own = self.names.iter().filter(|((_, known), _)| *known == subject);
        match (own.next(), own.next()) {
            (Some((_, name)), None) if shown.study.plan.factors.is_empty() => name.clone(),
            _ => shown.names.subject(subject),
        }
    }

    /// The letter of a setting, where each is a column.
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
