//! What sets the rate of a router, and what went wrong in it, where its own counters tell: a sentence each.

use super::flowtable;
use super::forwarding::label;
use super::names::Brief;
use crate::study::Shown;
use crate::text::{counted, listed, printable};
use crate::verdict::percent;
use plimsoll_explain::{Forwarded, QueueSeen, RateLimit, WorkloadFindings};
use plimsoll_model::{Cell, ConntrackLoad};

/// What the shares in sentences are of: a table may have one rate alone.
const LOST: &str = "the frames lost over all rates";

/// The sentences, each about all loads that it holds for.
pub(super) fn sentences(shown: &Shown<'_>, brief: &Brief) -> Vec<String> {
    let about = |routers: &[&Forwarded]| {
        let cells: Vec<Cell> = routers.iter().map(|router| router.cell).collect();
        loads(shown, brief, &cells)
    };
    let mut sentences = Vec::new();
    for routers in by_queue(&shown.forwarded) {
        let seen =
            routers.iter().filter_map(|router| Some((router.queue.as_ref()?, &router.limit)));
        sentences.extend(of_queue(&seen.collect::<Vec<_>>(), &about(&routers)));
    }
    let full = chosen(shown, |router| {
        matches!(router.limit, RateLimit::CpuQueue { .. }) && !router.passes_by()
    });
    let dropped = full.iter().filter_map(|router| router.softnet_dropped).reduce(f64::min);
    sentences.extend(dropped.map(|share| of_cpu_queue(share, &about(&full))));
    let full: Vec<(Cell, ConntrackLoad)> = tables(shown).collect();
    sentences.extend(full.iter().map(|(_, table)| *table).reduce(|all, one| all + one).map(|table| {
        let limit = table.most_entries.map_or_else(String::new, |most| format!(" of {most}"));
        let cells: Vec<Cell> = full.iter().map(|(cell, _)| *cell).collect();
        format!(
            "The connection table of R was full ({}): it had {}{limit} connections, dropped {} and removed {} early.",
            loads(shown, brief, &cells),
            table.entries,
            counted(table.dropped, "packet"),
            counted(table.early_dropped, "connection")
        )
    }));
    let offloaded = chosen(shown, |router| router.offloaded.is_some());
    let most = offloaded.iter().filter_map(|router| router.offloaded).reduce(f64::max);
    sentences.extend(most.map(|share| {
        format!(
            "The frames are offloaded ({}): the kernel of R takes at most {} of a core.",
            about(&offloaded),
            percent(share)
        )
    }));
    sentences.extend(flowtable::sentences(shown, &|cells| loads(shown, brief, cells)));
    sentences
}

fn chosen<'a>(shown: &'a Shown<'_>, is: impl Fn(&Forwarded) -> bool) -> Vec<&'a Forwarded> {
    shown.forwarded.iter().filter(|router| is(router)).collect()
}

/// The tables of connections that were full.
fn tables<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = (Cell, ConntrackLoad)> + 'a {
    let of_frames = shown.forwarded.iter().map(|router| (router.cell, router.full_conntrack()));
    let of_connections =
        shown.new_connections.iter().map(|router| (router.cell, router.full_conntrack()));
    of_frames.chain(of_connections).filter_map(|(cell, table)| Some((cell, table?)))
}

/// The routers whose rate a queueing discipline sets, those of one discipline together.
fn by_queue(all: &[Forwarded]) -> Vec<Vec<&Forwarded>> {
    let key = |router: &Forwarded| {
        let queue = router.queue.as_ref()?;
        let is_limit = matches!(router.limit, RateLimit::Queue { .. }) && !router.passes_by();
        is_limit.then(|| (queue.interface.clone(), queue.discipline.clone(), queue.shapes()))
    };
    let mut groups: Vec<(_, Vec<&Forwarded>)> = Vec::new();
    for router in all {
        let Some(own) = key(router) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, group)) => group.push(router),
            None => groups.push((own, vec![router])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// "The shaper on eth0 of R (tbf), not the CPU, sets the rate (out 512): it dropped 97% of the frames lost over all rates;
/// the kernel takes 4% of the busiest core." Of loads whose rate one discipline sets.
pub(super) fn of_queue(seen: &[(&QueueSeen, &RateLimit)], loads: &str) -> Option<String> {
    let (queue, _) = seen.first()?;
    let core = seen.iter().filter_map(|(_, limit)| match limit {
        RateLimit::Queue { share } => Some(*share),
        _ => None,
    });
    let core = percent(whole(core.reduce(f64::max)?));
    let did = match seen.iter().map(|(queue, _)| queue.dropped).reduce(f64::min) {
        Some(share) if share >= 0.005 => {
            format!("dropped {} of {LOST}", percent(whole(share)))
        }
        _ => "held the frames back".to_owned(),
    };
    let what = if queue.shapes() { "shaper" } else { "queue" };
    let (interface, discipline) = (printable(&queue.interface), printable(&queue.discipline));
    Some(format!(
        "The {what} on {interface} of R ({discipline}), not the CPU, sets the rate ({loads}): it {did}; the kernel takes \
         {core} of the busiest core."
    ))
}

/// The same of the queue of a core.
pub(super) fn of_cpu_queue(dropped: f64, loads: &str) -> String {
    let share = percent(whole(dropped));
    format!("The CPU queue of R overflowed ({loads}): it dropped {share} of {LOST} (softnet_stat).")
}

/// "out 512 and in imix", each with its setting.
pub(super) fn loads(shown: &Shown<'_>, brief: &Brief, cells: &[Cell]) -> String {
    let mut loads: Vec<String> = cells.iter().map(|cell| load(shown, brief, *cell)).collect();
    loads.dedup();
    listed(&loads)
}

/// "out 512", "in imix with B".
fn load(shown: &Shown<'_>, brief: &Brief, cell: Cell) -> String {
    let own = |found: &&WorkloadFindings| found.number == cell.workload;
    let load = shown.findings.workloads.iter().find(own);
    let load = load.map_or_else(String::new, |found| label(shown, found));
    match shown.names.setups() {
        0 | 1 => load,
        _ => format!("{load} with {}", brief.setup(shown, cell)),
    }
}

/// To whole percents.
fn whole(share: f64) -> f64 {
    (100.0 * share).round() / 100.0
}
