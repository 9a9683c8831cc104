//! jonfk: five patterns of fio on one server over NFS and SMB, one number of jobs.

use super::{Contradiction, Impossible, over_the_link, quantity, rows};
use plimsoll_explain::thresholds::{
    PUBLISHED_BEYOND_DISKS, PUBLISHED_LINK_FULL, SEGMENT_BYTES, SEGMENT_ON_ETHERNET_BYTES,
};
use plimsoll_references::{Row, Table};
use plimsoll_stats::little::{Completed, InFlight, TOLERANCE};

const FIO: &str = "jonfk2024_fio";
const SETUP: &str = "jonfk2024_setup";
const MIB: f64 = 1_048_576.0;
/// Seconds of seeking, short and long, where disks' own abilities are to be compared.
const SEEK: [f64; 2] = [1e-3, 4e-3];

/// A row, and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// As it was published.
    pub row: Published,
    /// Operations in flight by Little's law.
    pub in_flight: Option<f64>,
    /// What binds it, as far as its figures say.
    pub limit: Limit,
}

/// A row as it was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// "sequential_read".
    pub pattern: String,
    /// "NFS" or "SMB".
    pub protocol: String,
    /// Operations per second.
    pub per_second: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean seconds of an operation.
    seconds: Option<f64>,
}

impl Published {
    /// Pattern and protocol.
    pub fn name(&self) -> String {
        format!("{}, {}", self.pattern.replace('_', " "), self.protocol)
    }

    /// Whether it has all operations; of a mixture there are the writes alone.
    pub fn is_whole(&self) -> bool {
        !self.pattern.starts_with("mixed")
    }

    /// Whether the pattern writes.
    pub fn writes(&self) -> bool {
        !self.pattern.ends_with("read")
    }

    /// Mean seconds of an operation, if they were published.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds.filter(|seconds| *seconds > 0.0)
    }

    /// Bytes of an operation, as exact as the rounded figures are.
    pub fn block(&self) -> f64 {
        self.bytes_per_second / self.per_second
    }
}

/// What binds a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// The link: shares of its rate that payload takes, and that it takes with headers.
    Link {
        /// Payload alone.
        payload: f64,
        /// With headers.
        wire: f64,
    },
    /// It is so many times what the disks could do: they did not do it.
    NotDisks {
        /// Times what all disks do without seeking.
        times: f64,
    },
    /// The figures do not say, or contradict each other.
    Unknown,
}

/// What the disks can do in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disks {
    /// How many there are.
    pub count: f64,
    /// Rotations per minute.
    pub rpm: f64,
}

impl Disks {
    /// Seconds of half a rotation, for which an operation waits on average.
    pub fn half_rotation(self) -> f64 {
        30.0 / self.rpm
    }

    /// Operations per second of one disk that never seeks.
    pub fn without_seeks(self) -> f64 {
        1.0 / self.half_rotation()
    }

    /// Operations per second of one disk with long seeks and with short ones.
    pub fn with_seeks(self) -> [f64; 2] {
        let [short, long] = SEEK.map(|seek| 1.0 / (self.half_rotation() + seek));
        [long, short]
    }

    /// Seconds of the seeks of [`Disks::with_seeks`], short and long.
    pub fn seeks(self) -> [f64; 2] {
        SEEK
    }
}

/// The server's disks, where it is known what they are.
pub fn disks(tables: &[Table]) -> Option<Disks> {
    let count = quantity(tables, SETUP, "disks")?;
    Some(Disks { count, rpm: quantity(tables, SETUP, "speed of a disk")? })
}

/// How many times the file that was read and written fits into the server's memory.
pub fn file_in_memory(tables: &[Table]) -> Option<f64> {
    Some(quantity(tables, SETUP, "memory of the server")? / quantity(tables, SETUP, "file")?)
}

/// How many jobs there were.
pub fn jobs(tables: &[Table]) -> Option<f64> {
    quantity(tables, SETUP, "jobs")
}

/// The slower of the two links, in bits per second; `None` where one is not known.
pub fn link(tables: &[Table]) -> Option<f64> {
    let [server, client] = links(tables)?;
    Some(server.min(client))
}

/// The links of the server and of the client, in bits per second; `None` where one is not known.
pub fn links(tables: &[Table]) -> Option<[f64; 2]> {
    let link = |end| quantity(tables, SETUP, &format!("link of the {end}"));
    Some([link("server")?, link("client")?])
}

/// What of a server the table has no figure of.
pub fn unmeasured(tables: &[Table]) -> Vec<&'static str> {
    let table = tables.iter().find(|table| table.name == FIO);
    let columns = table.map_or(&[][..], Table::columns);
    let has = |word: &str| columns.iter().any(|column| column.contains(word));
    let parts = [("disk", "the disks"), ("server_cpu", "the server's CPU")];
    parts.into_iter().filter(|(word, _)| !has(word)).map(|(_, name)| name).collect()
}

/// The rows, in the order published.
pub fn published(tables: &[Table]) -> Vec<Published> {
    let published = |row: &Row| {
        Some(Published {
            pattern: row.text("pattern")?.to_owned(),
            protocol: row.text("protocol")?.to_owned(),
            per_second: row.number("iops")?,
            bytes_per_second: row.number("bandwidth_MiB_per_s")? * MIB,
            seconds: row.number("mean_latency_us").map(|micros| micros / 1e6),
        })
    };
    rows(tables, FIO).iter().filter_map(published).collect()
}

/// What each row shows, in the order published.
pub fn patterns(tables: &[Table]) -> Vec<Pattern> {
    let pattern = |row: Published| {
        let per_second = row.per_second;
        let completed = row.seconds.map(|mean_seconds| Completed { per_second, mean_seconds });
        let in_flight = completed.and_then(|completed| InFlight::compare(0.0, &[completed]));
        Pattern {
            in_flight: in_flight.map(|in_flight| in_flight.by_littles_law),
            limit: limit(&row, tables),
            row,
        }
    };
    published(tables).into_iter().map(pattern).collect()
}

fn limit(row: &Published, tables: &[Table]) -> Limit {
    let found = match row.pattern.starts_with("sequential") {
        true => link(tables).map(|link| {
            let payload = row.bytes_per_second * 8.0 / link;
            Limit::Link { payload, wire: payload * SEGMENT_ON_ETHERNET_BYTES / SEGMENT_BYTES }
        }),
        false => disks(tables).map(|disks| Limit::NotDisks {
            times: row.per_second / (disks.count * disks.without_seeks()),
        }),
    };
    let holds = |limit: &Limit| match limit {
        Limit::Link { wire, .. } => (PUBLISHED_LINK_FULL..=1.0).contains(wire),
        Limit::NotDisks { times } => *times >= PUBLISHED_BEYOND_DISKS,
        Limit::Unknown => true,
    };
    found.filter(holds).unwrap_or(Limit::Unknown)
}

/// The client's CPU in cores, all jobs together: fio has it for each job. The largest of all rows.
pub fn client_cores(tables: &[Table]) -> Option<f64> {
    let share = |row: &Row| {
        Some((row.number("cpu_user_percent")? + row.number("cpu_system_percent")?) / 100.0)
    };
    let largest = rows(tables, FIO).iter().filter_map(share).reduce(f64::max)?;
    Some(largest * jobs(tables)?)
}

/// Rows that cannot be true: more on the link than it can carry, headers included, and more in flight than
/// there are jobs.
pub fn contradictions(tables: &[Table]) -> Vec<Contradiction> {
    let (link, jobs) = (link(tables), jobs(tables));
    let mut found = Vec::new();
    for pattern in patterns(tables) {
        let payload = link.map(|link| link * SEGMENT_BYTES / SEGMENT_ON_ETHERNET_BYTES);
        let (name, bits) = (pattern.row.name(), pattern.row.bytes_per_second * 8.0);
        found.extend(over_the_link(name.clone(), bits, payload));
        let more = jobs.zip(pattern.in_flight).filter(|(n, by)| *by > n * (1.0 + TOLERANCE));
        found.extend(more.map(|(jobs, published)| Contradiction {
            row: name.clone(),
            says: Impossible::InFlight { published, jobs },
        }));
    }
    found
}
