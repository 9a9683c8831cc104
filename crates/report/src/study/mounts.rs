//! What the kernel's own client says of a mounted target.

use super::Shown;
use crate::figure::{BYTES, TIME};
use crate::text::{counted, listed, printable};
use plimsoll_explain::{Slots, WorkloadFindings};
use plimsoll_model::{Cell, MountOperation, Outcome, Trial};
use std::collections::BTreeMap;

/// Operations that are worth a word, the most frequent ones.
const MOST: usize = 3;

/// "The kernel's client on nas: 12000 READ of 16.1 KiB (1.02 ms from request to reply, 100 µs queued
/// before)." The size is that of request and reply together, with their heads.
pub(crate) fn accounts(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<String> {
    let of_cell = |cell: &plimsoll_explain::CellFindings| {
        let mut sums: BTreeMap<&str, MountOperation> = BTreeMap::new();
        let trials = shown.study.trials.iter().filter(|trial| {
            trial.cell == cell.cell && matches!(trial.result.outcome, Outcome::Complete)
        });
        for (name, operation) in trials.flat_map(|t| &t.mount).flat_map(|m| &m.operations) {
            add(sums.entry(name).or_default(), operation);
        }
        let mut sums: Vec<(&str, MountOperation)> = sums.into_iter().collect();
        sums.sort_by_key(|(_, operation)| std::cmp::Reverse(operation.count));
        sums.truncate(MOST);
        let operations: Vec<String> = sums.iter().map(|(name, sum)| account(name, sum)).collect();
        let name = shown.names.setup(cell.cell);
        (!operations.is_empty())
            .then(|| format!("The kernel's client on {name}: {}.", listed(&operations)))
    };
    found.cells.iter().filter_map(of_cell).collect()
}

/// What each mount's calls waited for, where that was a slot: "The kernel's NFS client keeps 2 calls in flight to
/// nas, whatever is asked for".
pub(crate) fn slots(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let mut setups: Vec<Slots> = Vec::new();
    for found in plimsoll_explain::slots(shown.study) {
        let same = |other: &&mut Slots| {
            (other.cell.subject, other.cell.setting) == (found.cell.subject, found.cell.setting)
        };
        // Where the most was asked for the waiting shows best.
        match setups.iter_mut().find(same) {
            Some(known) if known.asked < found.asked => *known = found,
            Some(_) => {}
            None => setups.push(found),
        }
    }
    let sentence = |of: &Slots| {
        let in_flight = match of.in_flight {
            few if few < 9.5 && (few - few.round()).abs() > 0.15 * few.round() => {
                format!("{few:.1}")
            }
            many => format!("{many:.0}"),
        };
        let raise = match of.sessions {
            true => {
                "max_session_slots of the client's module nfs, and the slots that the server grants a session"
            }
            false => {
                "tcp_max_slot_table_entries of the client's module sunrpc, and nconnect= of the mount"
            }
        };
        format!(
            "The kernel's NFS client keeps {in_flight} calls in flight to {}, although {:.0} are \
             requested. A call waits {} for a slot and {} for its reply. See {raise}.",
            name(of.cell),
            of.asked,
            TIME.value(of.waited_seconds),
            TIME.value(of.round_trip_seconds)
        )
    };
    setups.iter().map(sentence).collect()
}

/// What a target is mounted with, where the kernel gave an account of it.
pub(super) fn options<'a>(shown: &Shown<'a>, subject: usize) -> Option<&'a str> {
    let of_subject = |trial: &&Trial| usize::from(trial.cell.subject) == subject;
    let mut trials = shown.study.trials.iter().filter(of_subject);
    trials.any(|trial| trial.mount.is_some()).then_some(())?;
    shown.study.subjects.get(subject)?.storage()?.mount_options.as_deref()
}

fn add(sum: &mut MountOperation, more: &MountOperation) {
    sum.count = sum.count.saturating_add(more.count);
    sum.errors = sum.errors.saturating_add(more.errors);
    let Some(more) = more.wire else { return };
    let wire = sum.wire.get_or_insert_default();
    wire.transmissions = wire.transmissions.saturating_add(more.transmissions);
    wire.sent_bytes = wire.sent_bytes.saturating_add(more.sent_bytes);
    wire.received_bytes = wire.received_bytes.saturating_add(more.received_bytes);
    wire.queue_seconds += more.queue_seconds;
    wire.round_trip_seconds += more.round_trip_seconds;
}

fn account(name: &str, sum: &MountOperation) -> String {
    let mut text = format!("{} {}", sum.count, printable(name));
    if let (Some(wire), true) = (sum.wire, sum.count > 0) {
        let each = |seconds: f64| TIME.value(seconds / sum.count as f64);
        let bytes = wire.sent_bytes.saturating_add(wire.received_bytes) as f64 / sum.count as f64;
        text.push_str(&format!(
            " of {} ({} from request to reply, {} queued before sending",
            BYTES.value(bytes),
            each(wire.round_trip_seconds),
            each(wire.queue_seconds)
        ));
        let again = wire.transmissions.saturating_sub(sum.count);
        if again > 0 {
            text.push_str(&format!(", {} again", counted(again, "request")));
        }
        text.push(')');
    }
    if sum.errors > 0 {
        text.push_str(&format!(", {} failed", sum.errors));
    }
    text
}
