//! Dates in UTC, without the machine's time zone.

use jiff::{Timestamp, tz::TimeZone};

/// "2025-10-09 08:53 UTC" from seconds since 1970-01-01 UTC. Beyond the year 9999: the number itself.
pub fn utc(unix_seconds: u64) -> String {
    let moment = i64::try_from(unix_seconds).ok().and_then(|s| Timestamp::from_second(s).ok());
    match moment {
        Some(moment) => {
            TimeZone::UTC.to_datetime(moment).strftime("%Y-%m-%d %H:%M UTC").to_string()
        }
        None => format!("{unix_seconds} s after 1970"),
    }
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
            (253_402_207_200, "9999-12-30 22:00 UTC"),
            (u64::MAX, "18446744073709551615 s after 1970"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
