//! The cost model: every layer between an application and a disk charges for each operation and for each
//! byte, and layers nest.
//!
//! ```text
//! t_file(s, b) = α_file + ⌈s/b⌉·α_rpc + β·s      one file of s bytes in blocks of b, one at a time
//! t_call(s, m) = α_call + ⌈s/m⌉·α_segment + β·s  one call of s bytes in segments of m
//! ```
//!
//! Cells may share some costs and not others: `async` changes what a file costs and not what a byte does.
//! So each cell says for each kind of cost which group it belongs to, and all are fitted together.
//!
//! ```
//! use plimsoll_stats::fit::costs::{Cell, Groups, CostKind, Work, fit};
//! use plimsoll_stats::fit::Rule;
//!
//! // Uploads with `sync` (group 0) and `async` (group 1), which differ in what a file costs.
//! let cell = |setting, files, size, block, seconds: [f64; 3]| Cell {
//!     work: Work::files(files, size, block).unwrap(),
//!     groups: Groups { file: setting, operation: 0, byte: 0 },
//!     seconds: seconds.map(Some).to_vec(),
//! };
//! let cells = [
//!     cell(0, 1, 100_000_000, 16_384, [16.3, 16.0, 16.4]),
//!     cell(0, 1, 100_000_000, 32_768, [13.1, 13.0, 13.2]),
//!     cell(0, 5_000, 10_000, 16_384, [148.0, 146.7, 150.1]),
//!     cell(1, 5_000, 10_000, 16_384, [75.1, 74.0, 74.9]),
//!     cell(1, 1, 100_000_000, 16_384, [16.1, 16.0, 16.3]),
//! ];
//! let costs = fit(&cells).unwrap();
//! let rule = Rule::Fixed(0.95);
//! let per_file = |group| costs.cost(CostKind::File, group, rule).unwrap().value;
//! assert!((per_file(0) / per_file(1) - 2.2).abs() < 0.1);
//! let films = Work::files(20, 900_000_000, 32_768).unwrap();
//! let groups = Groups { file: 1, operation: 0, byte: 0 };
//! assert!((costs.predict(films, groups, rule).unwrap().mean.value / 2_340.0 - 1.0).abs() < 0.02);
//! ```

use super::{Estimate, Fit, Observation, Prediction, Rule};
use std::collections::BTreeSet;
use std::iter::Sum;
use std::ops::Add;

/// What is charged for. In this order costs that cannot be separated are added up, so that those of
/// operations are part of those of files and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostKind {
    /// A file; of sockets, a call.
    File,
    /// A byte.
    Byte,
    /// An operation on a block; of sockets, a segment.
    Operation,
}

/// How much work a time is for. That of several files is the sum of theirs: the operations of many sizes do
/// not follow from their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Files, or calls.
    pub files: f64,
    /// Operations on blocks, or segments.
    pub operations: f64,
    /// Bytes.
    pub bytes: f64,
}

impl Work {
    /// `count` files of `size` bytes in blocks of `block`, or calls in segments. `None` without blocks.
    pub fn files(count: u64, size: u64, block: u64) -> Option<Work> {
        let blocks = (block > 0).then(|| size.div_ceil(block))?;
        let files = count as f64;
        Some(Work { files, operations: files * blocks as f64, bytes: files * size as f64 })
    }

    pub(super) fn amount(self, kind: CostKind) -> f64 {
        match kind {
            CostKind::File => self.files,
            CostKind::Byte => self.bytes,
            CostKind::Operation => self.operations,
        }
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            files: self.files + other.files,
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Work>>(all: I) -> Work {
        all.fold(Work::default(), Add::add)
    }
}

/// Which cells a cell shares each of its costs with: those of the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The cost of a file.
    pub file: u32,
    /// The cost of an operation.
    pub operation: u32,
    /// The cost of a byte.
    pub byte: u32,
}

impl Groups {
    pub(super) fn costs(self) -> [(CostKind, u32); 3] {
        [
            (CostKind::File, self.file),
            (CostKind::Byte, self.byte),
            (CostKind::Operation, self.operation),
        ]
    }
}

/// What was measured of some work under some settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The work.
    pub work: Work,
    /// The costs that it pays.
    pub groups: Groups,
    /// Its time in seconds in each block, `None` where there is none.
    pub seconds: Vec<Option<f64>>,
}

/// A cost: what is charged for, and in which group.
pub type Cost = (CostKind, u32);

/// The costs of some cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// By the number that the fit knows them by.
    costs: Vec<Cost>,
    fit: Fit,
}

/// Fits all costs of these cells together. `None` as for [`super::fit`].
pub fn fit(cells: &[Cell]) -> Option<Costs> {
    let all: BTreeSet<Cost> = cells.iter().flat_map(|cell| cell.groups.costs()).collect();
    let costs: Vec<Cost> = all.into_iter().collect();
    let observation = |cell: &Cell| Observation {
        amounts: amounts(&costs, cell.work, cell.groups),
        seconds: cell.seconds.clone(),
    };
    let observations: Vec<Observation> = cells.iter().map(observation).collect();
    let fit = super::fit(&observations)?;
    Some(Costs { costs, fit })
}

/// How much of each cost some work pays.
fn amounts(costs: &[Cost], work: Work, groups: Groups) -> Vec<f64> {
    let paid = groups.costs();
    costs.iter().map(|cost| if paid.contains(cost) { work.amount(cost.0) } else { 0.0 }).collect()
}

impl Costs {
    /// A cost in seconds for one file, operation or byte. `None` where no cell paid it, where it cannot be
    /// separated from others, and where the model does not fit.
    pub fn cost(&self, kind: CostKind, group: u32, rule: Rule) -> Option<Estimate> {
        self.fit.cost(self.costs.iter().position(|cost| *cost == (kind, group))?, rule)
    }

    /// Every cost, or sum of costs that cannot be separated, with its estimate: the first has the
    /// coefficient 1, and the sum is in seconds for one of it. Nothing where the model does not fit.
    pub fn identified(&self, rule: Rule) -> Vec<(Vec<(Cost, f64)>, Estimate)> {
        let named = |terms: &super::Combination| -> Vec<(Cost, f64)> {
            terms.iter().map(|&(cost, by)| (self.costs[cost], by)).collect()
        };
        let all = self.fit.identified().iter().enumerate();
        all.filter_map(|(number, sum)| Some((named(sum), self.fit.combined(number, rule)?)))
            .collect()
    }

    /// The time that some work takes. `None` as for [`Fit::predict`], and where it pays costs that no cell
    /// paid.
    pub fn predict(&self, work: Work, groups: Groups, rule: Rule) -> Option<Prediction> {
        let mut paid = groups.costs().into_iter().filter(|(kind, _)| work.amount(*kind) > 0.0);
        let known = paid.all(|cost| self.costs.contains(&cost));
        known.then(|| self.fit.predict(&amounts(&self.costs, work, groups), rule))?
    }

    /// How well the model describes the cells, in their order.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }
}

#[cfg(test)]
mod tests {
    use super::super::Adequacy;
    use super::*;

    const RULE: Rule = Rule::Fixed(0.95);

    /// A time without noise, in as many blocks.
    fn exact(work: Work, groups: Groups, costs: [f64; 3], blocks: usize) -> Cell {
        let [file, operation, byte] = costs;
        let seconds = work.files * file + work.operations * operation + work.bytes * byte;
        Cell { work, groups, seconds: vec![Some(seconds); blocks] }
    }

    fn work(files: u64, size: u64, block: u64) -> Work {
        Work::files(files, size, block).unwrap()
    }

    #[test]
    fn work_adds_up_by_file() {
        assert_eq!(work(2, 10, 4), Work { files: 2.0, operations: 6.0, bytes: 20.0 });
        assert_eq!(work(3, 0, 4), Work { files: 3.0, operations: 0.0, bytes: 0.0 });
        let of_many: Work = [5, 0, 4, 9].map(|size| work(1, size, 4)).into_iter().sum();
        assert_eq!(of_many, Work { files: 4.0, operations: 6.0, bytes: 18.0 });
        assert_eq!(Work::files(1, 1, 0), None);
        assert_eq!(work(1, u64::MAX, 1).operations, u64::MAX as f64);
    }

    /// Two settings that share what operations and bytes cost, one without a cost per file.
    #[test]
    fn costs_are_found_and_shared() {
        let groups = |file| Groups { file, operation: 7, byte: 3 };
        let cell = |file: u32, work| {
            exact(work, groups(file), [if file == 0 { 0.02 } else { 0.0 }, 1e-3, 1e-7], 3)
        };
        let works =
            [work(1, 1 << 30, 16_384), work(1, 1 << 30, 32_768), work(9_000, 9_000, 16_384)];
        let cells: Vec<Cell> = (0..2).flat_map(|file| works.map(|work| cell(file, work))).collect();
        let costs = fit(&cells).unwrap();
        let found = |kind, group| costs.cost(kind, group, RULE).unwrap();
        for (cost, truth) in [
            (found(CostKind::File, 0), 0.02),
            (found(CostKind::File, 1), 0.0),
            (found(CostKind::Operation, 7), 1e-3),
            (found(CostKind::Byte, 3), 1e-7),
        ] {
            assert!((cost.value - truth).abs() <= 1e-9 * truth + 1e-12, "{cost:?} {truth}");
        }
        assert_eq!(costs.cost(CostKind::Byte, 0, RULE), None);
        assert_eq!(costs.fit().adequacy(), Adequacy::Adequate);
        assert_eq!(costs.identified(RULE).len(), 4);
        let predicted = costs.predict(work(3, 5_000_000, 16_384), groups(0), RULE).unwrap();
        assert!((predicted.mean.value - (0.06 + 0.918 + 1.5)).abs() < 1e-9, "{predicted:?}");
        assert_eq!(costs.predict(works[0], Groups { file: 2, ..groups(0) }, RULE), None);
        let empty = Work { files: 0.0, ..works[0] };
        assert!(costs.predict(empty, Groups { file: 2, ..groups(0) }, RULE).is_some());
    }

    /// With one block size that all files are multiples of, a byte and its part of an operation cannot be
    /// separated: their sum is known, and so are times at that block size alone.
    #[test]
    fn one_block_size_gives_the_sum() {
        let groups = Groups::default();
        let works =
            [work(1, 16_384_000, 16_384), work(40, 163_840, 16_384), work(900, 16_384, 16_384)];
        let cells = works.map(|work| exact(work, groups, [2e-3, 1e-3, 1e-7], 1));
        let costs = fit(&cells).unwrap();
        for kind in [CostKind::Byte, CostKind::Operation] {
            assert_eq!(costs.cost(kind, 0, RULE), None);
        }
        let found = costs.identified(RULE);
        let [(file, per_file), (byte, per_byte)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(file[..], [((CostKind::File, 0), 1.0)]);
        assert!((per_file.value - 2e-3).abs() < 1e-12, "{per_file:?}");
        assert_eq!((byte[0], byte[1].0), (((CostKind::Byte, 0), 1.0), (CostKind::Operation, 0)));
        assert!((byte[1].1 * 16_384.0 - 1.0).abs() < 1e-6, "{byte:?}");
        assert!((per_byte.value - (1e-7 + 1e-3 / 16_384.0)).abs() < 1e-15, "{per_byte:?}");
        let same = costs.predict(work(7, 16_384 * 30, 16_384), groups, RULE).unwrap();
        let truth = 7.0 * (2e-3 + 30.0 * 1e-3 + 30.0 * 16_384.0 * 1e-7);
        assert!((same.mean.value / truth - 1.0).abs() < 1e-9, "{same:?}");
        assert_eq!(costs.predict(work(7, 16_384 * 30, 8_192), groups, RULE), None);
    }

    /// One size of file in all: everything is in what a file costs.
    #[test]
    fn one_size_gives_what_a_file_costs_in_all() {
        let cells = [10, 50, 200].map(|files| {
            exact(work(files, 100_000, 32_768), Groups::default(), [1e-3, 1e-3, 1e-8], 1)
        });
        let costs = fit(&cells).unwrap();
        let found = costs.identified(RULE);
        let [(terms, all)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((terms[0], terms.len()), (((CostKind::File, 0), 1.0), 3));
        assert!((all.value - (1e-3 + 4e-3 + 1e-3)).abs() < 1e-12, "{all:?}");
    }
}
