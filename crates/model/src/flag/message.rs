//! What each warning says, and what it advises.

use super::{Burst, Flag, Scaled};
use crate::device::disturbance;
use crate::{ClientMemory, HostResource, StoredOn, units};

/// The user that stands for nobody: -2 in 16 bits, as in Linux, or in 32.
const NOBODY: [u32; 2] = [65_534, u32::MAX - 1];

impl Flag {
    /// What is odd, in a sentence.
    pub fn message(&self) -> String {
        match self {
            Flag::InFlightMismatch { integrated, by_littles_law } => format!(
                "the operations in flight ({integrated:.2}) do not match rate x response time ({by_littles_law:.2})"
            ),
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                format!(
                    "two phases: {} until {}, then {}",
                    units::bytes_per_second(*burst_bytes_per_second),
                    units::elapsed(*at_seconds),
                    units::bytes_per_second(*sustained_bytes_per_second)
                )
            }
            Flag::LongGap { seconds } => {
                format!("no operation completed for {}", units::seconds(*seconds))
            }
            Flag::BusyBaseline { host, busy, windows } => {
                format!("{} was {:.0}% busy {}", place(host), busy * 100.0, windows.words())
            }
            Flag::OtherTraffic { host, bytes_per_second, windows } => format!(
                "{} of other network traffic on {} {}",
                units::bytes_per_second(*bytes_per_second),
                place(host),
                windows.words()
            ),
            Flag::BusyProcess { host, process, cores, windows, .. } => format!(
                "'{process}' on {} used {:.0}% of a core {}",
                place(host),
                cores * 100.0,
                windows.words()
            ),
            Flag::OtherLoad { host, resource, per_second } => {
                let (what, more) = match resource {
                    HostResource::Cpu => ("processor", format!("{per_second:.2} cores")),
                    HostResource::Disk => ("disk", units::bytes_per_second(*per_second)),
                    HostResource::Network => ("network", units::bytes_per_second(*per_second)),
                };
                format!(
                    "other work used the {what} of {} during the trial: {more} more than for the \
                    same work in other blocks",
                    place(host)
                )
            }
            Flag::FarSlower { times } => {
                format!("was {times:.1} times slower than the same work in other blocks")
            }
            Flag::BusyRaid { host, work, windows } => format!(
                "the RAID of {} was busy with its own work ({work}) {}",
                place(host),
                windows.words()
            ),
            Flag::ServerSaturated { host, core_busy } => {
                format!("a core of {} was {:.0}% busy", place(host), core_busy * 100.0)
            }
            Flag::Throttled { host, from_hertz, to_hertz, celsius } => {
                let hot = celsius.map(|c| format!(" at up to {c:.0} °C")).unwrap_or_default();
                format!(
                    "the clock of {} fell from {:.0} to {:.0} MHz under load{hot}",
                    place(host),
                    from_hertz * 1e-6,
                    to_hertz * 1e-6
                )
            }
            Flag::Stolen { host, share } => format!(
                "the hypervisor of {} took {:.0}% of its CPU time for others",
                place(host),
                share * 100.0
            ),
            Flag::HiddenFromTicks { host, by_ticks, by_scheduler } => format!(
                "{} measures CPU time by clock ticks and missed part of it: {by_ticks:.2} cores \
                busy by ticks, {by_scheduler:.2} by its scheduler",
                place(host)
            ),
            Flag::NotWatched { host, reason } => {
                format!("{} was not watched: {reason}", place(host))
            }
            Flag::HostLost { host, reason } => {
                format!("{} could no longer be monitored: {reason}", place(host))
            }
            Flag::HostRestarted { host } => format!("{} restarted during the trial", place(host)),
            Flag::ImpossibleCounters { host } => {
                format!("{} reported impossible counters", place(host))
            }
            Flag::SameMachine { host } => {
                format!(
                    "{host} is the machine that plimsoll runs on: its load holds the client's too"
                )
            }
            Flag::ClientSaturated { host, core_busy, .. } => {
                format!("a core of {} was {:.0}% busy", client(host), core_busy * 100.0)
            }
            Flag::OtherRun { directory } => {
                format!("another plimsoll run is using this share now ({directory})")
            }
            Flag::Leftovers { directories, .. } => {
                format!("leftovers of a run that died: {}", directories.join(", "))
            }
            Flag::EntriesSkipped { directory, count } => {
                format!("{count} links, devices, pipes or sockets in {directory} were not copied")
            }
            Flag::NamesNotUtf8 { directory, first, count } => {
                let (names, were) = match count {
                    1 => ("1 name".to_owned(), "was"),
                    _ => (format!("{count} names"), "were"),
                };
                format!(
                    "{names} in {directory} that {} not UTF-8 {were} not copied, the first {first}",
                    if *count == 1 { "is" } else { "are" }
                )
            }
            Flag::SparseFiles { directory, count, holes } => {
                let files = if *count == 1 { "1 file" } else { &format!("{count} files") };
                format!("{files} in {directory} with holes: {holes} of zeros were copied, too")
            }
            Flag::ClientMemory { target, memory, surely } => {
                let (which, place) = match memory {
                    ClientMemory::FileSystem { name } => (format!("memory ({name})"), "a disk"),
                    ClientMemory::PageCache | ClientMemory::Buffered => {
                        ("page cache".to_owned(), "the storage")
                    }
                    ClientMemory::LoopDevice => {
                        ("page cache, below a loop device".to_owned(), "the disk")
                    }
                };
                match surely {
                    true => format!(
                        "reads on {target} came from the client's {which}, not from {place}"
                    ),
                    false => format!(
                        "reads on {target} may come from the client's {which}: how many is unknown"
                    ),
                }
            }
            Flag::WarmScan { target } => format!(
                "the scan of {target} uses a warm cache: the client's kernel walks all names \
                before each trial"
            ),
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
            Flag::SizeFitted { target, wanted, used, available } => {
                format!(
                    "the files have {used} instead of {wanted}: {target} has {} free",
                    units::amount(*available)
                )
            }
            Flag::Scaled { wanted, used, most: Some(most), why: Scaled::Time { seconds } } => {
                format!(
                    "the datasets are copied at scales from {used} to {most}: at {wanted} the first blocks would take \
                 about {}",
                    minutes(*seconds)
                )
            }
            Flag::Scaled { wanted, used, why: Scaled::Time { seconds }, .. } => format!(
                "the datasets are copied at scale {used}: at {wanted} the first blocks would take about {}",
                minutes(*seconds)
            ),
            Flag::Scaled { wanted, used, why: Scaled::Space { target, available }, .. } => format!(
                "the datasets are copied at scale {used} instead of {wanted}: {target} has {} free",
                units::amount(*available)
            ),
            Flag::NearClientCeiling { bytes_per_second, ceiling_bytes_per_second } => format!(
                "{} is near the {} that this client generates or compares without any storage",
                units::bytes_per_second(*bytes_per_second),
                units::bytes_per_second(*ceiling_bytes_per_second)
            ),
            Flag::AskedToWait { target, times: 1 } => {
                format!("the server of {target} returned \"try later\" once")
            }
            Flag::AskedToWait { target, times } => {
                format!("the server of {target} returned \"try later\" {times} times")
            }
            Flag::Retransmitted { target, times, late, doubled } => format!(
                "{target}: calls over UDP sent again: {times}; replies dropped: {late} too late, {doubled} doubled"
            ),
            Flag::ReplySurplus { target, call, bytes } => format!(
                "the server of {target} sent {bytes} bytes beyond the end of its {call} reply"
            ),
            Flag::CallFailed { target, call, reason, .. } => {
                format!("{target}: could not {call}: {reason}")
            }
            Flag::OperationRefused { target, tried, reason, .. } => {
                format!("{target} refused to {tried}: {reason}")
            }
            Flag::OtherOwner { target, uid, owner } => {
                let nobody = owner.is_some_and(|owner| NOBODY.contains(&owner));
                let who = if nobody { "nobody" } else { "another user" };
                let why = if *uid == Some(0) { "root_squash or all_squash" } else { "all_squash" };
                let number = |of: &Option<u32>| of.map_or("N".to_owned(), |of| of.to_string());
                format!(
                    "{target}: files of uid {} belong to uid {}: the server takes it for {who} \
                     ({why}, or it maps users)",
                    number(uid),
                    number(owner)
                )
            }
            Flag::BadContent { stale, misplaced, corrupt } => format!(
                "wrong content: {stale} stale, {misplaced} misplaced, {corrupt} corrupt blocks of 4 KiB"
            ),
            Flag::Reconnected { target, times, at_seconds, seconds } => format!(
                "{target} lost {times} connection{} and restored {}: the first was lost after {}, \
                the longest took {} to restore",
                if *times == 1 { "" } else { "s" },
                if *times == 1 { "it" } else { "them" },
                units::elapsed(*at_seconds),
                units::seconds(*seconds)
            ),
            Flag::WrittenAgain { target, bytes } => format!(
                "the server of {target} restarted and lost data that was not yet stable: {} were \
                written again",
                units::Bytes(*bytes)
            ),
            Flag::NotCleaned { target, directory, .. } => {
                format!("{directory} could not be removed from {target}")
            }
            Flag::ProgramLeft { host, reason, .. } => {
                format!("the program deployed on {host} could not be removed: {reason}")
            }
            Flag::SettingNotRestored { host, setting, reason } => {
                format!("{setting} of {host} could not be restored: {reason}")
            }
            Flag::CachesKept { host, reason } => {
                format!("the caches of {host} could not be dropped: {reason}")
            }
            Flag::SameTarget { target } => {
                format!(
                    "{target} was given twice, so all differences are noise (an A/A \
                comparison)"
                )
            }
            Flag::RateHeld { target, run, by } => {
                format!("the run '{run}' on {target} was rate-limited by fio: {by}")
            }
            Flag::StabilityDiffers { detail } => {
                format!("the targets make writes stable at different times: {detail}")
            }
            Flag::CapReached { blocks, wanted } => {
                format!(
                    "the time limit ended the study after {blocks} blocks; narrow intervals take about {} more",
                    wanted.saturating_sub(*blocks)
                )
            }
            Flag::Continued { block, .. } => {
                format!(
                    "the study had stopped and was continued with block {}",
                    u64::from(*block) + 1
                )
            }
            Flag::Burst { workloads, why } => {
                let (workloads, why) = (workloads.join(", "), why.words());
                format!("{workloads} (*): burst into the server's write cache: {why}")
            }
            Flag::LeftOut { workloads } => {
                format!("no time for {} in a quick look", workloads.join(", "))
            }
            Flag::Quick { resolvable: Some(r) } => format!(
                "a quick look: differences below {:.0}% are inconclusive",
                (r - 1.0) * 100.0
            ),
            Flag::Quick { resolvable: None } => {
                "a quick look: small differences are inconclusive".to_owned()
            }
            Flag::FiguresDisturbed { figures, of } => {
                let count = figures.len();
                format!("{count} of {of} figures were disturbed: {}", disturbance(figures))
            }
            Flag::BehindSchedule { due_per_second, per_second } => format!(
                "{due_per_second:.0} operations per second were due, but {per_second:.0} were \
                done: latencies include the delay"
            ),
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
            Flag::BusyBaseline { host, .. } => format!(
                "Stop other work on {} and run again; its noise widens every interval.",
                place(host)
            ),
            Flag::BusyProcess { host, process, .. } if is_file_server(process) => format!(
                "It may be the server under test: see whether others use it on {}, and wait until \
                 they are done.",
                place(host)
            ),
            Flag::BusyProcess { host, kernel: true, .. } => {
                format!(
                    "It is a thread of the kernel, which works for other programs and devices: find out \
                     what else {} does then, and measure again when that has ended.",
                    place(host)
                )
            }
            Flag::BusyProcess { host, .. } => {
                let place = place(host);
                format!("Unless it is the server under test, stop it on {place} or wait for its end.")
            }
            Flag::OtherLoad { host, .. } => format!(
                "See what else ran on {} then: plimsoll export has the moment of each trial.",
                place(host)
            ),
            Flag::FarSlower { .. } => "See the loads of its hosts in plimsoll export: a processor that was \
                 held back, others' work, or a network or disk that stood still."
                .into(),
            Flag::BusyRaid { .. } => {
                "Wait until it is done, or pause it: it takes disk and CPU time.".into()
            }
            Flag::ServerSaturated { .. } => {
                "The server's CPU may be the limit: see its classes and what an operation costs it.".into()
            }
            Flag::Throttled { .. } => {
                "Cool it, or measure longer: figures before and after are not comparable.".into()
            }
            Flag::Stolen { .. } => {
                "Figures are for the remaining CPU time: run again when its neighbours are quiet, or on a \
                 machine of its own."
                    .into()
            }
            Flag::HiddenFromTicks { .. } => {
                "Do not rely on this host's CPU figures: they miss work in step with the tick.".into()
            }
            Flag::NotWatched { .. } => {
                "See that ssh gets there without asking, or say how with --host ssh://[user@]host.".into()
            }
            Flag::HostLost { host, .. } => {
                format!("The finished trials are kept; check {host} and its link, and run again.")
            }
            Flag::HostRestarted { .. } => "Look at its log; run again.".into(),
            Flag::ImpossibleCounters { host } => {
                format!("Its load is left out of this trial; check /proc/stat of {host}.")
            }
            Flag::SameMachine { .. } => {
                "Watch a client and a server apart: run plimsoll on another machine.".into()
            }
            Flag::OtherTraffic { host, .. } => {
                format!("Stop other transfers of {} and run again.", place(host))
            }
            Flag::ClientSaturated { host, serves: true, .. } => format!(
                "Client and server share {}: watch it as both with --host {}, or run plimsoll on another \
                 machine.",
                client(host),
                host.as_deref().unwrap_or("local")
            ),
            Flag::ClientSaturated { host: None, .. } => {
                "This machine may be the limit, not the server; try fewer workers or a faster client.".into()
            }
            Flag::ClientSaturated { host: Some(host), .. } => format!(
                "{host} may be the limit, not the server; try fewer workers or a faster client."
            ),
            Flag::OtherRun { .. } => "Wait until it is done: the two disturb each other.".into(),
            Flag::Leftovers { target, on, .. } => {
                format!("Remove them with: {}", clean(on.as_deref(), target))
            }
            Flag::SparseFiles { .. } => {
                "rsync does so too without --sparse; no action is needed.".into()
            }
            Flag::EntriesSkipped { .. } => {
                "Only regular files and directories are copied; no action is needed.".into()
            }
            Flag::NamesNotUtf8 { .. } => {
                "Rename it to copy it as well (convmv converts the names of a whole directory).".into()
            }
            Flag::ClientMemory { memory, .. } => match memory {
                ClientMemory::FileSystem { .. } => "To measure a disk or a server, give a directory on it.",
                ClientMemory::PageCache => {
                    "O_DIRECT has no effect on this file system: give --size of twice the client's memory, \
                     or a directory on another one."
                }
                ClientMemory::Buffered => {
                    "It was dropped before each trial, and --cache page asks for it. Leave that out to measure \
                     the storage without it."
                }
                ClientMemory::LoopDevice => {
                    "Attach its file by losetup --direct-io=on, or give --size of twice the client's memory."
                }
            }
            .into(),
            Flag::WarmScan { .. } => {
                "For a scan with a cold cache, check again with --drop-caches, as root.".into()
            }
            Flag::WorkingSet { settles: Some(size), .. } => format!(
                "To measure the disk, check again with --size {} (twice the server's memory).",
                size.to_string().replace(' ', "")
            ),
            Flag::WorkingSet { settles: None, .. } => {
                "To measure the disk: monitor the server with --host or give its memory with --server-memory."
                    .into()
            }
            Flag::SizeLowered { wanted, .. } => format!(
                "Small files are more easily cached; give --size {} --max-time 1h to have them whole.",
                wanted.to_string().replace(' ', "")
            ),
            Flag::SizeFitted { wanted, .. } => format!(
                "Small files are more easily cached; make room for {wanted} twice to have them whole."
            ),
            Flag::Scaled { wanted, why: Scaled::Time { seconds }, .. } => format!(
                "Give --scale {wanted} --max-time {} for all of it.",
                minutes(seconds * 2.0).replace(' ', "")
            ),
            Flag::Scaled { wanted, why: Scaled::Space { .. }, .. } => {
                format!("Make room, and give --scale {wanted} for all of it.")
            }
            Flag::NearClientCeiling { .. } => {
                "The storage may be faster than that: use a faster client, more --workers, or no --verify."
                    .into()
            }
            Flag::AskedToWait { .. } => {
                "The times include the waiting; see the server's log for its cause."
                    .into()
            }
            Flag::Retransmitted { .. } => {
                "Datagrams were lost or slow: the times that were waited are part of those measured. Look at \
                 the network's losses and the server's receive buffer, or compare with proto=tcp."
                    .into()
            }
            Flag::ReplySurplus { target, call, .. } => format!(
                "They were passed over; {call} of {target} is a mistake of the server's software."
            ),
            Flag::OperationRefused { .. } => "It is left out; the rest is measured.".into(),
            Flag::CallFailed { instead, .. } => instead.clone(),
            Flag::OtherOwner { uid, .. } => format!(
                "Speeds are not affected. For files of your own set {} on the export (exports(5); Squash = \
                 None in NFS-Ganesha), or call as a user whom the server knows, with ?uid=N&gid=N.",
                if *uid == Some(0) { "no_root_squash" } else { "no_all_squash" }
            ),
            Flag::BadContent { .. } => {
                "Do not trust this storage with data; run again with --verify and check its disks and memory.".into()
            }
            Flag::Reconnected { .. } => {
                "The figures include the gap, as a user would see it; check the server's log, and run \
                 again for figures without it."
                    .into()
            }
            Flag::WrittenAgain { .. } => {
                "No data are missing, and the times include writing twice; check why the server \
                 restarted, and run again."
                    .into()
            }
            Flag::NotCleaned { target, on, .. } => {
                format!("When it is reachable again: {}", clean(on.as_deref(), target))
            }
            Flag::ProgramLeft { next, .. } => next.clone(),
            Flag::SettingNotRestored { host, .. } => {
                format!("When it is reachable again: plimsoll restore {host}")
            }
            Flag::CachesKept { .. } => {
                "Reads there may come from memory: log in as root with --host, or read more than its \
                 memory holds with --size."
                    .into()
            }
            Flag::SameTarget { .. } => {
                "Good for judging the noise here; otherwise look for a typing error.".into()
            }
            Flag::RateHeld { .. } => {
                "Its figures are not what the storage can do: run fio without the limit.".into()
            }
            Flag::StabilityDiffers { .. } => {
                "Compare with --stability filesync, or read the write verdicts with this in mind.".into()
            }
            Flag::CapReached { .. } => "Raise --max-time for narrower intervals.".into(),
            Flag::Continued { .. } => {
                "Levels are means of both times; comparisons are made within blocks.".into()
            }
            Flag::Burst { why: Burst::NotAgreed, .. } => {
                "Longer trials may agree: --time; the cache gets free again in between.".into()
            }
            Flag::Burst { .. } => {
                "For what it sustains: fewer patterns or a longer --max-time, without --time, \
                 --repeats and --quick."
                    .into()
            }
            Flag::LeftOut { .. } => "Name them by --pattern, or leave out --quick.".into(),
            Flag::Quick { .. } => "Leave out --quick for a verdict that you can rely on.".into(),
            Flag::FiguresDisturbed { .. } => {
                "Stop other work on it and measure again: the host is better than they say.".into()
            }
            Flag::BehindSchedule { .. } => {
                "Lower --rate; without it the most that can be done is measured.".into()
            }
            Flag::FewOperations { .. } => "Lengthen --time.".into(),
        }
    }
}

/// Programs and kernel threads that serve files: one of them may be the server under test.
const FILE_SERVERS: [&str; 8] =
    ["nfsd", "ganesha.nfsd", "unfsd", "rpc.mountd", "smbd", "ksmbd", "ksmbd.mountd", "sftp-server"];

/// Whether a process of this name serves files. Some have their job behind it: `smbd-notifyd`.
pub fn is_file_server(process: &str) -> bool {
    let begin = process.split(['-', ':', '/']).next().unwrap_or_default();
    FILE_SERVERS.iter().any(|name| [process, begin].contains(name))
}

pub(super) fn client(host: &Option<String>) -> &str {
    host.as_deref().unwrap_or("this machine")
}

/// The host that plimsoll runs on, in words.
pub(super) fn place(host: &str) -> &str {
    if host == "local" { "this machine" } else { host }
}

/// The command that removes leftovers.
fn clean(on: Option<&str>, target: &str) -> String {
    let on = on.map_or_else(String::new, |host| format!("--on {host} "));
    format!("plimsoll clean {on}'{target}'")
}

/// A time to plan with: "3 min", "2 h".
fn minutes(seconds: f64) -> String {
    if seconds < 5400.0 {
        format!("{:.0} min", (seconds / 60.0).ceil())
    } else {
        format!("{:.0} h", (seconds / 3600.0).ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody can stop a thread of the kernel, and nobody should try.
    #[test]
    fn no_thread_of_the_kernel_is_to_be_stopped() {
        let advice = |process: &str, kernel| {
            let process = process.to_owned();
            let windows = crate::flag::IdleWindows::default();
            Flag::BusyProcess { host: "nas".into(), process, cores: 0.3, kernel, windows }.advice()
        };
        let of_kernel = advice("kworker/0:1H", true);
        assert!(of_kernel.contains("thread of the kernel"), "{of_kernel}");
        assert!(!of_kernel.to_lowercase().contains("stop"), "{of_kernel}");
        assert!(advice("indexer", false).contains("stop it"));
    }

    #[test]
    fn a_client_that_is_another_host_is_named() {
        let of = |host: Option<&str>| {
            let host = host.map(str::to_owned);
            let flag = Flag::ClientSaturated { host, core_busy: 0.97, serves: false };
            (flag.message(), flag.advice())
        };
        let (message, advice) = of(Some("ssh://root@laptop"));
        assert_eq!(message, "a core of ssh://root@laptop was 97% busy");
        assert!(advice.starts_with("ssh://root@laptop may be the limit"), "{advice}");
        assert_eq!(of(None).0, "a core of this machine was 97% busy");
        // No faster client helps where the server is on the same machine.
        let both = Flag::ClientSaturated { host: None, core_busy: 0.97, serves: true };
        assert!(both.advice().contains("with --host local,"), "{}", both.advice());
        // Studies of older versions have no host.
        let old: Flag =
            serde_json::from_str(r#"{"flag":"client_saturated","core_busy":0.97}"#).unwrap();
        assert_eq!((old.message(), old.advice()), of(None));
    }
}
