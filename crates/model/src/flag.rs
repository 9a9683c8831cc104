//! Every warning plimsoll gives, in one place: what is odd, and what to do about it.

use crate::StoredOn;
use crate::units::{self, Bytes};
use serde::{Deserialize, Serialize};

/// Something odd about a trial or a study. Nothing is hidden: every flag is kept and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "flag")]
pub enum Flag {
    /// Time-integrated number in flight and sum of rate x response time differ by more than 5%.
    InFlightMismatch {
        /// Time-integrated number in flight.
        integrated: f64,
        /// Sum over kinds of rate x mean response time.
        by_littles_law: f64,
    },
    /// The rate changed inside the trial.
    TwoPhases {
        /// Seconds from the start at which it changed.
        at_seconds: f64,
        /// Bytes per second before.
        burst_bytes_per_second: f64,
        /// Bytes per second after.
        sustained_bytes_per_second: f64,
    },
    /// No operation completed for a long time.
    LongGap {
        /// How long.
        seconds: f64,
    },
    /// The machine was busy in the idle window.
    BusyBaseline {
        /// Which host.
        host: String,
        /// Busy share (0..1) of all its cores.
        busy: f64,
    },
    /// Network traffic in the idle window.
    OtherTraffic {
        /// Which host.
        host: String,
        /// Bytes per second, both directions.
        bytes_per_second: f64,
    },
    /// The client's CPU was nearly full during a trial: it may be what limits.
    ClientSaturated {
        /// Busiest core's busy share (0..1).
        core_busy: f64,
    },
    /// Another plimsoll run is using the same share now.
    OtherRun {
        /// Its directory.
        directory: String,
    },
    /// Leftovers of a dead run.
    Leftovers {
        /// Their directories.
        directories: Vec<String>,
        /// The target, as the user wrote it.
        target: String,
    },
    /// The file system refused O_DIRECT: the client's page cache serves reads.
    PageCache {
        /// The target.
        target: String,
    },
    /// Reads did not surely come from the disk: the working set may fit in the server's memory.
    WorkingSet {
        /// The target.
        target: String,
        /// What it is.
        size: Bytes,
        /// Where reads came from, as far as can be told.
        reads_from: StoredOn,
        /// The size that would settle it, where the server's memory is known.
        settles: Option<Bytes>,
    },
    /// The file size was lowered because laying the files out would have taken too long.
    SizeLowered {
        /// What was wanted.
        wanted: Bytes,
        /// What is used.
        used: Bytes,
        /// Measured rate of laying out, on the slowest target.
        bytes_per_second: f64,
    },
    /// Content differed from what was written.
    BadContent {
        /// Older generations.
        stale: u64,
        /// Blocks that belong elsewhere.
        misplaced: u64,
        /// Anything else.
        corrupt: u64,
    },
    /// The server restarted during the trial (its write verifier changed).
    ServerRestarted,
    /// The files made could not be removed.
    NotCleaned {
        /// The target, as the user wrote it.
        target: String,
        /// The directory left.
        directory: String,
    },
    /// The same target was given twice.
    SameTarget {
        /// The target, as the user wrote it.
        target: String,
    },
    /// A difference of stability between targets: not comparable silently.
    StabilityDiffers {
        /// What each does.
        detail: String,
    },
    /// The time cap ended the study before the stop rule did.
    CapReached {
        /// Blocks run.
        blocks: u32,
        /// Blocks the rule asked for.
        wanted: u32,
    },
    /// Too short to resolve small differences.
    Quick {
        /// Smallest ratio that could be told from 1 with the spread seen; `None` if unknown.
        resolvable: Option<f64>,
    },
    /// The operations' rate cannot be trusted because few of them completed.
    FewOperations {
        /// How many completed in the measured part.
        count: u64,
    },
}

impl Flag {
    /// What is odd, in a sentence.
    pub fn message(&self) -> String {
        match self {
            Flag::InFlightMismatch { integrated, by_littles_law } => format!(
                "the operations in flight ({integrated:.2}) do not match rate x response time ({by_littles_law:.2})"
            ),
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                format!(
                    "two phases: {} until {at_seconds:.1} s, then {}",
                    units::bytes_per_second(*burst_bytes_per_second),
                    units::bytes_per_second(*sustained_bytes_per_second)
                )
            }
            Flag::LongGap { seconds } => {
                format!("no operation completed for {}", units::seconds(*seconds))
            }
            Flag::BusyBaseline { host, busy } => {
                format!("{host} was {:.0}% busy before the load began", busy * 100.0)
            }
            Flag::OtherTraffic { host, bytes_per_second } => format!(
                "{} of other network traffic on {host} before the load began",
                units::bytes_per_second(*bytes_per_second)
            ),
            Flag::ClientSaturated { core_busy } => {
                format!("a core of this machine was {:.0}% busy", core_busy * 100.0)
            }
            Flag::OtherRun { directory } => {
                format!("another plimsoll run is using this share now ({directory})")
            }
            Flag::Leftovers { directories, .. } => {
                format!("leftovers of a run that died: {}", directories.join(", "))
            }
            Flag::PageCache { target } => {
                format!("{target} does not take O_DIRECT: this machine's page cache takes part")
            }
            Flag::WorkingSet { target, size, reads_from: StoredOn::ServerMemory, .. } => {
                format!("reads of {size} on {target} came from the server's memory, not its disk")
            }
            Flag::WorkingSet { target, size, .. } => format!(
                "{size} on {target} may fit in the server's memory: whether disk or memory was read is unknown"
            ),
            Flag::SizeLowered { wanted, used, bytes_per_second } => format!(
                "the files have {used} instead of {wanted}: writing takes {}",
                units::bytes_per_second(*bytes_per_second)
            ),
            Flag::BadContent { stale, misplaced, corrupt } => format!(
                "wrong content: {stale} stale, {misplaced} misplaced, {corrupt} corrupt blocks of 4 KiB"
            ),
            Flag::ServerRestarted => "the server restarted during the trial".to_owned(),
            Flag::NotCleaned { target, directory } => {
                format!("{directory} could not be removed from {target}")
            }
            Flag::SameTarget { target } => {
                format!("{target} was given twice: whatever differs is noise (an A/A comparison)")
            }
            Flag::StabilityDiffers { detail } => {
                format!("the targets do not make writes equally safe: {detail}")
            }
            Flag::CapReached { blocks, wanted } => {
                format!("cap reached: {blocks} blocks run, the stop rule asked for {wanted}")
            }
            Flag::Quick { resolvable: Some(r) } => format!(
                "a quick look: with the spread seen, differences below {:.0}% are not resolved",
                (r - 1.0) * 100.0
            ),
            Flag::Quick { resolvable: None } => {
                "a quick look: small differences are not resolved".to_owned()
            }
            Flag::FewOperations { count } => format!("only {count} operations completed"),
        }
    }

    /// What to do about it, in a sentence.
    pub fn advice(&self) -> String {
        match self {
            Flag::InFlightMismatch { .. } => {
                "Treat the trial as suspect; run again on a quieter machine.".into()
            }
            Flag::TwoPhases { .. } => {
                "A write cache filled or something throttled; lengthen --time to see the sustained rate alone.".into()
            }
            Flag::LongGap { .. } => {
                "Look for a disk that spins up, a busy server or a lossy link.".into()
            }
            Flag::BusyBaseline { .. } => {
                "Stop other work on this machine and run again; its noise widens every interval.".into()
            }
            Flag::OtherTraffic { .. } => "Stop other transfers and run again.".into(),
            Flag::ClientSaturated { .. } => {
                "This machine may be the limit, not the server; try fewer workers or a faster client.".into()
            }
            Flag::OtherRun { .. } => "Wait until it is done: the two disturb each other.".into(),
            Flag::Leftovers { target, .. } => {
                format!("Remove them with: plimsoll clean '{target}'")
            }
            Flag::PageCache { .. } => {
                "Reads may come from this machine's memory; give --size above its memory to measure the storage.".into()
            }
            Flag::WorkingSet { settles: Some(size), .. } => format!(
                "To measure the disk: --size {} (twice the server's memory).",
                size.to_string().replace(' ', "")
            ),
            Flag::WorkingSet { settles: None, .. } => {
                "Twice the server's memory settles it: for a server with 2 GiB, --size 4GiB.".into()
            }
            Flag::SizeLowered { wanted, .. } => format!(
                "Small files are more easily cached; give --size {} --max-time 1h to have them whole.",
                wanted.to_string().replace(' ', "")
            ),
            Flag::BadContent { .. } => {
                "Do not trust this storage with data; run again with --verify and check its disks and memory.".into()
            }
            Flag::ServerRestarted => "Look at the server's log; run again.".into(),
            Flag::NotCleaned { target, .. } => {
                format!("When it is reachable again: plimsoll clean '{target}'")
            }
            Flag::SameTarget { .. } => {
                "Good for judging the noise here; otherwise look for a typing error.".into()
            }
            Flag::StabilityDiffers { .. } => {
                "Compare with --stability filesync, or read the write verdicts with this in mind.".into()
            }
            Flag::CapReached { .. } => "Raise --max-time for narrower intervals.".into(),
            Flag::Quick { .. } => "Leave out --quick for a verdict one can trust.".into(),
            Flag::FewOperations { .. } => "Lengthen --time.".into(),
        }
    }
}
