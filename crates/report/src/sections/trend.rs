//! Several studies: how the speed of each subject has gone from one to the next.

use super::changed::not_compared;
use super::common::{self, MOST_LINES, kind, only_some};
use crate::chart::{Axis, COUNT, Line, Lines, Point, Table};
use crate::compared::Compared;
use crate::date::utc;
use crate::document::{Document, Figure, Layout, Section, Warning};
use crate::names;
use crate::study::{Shown, imported, speed, warnings};
use crate::text::{capital, counted, listed, printable};
use crate::verdict::{Column, Two, brief, lead};
use plimsoll_explain::{Change, Claim};
use plimsoll_model::{Cell, Metric, Plan, Study, Workload};
use plimsoll_stats::verdict::{Side, Verdict};

impl Document {
    /// The report of several studies as a trend, oldest first; of one study, its own.
    pub fn of_studies(studies: &[Study]) -> Document {
        if let [one] = studies {
            return Document::of_study(one);
        }
        let mut sorted: Vec<&Study> = studies.iter().collect();
        sorted.sort_by_key(|study| study.started_unix_seconds);
        let all: Vec<Shown<'_>> = sorted.into_iter().map(Shown::new).collect();
        let mut answer = Section::new("answer", "");
        answer.table(verdicts(&all), Layout::Words);
        answer.texts(self::answer(&all));
        answer.warnings(apart(&all));
        answer.warnings(all.iter().flat_map(warned));
        let mut sections = vec![answer];
        let workloads = workloads(&all);
        let numbered = workloads.iter().enumerate();
        sections.extend(numbered.filter_map(|(i, (work, name))| section(&all, i, work, name)));
        sections.push(list(&all));
        sections.push(method(&all));
        Document {
            title: format!("{} studies in order", all.len()),
            subtitle: match (all.first(), all.last()) {
                (Some(first), Some(last)) => format!(
                    "{} to {}",
                    utc(first.study.started_unix_seconds),
                    utc(last.study.started_unix_seconds)
                ),
                _ => "No study".to_owned(),
            },
            extent: String::new(),
            sections,
        }
    }
}

/// What has become of the first study's figures in the last, in a sentence, and what such a
/// comparison is worth.
fn answer(all: &[Shown<'_>]) -> Vec<String> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return vec!["No studies.".to_owned()];
    };
    let across = plimsoll_explain::across(first.study, last.study);
    let in_common = !across.unequal.is_empty() || !across.counterparts.is_empty();
    let claims: Vec<(Claim, Compared)> = across
        .counterparts
        .into_iter()
        .filter(|found| found.conditions.is_empty())
        .filter_map(|found| Some((found.claim?, compared(first, found.a))))
        .collect();
    if claims.is_empty() {
        let nothing = if in_common { "no equal work" } else { "nothing" };
        return vec![format!(
            "The first and the last study cannot be compared, because they have {nothing} in common."
        )];
    }
    if single_runs(first, last) {
        return vec![
            format!("From {} to {}: {}.", name(first), name(last), ratios_of_runs(&claims)),
            imported::caution(last.study),
        ];
    }
    let verdict = |(claim, by): &(Claim, Compared)| Some((claim.verdict?, *by));
    let verdicts: Vec<(Verdict, Compared)> = claims.iter().filter_map(verdict).collect();
    if verdicts.is_empty() {
        return vec!["The first and the last study have too few trials to be compared.".to_owned()];
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
        (count(&|v, _| matches!(v, Verdict::NoPracticalDifference(_))), "practically equal"),
        (count(&|v, _| matches!(v, Verdict::NotResolved(_))), "inconclusive"),
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
        "The studies were measured at different times, so a difference includes all changes of servers, \
         network and this machine in between."
            .to_owned(),
    ]
}

/// What the first and the last study have in common and is not compared, and why.
fn apart(all: &[Shown<'_>]) -> Option<Warning> {
    let (first, last) = (all.first()?, all.last()?);
    let across = plimsoll_explain::across(first.study, last.study);
    let work = across.unequal.iter().map(|found| (found.a, &found.differences[..]));
    let conditions = across.counterparts.iter().map(|found| (found.a, &found.conditions[..]));
    let conditions = conditions.filter(|(_, differ)| !differ.is_empty());
    not_compared(first, work.chain(conditions))
}

/// Whether either side is another tool's: then no ratio has an interval, and nothing a verdict.
fn single_runs(first: &Shown<'_>, last: &Shown<'_>) -> bool {
    first.findings.imported || last.findings.imported
}

/// What a ratio of the headline of this workload means.
fn compared(shown: &Shown<'_>, cell: Cell) -> Compared {
    let workload = shown.study.plan.workload(cell);
    let headline = workload.and_then(Workload::main).map(|part| part.headline());
    headline.map_or(Compared::Amount, |metric| shown.shape(metric.measure).compared)
}

/// "of 5 ratios, 3 faster and 2 slower".
fn ratios_of_runs(claims: &[(Claim, Compared)]) -> String {
    let count = |is: fn(f64) -> bool| {
        claims.iter().filter(|(claim, by)| is(imported::lead_of_b(&claim.ratio, *by))).count()
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
fn verdicts(all: &[Shown<'_>]) -> Table {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Table::new(Vec::new());
    };
    let (a, b) = (name(first), name(last));
    let heading = common::verdicts(first.study.plan.design.confidence, single_runs(first, last));
    let mut table =
        Table::new(vec!["work".into(), "subject".into(), a.clone(), b.clone(), heading]);
    let level = |shown: &Shown<'_>, cell: Cell| {
        let found = shown.findings.workloads.get(usize::from(cell.workload));
        let known = found.and_then(|found| {
            let measure = speed(&found.workload);
            let cell = found.cells.iter().find(|c| c.cell == cell)?;
            let level = cell.levels.get(&Metric::all(measure))?;
            Some(shown.shape(measure).plain(level.estimate))
        });
        known.unwrap_or_else(|| "–".to_owned())
    };
    let across = plimsoll_explain::across(first.study, last.study);
    let row = |in_a: Cell, in_b: Cell, verdict: String| {
        let (work, subject) = (first.names.workload(in_a.workload), first.names.setup(in_a));
        vec![work, subject, level(first, in_a), level(last, in_b), verdict]
    };
    let claims = across.counterparts.iter().filter_map(|found| {
        let claim = found.claim.as_ref().filter(|_| found.conditions.is_empty())?;
        Some((claim, compared(first, found.a)))
    });
    let column = Column::new(claims, first.study.plan.design.margin);
    for found in across.counterparts {
        if !found.conditions.is_empty() {
            table.rows.push(row(found.a, found.b, common::OTHER_WORK.to_owned()));
            continue;
        }
        let runs = single_runs(first, last);
        let Some(claim) = found.claim.filter(|c| runs || c.verdict.is_some()) else { continue };
        let two = Two { a: &a, b: &b, by: compared(first, found.a) };
        let verdict = match runs {
            true => imported::brief(two, &claim.ratio),
            false => brief(&claim, two, column),
        };
        table.rows.push(row(found.a, found.b, verdict));
    }
    let other = across.unequal.iter().map(|found| (found.a, found.b));
    table.rows.extend(other.map(|(a, b)| row(a, b, common::OTHER_WORK.to_owned())));
    table
}

fn name(shown: &Shown<'_>) -> String {
    printable(&shown.study.id.0)
}

fn list(all: &[Shown<'_>]) -> Section {
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
    let mut section = Section::details("studies", "Studies");
    section.table(table, Layout::Words);
    section
}

/// Every workload of any of the studies, once, with its name.
fn workloads(all: &[Shown<'_>]) -> Vec<(Workload, String)> {
    let mut found: Vec<Workload> = Vec::new();
    for shown in all {
        for w in &shown.findings.workloads {
            if !found.iter().any(|other| same(other, &w.workload)) {
                found.push(w.workload.clone());
            }
        }
    }
    let Some(first) = all.first() else { return Vec::new() };
    // Other work of the same title is called by what sets it apart, as within a study.
    let together = Plan { workloads: found.clone(), ..first.study.plan.clone() };
    let names = names::workloads(&together);
    found.into_iter().zip(names).collect()
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

/// A line of a trend, and the first cell of it: it goes on where nothing of the work, the protocol and the
/// client differs.
struct Trend<'a> {
    first: (&'a Shown<'a>, Cell),
    line: Line,
}

impl Trend<'_> {
    /// In what a cell differs from the line's first; `None` where it is of another subject or setting.
    fn differs(&self, shown: &Shown<'_>, cell: Cell) -> Option<Vec<Change>> {
        let (first, of) = self.first;
        (given(first, of) == given(shown, cell))
            .then(|| plimsoll_explain::apart(first.study, of, shown.study, cell))
    }
}

fn section<'a>(
    all: &'a [Shown<'a>],
    number: usize,
    workload: &Workload,
    name: &str,
) -> Option<Section> {
    let measure = speed(workload);
    let mut lines: Vec<Trend<'_>> = Vec::new();
    for (place, shown) in all.iter().enumerate() {
        let found = shown.findings.workloads.iter().find(|w| same(&w.workload, workload));
        for cell in found.iter().flat_map(|w| &w.cells) {
            let Some(level) = cell.levels.get(&Metric::all(measure)) else { continue };
            let point = Point {
                x: place as f64,
                y: level.estimate,
                band: level.interval.map(|i| (i.low, i.high)),
            };
            let differs: Vec<Option<Vec<Change>>> =
                lines.iter().map(|trend| trend.differs(shown, cell.cell)).collect();
            match differs.iter().position(|differs| differs.as_ref().is_some_and(Vec::is_empty)) {
                Some(same) => lines[same].line.points.push(point),
                None => {
                    let apart = differs.into_iter().flatten().flatten();
                    let apart: Vec<String> =
                        apart.map(|c| format!("{} {}", c.what, printable(&c.after))).collect();
                    let setup = shown.names.setup(cell.cell);
                    let label = match apart.is_empty() {
                        true => setup,
                        false => format!("{setup}, {}", listed(&apart)),
                    };
                    let line = Line { label, series: lines.len(), points: vec![point] };
                    lines.push(Trend { first: (shown, cell.cell), line });
                }
            }
        }
    }
    let shape = all.first()?.shape(measure);
    let count = lines.len();
    let lines: Vec<Line> = lines.into_iter().take(MOST_LINES).map(|trend| trend.line).collect();
    let name = capital(name);
    let points = match all.iter().all(|shown| shown.findings.imported) {
        true => "Geometric mean of the runs of each study, without an interval.",
        false => "Geometric mean of the blocks of each study, with its interval.",
    };
    let caption = format!(
        "{points} The axis shows the order of the studies, not their times.{}",
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
    if count == 0 {
        return None;
    }
    let mut section = Section::new(id.clone(), name);
    section.text(format!("{}.", capital(&names::settings(workload))));
    section.figures([Figure::new(format!("{id}-trend"), Box::new(chart), caption)]);
    Some(section)
}

fn method(all: &[Shown<'_>]) -> Section {
    let compared = match all.first().zip(all.last()) {
        Some((first, last)) if single_runs(first, last) => {
            "The last study is compared with the first by the ratio of the throughputs. The ratio has no \
             interval, because figures of another tool are single runs in an unknown order."
        }
        _ => {
            "The last study is compared with the first by Welch's interval on the logarithms of the \
             trials' throughputs; the margin is the margin of the first study."
        }
    };
    let mut section = Section::details("method", "Method");
    section.list(vec![
        format!("{compared} Targets are the same if they were given in the same words."),
        "The report of each study describes its measurement.".to_owned(),
    ]);
    for shown in all {
        section.command("To repeat it", printable(&shown.study.plan.command), String::new());
    }
    section
}

fn warned(shown: &Shown<'_>) -> Vec<Warning> {
    let study = name(shown);
    let of_study =
        |warning: Warning| Warning { text: format!("{study}: {}", warning.text), ..warning };
    warnings::all(shown, false).into_iter().map(of_study).collect()
}
