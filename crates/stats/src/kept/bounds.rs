//! Which rates are lower and which are upper bounds of a goal, as RFC 9971 classifies them.

use super::segments::RateTrial;
use std::collections::BTreeMap;

/// Share of the time at a rate in which the loss may exceed the goal.
pub(super) const EXCEED: f64 = 0.5;
/// Share of a trial's length from which it counts: the lead-in may have taken a part.
pub(super) const WHOLE: f64 = 0.75;

/// How thoroughly a bound is known: the length of its trials, their sum, and the steps of the grid between the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phase {
    pub seconds: f64,
    pub sum: f64,
    pub width: i64,
}

/// What the trials say of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It is kept.
    Lower,
    /// It is not.
    Upper,
}

/// The trials at each step of the grid.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads(BTreeMap<i64, Vec<RateTrial>>);

impl Loads {
    pub fn add(&mut self, step: i64, seen: RateTrial) {
        self.0.entry(step).or_default().push(seen);
    }

    pub fn at(&self, step: i64) -> &[RateTrial] {
        self.0.get(&step).map_or(&[], Vec::as_slice)
    }

    /// Trials near these steps.
    pub fn near(&self, low: i64, high: i64) -> impl Iterator<Item = &RateTrial> {
        self.0.range(low..=high.max(low)).flat_map(|(_, trials)| trials)
    }

    /// `None` until the trials decide whatever the rest of the sum would show.
    pub fn class(&self, step: i64, goal: f64, phase: &Phase) -> Option<Class> {
        let whole = self.at(step).iter().filter(|seen| seen.seconds >= WHOLE * phase.seconds);
        let (mut good, mut bad) = (0.0, 0.0);
        for seen in whole {
            let sum = if seen.loss(goal) > goal { &mut bad } else { &mut good };
            // A trial that the lead-in shortened counts as whole.
            *sum += seen.seconds.max(phase.seconds);
        }
        let all = (good + bad).max(phase.sum);
        let missing = all - good - bad;
        if bad > EXCEED * all {
            Some(Class::Upper)
        } else if bad + missing <= EXCEED * all {
            Some(Class::Lower)
        } else {
            None
        }
    }

    /// The greatest lower bound below the least upper bound, and that.
    pub fn bounds(&self, goal: f64, phase: &Phase) -> (Option<i64>, Option<i64>) {
        let class = |step: &i64| self.class(*step, goal, phase);
        let upper = self.0.keys().copied().find(|step| class(step) == Some(Class::Upper));
        let below = self.0.keys().copied().take_while(|step| upper.is_none_or(|u| *step < u));
        (below.filter(|step| class(step) == Some(Class::Lower)).last(), upper)
    }

    /// The highest step below this one at which the sender kept the rate up.
    pub fn held_below(&self, step: i64) -> Option<i64> {
        self.0.range(..step).next_back().map(|(held, _)| *held)
    }

    /// The steps that are of this class, in ascending order.
    pub fn steps(&self, class: Class, goal: f64, phase: &Phase) -> Vec<i64> {
        let is_one = |step: &i64| self.class(*step, goal, phase) == Some(class);
        self.0.keys().copied().filter(is_one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lengths::Lengths;
    use super::*;

    fn trial(seconds: f64, lost: f64) -> RateTrial {
        RateTrial { seconds, sent: 1000.0, lost, ..RateTrial::default() }
    }

    #[test]
    fn a_bound_needs_half_of_its_time() {
        let last = &Lengths::chosen(false).phases[2];
        let mut loads = Loads::default();
        for number in 0..3 {
            assert_eq!(loads.class(7, 0.005, last), None, "{number} trials");
            loads.add(7, trial(1.0, 0.0));
        }
        assert_eq!(loads.class(7, 0.005, last), Some(Class::Lower));
        assert_eq!([false, true].map(super::super::enough_seconds), [3.0, 2.0], "as here");
        // One bad trial more does not change it: it may exceed the goal in half of the time.
        loads.add(7, trial(1.0, 100.0));
        assert_eq!(loads.class(7, 0.005, last), Some(Class::Lower));
        for _ in 0..3 {
            loads.add(7, trial(1.0, 100.0));
        }
        assert_eq!(loads.class(7, 0.005, last), Some(Class::Upper));
        // Trials that are too short for a phase say nothing there.
        loads.add(8, trial(0.5, 100.0));
        assert_eq!(
            (loads.class(8, 0.0, last), loads.class(8, 0.0, &Lengths::chosen(false).phases[0])),
            (None, Some(Class::Upper))
        );
    }

    #[test]
    fn bounds_are_on_both_sides_of_the_least_upper_one() {
        let first = &Lengths::chosen(false).phases[0];
        let mut loads = Loads::default();
        for (step, lost) in [(1, 0.0), (4, 0.0), (6, 9.0), (9, 0.0), (12, 50.0)] {
            loads.add(step, trial(0.5, lost));
        }
        assert_eq!(loads.bounds(0.005, first), (Some(4), Some(6)));
        assert_eq!(loads.bounds(0.01, first), (Some(9), Some(12)));
        assert_eq!(loads.steps(Class::Upper, 0.005, first), [6, 12]);
        assert_eq!(Loads::default().bounds(0.0, first), (None, None));
    }
}
