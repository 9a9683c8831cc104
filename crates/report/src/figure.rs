//! Figures with their intervals, in the unit that fits.

use plimsoll_model::units::three_digits;
use plimsoll_stats::interval::Interval;

/// A kind of quantity: the units it is shown in, largest first, as multiples of the recorded unit.
/// A value has the first unit that it reaches, else the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind(&'static [(f64, &'static str)]);

/// Operations per second.
pub const RATE: Kind = Kind(&[(1e6, "M"), (1e4, "k"), (1.0, "")]);
/// Bytes per second.
pub const BANDWIDTH: Kind = Kind(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]);
/// Bytes per second, shown in bits as rates of links are.
pub const BITRATE: Kind =
    Kind(&[(1.25e8, "Gbit/s"), (1.25e5, "Mbit/s"), (125.0, "kbit/s"), (0.125, "bit/s")]);
/// Bytes, as memory is sold.
pub const BYTES: Kind = Kind(&[
    ((1u64 << 30) as f64, "GiB"),
    ((1u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
]);
/// Seconds.
pub const TIME: Kind = Kind(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]);
/// CPU seconds per byte, shown per 10^9 bytes.
pub const CPU_PER_GB: Kind = Kind(&[(1e-9, "s/GB")]);
/// CPU seconds per operation, shown per 10^5 operations.
pub const CPU_PER_100K: Kind = Kind(&[(1e-5, "s/100k")]);
/// A share from 0 to 1, shown in percent.
pub const SHARE: Kind = Kind(&[(0.01, "%")]);
/// A plain number.
pub const COUNT: Kind = Kind(&[(1.0, "")]);
/// Seconds since something began: not scaled, so that 100 s are not 0.1 ks nor 500 ms 0.5 s.
pub const SECONDS: Kind = Kind(&[(1.0, "s")]);

impl Kind {
    /// Whether its figures do not say of what they are: so many a second.
    pub(crate) fn is_plain_rate(self) -> bool {
        self.0.len() == RATE.0.len() && self.0.last().is_some_and(|unit| unit.1.is_empty())
    }

    /// The unit for a value: its size in the recorded unit, and its name. `k` begins at its size,
    /// not at 1000: 7334 operations a second read better than 7.33 k.
    pub(crate) fn unit(self, value: f64) -> (f64, &'static str) {
        let reached = self.0.iter().find(|unit| value.abs() >= unit.0 * 0.9995);
        let (size, name) = reached.or(self.0.last()).copied().unwrap_or((1.0, ""));
        (if name == "k" { 1e3 } else { size }, name)
    }

    /// "112 MB/s".
    pub(crate) fn value(self, value: f64) -> String {
        let (size, name) = self.unit(value);
        if value == 0.0 || name.is_empty() {
            return three_digits(value / size);
        }
        format!("{} {name}", three_digits(value / size))
    }

    /// "[108–116]" for a low and a high end, in the unit that `value` is shown in.
    pub(crate) fn between(self, value: f64, low: f64, high: f64) -> String {
        let (size, _) = self.unit(value);
        ends(low / size, high / size)
    }

    /// "[108–116]", in the unit that `value` is shown in.
    pub(crate) fn ends(self, value: f64, interval: Interval) -> String {
        if is_wide(value, interval) {
            return TOO_WIDE.to_owned();
        }
        self.between(value, interval.low, interval.high)
    }

    /// "112 MB/s ±4%": as far as the further end of the interval.
    pub(crate) fn within(self, value: f64, interval: Option<Interval>) -> String {
        let Some(interval) = interval else { return self.value(value) };
        if is_wide(value, interval) || value <= 0.0 {
            return format!("{} {TOO_WIDE}", self.value(value));
        }
        let reach = (interval.high - value).max(value - interval.low) / value;
        format!("{} {}", self.value(value), plus_minus(reach))
    }

    /// "112 MB/s [108–116]".
    pub(crate) fn with_ends(self, value: f64, interval: Option<Interval>) -> String {
        match interval {
            Some(interval) => format!("{} {}", self.value(value), self.ends(value, interval)),
            None => self.value(value),
        }
    }
}

/// "±4%": a share, rounded up. Blocks that are all equal have "±0%", also if rounding left them less than nothing.
pub(crate) fn plus_minus(share: f64) -> String {
    // A whole number has no negative zero.
    format!("±{}%", (100.0 * share - 1e-9).ceil() as u64)
}

/// What stands for an interval that says nothing.
pub(crate) const TOO_WIDE: &str = "[too wide]";

/// Whether an interval reaches further than a factor of 10 either way: its ends say nothing.
pub(crate) fn is_wide(value: f64, interval: Interval) -> bool {
    value > 0.0 && (interval.high > 10.0 * value || interval.low * 10.0 < value)
}

/// "[1.05–1.12]".
pub(crate) fn ends(low: f64, high: f64) -> String {
    format!("[{}–{}]", three_digits(low), three_digits(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_share_the_unit_with_their_ends() {
        let interval = |low, high| Some(Interval { low, estimate: 0.0, high });
        let shown = BANDWIDTH.with_ends(999e6, interval(950e6, 1.1e9));
        assert_eq!(shown, "999 MB/s [950–1100]");
        assert_eq!(TIME.with_ends(0.0012, interval(0.0009, 0.0013)), "1.20 ms [0.900–1.30]");
        assert_eq!(BANDWIDTH.with_ends(24e6, interval(1e6, 500e6)), "24.0 MB/s [too wide]");
        assert_eq!(TIME.within(0.0012, interval(0.0011, 0.001_212)), "1.20 ms ±9%");
        assert_eq!(TIME.within(0.0012, interval(0.0012, 0.003)), "1.20 ms ±150%");
        assert_eq!(TIME.within(0.0012, interval(0.0001, 0.0012)), "1.20 ms [too wide]");
        assert_eq!(TIME.within(0.0012, interval(0.0012, 0.0012)), "1.20 ms ±0%");
        assert_eq!(TIME.within(0.0012, interval(0.001_199, 0.001_199)), "1.20 ms ±1%");
        assert_eq!([-0.5, -1e-12, 0.0, 1e-6].map(plus_minus), ["±0%", "±0%", "±0%", "±1%"]);
        assert_eq!(
            (TIME.within(0.0012, None), TIME.within(0.0, None)),
            ("1.20 ms".into(), "0".into())
        );
        assert_eq!(BITRATE.value(117.6e6), "941 Mbit/s");
        assert_eq!(RATE.value(7334.4), "7334");
        assert_eq!(RATE.value(33_000.0), "33.0 k");
        assert_eq!(RATE.value(1.5e6), "1.50 M");
        assert_eq!(CPU_PER_GB.value(0.155e-9), "0.155 s/GB");
        assert_eq!(CPU_PER_100K.value(1.2e-5), "1.20 s/100k");
        assert_eq!(TIME.value(0.0), "0");
    }
}
