//! Which trials make up the next block, in which order.

use plimsoll_model::{Cell, PatternJob, Plan, Switch, factor};
use plimsoll_stats::order;

/// The blocks of a study as they unfold: every active cell once a block, order shuffled. A workload
/// whose stop rule is satisfied takes part no more. Settings whose change restarts something are
/// whole plots: a block goes through them one after the other, in an order drawn anew.
pub struct Schedule {
    /// By whole plot.
    plots: Vec<Vec<Cell>>,
    /// Blocks wanted, by workload.
    wanted: Vec<u32>,
    block: u32,
    /// Cells of the next block that have their trials already.
    done: Vec<Cell>,
    seed: u64,
}

impl Schedule {
    /// Before the first block: every workload is wanted for the first blocks of the plan's rule.
    pub fn new(plan: &Plan) -> Self {
        Schedule {
            plots: by_plot(plan, Vec::new(), plan.cells()),
            wanted: vec![plan.first_blocks(); plan.workloads.len()],
            block: 0,
            done: Vec::new(),
            seed: plan.design.seed,
        }
    }

    /// Goes on after so many blocks, and after these cells of the next one. The order of each is drawn by
    /// itself, so that it is the same whether or not the study was interrupted before.
    pub fn after(self, blocks: u32, done: Vec<Cell>) -> Self {
        Schedule { block: blocks, done, ..self }
    }

    /// Sets how many blocks each workload is to have in all; one for which the rule cannot tell,
    /// because its trials failed, has no more.
    pub fn want(&mut self, needed: Vec<Option<u64>>) {
        for (wanted, blocks) in self.wanted.iter_mut().zip(needed) {
            *wanted = blocks.map_or(*wanted, |b| u32::try_from(b).unwrap_or(u32::MAX));
        }
    }

    /// Takes up workloads of the plan that are to have so many blocks from now on, those that it did not have included.
    pub fn extend(&mut self, plan: &Plan, more: &[(usize, u32)]) {
        if !self.done.is_empty() {
            // The block that was broken off lacks nothing of what was wanted until now.
            self.done.clear();
            self.block += 1;
        }
        let known = self.wanted.len();
        self.wanted.resize(plan.workloads.len(), 0);
        for (workload, blocks) in more {
            if let Some(wanted) = self.wanted.get_mut(*workload) {
                *wanted = self.block.saturating_add(*blocks);
            }
        }
        let fresh = plan.cells().into_iter().filter(|cell| usize::from(cell.workload) >= known);
        self.plots = by_plot(plan, std::mem::take(&mut self.plots), fresh);
    }

    /// Number of the next block and its cells in order; `None` when every workload has its blocks.
    pub fn next_block(&mut self) -> Option<(u32, Vec<Cell>)> {
        if self.next_size() == 0 {
            return None;
        }
        let mut cells = Vec::new();
        let mut draw = order::generator(self.seed, &format!("order {}", self.block));
        for plot in order::shuffled(self.plots.len(), &mut draw) {
            let active: Vec<Cell> = self.active(&self.plots[plot]).copied().collect();
            let order = order::shuffled(active.len(), &mut draw);
            cells.extend(order.into_iter().map(|i| active[i]));
        }
        let done = std::mem::take(&mut self.done);
        cells.retain(|cell| !done.contains(cell));
        self.block += 1;
        Some((self.block - 1, cells))
    }

    /// Blocks handed out so far.
    pub fn blocks(&self) -> u32 {
        self.block
    }

    /// Blocks in all, as things stand.
    pub fn blocks_wanted(&self) -> u32 {
        self.wanted.iter().copied().max().unwrap_or(0)
    }

    /// Which of the files that are read, and of those that are written, the trials of a block begin
    /// with: each once before any is first again, in an order drawn from the seed.
    pub fn rotation(&self, block: u32) -> u32 {
        let (round, place) = (block / PatternJob::FILES, block % PatternJob::FILES);
        let mut draw = plimsoll_stats::order::generator(self.seed, &format!("files {round}"));
        let order = plimsoll_stats::order::shuffled(PatternJob::FILES as usize, &mut draw);
        order[place as usize] as u32
    }

    /// Cells of the next block, in no order.
    pub fn next_cells(&self) -> impl Iterator<Item = &Cell> {
        let active = self.plots.iter().flat_map(move |cells| self.active(cells));
        active.filter(move |cell| !self.done.contains(cell))
    }

    /// How many these are.
    pub fn next_size(&self) -> usize {
        self.next_cells().count()
    }

    /// Trials in the blocks not yet handed out, as things stand.
    pub fn trials_left(&self) -> u32 {
        let trials_of = |cell: &Cell| self.wanted(cell).saturating_sub(self.block);
        let left = self.plots.iter().flatten().map(trials_of).fold(0, u32::saturating_add);
        left.saturating_sub(self.done.len() as u32)
    }

    fn wanted(&self, cell: &Cell) -> u32 {
        self.wanted.get(usize::from(cell.workload)).copied().unwrap_or(0)
    }

    fn active<'a>(&'a self, cells: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
        cells.iter().filter(|cell| self.wanted(cell) > self.block)
    }
}

/// Cells by their whole plots, after those that are there.
fn by_plot(
    plan: &Plan,
    mut plots: Vec<Vec<Cell>>,
    cells: impl IntoIterator<Item = Cell>,
) -> Vec<Vec<Cell>> {
    for cell in cells {
        let plot_of = |cell: &Cell| whole_plot(plan, cell.setting);
        let same = |plot: &&mut Vec<Cell>| plot.first().map(plot_of) == Some(plot_of(&cell));
        match plots.iter_mut().find(same) {
            Some(plot) => plot.push(cell),
            None => plots.push(vec![cell]),
        }
    }
    plots
}

/// The whole plot that a setting is of: the level of each factor whose change restarts something.
pub(crate) fn whole_plot(plan: &Plan, setting: u16) -> Vec<usize> {
    let levels = factor::levels(&plan.factors, setting);
    let restarts = plan.factors.iter().zip(levels);
    restarts.filter(|(f, _)| f.switch == Switch::Restart).map(|(_, level)| level).collect()
}
