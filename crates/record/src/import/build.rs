//! Runs of fio become a study.

use super::fio_work;
use super::latency::{self, Counted};
use super::malformed::{Malformed, Parsed};
use super::run::{Client, Half, Run};
use super::workloads::{ClosedLoop, Workloads, directory};
use super::{ImportFile, ImportOptions};
use crate::document;
use plimsoll_model::{
    Cause, Cell, Design, Ended, Failure, Flag, ImportedCpu, ImportedRun, LatencySummary, Length,
    Measure, Metric, OpKind, OpStats, Origin, Outcome, PartResult, Plan, PointResult, Rule, SCHEMA,
    Study, StudyId, SubjectFacts, TargetFacts, Trial,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The runs of one file, and where they came from.
pub(super) struct Source<'a> {
    pub(super) file: &'a ImportFile,
    pub(super) label: String,
    pub(super) runs: Vec<Run>,
}

/// One study of all runs, its targets in the order in which they appear.
pub(super) fn study(
    sources: Vec<Source<'_>>,
    options: &ImportOptions,
    id: StudyId,
    left_out: &mut Vec<Failure>,
) -> Study {
    let modified = sources.iter().map(|s| s.file.modified_unix_seconds).min().unwrap_or(0);
    let begun = |run: &Run| Some(run.printed_unix_seconds? - run.seconds());
    let first = sources.iter().flat_map(|s| &s.runs).filter_map(begun).reduce(f64::min);
    let started = first.filter(|s| *s >= 0.0).map_or(modified as f64, f64::floor);
    let mut targets = Targets::default();
    let mut workloads = Workloads::default();
    let mut tools = BTreeSet::new();
    let mut trials = Vec::new();
    let mut flags = Vec::new();
    let mut known: HashMap<_, Vec<Run>> = HashMap::new();
    for Source { file, label, runs } in sources {
        let together = together(&runs);
        for run in runs {
            let began = begun(&run).map_or(0.0, |s| (s - started).max(0.0));
            let measured = measured(&run, &label);
            let again = known.entry((measured.clone(), run.key())).or_default();
            // Different runs of equal runtimes are rare: the last few are enough.
            if let Some(first) = again.iter().rev().take(8).find(|other| run.is_again(other)) {
                let happened = format!(
                    "the job '{}' is the run of line {} again (same time, same figures)",
                    run.name.escape_debug(),
                    first.line
                );
                let next = "It is counted once.";
                left_out.push(Malformed::new(run.line, happened, next).in_file(&file.name));
                continue;
            }
            again.push(run.clone());
            let others = together.get(&(run.form, run.invocation, run.group));
            let others = others.map(|names| others_of(names, &run.name)).unwrap_or_default();
            let line = run.line;
            let engine = run.asked.engine.clone();
            let too_many = |why| Malformed::new(line, why, "Import fewer runs at once.");
            let taken = trial(run, others, file, options).and_then(|(done, trial)| {
                let target = targets.place(&measured);
                let subject = u16::try_from(target)
                    .map_err(|_| too_many(format!("there are more than {target} targets")))?;
                Ok((subject, workloads.number(&done).map_err(too_many)?, trial))
            });
            let (subject, workload, (trial, held)) = match taken {
                Ok(taken) => taken,
                Err(malformed) => {
                    left_out.push(malformed.in_file(&file.name));
                    continue;
                }
            };
            targets.add_engine(subject.into(), &engine);
            flags.extend(held.map(|by| {
                let run = trial.imported.as_ref().map_or_else(String::new, |run| run.name.clone());
                Flag::RateHeld { target: measured, run, by }
            }));
            tools.extend(trial.imported.as_ref().map(|run| run.tool.clone()));
            trials.push(Trial {
                number: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                started_seconds: began,
                cell: Cell { subject, workload, setting: 0 },
                ..trial
            });
        }
    }
    let longest = |trial: &Trial| trial.imported.as_ref().map_or(0.0, |run| run.runtime_seconds);
    let seconds = trials.iter().map(longest).fold(0.0, f64::max);
    let subjects = targets.facts.iter().map(|facts| directory(&facts.given)).collect();
    let workloads = workloads.planned(Length::For { seconds, warm_up_seconds: 0.0 });
    let command = options.command.clone();
    let plan = Plan { command, ..Plan::new(subjects, workloads, one_block()) };
    flags.dedup();
    Study {
        schema: SCHEMA.to_owned(),
        id,
        started_unix_seconds: started as u64,
        origin: Origin::Imported { tool: Vec::from_iter(tools).join(", ") },
        plan,
        subjects: targets.facts.into_iter().map(SubjectFacts::Storage).collect(),
        hosts: Vec::new(),
        flags,
        measures: document::measures(&[], &trials),
        trials,
        ended: Ended::Done,
    }
}

/// Design of an imported study: other tools have no blocks, idle windows or caps.
pub(super) fn one_block() -> Design {
    Design {
        rule: Rule::Fixed { blocks: 1 },
        cap_seconds: 0.0,
        baseline_seconds: 0.0,
        ..Design::default()
    }
}

/// What a run measured, by name: what the lines before it say, else the label; and from which client.
fn measured(run: &Run, label: &str) -> String {
    let target = run.section.target.as_deref().unwrap_or(label);
    match &run.client {
        Client::Alone => target.to_owned(),
        Client::One(client) => format!("{target} on {client}"),
        Client::All => format!("{target} on all clients"),
    }
}

/// The targets so far.
#[derive(Default)]
struct Targets {
    facts: Vec<TargetFacts>,
    places: HashMap<String, usize>,
}

impl Targets {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.facts.len();
        self.places.insert(name.to_owned(), place);
        self.facts.push(TargetFacts {
            label: name.to_owned(),
            given: name.to_owned(),
            stability: "not reported by fio".to_owned(),
            client_cache: "not reported by fio".to_owned(),
            ..TargetFacts::default()
        });
        place
    }

    fn add_engine(&mut self, target: usize, engine: &str) {
        let Some(facts) = self.facts.get_mut(target).filter(|_| !engine.is_empty()) else { return };
        let known = facts.engine.strip_prefix("fio with ").unwrap_or_default();
        if known.is_empty() {
            facts.engine = format!("fio with {engine}");
        } else if !known.split(", ").any(|name| name == engine) && known.len() < 80 {
            facts.engine = format!("fio with {known}, {engine}");
        }
    }
}

type Group = (super::run::Form, usize, i64);

/// The names of the jobs that ran together: those of one group of one invocation.
fn together(runs: &[Run]) -> HashMap<Group, BTreeSet<String>> {
    let mut groups: HashMap<Group, BTreeSet<String>> = HashMap::new();
    for run in runs {
        let key = (run.form, run.invocation, run.group);
        groups.entry(key).or_default().insert(run.name.clone());
    }
    groups
}

/// The first few of the others.
fn others_of(names: &BTreeSet<String>, own: &str) -> Vec<String> {
    names.iter().filter(|name| *name != own).take(4).cloned().collect()
}

fn trial(
    mut run: Run,
    others: Vec<String>,
    file: &ImportFile,
    options: &ImportOptions,
) -> Parsed<(ClosedLoop, (Trial, Option<String>))> {
    if !others.is_empty() {
        run.notes.push(format!("ran at the same time as: {}", others.join(", ")));
    }
    let done = fio_work::workload(&mut run, options)?;
    let held = fio_work::rate_held(&run);
    run.notes.extend(held.as_ref().map(|by| format!("fio held the rate: {by}")));
    let kinds = [(OpKind::READ, &run.read), (OpKind::WRITE, &run.write)];
    let halves: Vec<(OpKind, &Half)> =
        kinds.into_iter().filter_map(|(kind, half)| Some((kind, half.as_ref()?))).collect();
    let cpu = imported_cpu(&run);
    let complete = run.error.is_none();
    let outcome = match &run.error {
        None => Outcome::Complete,
        Some(error) => Outcome::Failed {
            phase: "measure".to_owned(),
            failure: Failure::new(Cause::Trial, format!("run the job '{}'", run.name))
                .on(format!("{}, line {}", file.name, run.line))
                .happened(error)
                .next("The job failed in fio: run it again."),
        },
    };
    let of_kind = |pick: fn(&Half) -> &Option<LatencySummary>| {
        halves.iter().filter_map(|(kind, half)| Some((*kind, pick(half).clone()?))).collect()
    };
    let stats = |half: &Half| OpStats {
        count: half.operations,
        bytes: half.bytes.round() as u64,
        client_latency: half.client().cloned().unwrap_or_default(),
        ..OpStats::default()
    };
    let tool = if run.version.is_empty() { "fio" } else { &run.version };
    let part = || PartResult {
        quantities: quantities(&run, cpu.as_ref()),
        ops: halves.iter().map(|(kind, half)| (*kind, stats(half))).collect(),
        ..PartResult::default()
    };
    let parts = if complete { vec![part()] } else { Vec::new() };
    let trial = Trial {
        number: 0,
        block: None,
        started_seconds: 0.0,
        result: PointResult { parts, ..PointResult::empty(outcome) },
        points: Vec::new(),
        cell: Cell::default(),
        loads: Vec::new(),
        mount: None,
        imported: Some(ImportedRun {
            tool: tool.to_owned(),
            file: file.name.clone(),
            line: run.line as u64,
            name: run.section.test.clone().unwrap_or_else(|| run.name.clone()),
            engine: run.asked.engine.clone(),
            jobs: run.asked.jobs.and_then(|n| u32::try_from(n).ok()),
            runtime_seconds: run.seconds(),
            cpu,
            depth_shares: run.depth_shares.clone(),
            submission_latency: of_kind(|half| &half.submission),
            total_latency: of_kind(|half| &half.total),
            notes: run.notes.clone(),
        }),
    };
    Ok((done, (trial, held)))
}

/// CPU seconds from percents: fio's are of the runtimes of all jobs added up, so that four jobs at
/// 3.76% use 15% of a core.
fn imported_cpu(run: &Run) -> Option<ImportedCpu> {
    let cpu = run.cpu?;
    let seconds = |percent: f64| Some(percent / 100.0 * run.job_seconds()?);
    Some(ImportedCpu {
        user_percent: cpu.user_percent,
        system_percent: cpu.system_percent,
        user_seconds: seconds(cpu.user_percent),
        system_seconds: seconds(cpu.system_percent),
        context_switches: cpu.context_switches,
        major_faults: cpu.major_faults,
        minor_faults: cpu.minor_faults,
    })
}

fn quantities(run: &Run, cpu: Option<&ImportedCpu>) -> BTreeMap<Metric, f64> {
    let mut quantities = BTreeMap::new();
    let mut all: Option<(u64, LatencySummary)> = None;
    let (mut operations, mut bytes, mut iops, mut throughput) = (0, 0.0, 0.0, 0.0);
    let sides =
        [(Some(OpKind::READ), &run.read), (Some(OpKind::WRITE), &run.write), (None, &run.unified)];
    let halves = || sides.iter().filter_map(|(kind, half)| Some((*kind, half.as_ref()?)));
    let both = halves().count() > 1;
    for (kind, half) in halves() {
        operations += half.operations;
        bytes += half.bytes;
        iops += half.iops;
        throughput += half.bytes_per_second;
        if both {
            add_rates(&mut quantities, kind, half.iops, half.bytes_per_second);
            if let Some(latency) = half.client() {
                add_latency(&mut quantities, kind, half.operations, latency);
            }
        }
        all = match (all, half.client()) {
            (None, latency) => latency.map(|l| (half.operations, l.clone())),
            (Some((n, a)), Some(b)) => {
                let before = Counted { operations: n, latency: &a };
                let own = Counted { operations: half.operations, latency: b };
                let merged = latency::merged(before, own);
                Some((n.saturating_add(half.operations), merged))
            }
            (all, None) => all,
        };
    }
    add_rates(&mut quantities, None, iops, throughput);
    if let Some((count, latency)) = &all {
        add_latency(&mut quantities, None, *count, latency);
    }
    let cpu = cpu.and_then(|cpu| Some(cpu.user_seconds? + cpu.system_seconds?));
    if let Some(seconds) = cpu.filter(|_| operations > 0) {
        let per = |amount: f64| seconds / amount;
        quantities.insert(Metric::all(Measure::CLIENT_CPU_PER_OP), per(operations as f64));
        quantities.insert(Metric::all(Measure::CLIENT_CPU_PER_BYTE), per(bytes));
    }
    quantities.retain(|_, value| value.is_finite());
    quantities
}

fn add_rates(
    quantities: &mut BTreeMap<Metric, f64>,
    kind: Option<OpKind>,
    iops: f64,
    throughput: f64,
) {
    quantities.insert(Metric { kind, measure: Measure::IOPS }, iops);
    quantities.insert(Metric { kind, measure: Measure::THROUGHPUT }, throughput);
}

/// A quantile q counts as a figure only if n(1-q) is at least 20, as for plimsoll's own trials.
pub(super) fn add_latency(
    quantities: &mut BTreeMap<Metric, f64>,
    kind: Option<OpKind>,
    count: u64,
    latency: &LatencySummary,
) {
    let mut add = |measure, value| quantities.insert(Metric { kind, measure }, value);
    add(Measure::LATENCY_MEAN, latency.mean_seconds);
    add(Measure::LATENCY_MAX, latency.max_seconds);
    for (name, measure, least) in
        [("0.5", Measure::LATENCY_P50, 40), ("0.99", Measure::LATENCY_P99, 2000)]
    {
        if let Some(value) = latency.quantile(name).filter(|_| count >= least) {
            add(measure, value);
        }
    }
}
