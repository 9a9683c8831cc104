//! plimsoll's own client beside the kernel's, call by call.

use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::TIME;
use crate::study::Shown;
use crate::text::{capital, listed, printable};
use plimsoll_explain::{BothClients, Side, both_clients};
use plimsoll_model::Cell;
use plimsoll_model::units::three_digits;
use plimsoll_stats::fit::Estimate;

const NOTHING: &str = "–";
/// Calls that only one client sends, up to which they are named on one screen.
const NAMED: usize = 4;

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("clients", "plimsoll's client compared with the kernel's");
    let all = both_clients(shown.study);
    if all.is_empty() {
        return section;
    }
    let commands = match all.iter().any(|both| both.whole_commands) {
        true => {
            " For SMB, the kernel counts the time of whole commands, including its own part, in clock \
             ticks."
        }
        false => "",
    };
    section.text(format!(
        "For each call: number of calls per operation, server time (from sending to reply) and client \
         time. The client time of the kernel is the wait before sending and the return to the caller. \
         plimsoll's client has no time for operations of several calls.{commands}"
    ));
    for both in &all {
        let [own, mounted] = names(shown, both);
        let work = capital(&shown.names.workload(both.own.workload));
        section.text(format!("{work}, {own} with plimsoll's client, {mounted} with the kernel's:"));
        section.table(table(both).table(), Layout::Figures);
    }
    section
}

/// The subjects by their names: plimsoll's own, and the mount.
fn names(shown: &Shown<'_>, both: &BothClients) -> [String; 2] {
    [both.own, both.mounted].map(|cell| shown.names.setup(cell))
}

fn table(both: &BothClients) -> Columns {
    let mut columns = Columns::with_headings([
        "plimsoll's\ncalls",
        "server",
        "client",
        "kernel's\ncalls",
        "server",
        "client",
        "server time,\nratio",
    ]);
    for (name, call) in &both.calls {
        let mut cells: Vec<String> = [call.own, call.kernel].iter().flat_map(side).collect();
        cells.push(call.ratio.map_or(NOTHING.to_owned(), ratio));
        columns.row(printable(name), cells);
    }
    columns
}

fn side(side: &Option<Side>) -> [String; 3] {
    let nothing = || NOTHING.to_owned();
    let time = |time: Option<Estimate>| {
        time.map_or_else(nothing, |time| TIME.with_ends(time.value, time.interval))
    };
    match side {
        None => [nothing(), nothing(), nothing()],
        Some(side) => [three_digits(side.per_operation), time(side.server), time(side.client)],
    }
}

/// "0.99 [0.95–1.03]"
fn ratio(of: Estimate) -> String {
    let ends = of.interval.map(|i| format!(" {}", crate::figure::ends(i.low, i.high)));
    format!("{}{}", three_digits(of.value), ends.unwrap_or_default())
}

/// A sentence for each pair of subjects: whether the server takes as long for both clients, and what only one
/// of them sends.
pub(super) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let all = both_clients(shown.study);
    let pair = |both: &BothClients| {
        let setup = |cell: Cell| (cell.subject, cell.setting);
        (setup(both.own), setup(both.mounted))
    };
    let mut pairs: Vec<_> = all.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let sentence = |wanted: &((u16, u16), (u16, u16))| {
        let of_pair: Vec<&BothClients> = all.iter().filter(|both| pair(both) == *wanted).collect();
        let [own, mounted] = names(shown, of_pair.first()?);
        let ratios: Vec<String> = of_pair.iter().filter_map(|both| busiest(shown, both)).collect();
        let mut text = match &ratios[..] {
            [] => format!("{own} with plimsoll's client and {mounted} with the kernel's"),
            some => format!(
                "Ratio of server times, {own} with plimsoll's client to {mounted} with the kernel's: {}",
                listed(some)
            ),
        };
        for (kernel, who) in [(true, "the kernel's client"), (false, "plimsoll's client")] {
            let mut only: Vec<&str> = Vec::new();
            for (name, _) in of_pair.iter().flat_map(|both| both.only(kernel)) {
                if !only.contains(&name) {
                    only.push(name);
                }
            }
            let more = only.len().saturating_sub(NAMED);
            let mut named: Vec<String> = only.into_iter().take(NAMED).map(printable).collect();
            if more > 0 {
                named.push(format!("{more} more"));
            }
            if !named.is_empty() {
                text.push_str(&format!("; only {who} sends {}", listed(&named)));
            }
        }
        Some(format!("{text}."))
    };
    pairs.iter().filter_map(sentence).collect()
}

/// "0.99 [0.95–1.03] for READ (random read)": of the call that is sent most often by both.
fn busiest(shown: &Shown<'_>, both: &BothClients) -> Option<String> {
    let calls = both.calls.iter();
    let timed = calls.filter_map(|(name, call)| Some((name, call.own?.per_operation, call.ratio?)));
    let (name, _, of) = timed.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let work = shown.names.workload(both.own.workload);
    Some(format!("{} for {} ({work})", ratio(of), printable(name)))
}
