//! Each warning with all that is said of it: how much it explains, its effect on the figures, what to do.

mod caches;
mod disturbances;
mod limits;
mod notes;
mod urgent;
mod validity;
mod wording;

pub use wording::Words;

use super::{Burst, Flag, Severity};
use crate::HostName;
use wording::{
    LOW, NOBODY, RUN_AGAIN, at_least, capital, clean, close, minutes, operations, place,
};

impl Flag {
    /// How much it explains.
    pub fn severity(&self) -> Severity {
        self.words(None).severity
    }

    /// What is odd, with all facts: a sentence without its full stop.
    pub fn message(&self) -> String {
        let Words { text, details, .. } = self.words(None);
        if details.is_empty() { text } else { format!("{text} ({details})") }
    }

    /// The observation without its effect on the figures, for exports.
    pub fn fact(&self) -> String {
        let Words { fact, text, details, .. } = self.words(None);
        let fact = match fact.is_empty() {
            true => text.strip_prefix(LOW).unwrap_or(&text).trim_start_matches(": ").to_owned(),
            false => fact,
        };
        if details.is_empty() { fact } else { format!("{fact} ({details})") }
    }

    /// What to do about it, at length.
    pub fn advice(&self) -> String {
        let Words { action, advice, .. } = self.words(None);
        if advice.is_empty() { action } else { advice }
    }

    /// The host that other work kept busy, if it tells of that: stopping the work helps more than measuring longer.
    pub fn busy_with_other_work(&self) -> Option<&HostName> {
        match self {
            Flag::BusyBaseline { host, .. }
            | Flag::BusyProcess { host, .. }
            | Flag::OtherTraffic { host, .. }
            | Flag::BusyRaid { host, .. } => Some(host),
            _ => None,
        }
    }

    /// Why writes are called a burst, if it is about that.
    pub fn burst(&self) -> Option<&'static str> {
        match self {
            Flag::Burst { why, .. } => Some(why.words()),
            _ => None,
        }
    }

    /// All that is said of it; `trials` says in which trials it was seen ("3 of 12 trials"), if it is about trials.
    pub fn words(&self, trials: Option<&str>) -> Words {
        let seen = trials.map_or_else(String::new, |trials| format!(" in {trials}"));
        match self {
            Flag::BadContent { stale, misplaced, corrupt } => {
                urgent::bad_content(*stale, *misplaced, *corrupt, &seen)
            }
            Flag::SettingNotRestored { host, setting, reason } => {
                urgent::setting_not_restored(host, setting, reason)
            }
            Flag::NotCleaned { target, directory, on } => {
                urgent::not_cleaned(target, directory, on.as_deref())
            }
            Flag::ProgramLeft { host, reason, next } => urgent::program_left(host, reason, next),
            Flag::Leftovers { directories, target, on } => {
                urgent::leftovers(directories, target, on.as_deref())
            }

            Flag::OtherRun { directory } => disturbances::other_run(directory),
            Flag::BusyBaseline { host, busy, windows } => {
                disturbances::busy_baseline(host, *busy, windows)
            }
            Flag::OtherTraffic { host, bytes_per_second, windows } => {
                disturbances::other_traffic(host, *bytes_per_second, windows)
            }
            Flag::BusyProcess { host, process, cores, kernel, windows } => {
                disturbances::busy_process(host, process, *cores, *kernel, windows)
            }
            Flag::OtherLoad { host, resource, per_second } => {
                disturbances::other_load(host, *resource, *per_second)
            }
            Flag::FarSlower { times } => disturbances::far_slower(*times, trials),
            Flag::BusyRaid { host, work, windows } => disturbances::busy_raid(host, work, windows),
            Flag::Throttled { host, from_hertz, to_hertz, celsius } => {
                disturbances::throttled(host, *from_hertz, *to_hertz, *celsius, &seen)
            }
            Flag::Stolen { host, share } => disturbances::stolen(host, *share, &seen),
            Flag::FiguresDisturbed { figures, of } => disturbances::figures_disturbed(figures, *of),
            Flag::Reconnected { target, times, at_seconds, seconds } => {
                disturbances::reconnected(target, *times, *at_seconds, *seconds)
            }
            Flag::WrittenAgain { target, bytes } => disturbances::written_again(target, *bytes),
            Flag::HostRestarted { host } => disturbances::host_restarted(host, &seen),

            Flag::SameTarget { target } => validity::same_target(target),

            Flag::ClientMemory { target, memory, surely } => {
                caches::client_memory(target, memory, *surely)
            }
            Flag::WorkingSet { target, size, reads_from, settles } => {
                caches::working_set(target, *size, *reads_from, *settles)
            }
            Flag::CachesKept { host, reason } => caches::caches_kept(host, reason),
            Flag::Scaled { wanted, used, most, why } => caches::scaled(*wanted, *used, *most, why),
            Flag::Burst { workloads, why } => caches::burst(workloads, *why),
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                caches::two_phases(
                    *at_seconds,
                    *burst_bytes_per_second,
                    *sustained_bytes_per_second,
                    trials,
                )
            }

            Flag::StabilityDiffers { detail } => validity::stability_differs(detail),
            Flag::RateHeld { target, run, by } => validity::rate_held(target, run, by),
            Flag::OperationRefused { target, tried, reason, .. } => {
                validity::operation_refused(target, tried, reason)
            }
            Flag::SecondWriter { target } => validity::second_writer(target),
            Flag::LockNotUpgraded { target, reason } => notes::lock_not_upgraded(target, reason),
            Flag::MemoryNotShared { target, reason } => notes::memory_not_shared(target, reason),

            Flag::ClientSaturated { host, core_busy, serves } => {
                limits::client_saturated(host.as_ref(), *core_busy, *serves, &seen)
            }
            Flag::ServerSaturated { host, core_busy } => {
                limits::server_saturated(host, *core_busy, &seen)
            }
            Flag::NearClientCeiling { bytes_per_second, ceiling_bytes_per_second } => {
                limits::near_client_ceiling(*bytes_per_second, *ceiling_bytes_per_second)
            }
            Flag::SameMachine { host } => limits::same_machine(host),
            Flag::BehindSchedule { due_per_second, per_second } => {
                limits::behind_schedule(*due_per_second, *per_second)
            }
            Flag::KeptRate { workload, frame, caveat } => {
                limits::kept_rate(workload, *frame, caveat, &seen)
            }
            Flag::FrameCapped { wanted, used, path_mtu } => {
                limits::frame_capped(*wanted, *used, *path_mtu)
            }
            Flag::PayloadCapped { wanted, used, path_mtu } => {
                limits::payload_capped(*wanted, *used, *path_mtu)
            }
            Flag::SocketBufferCapped { host, wanted, used } => {
                limits::socket_buffer_capped(host, *wanted, *used)
            }
            Flag::EndIsGateway { host } => limits::end_is_gateway(host),
            Flag::RouterIsEnd { host } => limits::router_is_end(host),
            Flag::NotWatched { host, reason } => limits::not_watched(host, reason),
            Flag::AskedToWait { target, times } => limits::asked_to_wait(target, *times),
            Flag::Retransmitted { target, times, late, doubled } => {
                limits::retransmitted(target, *times, *late, *doubled)
            }

            Flag::LeftOut { workloads } => validity::left_out(workloads),
            Flag::Quick { resolvable } => validity::quick(*resolvable),
            Flag::CapReached { blocks, wanted } => validity::cap_reached(*blocks, *wanted),
            Flag::FewOperations { count } => validity::few_operations(*count, &seen),
            Flag::VoidPoints { count } => validity::void_points(*count, &seen),
            Flag::SearchUnfinished { width_ratio } => {
                validity::search_unfinished(*width_ratio, &seen)
            }
            Flag::LongGap { seconds } => validity::long_gap(*seconds),
            Flag::InFlightMismatch { integrated, by_littles_law } => {
                validity::in_flight_mismatch(*integrated, *by_littles_law)
            }

            Flag::ImpossibleCounters { host } => notes::impossible_counters(host),
            Flag::HiddenFromTicks { host, by_ticks, by_scheduler } => {
                notes::hidden_from_ticks(host, *by_ticks, *by_scheduler)
            }
            Flag::HostLost { host, reason } => notes::host_lost(host, reason),
            Flag::EntriesSkipped { directory, count } => notes::entries_skipped(directory, *count),
            Flag::NamesNotUtf8 { directory, first, count } => {
                notes::names_not_utf8(directory, first, *count)
            }
            Flag::SparseFiles { directory, count, holes } => {
                notes::sparse_files(directory, *count, *holes)
            }
            Flag::WarmScan { target } => notes::warm_scan(target),
            Flag::SizeLowered { wanted, used, bytes_per_second } => {
                notes::size_lowered(*wanted, *used, *bytes_per_second)
            }
            Flag::SizeFitted { target, wanted, used, available } => {
                notes::size_fitted(target, *wanted, *used, *available)
            }
            Flag::ReplySurplus { target, call, bytes } => {
                notes::reply_surplus(target, call, *bytes)
            }
            Flag::CallFailed { target, call, reason, instead } => {
                notes::call_failed(target, call, reason, instead)
            }
            Flag::OtherOwner { target, uid, owner } => notes::other_owner(target, *uid, *owner),
            Flag::Continued { block, .. } => notes::continued(*block),
        }
    }
}

impl Burst {
    /// Why writes are not called sustained.
    fn words(self) -> &'static str {
        match self {
            Burst::NotConditioned => "it was not filled before",
            Burst::NotSteady => "the rate was not steady after filling it",
            Burst::NotAgreed => "the trials differ from the steady rate after filling it",
        }
    }
}

#[cfg(test)]
mod tests;
