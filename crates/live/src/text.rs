//! Small texts that all observers share.

use plimsoll_model::units;

/// "112 MB/s, 107 op/s"; where no bytes are moved, "107 op/s".
pub(crate) fn rate(bytes_per_second: f64, ops_per_second: f64) -> String {
    let operations = format!("{} op/s", units::per_second(ops_per_second));
    match bytes_per_second == 0.0 && ops_per_second > 0.0 {
        true => operations,
        false => format!("{}, {operations}", units::bytes_per_second(bytes_per_second)),
    }
}

/// A time for people: "85 s", "12 min", "3 h".
pub(crate) fn duration(seconds: f64) -> String {
    // Of what is no number, 0.
    let whole = seconds.clamp(0.0, 1e7) as u64;
    match whole {
        0..90 => format!("{whole} s"),
        90..5400 => format!("{} min", (whole + 30) / 60),
        _ => format!("{} h", (whole + 1800) / 3600),
    }
}

/// At most `limit` letters, of longer texts the end: that is where paths differ.
pub(crate) fn ending(text: &str, limit: usize) -> String {
    let letters = text.chars().count();
    if letters <= limit {
        return text.to_owned();
    }
    let tail = text.chars().skip(letters - limit.saturating_sub(1));
    "…".chars().chain(tail).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_bytes_has_its_operations() {
        assert_eq!(rate(112e6, 107.0), "112 MB/s, 107 op/s");
        assert_eq!(rate(0.0, 20_000.0), "20.0 k op/s");
        assert_eq!(rate(0.0, 0.0), "0 B/s, 0 op/s");
    }

    #[test]
    fn times_and_endings() {
        assert_eq!([duration(8.4), duration(200.0), duration(9e4)], ["8 s", "3 min", "25 h"]);
        assert_eq!(duration(f64::NAN), "0 s");
        assert_eq!(ending("/srv/films", 20), "/srv/films");
        assert_eq!(ending("/srv/films", 6), "…films");
        assert_eq!(ending("/srv/films", 0), "");
    }
}
