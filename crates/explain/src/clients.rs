//! plimsoll's own client beside the kernel's on the same server, call by call: where a study has a server by its
//! URL and a mount of the same protocol, what each client asks the server for, how long the server takes, and
//! how long the client.
//!
//! The kernel counts from /proc/self/mountstats (round trip: from sent to replied; execution: from asked for
//! to done) and, of SMB, /proc/fs/cifs/Stats (from made to done). plimsoll's client counts from the last byte
//! sent to the reply complete.

use crate::costs;
use crate::gather::Gathered;
use plimsoll_model::{
    Cell, MountAccount, MountOperation, NfsVersion, OpKind, OpStats, Part, Protocol, Study,
    SubjectFacts, TargetFacts,
};
use plimsoll_stats::fit::{Estimate, Rule};
use plimsoll_stats::interval::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// Two subjects that do the same work on the same protocol, one of them mounted.
#[derive(Clone, Debug, PartialEq)]
pub struct BothClients {
    /// The mount, under the workload that both did.
    pub mounted: Cell,
    /// plimsoll's own client.
    pub own: Cell,
    /// Whether the kernel's times are of whole commands, its own part of them included: SMB.
    pub whole_commands: bool,
    /// By the kernel's name of a call.
    pub calls: BTreeMap<String, Call>,
}

/// One kind of call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The kernel's.
    pub kernel: Option<Side>,
    /// plimsoll's.
    pub own: Option<Side>,
    /// Server time of plimsoll's calls over that of the kernel's, block by block. `None` where one of them
    /// has none.
    pub ratio: Option<Estimate>,
}

/// What one client did of a kind of call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Calls for each operation that was asked of the client, mean of the blocks.
    pub per_operation: f64,
    /// Seconds from a call to its reply. `None` where nobody counted them, or where an operation is several
    /// calls at once, whose times plimsoll's client does not keep apart.
    pub server: Option<Estimate>,
    /// Seconds beside that, from being asked for to being done; of plimsoll's client for an operation.
    pub client: Option<Estimate>,
}

impl BothClients {
    /// Calls that the kernel's client alone sends, the most frequent first; or plimsoll's alone.
    pub fn only(&self, kernel: bool) -> Vec<(&str, f64)> {
        let side = |call: &Call| match kernel {
            true => call.kernel.filter(|_| call.own.is_none()),
            false => call.own.filter(|_| call.kernel.is_none()),
        };
        let calls = self.calls.iter();
        let mut only: Vec<(&str, f64)> = calls
            .filter_map(|(name, call)| Some((name.as_str(), side(call)?.per_operation)))
            .collect();
        only.sort_by(|a, b| b.1.total_cmp(&a.1));
        only
    }
}

/// Every pair of a mount and a server by its URL, workload by workload. Only work of one part without steps.
pub fn both_clients(study: &Study) -> Vec<BothClients> {
    let gathered = Gathered::new(study);
    let rule = costs::rule(study);
    let mut all = Vec::new();
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let ([part], None) = (&workload.parts[..], &workload.steps) else { continue };
        let cells = gathered.cells(number);
        for mounted in &cells {
            let Some(of_mount) = Looked::mounted(study, &gathered, *mounted) else { continue };
            for own in cells.iter().filter(|own| own.setting == mounted.setting) {
                let Some(facts) = storage(study, *own) else { continue };
                if !is_same_protocol(facts, storage(study, *mounted), &cells, study) {
                    continue;
                }
                let of_own = Looked::own(&gathered, *own, part, facts);
                if !of_own.calls.is_empty() {
                    all.push(pair(*mounted, &of_mount, *own, &of_own, rule));
                }
            }
        }
    }
    all
}

fn storage(study: &Study, cell: Cell) -> Option<&TargetFacts> {
    study.subjects.get(usize::from(cell.subject)).and_then(SubjectFacts::storage)
}

/// The version of NFS that is spoken, or that it is SMB.
#[derive(Clone, Copy, PartialEq)]
enum Spoken {
    Nfs(NfsVersion),
    Smb,
}

/// What plimsoll's own client speaks.
fn own_protocol(facts: &TargetFacts) -> Option<Spoken> {
    match facts.protocol {
        Protocol::Smb { .. } => Some(Spoken::Smb),
        Protocol::Nfs { version, .. } => Some(Spoken::Nfs(version)),
        Protocol::Directory { .. } | Protocol::Other(_) => None,
    }
}

/// What a mount speaks, by its options.
fn mounted_protocol(facts: &TargetFacts) -> Option<Spoken> {
    facts.protocol.file_system()?;
    let mut options = facts.mount_options.as_deref()?.split(',');
    let version = options.find_map(|option| option.strip_prefix("vers="))?;
    match facts.protocol.is_smb() {
        true => Some(Spoken::Smb),
        false => version.parse().ok().map(Spoken::Nfs),
    }
}

/// Whether a mount is to be held against a server by its URL: in the same version of NFS, or in any where
/// the study has no server in the mount's.
fn is_same_protocol(
    own: &TargetFacts,
    mounted: Option<&TargetFacts>,
    cells: &[Cell],
    study: &Study,
) -> bool {
    let (Some(own), Some(mount)) = (own_protocol(own), mounted.and_then(mounted_protocol)) else {
        return false;
    };
    let others = cells.iter().filter_map(|cell| own_protocol(storage(study, *cell)?));
    match (own, mount) {
        (Spoken::Smb, Spoken::Smb) => true,
        (Spoken::Nfs(_), Spoken::Nfs(_)) => own == mount || !others.into_iter().any(|o| o == mount),
        _ => false,
    }
}

/// What one client counted, by block.
#[derive(Default)]
struct Looked {
    calls: BTreeMap<String, Vec<BlockCalls>>,
    /// Blocks that were looked at.
    blocks: usize,
    whole_commands: bool,
}

/// One kind of call in one block.
#[derive(Clone, Copy, Default)]
struct BlockCalls {
    block: u32,
    per_operation: f64,
    server: Option<f64>,
    client: Option<f64>,
}

impl Looked {
    /// The kernel's account; `None` of a subject that is not mounted.
    fn mounted(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Looked> {
        storage(study, cell).and_then(mounted_protocol)?;
        let mut looked = Looked::default();
        for trial in gathered.complete(cell) {
            let (Some(block), Some(MountAccount { operations, .. })) = (trial.block, &trial.mount)
            else {
                continue;
            };
            // The account is of the warm-up too, and so is what moved.
            let done = trial.result.moved().operations as f64;
            if done == 0.0 {
                continue;
            }
            looked.blocks += 1;
            for (name, operation) in operations.iter().filter(|(_, of)| of.count > 0) {
                let (server, client) = times(operation);
                looked.whole_commands |= operation.command.is_some();
                let per_operation = operation.count as f64 / done;
                let counted = BlockCalls { block, per_operation, server, client };
                looked.calls.entry(name.clone()).or_default().push(counted);
            }
        }
        (looked.blocks > 0).then_some(looked)
    }

    /// What plimsoll's client did.
    fn own(gathered: &Gathered<'_>, cell: Cell, part: &Part, facts: &TargetFacts) -> Looked {
        let mut looked = Looked::default();
        for trial in gathered.complete(cell) {
            let (Some(block), Some(main)) = (trial.block, trial.result.main()) else { continue };
            let done: f64 = main.ops.values().map(|stats| stats.count as f64).sum();
            if done == 0.0 {
                continue;
            }
            looked.blocks += 1;
            let mut calls: BTreeMap<&str, Vec<(f64, &OpStats, f64)>> = BTreeMap::new();
            for (kind, stats) in main.ops.iter().filter(|(_, stats)| stats.count > 0) {
                let Some(name) = call_name(*kind, own_protocol(facts)) else { continue };
                let several = calls_of_one(*kind, part, facts);
                calls.entry(name).or_default().push((stats.count as f64, stats, several));
            }
            for (name, of_name) in calls {
                let counted = BlockCalls { block, ..own_calls(&of_name, done) };
                looked.calls.entry(name.to_owned()).or_default().push(counted);
            }
        }
        looked
    }

    fn side(&self, name: &str, rule: Rule) -> Option<Side> {
        let counted = self.calls.get(name)?;
        let all = |of: fn(&BlockCalls) -> Option<f64>| {
            Estimate::mean(&counted.iter().filter_map(of).collect::<Vec<_>>(), rule)
        };
        let per_operation: f64 = counted.iter().map(|one| one.per_operation).sum();
        Some(Side {
            // A block without such a call had none.
            per_operation: per_operation / self.blocks as f64,
            server: all(|one| one.server),
            client: all(|one| one.client),
        })
    }
}

/// Seconds of one call at the server, and beside that at the client.
fn times(operation: &MountOperation) -> (Option<f64>, Option<f64>) {
    if let Some(command) = operation.command.filter(|command| command.count > 0) {
        return (Some(command.seconds / command.count as f64), None);
    }
    let each = |seconds: f64| seconds / operation.count as f64;
    let wire = operation.wire;
    (
        wire.map(|wire| each(wire.round_trip_seconds)),
        wire.map(|wire| each((wire.execution_seconds - wire.round_trip_seconds).max(0.0))),
    )
}

/// Operations that are the same call, as one. Each with its count, its figures, and the calls that one is.
fn own_calls(of_name: &[(f64, &OpStats, f64)], done: f64) -> BlockCalls {
    let count: f64 = of_name.iter().map(|(count, ..)| count).sum();
    let calls: f64 = of_name.iter().map(|(count, _, several)| count * several).sum();
    let whole = of_name.iter().all(|(.., several)| *several == 1.0);
    let mean = |of: fn(&OpStats) -> Option<f64>| {
        let sums = of_name.iter().map(|(count, stats, _)| Some(count * of(stats)?));
        Some(sums.sum::<Option<f64>>()? / count)
    };
    BlockCalls {
        block: 0,
        per_operation: calls / done,
        server: mean(|stats| Some(stats.rpc_latency.as_ref()?.mean_seconds)).filter(|_| whole),
        client: mean(|stats| {
            let server = stats.rpc_latency.as_ref()?.mean_seconds;
            Some((stats.client_latency.mean_seconds - server).max(0.0))
        }),
    }
}

/// Calls that one operation of a kind is made of.
fn calls_of_one(kind: OpKind, part: &Part, facts: &TargetFacts) -> f64 {
    let most = match kind {
        OpKind::READ => facts.read_size_bytes,
        OpKind::WRITE => facts.write_size_bytes,
        _ => 0,
    };
    let block = part.job.block().map_or(0, |block| block.0);
    if most == 0 { 1.0 } else { block.div_ceil(u64::from(most)).max(1) as f64 }
}

/// What the kernel calls the call that an operation of plimsoll's client is; `None` where it is none, or
/// several different ones.
fn call_name(kind: OpKind, spoken: Option<Spoken>) -> Option<&'static str> {
    let names: [Option<&str>; 3] = match kind {
        OpKind::READ => [Some("READ"), Some("READ"), Some("Reads")],
        OpKind::WRITE => [Some("WRITE"), Some("WRITE"), Some("Writes")],
        OpKind::FLUSH => [Some("COMMIT"), Some("COMMIT"), Some("Flushes")],
        OpKind::LOOKUP => [Some("LOOKUP"), Some("LOOKUP"), None],
        OpKind::OPEN => [Some("LOOKUP"), Some("OPEN"), Some("Creates")],
        OpKind::CREATE => [Some("CREATE"), Some("OPEN"), Some("Creates")],
        OpKind::CLOSE => [None, Some("CLOSE"), Some("Closes")],
        OpKind::MAKE_DIRECTORY => [Some("MKDIR"), Some("CREATE"), None],
        OpKind::REMOVE_DIRECTORY => [Some("RMDIR"), Some("REMOVE"), None],
        OpKind::REMOVE => [Some("REMOVE"), Some("REMOVE"), None],
        OpKind::RENAME => [Some("RENAME"), Some("RENAME"), None],
        OpKind::SET_ATTRIBUTES => [Some("SETATTR"), Some("SETATTR"), None],
        OpKind::READ_DIRECTORY => [Some("READDIRPLUS"), Some("READDIR"), None],
        _ => [None; 3],
    };
    match spoken? {
        Spoken::Nfs(version) if version.is_4() => names[1],
        Spoken::Nfs(_) => names[0],
        Spoken::Smb => names[2],
    }
}

fn pair(mounted: Cell, kernel: &Looked, own_cell: Cell, own: &Looked, rule: Rule) -> BothClients {
    let names: BTreeSet<&String> = kernel.calls.keys().chain(own.calls.keys()).collect();
    let call = |name: &String| {
        let sides = [kernel, own].map(|looked| looked.side(name, rule));
        Call { kernel: sides[0], own: sides[1], ratio: ratio(name, kernel, own, rule) }
    };
    BothClients {
        mounted,
        own: own_cell,
        whole_commands: kernel.whole_commands,
        calls: names.into_iter().map(|name| (name.clone(), call(name))).collect(),
    }
}

/// Own server time over the kernel's in the blocks that have both: the geometric mean.
fn ratio(name: &str, kernel: &Looked, own: &Looked, rule: Rule) -> Option<Estimate> {
    let by_block = |looked: &Looked| -> BTreeMap<u32, f64> {
        let counted = looked.calls.get(name).into_iter().flatten();
        counted.filter_map(|one| Some((one.block, one.server?))).collect()
    };
    let (kernel, own) = (by_block(kernel), by_block(own));
    let log = |(block, own): (&u32, &f64)| Some((own / kernel.get(block)?).ln());
    let logs: Vec<f64> = own.iter().filter_map(log).filter(|log| log.is_finite()).collect();
    let log = Estimate::mean(&logs, rule)?;
    let exp =
        |i: Interval| Interval { low: i.low.exp(), estimate: i.estimate.exp(), high: i.high.exp() };
    Some(Estimate { value: log.value.exp(), interval: log.interval.map(exp) })
}
