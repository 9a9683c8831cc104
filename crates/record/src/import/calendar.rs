//! Dates as other tools print them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Seconds since 1970-01-01 of `Wed Oct  9 00:30:28 2024`, taken as UTC: fio prints the machine's
/// local time and does not say its zone.
pub(super) fn unix(text: &str) -> Option<f64> {
    seconds(DateTime::strptime("%a %b %d %H:%M:%S %Y", text.trim()).ok()?)
}

/// Seconds since 1970-01-01 of `2017-02-21T20:55:11.677001Z`, taken as UTC also without its last letter.
pub(super) fn unix_iso(text: &str) -> Option<f64> {
    let text = text.trim_end_matches('Z');
    // Without a time of day it would be midnight.
    seconds(text.contains(':').then(|| text.parse().ok())??)
}

/// Seconds since 1970-01-01 of a time in UTC, which is not before.
fn seconds(time: DateTime) -> Option<f64> {
    let moment = TimeZone::UTC.to_timestamp(time).ok()?;
    Some(moment.as_duration().as_secs_f64()).filter(|seconds| *seconds >= 0.0)
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
