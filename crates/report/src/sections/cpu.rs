//! Who needs more CPU for the same work, in words; of imports, who was faster before that.

use crate::document::Section;
use crate::study::{Shown, cpu, imported};
use plimsoll_explain::Pair;

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("cpu-compared", "CPU for the same work");
    let mut sentences = Vec::new();
    for ((a, b), pairs) in compared(shown) {
        match shown.findings.imported {
            true => imported::cpu_summary(&mut sentences, shown, (&a, &b), &pairs),
            false => cpu::summary(&mut sentences, shown, (&a, &b), &pairs),
        }
    }
    section.list(sentences);
    section
}

/// Who was faster, of imports, whose tables have no verdicts. Empty for others.
pub(super) fn speeds(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("speeds-compared", "Speed");
    let mut sentences = Vec::new();
    for ((a, b), pairs) in compared(shown).into_iter().filter(|_| shown.findings.imported) {
        imported::speeds(&mut sentences, shown, (&a, &b), &pairs);
    }
    section.list(sentences);
    section
}

/// Two that are compared, by name, and how, workload by workload, in the order of the contrasts.
fn compared<'a>(shown: &'a Shown<'_>) -> Vec<((String, String), Vec<&'a Pair>)> {
    let mut compared: Vec<((String, String), Vec<&'a Pair>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for pair in shown.findings.workloads.iter().flat_map(|w| &w.pairs) {
        let two = shown.two(&pair.contrast);
        let place = *places.entry(two.clone()).or_insert(compared.len());
        match compared.get_mut(place) {
            Some((_, pairs)) => pairs.push(pair),
            None => compared.push((two, vec![pair])),
        }
    }
    compared
}
