//! Dates as fio prints them.

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
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = days.checked_sub(719_468)?;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::unix;

    #[test]
    fn dates_of_fio() {
        assert_eq!(unix("Thu Jan  1 00:00:00 1970"), Some(0.0));
        assert_eq!(unix("Wed Oct  9 00:30:28 2024"), Some(1_728_433_828.0));
        assert_eq!(unix("Thu Feb 29 23:59:59 2024"), Some(1_709_251_199.0));
        for bad in ["", "Wed Oct 9", "Wed Okt  9 00:30:28 2024", "Wed Oct 9 25:00:00 2024", "é"] {
            assert_eq!(unix(bad), None, "{bad}");
        }
    }
}
