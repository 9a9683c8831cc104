//! Which trials make up the next block, in which order.

use plimsoll_explain::Needed;
use plimsoll_model::{Cell, Plan, Workload};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;

/// The blocks of a study as they unfold: every active cell once a block, order shuffled. A workload
/// whose stop rule is satisfied takes part no more.
pub struct Schedule {
    cells: Vec<Cell>,
    wanted: BTreeMap<Workload, u32>,
    block: u32,
    order: Pcg64,
}

impl Schedule {
    /// Before the first block: every workload is wanted for the first blocks of the plan's rule.
    pub fn new(plan: &Plan) -> Self {
        let cells = plan
            .workloads
            .iter()
            .flat_map(|workload| {
                (0..plan.targets.len()).map(|target| Cell { target, workload: workload.clone() })
            })
            .collect();
        let wanted = plan.workloads.iter().map(|w| (w.clone(), plan.first_blocks())).collect();
        Schedule {
            cells,
            wanted,
            block: 0,
            order: plimsoll_stats::order::generator(plan.design.seed, "order"),
        }
    }

    /// Sets how many blocks each workload is to have in all; one for which the rule cannot tell,
    /// because its trials failed, has no more.
    pub fn want(&mut self, needed: Vec<Needed>) {
        for Needed { workload, blocks } in needed {
            if let (Some(wanted), Some(blocks)) = (self.wanted.get_mut(&workload), blocks) {
                *wanted = u32::try_from(blocks).unwrap_or(u32::MAX);
            }
        }
    }

    /// Number of the next block and its cells in order; `None` when every workload has its blocks.
    pub fn next_block(&mut self) -> Option<(u32, Vec<Cell>)> {
        let active = self.active(self.block);
        if active.is_empty() {
            return None;
        }
        let order = plimsoll_stats::order::shuffled(active.len(), &mut self.order);
        let cells = order.into_iter().map(|i| active[i].clone()).collect();
        self.block += 1;
        Some((self.block - 1, cells))
    }

    /// Blocks handed out so far.
    pub fn blocks(&self) -> u32 {
        self.block
    }

    /// Blocks in all, as things stand.
    pub fn blocks_wanted(&self) -> u32 {
        self.wanted.values().copied().max().unwrap_or(0)
    }

    /// Cells of the next block.
    pub fn next_size(&self) -> usize {
        self.active(self.block).len()
    }

    /// Trials in the blocks not yet handed out, as things stand.
    pub fn trials_left(&self) -> u32 {
        self.cells
            .iter()
            .map(|c| self.wanted.get(&c.workload).map_or(0, |w| w.saturating_sub(self.block)))
            .sum()
    }

    fn active(&self, block: u32) -> Vec<Cell> {
        let wanted = |c: &&Cell| self.wanted.get(&c.workload).is_some_and(|w| *w > block);
        self.cells.iter().filter(wanted).cloned().collect()
    }
}
