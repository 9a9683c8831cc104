//! Whole files that were read or written through buffers of several sizes, by one reader and by several: what
//! an operation and a byte cost one reader alone, and what several should bring by that.
//!
//! ```text
//! t(s, b) = ⌈s/b⌉·α + s·β        a file of s bytes through buffers of b bytes, by one reader
//! ```
//!
//! Of several readers α is taken for waiting, which all of them do at once, and β for the one resource that
//! bytes go through one after the other: a link (method, section 1). That is what `rtems2012` is held
//! against, so that a file of one's own stands beside it under the same model.

use crate::costs;
use crate::gather::{self, Gathered};
use crate::transfers::several;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Arrival, Cell, Job, Measure, Metric, Part, Study, Technique};
use plimsoll_stats::fit::costs::{Cell as Observed, CostKind, Costs, Groups, Work, fit};
use plimsoll_stats::fit::{Estimate, Rule};
use std::collections::BTreeSet;

/// Whole files that differ in buffers and readers alone.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeFiles {
    /// Subject and setting; the workload is the first of them.
    pub cell: Cell,
    /// What they do, apart from their buffers and readers: the first of them.
    pub part: Part,
    /// Each with its readers and buffers, in the order of the plan.
    pub files: Vec<WholeFile>,
    costs: Option<Costs>,
    rule: Rule,
}

/// A file by so many readers in buffers of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeFile {
    /// What was done: buffers, and how many were in flight.
    pub part: Part,
    /// Bytes per second.
    pub rate: Estimate,
    /// The same by the costs of one reader. `None` where these are not known.
    pub modelled: Option<f64>,
}

impl WholeFile {
    /// The model's rate over the measured one, less 1.
    pub fn error(&self) -> Option<f64> {
        self.modelled.map(|modelled| modelled / self.rate.value - 1.0)
    }
}

impl WholeFiles {
    /// Seconds of an operation beside its bytes (α), or of a byte (β), by one reader. `None` where its
    /// buffers do not tell them apart.
    pub fn cost(&self, kind: CostKind) -> Option<Estimate> {
        self.costs.as_ref()?.cost(kind, 0, self.rule)
    }
}

/// All whole files of a study. Nothing of other tools' figures.
pub fn whole_files(study: &Study) -> Vec<WholeFiles> {
    if gather::is_imported(study) {
        return Vec::new();
    }
    let gathered = Gathered::new(study);
    let mut groups: Vec<(Alike, Vec<Measured>)> = Vec::new();
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let [part] = &workload.parts[..] else { continue };
        for cell in gathered.cells(number) {
            let Some(measured) = Measured::new(&gathered, cell, part) else { continue };
            let alike = Alike::new(cell, part);
            match groups.iter_mut().find(|(other, _)| *other == alike) {
                Some((_, of_it)) => of_it.push(measured),
                None => groups.push((alike, vec![measured])),
            }
        }
    }
    let rule = costs::rule(study);
    groups.into_iter().filter_map(|(_, of_it)| of_group(of_it, rule)).collect()
}

/// What files have in common that differ in buffers and readers alone.
#[derive(PartialEq)]
struct Alike {
    subject: u16,
    setting: u16,
    job: Job,
    techniques: Vec<Technique>,
}

impl Alike {
    fn new(cell: Cell, part: &Part) -> Alike {
        let mut job = part.job.clone();
        if let Job::File(job) = &mut job {
            job.buffer = Bytes(0);
        }
        let techniques = part.techniques.clone();
        Alike { subject: cell.subject, setting: cell.setting, job, techniques }
    }
}

/// A file that was gone through.
struct Measured {
    cell: Cell,
    part: Part,
    buffer: Bytes,
    size: Bytes,
    /// Seconds it took, by block.
    seconds: Vec<(u32, f64)>,
}

impl Measured {
    /// `None` of other jobs, of several workers, and without a complete trial.
    fn new(gathered: &Gathered<'_>, cell: Cell, part: &Part) -> Option<Measured> {
        let Job::File(job) = &part.job else { return None };
        let elapsed = |trial: &plimsoll_model::Trial| {
            let seconds = trial.result.value(0, Metric::all(Measure::ELAPSED));
            Some((trial.block?, seconds.filter(|s| s.is_finite() && *s > 0.0)?))
        };
        let seconds: Vec<_> = gathered.complete(cell).into_iter().filter_map(elapsed).collect();
        let (buffer, size) = (job.buffer, job.size);
        let usable = buffer.0 > 0 && part.workers.get() == 1 && !seconds.is_empty();
        usable.then(|| Measured { cell, part: part.clone(), buffer, size, seconds })
    }

    fn readers(&self) -> u16 {
        self.part.depth().get()
    }

    fn bytes(&self) -> f64 {
        self.size.0 as f64
    }
}

fn of_group(group: Vec<Measured>, rule: Rule) -> Option<WholeFiles> {
    let alone = || group.iter().filter(|one| one.readers() == 1);
    let blocks: BTreeSet<u32> = alone().flat_map(|one| &one.seconds).map(|(at, _)| *at).collect();
    let observed = |one: &Measured| Observed {
        work: Work {
            files: 0.0,
            operations: one.size.0.div_ceil(one.buffer.0) as f64,
            bytes: one.bytes(),
        },
        groups: Groups::default(),
        seconds: blocks
            .iter()
            .map(|block| one.seconds.iter().find(|(at, _)| at == block).map(|(_, s)| *s))
            .collect(),
    };
    let mut files = WholeFiles {
        cell: group.first()?.cell,
        part: group.first()?.part.clone(),
        files: Vec::new(),
        costs: fit(&alone().map(observed).collect::<Vec<_>>()),
        rule,
    };
    let costs = files.cost(CostKind::Operation).zip(files.cost(CostKind::Byte));
    for one in &group {
        let seconds: Vec<f64> = one.seconds.iter().map(|(_, seconds)| *seconds).collect();
        let in_rounds = matches!(one.part.arrival, Arrival::Rounds { .. });
        let buffer = one.buffer.0 as f64;
        let modelled = costs.filter(|_| one.part.techniques.is_empty());
        let modelled = modelled.and_then(|(operation, byte)| {
            let (demand, delay) = (byte.value * buffer, operation.value);
            Some(several(in_rounds, one.readers(), demand, delay)? * buffer)
        });
        files.files.push(WholeFile {
            part: one.part.clone(),
            rate: Estimate::mean(&seconds, rule)?.reciprocal()?.scaled(one.bytes()),
            modelled,
        });
    }
    Some(files)
}
