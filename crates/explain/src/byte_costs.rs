//! What of the processor time that a host takes over a byte encryption, signing, copying and checksums may
//! be, by what one core of the same host does of each (`plimsoll device`).

use crate::{HostFindings, HostWork, Limits, Resource, Use};
use plimsoll_model::device::{Algorithm, Device, Nic, StreamFigure};
use plimsoll_model::{Cell, HostFacts, HostName, Protection, Study};

/// Below this operations cost by their number rather than by their bytes.
const LARGE_BYTES: f64 = 65_536.0;
/// STREAM counts a byte that is copied twice: once read, once written.
const COUNTED: f64 = 2.0;

/// What a byte of a workload cost a host, and what that is made of as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct ByteCosts {
    /// Which work on which subject.
    pub cell: Cell,
    /// Which host.
    pub host: HostName,
    /// CPU seconds of the host for a byte of payload, above idle.
    pub seconds: f64,
    /// Encryption or signing, where the connection had it.
    pub protected: Option<Protected>,
    /// CPU seconds for one copy of a byte in memory, past all caches; `None` where it was not measured.
    pub copy_seconds: Option<f64>,
    /// The Internet checksum of a byte (RFC 1071); `None` where it was not measured.
    pub checksum: Option<Checksum>,
}

/// What the checksum of TCP or UDP takes of a processor that has to compute it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checksum {
    /// CPU seconds for a byte.
    pub seconds: f64,
    /// Whether the host's network interfaces compute it instead; `None` where they do not tell or differ.
    pub by_interface: Option<bool>,
}

/// What protecting a byte takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Protected {
    /// What was agreed on.
    pub protection: Protection,
    /// CPU seconds for a byte, and what measured that (OpenSSL, the kernel, …); `None` where the host was not
    /// measured with this algorithm.
    pub seconds: Option<(f64, &'static str)>,
}

impl ByteCosts {
    /// Where the processor of this host is what limits the work: operations per second that it would allow alone
    /// if nothing were encrypted or signed. `None` where it is not the limit, or what that takes is not known.
    pub fn unprotected_per_second(&self, limits: &Limits) -> Option<f64> {
        let is_processor = |one: &&Use| {
            let (processor, host) = (&one.resource, one.host.as_ref() == Some(&self.host));
            host && matches!(
                processor,
                Resource::Processor | Resource::Core { .. } | Resource::Quota { .. }
            )
        };
        let one = limits.binding().filter(is_processor).filter(|_| limits.cell == self.cell)?;
        let (seconds, _) = self.protected.as_ref()?.seconds?;
        let left = one.demand_seconds - seconds * limits.bytes_per_operation;
        (left > 0.0).then(|| Some(one.alone_per_second? * one.demand_seconds / left))?
    }
}

/// The costs of a byte in work of large operations, for each host whose `device` is known.
pub fn byte_costs<'a>(
    study: &Study,
    hosts: &[HostFindings],
    device: impl Fn(&HostName) -> Option<&'a Device>,
) -> Vec<ByteCosts> {
    let of_host = |host: &HostFindings| {
        let facts = study.hosts.iter().find(|facts| facts.name == host.host);
        let device = device(&host.host).filter(|device| facts.is_none_or(|f| is_same(f, device)));
        let costs = device.map(|device| {
            host.work.iter().filter_map(move |work| of_work(study, work, &host.host, device))
        });
        costs.into_iter().flatten().collect::<Vec<_>>()
    };
    hosts.iter().flat_map(of_host).collect()
}

/// Names of hosts are given by users, and `local` is another one elsewhere: the processor tells.
fn is_same(facts: &HostFacts, device: &Device) -> bool {
    let cpu = device.inventory.as_ref().and_then(|inventory| inventory.cpu.as_ref());
    let model = cpu.and_then(|cpu| cpu.model.as_deref()).unwrap_or_default().trim();
    let known = facts.cpu_model.trim();
    model.is_empty() || known.is_empty() || model == known
}

fn of_work(study: &Study, work: &HostWork, host: &HostName, device: &Device) -> Option<ByteCosts> {
    let (operation, byte) = (work.per_operation?.busy().0, work.per_byte?.busy().0);
    let large = operation / byte >= LARGE_BYTES;
    if !(work.above_idle && large && byte > 0.0) {
        return None;
    }
    let facts = study.subjects.get(usize::from(work.cell.subject))?.storage()?;
    let protected = facts.protection.clone().map(|protection| {
        let seconds = algorithm(&protection).and_then(|algorithm| speed(device, algorithm));
        Protected { protection, seconds: seconds.map(|(speed, by)| (1.0 / speed, by)) }
    });
    let copy = in_memory(device, |figure| figure.copy_bytes_per_second);
    let copy = copy.map(|counted| COUNTED / counted);
    let checksum = in_memory(device, |figure| figure.checksum_bytes_per_second);
    let checksum = checksum.map(|speed| Checksum {
        seconds: 1.0 / speed,
        by_interface: checksums_by_interface(device),
    });
    (protected.is_some() || copy.is_some() || checksum.is_some()).then(|| ByteCosts {
        cell: work.cell,
        host: host.clone(),
        seconds: byte,
        protected,
        copy_seconds: copy,
        checksum,
    })
}

/// What a device measures that does the same work for each byte. GMAC is GCM without its cipher, so that GCM
/// bounds it; HMAC-SHA256 hashes a byte once (RFC 2104). CMAC and CCM are not measured.
fn algorithm(protection: &Protection) -> Option<Algorithm> {
    match protection.algorithm() {
        "AES-128-GCM" | "AES-128-GMAC" => Some(Algorithm::Aes128Gcm),
        "AES-256-GCM" => Some(Algorithm::Aes256Gcm),
        "HMAC-SHA256" => Some(Algorithm::Sha256),
        _ => None,
    }
}

/// The fastest that one core does with an algorithm: servers use what is there.
pub(crate) fn speed(device: &Device, algorithm: Algorithm) -> Option<(f64, &'static str)> {
    let figures = device.crypto.iter().flat_map(|crypto| &crypto.algorithms);
    figures
        .filter(|figure| figure.algorithm == algorithm && figure.bytes_per_second > 0)
        .max_by_key(|figure| figure.bytes_per_second)
        .map(|figure| (figure.bytes_per_second as f64, figure.means.name()))
}

fn in_memory(device: &Device, rate: impl Fn(&StreamFigure) -> Option<u64>) -> Option<f64> {
    let streams = device.memory.iter().flat_map(|memory| &memory.streams);
    let past_caches = |figure: &&StreamFigure| figure.place.as_deref() == Some("memory");
    let most = streams.filter(past_caches).filter_map(rate).max();
    most.filter(|speed| *speed > 0).map(|speed| speed as f64)
}

/// Interfaces of a bus are hardware; one that lists no features was not asked for them.
fn checksums_by_interface(device: &Device) -> Option<bool> {
    let network = device.inventory.as_ref()?.network.as_ref()?;
    let in_use = |nic: &&Nic| nic.bus.is_some() && nic.state.as_deref() != Some("down");
    let mut answers = network.nics.iter().filter(in_use).map(|nic| {
        let on = |name: &str| nic.offloads.iter().any(|feature| feature.starts_with(name));
        let known = !nic.offloads.is_empty();
        let both = (on("rx-checksum"), on("tx-checksum-ip"));
        match both {
            (receive, send) if known && receive == send => Some(receive),
            _ => None,
        }
    });
    let first = answers.next()??;
    answers.all(|answer| answer == Some(first)).then_some(first)
}
