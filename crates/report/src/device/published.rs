//! The platforms whose figures were published, from `references/`.

const FILE: &str = include_str!("../../../../references/kofler2011_platforms.csv");

/// Where the figures come from.
pub(super) const SOURCE: &str = "I. Kofler, R. Kuschnig, H. Hellwagner, \"Evaluating the networking \
     performance of Linux-based home router platforms for multimedia services\", 2011, tables 1 \
     and 2; benchmarks on a single thread";

/// A platform: its columns by name, as the file has them.
#[derive(Clone, Debug)]
pub(super) struct Platform {
    columns: Vec<(&'static str, &'static str)>,
}

impl Platform {
    /// What the file says in that column; `None` where the source says nothing.
    pub(super) fn said(&self, column: &str) -> Option<&'static str> {
        let (_, text) = self.columns.iter().find(|(name, _)| *name == column)?;
        (!text.is_empty()).then_some(text)
    }

    /// The same as a number.
    pub(super) fn number(&self, column: &str) -> Option<f64> {
        self.said(column)?.parse().ok()
    }

    pub(super) fn name(&self) -> &'static str {
        self.said("platform").unwrap_or_default()
    }
}

/// The published platforms, in the file's order.
pub(super) fn platforms() -> Vec<Platform> {
    let mut lines = FILE.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines
        .map(|line| Platform { columns: names.iter().copied().zip(line.split(',')).collect() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source's own words and numbers.
    #[test]
    fn the_four_platforms_are_as_published() {
        let platforms = platforms();
        let names: Vec<&str> = platforms.iter().map(Platform::name).collect();
        assert_eq!(names, ["WRT54", "TLWR", "RSPRO", "Core i7 M620"]);
        let of = |column: &str| platforms.iter().map(|p| p.number(column)).collect::<Vec<_>>();
        assert_eq!(of("coremark"), [332.0, 701.0, 1263.0, 9457.0].map(Some));
        assert_eq!(of("stream_copy_MB_per_s"), [59.0, 231.0, 381.0, 6830.0].map(Some));
        assert_eq!(platforms[3].said("soc"), None);
        for platform in &platforms {
            let per_mhz =
                platform.number("coremark").unwrap() / platform.number("clock_MHz").unwrap();
            let published = platform.number("coremark_per_MHz").unwrap();
            assert!((per_mhz - published).abs() < 0.006, "{}: {per_mhz}", platform.name());
        }
    }

    /// Every file of figures names its source by a key, which the index explains and points to.
    #[test]
    fn every_figure_has_a_source() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../references");
        let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let mut files = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.ends_with(".csv") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let key = text.strip_prefix("# ").and_then(|t| t.split([',', ':']).next()).unwrap();
            assert!(name.starts_with(key), "{name} is named after its source, {key}");
            assert!(index.contains(&format!("\n| {key} | ")), "{key} is in the index");
            assert!(index.contains(&format!("\n| `{name}` | ")), "{name} is in the index");
            let mut rows = text.lines().skip(1).map(|line| line.split(',').count());
            let columns = rows.next().unwrap();
            assert!(!text.contains('"') && rows.all(|count| count == columns), "{name}");
        }
        assert!(files >= 1);
        assert!(FILE.starts_with("# kofler2011") && SOURCE.contains("2011"));
    }
}
