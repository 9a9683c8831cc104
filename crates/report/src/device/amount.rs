//! Amounts of hardware, as its makers write them.

use plimsoll_model::units::three_digits;

fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    let (size, unit) = steps
        .iter()
        .find(|(size, _)| value >= size * 0.9995)
        .or(steps.last())
        .copied()
        .unwrap_or((1.0, ""));
    let scaled = value / size;
    let text = match (scaled - scaled.round()).abs() < 1e-9 && scaled < 1e6 {
        true => format!("{scaled:.0}"),
        false => three_digits(scaled),
    };
    format!("{text} {unit}")
}

/// Memory and the like, in powers of 1024: "32 KiB".
pub(crate) fn binary(bytes: u64) -> String {
    let step = |power: i32| 1024_f64.powi(power);
    scaled(
        bytes as f64,
        &[(step(4), "TiB"), (step(3), "GiB"), (step(2), "MiB"), (step(1), "KiB"), (1.0, "B")],
    )
}

/// Disks, in powers of 1000: "4.00 TB".
pub(super) fn decimal(bytes: u64) -> String {
    scaled(bytes as f64, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A clock: "2.50 GHz", "720 MHz".
pub(super) fn clock(hertz: u64) -> String {
    scaled(hertz as f64, &[(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")])
}

/// The rate of a link: "1 Gbit/s".
pub(crate) fn link(bits_per_second: u64) -> String {
    scaled(
        bits_per_second as f64,
        &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_makers_do() {
        assert_eq!(
            [binary(32 << 10), binary(37_486_592), binary(0)],
            ["32 KiB", "35.8 MiB", "0 B"]
        );
        assert_eq!([decimal(4_000_787_030_016), decimal(512)], ["4.00 TB", "512 B"]);
        assert_eq!([clock(2_500_000_000), clock(720_000_000)], ["2.50 GHz", "720 MHz"]);
        assert_eq!(
            [link(1_000_000_000), link(2_500_000_000), link(0)],
            ["1 Gbit/s", "2.50 Gbit/s", "0 bit/s"]
        );
        assert_eq!(binary(u64::MAX), "16777216 TiB");
    }
}
