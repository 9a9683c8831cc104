//! Settings come into effect: live ones from trial to trial, what restarts something once a whole plot.

use super::Conductor;
use crate::progress::Progress;
use crate::schedule::whole_plot;
use plimsoll_model::{Cell, Deadline, Failure, Switch, factor};
use std::time::Duration;

/// How often a server that was rebooted is tried.
const TRY_AGAIN: Duration = Duration::from_secs(1);

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
        let rebooted = if begins { self.reboot()? } else { None };
        let plan = &self.study.plan;
        for (number, level) in &changed {
            let factor = &plan.factors[*number];
            (self.observer)(Progress::Setting { factor, level: &factor.levels[*level] });
            self.settings.set(*number, *level)?;
        }
        self.setting = Some((block, cell.setting));
        if !changed.is_empty() {
            self.reopen(rebooted.as_ref())?;
            self.idle_between();
        }
        Ok(())
    }

    /// Reboots the plan's host, if there is one; until when its services must be back then.
    fn reboot(&mut self) -> Result<Option<Deadline>, Failure> {
        let Some(reboot) = &self.study.plan.reboot else { return Ok(None) };
        (self.observer)(Progress::Reboot { host: &reboot.host });
        let whole = Deadline::new(self.clock.clone(), self.stop.clone());
        let deadline = whole.within(Duration::from_secs_f64(reboot.within_seconds));
        self.settings.reboot(&deadline)?;
        self.hosts.rebooted();
        Ok(Some(deadline))
    }

    /// Makes connections anew; a server that was rebooted may take a while until it takes them.
    fn reopen(&mut self, rebooted: Option<&Deadline>) -> Result<(), Failure> {
        loop {
            let Err(failure) = self.runner.reopen() else { return Ok(()) };
            if rebooted.is_none_or(|deadline| deadline.sleep(TRY_AGAIN).is_err()) {
                return Err(failure);
            }
        }
    }
}
