//! Where reads came from, as far as the counters of the server's disks tell.

use plimsoll_model::units::Bytes;
use plimsoll_model::{DiskLoad, HostFacts, HostLoad, OpKind, Outcome, StoredOn, Study, Trial};

/// Reads came from memory where the disks read less than this share of what was read.
const NOTHING: f64 = 0.01;
/// They came from the disk where a disk read this share of it at least.
const ALL: f64 = 0.9;
/// Share of trials without reads of the disks from which all reads came from memory. Chosen.
const MOST: f64 = 0.9;

/// Where the reads of a subject came from: the answer of the cache test and, without one, of the disks of a monitored
/// server. `None` where neither says anything.
pub fn reads_from(study: &Study, subject: usize) -> Option<StoredOn> {
    let tested = study.subjects.get(subject)?.storage()?.reads_from;
    match tested {
        // Copies have no cache test.
        None | Some(StoredOn::Unknown) => by_disks(study, subject).or(tested),
        tested => tested,
    }
}

/// The memory of the server of a subject, where it was watched.
pub fn server_memory(study: &Study, subject: usize) -> Option<Bytes> {
    let memory = servers(study, subject).map(|facts| facts.memory_bytes).max();
    memory.filter(|bytes| *bytes > 0).map(Bytes)
}

/// The facts of the hosts that serve a subject.
fn servers(study: &Study, subject: usize) -> impl Iterator<Item = &HostFacts> {
    let serves =
        move |facts: &&HostFacts| study.plan.far_ends(subject).any(|far| far.host == facts.name);
    study.hosts.iter().filter(serves)
}

/// Bytes that complete trials of a subject moved by operations of a kind, and what the disks of its server
/// moved meanwhile by `moved`: all of them together, and the one that moved most. `None` where no server
/// with disks was watched.
pub(crate) fn on_disks<'a>(
    study: &Study,
    subject: usize,
    trials: impl Iterator<Item = &'a Trial>,
    kinds: &[OpKind],
    moved: fn(&DiskLoad) -> u64,
) -> Option<OnDisks> {
    let names: Vec<&HostFacts> = servers(study, subject).collect();
    let own = |load: &&HostLoad| names.iter().any(|facts| facts.name == load.host);
    let mut sum = OnDisks::default();
    let mut watched = names.iter().any(|facts| !facts.disks.is_empty());
    for trial in trials.filter(|trial| trial.result.outcome == Outcome::Complete) {
        let Some(load) = trial.loads.iter().find(own) else { continue };
        watched |= !load.disks.is_empty();
        let ops = trial.result.parts.iter().flat_map(|part| &part.ops);
        let bytes =
            ops.filter(|(kind, _)| kinds.contains(kind)).map(|(_, stats)| stats.bytes as f64);
        let disks = load.disks.iter().map(|disk| moved(disk) as f64);
        sum.payload += bytes.sum::<f64>();
        sum.all += disks.clone().sum::<f64>();
        sum.most += disks.fold(0.0, f64::max);
    }
    (watched && sum.payload > 0.0).then_some(sum)
}

/// Bytes of operations, and of disks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnDisks {
    payload: f64,
    /// Of all disks: an array and its disks count both.
    all: f64,
    /// Of the disk that moved most, trial by trial.
    most: f64,
}

impl OnDisks {
    /// Whether the disks moved next to nothing of it.
    fn none(&self) -> bool {
        self.all <= NOTHING * self.payload
    }

    /// Whether a disk moved nearly all of it.
    pub(crate) fn is_whole(&self) -> bool {
        self.most >= ALL * self.payload
    }
}

fn by_disks(study: &Study, subject: usize) -> Option<StoredOn> {
    let own = study.trials.iter().filter(|trial| usize::from(trial.cell.subject) == subject);
    let kinds = [OpKind::READ, OpKind::GET];
    // Trials that write as well say nothing of what reads did.
    let reads = own.filter(|trial| {
        let mut kinds = trial.result.parts.iter().flat_map(|part| part.ops.iter());
        let writes = |kind: &OpKind| [OpKind::WRITE, OpKind::PUT].contains(kind);
        !kinds.any(|(kind, stats)| writes(kind) && stats.bytes > 0)
    });
    let reads: Vec<&Trial> = reads.collect();
    let on_disks = |trials: &[&Trial]| {
        on_disks(study, subject, trials.iter().copied(), &kinds, |disk| disk.read_bytes)
    };
    let disks = on_disks(&reads)?;
    // Other programs may have used the disks during some trials.
    let each: Vec<OnDisks> = reads.iter().filter_map(|trial| on_disks(&[*trial])).collect();
    let without = each.iter().filter(|disks| disks.none()).count();
    let mostly_none = !each.is_empty() && without as f64 >= MOST * each.len() as f64;
    match (disks.none() || mostly_none, disks.is_whole()) {
        (true, _) => Some(StoredOn::ServerMemory),
        (_, true) => Some(StoredOn::Disk),
        _ => None,
    }
}
