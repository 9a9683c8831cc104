//! The network: interfaces, TCP, the kernel's NFS server.

use super::cpu::MAX_CORES;
use super::disks::MAX_NAME;
use super::number;
use plimsoll_model::{NfsdLoad, Softnet};

/// Counters of one interface, since it came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Errors, both ways.
    pub errors: u64,
    /// Packets dropped, both ways.
    pub drops: u64,
}

/// Most interfaces that are believed.
const MAX_INTERFACES: usize = 256;

/// Every interface of /proc/net/dev (proc(5)): eight columns received, eight sent, each beginning
/// with bytes, packets, errors, drops.
pub fn parse_interfaces(text: &str) -> Vec<InterfaceCounters> {
    let interface = |line: &str| {
        let (name, fields) = line.split_once(':')?;
        let name = name.trim();
        let field = |n: usize| number(fields, n);
        (name.len() <= MAX_NAME).then_some(())?;
        Some(InterfaceCounters {
            name: name.to_owned(),
            received_bytes: field(0)?,
            received_packets: field(1)?,
            sent_bytes: field(8)?,
            sent_packets: field(9)?,
            errors: field(2)?.saturating_add(field(10)?),
            drops: field(3)?.saturating_add(field(11)?),
        })
    };
    text.lines().filter_map(interface).take(MAX_INTERFACES).collect()
}

/// RetransSegs of /proc/net/snmp: a line of names, then one of values.
pub fn parse_retransmitted(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let place = lines.next()?.split_ascii_whitespace().position(|name| name == "RetransSegs")?;
    number(lines.next()?, place)
}

/// /proc/net/softnet_stat: a line for each core, of numbers in hexadecimal that begin with packets processed, packets
/// dropped, and runs that were squeezed.
pub fn parse_softnet(text: &str) -> Option<Softnet> {
    let core = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let mut next = || u64::from_str_radix(words.next()?, 16).ok();
        Some(Softnet { processed: next()?, dropped: next()?, squeezed: next()? })
    };
    text.lines().take(MAX_CORES).map(core).reduce(|all, core| Some(all? + core?))?
}

/// /proc/net/rpc/nfsd: line `rpc` begins with the calls, line `io` has bytes read and written,
/// line `th` begins with the threads.
pub fn parse_nfsd(text: &str) -> Option<NfsdLoad> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (io, rpc) = (line("io ")?, line("rpc ")?);
    Some(NfsdLoad {
        calls: number(rpc, 0)?,
        read_bytes: number(io, 0)?,
        written_bytes: number(io, 1)?,
        threads: line("th ").and_then(|line| u32::try_from(number(line, 0)?).ok()),
    })
}
