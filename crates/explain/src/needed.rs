//! How much more measuring a study needs: the one estimate that the stop rule, the progress of a run
//! and every report share.

use crate::findings;
use crate::gather::{self, Gathered};
use crate::limits::is_ladder;
use crate::pair::{Rules, Stop};
use plimsoll_model::{Cell, Contrast, Rule, Study, Workload};
use plimsoll_stats::verdict::Verdict;

/// For every workload of the plan, in its order, the blocks that the stop rule asks for in all, as
/// things stand: the most that any claim about it asks for, on either side, or where nothing is compared what
/// its level asks for. Those it has where they are decided. `None` where it is not known, because no
/// comparison has figures enough: comparisons that lack them (a subject that fails) do not count.
pub fn blocks_needed(study: &Study) -> Vec<Option<u64>> {
    let workloads = 0..study.plan.workloads.len() as u16;
    if let Rule::Fixed { blocks } = study.plan.design.rule {
        return workloads.map(|_| Some(u64::from(blocks))).collect();
    }
    let gathered = Gathered::new(study);
    let rules = Rules::new(study);
    let contrasts = &study.plan.contrasts;
    let done = u64::from(done(study));
    let needed = |stop: Stop, values: &[f64]| match stop {
        Stop::Fixed { .. } => None,
        // A block in which a trial failed is none of its own.
        Stop::Sequential(rule) => Some(done.saturating_add(rules.more_blocks(&rule, values)?)),
    };
    let of_workload = |workload: u16| {
        // What shows something of other work needs no certainty of its own.
        if is_ladder(&study.plan, workload) {
            return Some(u64::from(study.plan.first_blocks()));
        }
        if contrasts.is_empty() {
            let what = study.plan.workloads.get(usize::from(workload))?;
            let metric = what.main()?.headline();
            let cell = Cell { workload, ..Cell::default() };
            let values = gathered.results(cell, what.headline_part()).values(metric);
            let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
            return needed(rules.stop(false), &logs);
        }
        // A comparison with other work takes blocks of both.
        let concerns = |c: &Contrast| [c.of, c.against].iter().any(|m| m.cell.workload == workload);
        let claims = contrasts.iter().filter(|c| c.claim && concerns(c));
        let of_claim = |Contrast { of, against, .. }: &Contrast| {
            needed(rules.stop(true), &gathered.pairs(*of, *against).log_ratios(of.metric))
        };
        claims.filter_map(of_claim).max()
    };
    workloads.map(of_workload).collect()
}

/// Blocks that were begun.
fn done(study: &Study) -> u32 {
    let blocks = study.trials.iter().filter_map(|trial| trial.block);
    blocks.max().map_or(0, |last| last.saturating_add(1))
}

/// Blocks that are missing until a study has measured for as long as its rule asks for.
pub(crate) fn missing_for_time(study: &Study) -> u64 {
    let Rule::Sequential { at_least_seconds, .. } = study.plan.design.rule else { return 0 };
    let per_trial = findings::seconds_per_trial(study);
    let measured = study.trials.len() as f64 * per_trial;
    let per_block = match done(study) {
        // The first one may not be over.
        0 | 1 => (0..study.plan.workloads.len()).map(|w| cells(study, w) as f64 * per_trial).sum(),
        done => measured / f64::from(done),
    };
    if per_block > 0.0 {
        ((at_least_seconds - measured) / per_block).ceil().max(0.0) as u64
    } else {
        0
    }
}

/// What is left to be measured until every comparison is decided, as things stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// By workload, in the plan's order.
    workloads: Vec<MissingBlocks>,
}

/// What is left of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MissingBlocks {
    /// Blocks more; none where nothing is to be had from more.
    blocks: u64,
    seconds_per_block: f64,
}

/// More than this is "not within a day".
const DAY_SECONDS: f64 = 86_400.0;

impl Forecast {
    /// That of a study; before the first look, the blocks until then.
    pub fn new(study: &Study) -> Forecast {
        let done = u64::from(done(study));
        let first =
            u64::from(study.plan.first_blocks()).max(done.saturating_add(missing_for_time(study)));
        let looked = done >= u64::from(study.plan.first_blocks());
        let needed = blocks_needed(study);
        let missing = |(workload, needed): (usize, Option<u64>)| {
            let needed = if looked { needed } else { Some(first.max(needed.unwrap_or(0))) };
            let blocks = needed.unwrap_or(0).saturating_sub(done);
            MissingBlocks { blocks, seconds_per_block: seconds_per_block(study, workload) }
        };
        Forecast { workloads: needed.into_iter().enumerate().map(missing).collect() }
    }

    /// Blocks more of the workload that takes most.
    pub fn blocks(&self) -> u64 {
        self.workloads.iter().map(|left| left.blocks).max().unwrap_or(0)
    }

    /// Blocks more of one workload.
    pub fn blocks_of(&self, workload: u16) -> u64 {
        self.workloads.get(usize::from(workload)).map_or(0, |left| left.blocks)
    }

    /// Seconds that all of them take.
    pub fn seconds(&self) -> f64 {
        self.seconds_of(u64::MAX)
    }

    /// Seconds of so many blocks, of each workload as many as it needs.
    fn seconds_of(&self, blocks: u64) -> f64 {
        let seconds =
            |left: &MissingBlocks| left.blocks.min(blocks) as f64 * left.seconds_per_block;
        self.workloads.iter().map(seconds).sum()
    }

    /// Seconds of one block of a workload on every subject under every setting.
    pub fn seconds_per_block(&self, workload: u16) -> f64 {
        self.workloads.get(usize::from(workload)).map_or(0.0, |left| left.seconds_per_block)
    }

    /// Seconds of the next block: of the workloads that are not decided.
    pub fn next_block_seconds(&self) -> f64 {
        let open = self.workloads.iter().filter(|left| left.blocks > 0);
        open.map(|left| left.seconds_per_block).sum()
    }

    /// Blocks that fit into so many seconds, those alone that are needed.
    pub fn blocks_within(&self, seconds: f64) -> u64 {
        let fitting = (seconds / self.next_block_seconds()).floor();
        self.blocks().min(if fitting > 0.0 { fitting as u64 } else { 0 })
    }

    /// Whether so many seconds are something to wait for.
    pub fn is_within_a_day(seconds: f64) -> bool {
        seconds <= DAY_SECONDS
    }
}

/// Trials of a workload in a block.
fn cells(study: &Study, workload: usize) -> usize {
    let kind = study.plan.workloads.get(workload).and_then(Workload::subject);
    let subjects = study.plan.subjects.iter().filter(|subject| Some(subject.kind()) == kind);
    subjects.count() * study.plan.settings().len()
}

/// Seconds of one block of a workload: its trials, from the start of each to that of the next.
fn seconds_per_block(study: &Study, workload: usize) -> f64 {
    let is_own = |cell: &Cell| usize::from(cell.workload) == workload;
    let spans = study.trials.windows(2).filter(|pair| is_own(&pair[0].cell));
    let spans = spans.map(|pair| pair[1].started_seconds - pair[0].started_seconds);
    let (sum, count) = spans
        .filter(|span| span.is_finite() && *span > 0.0)
        .fold((0.0, 0u32), |(sum, count), span| (sum + span, count + 1));
    let mean = if count > 0 { sum / f64::from(count) } else { findings::seconds_per_trial(study) };
    mean * cells(study, workload) as f64
}

/// What a study left open, and what it would take to settle it by going on with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    /// Comparisons without a resolved verdict, in the plan's order.
    pub contrasts: Vec<Contrast>,
    /// Workloads that more blocks would be run of, by their numbers in the plan.
    pub workloads: Vec<u16>,
    /// Blocks more.
    pub blocks: u64,
    /// Seconds until these comparisons are resolved, in blocks of everything that is run meanwhile; `None`:
    /// not within a day.
    pub seconds: Option<f64>,
    /// Seconds until every comparison is decided, also those whose difference may be too little to matter;
    /// `None`: not within a day.
    pub all_seconds: Option<f64>,
}

/// What `plimsoll check --continue` would settle of a study. `None` where it can settle nothing:
/// everything is resolved, or the number of blocks was fixed beforehand, or the figures are another
/// tool's, or no command continues it.
pub fn unresolved(study: &Study) -> Option<Unresolved> {
    let sequential = matches!(study.plan.design.rule, Rule::Sequential { .. });
    if study.plan.continued_by().is_none() || !sequential || gather::is_imported(study) {
        return None;
    }
    let forecast = Forecast::new(study);
    let found = findings::findings(study);
    let pairs = found.workloads.iter().flat_map(|workload| &workload.pairs);
    let open = pairs.filter(|pair| {
        let verdict = pair.claim.map(|claim| claim.verdict);
        verdict.is_some_and(|v| v.is_none_or(|v| matches!(v, Verdict::NotResolved(_))))
    });
    let contrasts: Vec<Contrast> = open.map(|pair| pair.contrast).collect();
    let left = forecast.workloads.iter().zip(0..).filter(|(left, _)| left.blocks > 0);
    let workloads: Vec<u16> = left.map(|(_, number)| number).collect();
    let levels = study.plan.contrasts.is_empty();
    // More is run than what is open: a difference that may be too little to matter is not decided, either.
    let concerned = contrasts.iter().flat_map(|c| [c.of.cell.workload, c.against.cell.workload]);
    let blocks_of_open = match levels {
        true => forecast.blocks(),
        false => concerned.map(|workload| forecast.blocks_of(workload)).max().unwrap_or(0),
    };
    let within = |seconds: f64| Some(seconds).filter(|s| Forecast::is_within_a_day(*s));
    (!workloads.is_empty() && (levels || !contrasts.is_empty())).then(|| Unresolved {
        contrasts,
        workloads,
        blocks: forecast.blocks(),
        seconds: within(forecast.seconds_of(blocks_of_open)),
        all_seconds: within(forecast.seconds()),
    })
}
