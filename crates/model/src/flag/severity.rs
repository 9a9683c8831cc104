//! How much each warning matters.

use super::Flag;

/// How much a warning matters, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data came back wrong.
    Corruption,
    /// Something of the user's is not as it was.
    NotPutBack,
    /// The figures are about something else than they seem to be: a cache instead of a disk, targets
    /// that are not alike.
    Meaning,
    /// Something beside the target set the limit, or may have.
    Limit,
    /// The figures are less exact.
    Noise,
    /// Good to know.
    Note,
}

impl Flag {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Flag::BadContent { .. } => Severity::Corruption,
            Flag::SettingNotRestored { .. }
            | Flag::NotCleaned { .. }
            | Flag::ProgramLeft { .. } => Severity::NotPutBack,
            Flag::PageCache { .. }
            | Flag::ClientMemory { .. }
            | Flag::WorkingSet { .. }
            | Flag::CachesKept { .. }
            | Flag::StabilityDiffers { .. }
            | Flag::SameTarget { .. }
            | Flag::RateHeld { .. }
            | Flag::Scaled { .. }
            | Flag::Burst { .. }
            | Flag::OperationRefused { .. }
            | Flag::ServerRestarted
            | Flag::Reconnected { .. }
            | Flag::WrittenAgain { .. }
            | Flag::HostRestarted { .. } => Severity::Meaning,
            Flag::ClientSaturated { .. }
            | Flag::NearClientCeiling { .. }
            | Flag::ServerSaturated { .. }
            | Flag::SameMachine { .. }
            | Flag::Throttled { .. }
            | Flag::Stolen { .. }
            | Flag::FiguresDisturbed { .. }
            | Flag::TwoPhases { .. }
            | Flag::LeftOut { .. }
            | Flag::Quick { .. }
            | Flag::CapReached { .. } => Severity::Limit,
            Flag::InFlightMismatch { .. }
            | Flag::LongGap { .. }
            | Flag::BusyBaseline { .. }
            | Flag::OtherLoad { .. }
            | Flag::FarSlower { .. }
            | Flag::OtherTraffic { .. }
            | Flag::BusyProcess { .. }
            | Flag::BusyRaid { .. }
            | Flag::OtherRun { .. }
            | Flag::FewOperations { .. }
            | Flag::BehindSchedule { .. }
            | Flag::AskedToWait { .. }
            | Flag::Retransmitted { .. }
            | Flag::ImpossibleCounters { .. }
            | Flag::HiddenFromTicks { .. } => Severity::Noise,
            Flag::NotWatched { .. }
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
}
