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
    /// A process was busy in the idle window.
    BusyProcess {
        /// Which host.
        host: String,
        /// Its name.
        process: String,
        /// How much of a core it used, 1 being all of one.
        cores: f64,
    },
    /// A RAID array was busy with itself in the idle window.
    BusyRaid {
        /// Which host.
        host: String,
        /// Which array, and with what.
        work: String,
    },
    /// A core of a server's host was nearly full during a trial: it may be what limits.
    ServerSaturated {
        /// Which host.
        host: String,
        /// Busiest core's busy share (0..1).
        core_busy: f64,
    },
    /// A host's clock fell under load.
    Throttled {
        /// Which host.
        host: String,
        /// Clock of its fastest core before.
        from_hertz: f64,
        /// The lowest that it fell to.
        to_hertz: f64,
        /// Highest temperature, where there is a sensor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        celsius: Option<f64>,
    },
    /// Tick accounting did not see what ran.
    HiddenFromTicks {
        /// Which host.
        host: String,
        /// CPU seconds per second by ticks, all classes that are busy.
        by_ticks: f64,
        /// CPU seconds per second that tasks ran by the scheduler's clock.
        by_scheduler: f64,
    },
    /// A host stopped answering; the trial has no load of it.
    HostLost {
        /// Which host.
        host: String,
        /// What happened.
        reason: String,
    },
    /// A host restarted during a trial.
    HostRestarted {
        /// Which host.
        host: String,
    },
    /// A host's counters cannot be true.
    ImpossibleCounters {
        /// Which host.
        host: String,
    },
    /// A server's host turned out to be the machine that plimsoll runs on.
    SameMachine {
        /// The host, as the user wrote it.
        host: String,
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
        /// The host that it was reached from; `None`: the machine that plimsoll ran on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
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
        /// The host that it was reached from; `None`: the machine that plimsoll ran on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
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
            Flag::BusyProcess { host, process, cores } => format!(
                "'{process}' on {host} used {:.0}% of a core before the load began",
                cores * 100.0
            ),
            Flag::BusyRaid { host, work } => {
                format!("the RAID of {host} was busy with itself ({work})")
            }
            Flag::ServerSaturated { host, core_busy } => {
                format!("a core of {host} was {:.0}% busy", core_busy * 100.0)
            }
            Flag::Throttled { host, from_hertz, to_hertz, celsius } => {
                let hot = celsius.map(|c| format!(" at up to {c:.0} °C")).unwrap_or_default();
                format!(
                    "the clock of {host} fell from {:.0} to {:.0} MHz under load{hot}",
                    from_hertz * 1e-6,
                    to_hertz * 1e-6
                )
            }
            Flag::HiddenFromTicks { host, by_ticks, by_scheduler } => format!(
                "{host} counts CPU time by ticks and did not see all of it: {by_ticks:.2} cores busy \
                 by its ticks, {by_scheduler:.2} by its scheduler"
            ),
            Flag::HostLost { host, reason } => {
                format!("{host} could not be watched any more: {reason}")
            }
            Flag::HostRestarted { host } => format!("{host} restarted during the trial"),
            Flag::ImpossibleCounters { host } => {
                format!("{host} showed counters that cannot be true")
            }
            Flag::SameMachine { host } => {
                format!(
                    "{host} is the machine that plimsoll runs on: its load holds the client's too"
                )
            }
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
            Flag::NotCleaned { target, directory, .. } => {
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

    /// The host that it is about, if it is about one.
    pub fn host(&self) -> Option<&str> {
        match self {
            Flag::BusyBaseline { host, .. }
            | Flag::OtherTraffic { host, .. }
            | Flag::BusyProcess { host, .. }
            | Flag::BusyRaid { host, .. }
            | Flag::ServerSaturated { host, .. }
            | Flag::Throttled { host, .. }
            | Flag::HiddenFromTicks { host, .. }
            | Flag::HostLost { host, .. }
            | Flag::HostRestarted { host }
            | Flag::ImpossibleCounters { host }
            | Flag::SameMachine { host } => Some(host),
            _ => None,
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
            Flag::BusyBaseline { host, .. } => format!(
                "Stop other work on {} and run again; its noise widens every interval.",
                place(host)
            ),
            Flag::BusyProcess { host, .. } => {
                format!("Stop it on {}, or wait until it is done.", place(host))
            }
            Flag::BusyRaid { .. } => {
                "Wait until it is done, or pause it: it takes disk and CPU time.".into()
            }
            Flag::ServerSaturated { .. } => {
                "The server's CPU may be the limit: see its classes and what an operation costs it.".into()
            }
            Flag::Throttled { .. } => {
                "Cool it, or measure longer: figures before and after are not comparable.".into()
            }
            Flag::HiddenFromTicks { .. } => {
                "Do not rely on this host's CPU figures: work in step with the tick is not in them.".into()
            }
            Flag::HostLost { host, .. } => {
                format!("What was measured is kept; look at {host} and its link, and run again.")
            }
            Flag::HostRestarted { .. } => "Look at its log; run again.".into(),
            Flag::ImpossibleCounters { host } => {
                format!("Its load is left out of this trial; look at /proc/stat of {host}.")
            }
            Flag::SameMachine { .. } => {
                "Watch a client and a server apart: run plimsoll on another machine.".into()
            }
            Flag::OtherTraffic { host, .. } => {
                format!("Stop other transfers of {} and run again.", place(host))
            }
            Flag::ClientSaturated { .. } => {
                "This machine may be the limit, not the server; try fewer workers or a faster client.".into()
            }
            Flag::OtherRun { .. } => "Wait until it is done: the two disturb each other.".into(),
            Flag::Leftovers { target, on, .. } => {
                format!("Remove them with: {}", clean(on.as_deref(), target))
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
            Flag::NotCleaned { target, on, .. } => {
                format!("When it is reachable again: {}", clean(on.as_deref(), target))
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

/// The host that plimsoll runs on, in words.
fn place(host: &str) -> &str {
    if host == "local" { "this machine" } else { host }
}

/// The command that removes leftovers.
fn clean(on: Option<&str>, target: &str) -> String {
    let on = on.map_or_else(String::new, |host| format!("--on {host} "));
    format!("plimsoll clean {on}'{target}'")
}
