//! The cost model held against times that were published, each of which was measured once.

use plimsoll_explain::CLOSE;
use plimsoll_stats::fit::costs::{Cell, CostKind, Costs, fit};
use plimsoll_stats::fit::{Estimate, Rule};

/// Confidence of intervals, which are from how far the model is off.
const RULE: Rule = Rule::Fixed(0.95);

/// What files, operations and bytes cost by some published times.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    costs: Costs,
    times: usize,
}

impl Model {
    /// Fits it. `None` as for [`fit`].
    pub fn fitted(cells: &[Cell]) -> Option<Model> {
        Some(Model { costs: fit(cells)?, times: cells.len() })
    }

    /// How many costs the times separate.
    pub fn parameters(&self) -> usize {
        self.costs.identified(RULE).len()
    }

    /// The largest difference from a time, as a share of it.
    pub fn largest_error(&self) -> f64 {
        self.costs.fit().errors().iter().map(|error| error.abs()).fold(0.0, f64::max)
    }

    /// Whether there are more times than costs: otherwise it cannot be off, and says so of nothing.
    pub fn is_tested(&self) -> bool {
        self.times > self.parameters()
    }

    /// Whether it is within a tenth of every time. One that is not names no cost and predicts nothing.
    pub fn fits(&self) -> bool {
        self.largest_error() <= CLOSE
    }

    /// A cost in seconds. `None` where the model does not fit, or the times do not separate it.
    pub fn cost(&self, kind: CostKind, group: u32) -> Option<Estimate> {
        self.fits().then(|| self.costs.cost(kind, group, RULE))?
    }

    /// The time of a cell by the model, in seconds, whether it fits or not. `None` where that pays costs
    /// which are not known.
    pub fn seconds(&self, cell: &Cell) -> Option<f64> {
        Some(self.costs.predict(cell.work, cell.groups, RULE)?.mean.value)
    }
}
