//! What Puskas' tables show: files to a router's disk and back.

use super::common::{does_not_fit, end, per_second, percent, seconds};
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BYTES, TIME};
use crate::text::{capital, listed};
use plimsoll_explain::thresholds::PUBLISHED_FREE;
use plimsoll_model::units::three_digits;
use plimsoll_published::puskas2017::{
    Blocks, Change, FILES, Load, Transfers, WAYS, contradictions, loads, shares, transfers,
};
use plimsoll_references::Table;
use plimsoll_stats::fit::costs::CostKind;

pub(super) fn sections(tables: &[Table]) -> Vec<Section> {
    let mut answer = Section::new("answer", "");
    let (transfers, loads) = (transfers(tables), loads(tables));
    let mut details = Vec::new();
    if let Some(transfers) = &transfers {
        answer.table(costs(transfers).table(), Layout::Figures);
        answer.list(bought(transfers));
        details.push(times(transfers));
    }
    answer.list(limits(&loads, &shares(tables)));
    let mut table = Columns::with_headings(["busy", "waiting", "idle", "limit"]);
    for load in &loads {
        let percent =
            [load.busy(), load.waiting, load.idle].map(|percent| format!("{percent:.0}%"));
        let limit = if load.is_limit() { "CPU" } else { "" };
        table.row(capital(&load.name), percent.into_iter().chain([limit.to_owned()]));
    }
    let mut section = Section::details("load", "The router's CPU");
    section.table(table.table(), Layout::Words);
    details.push(section);
    [answer, end("puskas2017", &contradictions(tables), true)].into_iter().chain(details).collect()
}

/// What files, operations and bytes cost.
fn costs(transfers: &Transfers) -> Columns {
    let mut table = Columns::with_headings(["up", "down"]);
    let cost = |kind, group| transfers.model.cost(kind, group);
    let shown = |kind, group| cost(kind, group).map_or("–".to_owned(), seconds);
    if transfers.model.fits() {
        let [sync, asynchronous, down] = FILES.map(|group| shown(CostKind::File, group));
        table.row("per file, sync", [sync, down.clone()]);
        table.row("per file, async", [asynchronous, down]);
        table.row("per operation", WAYS.map(|group| shown(CostKind::Operation, group)));
        let bytes = |group| cost(CostKind::Byte, group).map_or("–".to_owned(), per_second);
        table.row("bytes", WAYS.map(bytes));
    }
    table
}

/// What the model is worth, and what `async` and larger blocks bought by it.
fn bought(transfers: &Transfers) -> Vec<String> {
    if let Some(sentence) = does_not_fit("Transfers", &transfers.model) {
        return vec![sentence];
    }
    let (parameters, times) = (transfers.model.parameters(), transfers.times.len());
    let off = percent(transfers.model.largest_error());
    let left_out = transfers.left_out.map(|off| {
        format!(". From the other datasets, it predicts Pictures and Music within {}", percent(off))
    });
    let left_out = left_out.unwrap_or_default();
    let mut sentences = vec![format!(
        "A model with {parameters} costs fits the {times} published times within {off}{left_out}."
    )];
    sentences
        .extend(transfers.per_file_up().map(|files| asynchronous(files, transfers.per_byte_up())));
    sentences.extend(blocks(&transfers.blocks()));
    sentences
}

fn asynchronous(files: Change, bytes: Option<Change>) -> String {
    let share = three_digits(files.after.value / files.before.value);
    let (before, after) = (TIME.value(files.before.value), TIME.value(files.after.value));
    let bytes = bytes.map(|bytes| {
        let rates = format!(
            "{} with sync, {} with async",
            per_second(bytes.before),
            per_second(bytes.after)
        );
        match bytes.shows() {
            true => format!(" Bandwidth: {rates}."),
            false => format!(" The bandwidth does not change measurably: {rates}."),
        }
    });
    let bytes = bytes.unwrap_or_default();
    format!(
        "async: the cost per uploaded file is {after} instead of {before} ({share} times).{bytes}"
    )
}

/// Effect of larger block sizes, either way.
fn blocks(found: &[Blocks]) -> Option<String> {
    let [before, after] = found.first()?.bytes.map(|bytes| BYTES.value(bytes));
    let each = found.iter().map(|Blocks { operations, seconds, by_model, name, .. }| {
        let [before, after] = seconds.map(three_digits);
        let (fewer, saved) = (operations[0] - operations[1], TIME.value(*by_model));
        format!("{name} takes {after} s instead of {before} s ({fewer:.0} fewer operations, which the model \
             values at {saved})")
    });
    let each: Vec<String> = each.collect();
    Some(format!("Block size {after} instead of {before}: {}.", each.join("; ")))
}

/// Each time beside the model's.
fn times(transfers: &Transfers) -> Section {
    const COLUMNS: [&str; 4] = ["block_size_B", "dataset", "direction", "export"];
    let mut table = Columns::with_headings(["published", "model", "model error"]);
    for time in &transfers.times {
        let name = COLUMNS.map(|column| time.row.text(column).unwrap_or_default()).join(" ");
        let model = time.by_model.map(|seconds| (seconds, 100.0 * (seconds / time.seconds - 1.0)));
        let cells = model.map(|(seconds, off)| [TIME.value(seconds), format!("{off:+.1}%")]);
        let [model, off] = cells.unwrap_or_else(|| ["–", "–"].map(str::to_owned));
        table.row(name, [TIME.value(time.seconds), model, off]);
    }
    let mut section = Section::details("times", "Published times and times of the model");
    section.table(table.table(), Layout::Figures);
    section.text("Published times are rounded: each is within half a second of the true time.");
    section
}

/// What bound it.
fn limits(loads: &[Load], shares: &[(&str, f64)]) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(load) = loads.iter().find(|load| load.is_limit()) {
        let most = three_digits(100.0 / load.busy());
        let rest = rest(load);
        sentences.push(format!(
            "{}: the router's CPU is the bottleneck, {}{rest}. Without waiting, the copy would be at most \
             {most} times as fast.",
            capital(&load.name),
            busy(load),
        ));
    }
    if let Some(load) = loads.iter().find(|load| !load.is_limit() && load.waiting > load.idle) {
        sentences.push(format!(
            "{}: no resource is saturated. The CPU is {}{}. With one file at a time, CPU and disk wait for \
             each other.",
            capital(&load.name),
            busy(load),
            rest(load),
        ));
    }
    let listed_shares: Vec<String> =
        shares.iter().map(|(name, share)| format!("{} of the {name}", percent(*share))).collect();
    if !shares.is_empty() {
        let limit = if shares.iter().all(|(_, share)| *share < PUBLISHED_FREE) {
            ", so neither is saturated"
        } else {
            ""
        };
        sentences
            .push(format!("At the highest rate, payload takes {}{limit}.", listed(&listed_shares)));
    }
    if !loads.is_empty() {
        sentences.push(
            "Not measured: utilisation of the disk, memory of the router, load of the client."
                .to_owned(),
        );
    }
    sentences
}

/// "87% busy (59 system, 28 softirq)".
fn busy(load: &Load) -> String {
    let classes: Vec<String> =
        load.classes.iter().map(|(class, percent)| format!("{percent:.0} {class}")).collect();
    format!("{:.0}% busy ({})", load.busy(), classes.join(", "))
}

/// What it does otherwise.
fn rest(load: &Load) -> String {
    match (load.waiting > 0.0, load.idle > 0.0) {
        (true, false) => ", the rest of the time waiting for disk or bus".to_owned(),
        (true, true) => {
            format!(", {:.0}% waiting for disk or bus and {:.0}% idle", load.waiting, load.idle)
        }
        (false, true) => format!(", {:.0}% idle", load.idle),
        (false, false) => String::new(),
    }
}
