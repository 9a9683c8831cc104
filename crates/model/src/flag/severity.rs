//! How much each warning explains.

use super::Flag;

/// How much a warning explains of the figures, most first: the order of warnings on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data came back wrong.
    Corruption,
    /// The program left something behind that the user has to remove or restore.
    NotPutBack,
    /// Something else used a machine or the share during the study, or interrupted it.
    Disturbance,
    /// Targets or runs that are not alike, so that comparing them says little.
    Comparison,
    /// Reads or writes of a cache instead of the storage.
    Cache,
    /// Writes of a write cache, which are faster than the storage.
    Burst,
    /// The client or the server may be the bottleneck rather than the storage, or is not monitored.
    Limit,
    /// Too little was measured.
    Preliminary,
    /// Good to know.
    Note,
}

impl Flag {
    /// How much it explains.
    pub fn severity(&self) -> Severity {
        match self {
            Flag::BadContent { .. } => Severity::Corruption,
            Flag::SettingNotRestored { .. }
            | Flag::NotCleaned { .. }
            | Flag::ProgramLeft { .. } => Severity::NotPutBack,
            Flag::BusyBaseline { .. }
            | Flag::OtherLoad { .. }
            | Flag::FarSlower { .. }
            | Flag::OtherTraffic { .. }
            | Flag::BusyProcess { .. }
            | Flag::BusyRaid { .. }
            | Flag::OtherRun { .. }
            | Flag::Throttled { .. }
            | Flag::Stolen { .. }
            | Flag::FiguresDisturbed { .. }
            | Flag::Reconnected { .. }
            | Flag::WrittenAgain { .. }
            | Flag::HostRestarted { .. } => Severity::Disturbance,
            Flag::StabilityDiffers { .. }
            | Flag::SameTarget { .. }
            | Flag::RateHeld { .. }
            | Flag::OperationRefused { .. } => Severity::Comparison,
            Flag::ClientMemory { .. }
            | Flag::WorkingSet { .. }
            | Flag::CachesKept { .. }
            | Flag::Scaled { .. } => Severity::Cache,
            Flag::Burst { .. } | Flag::TwoPhases { .. } => Severity::Burst,
            Flag::ClientSaturated { .. }
            | Flag::NearClientCeiling { .. }
            | Flag::ServerSaturated { .. }
            | Flag::SameMachine { .. }
            | Flag::BehindSchedule { .. }
            | Flag::NotWatched { .. }
            | Flag::AskedToWait { .. }
            | Flag::Retransmitted { .. } => Severity::Limit,
            Flag::LeftOut { .. }
            | Flag::Quick { .. }
            | Flag::CapReached { .. }
            | Flag::FewOperations { .. }
            | Flag::LongGap { .. }
            | Flag::InFlightMismatch { .. } => Severity::Preliminary,
            Flag::ImpossibleCounters { .. }
            | Flag::HiddenFromTicks { .. }
            | Flag::HostLost { .. }
            | Flag::Leftovers { .. }
            | Flag::EntriesSkipped { .. }
            | Flag::NamesNotUtf8 { .. }
            | Flag::SparseFiles { .. }
            | Flag::WarmScan { .. }
            | Flag::SizeLowered { .. }
            | Flag::SizeFitted { .. }
            | Flag::ReplySurplus { .. }
            | Flag::CallFailed { .. }
            | Flag::OtherOwner { .. }
            | Flag::Continued { .. } => Severity::Note,
        }
    }

    /// The host that other work kept busy, if it tells of that: stopping the work helps more than measuring longer.
    pub fn busy_with_other_work(&self) -> Option<&str> {
        match self {
            Flag::BusyBaseline { host, .. }
            | Flag::BusyProcess { host, .. }
            | Flag::OtherTraffic { host, .. }
            | Flag::BusyRaid { host, .. } => Some(host),
            _ => None,
        }
    }
}
