//! Every kind of flag.

use super::{host, text};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Those of the golden file.
pub fn golden(x: f64, n: u64, text: &str) -> Vec<Flag> {
    let (target, host) = (|| text.to_owned(), HostName::Local);
    vec![
        Flag::InFlightMismatch { integrated: x, by_littles_law: -x },
        Flag::TwoPhases {
            at_seconds: x,
            burst_bytes_per_second: 2.0 * x,
            sustained_bytes_per_second: x,
        },
        Flag::LongGap { seconds: x },
        Flag::BusyBaseline { host: host.clone(), busy: x, windows: IdleWindows::later(x) },
        Flag::OtherLoad { host: host.clone(), resource: HostResource::Disk, per_second: x },
        Flag::OtherTraffic { host, bytes_per_second: x, windows: IdleWindows::default() },
        Flag::ClientSaturated { host: None, core_busy: x, serves: false },
        Flag::OtherRun { directory: target() },
        Flag::Leftovers { directories: vec![target(), target()], target: target(), on: None },
        working_set(text, n, StoredOn::ServerMemory, None),
        working_set(text, n, StoredOn::Unknown, Some(Bytes(n))),
        Flag::SizeLowered { wanted: Bytes(n), used: Bytes(n / 2), bytes_per_second: x },
        Flag::SameTarget { target: target() },
        Flag::RateHeld { target: target(), run: target(), by: target() },
        Flag::BadContent { stale: n, misplaced: 1, corrupt: 0 },
        Flag::NotCleaned { target: target(), directory: target(), on: None },
        Flag::StabilityDiffers { detail: target() },
        Flag::CapReached { blocks: n as u32, wanted: 7 },
        Flag::Quick { resolvable: Some(x) },
        Flag::Quick { resolvable: None },
        Flag::FewOperations { count: n },
        Flag::BehindSchedule { due_per_second: x, per_second: -x },
    ]
}

/// Flags that the golden file does not have.
pub fn since(x: f64, n: u64, text: &str) -> Vec<Flag> {
    let text = || text.to_owned();
    vec![
        Flag::NamesNotUtf8 { directory: text(), first: text(), count: n },
        client_memory(text(), ClientMemory::FileSystem { name: text() }, true),
        client_memory(text(), ClientMemory::PageCache, n.is_multiple_of(2)),
        client_memory(text(), ClientMemory::LoopDevice, false),
        Flag::LeftOut { workloads: vec![text()] },
        Flag::FarSlower { times: x },
        Flag::Burst { workloads: vec![text(), text()], why: Burst::NotAgreed },
        Flag::SizeFitted {
            target: text(),
            wanted: Bytes(n),
            used: Bytes(n / 2),
            available: Bytes(n),
        },
        Flag::Scaled { wanted: x, used: x / 2.0, most: Some(x), why: Scaled::Time { seconds: x } },
        Flag::Scaled {
            wanted: x,
            used: x / 2.0,
            most: None,
            why: Scaled::Space { target: text(), available: Bytes(n) },
        },
        Flag::NearClientCeiling { bytes_per_second: x, ceiling_bytes_per_second: x },
        Flag::AskedToWait { target: text(), times: n },
        kept_rate(&text(), n, RateCaveat::AtLeast),
        kept_rate(&text(), n, RateCaveat::CannotHold { void_ratio: x }),
        kept_rate(&text(), n, RateCaveat::QuietMoments { share: x }),
        kept_rate(&text(), n, RateCaveat::BurstCredit { bytes: x, frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Collapse { frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Interruptions { frames_per_second: x }),
        kept_rate(&text(), n, RateCaveat::Unfinished { width_ratio: x }),
        kept_rate(&text(), n, RateCaveat::Unsteady { loss_ratio: x, seconds: -x }),
        kept_rate(&text(), n, RateCaveat::Late { delay_seconds: x, seconds: -x }),
        Flag::FrameCapped { wanted: Bytes(n), used: Bytes(n), path_mtu: Bytes(n) },
        Flag::PayloadCapped { wanted: Bytes(n), used: Bytes(n), path_mtu: Bytes(n) },
        Flag::RouterIsEnd { host: HostName::Local },
        Flag::EndIsGateway { host: HostName::Local },
        Flag::SocketBufferCapped { host: HostName::Local, wanted: Bytes(n), used: Bytes(n) },
        Flag::WarmScan { target: text() },
        Flag::SecondWriter { target: text() },
        Flag::LockNotUpgraded { target: text(), reason: text() },
        Flag::MemoryNotShared { target: text(), reason: text() },
        Flag::SparseFiles { directory: text(), count: n, holes: Bytes(n) },
        Flag::Reconnected { target: text(), times: n, at_seconds: x, seconds: x },
        Flag::WrittenAgain { target: text(), bytes: n },
        Flag::OtherOwner { target: text(), uid: Some(1), owner: Some(2) },
        Flag::Retransmitted { target: text(), times: n, late: n / 2, doubled: 1 },
        Flag::ReplySurplus { target: text(), call: text(), bytes: n },
        Flag::CallFailed { target: text(), call: text(), reason: text(), instead: text() },
        Flag::OperationRefused {
            target: text(),
            operation: OpKind::RENAME,
            tried: text(),
            reason: text(),
        },
        Flag::Continued { unix_seconds: n, block: 12 },
        Flag::VoidPoints { count: n as u32 },
        Flag::SearchUnfinished { width_ratio: x },
        Flag::Stolen { host: HostName::Local, share: x },
        Flag::ProgramLeft { host: HostName::Local, reason: text(), next: text() },
        Flag::FiguresDisturbed {
            figures: vec![device::DisturbedFigure {
                figure: text(),
                by: text(),
                cpu_share: Some(x),
                slowest_share: None,
                slower_than: Some(text()),
            }],
            of: n as u32,
        },
    ]
}

/// Every kind of flag about a host that the golden file does not have.
pub fn of_hosts(x: f64, host: &HostName, text: &str) -> Vec<Flag> {
    let (host, text) = (|| host.clone(), || text.to_owned());
    vec![
        Flag::BusyProcess {
            host: host(),
            process: text(),
            cores: x,
            kernel: true,
            windows: IdleWindows::default(),
        },
        Flag::BusyRaid { host: host(), work: text(), windows: IdleWindows::default() },
        Flag::ServerSaturated { host: host(), core_busy: x },
        Flag::Throttled { host: host(), from_hertz: x, to_hertz: x, celsius: Some(x) },
        Flag::Throttled { host: host(), from_hertz: x, to_hertz: x, celsius: None },
        Flag::HiddenFromTicks { host: host(), by_ticks: x, by_scheduler: x },
        Flag::NotWatched { host: host(), reason: text() },
        Flag::HostLost { host: host(), reason: text() },
        Flag::HostRestarted { host: host() },
        Flag::ImpossibleCounters { host: host() },
        Flag::SameMachine { host: host() },
        Flag::Leftovers { directories: vec![text()], target: text(), on: Some(text()) },
        Flag::NotCleaned { target: text(), directory: text(), on: Some(text()) },
    ]
}

fn kept_rate(workload: &str, frame: u64, caveat: RateCaveat) -> Flag {
    Flag::KeptRate { workload: workload.to_owned(), frame: Bytes(frame), caveat }
}

fn client_memory(target: String, memory: ClientMemory, surely: bool) -> Flag {
    Flag::ClientMemory { target, memory, surely }
}

fn working_set(target: &str, n: u64, reads_from: StoredOn, settles: Option<Bytes>) -> Flag {
    Flag::WorkingSet { target: target.to_owned(), size: Bytes(n), reads_from, settles }
}

pub fn flags() -> impl Strategy<Value = Vec<Flag>> {
    (any::<f64>(), any::<u64>(), host(), text())
        // Half of the largest, because one kind doubles it.
        .prop_map(|(x, n, host, s)| {
            [golden(x / 2.0, n, &s), of_hosts(x, &host, &s), since(x, n, &s)].concat()
        })
        .prop_flat_map(|all| vec(select(all), 0..4))
}
