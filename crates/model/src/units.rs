//! Amounts with their units: parsing what users write, and printing what readers understand.
//! 1 MB = 10^6 B, 1 MiB = 2^20 B; links are in bit/s.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An amount of data in bytes. Written as `4KiB`, `1MiB`, `64M` (a bare letter is binary, as in
/// fio), or `10MB` (decimal).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// 2^10 bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;

const BYTE_UNITS: [(&str, u64); 16] = [
    ("kib", KIB),
    ("mib", MIB),
    ("gib", GIB),
    ("tib", 1 << 40),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", KIB),
    ("m", MIB),
    ("g", GIB),
    ("t", 1 << 40),
    ("bytes", 1),
    ("byte", 1),
    ("b", 1),
    ("", 1),
];

impl FromStr for Bytes {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let text = s.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let factor = BYTE_UNITS.iter().find(|u| u.0 == unit).map(|u| u.1);
        match (number.parse::<u64>().ok(), factor) {
            (Some(n), Some(f)) => n.checked_mul(f).map(Bytes),
            _ => None,
        }
        .ok_or_else(|| {
            format!("'{s}' is not an amount of data; write it as 4KiB, 1MiB, 2GiB or 10MB")
        })
    }
}

impl fmt::Display for Bytes {
    /// The unit that divides it exactly into the smallest number; otherwise bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 8] = [
            ("TiB", 1 << 40),
            ("GiB", GIB),
            ("MiB", MIB),
            ("KiB", KIB),
            ("TB", 1_000_000_000_000),
            ("GB", 1_000_000_000),
            ("MB", 1_000_000),
            ("kB", 1000),
        ];
        let exact = |(_, size): &&(&str, u64)| self.0 >= *size && self.0.is_multiple_of(*size);
        match UNITS.iter().filter(exact).max_by_key(|(_, size)| *size) {
            Some((unit, size)) => write!(f, "{} {unit}", self.0 / size),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// Parses a duration: `5s`, `90`, `1.5s`, `500ms`, `10min`, `1h`. A bare number is seconds.
pub fn parse_duration(s: &str) -> Result<Duration, String> {
    let text = s.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number.parse::<f64>().unwrap_or(f64::NAN) * factor;
    if seconds.is_finite() && (0.0..=1e7).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("'{s}' is not a duration; write it as 5s, 500ms, 10min or 1h"))
    }
}

/// Three significant digits, no exponent: `1234`, `123`, `12.3`, `1.23`, `0.123`.
pub fn three_digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        // Rounded first: 0.09996 is shown as 0.100.
        s if s > 0.0 => 2 - ((s * 1.0005).log10().floor() as i32).max(-9),
        _ => 0,
    };
    format!("{value:.*}", decimals.max(0) as usize)
}

fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    let step = steps.iter().find(|s| value.abs() >= s.0 * 0.9995).or(steps.last());
    match step {
        Some((size, unit)) => format!("{} {unit}", three_digits(value / size)),
        None => three_digits(value),
    }
}

/// A time in the unit that fits: `12.3 ms`.
pub fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0 s".to_owned();
    }
    scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// An amount for people: exact if that is short, otherwise the first three digits in the binary unit that fits:
/// `64 MiB`, `3 TB`, `511 GiB`. It is never more than the bytes are.
pub fn amount(bytes: Bytes) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
    const LONGEST_EXACT: usize = 4;
    let exact = bytes.to_string();
    let is_short = exact.find(' ').is_some_and(|digits| digits <= LONGEST_EXACT);
    let unit = UNITS.into_iter().find(|(_, size)| bytes.0 >= *size);
    let Some((unit, size)) = unit.filter(|_| !is_short) else { return exact };
    let value = bytes.0 as f64 / size as f64;
    let (steps, decimals) = match value {
        v if v < 10.0 => (100.0, 2),
        v if v < 100.0 => (10.0, 1),
        _ => (1.0, 0),
    };
    format!("{:.decimals$} {unit}", (value * steps).floor() / steps)
}

/// A time for people: `8 s`, `3 min`, `2 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() || s < 0.0 => "an unknown time".to_owned(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A time that passed, for people: `1.2 s`, `12 min`.
pub fn elapsed(seconds: f64) -> String {
    if (0.0..90.0).contains(&seconds) { format!("{seconds:.1} s") } else { duration(seconds) }
}

/// A time that somebody chose, exactly: `0.5 s`, `90 s`, `10 min`, `1 h`.
pub fn chosen_time(seconds: f64) -> String {
    let whole = |unit: f64| seconds >= 2.0 * unit && seconds % unit == 0.0;
    match seconds {
        s if s == 3600.0 || whole(3600.0) => format!("{} h", s / 3600.0),
        s if whole(60.0) => format!("{} min", s / 60.0),
        s => format!("{s} s"),
    }
}

/// A rate of bytes in decimal units: `112 MB/s`.
pub fn bytes_per_second(value: f64) -> String {
    scaled(value, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// A rate of bytes as bits: `12.5 Mbit/s`.
pub fn bit_rate(bytes_per_second: f64) -> String {
    let bits = 8.0 * bytes_per_second;
    let (size, unit) = match bits {
        1e9.. => (1e9, "Gbit/s"),
        1e6.. => (1e6, "Mbit/s"),
        1e3.. => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    let digits = three_digits(bits / size);
    let short = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    format!("{short} {unit}")
}

/// A rate of operations: `7.33 k`, `512`.
pub fn per_second(value: f64) -> String {
    match value.abs() {
        v if v >= 999_500.0 => format!("{} M", three_digits(value / 1e6)),
        v if v >= 9_999.5 => format!("{} k", three_digits(value / 1e3)),
        _ => three_digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_and_print() {
        for (text, n) in
            [("4KiB", 4096), ("4k", 4096), ("1 MiB", MIB), ("10MB", 10_000_000), ("7", 7)]
        {
            assert_eq!(text.parse::<Bytes>().unwrap().0, n, "{text}");
        }
        for bad in ["", "MiB", "-1k", "1.5MiB", "4kk", "99999999999999999999", "99999999T"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
        assert_eq!(Bytes(1 << 20).to_string(), "1 MiB");
        assert_eq!(Bytes(1500).to_string(), "1500 B");
        // Both are whole KiB, too.
        assert_eq!(Bytes(3_000_000_000_000).to_string(), "3 TB");
        assert_eq!(Bytes(16_000_000).to_string(), "16 MB");
        assert_eq!(Bytes(1000 << 10).to_string(), "1000 KiB");
    }

    #[test]
    fn amounts_are_short_and_not_rounded_up() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1500, "1500 B"),
            (64 << 20, "64 MiB"),
            (3_000_000_000_000, "3 TB"),
            ((512 << 20) - 4096, "511 MiB"),
            ((4 << 30) - 8192, "3.99 GiB"),
            ((1 << 40) - 1, "1023 GiB"),
            (12_345_678, "11.7 MiB"),
            (1 << 40 | 1 << 39, "1536 GiB"),
        ] {
            assert_eq!(amount(Bytes(bytes)), shown, "{bytes}");
        }
    }

    #[test]
    fn times_are_in_the_unit_that_fits() {
        assert_eq!([8.0, 200.0, 9e4, 1e6].map(duration), ["8 s", "3 min", "25 h", "12 days"]);
        assert_eq!(duration(f64::NAN), "an unknown time");
        assert_eq!([1.0, 89.94, 700.0].map(elapsed), ["1.0 s", "89.9 s", "12 min"]);
        let chosen = [0.5, 30.0, 60.0, 90.0, 600.0, 3600.0, 5400.0, 7200.0].map(chosen_time);
        assert_eq!(chosen, ["0.5 s", "30 s", "60 s", "90 s", "10 min", "1 h", "90 min", "2 h"]);
    }

    #[test]
    fn durations_read() {
        assert_eq!(parse_duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(parse_duration("1.5").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_duration("10min").unwrap(), Duration::from_secs(600));
        for bad in ["", "s", "-1s", "1e99", "5 weeks", "nan"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(seconds(0.0123456), "12.3 ms");
        assert_eq!(seconds(0.00000042), "420 ns");
        assert_eq!(bytes_per_second(112.4e6), "112 MB/s");
        assert_eq!(bytes_per_second(999.99e6), "1.00 GB/s");
        assert_eq!(per_second(7334.0), "7334");
        assert_eq!(per_second(33_000.0), "33.0 k");
        assert_eq!(three_digits(0.0), "0");
        assert_eq!(three_digits(0.01234), "0.0123");
        assert_eq!(three_digits(0.1 - 1e-17), "0.100");
        assert_eq!(three_digits(0.09996), "0.100");
        assert_eq!(three_digits(0.0995), "0.0995");
    }
}
