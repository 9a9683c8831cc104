//! What a search decided so far: the interval in which it goes on, and the value that it tries next. All values are
//! logarithms.

use rand_pcg::Pcg64;

/// Rounding of logarithms, as a share of the width of a search.
const ROUNDING: f64 = 1e-3;

/// Width of a search's result, and the phase of its grid, as logarithms. The phase is another one in each search: with
/// the same grid, the results of several blocks would agree by their grid, and not by the path (method, section 7).
#[derive(Clone, Copy)]
pub(super) struct Width {
    width: f64,
    phase: f64,
}

impl Width {
    pub(super) fn new(share: f64, order: &mut Pcg64) -> Width {
        let width = share.max(f64::EPSILON).ln_1p();
        Width { width, phase: width * plimsoll_stats::order::unit(order) }
    }
}

/// A value that is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Next {
    pub at: f64,
    /// Whether the result may depend on it, so that only trials of full length decide.
    pub is_final: bool,
}

/// A value that was decided, and whether by trials of full length.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decided {
    at: f64,
    is_final: bool,
}

/// The values that were accepted and rejected. The last one of each is an end of the interval.
pub(super) struct Bracket {
    /// The end while nothing was accepted: the smallest value, which is assumed to be accepted.
    from: f64,
    /// The end while nothing was rejected.
    to: f64,
    /// Ascending.
    accepted: Vec<Decided>,
    /// Descending.
    rejected: Vec<Decided>,
    width: f64,
    /// Whether values are whole numbers, of which two neighbours leave nothing between them.
    is_count: bool,
    /// Whether a trial of full length showed the opposite of a shorter one. Then shorter ones count no more.
    is_contradicted: bool,
}

impl Bracket {
    /// Before anything was measured, between two values that are no logarithms yet.
    pub(super) fn new(from: f64, to: f64, width: Width, is_count: bool) -> Bracket {
        let to = to.ln() - width.phase;
        Bracket {
            from: from.ln(),
            to: if is_count { to.exp().round().ln() } else { to },
            accepted: Vec::new(),
            rejected: Vec::new(),
            width: width.width,
            is_count,
            is_contradicted: false,
        }
    }

    /// The value with which a search begins.
    pub(super) fn first(&self) -> f64 {
        self.to
    }

    /// What is measured next, if there is a value between both ends: the proposed one. Else the ends that were not
    /// decided at full length. `None` where nothing is left.
    pub(super) fn next(&self, proposed: f64) -> Option<Next> {
        let accepted = self.accepted.last();
        let rejected = self.rejected.last();
        if self.is_open() {
            let is_beside_rejected = rejected.is_some_and(|end| self.are_beside(proposed, end.at));
            let is_beside = self.are_beside(self.good(), proposed) || is_beside_rejected;
            return Some(Next { at: proposed, is_final: is_beside || self.is_contradicted });
        }
        let again = |end: &Decided| (!end.is_final).then_some(Next { at: end.at, is_final: true });
        let nothing_above = || {
            let is_left = rejected.is_none() && self.good() < self.to;
            is_left.then_some(Next { at: self.to, is_final: true })
        };
        accepted.and_then(again).or_else(|| rejected.and_then(again)).or_else(nothing_above)
    }

    /// Takes a decision about a value, and proposes the next one.
    pub(super) fn take(&mut self, decided: Next, is_accepted: bool, carried: Option<f64>) -> f64 {
        let Next { at, is_final } = decided;
        let is_first = self.accepted.is_empty();
        let step = at - self.good();
        let is_at = |known: &Decided| known.at == at;
        let was_accepted = self.accepted.iter().any(is_at);
        let was_rejected = self.rejected.iter().any(is_at);
        self.is_contradicted |= if is_accepted { was_rejected } else { was_accepted };
        let is_valid = |known: &Decided| !is_at(known) && (known.is_final || !self.is_contradicted);
        self.accepted.retain(is_valid);
        self.rejected.retain(is_valid);
        let own = if is_accepted { &mut self.accepted } else { &mut self.rejected };
        own.push(Decided { at, is_final });
        if !is_accepted {
            self.near(carried)
        } else if was_accepted || was_rejected {
            self.middle()
        } else {
            // The first time the carried rate was met: the border is close above.
            self.inside(at + if is_first { self.width } else { 2.0 * step })
        }
    }

    /// Share by which the smallest rejected value is above the largest one that was accepted at full length.
    pub(super) fn width_ratio(&self) -> f64 {
        let found = self.accepted.iter().rfind(|known| known.is_final);
        (self.bad() - found.map_or(self.from, |known| known.at)).exp_m1()
    }

    /// The largest accepted value, if only a shorter trial accepted it.
    pub(super) fn unconfirmed(&self) -> Option<f64> {
        self.accepted.last().filter(|end| !end.is_final).map(|end| end.at)
    }

    fn good(&self) -> f64 {
        self.accepted.last().map_or(self.from, |end| end.at)
    }

    fn bad(&self) -> f64 {
        self.rejected.last().map_or(self.to, |end| end.at)
    }

    fn is_open(&self) -> bool {
        !self.are_beside(self.good(), self.bad())
    }

    /// Whether no value between two others is worth a trial.
    fn are_beside(&self, below: f64, above: f64) -> bool {
        let are_neighbours = above.exp().round() - below.exp().round() <= 1.0;
        above - below <= self.width * (1.0 + ROUNDING) || self.is_count && are_neighbours
    }

    fn middle(&self) -> f64 {
        self.whole(self.good() + (self.bad() - self.good()) / 2.0)
    }

    /// This value, if it narrows the bracket from both sides, else the middle.
    fn inside(&self, value: f64) -> f64 {
        let margin = self.width / 2.0;
        let inner = self.good() + margin..=self.bad() - margin;
        if inner.contains(&value) { self.whole(value) } else { self.middle() }
    }

    /// Just below the rate that was carried.
    fn near(&self, carried: Option<f64>) -> f64 {
        carried.map_or_else(|| self.middle(), |rate| self.inside(rate - self.width / 2.0))
    }

    /// The nearest whole number between both ends, where values are whole.
    fn whole(&self, value: f64) -> f64 {
        if !self.is_count {
            return value;
        }
        let [least, most] = [self.good().exp().round() + 1.0, self.bad().exp().round() - 1.0];
        value.exp().round().min(most).max(least).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 64, whole numbers.
    fn bracket() -> Bracket {
        Bracket::new(1.0, 64.0, Width { width: 0.01, phase: 0.0 }, true)
    }

    fn next(bracket: &Bracket, proposed: f64) -> Option<(f64, bool)> {
        bracket.next(proposed).map(|next| (next.at.exp().round(), next.is_final))
    }

    fn value(at: f64, is_final: bool) -> Next {
        Next { at: at.ln(), is_final }
    }

    #[test]
    fn values_next_to_an_end_and_ends_that_are_left_need_the_full_length() {
        let mut bracket = bracket();
        assert_eq!(next(&bracket, bracket.first()), Some((64.0, false)));
        let proposed = bracket.take(Next { at: bracket.first(), is_final: false }, false, None);
        assert_eq!(next(&bracket, proposed), Some((8.0, false)));
        let proposed = bracket.take(value(8.0, false), true, None);
        assert_eq!(next(&bracket, proposed), Some((9.0, true)), "the border may be close above");
        let proposed = bracket.take(value(9.0, true), false, None);
        assert_eq!(next(&bracket, proposed), Some((8.0, true)), "only a short trial accepted it");
        assert_eq!(bracket.unconfirmed(), Some(8f64.ln()));
        let proposed = bracket.take(value(8.0, true), true, None);
        assert_eq!((next(&bracket, proposed), bracket.unconfirmed()), (None, None));
        assert!((bracket.width_ratio() - 1.0 / 8.0).abs() < 1e-9, "{}", bracket.width_ratio());
    }

    #[test]
    fn once_a_short_trial_was_wrong_no_short_one_counts() {
        let mut bracket = bracket();
        for (at, is_accepted) in [(64.0, false), (8.0, true), (22.0, false)] {
            bracket.take(value(at, false), is_accepted, None);
        }
        let proposed = bracket.take(value(8.0, true), false, None);
        assert_eq!(next(&bracket, proposed), Some((3.0, true)), "far from both ends");
        bracket.take(value(3.0, true), true, None);
        bracket.take(value(7.0, true), true, None);
        assert_eq!(next(&bracket, 0.0), None);
    }

    #[test]
    fn the_top_is_measured_again_where_all_below_it_was_accepted() {
        let mut bracket = bracket();
        bracket.take(value(64.0, false), false, None);
        bracket.take(value(32.0, false), false, None);
        let proposed = bracket.take(value(32.0, true), true, None);
        assert_eq!(next(&bracket, proposed), Some((45.0, true)));
        bracket.take(value(63.0, true), true, None);
        assert_eq!(next(&bracket, 0.0), Some((64.0, true)));
        bracket.take(value(64.0, true), true, None);
        assert_eq!(next(&bracket, 0.0), None);
    }
}
