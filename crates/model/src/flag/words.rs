//! Each warning with all that is said of it: how much it explains, its effect on the figures, what to do.

use super::processes::is_file_server;
use super::{Burst, Flag, RateCaveat, Scaled, Severity};
use crate::device::disturbance;
use crate::units::{self, Bytes};
use crate::{ClientMemory, HostResource, StoredOn};

/// What there is to say of a flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// How much it explains.
    pub severity: Severity,
    /// The effect on the figures, then the cause: a sentence without its full stop.
    pub text: String,
    /// Further facts, for the details; may be empty.
    pub details: String,
    /// What to do: a sentence that is short enough for a screen; may be empty.
    pub action: String,
    /// The same at length, for the details; empty where `action` says all.
    advice: String,
    /// The observation without its effect, for tables of exports; empty where the text is that.
    fact: String,
}

impl Words {
    fn new(severity: Severity, text: impl Into<String>) -> Words {
        Words {
            severity,
            text: text.into(),
            details: String::new(),
            action: String::new(),
            advice: String::new(),
            fact: String::new(),
        }
    }

    fn details(self, details: impl Into<String>) -> Words {
        Words { details: details.into(), ..self }
    }

    fn action(self, action: impl Into<String>) -> Words {
        Words { action: action.into(), ..self }
    }

    fn advice(self, advice: impl Into<String>) -> Words {
        Words { advice: advice.into(), ..self }
    }

    fn fact(self, fact: impl Into<String>) -> Words {
        Words { fact: fact.into(), ..self }
    }
}

/// Begin of what disturbs a study.
const LOW: &str = "Figures may be too low";
const RUN_AGAIN: &str = "Stop that, then run again.";
/// The user that stands for nobody: -2 in 16 bits, as in Linux, or in 32.
const NOBODY: [u32; 2] = [65_534, u32::MAX - 1];

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
    pub fn busy_with_other_work(&self) -> Option<&str> {
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
            Flag::BadContent { stale, misplaced, corrupt } => Words::new(
                Severity::Corruption,
                format!(
                    "Data came back wrong{seen}: {corrupt} corrupt, {stale} stale and {misplaced} misplaced pieces of \
                     4 KiB"
                ),
            )
            .action("Check the server's disks and memory.")
            .advice(
                "Do not trust this storage with data; run again with --verify and check its disks and memory.",
            )
            .fact(format!(
                "{corrupt} corrupt, {stale} stale and {misplaced} misplaced pieces of 4 KiB were read"
            )),

            Flag::SettingNotRestored { host, setting, reason } => Words::new(
                Severity::NotPutBack,
                format!("{setting} of {host} could not be restored: {reason}"),
            )
            .action(format!("When it is reachable again: plimsoll restore {host}")),
            Flag::NotCleaned { target, directory, on } => Words::new(
                Severity::NotPutBack,
                format!("{directory} could not be removed from {target}"),
            )
            .action(format!("When it is reachable again: {}", clean(on.as_deref(), target))),
            Flag::ProgramLeft { host, reason, next } => Words::new(
                Severity::NotPutBack,
                format!("The program deployed on {host} could not be removed: {reason}"),
            )
            .action(next.clone()),
            Flag::Leftovers { directories, target, on } => Words::new(
                Severity::Leftovers,
                match directories.as_slice() {
                    [one] => format!("A killed run left {one} on {target}"),
                    several => {
                        format!("Killed runs left {} directories on {target}", several.len())
                    }
                },
            )
            .details(if directories.len() > 1 { directories.join(", ") } else { String::new() })
            .action(format!("Remove with: {}", clean(on.as_deref(), target))),

            Flag::OtherRun { directory } => Words::new(
                Severity::OtherRun,
                format!("{LOW}: another plimsoll run uses this share ({directory})"),
            )
            .action("Wait for its end, then run again."),

            Flag::BusyBaseline { host, busy, windows } => Words::new(
                Severity::Disturbance,
                format!("{LOW}: {} was {:.0}% busy with other work", place(host), busy * 100.0),
            )
            .details(windows.words())
            .action(RUN_AGAIN)
            .advice(format!("Stop other work on {} and run again.", place(host))),
            Flag::OtherTraffic { host, bytes_per_second, windows } => Words::new(
                Severity::Disturbance,
                format!(
                    "{LOW}: {} of other network traffic on {}",
                    units::bytes_per_second(*bytes_per_second),
                    place(host)
                ),
            )
            .details(windows.words())
            .action("Stop other transfers, then run again."),
            Flag::BusyProcess { host, process, cores, kernel, windows } => {
                let words = Words::new(
                    Severity::Disturbance,
                    format!(
                        "{LOW}: '{process}' on {} used {:.0}% of a core when plimsoll was idle",
                        place(host),
                        cores * 100.0
                    ),
                )
                .details(windows.words());
                match process {
                    process if is_file_server(process) => {
                        words.action("If it serves others, run again later.").advice(
                            "It may be the server under test: if it serves others, run again later.",
                        )
                    }
                    _ if *kernel => words.action(
                        "It is a thread of the kernel: find its cause, then run again.",
                    ),
                    _ => words
                        .action("Stop it, unless it is the server under test.")
                        .advice("Unless it is the server under test, stop it or wait for its end."),
                }
            }
            Flag::OtherLoad { host, resource, per_second } => {
                let (what, more) = match resource {
                    HostResource::Cpu => ("CPU", format!("{per_second:.2} cores")),
                    HostResource::Disk => ("disk", units::bytes_per_second(*per_second)),
                    HostResource::Network => ("network", units::bytes_per_second(*per_second)),
                };
                Words::new(
                    Severity::Disturbance,
                    format!("{LOW}: others used the {what} of {} during the trial", place(host)),
                )
                .details(format!("{more} more than the same work took in other blocks"))
                .action(RUN_AGAIN)
                .advice(format!(
                    "See what else ran on {} then: plimsoll export has the moment of each trial.",
                    place(host)
                ))
                .fact(format!("others used the {what} of {}", place(host)))
            }
            Flag::FarSlower { times } => Words::new(
                Severity::Disturbance,
                match trials {
                    Some(several) if !several.starts_with("1 of ") => format!(
                        "{several} were held up, one of them {times:.1} times slower than the same work in other blocks"
                    ),
                    one => format!(
                        "{} was held up: {times:.1} times slower than the same work in other blocks",
                        one.unwrap_or("A trial")
                    ),
                },
            )
            .action("See plimsoll export for the loads of its hosts.")
            .fact(format!("{times:.1} times slower than the same work in other blocks")),
            Flag::BusyRaid { host, work, windows } => Words::new(
                Severity::Disturbance,
                format!("{LOW}: the RAID of {} was busy with its own work ({work})", place(host)),
            )
            .details(windows.words())
            .action("Wait for its end, then run again."),
            Flag::Throttled { host, from_hertz, to_hertz, celsius } => Words::new(
                Severity::Disturbance,
                format!(
                    "{LOW}: the clock of {} fell from {:.0} to {:.0} MHz{seen}",
                    place(host),
                    from_hertz * 1e-6,
                    to_hertz * 1e-6
                ),
            )
            .details(celsius.map(|hot| format!("at up to {hot:.0} °C")).unwrap_or_default())
            .action("Cool it, then run again."),
            Flag::Stolen { host, share } => Words::new(
                Severity::Disturbance,
                format!(
                    "{LOW}: the hypervisor took {:.0}% of the CPU time of {} for others{seen}",
                    share * 100.0,
                    place(host)
                ),
            )
            .action("Run again when the hypervisor is idle."),
            Flag::FiguresDisturbed { figures, of } => Words::new(
                Severity::Disturbance,
                format!("{} of {of} figures were disturbed: {}", figures.len(), disturbance(figures)),
            )
            .action("Stop other work on it and measure again: the host is better than they say."),
            Flag::Reconnected { target, times, at_seconds, seconds } => Words::new(
                Severity::Disturbance,
                format!(
                    "{target} lost {times} connection{} and restored {}: the first was lost after {}, the longest \
                     took {} to restore",
                    if *times == 1 { "" } else { "s" },
                    if *times == 1 { "it" } else { "them" },
                    units::elapsed(*at_seconds),
                    units::seconds(*seconds)
                ),
            )
            .action(
                "The figures include the gap, as a user would see it; check the server's log, and run again for \
                 figures without it.",
            ),
            Flag::WrittenAgain { target, bytes } => Words::new(
                Severity::Disturbance,
                format!(
                    "The server of {target} restarted and lost what was not stable yet: {} were written again",
                    Bytes(*bytes)
                ),
            )
            .action(
                "No data are missing, and the times include writing twice; check why the server restarted, and run \
                 again.",
            ),
            Flag::HostRestarted { host } => Words::new(
                Severity::Disturbance,
                format!("{} restarted{seen}", capital(place(host))),
            )
            .action("Look at its log; run again."),

            Flag::SameTarget { target } => Words::new(
                Severity::NotMeant,
                format!("All differences are noise: {target} was given twice"),
            )
            .action("Check for a typing error, if that was not intended.")
            .fact(format!("{target} was given twice")),

            Flag::ClientMemory { target, memory, surely } => client_memory(target, memory, *surely),
            Flag::WorkingSet { target, size, reads_from, settles } => Words::new(
                Severity::Cache,
                match reads_from {
                    StoredOn::ServerMemory => format!(
                        "Reads on {target} came from the server's memory, not from the disk ({size} fit in it)"
                    ),
                    _ => format!(
                        "Reads on {target} may come from the server's memory ({size} may fit in it)"
                    ),
                },
            )
            .action(match settles {
                Some(settles) => format!("For the disk, run again with --size {}.", close(*settles)),
                None => "To measure the disk: give --host or --server-memory.".to_owned(),
            })
            .advice(match settles {
                Some(settles) => format!(
                    "For the disk, run again with --size {} (twice the server's memory).",
                    close(*settles)
                ),
                None => "To measure the disk: monitor the server with --host or give its memory with \
                         --server-memory."
                    .to_owned(),
            }),
            Flag::CachesKept { host, reason } => Words::new(
                Severity::Cache,
                format!("Reads may come from the memory of {host}: its caches could not be dropped"),
            )
            .details(reason.clone())
            .action("Log in as root with --host, or give a larger --size.")
            .fact(format!("the caches of {host} could not be dropped")),
            Flag::Scaled { wanted, used, most, why } => scaled(*wanted, *used, *most, why),
            Flag::Burst { workloads, why } => Words::new(
                Severity::Burst,
                format!(
                    "Speeds marked * may be a burst into a write cache ({}): {}",
                    workloads.join(", "),
                    why.words()
                ),
            )
            .action("For the sustained speed, raise --max-time.")
            .advice(match why {
                Burst::NotAgreed => {
                    "Longer trials may agree: --time; the cache gets free again in between."
                }
                _ => {
                    "For the sustained speed: fewer patterns or a longer --max-time, without --time, --repeats and \
                     --quick."
                }
            })
            .fact(format!(
                "a write cache may have taken the writes of {}: {}",
                workloads.join(", "),
                why.words()
            )),
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                Words::new(
                    Severity::Burst,
                    format!(
                        "The rate changed within {}: {} until {}, then {}",
                        trials.unwrap_or("a trial"),
                        units::bytes_per_second(*burst_bytes_per_second),
                        units::elapsed(*at_seconds),
                        units::bytes_per_second(*sustained_bytes_per_second)
                    ),
                )
                .action("For the second rate, lengthen --time.")
                .advice(
                    "A write cache filled or something throttled; lengthen --time to see the sustained rate alone.",
                )
                .fact(format!(
                    "{} until {}, then {}",
                    units::bytes_per_second(*burst_bytes_per_second),
                    units::elapsed(*at_seconds),
                    units::bytes_per_second(*sustained_bytes_per_second)
                ))
            }

            Flag::StabilityDiffers { detail } => Words::new(
                Severity::Comparison,
                format!("Write speeds are not comparable: {detail}"),
            )
            .action("Compare with --stability filesync.")
            .advice(
                "Compare with --stability filesync, or read the write verdicts with this in mind.",
            )
            .fact(format!("writes are not stable at the same time: {detail}")),
            Flag::RateHeld { target, run, by } => Words::new(
                Severity::Comparison,
                format!("The speed of '{run}' on {target} is rate-limited by fio ({by})"),
            )
            .action("Its figures are not what the storage can do: run fio without the limit."),
            Flag::OperationRefused { target, tried, reason, .. } => Words::new(
                Severity::Comparison,
                format!("{target} has fewer figures: it refused to {tried} ({reason})"),
            ),

            Flag::SecondWriter { target } => Words::new(
                Severity::NotMeant,
                format!("Locks on {target} keep nobody out: a second program got one that was held"),
            )
            .action("Let only one program at a time open a database there."),

            Flag::ClientSaturated { host, core_busy, serves } => {
                let machine = host.as_deref().unwrap_or("this machine");
                let name = capital(machine);
                let busy = format!("a core was {:.0}% busy{seen}", core_busy * 100.0);
                let words = match serves {
                    true => {
                        Words::new(Severity::Limit, format!("{name} may be the bottleneck: {busy}"))
                            .action("Client and server share it: run plimsoll on another machine.")
                            .advice(format!(
                                "Client and server share {machine}: watch it as both with --host {}, or run plimsoll \
                                 on another machine.",
                                host.as_deref().unwrap_or("local")
                            ))
                    }
                    false => Words::new(
                        Severity::Limit,
                        format!("{name} may be the bottleneck, not the server: {busy}"),
                    )
                    .action("Use fewer workers or a faster client."),
                };
                words.fact(format!("a core of {machine} was {:.0}% busy", core_busy * 100.0))
            }
            Flag::ServerSaturated { host, core_busy } => Words::new(
                Severity::Limit,
                format!(
                    "The CPU of {} may be the bottleneck: a core was {:.0}% busy{seen}",
                    place(host),
                    core_busy * 100.0
                ),
            )
            .fact(format!("a core of {} was {:.0}% busy", place(host), core_busy * 100.0)),
            Flag::NearClientCeiling { bytes_per_second, ceiling_bytes_per_second } => Words::new(
                Severity::Limit,
                format!(
                    "The client may be the bottleneck: {} is near the {} that it handles without storage",
                    units::bytes_per_second(*bytes_per_second),
                    units::bytes_per_second(*ceiling_bytes_per_second)
                ),
            )
            .action("Use a faster client.")
            .advice(
                "The storage may be faster than that: use a faster client, more --workers, or no --verify.",
            )
            .fact(format!(
                "{} is near the {} that the client handles without storage",
                units::bytes_per_second(*bytes_per_second),
                units::bytes_per_second(*ceiling_bytes_per_second)
            )),
            Flag::SameMachine { host } => Words::new(
                // Hosts of a lab may be parts of one machine.
                if host.starts_with("lab://") { Severity::Note } else { Severity::Limit },
                format!(
                    "Client and server ({host}) share one machine, whose CPU cannot be divided between them"
                ),
            )
            .action("To tell them apart, run plimsoll on another machine."),
            Flag::BehindSchedule { due_per_second, per_second } => Words::new(
                Severity::Limit,
                format!(
                    "The storage did not keep up with the rate: {due_per_second:.0} operations a second were due and \
                     {per_second:.0} were done; latencies include the delay"
                ),
            )
            .action("Lower --rate.")
            .advice("Lower --rate; without it the most that can be done is measured.")
            .fact(format!(
                "{due_per_second:.0} operations a second were due and {per_second:.0} were done"
            )),
            Flag::KeptRate { workload, frame, caveat } => kept_rate(workload, *frame, caveat, &seen),
            Flag::FrameCapped { wanted, used, path_mtu } => Words::new(
                Severity::NotMeant,
                format!(
                    "Frames of {} bytes do not fit: the path takes packets of {} bytes, so frames of {} were sent",
                    wanted.0, path_mtu.0, used.0
                ),
            ),
            Flag::PayloadCapped { wanted, used, path_mtu } => Words::new(
                Severity::NotMeant,
                format!(
                    "A payload of {} bytes does not fit: the path takes packets of {} bytes, so {} bytes were sent",
                    wanted.0, path_mtu.0, used.0
                ),
            ),
            Flag::SocketBufferCapped { host, wanted, used } => Words::new(
                Severity::NotMeant,
                format!(
                    "{} has socket buffers of {used} instead of {wanted}: its kernel grants no more without root",
                    place(host)
                ),
            )
            .action("Log in as root, or raise net.core.rmem_max and net.core.wmem_max there."),
            Flag::EndIsGateway { host } => Words::new(
                Severity::NotMeant,
                format!(
                    "{host} is the gateway of the other end: its own programs send or receive this data, and it forwards at another rate"
                ),
            )
            .action("Measure the rate that it forwards with --via."),
            Flag::RouterIsEnd { host } => Words::new(
                Severity::NotMeant,
                format!("{host} is the router and an end: it does not forward these frames, it ends or sends them"),
            )
            .action("Name two hosts on both sides of it."),
            Flag::NotWatched { host, reason } => Words::new(
                Severity::Limit,
                format!("{} was not monitored: {reason}", place(host)),
            )
            .action(
                "See that ssh gets there without asking, or say how with --host ssh://[user@]host.",
            ),
            Flag::AskedToWait { target, times } => Words::new(
                Severity::Limit,
                format!(
                    "Latencies include waiting: the server of {target} returned \"try later\" {}",
                    if *times == 1 { "once".to_owned() } else { format!("{times} times") }
                ),
            )
            .action("See the server's log.")
            .fact(format!(
                "the server of {target} returned \"try later\" {}",
                if *times == 1 { "once".to_owned() } else { format!("{times} times") }
            )),
            Flag::Retransmitted { target, times, late, doubled } => Words::new(
                Severity::Limit,
                format!(
                    "{target}: calls over UDP sent again: {times}; replies dropped: {late} too late, {doubled} doubled"
                ),
            )
            .action(
                "Datagrams were lost or slow: the times that were waited are part of those measured. Look at the \
                 network's losses and the server's receive buffer, or compare with proto=tcp.",
            ),

            Flag::LeftOut { workloads } => Words::new(
                Severity::Preliminary,
                format!("Not measured for lack of time: {}", workloads.join(", ")),
            )
            .action("Name them by --pattern, or leave out --quick."),
            Flag::Quick { resolvable } => Words::new(
                Severity::Preliminary,
                match resolvable {
                    Some(ratio) => format!(
                        "A quick look: differences below {:.0}% are inconclusive",
                        (ratio - 1.0) * 100.0
                    ),
                    None => "A quick look: small differences are inconclusive".to_owned(),
                },
            )
            .action("Leave out --quick for a verdict that you can rely on."),
            Flag::CapReached { blocks, wanted } => Words::new(
                Severity::Preliminary,
                format!("The time limit ended the study after {blocks} blocks"),
            )
            .details(format!(
                "narrow intervals take about {} more",
                wanted.saturating_sub(*blocks)
            ))
            .action("Raise --max-time for narrower intervals."),
            Flag::FewOperations { count } => Words::new(
                Severity::Preliminary,
                format!("The rate is uncertain: only {} completed{seen}", operations(*count)),
            )
            .action("Lengthen --time.")
            .fact(format!("only {} completed", operations(*count))),
            Flag::LongGap { seconds } => Words::new(
                Severity::Preliminary,
                format!("No operation completed for {}", units::seconds(*seconds)),
            )
            .action("Look for a disk that spins up, a busy server or a lossy link.")
            .fact(format!("no operation completed for {}", units::seconds(*seconds))),
            Flag::InFlightMismatch { integrated, by_littles_law } => Words::new(
                Severity::Preliminary,
                format!(
                    "The operations in flight ({integrated:.2}) do not match rate x response time \
                     ({by_littles_law:.2})"
                ),
            )
            .action("Treat the trial as suspect; run again on a quieter machine."),

            Flag::ImpossibleCounters { host } => Words::new(
                Severity::Note,
                format!("{} showed counters that cannot be true", capital(place(host))),
            )
            .action(format!("Its load is left out of this trial; check /proc/stat of {host}.")),
            Flag::HiddenFromTicks { host, by_ticks, by_scheduler } => Words::new(
                Severity::Note,
                format!(
                    "{} counts CPU time by ticks and did not see all of it: {by_ticks:.2} cores busy by its ticks, \
                     {by_scheduler:.2} by its scheduler",
                    capital(place(host))
                ),
            )
            .action("Do not rely on this host's CPU figures: they miss work in step with the tick."),
            Flag::HostLost { host, reason } => Words::new(
                Severity::Note,
                format!("{} could not be watched any more: {reason}", capital(place(host))),
            )
            .action(format!(
                "The finished trials are kept; check {host} and its link, and run again."
            )),
            Flag::EntriesSkipped { directory, count } => Words::new(
                Severity::Note,
                format!("{count} links, devices, pipes or sockets in {directory} were not copied"),
            )
            .action("Only regular files and directories are copied; no action is needed."),
            Flag::NamesNotUtf8 { directory, first, count } => {
                let (names, is, were) = match count {
                    1 => ("1 name".to_owned(), "is", "was"),
                    _ => (format!("{count} names"), "are", "were"),
                };
                Words::new(
                    Severity::Note,
                    format!(
                        "{names} in {directory} that {is} not UTF-8 {were} not copied, the first {first}"
                    ),
                )
                .action(
                    "Rename it to copy it as well (convmv converts the names of a whole directory).",
                )
            }
            Flag::SparseFiles { directory, count, holes } => {
                let files = if *count == 1 { "1 file" } else { &format!("{count} files") };
                Words::new(
                    Severity::Note,
                    format!("{files} in {directory} with holes: {holes} of zeros were copied, too"),
                )
                .action("rsync does so too without --sparse; no action is needed.")
            }
            Flag::WarmScan { target } => Words::new(
                Severity::Note,
                format!("The scan on {target} was answered from a warm cache"),
            )
            .details("before each trial the client's kernel has walked all names")
            .action("For a cold cache, run again with --drop-caches, as root."),
            Flag::SizeLowered { wanted, used, bytes_per_second } => Words::new(
                Severity::Note,
                format!(
                    "The files have {used} instead of {wanted}: writing takes {}",
                    units::bytes_per_second(*bytes_per_second)
                ),
            )
            .action(format!(
                "Small files are more easily cached; give --size {} --max-time 1h to have them whole.",
                close(*wanted)
            )),
            Flag::SizeFitted { target, wanted, used, available } => Words::new(
                Severity::Note,
                format!(
                    "The files have {used} instead of {wanted}: {target} has {} free",
                    units::amount(*available)
                ),
            )
            .action(format!(
                "Small files are more easily cached; make room for {wanted} twice to have them whole."
            )),
            Flag::ReplySurplus { target, call, bytes } => Words::new(
                Severity::Note,
                format!(
                    "The server of {target} sent {bytes} bytes beyond the end of its {call} reply"
                ),
            )
            .action(format!(
                "They were passed over; {call} of {target} is a mistake of the server's software."
            )),
            Flag::CallFailed { target, call, reason, instead } => {
                Words::new(Severity::Note, format!("{target}: could not {call}: {reason}"))
                    .action(instead.clone())
            }
            Flag::OtherOwner { target, uid, owner } => {
                let nobody = owner.is_some_and(|owner| NOBODY.contains(&owner));
                let who = if nobody { "nobody" } else { "another user" };
                let root = *uid == Some(0);
                let why = if root { "root_squash or all_squash" } else { "all_squash" };
                let number = |of: &Option<u32>| of.map_or("N".to_owned(), |of| of.to_string());
                Words::new(
                    Severity::Note,
                    format!(
                        "{target}: files of uid {} belong to uid {}: the server takes it for {who} ({why}, or it maps \
                         users)",
                        number(uid),
                        number(owner)
                    ),
                )
                .action(format!(
                    "Speeds are not affected. For files of your own set {} on the export (exports(5); Squash = None \
                     in NFS-Ganesha), or call as a user whom the server knows, with ?uid=N&gid=N.",
                    if root { "no_root_squash" } else { "no_all_squash" }
                ))
            }
            Flag::Continued { block, .. } => Words::new(
                Severity::Note,
                format!(
                    "The study had stopped and was continued with block {}",
                    u64::from(*block) + 1
                ),
            )
            .action("Levels are means of both times; comparisons are made within blocks."),
        }
    }
}

fn client_memory(target: &str, memory: &ClientMemory, surely: bool) -> Words {
    let severity = match memory {
        // What --cache page asks for is meant.
        ClientMemory::Buffered => Severity::Cache,
        _ if surely => Severity::NotMeant,
        _ => Severity::Cache,
    };
    let text = match surely {
        true => format!("Reads on {target} came from the client's memory, not from the storage"),
        false => format!("Reads on {target} may come from the client's memory"),
    };
    let words = Words::new(severity, text);
    match memory {
        ClientMemory::FileSystem { name } => words
            .details(name.clone())
            .action("It is a file system in memory: give a directory on a disk."),
        ClientMemory::PageCache => words
            .details("page cache: O_DIRECT has no effect on this file system")
            .action("Give --size of twice the client's memory, or a directory on another file system."),
        ClientMemory::Buffered => words
            .details("page cache, which was dropped before each trial")
            .action("For the storage, leave out --cache page."),
        ClientMemory::LoopDevice => words.details("page cache, below a loop device").action(
            "Attach its file by losetup --direct-io=on, or give --size of twice the client's memory.",
        ),
    }
}

fn scaled(wanted: f64, used: f64, most: Option<f64>, why: &Scaled) -> Words {
    let scale = match most {
        Some(most) => format!("scales from {used} to {most}"),
        None => format!("scale {used}"),
    };
    let cause = match why {
        Scaled::Time { .. } => "all of them take too long".to_owned(),
        Scaled::Space { target, .. } => format!("{target} has no space for more"),
    };
    let words = Words::new(
        Severity::Cache,
        format!("The datasets are copied at {scale} instead of {wanted}: {cause}"),
    )
    .action("Small datasets are more easily cached.");
    match why {
        Scaled::Time { seconds } => words
            .details(format!("the first blocks would take about {}", minutes(*seconds)))
            .advice(format!(
                "Give --scale {wanted} --max-time {} for all of it.",
                minutes(seconds * 2.0).replace(' ', "")
            )),
        Scaled::Space { available, .. } => words
            .details(format!("{} are free", units::amount(*available)))
            .advice(format!("Make room, and give --scale {wanted} for all of it.")),
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

/// The host that plimsoll runs on, in words.
/// "1 operation", "2 operations".
fn operations(count: u64) -> String {
    format!("{count} operation{}", if count == 1 { "" } else { "s" })
}

fn place(host: &str) -> &str {
    if host == "local" { "this machine" } else { host }
}

/// With a capital letter, unless it is an address.
fn capital(name: &str) -> String {
    match name.strip_prefix("this") {
        Some(rest) => format!("This{rest}"),
        None => name.to_owned(),
    }
}

/// As an option takes it: "4GiB".
fn close(size: Bytes) -> String {
    size.to_string().replace(' ', "")
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

/// What has to be said with the rate of a workload.
fn kept_rate(workload: &str, frame: Bytes, caveat: &RateCaveat, seen: &str) -> Words {
    let load = format!("{workload}, {} B", frame.0);
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    match caveat {
        RateCaveat::AtLeast => Words::new(
            Severity::Limit,
            format!("{load}: the router keeps at least that: the sender could send no more{seen}"),
        )
        .action("Send from a faster machine, or from several."),
        RateCaveat::CannotHold { void_ratio } => Words::new(
            Severity::NotMeant,
            format!(
                "{load}: this machine cannot hold the rate: it was late in {} of the time{seen}",
                percent(*void_ratio)
            ),
        )
        .action("Stop other work on the sending machine, or send from a faster one."),
        RateCaveat::QuietMoments { share } => Words::new(
            Severity::NotMeant,
            format!(
                "{load}: the rate holds in quiet moments ({} of the time): the sender was late in the rest{seen}",
                percent(*share)
            ),
        )
        .action("Stop other work on the sending machine and the router."),
        RateCaveat::BurstCredit { bytes, frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: burst credit of {:.0} kB: more passes until it is used up, then {frames_per_second:.0} frames \
                 a second{seen}",
                bytes / 1e3
            ),
        ),
        RateCaveat::Collapse { frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: overload collapse: at more than it keeps, the router forwards only {frames_per_second:.0} \
                 frames a second{seen}"
            ),
        ),
        RateCaveat::Interruptions { frames_per_second } => Words::new(
            Severity::Limit,
            format!(
                "{load}: interruptions set the rate, not the router's capacity: between them it forwards about \
                 {frames_per_second:.0} frames a second{seen}"
            ),
        )
        .action("Look for the cause: other work on the router, or a link that fails now and then."),
        RateCaveat::Unsteady { loss_ratio } => Words::new(
            Severity::Limit,
            format!(
                "{load}: the rate was kept in trials of a second; one of 10 s lost {:.1}%{seen}",
                100.0 * loss_ratio
            ),
        ),
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
        let said = "ssh://root@laptop may be the bottleneck, not the server: a core was 97% busy";
        assert_eq!(message, said);
        assert_eq!(advice, "Use fewer workers or a faster client.");
        assert!(of(None).0.starts_with("This machine may be the bottleneck"), "{}", of(None).0);
        // No faster client helps where the server is on the same machine.
        let both = Flag::ClientSaturated { host: None, core_busy: 0.97, serves: true };
        assert!(both.advice().contains("with --host local,"), "{}", both.advice());
        // Studies of older versions have no host.
        let old: Flag =
            serde_json::from_str(r#"{"flag":"client_saturated","core_busy":0.97}"#).unwrap();
        assert_eq!((old.message(), old.advice()), of(None));
    }

    /// A table of an export has observations: no effect on figures of a screen, and no marks of one.
    #[test]
    fn a_fact_is_an_observation() {
        let host = || "local".to_owned();
        let windows = crate::flag::IdleWindows::default;
        let slower = Flag::FarSlower { times: 3.4 };
        assert_eq!(slower.fact(), "3.4 times slower than the same work in other blocks");
        let stolen = Flag::Stolen { host: host(), share: 0.25 };
        let fact = "the hypervisor took 25% of the CPU time of this machine for others";
        assert_eq!(stolen.fact(), fact);
        let load = Flag::OtherLoad { host: host(), resource: HostResource::Cpu, per_second: 0.5 };
        let fact = "others used the CPU of this machine (0.50 cores more than the same work took in other blocks)";
        assert_eq!(load.fact(), fact);
        for flag in [
            slower,
            stolen,
            load,
            Flag::BadContent { stale: 0, misplaced: 0, corrupt: 1 },
            Flag::BusyBaseline { host: host(), busy: 0.9, windows: windows() },
            Flag::Throttled { host: host(), from_hertz: 2e9, to_hertz: 1e9, celsius: None },
            Flag::Burst { workloads: vec!["random write".into()], why: Burst::NotSteady },
            Flag::BehindSchedule { due_per_second: 30.0, per_second: 20.0 },
            Flag::FewOperations { count: 3 },
            Flag::NearClientCeiling { bytes_per_second: 1e9, ceiling_bytes_per_second: 1.1e9 },
            Flag::TwoPhases {
                at_seconds: 2.0,
                burst_bytes_per_second: 2e8,
                sustained_bytes_per_second: 1e8,
            },
        ] {
            let fact = flag.fact();
            let said = flag.message();
            assert!(!fact.contains("too low") && !fact.contains('*'), "{fact}");
            assert!(!fact.starts_with(char::is_uppercase) && fact != said, "{fact}");
        }
    }

    /// The most severe first; what stands on any screen does so wherever it is in that order.
    #[test]
    fn what_the_user_has_to_remove_is_urgent() {
        let flag = Flag::Leftovers {
            directories: vec!["a".into(), "b".into()],
            target: "/srv".into(),
            on: None,
        };
        let words = flag.words(None);
        assert!(words.severity.is_urgent() && words.severity > Severity::Disturbance);
        assert_eq!(flag.message(), "Killed runs left 2 directories on /srv (a, b)");
        assert_eq!(flag.advice(), "Remove with: plimsoll clean '/srv'");
    }
}
