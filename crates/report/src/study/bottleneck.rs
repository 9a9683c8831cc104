//! The bottleneck of a row of the answer: a word and a percentage.

use super::Shown;
use super::limits::{self, is_blind};
use crate::verdict::percent;
use plimsoll_explain::{Condition, Limit, Limits, Resource, Role, Use};
use plimsoll_model::Cell;

/// A bottleneck with its utilisation.
#[derive(Clone, Debug, PartialEq)]
struct Bottleneck {
    /// "link", "server CPU".
    name: String,
    /// Share (0..1) of the time that it was busy; `None` of what has no utilisation.
    busy: Option<f64>,
    /// Why nothing more definite is named; empty if that needs no reason.
    reason: String,
}

/// Reasons below a table, numbered.
#[derive(Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    /// The mark of a reason: " (1)"; empty without one.
    pub(super) fn mark(&mut self, reason: &str) -> String {
        if reason.is_empty() {
            return String::new();
        }
        let known = self.0.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!(" ({})", known + 1)
    }

    /// "(1) Not monitored: …".
    pub(crate) fn texts(self) -> impl Iterator<Item = String> {
        self.0.into_iter().zip(1..).map(|(reason, number)| format!("({number}) {reason}"))
    }
}

/// A cell, and how busy its bottleneck was, as a share.
type Utilisation = (Cell, Option<f64>);

/// The bottleneck of the cells of a row, for its column: one if they share it, else one line for each, `named` or in
/// their order. `None` if nothing is known of any.
pub(crate) fn words(
    shown: &Shown<'_>,
    cells: &[Cell],
    name: &dyn Fn(Cell) -> String,
    named: bool,
    notes: &mut Notes,
) -> Option<String> {
    let mut groups: Vec<(Bottleneck, Vec<Utilisation>)> = Vec::new();
    for cell in cells {
        let Some(found) = limits::of(shown, *cell).and_then(|limits| of(shown, limits)) else {
            continue;
        };
        let same =
            |known: &Bottleneck| (&known.name, &known.reason) == (&found.name, &found.reason);
        match groups.iter_mut().find(|(known, _)| same(known)) {
            Some((_, all)) => all.push((*cell, found.busy)),
            None => {
                let busy = found.busy;
                groups.push((found, vec![(*cell, busy)]));
            }
        }
    }
    let only = groups.len() == 1;
    // Cells that share one are not in the order of their columns.
    let named = named || groups.iter().any(|(_, cells)| cells.len() > 1);
    let lines = groups.into_iter().map(|(found, cells)| {
        let shares: Vec<f64> = cells.iter().filter_map(|(_, busy)| *busy).collect();
        let text = format!("{}{}{}", found.name, range(&shares), notes.mark(&found.reason));
        match only {
            true => text,
            false if !named => text.replace('\n', " "),
            false => {
                let names: Vec<String> = cells.iter().map(|(cell, _)| name(*cell)).collect();
                format!("{}: {text}", names.join(", "))
            }
        }
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// " 94%", " 88–94%".
pub(super) fn range(shares: &[f64]) -> String {
    let whole = |share: f64| percent((100.0 * share.min(1.0)).round() / 100.0);
    let least = shares.iter().copied().reduce(f64::min).map(whole);
    let most = shares.iter().copied().reduce(f64::max).map(whole);
    match (least, most) {
        (Some(least), Some(most)) if least != most => {
            format!(" {}–{most}", least.trim_end_matches('%'))
        }
        (Some(only), _) => format!(" {only}"),
        _ => String::new(),
    }
}

/// The link that carries a row, in bits per second, if it is the bottleneck of all of its cells.
pub(crate) fn common_link(shown: &Shown<'_>, cells: &[Cell]) -> Option<u64> {
    let rate = |cell: &Cell| match limits::of(shown, *cell)?.binding()?.resource {
        Resource::Link { bits_per_second, .. } => Some(bits_per_second),
        _ => None,
    };
    let rates: Vec<u64> = cells.iter().map(rate).collect::<Option<_>>()?;
    rates.iter().max().copied()
}

fn of(shown: &Shown<'_>, limits: &Limits) -> Option<Bottleneck> {
    let missing = || limits::not_monitored(shown).unwrap_or_default();
    let plain =
        |name: &str, reason: String| Some(Bottleneck { name: name.to_owned(), busy: None, reason });
    match &limits.verdict {
        Limit::Resource { .. } => {
            let one = limits.binding()?;
            let busy = Some(one.utilisation).filter(|_| !one.is_delay());
            Some(Bottleneck { name: name(one), busy, reason: String::new() })
        }
        Limit::Several { uses, waiting } => {
            let mut names: Vec<String> = uses
                .iter()
                .filter_map(|place| limits.uses.get(*place))
                .map(|one| match one.is_delay() {
                    true => name(one),
                    false => name(one) + &range(&[one.utilisation]),
                })
                .collect();
            names.truncate(2);
            let reason = match (waiting, is_blind(limits)) {
                (false, _) => ALIKE.to_owned(),
                (true, true) => missing(),
                (true, false) => WAITING.to_owned(),
            };
            if *waiting && names.len() < 2 {
                names.push(if is_blind(limits) { "not monitored" } else { "waiting" }.to_owned());
            }
            plain(&names.join("\nor "), reason)
        }
        Limit::Waiting if is_blind(limits) => plain("not monitored", missing()),
        Limit::Waiting => {
            let for_io = |one: &Condition| matches!(one, Condition::WaitsForIo { .. });
            let reason = match limits.conditions.iter().any(for_io) {
                true => WAITING_FOR_IO,
                false => WAITING,
            };
            plain("none found", reason.to_owned())
        }
        Limit::Hidden => plain("not monitored", HIDDEN.to_owned()),
        Limit::Contradiction(place) => {
            let one = limits.uses.get(*place)?;
            let reason = format!(
                "The figures contradict each other: {} would have been busy for more than all of the time.",
                limits::resource(one)
            );
            plain("inconclusive", reason)
        }
    }
}

const ALIKE: &str = "These cannot be distinguished: doubling either would help about as much.";
const WAITING: &str =
    "No monitored resource is saturated: operations wait for locks, timers or too few threads.";
const WAITING_FOR_IO: &str =
    "No monitored resource is saturated; the server waits for its disks (iowait).";
const HIDDEN: &str =
    "More operations in flight do not help, so a resource is saturated that is not monitored.";

/// "link", "server CPU".
fn name(one: &Use) -> String {
    let whose = match one.role {
        Role::Client => "client ",
        Role::Server => "server ",
        Role::Both => "",
    };
    match &one.resource {
        Resource::Link { .. } => "link".to_owned(),
        Resource::Driver => "load generator".to_owned(),
        Resource::Processor => format!("{whose}CPU"),
        Resource::Core { .. } => format!("{whose}CPU core"),
        Resource::Quota { .. } => format!("{whose}CPU quota"),
        Resource::Threads { .. } => "NFS threads".to_owned(),
        Resource::Disk { .. } => "disk".to_owned(),
        Resource::RoundTrip => "round trips".to_owned(),
    }
}
