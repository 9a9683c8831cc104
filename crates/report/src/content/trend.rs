//! Several studies: how the speed of each subject has gone from one to the next.

use super::shape::{Content, Figure, MOST_LINES, Method, Part, Warning, kind, only_some};
use super::study::study;
use crate::chart::{Axis, COUNT, Line, Lines, Point, Table};
use crate::date::utc;
use crate::figure::ends;
use crate::measure::Compared;
use crate::names;
use crate::study::{Shown, imported, speed, warnings};
use crate::text::{capital, counted, listed, printable};
use crate::verdict::{Two, lead, sentence};
use plimsoll_explain::Claim;
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Metric, Study, Workload};
use plimsoll_stats::verdict::{Side, Verdict};

/// The page of several studies, oldest first. Of one study: its own page.
pub(crate) fn trend(studies: &[Study]) -> Content {
    if let [one] = studies {
        return study(one);
    }
    let mut sorted: Vec<&Study> = studies.iter().collect();
    sorted.sort_by_key(|study| study.started_unix_seconds);
    let all: Vec<Shown<'_>> = sorted.into_iter().map(Shown::new).collect();
    let mut parts: Vec<Part> = verdicts(&all).into_iter().collect();
    parts.extend(workloads(&all).iter().enumerate().filter_map(|(i, w)| part(&all, i, w)));
    parts.push(list(&all));
    let answer = answer(&all);
    Content {
        title: format!("{} studies, one after the other", all.len()),
        subtitle: match (all.first(), all.last()) {
            (Some(first), Some(last)) => format!(
                "{} to {}",
                utc(first.study.started_unix_seconds),
                utc(last.study.started_unix_seconds)
            ),
            _ => "No study".to_owned(),
        },
        failure: None,
        answer,
        further: Vec::new(),
        parts,
        method: method(&all),
        warnings: all.iter().flat_map(warned).collect(),
    }
}

/// What has become of the first study's figures in the last, in a sentence, and what such a
/// comparison is worth.
fn answer(all: &[Shown<'_>]) -> Vec<String> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return vec!["There is nothing to report.".to_owned()];
    };
    let claims: Vec<(Claim, Compared)> = plimsoll_explain::across(first.study, last.study)
        .counterparts
        .into_iter()
        .filter_map(|found| Some((found.claim?, compared(first, found.a))))
        .collect();
    if claims.is_empty() {
        return vec!["The first and the last study have nothing in common to compare.".to_owned()];
    }
    if single_runs(first, last) {
        return vec![
            format!("From {} to {}: {}.", name(first), name(last), ratios_of_runs(&claims)),
            imported::CAUTION.to_owned(),
        ];
    }
    let verdict = |(claim, by): &(Claim, Compared)| Some((claim.verdict?, *by));
    let verdicts: Vec<(Verdict, Compared)> = claims.iter().filter_map(verdict).collect();
    if verdicts.is_empty() {
        return vec!["Too few trials of the first and the last study to compare them.".to_owned()];
    }
    let count = |is: &dyn Fn(&Verdict, Compared) -> bool| {
        verdicts.iter().filter(|(verdict, by)| is(verdict, *by)).count()
    };
    let towards = |side: Side, word: Compared| {
        count(&|v, by| {
            by.more() == word.more() && v.faster().is_some() && lead(v, by).faster == side
        })
    };
    let counts = [
        (towards(Side::B, Compared::Rate), Compared::Rate.more()),
        (towards(Side::A, Compared::Rate), Compared::Rate.less()),
        (towards(Side::B, Compared::Amount), Compared::Amount.more()),
        (towards(Side::A, Compared::Amount), Compared::Amount.less()),
        (
            count(&|v, _| matches!(v, Verdict::NoPracticalDifference(_))),
            "the same for practical purposes",
        ),
        (count(&|v, _| matches!(v, Verdict::NotResolved(_))), "not resolved"),
    ];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let compared = counted(verdicts.len() as u64, "comparison");
    vec![
        format!(
            "From {} to {}, of {compared}: {}.",
            name(first),
            name(last),
            listed(&counts.collect::<Vec<_>>())
        ),
        "Measured at different times: whatever changed in between, on servers, network and this \
         machine, is in the difference."
            .to_owned(),
    ]
}

/// Whether either side is another tool's: then no ratio has an interval, and nothing a verdict.
fn single_runs(first: &Shown<'_>, last: &Shown<'_>) -> bool {
    first.findings.imported || last.findings.imported
}

/// What a ratio of the headline of this workload means.
fn compared(shown: &Shown<'_>, cell: Cell) -> Compared {
    let workload = shown.study.plan.workload(cell);
    let headline = workload.and_then(Workload::main).map(|part| part.job.headline());
    headline.map_or(Compared::Amount, |metric| shown.shape(metric.measure).compared)
}

/// "of 5 ratios, 3 faster and 2 slower".
fn ratios_of_runs(claims: &[(Claim, Compared)]) -> String {
    let count = |is: fn(f64) -> bool| {
        claims.iter().filter(|(claim, by)| is(imported::of(&claim.ratio, *by))).count()
    };
    let counts = [
        (count(|r| r >= imported::ALIKE), "faster"),
        (count(|r| r <= 1.0 / imported::ALIKE), "slower"),
        (count(|r| r < imported::ALIKE && r > 1.0 / imported::ALIKE), "equally fast"),
    ];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let ratios = counted(claims.len() as u64, "ratio");
    format!("of {ratios}, {}", listed(&counts.collect::<Vec<_>>()))
}

/// The last study against the first, what both measured.
fn verdicts(all: &[Shown<'_>]) -> Option<Part> {
    let (first, last) = (all.first()?, all.last()?);
    let (a, b) = (name(first), name(last));
    let header = ["work", "target", &format!("{b} / {a}"), "verdict"];
    let mut table = Table::new(header.map(str::to_owned).into());
    for found in plimsoll_explain::across(first.study, last.study).counterparts {
        let runs = single_runs(first, last);
        let Some(claim) = found.claim.filter(|c| runs || c.verdict.is_some()) else { continue };
        let two = Two { a: &a, b: &b, by: compared(first, found.a) };
        let verdict = match runs {
            true => imported::faster(two, &claim.ratio),
            false => sentence(&claim, two, None),
        };
        let interval = claim.ratio.interval.map(|i| format!(" {}", ends(i.low, i.high)));
        table.rows.push(vec![
            capital(&first.names.workload(found.a.workload)),
            first.names.setup(found.a),
            three_digits(claim.ratio.estimate) + &interval.unwrap_or_default(),
            verdict,
        ]);
    }
    (!table.rows.is_empty()).then(|| Part {
        id: "verdicts".to_owned(),
        heading: "The last against the first".to_owned(),
        table: Some(table),
        ..Part::default()
    })
}

fn name(shown: &Shown<'_>) -> String {
    printable(&shown.study.id.0)
}

fn list(all: &[Shown<'_>]) -> Part {
    let header = ["study", "begun", "targets", "complete trials", "command"];
    let mut table = Table::new(header.map(str::to_owned).into());
    table.rows.extend(all.iter().map(|shown| {
        let complete: usize =
            shown.findings.workloads.iter().flat_map(|w| &w.cells).map(|c| c.complete).sum();
        let targets = match shown.names.subjects.len() {
            0..=4 => listed(&shown.names.subjects),
            n => format!("{n} targets"),
        };
        let command = printable(&shown.study.plan.command);
        let begun = utc(shown.study.started_unix_seconds);
        vec![name(shown), begun, targets, complete.to_string(), command]
    }));
    Part {
        id: "studies".to_owned(),
        heading: "Studies".to_owned(),
        table: Some(table),
        ..Part::default()
    }
}

/// Every workload of any of the studies, once, with its name.
fn workloads(all: &[Shown<'_>]) -> Vec<(Workload, String)> {
    let mut found: Vec<(Workload, String)> = Vec::new();
    for shown in all {
        for w in &shown.findings.workloads {
            if !found.iter().any(|(other, _)| same(other, &w.workload)) {
                found.push((w.workload.clone(), shown.names.workload(w.number)));
            }
        }
    }
    found
}

/// Whether the same is done, for however long.
fn same(a: &Workload, b: &Workload) -> bool {
    (&a.parts, &a.steps) == (&b.parts, &b.steps)
}

/// What a subject was given as, and its setting: the same words are the same.
fn given(shown: &Shown<'_>, cell: Cell) -> (String, String) {
    let subject = usize::from(cell.subject);
    let given = match shown.study.subjects.get(subject) {
        Some(facts) if !facts.given().is_empty() => facts.given().to_owned(),
        _ => shown.study.plan.subjects.get(subject).map(ToString::to_string).unwrap_or_default(),
    };
    (given, shown.names.levels(cell.setting))
}

fn part(all: &[Shown<'_>], number: usize, (workload, name): &(Workload, String)) -> Option<Part> {
    let measure = speed(workload);
    let mut lines: Vec<((String, String), Line)> = Vec::new();
    for (place, shown) in all.iter().enumerate() {
        let found = shown.findings.workloads.iter().find(|w| same(&w.workload, workload));
        for cell in found.iter().flat_map(|w| &w.cells) {
            let Some(level) = cell.levels.get(&Metric::all(measure)) else { continue };
            let point = Point {
                x: place as f64,
                y: level.estimate,
                band: level.interval.map(|i| (i.low, i.high)),
            };
            let key = given(shown, cell.cell);
            match lines.iter_mut().find(|(given, _)| *given == key) {
                Some((_, line)) => line.points.push(point),
                None => {
                    let label = shown.names.setup(cell.cell);
                    let line = Line { label, series: lines.len(), points: vec![point] };
                    lines.push((key, line));
                }
            }
        }
    }
    let shape = all.first()?.shape(measure);
    let count = lines.len();
    let lines: Vec<Line> = lines.into_iter().take(MOST_LINES).map(|(_, line)| line).collect();
    let name = capital(name);
    let points = match all.iter().all(|shown| shown.findings.imported) {
        true => "Geometric mean of each study's runs, which has no interval.",
        false => "Geometric mean of each study's blocks with its interval.",
    };
    let caption = format!(
        "{points} The studies stand in their order, not at their times.{}",
        only_some(MOST_LINES, count)
    );
    let chart = Lines {
        title: format!("{name}: {}", shape.name),
        description: caption.clone(),
        x: Axis::new("study", COUNT),
        y: Axis::new(&shape.name, shape.kind),
        lines,
        phases: Vec::new(),
        names: all.iter().map(self::name).collect(),
    };
    let id = format!("{}-{}", kind(workload), number + 1);
    let figure = Figure { id: format!("{id}-trend"), chart: Box::new(chart), caption };
    (count > 0).then(|| Part {
        id,
        heading: name,
        remarks: vec![format!("{}.", names::settings(workload))],
        figures: vec![figure],
        ..Part::default()
    })
}

fn method(all: &[Shown<'_>]) -> Method {
    let compared = match all.first().zip(all.last()) {
        Some((first, last)) if single_runs(first, last) => {
            "The last study is compared with the first by the ratio of its runs' throughputs, which \
             has no interval: figures of another tool are single runs in an unknown order."
        }
        _ => {
            "The last study is compared with the first by Welch's interval on the logarithms of the \
             trials' throughputs; the margin is the first one's."
        }
    };
    Method {
        sentences: vec![
            format!("{compared} A target is the same where it was given in the same words."),
            "How each was measured is in its own report.".to_owned(),
        ],
        tables: Vec::new(),
        commands: all.iter().map(|shown| printable(&shown.study.plan.command)).collect(),
    }
}

fn warned(shown: &Shown<'_>) -> Vec<Warning> {
    let study = name(shown);
    let of_study =
        |w: warnings::Warning| Warning { text: format!("{study}: {}", w.text), advice: w.advice };
    warnings::all(shown).into_iter().map(of_study).collect()
}
