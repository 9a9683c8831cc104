//! A row for each kind of work: how fast each is, which is faster, and the bottleneck.

use super::figures::{figure, figure_of, level_of, of_setup, other_figures};
use super::fit::is_narrow;
use super::names::{Brief, work};
use super::rows::{NOTHING, Rows};
use super::settings;
use super::shape::{column, has_columns, is_long};
use crate::sections::common::verdicts;
use crate::study::{Shown, imported, speed};
use crate::verdict::{Two, brief as in_brief};
use plimsoll_explain::{CellFindings, Pair, WorkloadFindings};
use plimsoll_model::{Cell, Measurand, Measure, Metric, StreamJob};
use plimsoll_stats::verdict::{Side, Verdict};

pub(super) fn rows(shown: &Shown<'_>, brief: &Brief) -> Vec<Rows> {
    vec![match shown.names.setups() {
        _ if shown.study.plan.contrasts.is_empty() => levels(shown, brief),
        1 => works(shown),
        2 => two(shown, brief),
        _ if !is_long(shown) => each(shown, brief),
        _ if has_columns(shown) => return settings::tables(shown, brief),
        _ => extremes(shown, brief),
    }]
}

fn heading(shown: &Shown<'_>) -> String {
    verdicts(shown.study.plan.design.confidence, shown.findings.imported)
}

/// Both beside each other.
fn two(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let mut cells = shown.names.every_setup();
    let (Some(a), Some(b)) = (cells.next(), cells.next()) else { return levels(shown, brief) };
    let names = [brief.setup(shown, a), brief.setup(shown, b)];
    let [name_a, name_b] = names.clone();
    let mut table = Rows::new(vec!["work".to_owned(), name_a, name_b, heading(shown)]);
    for found in &shown.findings.workloads {
        if found.pairs.is_empty() {
            let figure = |cell: Cell| figure_of(shown, found, cell);
            let name = work(shown, found);
            let cells = [a, b].map(|cell| Cell { workload: found.number, ..cell }).into();
            table.push(vec![name, figure(a), figure(b), NOTHING.to_owned()], cells);
        }
        for pair in &found.pairs {
            let against = figure(shown, &pair.contrast.against);
            let of = figure(shown, &pair.contrast.of);
            // In the order of the headings, whatever is held against what.
            let swapped = pair.contrast.of.cell.subject == a.subject
                && pair.contrast.of.cell.setting == a.setting
                && (a.subject, a.setting)
                    != (pair.contrast.against.cell.subject, pair.contrast.against.cell.setting);
            let (left, right) = if swapped { (of, against) } else { (against, of) };
            let verdict = verdict(shown, brief, pair);
            let name = match shown.figure(&pair.contrast) {
                Some(figure) => format!("{}, {figure}", work(shown, found)),
                None => work(shown, found),
            };
            let cells = [a, b].map(|cell| Cell { workload: found.number, ..cell }).into();
            table.push(vec![name, left, right, verdict], cells);
        }
        for other in other_figures(shown, found) {
            let figure = |cell| other.figure(shown, of_setup(found, cell));
            let (left, right) = (figure(a), figure(b));
            table.push(vec![other.name, left, right, NOTHING.to_owned()], Vec::new());
        }
    }
    table
}

/// Different work on one subject: a row for each that is compared, below what it is compared with.
fn works(shown: &Shown<'_>) -> Rows {
    let header = ["work", "speed"].map(str::to_owned).into_iter();
    let mut table = Rows::new(header.chain([heading(shown)]).collect());
    let mut baselines: Vec<Measurand> = Vec::new();
    for pair in shown.findings.workloads.iter().flat_map(|found| &found.pairs) {
        let (a, mut b) = shown.names.two_works(&shown.study.plan, &pair.contrast);
        if let Some(figure) = shown.figure(&pair.contrast) {
            b = format!("{b}, {figure}");
        }
        let against = pair.contrast.against;
        if !baselines.contains(&against) {
            baselines.push(against);
            let row = vec![a, figure(shown, &against), "(baseline)".to_owned()];
            table.push(row, vec![against.cell]);
        }
        let verdict = between(shown, pair, "baseline", "");
        let of = pair.contrast.of;
        table.push(vec![b, figure(shown, &of), verdict], vec![of.cell]);
    }
    let compared = |cell: Cell| {
        let pairs = shown.study.plan.contrasts.iter();
        pairs.flat_map(|c| [c.of, c.against]).any(|m| m.cell.workload == cell.workload)
    };
    for found in &shown.findings.workloads {
        for cell in found.cells.iter().filter(|cell| !compared(cell.cell)) {
            let figure = figure_of(shown, found, cell.cell);
            let row = vec![work(shown, found), figure, NOTHING.to_owned()];
            table.push(row, vec![cell.cell]);
        }
    }
    table
}

/// A row for each that is compared, below what it is compared with.
fn each(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let header = ["work", "", "speed"].map(str::to_owned).into_iter();
    let mut table = Rows::new(header.chain([heading(shown)]).collect());
    for found in &shown.findings.workloads {
        let mut work = work(shown, found);
        let mut baselines: Vec<Measurand> = Vec::new();
        for pair in &found.pairs {
            let against = pair.contrast.against;
            if !baselines.contains(&against) {
                baselines.push(against);
                let name = brief.setup(shown, against.cell);
                let work = std::mem::take(&mut work);
                let figure = figure(shown, &against);
                table.push(vec![work, name, figure, "(baseline)".to_owned()], vec![against.cell]);
            }
            let mut name = brief.setup(shown, pair.contrast.of.cell);
            if let Some(figure) = shown.figure(&pair.contrast) {
                name = format!("{name}, {figure}");
            }
            let figure = figure(shown, &pair.contrast.of);
            let row = vec![String::new(), name, figure, verdict(shown, brief, pair)];
            table.push(row, vec![pair.contrast.of.cell]);
        }
        for other in other_figures(shown, found) {
            let mut work = other.name.clone();
            for cell in &found.cells {
                let name = brief.setup(shown, cell.cell);
                let figure = other.figure(shown, Some(cell));
                let row = vec![std::mem::take(&mut work), name, figure, NOTHING.to_owned()];
                table.push(row, vec![cell.cell]);
            }
        }
    }
    table
}

/// Of many: the fastest, the slowest, and how many are what against the baseline.
fn extremes(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let header = ["work", "fastest", "slowest", "compared with the baseline"];
    let mut table = Rows::new(header.map(str::to_owned).into());
    for found in &shown.findings.workloads {
        let metric = Metric::all(speed(&found.workload));
        let level =
            |cell: &&CellFindings| cell.levels.get(&metric).map_or(f64::NAN, |l| l.estimate);
        let measured = || found.cells.iter().filter(|cell| level(cell).is_finite());
        let by = |a: &&CellFindings, b: &&CellFindings| level(a).total_cmp(&level(b));
        let setup_and_figure = |cell: Option<&CellFindings>| match cell {
            Some(cell) => {
                let figure = figure_of(shown, found, cell.cell);
                format!("{}\n{figure}", brief.setup(shown, cell.cell))
            }
            None => NOTHING.to_owned(),
        };
        let row = vec![
            work(shown, found),
            setup_and_figure(measured().max_by(by)),
            setup_and_figure(measured().min_by(by)),
            counts(shown, found),
        ];
        table.push(row, Vec::new());
    }
    narrowed(table)
}

/// With the counts, and then the levels of settings, in a line each, if the table is wider than a screen.
fn narrowed(mut rows: Rows) -> Rows {
    let last = rows.table.header.len() - 1;
    let columns: [(std::ops::Range<usize>, &str); 2] = [(last..last + 1, "\n"), (1..last, ",\n")];
    for (columns, broken) in columns {
        if is_narrow(&rows.table) {
            break;
        }
        let heading = &mut rows.table.header[last];
        *heading = heading.replace("with the", "with\nthe");
        for cell in rows.table.rows.iter_mut().flat_map(|row| &mut row[columns.clone()]) {
            *cell = cell.replace(", ", broken);
        }
    }
    rows
}

/// "3 faster, 12 equal, 2 slower, 1 inconclusive".
fn counts(shown: &Shown<'_>, found: &WorkloadFindings) -> String {
    let mut counts = [0; 4];
    for claim in found.pairs.iter().filter_map(|pair| {
        let by = shown.shape(pair.contrast.of.metric.measure).compared;
        Some((pair.claim.as_ref()?.verdict?, by))
    }) {
        let (verdict, by) = claim;
        let place = match verdict {
            Verdict::NoPracticalDifference(_) => 1,
            Verdict::NotResolved(_) => 3,
            Verdict::Faster(_) | Verdict::PerhapsTooLittle(_) => {
                match crate::verdict::lead(&verdict, by).faster {
                    Side::B => 0,
                    Side::A => 2,
                }
            }
        };
        counts[place] += 1;
    }
    let words = ["faster", "equal", "slower", "inconclusive"].into_iter().zip(counts);
    let words: Vec<String> =
        words.filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if words.is_empty() { "too few blocks".to_owned() } else { words.join(", ") }
}

/// What there is of a study that compares nothing.
fn levels(shown: &Shown<'_>, brief: &Brief) -> Rows {
    let confidence = crate::verdict::percent(shown.study.plan.design.confidence);
    let speed_heading = match shown.findings.imported {
        true => "speed".to_owned(),
        false => format!("speed [{confidence}]"),
    };
    let further = [
        (Measure::LATENCY_P50, "latency\np50"),
        (Measure::LATENCY_P99, "latency\np99"),
        // Of measured work, its own table has it.
        (StreamJob::LOSS, "lost"),
    ];
    let further = further
        .into_iter()
        .filter(|(measure, _)| *measure != StreamJob::LOSS || shown.findings.imported);
    let many = shown.names.setups() > 1;
    let mut header = vec!["work".to_owned()];
    if many {
        header.push(String::new());
    }
    header.push(speed_heading);
    let cells = shown.findings.workloads.iter().flat_map(|w| &w.cells);
    let levels: Vec<_> = cells.map(|cell| &cell.levels).collect();
    let known = further.filter(|(measure, _)| {
        levels.iter().any(|levels| levels.contains_key(&Metric::all(*measure)))
    });
    let known: Vec<(Measure, &str)> = known.collect();
    header.extend(known.iter().map(|(_, name)| (*name).to_owned()));
    let mut table = Rows::new(header);
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            let mut row = vec![work(shown, found)];
            if many {
                row.push(brief.setup(shown, cell.cell));
            }
            row.push(level_of(shown, found, cell));
            row.extend(known.iter().map(|(measure, _)| {
                let level = cell.levels.get(&Metric::all(*measure));
                level.map_or(NOTHING.to_owned(), |l| shown.shape(*measure).kind.value(l.estimate))
            }));
            table.push(row, vec![cell.cell]);
            for other in other_figures(shown, found) {
                let setup = many.then(|| brief.setup(shown, cell.cell));
                let figure = other.figure(shown, Some(cell));
                let row = std::iter::once(other.name).chain(setup).chain([figure]);
                let row = row.chain(known.iter().map(|_| NOTHING.to_owned())).collect();
                table.push(row, vec![cell.cell]);
            }
        }
    }
    table
}

fn verdict(shown: &Shown<'_>, brief: &Brief, pair: &Pair) -> String {
    let (mut a, mut b) = shown.two(&pair.contrast);
    let plain = |cell: Cell, name: &str| name == shown.names.setup(cell);
    if plain(pair.contrast.against.cell, &a) {
        a = brief.setup(shown, pair.contrast.against.cell);
    }
    if plain(pair.contrast.of.cell, &b) {
        b = brief.setup(shown, pair.contrast.of.cell);
    }
    between(shown, pair, &a, &b)
}

/// What is claimed of two of these names.
pub(super) fn between(shown: &Shown<'_>, pair: &Pair, a: &str, b: &str) -> String {
    let by = shown.shape(pair.contrast.of.metric.measure).compared;
    let two = Two { a, b, by };
    match &pair.claim {
        Some(claim) if shown.findings.imported => imported::brief(two, &claim.ratio),
        Some(claim) => in_brief(claim, two, column(shown)),
        None if !pair.contrast.claim => match pair.ratios.get(&pair.contrast.of.metric) {
            Some(ratio) => format!("ratio {}", plimsoll_model::units::three_digits(ratio.estimate)),
            None => NOTHING.to_owned(),
        },
        None => "nothing to compare".to_owned(),
    }
}
