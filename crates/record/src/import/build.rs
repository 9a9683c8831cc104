//! Runs of fio become a study.

use super::pattern::{self, Kind};
use super::run::{Half, Run};
use super::trouble::{Told, Trouble};
use super::{ImportFile, ImportOptions, latency};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Cell, Ended, Failure, ImportedCpu, ImportedRun, LatencySummary, Layout, Measure, Metric,
    OpKind, OpStats, Origin, Outcome, Pattern, Plan, Rule, SCHEMA, Series, Side, Stability, Study,
    StudyId, TargetFacts, Trial, TrialResult, Workload,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroU16;

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
) -> Result<Study, Failure> {
    let modified = sources.iter().map(|s| s.file.modified_unix_seconds).min().unwrap_or(0);
    let begun = |run: &Run| Some(run.printed_unix_seconds? - run.seconds());
    let first = sources.iter().flat_map(|s| &s.runs).filter_map(begun).reduce(f64::min);
    let started = first.filter(|s| *s >= 0.0).map_or(modified as f64, f64::floor);
    let mut targets = Targets::default();
    let mut workloads = Vec::new();
    let mut seen = HashSet::new();
    let mut tools = BTreeSet::new();
    let mut trials = Vec::new();
    for Source { file, label, runs } in sources {
        let together = together(&runs);
        for run in runs {
            let began = begun(&run).map_or(0.0, |s| (s - started).max(0.0));
            let target = targets.place(run.section.target.as_deref().unwrap_or(&label));
            targets.add_engine(target, &run.asked.engine);
            let others = together.get(&(run.form, run.invocation, run.group));
            let others = others.map(|names| others_of(names, &run.name)).unwrap_or_default();
            let trial = trial(run, others, file, options).map_err(|t| t.in_file(&file.name))?;
            let workload = &trial.cell.workload;
            if seen.insert(workload.clone()) {
                workloads.push(workload.clone());
            }
            tools.extend(trial.imported.as_ref().map(|run| run.tool.clone()));
            trials.push(Trial {
                number: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                started_seconds: began,
                cell: Cell { target, ..trial.cell },
                ..trial
            });
        }
    }
    let longest = |trial: &Trial| trial.imported.as_ref().map_or(0.0, |run| run.runtime_seconds);
    Ok(Study {
        schema: SCHEMA.to_owned(),
        id,
        started_unix_seconds: started as u64,
        origin: Origin::Imported { tool: Vec::from_iter(tools).join(", ") },
        plan: Plan {
            targets: Vec::new(),
            workloads,
            trial_seconds: trials.iter().map(longest).fold(0.0, f64::max),
            warm_up_seconds: 0.0,
            rule: Rule::Fixed { blocks: 1 },
            cap_seconds: 0.0,
            baseline_seconds: 0.0,
            margin: 0.05,
            confidence: 0.95,
            operation_timeout_seconds: 0.0,
            seed: 0,
            on: None,
            server_memory: None,
            hosts: Vec::new(),
            engine: None,
            adapt_size: false,
            fit_size: false,
            command: options.command.clone(),
        },
        targets: targets.facts,
        hosts: Vec::new(),
        flags: Vec::new(),
        trials,
        ended: Ended::Done,
    })
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
            stability: "not told by fio".to_owned(),
            client_cache: "not told by fio".to_owned(),
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
) -> Told<Trial> {
    let pattern = known_pattern(&run, options)?;
    if !others.is_empty() {
        run.notes.push(format!("ran at the same time as: {}", others.join(", ")));
    }
    fit(&mut run, pattern)?;
    let workload = workload(&mut run, pattern)?;
    let kinds = [(OpKind::Read, &run.read), (OpKind::Write, &run.write)];
    let halves: Vec<(OpKind, &Half)> =
        kinds.into_iter().filter_map(|(kind, half)| Some((kind, half.as_ref()?))).collect();
    let cpu = imported_cpu(&run);
    let complete = run.error.is_none();
    let outcome = match &run.error {
        None => Outcome::Complete,
        Some(error) => Outcome::Failed {
            phase: "measure".to_owned(),
            failure: Failure::new(
                Cause::Trial,
                format!("run the job '{}'", run.name),
                format!("{}, line {}", file.name, run.line),
                error,
                "It failed when fio ran it; run it again.",
            ),
        },
    };
    let of_kind = |pick: fn(&Half) -> &Option<LatencySummary>| {
        halves.iter().filter_map(|(kind, half)| Some((*kind, pick(half).clone()?))).collect()
    };
    let stats = |half: &Half| OpStats {
        count: half.operations,
        bytes: half.bytes.round() as u64,
        client_latency: client(half).cloned().unwrap_or_default(),
        ..OpStats::default()
    };
    let tool = if run.version.is_empty() { "fio" } else { &run.version };
    Ok(Trial {
        number: 0,
        block: None,
        started_seconds: 0.0,
        result: TrialResult {
            outcome,
            quantities: if complete { quantities(&run, cpu.as_ref()) } else { BTreeMap::new() },
            ops: match complete {
                true => halves.iter().map(|(kind, half)| (*kind, stats(half))).collect(),
                false => BTreeMap::new(),
            },
            series: Series::default(),
            flags: Vec::new(),
        },
        cell: Cell { target: 0, workload },
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
    })
}

fn known_pattern(run: &Run, options: &ImportOptions) -> Told<Pattern> {
    let name = run.name.escape_debug();
    match pattern::of(run, options.pattern) {
        Kind::Known(pattern) => Ok(pattern),
        Kind::Foreign(what) => Err(Trouble::new(
            run.line,
            format!("the job '{name}' did {what}, for which plimsoll has no pattern"),
            "Expected read, write, randread, randwrite or randrw; take the job out of the file.",
        )),
        Kind::Unknown => Err(Trouble::new(
            run.line,
            format!("the pattern of the job '{name}' is not told, nor its name clear"),
            "Name it with --pattern, import a file for each pattern.",
        )),
    }
}

/// Makes sure that the figures are those of the pattern, and takes out those that are not.
fn fit(run: &mut Run, pattern: Pattern) -> Told<()> {
    let mixed = pattern == Pattern::RandomMixed;
    if !mixed && pattern.writes() && run.write.is_some() && run.read.take().is_some() {
        run.notes.push("reads ran as well, to verify; they are left out".to_owned());
    }
    let fits = match pattern {
        Pattern::RandomMixed => run.halves().next().is_some(),
        _ if pattern.reads() => run.read.is_some() && run.write.is_none(),
        _ => run.write.is_some(),
    };
    if !fits && run.error.is_none() {
        return Err(Trouble::new(
            run.line,
            format!("the job '{}' has no figures of {pattern}", run.name.escape_debug()),
            "Check --pattern, and that the job did what it was asked for.",
        ));
    }
    if let (true, Some(read), Some(write)) = (mixed, &run.read, &run.write) {
        let share = read.operations as f64 / (read.operations as f64 + write.operations as f64);
        if !(0.45..=0.55).contains(&share) {
            run.notes.push(format!(
                "{:.0}% of the operations were reads, not half as plimsoll's mixed pattern has it",
                share * 100.0
            ));
        }
    }
    let percentiles = |half: &Half| client(half).is_none_or(|l| !l.quantiles_seconds.is_empty());
    if run.asked.jobs.is_some_and(|n| n > 1) && !run.halves().all(percentiles) {
        run.notes.push(
            "percentiles of separate jobs cannot be put together: run fio with \
             --group_reporting"
                .to_owned(),
        );
    }
    Ok(())
}

fn workload(run: &mut Run, pattern: Pattern) -> Told<Workload> {
    let operations: f64 = run.halves().map(|half| half.operations as f64).sum();
    let bytes: f64 = run.halves().map(|half| half.bytes).sum();
    let mean = if operations > 0.0 { (bytes / operations).round() as u64 } else { 0 };
    let block = match run.asked.block {
        Some((least, most)) if least == most => least,
        Some((least, most)) => {
            run.notes.push(format!("blocks from {} to {}", Bytes(least), Bytes(most)));
            mean
        }
        None => mean,
    };
    let depth = run.asked.depth.unwrap_or_else(|| {
        let level = run.depth_shares.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| name);
        let level = level.and_then(|l| l.trim_start_matches(">=").parse().ok()).unwrap_or(1);
        run.notes
            .push(format!("fio did not say the depth: most operations ran at {level} or more"));
        level
    });
    if run.asked.jobs.is_none() {
        run.notes.push(
            "fio did not say how many jobs ran: taken as one, and CPU time cannot be told; \
             --jobs says it"
                .to_owned(),
        );
    }
    let line = run.line;
    let small = |value: u64, what: &str| {
        u16::try_from(value).ok().and_then(NonZeroU16::new).ok_or_else(|| {
            let happened = format!("{value} {what}: expected 1 to {}", u16::MAX);
            Trouble::new(line, happened, "Take the job out of the file.")
        })
    };
    let jobs = run.asked.jobs.unwrap_or(1);
    let size = run.asked.size.unwrap_or(0);
    Ok(Workload {
        pattern,
        block: Bytes(block),
        size: Bytes(if run.asked.one_file { size } else { size.saturating_mul(jobs) }),
        workers: small(jobs, "jobs")?,
        depth: small(depth, "operations in flight")?,
        layout: if run.asked.one_file { Layout::Shared } else { Layout::Disjoint },
        stability: match run.asked.synchronous {
            true => Stability::FileSync,
            false => Stability::Unstable,
        },
        verify: false,
    })
}

/// The latency that has the percentiles: clat, or lat where fio was told so.
fn client(half: &Half) -> Option<&LatencySummary> {
    let has = |latency: &&LatencySummary| !latency.quantiles_seconds.is_empty();
    let completion = half.completion.as_ref();
    completion
        .filter(has)
        .or(half.total.as_ref().filter(has))
        .or(completion)
        .or(half.total.as_ref())
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
    let sides = [(Side::Read, &run.read), (Side::Write, &run.write), (Side::All, &run.unified)];
    let halves = || sides.iter().filter_map(|(side, half)| Some((*side, half.as_ref()?)));
    let both = halves().count() > 1;
    for (side, half) in halves() {
        operations += half.operations;
        bytes += half.bytes;
        iops += half.iops;
        throughput += half.bytes_per_second;
        if both {
            add_rates(&mut quantities, side, half.iops, half.bytes_per_second);
            if let Some(latency) = client(half) {
                add_latency(&mut quantities, side, half.operations, latency);
            }
        }
        all = match (all, client(half)) {
            (None, latency) => latency.map(|l| (half.operations, l.clone())),
            (Some((n, a)), Some(b)) => {
                let merged = latency::merged((n, &a), (half.operations, b));
                Some((n.saturating_add(half.operations), merged))
            }
            (all, None) => all,
        };
    }
    add_rates(&mut quantities, Side::All, iops, throughput);
    if let Some((count, latency)) = &all {
        add_latency(&mut quantities, Side::All, *count, latency);
    }
    let cpu = cpu.and_then(|cpu| Some(cpu.user_seconds? + cpu.system_seconds?));
    if let Some(seconds) = cpu.filter(|_| operations > 0) {
        let per = |amount: f64| seconds / amount;
        quantities.insert(Metric::all(Measure::ClientCpuPerOp), per(operations as f64));
        quantities.insert(Metric::all(Measure::ClientCpuPerByte), per(bytes));
    }
    quantities.retain(|_, value| value.is_finite());
    quantities
}

fn add_rates(quantities: &mut BTreeMap<Metric, f64>, side: Side, iops: f64, throughput: f64) {
    quantities.insert(Metric::of(side, Measure::Iops), iops);
    quantities.insert(Metric::of(side, Measure::Throughput), throughput);
}

/// A quantile q counts as a figure only if n(1-q) is at least 20, as for plimsoll's own trials.
fn add_latency(
    quantities: &mut BTreeMap<Metric, f64>,
    side: Side,
    count: u64,
    latency: &LatencySummary,
) {
    let mut add = |measure, value| quantities.insert(Metric::of(side, measure), value);
    add(Measure::LatencyMean, latency.mean_seconds);
    add(Measure::LatencyMax, latency.max_seconds);
    for (name, measure, least) in
        [("0.5", Measure::LatencyP50, 40), ("0.99", Measure::LatencyP99, 2000)]
    {
        if let Some(value) = latency.quantile(name).filter(|_| count >= least) {
            add(measure, value);
        }
    }
}
