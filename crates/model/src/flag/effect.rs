//! Each warning in one line for the screen: its effect on the figures, then what to do.

use super::message::{client, is_file_server, place};
use super::{Burst, Flag, Scaled};
use crate::{ClientMemory, StoredOn, units};

/// A warning in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its effect on the figures and its cause: a sentence without its full stop.
    pub effect: String,
    /// What to do: a sentence, may be empty.
    pub action: String,
}

/// Begin of what disturbs a study.
const LOW: &str = "Figures may be too low";

impl Flag {
    /// The warning in one line, about as long as two lines of a terminal; `trials` says in which trials it was seen ("3
    /// of 12 trials"), if it is about trials. `None`: its message and advice are short enough.
    pub fn effect(&self, trials: Option<&str>) -> Option<Effect> {
        let seen = trials.map_or_else(String::new, |trials| format!(" in {trials}"));
        let line =
            |effect: String, action: &str| Some(Effect { effect, action: action.to_owned() });
        match self {
            Flag::BadContent { stale, misplaced, corrupt } => line(
                format!(
                    "Data came back wrong{seen}: {corrupt} corrupt, {stale} stale and {misplaced} misplaced blocks of 4 KiB"
                ),
                "Check the server's disks and memory.",
            ),
            Flag::BusyBaseline { host, busy, .. } => line(
                format!("{LOW}: {} was {:.0}% busy with other work", place(host), busy * 100.0),
                "Stop that, then run again.",
            ),
            Flag::OtherTraffic { host, bytes_per_second, .. } => line(
                format!(
                    "{LOW}: {} of other network traffic on {}",
                    units::bytes_per_second(*bytes_per_second),
                    place(host)
                ),
                "Stop other transfers, then run again.",
            ),
            Flag::BusyProcess { host, process, cores, kernel, .. } => line(
                format!(
                    "{LOW}: '{process}' on {} used {:.0}% of a core when plimsoll was idle",
                    place(host),
                    cores * 100.0
                ),
                match process {
                    process if is_file_server(process) => "If it serves others, run again later.",
                    _ if *kernel => "It is a kernel thread: find its cause, then run again.",
                    _ => "Stop it, unless it is the server under test.",
                },
            ),
            Flag::BusyRaid { host, work, .. } => line(
                format!("{LOW}: the RAID of {} was busy with its own work ({work})", place(host)),
                "Wait for its end, then run again.",
            ),
            Flag::OtherRun { directory } => line(
                format!("{LOW}: another plimsoll run uses this share ({directory})"),
                "Wait for its end, then run again.",
            ),
            Flag::Stolen { host, share } => line(
                format!(
                    "{LOW}: the hypervisor took {:.0}% of the CPU time of {} for others{seen}",
                    share * 100.0,
                    place(host)
                ),
                "Run again when the hypervisor is idle.",
            ),
            Flag::Throttled { host, from_hertz, to_hertz, .. } => line(
                format!(
                    "{LOW}: the clock of {} fell from {:.0} to {:.0} MHz{seen}",
                    place(host),
                    from_hertz * 1e-6,
                    to_hertz * 1e-6
                ),
                "Cool it, then run again.",
            ),
            Flag::FarSlower { times } => line(
                format!(
                    "{} held up, one of them {times:.1} times slower than the same work in other blocks",
                    match trials {
                        Some(trials) => format!("{trials} were"),
                        None => "A trial was".to_owned(),
                    }
                ),
                "See plimsoll export for the loads of its hosts.",
            ),
            Flag::SameTarget { target } => line(
                format!("All differences are noise: {target} was given twice"),
                "Check for a typing error, if that was not intended.",
            ),
            Flag::RateHeld { target, run, by } => line(
                format!(
                    "The speed of '{run}' on {target} is not that of the storage: fio limited the rate ({by})"
                ),
                "Run fio without the limit.",
            ),
            Flag::OperationRefused { target, tried, reason, .. } => {
                line(format!("{target} has fewer figures: it refused to {tried} ({reason})"), "")
            }
            Flag::StabilityDiffers { detail } => line(
                format!("Write speeds are not comparable: {detail}"),
                "Compare with --stability filesync.",
            ),
            Flag::ClientMemory { target, memory, surely } => line(
                match surely {
                    true => format!(
                        "Reads on {target} came from the client's memory, not from the storage"
                    ),
                    false => format!("Reads on {target} may come from the client's memory"),
                },
                match memory {
                    ClientMemory::FileSystem { .. } => {
                        "It is a file system in memory: give a directory on a disk."
                    }
                    ClientMemory::PageCache => {
                        "Give --size of twice the client's memory, or a directory on another file system."
                    }
                    ClientMemory::Buffered => "For the storage, leave out --cache page.",
                    ClientMemory::LoopDevice => {
                        "Attach its file by losetup --direct-io=on, or give --size of twice the client's memory."
                    }
                },
            ),
            Flag::WorkingSet { target, size, reads_from, settles } => line(
                match reads_from {
                    StoredOn::ServerMemory => format!(
                        "Reads on {target} came from the server's memory, not from the disk ({size} fit in it)"
                    ),
                    _ => format!(
                        "Reads on {target} may come from the server's memory ({size} may fit in it)"
                    ),
                },
                &match settles {
                    Some(settles) => format!(
                        "For the disk, run again with --size {}.",
                        settles.to_string().replace(' ', "")
                    ),
                    None => "To measure the disk: give --host or --server-memory.".to_owned(),
                },
            ),
            Flag::CachesKept { host, .. } => line(
                format!(
                    "Reads may come from the memory of {host}: its caches could not be dropped"
                ),
                "Log in as root with --host, or give a larger --size.",
            ),
            Flag::WarmScan { target } => line(
                format!("The scan on {target} was answered from a warm cache"),
                "For a cold cache, run again with --drop-caches, as root.",
            ),
            Flag::Scaled { wanted, used, most, why } => line(
                format!(
                    "The datasets are copied at {} instead of {wanted}: {}",
                    match most {
                        Some(most) => format!("scales from {used} to {most}"),
                        None => format!("scale {used}"),
                    },
                    match why {
                        Scaled::Time { .. } => "all of them take too long".to_owned(),
                        Scaled::Space { target, .. } => format!("{target} has no space for more"),
                    }
                ),
                "Small datasets are more easily cached.",
            ),
            Flag::Burst { workloads, why } => line(
                format!(
                    "Speeds marked * may be a burst into a write cache ({}): {}",
                    workloads.join(", "),
                    why.words()
                ),
                "For the sustained speed, raise --max-time.",
            ),
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                line(
                    format!(
                        "The rate changed within {}: {} until {}, then {}",
                        trials.unwrap_or("a trial"),
                        units::bytes_per_second(*burst_bytes_per_second),
                        units::elapsed(*at_seconds),
                        units::bytes_per_second(*sustained_bytes_per_second)
                    ),
                    "For the second rate, lengthen --time.",
                )
            }
            Flag::ClientSaturated { host, core_busy, serves } => {
                let machine = client(host);
                let busy = format!("a core was {:.0}% busy{seen}", core_busy * 100.0);
                match serves {
                    true => line(
                        format!("{} may be the bottleneck: {busy}", capital(machine)),
                        "Client and server share it: run plimsoll on another machine.",
                    ),
                    false => line(
                        format!(
                            "{} may be the bottleneck, not the server: {busy}",
                            capital(machine)
                        ),
                        "Use fewer workers or a faster client.",
                    ),
                }
            }
            Flag::ServerSaturated { host, core_busy } => line(
                format!(
                    "The CPU of {} may be the bottleneck: a core was {:.0}% busy{seen}",
                    place(host),
                    core_busy * 100.0
                ),
                "",
            ),
            Flag::NearClientCeiling { bytes_per_second, ceiling_bytes_per_second } => line(
                format!(
                    "The client may be the bottleneck: {} is near the {} that it handles without storage",
                    units::bytes_per_second(*bytes_per_second),
                    units::bytes_per_second(*ceiling_bytes_per_second)
                ),
                "Use a faster client.",
            ),
            Flag::BehindSchedule { due_per_second, per_second } => line(
                format!(
                    "The storage did not keep up with the rate: {per_second:.0}/s of {due_per_second:.0}/s done; \
                     latencies include the delay"
                ),
                "Lower --rate.",
            ),
            Flag::AskedToWait { target, times } => line(
                format!(
                    "Latencies include waiting: the server of {target} returned \"try later\" {times} times"
                ),
                "See the server's log.",
            ),
            Flag::LeftOut { workloads } => line(
                format!("Not measured for lack of time: {}", workloads.join(", ")),
                "Name them by --pattern, or leave out --quick.",
            ),
            Flag::CapReached { .. } => line(
                "Intervals are wide: the time limit ended the study".to_owned(),
                "Raise --max-time.",
            ),
            Flag::FewOperations { count } => line(
                format!("The rate is uncertain: only {count} operations completed{seen}"),
                "Lengthen --time.",
            ),
            _ => None,
        }
    }
}

impl Flag {
    /// Why writes are called a burst, if it is about that.
    pub fn burst(&self) -> Option<&'static str> {
        match self {
            Flag::Burst { why, .. } => Some(why.words()),
            _ => None,
        }
    }
}

impl Burst {
    /// Why writes are not called sustained.
    pub(super) fn words(self) -> &'static str {
        match self {
            Burst::NotConditioned => "it was not filled before",
            Burst::NotSteady => "the rate was not steady after filling it",
            Burst::NotAgreed => "the trials differ from the steady rate after filling it",
        }
    }
}

/// With a capital letter, unless it is an address.
fn capital(name: &str) -> String {
    match name.strip_prefix("this") {
        Some(rest) => format!("This{rest}"),
        None => name.to_owned(),
    }
}
