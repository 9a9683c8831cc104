//! Who is ahead, by a ratio of a measure.

use plimsoll_model::{Aggregation, Direction, MeasureInfo};

/// What a ratio of a measure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// More of it is faster: a rate.
    Rate,
    /// Less of it is faster: a time.
    Time,
    /// More of it is more of it.
    Amount,
}

impl Compared {
    pub(crate) fn new(info: Option<&MeasureInfo>) -> Compared {
        let Some(info) = info else { return Compared::Amount };
        match (info.unit.as_str(), info.direction, info.aggregation) {
            ("1/s" | "B/s", Direction::More, _) => Compared::Rate,
            ("s", Direction::Less, Aggregation::Geometric) => Compared::Time,
            _ => Compared::Amount,
        }
    }

    /// "faster", "higher".
    pub(crate) fn more(self) -> &'static str {
        if self == Compared::Amount { "higher" } else { "faster" }
    }

    /// "slower", "lower".
    pub(crate) fn less(self) -> &'static str {
        if self == Compared::Amount { "lower" } else { "slower" }
    }

    /// "as fast", "as high".
    pub(crate) fn as_much(self) -> &'static str {
        if self == Compared::Amount { "as high" } else { "as fast" }
    }
}
