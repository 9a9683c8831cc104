//! Several studies: how the throughput of each target has gone from one to the next.

use super::shape::{Content, Figure, MOST_LINES, Method, Part, Warning, only_some, speed};
use super::study::study;
use crate::chart::{Axis, COUNT, Line, Lines, Point, Table};
use crate::date::utc;
use crate::figure::ends;
use crate::names;
use crate::study::{Shown, imported, warnings};
use crate::text::{capital, counted, listed, printable};
use crate::verdict::{Two, sentence};
use plimsoll_explain::Claim;
use plimsoll_model::units::three_digits;
use plimsoll_model::{Metric, Study, Workload};
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
        trouble: None,
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
    let claims: Vec<Claim> = plimsoll_explain::across(first.study, last.study)
        .counterparts
        .into_iter()
        .filter_map(|found| found.claim)
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
    let verdicts: Vec<Verdict> = claims.iter().filter_map(|claim| claim.verdict).collect();
    if verdicts.is_empty() {
        return vec!["Too few trials of the first and the last study to compare them.".to_owned()];
    }
    let count = |is: &dyn Fn(&Verdict) -> bool| verdicts.iter().filter(|v| is(v)).count();
    let towards = |side: Side| count(&|v| v.faster() == Some(side));
    let counts = [
        (towards(Side::B), "faster"),
        (towards(Side::A), "slower"),
        (
            count(&|v| matches!(v, Verdict::NoPracticalDifference(_))),
            "the same for practical purposes",
        ),
        (count(&|v| matches!(v, Verdict::NotResolved(_))), "not resolved"),
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

/// "of 5 ratios, 3 faster and 2 slower".
fn ratios_of_runs(claims: &[Claim]) -> String {
    let count = |is: fn(f64) -> bool| claims.iter().filter(|c| is(c.ratio.estimate)).count();
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
        let said = match runs {
            true => imported::faster(&a, &b, &claim.ratio),
            false => sentence(&claim, Two { a: &a, b: &b }, None),
        };
        let interval = claim.ratio.interval.map(|i| format!(" {}", ends(i.low, i.high)));
        table.rows.push(vec![
            capital(&names::pattern(found.workload_a.pattern)),
            names::of(&first.names, found.target_a),
            three_digits(claim.ratio.estimate) + &interval.unwrap_or_default(),
            said,
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
            shown.findings.workloads.iter().flat_map(|w| &w.targets).map(|t| t.complete).sum();
        let targets = match shown.names.len() {
            0..=4 => listed(&shown.names),
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

/// Every workload of any of the studies, once.
fn workloads(all: &[Shown<'_>]) -> Vec<Workload> {
    let mut found: Vec<Workload> = Vec::new();
    for workload in all.iter().flat_map(|s| &s.findings.workloads).map(|w| &w.workload) {
        if !found.contains(workload) {
            found.push(workload.clone());
        }
    }
    found
}

/// What a target was given as: the same words are the same target.
fn given(shown: &Shown<'_>, target: usize) -> String {
    match shown.study.targets.get(target) {
        Some(facts) if !facts.given.is_empty() => facts.given.clone(),
        _ => shown.study.plan.targets.get(target).map(ToString::to_string).unwrap_or_default(),
    }
}

fn part(all: &[Shown<'_>], number: usize, workload: &Workload) -> Option<Part> {
    let (measure, title, kind) = speed(workload.pattern);
    let mut lines: Vec<(String, Line)> = Vec::new();
    for (place, shown) in all.iter().enumerate() {
        let found = shown.findings.workloads.iter().find(|w| w.workload == *workload);
        for target in found.iter().flat_map(|w| &w.targets) {
            let Some(level) = target.levels.get(&Metric::all(measure)) else { continue };
            let point = Point {
                x: place as f64,
                y: level.estimate,
                band: level.interval.map(|i| (i.low, i.high)),
            };
            let key = given(shown, target.target);
            match lines.iter_mut().find(|(given, _)| *given == key) {
                Some((_, line)) => line.points.push(point),
                None => {
                    let label = names::of(&shown.names, target.target);
                    let line = Line { label, series: lines.len(), points: vec![point] };
                    lines.push((key, line));
                }
            }
        }
    }
    let count = lines.len();
    let lines: Vec<Line> = lines.into_iter().take(MOST_LINES).map(|(_, line)| line).collect();
    let name = capital(&names::pattern(workload.pattern));
    let points = match all.iter().all(|shown| shown.findings.imported) {
        true => "Geometric mean of each study's runs, which has no interval.",
        false => "Geometric mean of each study's blocks with its interval.",
    };
    let caption = format!(
        "{points} The studies stand in their order, not at their times.{}",
        only_some(MOST_LINES, count)
    );
    let chart = Lines {
        title: format!("{name}: {title}"),
        description: caption.clone(),
        x: Axis::new("study", COUNT),
        y: Axis::new(title, kind),
        lines,
        phases: Vec::new(),
        names: all.iter().map(self::name).collect(),
    };
    let id = format!("{}-{}", workload.pattern.name(), number + 1);
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
    let told =
        |w: warnings::Warning| Warning { text: format!("{study}: {}", w.text), advice: w.advice };
    warnings::all(shown).into_iter().map(told).collect()
}
