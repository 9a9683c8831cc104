//! From values to places.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long; values are positive.
    Log,
}

/// An axis: values from `low` to `high` are places from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) spread: Spread,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Scale {
    /// The place of a value: always finite and on the axis, whatever the value is.
    pub(super) fn at(&self, value: f64) -> f64 {
        let inside = value.clamp(self.low, self.high);
        let share = match self.spread {
            Spread::Linear => (inside - self.low) / (self.high - self.low),
            Spread::Log => (inside / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_finite() { share } else { 0.0 };
        self.from + share * (self.to - self.from)
    }
}

/// Least and greatest of the finite values; `None` where there are none.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_by_hand() {
        let scale = Scale { spread: Spread::Linear, low: 0.0, high: 4.0, from: 10.0, to: 50.0 };
        assert_eq!([scale.at(0.0), scale.at(1.0), scale.at(9.0)], [10.0, 20.0, 50.0]);
        let scale = Scale { spread: Spread::Log, low: 0.1, high: 10.0, from: 100.0, to: 0.0 };
        assert!((scale.at(1.0) - 50.0).abs() < 1e-9);
        assert_eq!(scale.at(f64::NAN), 100.0);
    }

    proptest! {
        #[test]
        fn every_place_is_on_the_axis(value in any::<f64>(), low in -1e9..1e9f64, width in 0.0..1e9f64) {
            let high = low + width;
            let scale = Scale { spread: Spread::Linear, low, high, from: 5.0, to: 95.0 };
            prop_assert!((5.0..=95.0).contains(&scale.at(value)));
        }
    }
}
