//! Dates as other tools print them.

/// Seconds since 1970-01-01 of `Wed Oct  9 00:30:28 2024`, taken as UTC: fio prints the machine's
/// local time and does not say its zone.
pub(super) fn unix(text: &str) -> Option<f64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_whitespace().skip(1);
    let month = words.next()?;
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let day: u64 = words.next()?.parse().ok().filter(|d| (1..=31).contains(d))?;
    let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let mut next = |limit| clock.next().flatten().filter(|n| *n <= limit);
    let (hour, minute, second) = (next(23)?, next(59)?, next(60)?);
    let year: u64 = words.next()?.parse().ok().filter(|y| (1970..=9999).contains(y))?;
    Some(seconds([year, month, day], [hour, minute, second])? as f64)
}

/// Seconds since 1970-01-01 of `2017-02-21T20:55:11.677001Z`, taken as UTC also without its last letter.
pub(super) fn unix_iso(text: &str) -> Option<f64> {
    let (date, clock) = text.split_once(['T', ' '])?;
    let clock = clock.trim_end_matches('Z');
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let three = |text: &str, separator: char| -> Option<[u64; 3]> {
        let numbers: Option<Vec<u64>> =
            text.split(separator).map(|part| part.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    let (date, clock) = (three(date, '-')?, three(clock, ':')?);
    let is_date = (1970..=9999).contains(&date[0])
        && (1..=12).contains(&date[1])
        && (1..=31).contains(&date[2]);
    let is_clock = clock[0] <= 23 && clock[1] <= 59 && clock[2] <= 60;
    let is_fraction = fraction.bytes().all(|b| b.is_ascii_digit());
    if !(is_date && is_clock && is_fraction) {
        return None;
    }
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(seconds(date, clock)? as f64 + fraction)
}

/// Seconds since 1970-01-01 of a date (year, month, day) and a time (hour, minute, second).
fn seconds([year, month, day]: [u64; 3], [hour, minute, second]: [u64; 3]) -> Option<u64> {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::{unix, unix_iso};

    #[test]
    fn dates_of_fio() {
        assert_eq!(unix("Thu Jan  1 00:00:00 1970"), Some(0.0));
        assert_eq!(unix("Wed Oct  9 00:30:28 2024"), Some(1_728_433_828.0));
        assert_eq!(unix("Thu Feb 29 23:59:59 2024"), Some(1_709_251_199.0));
        for bad in ["", "Wed Oct 9", "Wed Okt  9 00:30:28 2024", "Wed Oct 9 25:00:00 2024", "é"] {
            assert_eq!(unix(bad), None, "{bad}");
        }
    }

    #[test]
    fn dates_of_iso_8601() {
        assert_eq!(unix_iso("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(unix_iso("2024-10-09T00:30:28.5Z"), Some(1_728_433_828.5));
        assert_eq!(unix_iso("2024-02-29 23:59:59"), Some(1_709_251_199.0));
        for bad in ["", "2024-10-09", "2024-13-09T00:00:00Z", "2024-10-09T24:00:00Z", "éT1:1:1"] {
            assert_eq!(unix_iso(bad), None, "{bad}");
        }
        assert_eq!(unix_iso("2024-10-09T00:30:28.1e5Z"), None);
    }
}
