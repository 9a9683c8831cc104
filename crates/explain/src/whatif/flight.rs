//! Another number of operations in flight: by what was measured with several, else by the demands of one.

use super::demands::{Applied, Demands, refused};
use super::{Settle, Unknown, Why};
use crate::{Resource, Unseen};
use plimsoll_model::{Parameter, Steps};
use std::num::NonZeroU16;

/// Numbers in flight that differ by less than this factor are the same: what was measured is a mean.
const NEAR: f64 = 1.1;

impl Demands<'_> {
    /// Another number of workers, or in flight per worker.
    pub(super) fn flight(&mut self, count: NonZeroU16, over: Parameter) -> Applied {
        let (Some(workload), Some(main)) = (self.workload(), self.main()) else {
            return refused(Why::NoWorkers, Settle::Change);
        };
        if !main.job.settable().workers {
            return refused(Why::NoWorkers, Settle::Change);
        }
        if workload.steps.as_ref().map(Steps::over) == Some(over) {
            return refused(Why::Sweep, Settle::Change);
        }
        let is_workers = over == Parameter::Workers;
        let today = if is_workers { main.workers } else { main.depth() };
        let settle = match is_workers {
            true => Settle::Workers(count.get()),
            false => Settle::Depth(count.get()),
        };
        let times = f64::from(count.get()) / f64::from(today.get());
        self.in_flight *= times;
        self.note(times);
        let rates = self.measured_with(self.in_flight);
        let is_within = matches!(rates, Some([Some(_), Some(_)]));
        if times != 1.0 && !is_within {
            match (self.is_rotating(), self.limits.ladder.is_some()) {
                (Some(true), false) => return refused(Why::Rotating, settle),
                (None, false) => return refused(Why::OneConcurrency, settle),
                // More readers may move its heads more than was measured.
                (Some(true) | None, true) => {
                    self.may_lose = true;
                    self.unknown.push(Unknown::Concurrency);
                }
                (Some(false), false) => self.unknown.push(Unknown::Concurrency),
                (Some(false), true) => {}
            }
        }
        self.measured = rates;
        for one in self.slow.iter_mut().chain(&mut self.fast) {
            if is_workers && one.resource == Resource::Driver {
                one.servers *= times;
                one.alone_per_second = one.alone_per_second.map(|alone| alone * times);
            }
        }
        Ok(())
    }

    /// What was measured with at most so many in flight, and with at least so many.
    fn measured_with(&self, in_flight: f64) -> Option<[Option<f64>; 2]> {
        let ladder = self.limits.ladder.as_ref()?;
        let own = (self.limits.in_flight, self.limits.per_second);
        let rungs = || {
            let rungs = ladder.rungs.iter().map(|rung| (rung.in_flight, rung.per_second));
            rungs.chain(std::iter::once(own))
        };
        let fewer = rungs().filter(|(flight, _)| *flight <= in_flight * NEAR);
        let fewer = fewer.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate);
        let more = rungs().filter(|(flight, _)| *flight * NEAR >= in_flight);
        let more = more.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate);
        Some([fewer, more])
    }

    /// Whether the disk that serves the row rotates; `None` if that is not known.
    fn is_rotating(&self) -> Option<bool> {
        if let Some(one) = self.server_disk() {
            let Resource::Disk { name } = &one.resource else { return None };
            return Some(self.facts(one.host.as_ref()?)?.disks.get(name)?.rotational);
        }
        // Memory, or nothing but names, served it.
        (self.is_from_memory() || !self.is_unseen(Unseen::Server)).then_some(false)
    }
}
