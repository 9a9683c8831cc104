//! Every warning plimsoll gives, in one place: what is odd, and what to do about it.

mod idle;
mod processes;
mod reasons;
mod severity;
mod words;

pub use idle::IdleWindows;
pub use processes::is_file_server;
pub use reasons::{Burst, RateCaveat, Scaled};
pub use severity::Severity;
pub use words::Words;

use crate::device::DisturbedFigure;
use crate::units::Bytes;
use crate::{ClientMemory, Failure, HostName, HostResource, OpKind, StoredOn};
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
        host: HostName,
        /// Busy share (0..1) of all its cores; the largest of all windows.
        busy: f64,
        /// When.
        #[serde(default, skip_serializing_if = "IdleWindows::is_first")]
        windows: IdleWindows,
    },
    /// Network traffic in the idle window.
    OtherTraffic {
        /// Which host.
        host: HostName,
        /// Bytes per second, both directions; the most of all windows.
        bytes_per_second: f64,
        /// When.
        #[serde(default, skip_serializing_if = "IdleWindows::is_first")]
        windows: IdleWindows,
    },
    /// A process was busy in the idle window.
    BusyProcess {
        /// Which host.
        host: HostName,
        /// Its name.
        process: String,
        /// How much of a core it used, 1 being all of one; the most of all windows.
        cores: f64,
        /// Whether it is a thread of the kernel.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kernel: bool,
        /// When.
        #[serde(default, skip_serializing_if = "IdleWindows::is_first")]
        windows: IdleWindows,
    },
    /// Others used a host during a trial: far more was used of it than the same work took in other blocks.
    OtherLoad {
        /// Which host.
        host: HostName,
        /// What of it.
        resource: HostResource,
        /// How much more per second: CPU seconds, or bytes.
        per_second: f64,
    },
    /// A trial did far less per second than the same work did in other blocks.
    FarSlower {
        /// How many times less.
        times: f64,
    },
    /// A RAID array was busy with itself in the idle window.
    BusyRaid {
        /// Which host.
        host: HostName,
        /// Which array, and with what.
        work: String,
        /// When.
        #[serde(default, skip_serializing_if = "IdleWindows::is_first")]
        windows: IdleWindows,
    },
    /// A core of a server's host was nearly full during a trial: it may be what limits.
    ServerSaturated {
        /// Which host.
        host: HostName,
        /// Busiest core's busy share (0..1).
        core_busy: f64,
    },
    /// A host's clock fell under load.
    Throttled {
        /// Which host.
        host: HostName,
        /// Clock of its fastest core before.
        from_hertz: f64,
        /// The lowest that it fell to.
        to_hertz: f64,
        /// Highest temperature, where there is a sensor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        celsius: Option<f64>,
    },
    /// A hypervisor took a part of a host's CPU time for others.
    Stolen {
        /// Which host.
        host: HostName,
        /// Share (0..1) of the time of all its cores.
        share: f64,
    },
    /// Tick accounting did not see what ran.
    HiddenFromTicks {
        /// Which host.
        host: HostName,
        /// CPU seconds per second by ticks, all classes that are busy.
        by_ticks: f64,
        /// CPU seconds per second that tasks ran by the scheduler's clock.
        by_scheduler: f64,
    },
    /// The host of a target's server, guessed from its name, could not be watched.
    NotWatched {
        /// Which host.
        host: HostName,
        /// Why.
        reason: String,
    },
    /// A host stopped answering; the trial has no load of it.
    HostLost {
        /// Which host.
        host: HostName,
        /// What happened.
        reason: String,
    },
    /// A host restarted during a trial.
    HostRestarted {
        /// Which host.
        host: HostName,
    },
    /// A host's counters cannot be true.
    ImpossibleCounters {
        /// Which host.
        host: HostName,
    },
    /// A server's host turned out to be the machine that plimsoll runs on.
    SameMachine {
        /// The host, as the user wrote it.
        host: HostName,
    },
    /// The client's CPU was nearly full during a trial: it may be what limits.
    ClientSaturated {
        /// Which host, where it is not the machine that plimsoll ran on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<HostName>,
        /// Busiest core's busy share (0..1).
        core_busy: f64,
        /// Whether the server is on that machine, too: its address is one of the loopback.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serves: bool,
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
    /// Links, sockets or devices in the directory that is copied were left out.
    EntriesSkipped {
        /// The directory on the client.
        directory: String,
        /// How many.
        count: u64,
    },
    /// Files or directories in the directory that is copied were left out, because their names are not UTF-8.
    NamesNotUtf8 {
        /// The directory on the client.
        directory: String,
        /// The path of the first below it, with the bytes that are not UTF-8 escaped.
        first: String,
        /// How many.
        count: u64,
    },
    /// Files of the directory that is copied have holes, which are copied as zeros.
    SparseFiles {
        /// The directory on the client.
        directory: String,
        /// How many.
        count: u64,
        /// What they have more in bytes than they take on their disk.
        holes: Bytes,
    },
    /// Reads came from the memory of the machine that reads, or may have.
    ClientMemory {
        /// The target.
        target: String,
        /// Which memory.
        #[serde(flatten)]
        memory: ClientMemory,
        /// Whether they surely did.
        surely: bool,
    },
    /// A scan was answered from the client's cache of names: each trial follows a walk that is not timed.
    WarmScan {
        /// The target.
        target: String,
    },
    /// Reads did not surely come from the disk: the working set may fit in the server's memory.
    WorkingSet {
        /// The target.
        target: String,
        /// What it is.
        size: Bytes,
        /// Where reads came from, as far as is known.
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
    /// The file size was lowered because there is no room for more.
    SizeFitted {
        /// The target with the least room, as the user wrote it.
        target: String,
        /// What was wanted.
        wanted: Bytes,
        /// What is used.
        used: Bytes,
        /// Free space on that target.
        available: Bytes,
    },
    /// Less than the whole of the datasets is copied.
    Scaled {
        /// The scale that was wanted.
        wanted: f64,
        /// The scale that is used; the smallest where datasets have different ones.
        used: f64,
        /// The largest scale that is used, where datasets have different ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<f64>,
        /// Why.
        why: Scaled,
    },
    /// What was copied came near to what the client generates and compares without any storage.
    NearClientCeiling {
        /// Bytes per second of the copy.
        bytes_per_second: f64,
        /// Bytes per second of the client alone.
        ceiling_bytes_per_second: f64,
    },
    /// The server asked to be asked again later (NFS3ERR_JUKEBOX), and was.
    AskedToWait {
        /// The target, as the user wrote it.
        target: String,
        /// How often.
        times: u64,
    },
    /// Calls over UDP that were not answered in time, and were sent again.
    Retransmitted {
        /// The target, as the user wrote it.
        target: String,
        /// How often a call was sent again.
        times: u64,
        /// Replies that came after their call had been given up, and were dropped.
        late: u64,
        /// Replies that came twice, of which one was dropped.
        doubled: u64,
    },
    /// A server's reply went on beyond its end.
    ReplySurplus {
        /// The target, as the user wrote it.
        target: String,
        /// To which call: "FSSTAT".
        call: String,
        /// So many bytes, the first time.
        bytes: u64,
    },
    /// A kind of operation was refused when it was tried, and left out.
    OperationRefused {
        /// The target, as the user wrote it.
        target: String,
        /// Which kind.
        operation: OpKind,
        /// What it was for: "rename a file".
        tried: String,
        /// What happened.
        reason: String,
    },
    /// A second program locked what another one had locked: locks do not keep anybody out.
    SecondWriter {
        /// The target, as the user wrote it.
        target: String,
    },
    /// A lock that is shared with those who read could not become exclusive, as SQLite on Unix needs it.
    LockNotUpgraded {
        /// The target, as the user wrote it.
        target: String,
        /// What happened.
        reason: String,
    },
    /// Two processes that mapped a file did not see each other's writes there, as SQLite's write-ahead log needs it.
    MemoryNotShared {
        /// The target, as the user wrote it.
        target: String,
        /// What happened.
        reason: String,
    },
    /// A call that can be done without failed.
    CallFailed {
        /// The target, as the user wrote it.
        target: String,
        /// What it was for: "ask for the space (FSSTAT)".
        call: String,
        /// What happened.
        reason: String,
        /// What is done without it, as a sentence.
        instead: String,
    },
    /// What was made on an NFS share belongs to another user than the one who made it.
    OtherOwner {
        /// The target, as the user wrote it.
        target: String,
        /// Who made it; `None`: redacted.
        #[serde(default)]
        uid: Option<u32>,
        /// Whom it belongs to; `None`: redacted.
        #[serde(default)]
        owner: Option<u32>,
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
    /// Connections broke or fell silent, and were made anew: the work went on.
    Reconnected {
        /// The target, as the user wrote it.
        target: String,
        /// How many connections that happened to, each as often as it did.
        times: u64,
        /// Seconds from the begin of the work until the last reply before the first of these gaps.
        at_seconds: f64,
        /// Seconds from the last reply to the next one, in the longest gap.
        seconds: f64,
    },
    /// The server restarted and lost data that were not stable yet: they were written again.
    WrittenAgain {
        /// The target, as the user wrote it.
        target: String,
        /// How much.
        bytes: u64,
    },
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
    /// A program that was deployed on a host could not be removed.
    ProgramLeft {
        /// The host, as the user named it.
        host: HostName,
        /// Why.
        reason: String,
        /// How to remove it, as a sentence.
        next: String,
    },
    /// A setting could not be put back.
    SettingNotRestored {
        /// The host, as the user named it.
        host: HostName,
        /// Its name.
        setting: String,
        /// Why.
        reason: String,
    },
    /// A host did not let its caches be dropped before trials.
    CachesKept {
        /// The host, as the user named it.
        host: HostName,
        /// Why.
        reason: String,
    },
    /// The same target was given twice.
    SameTarget {
        /// The target, as the user wrote it.
        target: String,
    },
    /// Another tool held the rate of a run that was imported, by its options or as far as its figures show.
    RateHeld {
        /// The target, by name.
        target: String,
        /// What the run is called.
        run: String,
        /// How: "rate_iops=350".
        by: String,
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
    /// The study had stopped and was continued. The time between is not part of its seconds.
    Continued {
        /// When, in seconds since 1970-01-01 UTC.
        unix_seconds: u64,
        /// The first block after that, from 0.
        block: u32,
    },
    /// Too short to resolve small differences.
    Quick {
        /// Smallest ratio that could be distinguished from 1 with the spread seen; `None` if unknown.
        resolvable: Option<f64>,
    },
    /// Writes may be those of a server's write cache.
    Burst {
        /// Titles of the workloads.
        workloads: Vec<String>,
        /// Why they are not called sustained.
        why: Burst,
    },
    /// There was no time for all workloads of a first look.
    LeftOut {
        /// Their titles.
        workloads: Vec<String>,
    },
    /// Figures of a host tell as much of what ran beside them as of the host.
    FiguresDisturbed {
        /// Which.
        figures: Vec<DisturbedFigure>,
        /// Of so many that were measured.
        of: u32,
    },
    /// Operations at a fixed rate were due faster than they were done.
    BehindSchedule {
        /// Operations per second that were due.
        due_per_second: f64,
        /// Those that completed.
        per_second: f64,
    },
    /// The operations' rate cannot be trusted because few of them completed.
    FewOperations {
        /// How many completed in the measured part.
        count: u64,
    },
    /// Steps of a trial whose load was generated late; they were measured again.
    VoidPoints {
        /// How many.
        count: u32,
    },
    /// The time of a search was over before its result was as exact as the plan wants it.
    SearchUnfinished {
        /// Share by which the smallest rejected value is above the result.
        width_ratio: f64,
    },
    /// What has to be said with the rate that a router keeps.
    KeptRate {
        /// Load in words: "out", "out imix in 1 flow".
        workload: String,
        /// Bytes of a frame.
        frame: Bytes,
        /// What.
        #[serde(flatten)]
        caveat: RateCaveat,
    },
    /// A frame is longer than the path takes, and was made shorter.
    FrameCapped {
        /// Bytes that were wanted.
        wanted: Bytes,
        /// Bytes that are used.
        used: Bytes,
        /// Largest packet of the path.
        path_mtu: Bytes,
    },
    /// The kernel of a host grants a program without root a smaller socket buffer.
    SocketBufferCapped {
        /// The host.
        host: HostName,
        /// Bytes that were wanted.
        wanted: Bytes,
        /// Bytes that are used.
        used: Bytes,
    },
    /// A payload is longer than a packet of the path takes, and was made shorter.
    PayloadCapped {
        /// Bytes that were wanted.
        wanted: Bytes,
        /// Bytes that are used.
        used: Bytes,
        /// Largest packet of the path.
        path_mtu: Bytes,
    },
    /// The router of a path is one of its ends.
    RouterIsEnd {
        /// The host.
        host: HostName,
    },
    /// An end of a path is the router over which the other end reaches other networks.
    EndIsGateway {
        /// The host.
        host: HostName,
    },
}

impl Flag {
    /// A deployed program that could not be removed from a host, for this reason.
    pub fn program_left(host: &HostName, failure: Failure) -> Flag {
        let Failure { happened: reason, next, .. } = failure;
        Flag::ProgramLeft { host: host.clone(), reason, next }
    }

    /// The host that it is about, if it is about one.
    pub fn host(&self) -> Option<&HostName> {
        match self {
            Flag::ClientSaturated { host, .. } => host.as_ref(),
            Flag::BusyBaseline { host, .. }
            | Flag::OtherTraffic { host, .. }
            | Flag::BusyProcess { host, .. }
            | Flag::OtherLoad { host, .. }
            | Flag::BusyRaid { host, .. }
            | Flag::ServerSaturated { host, .. }
            | Flag::Throttled { host, .. }
            | Flag::Stolen { host, .. }
            | Flag::HiddenFromTicks { host, .. }
            | Flag::NotWatched { host, .. }
            | Flag::HostLost { host, .. }
            | Flag::HostRestarted { host }
            | Flag::ImpossibleCounters { host }
            | Flag::ProgramLeft { host, .. }
            | Flag::SettingNotRestored { host, .. }
            | Flag::CachesKept { host, .. }
            | Flag::RouterIsEnd { host }
            | Flag::EndIsGateway { host }
            | Flag::SocketBufferCapped { host, .. }
            | Flag::SameMachine { host } => Some(host),
            _ => None,
        }
    }
}
