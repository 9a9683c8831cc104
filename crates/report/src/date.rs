//! Calendar dates without a library and without the machine's time zone.

/// "2025-10-09 08:53 UTC" from seconds since 1970-01-01 UTC (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`). Beyond the year 9999: the number itself.
pub fn utc(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    if days > 2_932_896 {
        return format!("{unix_seconds} s after 1970");
    }
    // Days since 0000-03-01, so that leap days end a year; then era of 400 years, year, month.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

/// "2025-10-09", the day in UTC.
pub(crate) fn day(unix_seconds: u64) -> String {
    let moment = utc(unix_seconds);
    moment
        .split_once(' ')
        .filter(|_| moment.ends_with("UTC"))
        .map_or(moment.clone(), |(day, _)| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn known_days() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_760_000_000, "2025-10-09 08:53 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (253_402_300_799, "9999-12-31 23:59 UTC"),
            (u64::MAX, "18446744073709551615 s after 1970"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
