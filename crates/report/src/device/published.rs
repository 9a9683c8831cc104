//! The platforms whose figures were published.

use plimsoll_references::{Row, table};

/// Where the figures come from.
pub(super) const SOURCE: &str = "I. Kofler, R. Kuschnig, H. Hellwagner, \"Evaluating the networking \
     performance of Linux-based home router platforms for multimedia services\", 2011, tables 1 \
     and 2; benchmarks on a single thread";

/// A platform, by the columns of the table.
pub(super) type Platform = Row;

/// The published platforms, in the order published.
pub(super) fn platforms() -> &'static [Platform] {
    table("kofler2011_platforms").map_or(&[], |table| table.rows())
}

/// What a platform is called.
pub(super) fn name(platform: &Platform) -> String {
    platform.text("platform").unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source's own words and numbers.
    #[test]
    fn the_four_platforms_are_as_published() {
        let platforms = platforms();
        let names: Vec<String> = platforms.iter().map(name).collect();
        assert_eq!(names, ["WRT54", "TLWR", "RSPRO", "Core i7 M620"]);
        let numbers = |column: &str| platforms.iter().map(|p| p.number(column)).collect::<Vec<_>>();
        assert_eq!(numbers("coremark"), [332.0, 701.0, 1263.0, 9457.0].map(Some));
        assert_eq!(numbers("stream_copy_MB_per_s"), [59.0, 231.0, 381.0, 6830.0].map(Some));
        assert_eq!(platforms[3].text("soc"), None);
        assert!(SOURCE.contains("2011"));
        for platform in platforms {
            let per_mhz =
                platform.number("coremark").unwrap() / platform.number("clock_MHz").unwrap();
            let published = platform.number("coremark_per_MHz").unwrap();
            assert!((per_mhz - published).abs() < 0.006, "{}: {per_mhz}", name(platform));
        }
    }
}
