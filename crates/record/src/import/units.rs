//! Figures as fio prints them: shortened to a few digits, with a unit behind.

/// A printed figure in its base unit, and how much its last digit stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    /// Printed bytes, bytes per second or operations, without the prefix.
    pub(super) value: f64,
    /// Value of the last printed digit. fio truncates or rounds there.
    pub(super) step: f64,
    /// Error of fio when it rounds decimals up to one: it prints 28.996 as `28.0`.
    carry: f64,
}

impl Printed {
    /// Whether `exact` may have been printed so.
    pub(super) fn stands_for(self, exact: f64) -> bool {
        let near = |value: f64| (value - exact).abs() <= self.step * 1.001;
        near(self.value) || near(self.value + self.carry)
    }
}

/// Meaning of a bare `k`, `M`, `G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kilo {
    /// 1000: fio since 2.15, which writes KiB for 1024.
    Thousand,
    /// 1024: bytes in earlier versions.
    Binary,
}

/// Reads `110`, `33.9k`, `132MiB/s`, `139MB/s`, `135652KB/s`, `12Gbit/s`. Bits become bytes.
pub(super) fn printed(text: &str, kilo: Kilo) -> Option<Printed> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value = decimal(number)?;
    let (factor, decimals) = (factor(unit, kilo)?, number.len() - 1);
    let places = number.find('.').map_or(0, |dot| decimals - dot);
    // Before 2.15, fio printed the remainder of a division by 1024 as if it were decimals: only
    // what stands before the point can be relied on.
    let step = match (kilo, places) {
        (Kilo::Binary, _) => factor,
        (Kilo::Thousand, places) => factor * 0.1f64.powi(places.min(300) as i32),
    };
    let carry = if places > 0 && value.fract() == 0.0 { factor } else { 0.0 };
    Some(Printed { value: value * factor, step, carry })
}

/// A plain decimal number without sign, exponent or name.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_digit());
    text.parse::<f64>().ok().filter(|v| plain && begins && v.is_finite())
}

/// Factor of a unit, in bytes or operations.
fn factor(unit: &str, kilo: Kilo) -> Option<f64> {
    let unit = unit.strip_suffix("/s").unwrap_or(unit);
    let mut letters = unit.chars();
    let power = match letters.clone().next() {
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        _ => 0,
    };
    if power > 0 {
        letters.next();
    }
    let rest = letters.as_str();
    let (base, of): (f64, &str) = match (rest.strip_prefix('i'), kilo) {
        (Some(of), _) if power > 0 => (1024.0, of),
        (_, Kilo::Binary) => (1024.0, rest),
        (_, Kilo::Thousand) => (1000.0, rest),
    };
    let one = match of {
        "" | "B" => 1.0,
        "bit" => 1.0 / 8.0,
        _ => return None,
    };
    Some(base.powi(power) * one)
}

/// Size of equal blocks of a volume with an error of up to `step`: of all possible sizes, the size
/// with the largest power of two as a divisor. `None` if no whole size is possible, or none of
/// several is round.
pub(super) fn roundest(bytes: f64, step: f64, blocks: u64) -> Option<u64> {
    let blocks = blocks as f64;
    let (least, most) = ((bytes - step) / blocks, (bytes + step) / blocks);
    if !(1.0..9e15).contains(&most) {
        return None;
    }
    let (least, most) = (least.max(1.0).ceil() as u64, most.floor() as u64);
    let power = (0..63).rev().map(|power| 1u64 << power);
    let mut round = power.filter_map(|unit| {
        let first = least.div_ceil(unit).checked_mul(unit)?;
        (first <= most).then_some((unit, first))
    });
    let (unit, size) = round.next()?;
    (least == most || unit >= 512).then_some(size)
}

/// Nanoseconds in a unit of time as it stands in brackets: `usec`.
pub(super) fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit.trim() {
        "nsec" => 1.0,
        "usec" => 1e3,
        "msec" => 1e6,
        "sec" => 1e9,
        _ => return None,
    })
}

/// The quantile that fio calls by its percent, with the digits that it has: `99.950000` is
/// `0.9995`. `None` unless it is above 0 and at most 100.
pub(super) fn quantile(percent: &str) -> Option<String> {
    let value = decimal(percent).filter(|p| *p > 0.0 && *p <= 100.0)?;
    if value == 100.0 {
        return Some("1".to_owned());
    }
    let (whole, part) = percent.trim().split_once('.').unwrap_or((percent.trim(), ""));
    // Below 100 there are at most two digits that count before the point.
    let whole = whole.trim_start_matches('0');
    let digits = format!("{whole:0>2}{part}");
    Some(format!("0.{}", digits.trim_end_matches('0')))
}

/// Size in the notation of job options: `4k`, `1M`, `16m`, `64KiB`, `1GB`, `8192`.
pub(super) fn option_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let letters = unit.trim_end_matches('b').trim_end_matches('i');
    let power = match letters {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    // fio's kb_base of 1024 makes every prefix binary, however it is written.
    number.parse::<u64>().ok()?.checked_mul(1u64.checked_shl(10 * power)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_of_both_layouts() {
        let new = |text| printed(text, Kilo::Thousand).map(|p| (p.value, p.step));
        let mib = 1048576.0;
        assert_eq!(new("110"), Some((110.0, 1.0)));
        assert_eq!(new("33.9k"), Some((33900.0, 100.0)));
        assert_eq!(new("132MiB/s"), Some((132.0 * mib, mib)));
        assert_eq!(new("139MB/s"), Some((139e6, 1e6)));
        assert_eq!(new("3120KiB"), Some((3120.0 * 1024.0, 1024.0)));
        assert_eq!(new("1.5TiB"), Some((1.5 * 1024f64.powi(4), 0.1 * 1024f64.powi(4))));
        assert_eq!(new("2TB"), Some((2e12, 1e12)));
        assert_eq!(new("8Mbit/s"), Some((1e6, 125e3)));
        let old = |text| printed(text, Kilo::Binary).map(|p| (p.value, p.step));
        assert_eq!(old("135652KB/s"), Some((135652.0 * 1024.0, 1024.0)));
        assert_eq!(old("1719.5MB"), Some((1719.5 * mib, mib)));
        for bad in ["", "k", "-1k", "1e5", "nan", "inf", "4kk", "4 KiBx", "1.2.3", ".5", "4i", "é"]
        {
            assert_eq!(new(bad), None, "{bad}");
        }
    }

    #[test]
    fn percents_become_quantiles_digit_by_digit() {
        for (percent, name) in [
            ("50.000000", "0.5"),
            ("99.00", "0.99"),
            ("99.950000", "0.9995"),
            (" 1.00", "0.01"),
            ("5.000000", "0.05"),
            ("0.100000", "0.001"),
            ("100.000000", "1"),
            ("10", "0.1"),
        ] {
            assert_eq!(quantile(percent).as_deref(), Some(name), "{percent}");
        }
        for bad in ["0.00", "0", "100.1", "x", "", "-1"] {
            assert_eq!(quantile(bad), None, "{bad}");
        }
    }

    #[test]
    fn blocks_are_as_round_as_their_volume_allows() {
        // 132 MiB, give or take one, in 33.7 thousand blocks: 4107 B by division.
        let mib = 1048576.0;
        assert_eq!(roundest(132.0 * mib, mib, 33_700), Some(4096));
        assert_eq!(roundest(3.0 * mib, mib / 10.0, 3), Some(1 << 20));
        // Exact volumes are what they are, and what nothing round explains is not made round.
        assert_eq!(roundest(4102.0 * 7.0, 0.0, 7), Some(4102));
        assert_eq!(roundest(4102.5 * 2.0, 0.0, 2), None);
        assert_eq!(roundest(3001.0 * 1e4, 2e4, 10_000), None);
        for (bytes, step, blocks) in
            [(0.0, 0.0, 1), (f64::NAN, 0.0, 1), (1e300, 1.0, 1), (1.0, 0.0, 0), (-1.0, 0.0, 3)]
        {
            assert_eq!(roundest(bytes, step, blocks), None, "{bytes} {step} {blocks}");
        }
    }

    #[test]
    fn sizes_of_options() {
        for (text, size) in
            [("4k", 4096), ("1M", 1 << 20), ("16m", 16 << 20), ("64KiB", 65536), ("7", 7)]
        {
            assert_eq!(option_size(text), Some(size), "{text}");
        }
        for bad in ["", "4k,8k", "50%", "99999999999999999g", "é"] {
            assert_eq!(option_size(bad), None, "{bad}");
        }
    }

    /// As fio prints a number in at most four digits (num2str): divided until it fits, decimals as
    /// far as there are digits.
    fn as_printed(number: u64, binary: bool) -> String {
        let thousand = if binary { 1024 } else { 1000 };
        let prefixes = ["", "k", "M", "G", "T", "P", "E"];
        let (mut whole, mut rest, mut power) = (number, None, 0);
        while whole.to_string().len() > 4 {
            rest = Some(whole % thousand);
            whole /= thousand;
            power += 1;
        }
        let unit = match (power, binary) {
            (0, _) => "B".to_owned(),
            (1, true) => "KiB".to_owned(),
            (_, true) => format!("{}iB", prefixes[power]),
            (_, false) => format!("{}B", prefixes[power]),
        };
        let digits = 4 - whole.to_string().len();
        match rest {
            Some(rest) if digits > 1 => {
                // Where this is rounded up to 1.0, the carry is lost, as in fio.
                let part = format!("{:.*}", digits - 1, rest as f64 / thousand as f64);
                format!("{whole}.{}{unit}", &part[2..])
            }
            Some(rest) if rest >= thousand / 2 => format!("{}{unit}", whole + 1),
            _ => format!("{whole}{unit}"),
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,24}") {
            let _ = (printed(&text, Kilo::Thousand), printed(&text, Kilo::Binary));
            let _ = (quantile(&text), option_size(&text), nanoseconds(&text), decimal(&text));
        }

        #[test]
        fn what_fio_prints_stands_for_what_it_meant(number in 0u64.., binary: bool) {
            let text = as_printed(number, binary);
            let read = printed(&text, Kilo::Thousand).unwrap();
            prop_assert!(read.stands_for(number as f64), "{} {:?}", text, read);
            prop_assert!(read.stands_for(read.value));
        }

        #[test]
        fn quantiles_keep_their_value(thousandths in 1u32..=100_000) {
            let percent = f64::from(thousandths) / 1000.0;
            let name = quantile(&format!("{percent:.6}")).unwrap();
            prop_assert!((name.parse::<f64>().unwrap() - percent / 100.0).abs() < 1e-12);
        }
    }
}
