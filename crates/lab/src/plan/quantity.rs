//! Quantities as a lab file writes them: a number and its unit, in quotes.

use plimsoll_model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of memory or disk in bytes: `384MiB`, `2GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size(pub u64);

/// What a link carries in bits per second: `100Mbit/s`, `1Gbit/s`; also as tc(8) writes it: `1gbit`,
/// and `125Mbps`, which are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(pub u64);

/// What a disk reads and writes in bytes per second: `20MB/s`, `1GB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Throughput(pub u64);

/// A time in microseconds: `2ms`, `500us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delay(pub u64);

/// A share in thousandths of a percent, so that it is exact: `0.1%`, `50%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Percent(pub u32);

/// Units with how many of the smallest they are; of those that divide an amount, the first is
/// printed.
type Units = [(&'static str, u64)];

const RATES: &Units =
    &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];

/// The units of tc(8) in bits per second, in small letters: its `bps` are bytes.
const TC_RATES: &Units = &[
    ("tbit", 1_000_000_000_000),
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1000),
    ("bit", 1),
    ("tibit", 1 << 40),
    ("gibit", 1 << 30),
    ("mibit", 1 << 20),
    ("kibit", 1 << 10),
    ("tbps", 8_000_000_000_000),
    ("gbps", 8_000_000_000),
    ("mbps", 8_000_000),
    ("kbps", 8000),
    ("bps", 8),
    ("tibps", 8 << 40),
    ("gibps", 8 << 30),
    ("mibps", 8 << 20),
    ("kibps", 8 << 10),
];
const THROUGHPUTS: &Units =
    &[("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1000), ("B/s", 1)];
const DELAYS: &Units = &[("s", 1_000_000), ("ms", 1000), ("us", 1)];
const PERCENTS: &Units = &[("%", 1000)];

/// A number with at most three digits after its point, times the unit that follows it; exact.
fn parse(text: &str, units: &Units) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if part.is_empty() || part.len() > 3 {
        return None;
    }
    let thousandths = format!("{part:0<3}").parse::<u64>().ok()?.checked_mul(*factor)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(*factor)?;
    thousandths.is_multiple_of(1000).then(|| whole.checked_add(thousandths / 1000)).flatten()
}

fn print(f: &mut fmt::Formatter<'_>, amount: u64, units: &Units) -> fmt::Result {
    let fits = units.iter().find(|(_, factor)| amount.is_multiple_of(*factor) && amount > 0);
    let Some((unit, factor)) = fits.or(units.last()) else { return Ok(()) };
    write!(f, "{}", amount / factor)?;
    if !amount.is_multiple_of(*factor) {
        let rest = format!("{:03}", amount % factor * 1000 / factor);
        write!(f, ".{}", rest.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<Bytes>().map(|bytes| Size(bytes.0))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Bytes(self.0).to_string().replace(' ', ""))
    }
}

impl Rate {
    /// What a rate that is written in bytes means in bits: many write `1Gbps` and mean a gigabit.
    pub fn in_bytes(text: &str) -> Option<Rate> {
        let in_bytes = text.trim().to_ascii_lowercase().ends_with("bps");
        in_bytes.then(|| text.parse().ok()).flatten()
    }
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // As tc writes it, in letters of any size; bits may be per second in so many words.
        let small = text.to_ascii_lowercase();
        let small = small.strip_suffix("bit/s").map_or(small.clone(), |rest| format!("{rest}bit"));
        parse(&small, TC_RATES)
            .map(Rate)
            .ok_or_else(|| format!("`{text}` is not a rate; write it as 100Mbit/s or 1Gbit"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, RATES)
    }
}

impl FromStr for Throughput {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, THROUGHPUTS)
            .map(Throughput)
            .ok_or_else(|| format!("`{text}` is not a rate of a disk; write it as 20MB/s or 1GB/s"))
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, THROUGHPUTS)
    }
}

impl FromStr for Delay {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, DELAYS)
            .map(Delay)
            .ok_or_else(|| format!("`{text}` is not a time; write it as 2ms, 500us or 1.5ms"))
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, DELAYS)
    }
}

impl FromStr for Percent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, PERCENTS)
            .and_then(|thousandths| u32::try_from(thousandths).ok())
            .map(Percent)
            .ok_or_else(|| format!("`{text}` is not a percentage; write it as 50% or 0.1%"))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, u64::from(self.0), PERCENTS)
    }
}

macro_rules! as_text {
    ($($quantity:ident),*) => {$(
        impl TryFrom<String> for $quantity {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$quantity> for String {
            fn from(quantity: $quantity) -> String {
                quantity.to_string()
            }
        }
    )*};
}

as_text!(Size, Rate, Throughput, Delay, Percent);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_and_print() {
        assert_eq!("100Mbit/s".parse(), Ok(Rate(100_000_000)));
        assert_eq!("2.5 Gbit/s".parse(), Ok(Rate(2_500_000_000)));
        for gigabit in ["1Gbit", "1gbit", "1 Gbit", "1GBit/s", "1000mbit", "125Mbps", "0.125GBps"] {
            assert_eq!(gigabit.parse(), Ok(Rate(1_000_000_000)), "{gigabit}");
        }
        assert_eq!("1Gbps".parse(), Ok(Rate(8_000_000_000)), "bytes, as in tc");
        assert_eq!("1Mibit".parse(), Ok(Rate(1 << 20)));
        assert_eq!(Rate::in_bytes("1Gbps"), Some(Rate(8_000_000_000)));
        assert_eq!((Rate::in_bytes("1Gbit"), Rate::in_bytes("xbps")), (None, None));
        assert_eq!("20MB/s".parse(), Ok(Throughput(20_000_000)));
        assert!("20Mbit/s".parse::<Throughput>().is_err() && "20MB/s".parse::<Rate>().is_err());
        assert_eq!("1.5ms".parse(), Ok(Delay(1500)));
        assert_eq!("0.1%".parse(), Ok(Percent(100)));
        assert_eq!("384MiB".parse(), Ok(Size(384 << 20)));
        assert_eq!(Percent(33_300).to_string(), "33.3%");
        assert_eq!(Rate(2_500_000_000).to_string(), "2500Mbit/s");
        for bad in [
            "",
            "100",
            "100Mb",
            "-1Mbit/s",
            "1.Mbit/s",
            "1.2345Mbit/s",
            "1.2.3Mbit/s",
            "1Gbps/s",
            "1Gb/s",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
        assert!("0.5us".parse::<Delay>().is_err(), "less than the resolution");
        assert!("99999999999999999999Gbit/s".parse::<Rate>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(n in any::<u64>(), p in any::<u32>()) {
            prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n)));
            prop_assert_eq!(Throughput(n).to_string().parse(), Ok(Throughput(n)));
            prop_assert_eq!(Delay(n).to_string().parse(), Ok(Delay(n)));
            prop_assert_eq!(Size(n).to_string().parse(), Ok(Size(n)));
            prop_assert_eq!(Percent(p).to_string().parse(), Ok(Percent(p)));
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = (text.parse::<Rate>(), text.parse::<Delay>(), text.parse::<Percent>());
        }
    }
}
