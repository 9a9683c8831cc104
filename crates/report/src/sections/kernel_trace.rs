//! A study of traced kernels: the functions of one operation by subsystem, and its call tree.

use super::answer;
use super::kernel_names::Ran;
use super::kernel_published::{self, UdpSend, UdpSendBlock};
use crate::chart::{Axis, COUNT, Flame, Frame, Stack, Stacks, Table};
use crate::columns::Columns;
use crate::document::{Figure, Layout, Section};
use crate::figure::TIME;
use crate::study::{Shown, head, warnings};
use crate::text::{capital, counted, listed, printable, shortened};
use crate::verdict::percent;
use plimsoll_model::kernel_trace::{KernelFunction, TraceJob, TracedOperation, block_kind};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Job, Measure, Metric, OpKind, Outcome, PartResult, SubjectKind, Trial};

/// Columns of a table without times and with them, and its rows of blocks, on a screen of 24 lines.
const MOST_COLUMNS: usize = 5;
const MOST_TIMED_COLUMNS: usize = 3;
const MOST_BLOCKS: usize = 8;
/// Longest name of a block.
const LONGEST_BLOCK: usize = 20;
/// Blocks that a sentence names.
const NAMED: usize = 3;
/// Share of the functions without a block from which that is a warning, and share of the calls with the same number of
/// functions below which it is one.
const MUCH_UNCLASSIFIED: f64 = 0.05;
const MANY_THE_SAME: f64 = 0.95;

/// What the rows of subsystems have if their times are known.
const TIMED: &str =
    "Subsystems: number of functions, and their time without the cost of the tracer.";

/// One operation under one setting.
struct Traced<'a> {
    cell: Cell,
    job: TraceJob,
    /// Trials that ran to their end.
    trials: Vec<&'a PartResult>,
}

/// A block of functions.
struct Block {
    /// As the table of blocks has it.
    name: String,
    kind: OpKind,
}

impl<'a> Traced<'a> {
    fn ran(&self) -> Ran {
        let TraceJob { operation, payload, .. } = self.job;
        Ran { cell: self.cell, operation, payload }
    }

    fn functions(&self) -> &'a [KernelFunction] {
        self.trials.last().map_or(&[], |part| &part.functions)
    }

    /// The middle figure of all trials.
    fn figure(&self, metric: Metric) -> Option<f64> {
        let own = self.trials.iter().filter_map(|part| part.quantities.get(&metric).copied());
        let mut own: Vec<f64> = own.filter(|value| value.is_finite()).collect();
        own.sort_by(f64::total_cmp);
        own.get(own.len() / 2).copied()
    }

    fn all(&self, measure: Measure) -> Option<f64> {
        self.figure(Metric::all(measure))
    }

    /// Functions of a block; a block without a figure has none.
    fn functions_in(&self, block: &Block) -> f64 {
        self.figure(Metric::for_kind(block.kind, TraceJob::FUNCTIONS)).unwrap_or(0.0)
    }

    fn functions_in_words(&self) -> String {
        self.all(TraceJob::FUNCTIONS).map_or_else(String::new, functions)
    }
}

/// Every section but the method; `None` of studies of something else, and without a complete trial.
pub(super) fn sections(shown: &Shown<'_>) -> Option<Vec<Section>> {
    let study = shown.study;
    let kinds = study.plan.subjects.iter().map(|subject| subject.kind());
    if kinds.clone().any(|kind| kind != SubjectKind::Trace) {
        return None;
    }
    let all = traced(shown);
    if all.is_empty() {
        return None;
    }
    let blocks = blocks(&all);
    let mut section = Section::new("answer", "");
    section.warnings(head::ending(study));
    section.texts(sentences(shown, &all, &blocks));
    section.table(table(shown, &all, &blocks), Layout::Figures);
    let is_timed = all.iter().any(|traced| traced.all(TraceJob::CORRECTED).is_some());
    section.nearly_always(is_timed.then(|| TIMED.to_owned()));
    section.texts(notes(&all));
    section.warnings(warnings::all(shown, false));
    answer::more(&mut section, &printable(&study.id.0));
    let mut sections = vec![section, details(shown, &all, &blocks)];
    let sends = sends(shown, &all, &blocks);
    sections.push(kernel_published::section(&sends, plimsoll_references::tables()));
    Some(sections)
}

/// Every operation under every setting, the operations first.
fn traced<'a>(shown: &Shown<'a>) -> Vec<Traced<'a>> {
    let study = shown.study;
    let mut all = Vec::new();
    for (workload, what) in (0..).zip(&study.plan.workloads) {
        let Some(Job::Trace(job)) = what.main().map(|part| &part.job) else { continue };
        for cell in shown.names.every_setup() {
            let cell = Cell { workload, ..cell };
            let own =
                |trial: &&Trial| trial.cell == cell && trial.result.outcome == Outcome::Complete;
            let trials = study.trials.iter().filter(own).filter_map(|trial| trial.result.main());
            let trials: Vec<&PartResult> = trials.collect();
            if !trials.is_empty() {
                all.push(Traced { cell, job: *job, trials });
            }
        }
    }
    all
}

/// Every block in the order in which the operations enter them.
fn blocks(all: &[Traced<'_>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for function in all.iter().flat_map(|traced| traced.functions()) {
        let Some((name, kind)) =
            function.block.as_ref().and_then(|name| Some((name, block_kind(name)?)))
        else {
            continue;
        };
        if !blocks.iter().any(|block| block.kind == kind) {
            blocks.push(Block { name: printable(name), kind });
        }
    }
    blocks
}

/// "One sendto of 400 B runs 185 kernel functions with nft-ruleset=none and 287 with nft-ruleset=rules.nft."
fn sentences(shown: &Shown<'_>, all: &[Traced<'_>], blocks: &[Block]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let operation = capital(&first.ran().noun());
    let others: Vec<&Traced<'_>> =
        all.iter().filter(|other| other.cell.workload == first.cell.workload).collect();
    let total = |traced: &Traced<'_>| traced.all(TraceJob::FUNCTIONS).unwrap_or(0.0);
    let far = |other: &Traced<'_>| (total(other) - total(first)).abs();
    let furthest = others.iter().max_by(|a, b| far(a).total_cmp(&far(b))).copied();
    let count = first.functions_in_words();
    match furthest.filter(|_| others.len() > 1) {
        None => {
            let mut largest: Vec<(&Block, f64)> =
                blocks.iter().map(|block| (block, first.functions_in(block))).collect();
            largest.sort_by(|a, b| b.1.total_cmp(&a.1));
            let parts = largest.iter().filter(|(_, count)| *count > 0.0).take(NAMED);
            let parts: Vec<String> = parts
                .map(|(block, count)| format!("{} of {}", functions(*count), block.name))
                .collect();
            let parts =
                if parts.is_empty() { String::new() } else { format!(": {}", listed(&parts)) };
            vec![format!("{operation} runs {count} kernel functions{parts}.")]
        }
        Some(other) if far(other) == 0.0 => {
            vec![format!("{operation} runs {count} kernel functions under every setting.")]
        }
        Some(other) => {
            let (a, b) = (first.ran().level(shown), other.ran().level(shown));
            let text = format!(
                "{operation} runs {count} kernel functions with {a}, {} with {b}.",
                other.functions_in_words()
            );
            let differs =
                |block: &&Block| (other.functions_in(block) - first.functions_in(block)).abs();
            let most = blocks.iter().max_by(|a, b| differs(a).total_cmp(&differs(b)));
            let block = most.filter(|block| differs(block) > 0.0).map(|block| {
                let (a, b) =
                    (functions(first.functions_in(block)), functions(other.functions_in(block)));
                format!(" {} has {a} and {b} of them.", capital(&block.name))
            });
            vec![text + &block.unwrap_or_default()]
        }
    }
}

/// Above a column: what tells it from the others.
fn heading(shown: &Shown<'_>, all: &[Traced<'_>], of: &Traced<'_>) -> String {
    of.ran().heading(shown, &ran(all))
}

fn ran(all: &[Traced<'_>]) -> Vec<Ran> {
    all.iter().map(Traced::ran).collect()
}

/// Columns for which a line has room.
fn most_columns(all: &[Traced<'_>]) -> usize {
    let is_timed = all.iter().any(|traced| traced.all(TraceJob::CORRECTED).is_some());
    if is_timed { MOST_TIMED_COLUMNS } else { MOST_COLUMNS }
}

/// Blocks by operation and setting, as far as a screen has room.
fn table(shown: &Shown<'_>, all: &[Traced<'_>], blocks: &[Block]) -> Table {
    let columns = &all[..all.len().min(most_columns(all))];
    // Blocks whose numbers differ first, then the largest.
    let weight = |block: &Block| {
        let own = columns.iter().map(|traced| traced.functions_in(block));
        let most = own.clone().fold(0.0, f64::max);
        (own.fold(f64::INFINITY, f64::min) < most, most)
    };
    let mut kept: Vec<&Block> = blocks.iter().collect();
    kept.sort_by(|a, b| {
        let (a, b) = (weight(a), weight(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    kept.truncate(MOST_BLOCKS);
    // In the order in which the operations enter them.
    kept.sort_by_key(|own| blocks.iter().position(|block| block.kind == own.kind));
    let mut table = figures(shown, all, columns, &kept);
    let rest: Vec<&Block> =
        blocks.iter().filter(|block| !kept.iter().any(|own| own.kind == block.kind)).collect();
    if !rest.is_empty() {
        let sum =
            |traced: &Traced<'_>| rest.iter().map(|block| traced.functions_in(block)).sum::<f64>();
        let name = format!("{} more subsystems", rest.len());
        table.row(name, columns.iter().map(|traced| functions(sum(traced))));
    }
    totals(&mut table, columns);
    table.table()
}

/// The functions of each block, with their time where that is known.
fn figures(
    shown: &Shown<'_>,
    all: &[Traced<'_>],
    columns: &[Traced<'_>],
    blocks: &[&Block],
) -> Columns {
    let mut table = Columns::default();
    table.columns.extend(columns.iter().map(|of| (heading(shown, all, of), Vec::new())));
    for block in blocks {
        let cell = |traced: &Traced<'_>| {
            let count = functions(traced.functions_in(block));
            match traced.figure(Metric::for_kind(block.kind, TraceJob::CORRECTED)) {
                Some(seconds) => format!("{count}, {}", TIME.value(seconds)),
                None => count,
            }
        };
        table.row(shortened(&block.name, LONGEST_BLOCK), columns.iter().map(cell));
    }
    table
}

/// What holds of all blocks together.
fn totals(table: &mut Columns, columns: &[Traced<'_>]) {
    let unclassified = |traced: &Traced<'_>| {
        let share = traced.all(TraceJob::UNCLASSIFIED).unwrap_or(0.0);
        functions((share * traced.all(TraceJob::FUNCTIONS).unwrap_or(0.0)).round())
    };
    table.row("in no subsystem", columns.iter().map(unclassified));
    table.row("all functions", columns.iter().map(Traced::functions_in_words));
    let same = |traced: &Traced<'_>| traced.all(TraceJob::SAME).map(percent).unwrap_or_default();
    table.row("calls with this number", columns.iter().map(same));
    let untraced = |traced: &Traced<'_>| {
        traced.all(TraceJob::UNTRACED).map_or_else(String::new, |time| TIME.value(time))
    };
    table.row("untraced time", columns.iter().map(untraced));
}

/// What to know of the figures.
fn notes(all: &[Traced<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let more = all.len().saturating_sub(most_columns(all));
    if more > 0 {
        notes.push(format!("{}: see --details.", counted(more as u64, "more column")));
    }
    let slower =
        |traced: &Traced<'_>| Some(traced.all(TraceJob::TRACED)? / traced.all(TraceJob::UNTRACED)?);
    let is_timed = |traced: &Traced<'_>| traced.all(TraceJob::CORRECTED).is_some();
    let slowest = all.iter().filter_map(slower).fold(0.0, f64::max);
    if slowest > 0.0 && !all.iter().any(is_timed) {
        notes.push(format!(
            "No times by subsystem: a traced call takes up to {} times as long, and without the cost of the tracer it is \
             not within 20% of the untraced time.",
            three_digits(slowest)
        ));
    }
    let highest = |measure: Measure| all.iter().filter_map(move |traced| traced.all(measure));
    let unclassified = highest(TraceJob::UNCLASSIFIED).fold(0.0, f64::max);
    if unclassified > MUCH_UNCLASSIFIED {
        let share = percent(unclassified);
        notes.push(format!(
            "{share} of the functions are in no subsystem; --subsystems FILE adds some."
        ));
    }
    let same = highest(TraceJob::SAME).fold(1.0, f64::min);
    if same < MANY_THE_SAME {
        let share = percent(same);
        notes.push(format!("Only {share} of the calls run this number of functions."));
    }
    notes
}

/// What does not fit on a screen, how it was measured, and the call trees.
fn details(shown: &Shown<'_>, all: &[Traced<'_>], blocks: &[Block]) -> Section {
    let mut section = Section::details("kernel-functions", "Kernel functions");
    let every: Vec<&Block> = blocks.iter().collect();
    for columns in all.chunks(most_columns(all)) {
        let mut table = figures(shown, all, columns, &every);
        totals(&mut table, columns);
        let traced = |traced: &Traced<'_>| {
            traced.all(TraceJob::TRACED).map_or_else(String::new, |time| TIME.value(time))
        };
        table.row("traced time", columns.iter().map(traced));
        section.table(table.table(), Layout::Figures);
    }
    let calls = all.first().map_or(0, |traced| traced.job.calls);
    section.text(format!(
        "Each measurement traces {calls} calls, with interrupts hidden, after two calls of warm-up. The number of \
         functions is the number that most calls have; subsystems are of the first call with that number. The untraced \
         time is the median of as many calls without the tracer."
    ));
    if all.iter().any(|traced| !traced.job.operation.is_system_call()) {
        section.text(
            "Packets that are forwarded and calls to the NFS server have no untraced time in user space. \
             Their untraced time is the time in the kernel while only their first function is traced.",
        );
    }
    section.figures(stacks(shown, all, blocks));
    let trees = all.iter().filter(|traced| !traced.functions().is_empty());
    section
        .figures(trees.zip(1..).map(|(traced, number)| tree(shown, all, traced, blocks, number)));
    section
}

/// "400 B, none": the heading in one line.
fn label(shown: &Shown<'_>, all: &[Traced<'_>], of: &Traced<'_>) -> String {
    of.ran().label(shown, &ran(all))
}

/// A bar for each operation, in parts for its blocks.
fn stacks(shown: &Shown<'_>, all: &[Traced<'_>], blocks: &[Block]) -> Option<Figure> {
    let parts: Vec<String> = blocks.iter().map(|block| block.name.clone()).collect();
    if parts.is_empty() {
        return None;
    }
    let stack = |traced: &Traced<'_>| Stack {
        label: label(shown, all, traced),
        whole: format!("{} functions", traced.functions_in_words()),
        values: blocks.iter().map(|block| traced.functions_in(block)).collect(),
    };
    let numbered: Vec<String> =
        parts.iter().zip(1..).map(|(part, number)| format!("{number} {part}")).collect();
    let caption =
        format!("Kernel functions of one operation by subsystem: {}.", numbered.join(", "));
    let chart = Stacks {
        title: "Kernel functions by subsystem".to_owned(),
        description: caption.clone(),
        axis: Axis::new("kernel functions", COUNT),
        parts,
        stacks: all.iter().map(stack).collect(),
    };
    Some(Figure::new("kernel-blocks".to_owned(), Box::new(chart), caption))
}

/// The functions of one operation as a tree.
fn tree(
    shown: &Shown<'_>,
    all: &[Traced<'_>],
    traced: &Traced<'_>,
    blocks: &[Block],
    number: usize,
) -> Figure {
    let functions = traced.functions();
    let part = |function: &KernelFunction| {
        let kind = block_kind(function.block.as_ref()?)?;
        blocks.iter().position(|block| block.kind == kind)
    };
    // What a function called follows it.
    let size = |place: usize| {
        let below = functions[place + 1..].iter();
        1 + below.take_while(|other| other.depth > functions[place].depth).count()
    };
    let frame = |(place, function): (usize, &KernelFunction)| Frame {
        depth: usize::from(function.depth),
        name: printable(&function.name),
        part: part(function),
        value: size(place) as f64,
    };
    let caption = "Functions that the operation runs, in their order. A box is as wide as the number of functions \
        that it runs, and has the colour of its subsystem."
        .to_owned();
    let chart = Flame {
        title: format!("Call tree: {}", label(shown, all, traced)),
        description: caption.clone(),
        axis: Axis::new("kernel functions", COUNT),
        parts: blocks.iter().map(|block| block.name.clone()).collect(),
        frames: functions.iter().enumerate().map(frame).collect(),
    };
    Figure::new(format!("kernel-calls-{number}"), Box::new(chart), caption)
}

/// Sends in the terms of the section that compares them with a published one.
fn sends(shown: &Shown<'_>, all: &[Traced<'_>], blocks: &[Block]) -> Vec<UdpSend> {
    let sends = all.iter().filter(|traced| traced.job.operation == TracedOperation::Sendto);
    let block = |traced: &Traced<'_>, block: &Block| UdpSendBlock {
        name: block.name.clone(),
        functions: traced.functions_in(block),
        seconds: traced.figure(Metric::for_kind(block.kind, TraceJob::CORRECTED)),
    };
    let send = |traced: &Traced<'_>| UdpSend {
        label: label(shown, all, traced),
        payload_bytes: traced.job.payload.0,
        functions: traced.all(TraceJob::FUNCTIONS).unwrap_or(0.0),
        blocks: blocks
            .iter()
            .filter(|block| traced.functions_in(block) > 0.0)
            .map(|own| block(traced, own))
            .collect(),
    };
    sends.map(send).collect()
}

/// A number of functions, which is whole unless it is a mean.
fn functions(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count:.0}") } else { three_digits(count) }
}
