//! Where the bytes of a row were: what reads came from, and whether writes are sustained.

use super::Shown;
use crate::text::{capital, listed};
use plimsoll_explain::{Writes, reads_from};
use plimsoll_model::{Cell, OpKind, StoredOn, SubjectKind, Target};

const SUSTAINED: &str = "sustained";
const BURST: &str = "burst";
const CLIENT: &str = "client memory";
pub(crate) const UNKNOWN: &str = "unknown";
/// What is said of writes of which nothing is known, and the same for a screen without room.
const OPEN: &str = "Whether writes are sustained or a burst is unknown.";
const OPEN_IN_BRIEF: &str = "Whether writes are sustained is unknown.";

/// "disk", "server memory", "sustained", "burst", "unknown"; of mixed work both. `None` of work that moves no bytes,
/// and of imports.
pub(crate) fn word(shown: &Shown<'_>, cell: Cell) -> Option<String> {
    let read = read(shown, cell);
    let written = written(shown, cell);
    match (read, written) {
        (Some(read), Some(written)) if read != written => Some(format!("{read}, {written}")),
        (read, written) => read.or(written).map(str::to_owned),
    }
}

/// What a cell does with bytes: whether it reads, and whether it writes.
fn ways(shown: &Shown<'_>, cell: Cell) -> Option<(bool, bool)> {
    let job = &shown.study.plan.workload(cell)?.main()?.job;
    let is_known = !shown.findings.imported && job.subject() == SubjectKind::Storage;
    let writes = job.stability().is_some();
    let reads = !writes || job.kinds_apart().contains(&OpKind::READ);
    (is_known && job.moves_payload()).then_some((reads, writes))
}

fn from(shown: &Shown<'_>, cell: Cell) -> StoredOn {
    let subject = usize::from(cell.subject);
    let facts = shown.study.subjects.get(subject).and_then(|facts| facts.storage());
    // The directory's own disk, past the page cache: there is no memory to test for.
    let is_direct = facts.is_some_and(|facts| !facts.memory_below)
        && matches!(shown.study.plan.target(subject), Some(Target::Directory(_)));
    let direct = if is_direct { StoredOn::Disk } else { StoredOn::Unknown };
    reads_from(shown.study, subject).unwrap_or(direct)
}

fn read(shown: &Shown<'_>, cell: Cell) -> Option<&'static str> {
    let (reads, _) = ways(shown, cell)?;
    reads.then(|| match from(shown, cell) {
        StoredOn::ClientMemory => CLIENT,
        StoredOn::ServerMemory => "server memory",
        StoredOn::Disk => "disk",
        StoredOn::Unknown => UNKNOWN,
    })
}

fn written(shown: &Shown<'_>, cell: Cell) -> Option<&'static str> {
    let (_, writes) = ways(shown, cell)?;
    if writes && from(shown, cell) == StoredOn::ClientMemory {
        return Some(CLIENT);
    }
    let own = shown.writes.iter().find(|writes| writes.cell == cell);
    writes.then_some(match own {
        Some(Writes { sustained: Ok(()), .. }) => SUSTAINED,
        Some(Writes { sustained: Err(_), .. }) => BURST,
        None => UNKNOWN,
    })
}

/// The words of a row: once where its cells share one, else one line for each, by `name`.
pub(crate) fn words(
    shown: &Shown<'_>,
    cells: &[Cell],
    name: &dyn Fn(Cell) -> String,
) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for cell in cells {
        let Some(word) = word(shown, *cell) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, names)) => names.push(name(*cell)),
            None => groups.push((word, vec![name(*cell)])),
        }
    }
    match groups.as_slice() {
        [] => None,
        [(word, _)] => Some(word.clone()),
        several => {
            let line =
                |(word, names): &(String, Vec<String>)| format!("{}: {word}", names.join(", "));
            Some(several.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A sentence of [`sentence`] for a screen without room.
pub(crate) fn shorter(sentence: &str) -> String {
    sentence.replace(OPEN, OPEN_IN_BRIEF)
}

/// The same of all rows, in a line: "Reads come from disk. Writes are sustained, except those marked *."
pub(crate) fn sentence(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Option<String> {
    let cells: Vec<Cell> = shown
        .findings
        .workloads
        .iter()
        .flat_map(|found| &found.cells)
        .filter(|cell| cell.complete > 0)
        .map(|cell| cell.cell)
        .collect();
    let mut reads: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in &cells {
        let Some(word) = read(shown, *cell) else { continue };
        let name = name(*cell);
        let place = reads.iter().position(|(known, _)| *known == word).unwrap_or_else(|| {
            reads.push((word, Vec::new()));
            reads.len() - 1
        });
        let names = &mut reads[place].1;
        names.extend(Some(name).filter(|name| !names.contains(name)));
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(match reads.as_slice() {
        [] => None,
        [(UNKNOWN, _)] => Some("Whether reads come from disk or memory is unknown.".to_owned()),
        [(word, _)] => Some(format!("Reads come from {word}.")),
        several => {
            let names_and_word =
                |(word, names): &(&str, Vec<String>)| format!("{}: {word}", listed(names));
            let of_each: Vec<String> = several.iter().map(names_and_word).collect();
            Some(format!("Reads come from: {}.", of_each.join("; ")))
        }
    });
    let written: Vec<&str> = cells.iter().filter_map(|cell| written(shown, *cell)).collect();
    let any = |word: &str| written.contains(&word);
    if matches!(reads[..], [(UNKNOWN, _)]) && any(UNKNOWN) && !any(SUSTAINED) && !any(BURST) {
        return Some(
            "Whether reads come from disk and writes are sustained is unknown.".to_owned(),
        );
    }
    parts.extend(match (any(SUSTAINED), any(BURST), any(UNKNOWN)) {
        (true, false, false) => Some("Writes are sustained.".to_owned()),
        (false, _, true) => Some(OPEN.to_owned()),
        // All others are marked.
        (true, true, false) => Some("Writes without * are sustained.".to_owned()),
        (true, burst, true) => {
            let is_sustained = |cell: &Cell| self::written(shown, *cell) == Some(SUSTAINED);
            let mut works: Vec<String> = Vec::new();
            for cell in cells.iter().filter(|cell| is_sustained(cell)) {
                let of_work = |other: &&Cell| other.workload == cell.workload;
                let work = shown.names.workload(cell.workload);
                // A kind of work can be sustained on one target alone.
                let work = match cells.iter().filter(of_work).all(is_sustained) {
                    true => work,
                    false => format!("{work} on {}", name(*cell)),
                };
                works.extend(Some(work).filter(|work| !works.contains(work)));
            }
            let others = if burst { "a burst or unknown" } else { UNKNOWN };
            let are = if works.len() == 1 { "is" } else { "are" };
            let works = capital(&listed(&works));
            Some(format!("{works} {are} sustained; other writes are {others}."))
        }
        (false, false, false) if reads.is_empty() && !written.is_empty() => {
            Some(format!("Writes go to {CLIENT}."))
        }
        // Marks say it, or client memory is said of the reads.
        (false, _, false) => None,
    });
    (!parts.is_empty()).then(|| parts.join(" "))
}
