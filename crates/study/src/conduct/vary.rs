//! Settings come into effect: live ones from trial to trial, what restarts something once a whole plot.

use super::Conductor;
use crate::progress::Progress;
use crate::schedule::whole_plot;
use plimsoll_model::{Cell, Failure, Switch, factor};

impl Conductor<'_> {
    /// Brings a cell's setting into effect. Connections do not outlive a change. Where a whole plot begins,
    /// what restarts for it restarts, whatever the level was before: plots are replicates only then.
    pub(super) fn set(&mut self, block: u32, cell: Cell) -> Result<(), Failure> {
        let plan = &self.study.plan;
        let plot = |setting| whole_plot(plan, setting);
        let (begins, before) = match self.setting {
            None => (true, None),
            Some((of, setting)) => {
                let begins = (of, plot(setting)) != (block, plot(cell.setting));
                (begins, Some(factor::levels(&plan.factors, setting)))
            }
        };
        let set = |(number, level): &(usize, usize)| {
            let same = before.as_ref().is_some_and(|before| before[*number] == *level);
            !same || (begins && plan.factors[*number].switch == Switch::Restart)
        };
        let levels = factor::levels(&plan.factors, cell.setting).into_iter().enumerate();
        let changed: Vec<(usize, usize)> = levels.filter(set).collect();
        if changed.iter().any(|(number, _)| plan.factors[*number].switch == Switch::Restart) {
            self.runner.release()?;
        }
        for (number, level) in &changed {
            let factor = &plan.factors[*number];
            (self.observer)(Progress::Setting { factor, level: &factor.levels[*level] });
            self.settings.set(*number, *level)?;
        }
        self.setting = Some((block, cell.setting));
        if !changed.is_empty() {
            self.runner.reopen()?;
            self.idle_between();
        }
        Ok(())
    }
}
