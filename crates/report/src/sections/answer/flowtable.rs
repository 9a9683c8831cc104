//! Whether the flowtable of a router took the flows of the frames: without that, a comparison with it compares nothing.

use crate::study::Shown;
use crate::verdict::percent;
use plimsoll_explain::FlowsTaken;
use plimsoll_explain::thresholds::{FLOWS_LEFT, FLOWS_TAKEN};
use plimsoll_model::Cell;

/// A sentence for all cells of which the same is true, with their loads in words.
pub(super) fn sentences(shown: &Shown<'_>, loads: &dyn Fn(&[Cell]) -> String) -> Vec<String> {
    let mut groups: Vec<([String; 2], Vec<Cell>)> = Vec::new();
    for taken in &shown.flows_taken {
        let words = words(taken);
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, cells)) => cells.push(taken.cell),
            None => groups.push((words, vec![taken.cell])),
        }
    }
    let sentence = |([what, then], cells): ([String; 2], Vec<Cell>)| {
        format!("The flowtable of R forwards {what} ({}){then}", loads(&cells))
    };
    groups.into_iter().map(sentence).collect()
}

/// What a flowtable forwards, and the end of the sentence.
fn words(taken: &FlowsTaken) -> [String; 2] {
    const OTHERS: &str = ": packets of the others pass all rules.";
    let [what, then] = match taken.share {
        share if share < FLOWS_LEFT => ["hardly any flow", OTHERS],
        share if share < FLOWS_TAKEN => {
            let share = percent((100.0 * share).round() / 100.0);
            return [format!("{share} of the flows"), OTHERS.to_owned()];
        }
        _ if taken.in_hardware => ["the flows in hardware", "."],
        _ if taken.wants_hardware => ["the flows in software, not in hardware", "."],
        _ => ["the flows in software", "."],
    };
    [what.to_owned(), then.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flowtable_that_takes_no_flow_is_told_from_one_that_does() {
        let said = |share, in_hardware, wants_hardware| {
            let cell = Cell { subject: 0, workload: 0, setting: 0 };
            words(&FlowsTaken { cell, share, in_hardware, wants_hardware }).join("")
        };
        for (share, in_hardware, wants_hardware, expected) in [
            (1.0, false, false, "the flows in software."),
            (1.0, true, false, "the flows in hardware."),
            (0.95, true, true, "the flows in hardware."),
            (1.0, false, true, "the flows in software, not in hardware."),
            (0.5, false, false, "50% of the flows: packets of the others pass all rules."),
            (0.0, false, true, "hardly any flow: packets of the others pass all rules."),
        ] {
            assert_eq!(said(share, in_hardware, wants_hardware), expected);
        }
    }
}
