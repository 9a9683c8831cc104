//! What a file, an operation and a byte cost where files are copied whole: the cost model of
//! [`plimsoll_stats::fit`] over the datasets of a study, for each subject, setting, way and method by itself.

use crate::gather::{self, Gathered};
use crate::stored;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Amount, AmountOf, Cell, FileWork, Measure, Metric, OpKind, Rule as StopRule, StoredOn, Study,
    Trial, Workload,
};
use plimsoll_stats::fit::costs::{self, Cell as Observed, CostKind, Costs, Groups, Work};
use plimsoll_stats::fit::{Adequacy, Estimate, Rule};
use plimsoll_stats::interval::mean;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Datasets from which on the model can be held against them: it has two costs at least.
const DATASETS: usize = 3;
/// A model that is off by no more than this share of any time is of use, whatever the noise.
pub const CLOSE: f64 = 0.1;
/// A dataset stands for an amount where the mean sizes of their files are this much alike.
const ALIKE: f64 = 0.1;

/// What copies of several datasets cost on one subject under one setting, one way by one method.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyCosts {
    /// Subject and setting; the workload is that of the first dataset.
    pub cell: Cell,
    /// The datasets, in the order of the plan.
    pub datasets: Vec<DatasetTime>,
    /// The model of their times.
    pub model: CostModel,
    /// The memory that these files fit into, where they may have been read from it or written to it alone:
    /// of more bytes nothing is known.
    pub memory: Option<Bytes>,
    /// Whether they may have been in the server's memory alone, and nothing says how much that is: from which amount
    /// on times are longer is not known.
    pub is_memory_unknown: bool,
    rule: Rule,
}

/// The time of an amount that was not copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prediction {
    /// Seconds.
    Time(Estimate),
    /// Nothing copied is like it.
    NotKnown,
    /// It is more than [`FARTHEST`] times what was copied, so many bytes.
    TooFar(Bytes),
    /// It does not fit into this memory, and what was copied does.
    BeyondMemory(Bytes),
}

/// No time is predicted of more than so many times the bytes that were copied.
pub const FARTHEST: u64 = 100;

/// What a dataset took.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetTime {
    /// Index of its workload in the plan.
    pub workload: u16,
    /// What was copied, by all clients together.
    pub work: FileWork,
    /// Operations that moved its bytes.
    pub operations: f64,
    /// Its time in seconds, mean of the blocks.
    pub seconds: Estimate,
    /// The model's time over the measured one, less 1, also of a model that says nothing.
    pub error: Option<f64>,
}

/// Whether there is a model, and which.
#[derive(Clone, Debug, PartialEq)]
pub enum CostModel {
    /// Too few datasets to tell whether it describes them.
    TooFewDatasets,
    /// No block has all datasets.
    NoBlock,
    /// It is off by more than noise explains, and by more than a tenth of a time: it says nothing.
    Off,
    /// It describes the times.
    Fits {
        /// The costs.
        costs: Box<Costs>,
        /// Whether it is off by more than noise explains, though by little: then intervals are from how far
        /// off it is of each dataset, not from what differs between blocks.
        roughly: bool,
    },
}

/// The costs of everything that was copied, in the order of the plan. Nothing of other tools' figures.
pub fn copy_costs(study: &Study) -> Vec<CopyCosts> {
    let gathered = Gathered::new(study);
    let mut places: HashMap<Alike, usize> = HashMap::new();
    let mut alike: Vec<Vec<Cell>> = Vec::new();
    if gather::is_imported(study) {
        return Vec::new();
    }
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let Some(work) = file_work(workload) else { continue };
        for cell in gathered.cells(number) {
            let place = *places.entry(Alike::new(cell, &work, workload)).or_insert(alike.len());
            if place == alike.len() {
                alike.push(Vec::new());
            }
            alike[place].push(cell);
        }
    }
    let rule = rule(study);
    let of_cells = |cells: &Vec<Cell>| CopyCosts::new(study, &gathered, cells, rule);
    alike.iter().filter_map(of_cells).collect()
}

/// How intervals of costs are made: those of a study that may have ended by what it found hold at all looks.
pub(crate) fn rule(study: &Study) -> Rule {
    let confidence = study.plan.design.confidence;
    match study.plan.design.rule {
        StopRule::Sequential { .. } => Rule::Sequential(confidence),
        StopRule::Fixed { .. } => Rule::Fixed(confidence),
    }
}

/// What else than its files the time of a copy depends on.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    subject: u16,
    setting: u16,
    way: &'static str,
    method: &'static str,
    workers: u16,
    depth: u16,
    clients: usize,
}

impl Alike {
    fn new(cell: Cell, work: &FileWork, workload: &Workload) -> Alike {
        Alike {
            subject: cell.subject,
            setting: cell.setting,
            way: work.way,
            method: work.method,
            workers: workload.main().map_or(0, |part| part.workers.get()),
            depth: workload.main().map_or(0, |part| part.depth().get()),
            clients: workload.parts.len(),
        }
    }
}

/// The files that a workload copies, and nothing beside it; each client has files of its own.
fn file_work(workload: &Workload) -> Option<FileWork> {
    let work = workload.file_work()?;
    let clients = workload.parts.len() as u64;
    (work.all && workload.steps.is_none() && work.files > 0).then(|| FileWork {
        files: work.files.saturating_mul(clients),
        bytes: Bytes(work.bytes.0.saturating_mul(clients)),
        ..work
    })
}

impl CopyCosts {
    fn new(
        study: &Study,
        gathered: &Gathered<'_>,
        cells: &[Cell],
        rule: Rule,
    ) -> Option<CopyCosts> {
        let measured = |cell: &Cell| Measured::new(study, gathered, *cell);
        let all: Vec<Measured> = cells.iter().filter_map(measured).collect();
        let blocks: BTreeSet<u32> = all.iter().flat_map(|m| m.seconds.keys().copied()).collect();
        let several = all.iter().any(|measured| measured.work.block != all[0].work.block);
        let observed = |measured: &Measured| Observed {
            work: Work {
                files: measured.work.files as f64,
                // With one size of block an operation is part of what files and bytes cost.
                operations: if several { measured.operations } else { 0.0 },
                bytes: measured.work.bytes.0 as f64,
            },
            groups: Groups::default(),
            seconds: blocks.iter().map(|block| measured.seconds.get(block).copied()).collect(),
        };
        let (model, errors) = fitted(&all.iter().map(observed).collect::<Vec<_>>());
        let dataset = |(number, measured): (usize, &Measured)| {
            Some(DatasetTime {
                workload: measured.workload,
                work: measured.work,
                operations: measured.operations,
                seconds: measured.mean(rule)?,
                error: errors.get(number).copied(),
            })
        };
        let datasets: Vec<DatasetTime> = all.iter().enumerate().filter_map(dataset).collect();
        let cell = *cells.first()?;
        let most = datasets.iter().map(|dataset| dataset.work.bytes).max()?;
        let (stays, known) = memory(study, gathered, cells)?;
        let memory = known.filter(|memory| stays && *memory > most);
        let is_memory_unknown = stays && known.is_none();
        Some(CopyCosts { cell, datasets, model, memory, is_memory_unknown, rule })
    }

    /// Which way, and by which method.
    pub fn way(&self) -> (&'static str, &'static str) {
        self.datasets.first().map_or(("", ""), |dataset| (dataset.work.way, dataset.work.method))
    }

    /// Seconds for a file, an operation or a byte, with the interval at the plan's confidence. `None` without
    /// a model, and where the datasets do not separate it from others.
    pub fn cost(&self, kind: CostKind) -> Option<Estimate> {
        self.costs()?.cost(kind, 0, self.rule)
    }

    /// The costs, where there is a model.
    pub fn costs(&self) -> Option<&Costs> {
        match &self.model {
            CostModel::Fits { costs, .. } => Some(costs),
            _ => None,
        }
    }

    /// The dataset of whose time the files themselves, beside their bytes, take the largest share, and that
    /// share. `None` where that is not known.
    pub fn most_by_file(&self) -> Option<(&DatasetTime, f64)> {
        let per_file = self.cost(CostKind::File)?.value;
        let share = |d: &DatasetTime| {
            let seconds = d.seconds.value * (1.0 + d.error.unwrap_or(0.0));
            (per_file * d.work.files as f64 / seconds).min(1.0)
        };
        let shares = self.datasets.iter().map(|dataset| (dataset, share(dataset)));
        shares.filter(|(_, share)| share.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The dataset whose whole time was less than its files cost by the model, and the time of one of its
    /// files. Then the two contradict each other, and neither is a cost.
    pub fn contradiction(&self) -> Option<(&DatasetTime, f64)> {
        let cost = self.cost(CostKind::File)?.value;
        let per_file = |d: &DatasetTime| d.seconds.value / d.work.files as f64;
        let times = self.datasets.iter().map(|dataset| (dataset, per_file(dataset)));
        times.filter(|(_, own)| *own < cost).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Bytes that were copied, of all datasets that say something of an amount: of a model all, else those
    /// of the same class.
    fn copied(&self, amount: &Amount) -> u64 {
        let says = |d: &&DatasetTime| {
            self.costs().is_some() || d.work.class.map(AmountOf::Class) == Some(amount.files)
        };
        let bytes = self.datasets.iter().filter(says).map(|dataset| dataset.work.bytes.0);
        bytes.fold(0, u64::saturating_add)
    }

    /// The time of an amount of the user's, as far as what was copied is evidence for it.
    pub fn predicted(&self, amount: &Amount) -> Prediction {
        let Some(seconds) = self.seconds(amount) else { return Prediction::NotKnown };
        let copied = self.copied(amount);
        match self.memory {
            _ if amount.bytes.0 > copied.saturating_mul(FARTHEST) => {
                Prediction::TooFar(Bytes(copied))
            }
            Some(memory) if amount.bytes > memory => Prediction::BeyondMemory(memory),
            _ => Prediction::Time(seconds),
        }
    }

    /// The time of an amount of the user's in seconds by what was copied, however far that is from it, in the largest blocks that were used: by the model, or
    /// where there is none by the dataset of the same class, if its files have the size of that. `None` where
    /// neither says it.
    pub fn seconds(&self, amount: &Amount) -> Option<Estimate> {
        let block = self.datasets.iter().map(|dataset| dataset.work.block).max()?;
        let (files, bytes) = (amount.count(), amount.bytes.0 as f64);
        let same = |d: &&DatasetTime| {
            d.work.block == block && d.work.class.map(AmountOf::Class) == Some(amount.files)
        };
        let measured = self.datasets.iter().find(same);
        let Some(costs) = self.costs() else {
            let DatasetTime { work, seconds, .. } = measured?;
            let mean = work.bytes.0 as f64 / work.files as f64;
            let alike = (mean / amount.mean_bytes()).ln().abs() <= ALIKE;
            return alike.then(|| seconds.scaled(bytes / work.bytes.0 as f64));
        };
        let several = self.datasets.iter().any(|dataset| dataset.work.block != block);
        let per_file = match measured {
            Some(dataset) => dataset.operations / dataset.work.files as f64,
            // As many as their bytes fill, and on average half a one more.
            None => (amount.mean_bytes() / block.0 as f64 + 0.5).max(1.0),
        };
        let operations = if several { files * per_file } else { 0.0 };
        let work = Work { files, operations, bytes };
        Some(costs.predict(work, Groups::default(), self.rule)?.mean)
    }
}

/// Whether these files may have stayed in the server's memory, and how much it has, which is known of a server that
/// was watched. What is flushed does not stay in it, nor what is dropped before it is read.
fn memory(study: &Study, gathered: &Gathered<'_>, cells: &[Cell]) -> Option<(bool, Option<Bytes>)> {
    let subject = usize::from(cells.first()?.subject);
    let trials = cells.iter().flat_map(|cell| gathered.complete(*cell));
    let flushed = |trial: &Trial| {
        let mut parts = trial.result.parts.iter();
        parts.any(|part| part.ops.get(&OpKind::FLUSH).is_some_and(|stats| stats.count > 0))
    };
    let reads = study.plan.workload(*cells.first()?)?.main()?.job.file_work()?.way == "down";
    let from = stored::reads_from(study, subject);
    let from_disk = study.plan.storage.drop_caches || from == Some(StoredOn::Disk);
    let stays = if reads { !from_disk } else { !trials.into_iter().any(flushed) };
    Some((stays, stored::server_memory(study, subject)))
}

/// The model of these times, and how far it is off of each.
pub(crate) fn fitted(observed: &[Observed]) -> (CostModel, Vec<f64>) {
    let amount = |cell: &Observed| (cell.work.files as u64, cell.work.bytes as u64);
    if observed.iter().map(amount).collect::<BTreeSet<_>>().len() < DATASETS {
        return (CostModel::TooFewDatasets, Vec::new());
    }
    let Some(costs) = costs::fit(observed) else { return (CostModel::NoBlock, Vec::new()) };
    let errors = costs.fit().errors();
    let fits = |costs, roughly| CostModel::Fits { costs: Box::new(costs), roughly };
    let model = match costs.fit().adequacy() {
        Adequacy::Adequate | Adequacy::Unknown => Some(fits(costs, false)),
        // Good measurements find every model to be off. One that is off by little is of use: the less, the
        // closer it is to the times themselves.
        Adequacy::Inadequate if errors.iter().all(|error| error.abs() <= CLOSE) => {
            costs::fit(&mean_of_blocks(observed)).map(|costs| fits(costs, true))
        }
        Adequacy::Inadequate => None,
    };
    (model.unwrap_or(CostModel::Off), errors)
}

/// The same with the mean of the blocks that all have as the only time.
fn mean_of_blocks(observed: &[Observed]) -> Vec<Observed> {
    let count = observed.first().map_or(0, |cell| cell.seconds.len());
    let whole = |block: &usize| observed.iter().all(|cell| cell.seconds[*block].is_some());
    let whole: Vec<usize> = (0..count).filter(whole).collect();
    let mean_of = |cell: &Observed| {
        mean(&whole.iter().filter_map(|block| cell.seconds[*block]).collect::<Vec<_>>())
    };
    observed.iter().map(|cell| Observed { seconds: vec![mean_of(cell)], ..cell.clone() }).collect()
}

/// What was measured of one cell.
struct Measured {
    workload: u16,
    work: FileWork,
    operations: f64,
    /// By block.
    seconds: BTreeMap<u32, f64>,
}

impl Measured {
    /// `None` without a complete trial.
    fn new(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Measured> {
        let workload = study.plan.workload(cell)?;
        let (work, part) = (file_work(workload)?, workload.headline_part());
        let trials = gathered.complete(cell);
        let elapsed = |trial: &&Trial| {
            let seconds = trial.result.value(part, Metric::all(Measure::ELAPSED));
            Some((trial.block?, seconds.filter(|s| s.is_finite() && *s > 0.0)?))
        };
        let seconds: BTreeMap<u32, f64> = trials.iter().filter_map(elapsed).collect();
        let operations = |trial: &&Trial| {
            let ops = trial.result.part(part)?.ops.values().filter(|stats| stats.bytes > 0);
            Some(ops.map(|stats| stats.count as f64).sum::<f64>())
        };
        let operations = mean(&trials.iter().filter_map(operations).collect::<Vec<_>>());
        (!seconds.is_empty()).then_some(Measured {
            workload: cell.workload,
            work,
            operations: operations.unwrap_or(0.0),
            seconds,
        })
    }

    /// The mean of its time, as the only cost of one file.
    fn mean(&self, rule: Rule) -> Option<Estimate> {
        let work = Work { files: 1.0, ..Work::default() };
        let seconds = self.seconds.values().copied().map(Some).collect();
        let alone = Observed { work, groups: Groups::default(), seconds };
        costs::fit(&[alone])?.cost(CostKind::File, 0, rule)
    }
}
