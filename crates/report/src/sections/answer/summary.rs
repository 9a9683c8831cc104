//! The answer in one sentence, as a person would say it.

use super::figures::figure_of;
use super::names::Brief;
use super::sentences::{Against, Matter, compared};
use super::shape;
use crate::compared::Compared;
use crate::device::amount;
use crate::study::bottleneck::common_link;
use crate::study::copies::same_setup;
use crate::study::disturbances;
use crate::study::{Shown, limits, speed, writes};
use crate::text::{capital, counted, listed};
use crate::verdict::{Two, ahead_in_each, lead, nothing_decided};
use plimsoll_explain::thresholds::ABOUT_A_LINK;
use plimsoll_explain::{Claim, Resource, Transfers, WorkloadFindings};
use plimsoll_model::{Cell, Flag, Measure, Metric, Workload};
use plimsoll_stats::verdict::{Side, Verdict};

/// Kinds of work that are named; of more their number is.
const NAMED: usize = 3;
/// Compared pairs that one sentence holds.
const PAIRS: usize = 4;
/// Gigabit per second, in bits.
const GIGABIT: u64 = 1_000_000_000;

/// What to do on a machine that other work keeps busy.
pub(super) const STOP: &str = "Stop other work and run again.";

/// The sentence; `None` where the table says it more simply.
pub(super) fn sentence(shown: &Shown<'_>, brief: &Brief) -> Option<String> {
    if shown.findings.imported {
        return None;
    }
    let said = of_work(shown, brief);
    match (at_a_fixed_rate(shown, brief), said) {
        (Some(rate), Some(said)) => Some(format!("{rate} {said}")),
        (rate, said) => rate.or(said),
    }
}

/// "Both keep the fixed rate." of work at one; `None` of other work.
fn at_a_fixed_rate(shown: &Shown<'_>, brief: &Brief) -> Option<String> {
    let is_paced =
        |cell: Cell| shown.study.plan.workload(cell).is_some_and(Workload::has_fixed_rate);
    let is_behind = |flag: &Flag| matches!(flag, Flag::BehindSchedule { .. });
    let mut paced: Vec<String> = Vec::new();
    let mut behind: Vec<String> = Vec::new();
    for trial in shown.study.trials.iter().filter(|trial| is_paced(trial.cell)) {
        let name = brief.setup(shown, trial.cell);
        if trial.result.flags.iter().any(is_behind) && !behind.contains(&name) {
            behind.push(name.clone());
        }
        paced.extend(Some(name).filter(|name| !paced.contains(name)));
    }
    let kept = match (paced.len(), behind.is_empty()) {
        (0, _) => return None,
        (1, true) => format!("{} keeps the fixed rate", paced[0]),
        (2, true) => "Both keep the fixed rate".to_owned(),
        (all, true) => format!("All {all} keep the fixed rate"),
        (_, false) => format!("{} did not keep the fixed rate", listed(&behind)),
    };
    let compares = !shown.study.plan.contrasts.is_empty();
    Some(kept + if compares { "; verdicts compare latencies." } else { "." })
}

fn of_work(shown: &Shown<'_>, brief: &Brief) -> Option<String> {
    let compared = compared(shown, brief);
    let all: Vec<&Matter<'_>> = compared.iter().flat_map(|against| &against.claims).collect();
    let open = |matter: &&Matter<'_>| class(matter) == Class::Open;
    match compared.as_slice() {
        [] => of_methods(shown).or_else(|| level(shown, brief)),
        _ if all.is_empty() => None,
        [only] if all.iter().all(open) => Some(undecided(shown, Some(&only.two), &all)),
        _ if all.iter().all(open) => Some(undecided(shown, None, &all)),
        [only] => Some(of_two(shown, &only.two, &only.claims)),
        several if several.len() <= PAIRS => of_several(several),
        _ => None,
    }
}

/// What a verdict says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Ahead(Side),
    Equal,
    Open,
}

fn class(matter: &Matter<'_>) -> Class {
    match matter.claim.verdict {
        Some(Verdict::NoPracticalDifference(_)) => Class::Equal,
        Some(verdict @ (Verdict::Faster(_) | Verdict::PerhapsTooLittle(_))) => {
            Class::Ahead(lead(&verdict, matter.by).faster)
        }
        Some(Verdict::NotResolved(_)) | None => Class::Open,
    }
}

/// Why there is no verdict; `two` are the names where all claims are about the same two.
fn undecided(shown: &Shown<'_>, two: Option<&(String, String)>, all: &[&Matter<'_>]) -> String {
    if let Some((busy, _)) = disturbances::heavy(shown) {
        return format!("Nothing could be decided: {busy}. {STOP}");
    }
    let claims: Vec<&Claim> = all.iter().map(|matter| matter.claim).collect();
    agreed(shown, two, all).unwrap_or_else(|| nothing_decided(&claims, "targets") + ".")
}

/// "2 blocks".
fn blocks(all: &[&Matter<'_>]) -> String {
    let most = all.iter().map(|matter| matter.claim.ratio.blocks).max().unwrap_or(0);
    counted(most as u64, "block")
}

/// What all blocks agree on, though they are too few for a verdict: the sentences that follow have the figures.
fn agreed(
    shown: &Shown<'_>,
    two: Option<&(String, String)>,
    all: &[&Matter<'_>],
) -> Option<String> {
    let margin = shown.study.plan.design.margin;
    let (a, b) = two.map_or(("", ""), |(a, b)| (a.as_str(), b.as_str()));
    let mut ahead: Vec<(&str, &str, &str)> = Vec::new();
    for Matter { name, claim, by } in all {
        let first = ahead_in_each(claim, Two { a, b, by: *by }, margin);
        ahead.extend(first.map(|first| (name.as_str(), first, by.more())));
    }
    let (_, first, more) = *ahead.first()?;
    let no_verdict = format!("{} give no verdict", blocks(all));
    let is_one = ahead.iter().all(|(_, name, word)| (*name, *word) == (first, more));
    Some(match two {
        Some(_) if is_one => {
            let names: Vec<&str> = ahead.iter().map(|(name, _, _)| *name).collect();
            let works = works(shown, &names, all.len());
            format!("{no_verdict}, but {first} was {more} in each of them for {works}.")
        }
        _ => format!(
            "{no_verdict}, but in {} of {} comparisons the same side was ahead in each of them.",
            ahead.len(),
            all.len()
        ),
    })
}

/// "nfs is faster than smb for random read; they are practically equal for sequential read."
fn of_two(shown: &Shown<'_>, (a, b): &(String, String), claims: &[Matter<'_>]) -> String {
    let names_in = |wanted: Class| -> Vec<&str> {
        let own = claims.iter().filter(|matter| class(matter) == wanted);
        own.map(|matter| matter.name.as_str()).collect()
    };
    let works = |names: &[&str]| works(shown, names, claims.len());
    let mut ahead: Vec<(&str, &str, Vec<&str>)> =
        vec![(b, a, names_in(Class::Ahead(Side::B))), (a, b, names_in(Class::Ahead(Side::A)))];
    ahead.retain(|(_, _, names)| !names.is_empty());
    ahead.sort_by_key(|(_, _, names)| std::cmp::Reverse(names.len()));
    let more = match claims.iter().all(|matter| matter.by == Compared::Amount) {
        true => "higher",
        false => "faster",
    };
    let mut parts: Vec<String> = Vec::new();
    for (number, (faster, slower, names)) in ahead.iter().enumerate() {
        parts.push(match number {
            0 => format!("{faster} is {more} than {slower} for {}", works(names)),
            _ => format!("{faster} is {more} for {}", works(names)),
        });
    }
    let equal = names_in(Class::Equal);
    if !equal.is_empty() {
        let cells = |name: &&str| -> Vec<Cell> {
            let found = shown.findings.workloads.iter();
            let found = found.filter(|found| shown.names.workload(found.number) == **name);
            found.flat_map(|found| found.cells.iter().map(|cell| cell.cell)).collect()
        };
        let cells: Vec<Cell> = equal.iter().flat_map(cells).collect();
        let both = if parts.is_empty() { format!("{a} and {b}") } else { "both".to_owned() };
        parts.push(match common_link(shown, &cells).filter(|_| !cells.is_empty()) {
            Some(rate) => format!("for {} {both} saturate the {}", works(&equal), link(rate)),
            None => format!("{both} are practically equal for {}", works(&equal)),
        });
    }
    let open = names_in(Class::Open);
    if !open.is_empty() {
        parts.push(format!(
            "{} {} inconclusive",
            works(&open),
            if open.len() == 1 { "is" } else { "are" }
        ));
    }
    // The name of a target stays as the user wrote it.
    let text = parts.join("; ");
    let text = if text.starts_with("for ") { capital(&text) } else { text };
    text + "."
}

fn link(bits_per_second: u64) -> String {
    match bits_per_second {
        GIGABIT => "gigabit link".to_owned(),
        rate => format!("link of {}", amount::link(rate)),
    }
}

/// "all five kinds of work", "small files", "random read and random write", "4 of 8 kinds of work".
fn works(shown: &Shown<'_>, names: &[&str], all: usize) -> String {
    const WORDS: [&str; 10] =
        ["", "", "both", "three", "four", "five", "six", "seven", "eight", "nine"];
    if names.len() == all && all > 1 {
        return match WORDS.get(all) {
            Some(&"both") => "both kinds of work".to_owned(),
            Some(word) => format!("all {word} kinds of work"),
            None => format!("all {all} kinds of work"),
        };
    }
    if let Some(files) = files(shown, names) {
        return files;
    }
    match names {
        ["random read", "random write", "random mixed"] => "random access".to_owned(),
        ["sequential read", "sequential write"] => "sequential access".to_owned(),
        // Names with commas do not stand in a list.
        few if few.len() <= NAMED && few.iter().all(|name| !name.contains(',')) => {
            listed(&few.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        }
        many => format!("{} of {all} kinds of work", many.len()),
    }
}

/// The files of copies by their size, if all of these are copies of them, by each way that was measured.
fn files(shown: &Shown<'_>, names: &[&str]) -> Option<String> {
    let name_and_files = |found: &WorkloadFindings| {
        let work = found.workload.file_work()?;
        Some((shown.names.workload(found.number), work.files_of))
    };
    let all: Vec<(String, &str)> =
        shown.findings.workloads.iter().map(name_and_files).collect::<Option<_>>()?;
    let mut own: Vec<&str> = Vec::new();
    for name in names {
        let files = all.iter().find(|(known, _)| known == name)?.1;
        own.extend(Some(files).filter(|files| !own.contains(files)));
    }
    let whole = all.iter().filter(|(_, files)| own.contains(files)).count() == names.len();
    whole.then(|| match own[..] {
        ["movies", "music"] => "large files".to_owned(),
        ["pictures", "source tree"] => "small files".to_owned(),
        _ => listed(&own.iter().map(|files| (*files).to_owned()).collect::<Vec<_>>()),
    })
}

/// A copy by two methods: its files and way, its cells, and what is claimed.
struct ByMethod<'a> {
    row: (&'static str, &'static str),
    cells: [Cell; 2],
    matter: Matter<'a>,
}

/// "Copying pipelined is faster than copying as rsync for small files (each ≥ 1.18x); both methods saturate the gigabit
/// link for large files."
/// `None` of other work, and of more than two methods or one setup.
fn of_methods(shown: &Shown<'_>) -> Option<String> {
    let work = |cell: Cell| shown.study.plan.workload(cell)?.file_work();
    let mut methods: Vec<(&str, &str)> = Vec::new();
    let mut rows: Vec<ByMethod<'_>> = Vec::new();
    for pair in shown.findings.workloads.iter().flat_map(|found| &found.pairs) {
        let cells = [pair.contrast.against.cell, pair.contrast.of.cell];
        let (a, b) = (work(cells[0])?, work(cells[1])?);
        let row = (a.files_of, a.way);
        if !same_setup(cells[0], cells[1]) || row != (b.files_of, b.way) {
            return None;
        }
        let two = (a.method, b.method);
        methods.extend(Some(two).filter(|two| !methods.contains(two)));
        let by = shown.shape(pair.contrast.of.metric.measure).compared;
        let claim = pair.claim.as_ref()?;
        let name = format!("{} {}", row.0, row.1);
        rows.push(ByMethod { row, cells, matter: Matter { name, claim, by } });
    }
    let ([(first, second)], 1) = (methods.as_slice(), shown.names.setups()) else { return None };
    if rows.iter().all(|row| class(&row.matter) == Class::Open) {
        let all: Vec<&Matter<'_>> = rows.iter().map(|row| &row.matter).collect();
        let two = (first.to_string(), second.to_string());
        return Some(undecided(shown, Some(&two), &all));
    }
    let rows_in = |wanted: Class| -> Vec<&ByMethod<'_>> {
        rows.iter().filter(|row| class(&row.matter) == wanted).collect()
    };
    let names = |some: &[&ByMethod<'_>]| copies(some, &rows);
    let mut parts = Vec::new();
    for (side, faster, slower) in [(Side::B, second, first), (Side::A, first, second)] {
        let own = rows_in(Class::Ahead(side));
        let lead = |row: &&ByMethod<'_>| {
            let Matter { claim, by, .. } = row.matter;
            Some(lead(&claim.verdict?, by).by.low)
        };
        let Some(least) = own.iter().filter_map(lead).reduce(f64::min) else { continue };
        let least = shape::column(shown).at_least(least);
        let each = if own.len() > 1 { "each " } else { "" };
        parts.push(format!(
            "copying {faster} is faster than copying {slower} for {} ({each}≥ {least})",
            names(&own)
        ));
    }
    let equal = rows_in(Class::Equal);
    if !equal.is_empty() {
        let cells: Vec<Cell> = equal.iter().flat_map(|row| row.cells).collect();
        let names = names(&equal);
        parts.push(match common_link(shown, &cells) {
            Some(rate) => format!("both methods saturate the {} for {names}", link(rate)),
            None => format!("both methods are practically equal for {names}"),
        });
    }
    let open = rows_in(Class::Open);
    if !open.is_empty() {
        let are = if open.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {are} inconclusive", names(&open)));
    }
    Some(capital(&parts.join("; ")) + ".")
}

/// "small files", "pictures up and source tree", "9 of 18 copies".
fn copies(some: &[&ByMethod<'_>], all: &[ByMethod<'_>]) -> String {
    if some.len() == all.len() && all.len() > 1 {
        return "all files".to_owned();
    }
    let is_whole = |files: &str| {
        let own = some.iter().filter(|row| row.row.0 == files).count();
        own == all.iter().filter(|row| row.row.0 == files).count()
    };
    let (mut whole, mut parts): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for ByMethod { row: (files, _), matter, .. } in some {
        match is_whole(files) {
            true => whole.extend(Some(*files).filter(|files| !whole.contains(files))),
            false => parts.push(matter.name.clone()),
        }
    }
    let mut names: Vec<String> = match whole[..] {
        ["movies", "music"] => vec!["large files".to_owned()],
        ["pictures", "source tree"] => vec!["small files".to_owned()],
        _ => whole.into_iter().map(str::to_owned).collect(),
    };
    names.extend(parts);
    match names.len() {
        few if few <= NAMED => listed(&names),
        _ => format!("{} of {} copies", some.len(), all.len()),
    }
}

/// "Compared with nfs: smb is slower for 4 of 8 rows; /mnt/nas is faster for 4 of 8 rows."
fn of_several(all: &[Against<'_>]) -> Option<String> {
    let baseline = &all.first()?.two.0;
    if all.iter().any(|against| against.two.0 != *baseline) {
        return None;
    }
    let one = |against: &Against<'_>| {
        let count = |wanted: Class| against.claims.iter().filter(|m| class(m) == wanted).count();
        let (faster, slower) = (count(Class::Ahead(Side::B)), count(Class::Ahead(Side::A)));
        let (open, of) = (count(Class::Open), against.claims.len());
        let name = &against.two.1;
        match (faster, slower) {
            (0, 0) if open == 0 => format!("{name} is practically equal"),
            (0, 0) if of == 1 => format!("{name} is inconclusive"),
            (1, 0) if of == 1 => format!("{name} is faster"),
            (0, 1) if of == 1 => format!("{name} is slower"),
            (0, 0) => format!("{name} is inconclusive for {open} of {of} rows"),
            (faster, 0) => format!("{name} is faster for {faster} of {of} rows"),
            (0, slower) => format!("{name} is slower for {slower} of {of} rows"),
            (faster, slower) => {
                format!("{name} is faster for {faster} and slower for {slower} of {of} rows")
            }
        }
    };
    let parts: Vec<String> = all.iter().map(one).collect();
    Some(format!("Compared with {baseline}: {}.", parts.join("; ")))
}

/// "nas reads at 112 MB/s and writes at 98.0 MB/s."
fn level(shown: &Shown<'_>, brief: &Brief) -> Option<String> {
    if shown.names.setups() != 1 {
        return None;
    }
    let setup = shown.names.every_setup().next()?;
    let rate = |wanted: &str| {
        let named = |found: &&WorkloadFindings| shown.names.workload(found.number) == wanted;
        let found = shown.findings.workloads.iter().find(named)?;
        let by_bytes = speed(&found.workload) == Measure::THROUGHPUT;
        let known = found
            .cells
            .iter()
            .any(|cell| cell.levels.contains_key(&Metric::all(Measure::THROUGHPUT)));
        (by_bytes && known).then(|| figure_of(shown, found, setup))
    };
    let name = brief.setup(shown, setup);
    if !shown.transfers.is_empty() {
        return of_sizes(shown, &name);
    }
    match (
        rate("sequential read"),
        rate("sequential write"),
        rate("movies up"),
        rate("movies down"),
    ) {
        (Some(read), Some(write), ..) => {
            Some(format!("{name} reads at {read} and writes at {write}."))
        }
        (Some(read), None, ..) => Some(format!("{name} reads at {read}.")),
        (None, Some(write), ..) => Some(format!("{name} writes at {write}.")),
        (.., Some(up), Some(down)) => {
            Some(format!("Large files reach {up} to {name} and {down} from it."))
        }
        _ => None,
    }
}

/// "nas reads up to 51.0 MB/s (size 1 MiB) and writes up to 50.0 MB/s* (256 KiB)."
fn of_sizes(shown: &Shown<'_>, name: &str) -> Option<String> {
    let best = |transfers: &Transfers| {
        let best = transfers.fastest()?;
        let rate = plimsoll_model::units::bytes_per_second(best.rate());
        let way = if transfers.title.ends_with("write") { "writes" } else { "reads" };
        let mark = writes::mark(shown, transfers.cell);
        Some((format!("{way} up to {rate}{mark}"), best.block))
    };
    let ways = shown.transfers.iter().filter_map(best).enumerate();
    let words = ways.map(|(place, (rate, block))| {
        let size = if place == 0 { "size " } else { "" };
        format!("{rate} ({size}{block})")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("{name} {}.", listed(&words)))
}

/// Links that people know, and the bytes per second that TCP and NFS or SMB carry over them.
const LINKS: [(&str, f64); 4] = [
    ("100 Mbit/s Ethernet carries", 11.8e6),
    ("gigabit Ethernet carries", 118e6),
    ("2.5 Gbit/s Ethernet carries", 294e6),
    ("10 Gbit/s Ethernet carries", 1.18e9),
];

/// A reference that people know for the first rate that comes near one; of network targets alone, and not of a rate
/// that another resource than a link bounds.
pub(super) fn reference(shown: &Shown<'_>) -> Option<String> {
    let metric = Metric::all(Measure::THROUGHPUT);
    let cells =
        shown.findings.workloads.iter().filter(|f| speed(&f.workload) == Measure::THROUGHPUT);
    let rates = cells.flat_map(|found| &found.cells).filter_map(|cell| {
        let target = shown.study.plan.target(usize::from(cell.cell.subject))?;
        target.host()?;
        let binding = limits::of_cell(shown, cell.cell).and_then(|limits| limits.binding());
        let is_other = binding.is_some_and(|one| !matches!(one.resource, Resource::Link { .. }));
        if is_other { None } else { Some(cell.levels.get(&metric)?.estimate) }
    });
    let known = |rate: f64| {
        let near = |(_, most): &&(&str, f64)| {
            (ABOUT_A_LINK.start() * most..=ABOUT_A_LINK.end() * most).contains(&rate)
        };
        let (name, _) = LINKS.iter().find(near)?;
        let rate = plimsoll_model::units::bytes_per_second(rate);
        Some(format!("{rate} is about as much as {name}."))
    };
    rates.into_iter().find_map(known)
}
