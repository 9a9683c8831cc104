//! What comes before the first block: subjects are attached, what the workloads need is laid out, the idle hosts are
//! watched, and lengths and rates are chosen.

use super::{Conductor, add_new, interrupted};
use crate::kept_trials::KeptTrials;
use crate::observers::Preparing;
use crate::progress::Progress;
use crate::schedule::Schedule;
use crate::{resume, size, stability};
use plimsoll_model::{Failure, Flag, HostFacts, HostName};
use std::time::Duration;

impl Conductor<'_> {
    /// Attaches every subject, prepares what the workloads need, watches the idle hosts.
    pub(super) fn prepare(&mut self) -> Result<(), Failure> {
        let mut observer = Preparing(&mut *self.observer);
        for subject in 0..self.study.plan.subjects.len() {
            observer.begin(subject);
            let found = self.runner.attach(subject)?;
            if self.before.is_some() {
                resume::expect_not_running(&self.study.id, &found)?;
            }
            self.study.flags.extend(found);
        }
        if let Some(before) = &self.before {
            resume::expect_same(&before.id, &before.subjects, &self.runner.facts())?;
        }
        self.study.flags.extend(size::fit(&mut self.study.plan, &self.runner.facts())?);
        if self.study.plan.storage.adapt_size {
            self.adapt_to_time()?;
        }
        self.prepare_workloads(0)?;
        if self.study.plan.design.quick && self.before.is_none() {
            self.study.plan.design.cap_seconds += self.elapsed();
        }
        self.note_facts();
        self.study.hosts = self.hosts.facts();
        self.same_machine();
        let difference = stability::difference(&self.study.subjects, &self.study.plan.workloads);
        self.study.flags.extend(difference);
        let seconds = self.study.plan.design.baseline_seconds;
        if seconds > 0.0 {
            (self.observer)(Progress::Baseline { seconds });
        }
        self.idle(Duration::from_secs_f64(seconds.max(0.0)), self.before.is_some());
        // A study that is continued keeps its lengths, and what is known of its writes.
        let calibrate = std::mem::take(&mut self.study.plan.design.calibrate);
        match &self.before {
            Some(before) => self.writes = resume::writes(before),
            None => {
                self.calibrate(calibrate)?;
                self.fix_rates()?;
                self.condition(calibrate)?;
            }
        }
        let measured = self.before.as_ref().map_or_else(Vec::new, resume::measured);
        self.schedule = Schedule::new(&self.study.plan).after(self.first_block, measured);
        if self.stopped() {
            return Err(interrupted());
        }
        match self.before {
            Some(_) => self.goes_on()?,
            None => {
                self.store.begin(&self.study)?;
                self.is_kept = true;
            }
        }
        self.held = KeptTrials::new(&self.study, self.store);
        Ok(())
    }

    /// Prepares what the workloads from this one on need. In turn: what is laid out for one subject lies beside what is
    /// laid out for the others.
    pub(super) fn prepare_workloads(&mut self, from: usize) -> Result<(), Failure> {
        let mut observer = Preparing(&mut *self.observer);
        let mut waiting: Vec<usize> = (0..self.study.plan.subjects.len()).collect();
        while !waiting.is_empty() {
            for subject in std::mem::take(&mut waiting) {
                observer.begin(subject);
                let kind = Some(self.study.plan.subjects[subject].kind());
                let mut workloads = self.study.plan.workloads[from..].to_vec();
                workloads.retain(|workload| workload.subject() == kind);
                let prepared = self.runner.prepare(subject, &workloads, &mut observer)?;
                self.study.flags.extend(prepared.flags);
                waiting.extend(prepared.more.then_some(subject));
            }
        }
        Ok(())
    }

    /// Notes that the study is continued, and lets its seconds go on where it stopped. That is kept with
    /// the first trial: until then the study is as it was.
    fn goes_on(&mut self) -> Result<(), Failure> {
        let Some(before) = &self.before else { return Ok(()) };
        resume::expect_same(&before.id, &before.subjects, &self.study.subjects)?;
        let preparing = self.elapsed() - resume::stopped_at(before);
        self.earlier -= preparing;
        self.study.plan.design.cap_seconds -= preparing;
        resume::renew(&mut self.study.flags, self.unix_seconds, self.first_block);
        self.look();
        Ok(())
    }

    /// A host in another role may be one that drives the trials, under another name too.
    fn same_machine(&mut self) {
        let study = &self.study;
        let is_here = |host: &HostName| {
            let own = |facts: &HostFacts| facts.is_this_machine && facts.name == *host;
            *host == HostName::Local || study.hosts.iter().any(own)
        };
        let drives_here = study.plan.clients().any(is_here);
        let drives = |host: &HostName| {
            let is_named = study.plan.clients().any(|client| client.is_same_host(host));
            is_named || (drives_here && is_here(host))
        };
        let shared = study.plan.others().filter(|other| drives(&other.host));
        let flags = shared.map(|other| Flag::SameMachine { host: other.host.clone() });
        let flags: Vec<Flag> = flags.collect();
        add_new(&mut self.study.flags, flags);
    }
}
