//! Whether the writes of a workload are what the storage sustains, or a burst that a cache takes.

use super::Shown;
use crate::figure::BYTES;
use crate::text::{capital, duration, listed};
use plimsoll_explain::{WorkloadFindings, Writes};
use plimsoll_model::{Burst, Cell, WriteState};

/// What stands beside the speed of a cell that is a burst's; the warning that explains it has it too.
pub(crate) fn mark(shown: &Shown<'_>, cell: Cell) -> &'static str {
    let burst = |writes: &Writes| writes.cell == cell && writes.sustained.is_err();
    if shown.writes.iter().any(burst) { "*" } else { "" }
}

/// What is known of each subject's writes; nothing where nothing was written before the first block.
pub(crate) fn states(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<String> {
    let state = |writes: &Writes| -> Option<&WriteState> {
        let facts = shown.study.subjects.get(usize::from(writes.cell.subject))?.storage()?;
        facts.writes.iter().find(|state| state.workload == found.number)
    };
    let number = found.number;
    let own_writes = || shown.writes.iter().filter(|writes| writes.cell.workload == number);
    if !own_writes().any(|writes| state(writes).is_some_and(|state| state.seconds > 0.0)) {
        return None;
    }
    let words = own_writes().map(|writes| {
        let name = shown.names.setup(writes.cell);
        let Some(state) = state(writes) else { return name };
        let after =
            format!("after {} in {}", BYTES.value(state.bytes.0 as f64), duration(state.seconds));
        let steady = state.steady_bytes_per_second;
        let steady = steady.map_or_else(String::new, plimsoll_model::units::bytes_per_second);
        match writes.sustained {
            Ok(()) if steady.is_empty() => {
                format!("{name} sustained (each trial includes the time of the storage)")
            }
            Ok(()) => format!("{name} sustained (steady at {steady} {after})"),
            Err(Burst::NotAgreed) => {
                format!("{name} a burst (trials differ from {steady} {after})")
            }
            Err(Burst::NotSteady) => format!("{name} a burst (not steady {after})"),
            Err(Burst::NotConditioned) => {
                format!("{name} a burst (no writes before the trials)")
            }
        }
    });
    let words: Vec<String> = words.collect();
    Some(format!("Writes: {}.", listed(&words))).map(|text| capital(&text))
}
