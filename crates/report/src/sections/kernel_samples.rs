//! A study of sampled kernels: the share of the samples of one operation in each subsystem.

use super::answer;
use super::kernel_names::Ran;
use crate::chart::Table;
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::TIME;
use crate::study::{Shown, head, warnings};
use crate::text::{capital, counted, listed, printable, shortened};
use crate::verdict::{percent, percents};
use plimsoll_model::kernel_samples::SampleJob;
use plimsoll_model::kernel_trace::{TraceJob, block_kind};
use plimsoll_model::{Cell, Job, Metric, OpKind, Outcome, PartResult, Trial};
use plimsoll_stats::interval::Interval;
use plimsoll_stats::proportion::share;
use plimsoll_trace::Blocks;
use std::collections::BTreeMap;

/// Columns of a table, and its rows of blocks, on a screen of 24 lines of 80 letters.
const MOST_COLUMNS: usize = 3;
const MOST_BLOCKS: usize = 8;
/// Longest name of a block.
const LONGEST_BLOCK: usize = 18;
/// Blocks that a sentence names.
const NAMED: usize = 3;
/// Most samples that have an interval: exact ones of more take long to compute. A measurement has some 2000.
const MOST_SAMPLES: u32 = 1_000_000;
/// Share of the samples without a block from which that is a warning.
const MUCH_UNCLASSIFIED: f64 = 0.05;

/// One operation under one setting.
struct Sampled {
    ran: Ran,
    calls: u32,
    /// Samples of all trials, and those of each block.
    samples: u32,
    blocks: BTreeMap<OpKind, u32>,
    /// The middle one of all trials.
    untraced_seconds: Option<f64>,
    confidence: f64,
}

/// A block of functions.
struct Block {
    name: String,
    kind: OpKind,
}

impl Sampled {
    fn count(&self, block: &Block) -> u32 {
        self.blocks.get(&block.kind).copied().unwrap_or(0)
    }

    fn unclassified(&self) -> u32 {
        let known = self.blocks.values().fold(0_u32, |sum, count| sum.saturating_add(*count));
        self.samples.saturating_sub(known)
    }

    /// What share of the samples so many are.
    fn share(&self, count: u32) -> Option<Interval> {
        match self.samples {
            0..=MOST_SAMPLES => share(count, self.samples, self.confidence),
            _ => None,
        }
    }

    fn share_in(&self, block: &Block) -> f64 {
        self.share(self.count(block)).map_or(0.0, |share| share.estimate)
    }

    /// "17% [14%–21%]".
    fn words(&self, count: u32) -> String {
        let words = |share: Interval| format!("{} {}", percent(share.estimate), percents(share));
        self.share(count).map_or_else(String::new, words)
    }
}

/// Every section but the method; `None` of studies of something else, and without a complete trial.
pub(super) fn sections(shown: &Shown<'_>) -> Option<Vec<Section>> {
    let all = sampled(shown);
    if all.is_empty() {
        return None;
    }
    let blocks = blocks(&all);
    let mut section = Section::new("answer", "");
    section.warnings(head::ending(shown.study));
    section.texts(sentences(shown, &all, &blocks));
    section.table(table(shown, &all, &blocks), Layout::Figures);
    section.texts(notes(&all));
    section.warnings(warnings::all(shown, false));
    answer::more(&mut section, &printable(&shown.study.id.0));
    Some(vec![section, details(shown, &all, &blocks)])
}

/// Every operation under every setting, the operations first.
fn sampled(shown: &Shown<'_>) -> Vec<Sampled> {
    let study = shown.study;
    let mut all = Vec::new();
    for (workload, what) in (0..).zip(&study.plan.workloads) {
        let Some(Job::Sample(job)) = what.main().map(|part| &part.job) else { continue };
        for cell in shown.names.every_setup() {
            let cell = Cell { workload, ..cell };
            let own =
                |trial: &&Trial| trial.cell == cell && trial.result.outcome == Outcome::Complete;
            let trials = study.trials.iter().filter(own).filter_map(|trial| trial.result.main());
            let found =
                together(cell, job, &trials.collect::<Vec<_>>(), study.plan.design.confidence);
            all.extend(Some(found).filter(|found| found.samples > 0));
        }
    }
    all
}

/// The samples of several trials.
fn together(cell: Cell, job: &SampleJob, trials: &[&PartResult], confidence: f64) -> Sampled {
    let SampleJob { operation, payload, calls } = *job;
    let ran = Ran { cell, operation, payload };
    let (mut samples, mut blocks) = (0_u32, BTreeMap::<OpKind, u32>::new());
    for (metric, count) in trials.iter().flat_map(|part| &part.quantities) {
        // A number that is none becomes 0, and one too large the largest.
        let count = *count as u32;
        if *metric == Metric::all(SampleJob::SAMPLES) {
            samples = samples.saturating_add(count);
        } else if let Some(kind) = metric.kind.filter(|_| metric.measure == SampleJob::SAMPLES) {
            let sum = blocks.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let untraced = Metric::all(TraceJob::UNTRACED);
    let times = trials.iter().filter_map(|part| part.quantities.get(&untraced).copied());
    let mut times: Vec<f64> = times.filter(|time| time.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let untraced_seconds = times.get(times.len() / 2).copied();
    Sampled { ran, calls, samples, blocks, untraced_seconds, confidence }
}

/// Every block with a sample, that with the largest share first.
fn blocks(all: &[Sampled]) -> Vec<Block> {
    let table = Blocks::built_in();
    let kinds = table.names().filter_map(|name| Some((block_kind(name)?, name)));
    let names: BTreeMap<OpKind, &str> = kinds.collect();
    let mut blocks: Vec<Block> = Vec::new();
    for kind in all.iter().flat_map(|sampled| sampled.blocks.keys()) {
        if !blocks.iter().any(|block| block.kind == *kind) {
            // Of a user's block, the name of its figures is kept alone.
            let own = || printable(&kind.name().replace('_', " "));
            let name = names.get(kind).map_or_else(own, |name| (*name).to_owned());
            blocks.push(Block { name, kind: *kind });
        }
    }
    let largest = |block: &Block| all.iter().map(|own| own.share_in(block)).fold(0.0, f64::max);
    blocks.sort_by(|a, b| largest(b).total_cmp(&largest(a)).then_with(|| a.name.cmp(&b.name)));
    blocks
}

/// "Of the time of one sendto of 400 B, netfilter has 3% [2%–4%] with nft-ruleset=none, 17% [14%–21%] with …".
fn sentences(shown: &Shown<'_>, all: &[Sampled], blocks: &[Block]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let operation = first.ran.noun();
    let others = || all.iter().filter(|other| other.ran.cell.workload == first.ran.cell.workload);
    let differs =
        |other: &Sampled, block: &Block| (other.share_in(block) - first.share_in(block)).abs();
    let pairs = others().flat_map(|other| blocks.iter().map(move |block| (other, block)));
    let furthest = pairs.max_by(|a, b| differs(a.0, a.1).total_cmp(&differs(b.0, b.1)));
    match furthest.filter(|_| others().count() > 1) {
        Some((other, block)) => {
            let with = |own: &Sampled| {
                format!("{} with {}", own.words(own.count(block)), own.ran.level(shown))
            };
            let name = &block.name;
            vec![format!(
                "Of the time of {operation}, {name} has {}, {}.",
                with(first),
                with(other)
            )]
        }
        None => {
            let named = blocks.iter().filter(|block| first.count(block) > 0).take(NAMED);
            let named: Vec<String> = named
                .map(|block| format!("{} is in {}", first.words(first.count(block)), block.name))
                .collect();
            match named.is_empty() {
                true => vec![format!("{} has no sample in a subsystem.", capital(&operation))],
                false => vec![format!("Of the time of {operation}, {}.", listed(&named))],
            }
        }
    }
}

/// Blocks by operation and setting, as far as a screen has room.
fn table(shown: &Shown<'_>, all: &[Sampled], blocks: &[Block]) -> Table {
    let columns = &all[..all.len().min(MOST_COLUMNS)];
    let (kept, rest) = blocks.split_at(blocks.len().min(MOST_BLOCKS));
    let mut table = shares(shown, all, columns, kept, Sampled::words);
    if !rest.is_empty() {
        let sum = |own: &Sampled| {
            let counts = rest.iter().map(|block| own.count(block));
            own.words(counts.fold(0, u32::saturating_add))
        };
        table.row(format!("{} more subsystems", rest.len()), columns.iter().map(sum));
    }
    totals(&mut table, columns, Sampled::words);
    table.table()
}

/// A row for each block.
fn shares(
    shown: &Shown<'_>,
    all: &[Sampled],
    columns: &[Sampled],
    blocks: &[Block],
    words: fn(&Sampled, u32) -> String,
) -> Columns {
    let ran: Vec<Ran> = all.iter().map(|own| own.ran).collect();
    let mut table = Columns::default();
    table.columns.extend(columns.iter().map(|own| (own.ran.heading(shown, &ran), Vec::new())));
    for block in blocks {
        let cells = columns.iter().map(|own| words(own, own.count(block)));
        table.row(shortened(&block.name, LONGEST_BLOCK), cells);
    }
    table
}

/// What holds of all blocks together.
fn totals(table: &mut Columns, columns: &[Sampled], words: fn(&Sampled, u32) -> String) {
    table.row("in no subsystem", columns.iter().map(|own| words(own, own.unclassified())));
    table.row("all samples", columns.iter().map(|own| own.samples.to_string()));
    let untraced =
        |own: &Sampled| own.untraced_seconds.map_or_else(String::new, |time| TIME.value(time));
    table.row("untraced time", columns.iter().map(untraced));
}

/// What to know of the figures.
fn notes(all: &[Sampled]) -> Vec<String> {
    let mut notes = Vec::new();
    let more = all.len().saturating_sub(MOST_COLUMNS);
    if more > 0 {
        notes.push(format!("{}: see --details.", counted(more as u64, "more column")));
    }
    notes.push(
        "These are shares of samples of the kernel, not of calls of its functions.".to_owned(),
    );
    let unclassified = |own: &Sampled| f64::from(own.unclassified()) / f64::from(own.samples);
    let most = all.iter().map(unclassified).fold(0.0, f64::max);
    if most > MUCH_UNCLASSIFIED {
        let share = percent(most);
        notes.push(format!(
            "{share} of the samples are in no subsystem; --subsystems FILE adds some."
        ));
    }
    notes
}

/// What does not fit on a screen, and how it was measured.
fn details(shown: &Shown<'_>, all: &[Sampled], blocks: &[Block]) -> Section {
    let mut section = Section::details("kernel-samples", "Kernel samples");
    let words = |own: &Sampled, count: u32| format!("{count}, {}", own.words(count));
    for columns in all.chunks(MOST_COLUMNS) {
        let mut table = shares(shown, all, columns, blocks, words);
        totals(&mut table, columns, words);
        section.table(table.table(), Layout::Figures);
    }
    let calls = all.iter().map(|own| own.calls).max().unwrap_or_default();
    let confidence = all.first().map_or(0.0, |own| own.confidence);
    section.text(format!(
        "perf takes a sample of the active functions every 20 µs of CPU time of the probe, during at most {calls} calls \
         a measurement. Samples outside of the operation, and in interrupts, are left out. Each counts for the \
         subsystem of its innermost function. Samples of code that runs with interrupts off appear where interrupts are \
         on again, often in locks and RCU."
    ));
    section.text(format!(
        "The intervals are binomial (Clopper and Pearson, {}), as if all samples were independent. The untraced time is the median of 50 calls without samples.",
        percent(confidence)
    ));
    section
}
