//! How much is laid out and copied, where that is left to the program: what leaves time for measuring, and
//! lets the first blocks end in good time.
//!
//! The rate of large files is sampled. Of each dataset a small part is copied to each subject, and more of
//! it until it takes long enough to tell.

use super::{Conductor, interrupted};
use crate::observers::Preparing;
use crate::{scale, size};
use plimsoll_model::{
    DataClass, Event, Failure, Flag, Length, LoadObserver, Outcome, Part, PointSpec, Rule, Scaled,
    Workload, factor,
};
use std::collections::BTreeMap;

/// Share of the cap that all before the first look may take: finding the scale, what is laid out, the
/// first blocks; more where nothing is decided before. Finding it may take the second.
const SHARE: f64 = 0.5;
const FINDING: f64 = 0.15;
/// The first part that is copied, and how much more the next is.
const FIRST: f64 = 1.0 / 4096.0;
const MORE: f64 = 4.0;
/// A part that takes so many seconds tells, where it takes so many times as long as the first: what
/// each trial takes however little is copied is the smaller half then.
const LONG_ENOUGH: f64 = 0.2;
const TIMES_THE_FIRST: f64 = 2.0;
/// One that takes so long tells in any case.
const LONG: f64 = 2.0;
/// Seconds that are sums differ in their last digits.
const ROUNDING: f64 = 1.0 + 1e-9;
/// A part that takes longer is not waited for, in seconds.
const AT_MOST: f64 = 20.0;

/// What workloads would take as they are planned, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    /// Before the first trials, in proportion to how much is copied.
    once: f64,
    /// Each trial, with what is removed before it, however little is copied.
    fixed: f64,
    /// What comes on top of that in proportion.
    each: f64,
}

impl Cost {
    /// Of parts of a workload, each with the seconds of its first run and of one after that: the
    /// smallest part and the largest tell.
    fn fitted(runs: &[(f64, f64, f64)]) -> Cost {
        match runs {
            [(small, _, short), .., (part, first, again)] => {
                let each = ((again - short) / (part - small)).max(0.0);
                let fixed = (short - small * each).max(0.0);
                Cost { once: (first - again).max(0.0) / part, fixed, each }
            }
            [(part, first, again)] => {
                Cost { once: (first - again).max(0.0) / part, fixed: 0.0, each: again / part }
            }
            [] => Cost::default(),
        }
    }

    fn and(self, other: Cost) -> Cost {
        Cost {
            once: self.once + other.once,
            fixed: self.fixed + other.fixed,
            each: self.each + other.each,
        }
    }

    /// What so many blocks take with so much of the whole.
    fn seconds(self, part: f64, blocks: f64) -> f64 {
        part * self.once + blocks * (self.fixed + part * self.each)
    }
}

/// Seconds for each of several that have so many in all, of which each takes at least and at most these: equal
/// shares, but of what takes no more than its share all, and what cannot take as little has what it takes.
fn shares(ranges: &[(f64, f64)], seconds: f64) -> Vec<f64> {
    let mut fixed: Vec<Option<f64>> = vec![None; ranges.len()];
    loop {
        let open = fixed.iter().filter(|fixed| fixed.is_none()).count();
        let left = seconds - fixed.iter().flatten().sum::<f64>();
        let share = left.max(0.0) / open.max(1) as f64;
        // What takes more than its share leaves the others less, so that it is fixed first.
        let beyond = |(least, _): (f64, f64)| (least > share).then_some(least);
        let within = |(_, most): (f64, f64)| (most <= share).then_some(most);
        let fix = |own: &dyn Fn((f64, f64)) -> Option<f64>, fixed: &mut Vec<Option<f64>>| {
            let mut any = false;
            for (at, range) in fixed.iter_mut().zip(ranges).filter(|(at, _)| at.is_none()) {
                *at = own(*range);
                any |= at.is_some();
            }
            any
        };
        if !fix(&beyond, &mut fixed) && !fix(&within, &mut fixed) {
            return fixed.into_iter().map(|fixed| fixed.unwrap_or(share)).collect();
        }
    }
}

impl Conductor<'_> {
    /// Lowers sizes, or the scale of what is copied, to what there is time for.
    pub(super) fn adapt_to_time(&mut self) -> Result<(), Failure> {
        if let Some(whole) = scale::largest_planned(&self.study.plan.workloads) {
            return self.scale_to_time(whole);
        }
        let mut slowest = f64::INFINITY;
        let largest = size::largest(&self.study.plan);
        let mut observer = Preparing(&mut *self.observer);
        for subject in 0..self.study.plan.subjects.len() {
            observer.begin(subject);
            let rate = size::rate(largest, |bytes| {
                self.runner.lay_out_rate(subject, bytes, &mut observer)
            })?;
            slowest = slowest.min(rate.unwrap_or(f64::INFINITY));
        }
        self.study.flags.extend(size::adapt(&mut self.study.plan, slowest));
        Ok(())
    }

    /// Lowers the scales where the first blocks of the whole would take too long: each dataset has an equal share of
    /// the time, so that one of many small files leaves the others trials that are long enough.
    fn scale_to_time(&mut self, whole: f64) -> Result<(), Failure> {
        let cells = (self.study.plan.workloads.len() * self.study.plan.subjects.len()) as f64;
        let each = self.study.plan.design.cap_seconds * FINDING / cells;
        let mut costs: BTreeMap<Option<DataClass>, Cost> = BTreeMap::new();
        for number in 0..self.study.plan.workloads.len() {
            let workload = self.study.plan.workloads[number].clone();
            for subject in 0..self.study.plan.subjects.len() {
                let fits = workload.subject() == Some(self.study.plan.subjects[subject].kind());
                // Copies during other work last as long as that.
                let copies = workload.main().filter(|main| main.job.scale().is_some());
                if let Some(main) = copies.filter(|_| fits) {
                    let cost = self.cost(subject, &workload, each)?;
                    let own = costs.entry(class(main)).or_default();
                    *own = own.and(cost);
                }
            }
        }
        let design = &self.study.plan.design;
        let settings = factor::settings(&self.study.plan.factors) as f64;
        let blocks = settings * f64::from(design.rule.first_blocks());
        let seconds: f64 = costs.values().map(|cost| cost.seconds(1.0, blocks)).sum();
        let at_least = match design.rule {
            Rule::Sequential { at_least_seconds, .. } => at_least_seconds,
            Rule::Fixed { .. } => 0.0,
        };
        let most = (design.cap_seconds * SHARE).max(at_least);
        // However long finding it took.
        let affordable = (most - self.elapsed()).max(most / 2.0);
        if seconds <= affordable {
            return Ok(());
        }
        let smallest = scale::SMALLEST.min(whole);
        let range = |cost: &Cost| [smallest / whole, 1.0].map(|part| cost.seconds(part, blocks));
        let ranges: Vec<(f64, f64)> = costs.values().map(range).map(|[a, b]| (a, b)).collect();
        let mut used: Vec<f64> = Vec::new();
        for ((class_of, cost), seconds) in costs.iter().zip(shares(&ranges, affordable)) {
            let is_good = |scale: f64| cost.seconds(scale / whole, blocks) <= seconds * ROUNDING;
            // Where not even the smallest would do, the cap ends the study.
            let scale = scale::largest_below(whole, is_good).unwrap_or(smallest);
            used.push(scale);
            let workloads = &mut self.study.plan.workloads;
            let parts = workloads.iter_mut().flat_map(|workload| &mut workload.parts);
            parts
                .filter(|part| class(part) == *class_of)
                .for_each(|part| scale::scale_by(part, scale / whole));
        }
        let end = |pick: fn(f64, f64) -> f64| used.iter().copied().reduce(pick);
        if let (Some(least), Some(most)) = (end(f64::min), end(f64::max)) {
            let (most, why) = ((most > least).then_some(most), Scaled::Time { seconds });
            // There was space for more: that is not the scale that is used.
            self.study.flags.retain(|flag| !matches!(flag, Flag::Scaled { .. }));
            self.study.flags.push(Flag::Scaled { wanted: whole, used: least, most, why });
        }
        Ok(())
    }

    /// What a workload costs on a subject, by parts of it that take long enough: more of them for about
    /// so many seconds.
    fn cost(&mut self, subject: usize, workload: &Workload, most: f64) -> Result<Cost, Failure> {
        let begun = self.clock.now();
        let (mut runs, mut part) = (Vec::new(), FIRST);
        loop {
            let mut tried = scale::times(std::slice::from_ref(workload), part);
            let Some(mut tried) = tried.pop() else { return Ok(Cost::default()) };
            tried.length = Length::UntilDone { at_most_seconds: AT_MOST };
            // The second time what is there from the first is removed or read.
            let first = self.seconds(subject, &tried)?;
            let again = self.seconds(subject, &tried)?;
            self.runner.prepare(subject, &[], &mut Preparing(&mut *self.observer))?;
            let (Some(first), Some(again)) = (first, again) else { return Ok(Cost::default()) };
            runs.push((part, first, again));
            let tells = again >= LONG_ENOUGH && again >= TIMES_THE_FIRST * runs[0].2;
            // The next takes longer than all before it.
            let took = self.clock.now().since(begun).as_secs_f64();
            if tells || again >= LONG || took * 2.0 >= most || part >= 1.0 {
                return Ok(Cost::fitted(&runs));
            }
            part = (part * MORE).min(1.0);
        }
    }

    /// How long a run takes, with what comes before and after its load; `None` where something is wrong
    /// that its trials will tell.
    fn seconds(&mut self, subject: usize, workload: &Workload) -> Result<Option<f64>, Failure> {
        self.tried_out += 1;
        let name = format!("part {}", self.tried_out);
        let spec: PointSpec = self.spec(0, subject, workload.clone(), &name);
        let title = workload.main().map(|main| main.job.title()).unwrap_or_default();
        let mut observer = Preparing(&mut *self.observer);
        observer.begin(subject);
        observer.event(Event::Step { what: format!("choosing the amount to copy: {title}") });
        let begun = self.clock.now();
        let result = self.runner.point(&spec, &mut observer);
        let seconds = self.clock.now().since(begun).as_secs_f64();
        match result.outcome {
            Outcome::Complete => Ok(Some(seconds)),
            Outcome::Stopped => Err(interrupted()),
            Outcome::Failed { .. } if seconds >= AT_MOST => Ok(Some(seconds)),
            Outcome::Failed { failure, .. } if crate::resume::ends_study(&failure) => Err(failure),
            Outcome::Failed { .. } | Outcome::Void { .. } => Ok(None),
        }
    }
}

/// The dataset that a part copies; parts that copy the same one have one scale.
fn class(part: &Part) -> Option<DataClass> {
    part.job.file_work()?.class
}

#[cfg(test)]
mod tests {
    use super::{Cost, shares};

    #[test]
    fn time_is_shared_by_what_can_use_it() {
        // All of it, less than a share, more than one at least.
        assert_eq!(shares(&[(0.1, 100.0), (0.1, 100.0)], 30.0), [15.0, 15.0]);
        assert_eq!(shares(&[(0.1, 100.0), (0.1, 4.0), (0.1, 100.0)], 30.0), [13.0, 4.0, 13.0]);
        assert_eq!(shares(&[(0.1, 100.0), (20.0, 90.0), (0.1, 3.0)], 30.0), [7.0, 20.0, 3.0]);
        assert_eq!(shares(&[(40.0, 90.0), (0.1, 3.0)], 30.0), [40.0, 0.1]);
        assert!(shares(&[], 30.0).is_empty());
    }

    #[test]
    fn what_does_not_grow_with_the_files_is_told_from_what_does() {
        // 0.1 s for names, 40 s for bytes, and the upload of what is read once.
        let run = |part: f64, upload: f64| (part, 0.1 + part * (40.0 + upload), 0.1 + part * 40.0);
        let cost = Cost::fitted(&[run(0.001, 80.0), run(0.004, 80.0), run(0.016, 80.0)]);
        let near =
            |is: f64, should: f64| assert!((is / should - 1.0).abs() < 1e-9, "{is} {should}");
        near(cost.fixed, 0.1);
        near(cost.each, 40.0);
        near(cost.once, 80.0);
        near(cost.and(cost).seconds(0.5, 6.0), 2.0 * (40.0 + 6.0 * (0.1 + 20.0)));
        let slow = Cost::fitted(&[(0.001, 3.0, 3.0)]);
        near(slow.seconds(1.0, 1.0), 3000.0);
        let odd = Cost::fitted(&[(0.001, 0.2, 0.3), (0.004, 0.1, 0.2)]);
        assert!(odd.once >= 0.0 && odd.each >= 0.0 && odd.fixed >= 0.0, "{odd:?}");
    }
}
