//! What there is: the sources, and their tables.

use crate::table::Table;
use std::sync::LazyLock;

/// Who published some tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What its tables' names begin with.
    pub key: &'static str,
    /// Who, what, when.
    pub citation: &'static str,
}

/// Every source, by key.
pub const SOURCES: &[Source] = &[
    Source {
        key: "jonfk2024",
        citation: "jonfk, \"NFS vs SMB transfer speed on a Linux server\", October 2024; raw output in \
                   github.com/jonfk/nfs-smb-benchmarking-experiment",
    },
    Source {
        key: "kofler2011",
        citation: "I. Kofler, R. Kuschnig, H. Hellwagner, \"Evaluating the networking performance of \
                   Linux-based home router platforms for multimedia services\", Alpen-Adria-Universität \
                   Klagenfurt, 2011",
    },
    Source { key: "puskas2017", citation: "Z. Puskas, \"Router NFS performance benchmark\", 2017" },
    Source {
        key: "rtems2012",
        citation: "T. Straumann, C. Johns, M. Rippa, \"NFS Write Performance\", list of RTEMS users, \
                   May 2012",
    },
];

macro_rules! tables {
    ($($name:literal: $holds:literal,)*) => {
        /// Name, what it holds, and text of each.
        const TEXTS: &[(&str, &str, &str)] = &[$((
            $name,
            $holds,
            include_str!(concat!("../../../references/", $name, ".csv")),
        )),*];
    };
}

tables! {
    "jonfk2024_fio": "fio's five patterns over NFS and SMB",
    "jonfk2024_setup": "links, disks and memory",
    "kofler2011_kernel_path": "path of one UDP send through the kernel",
    "kofler2011_netfilter_gain": "gains of a kernel without netfilter",
    "kofler2011_network": "TCP and UDP sent, UDP routed",
    "kofler2011_platforms": "three home routers of 2010, a notebook",
    "puskas2017_cpu_load": "a router's CPU while it serves files",
    "puskas2017_other": "another router, and rates of streams",
    "puskas2017_setup": "link, bus and memory of the router",
    "puskas2017_transfer": "four datasets to a router's disk and back",
    "rtems2012_nfsread": "a file read by one, two, three readers",
    "rtems2012_setup": "link, file and protocol",
    "rtems2012_write": "a file written from two systems",
}

/// Every published table, by name.
pub fn tables() -> &'static [Table] {
    static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
        TEXTS.iter().filter_map(|(name, holds, text)| Table::parse(name, holds, text)).collect()
    });
    &TABLES
}

/// The table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    tables().iter().find(|table| table.name == name)
}

/// The source with that key.
pub fn source(key: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.key == key)
}

/// The tables of a source.
pub fn of_source(key: &str) -> impl Iterator<Item = &'static Table> {
    tables().iter().filter(move |table| table.source() == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of figures is a table here, and the index in its folder has it and its source in the same
    /// words.
    #[test]
    fn every_figure_has_a_source() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../references");
        let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let mut files = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(name) = file.strip_suffix(".csv") else { continue };
            files += 1;
            let table = table(name).unwrap_or_else(|| panic!("{name} is no table"));
            let text = std::fs::read_to_string(&path).unwrap();
            let key = table.source();
            assert!(source(key).is_some(), "{name} has a source");
            assert!(text.starts_with(&format!("# {key}")), "{name} is named after its source");
            assert!(
                index.contains(&format!("\n| `{file}` | {} |", table.holds)),
                "{file} in the index"
            );
            // A line a row: nothing was lost.
            assert_eq!(table.rows().len(), text.lines().count() - 2, "{name}");
        }
        assert_eq!((files, tables().len()), (TEXTS.len(), TEXTS.len()));
        assert!(tables().is_sorted_by(|a, b| a.name < b.name));
        for Source { key, citation } in SOURCES {
            assert!(index.contains(&format!("\n| {key} | {citation} |")), "{key} in the index");
            assert!(of_source(key).count() > 0, "{key}");
        }
        assert_eq!(SOURCES.iter().map(|s| of_source(s.key).count()).sum::<usize>(), tables().len());
    }

    /// Figures as the sources have them.
    #[test]
    fn rows_by_the_names_of_their_columns() {
        let rows = table("rtems2012_nfsread").unwrap().rows();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1].text("buffer_B"), Some("8192"));
        assert_eq!(rows[1].number("rate_MB_per_s"), Some(7.63));
        assert_eq!(rows[1].text("no such column"), None);
        assert_eq!(rows[1].number("no such column"), None);
        let linux = &table("rtems2012_write").unwrap().rows()[1];
        assert_eq!(linux.number("system"), None, "no number: {:?}", linux.text("system"));
        let gain = table("kofler2011_netfilter_gain").unwrap().rows();
        assert_eq!(gain[13].text("exact"), Some("\"around 50 percent\", conclusion"));
        assert!(table("rtems2012").is_none());
    }
}
