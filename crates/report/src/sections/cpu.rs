//! Who needs more CPU for the same work, in words.

use crate::document::Section;
use crate::study::{Shown, cpu, imported};
use plimsoll_explain::Pair;

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("cpu-compared", "CPU for the same work");
    let mut sentences = Vec::new();
    for ((a, b), pairs) in compared(shown) {
        match shown.findings.imported {
            true => imported::against(&mut sentences, shown, (&a, &b), &pairs),
            false => cpu::summary(&mut sentences, shown, (&a, &b), &pairs),
        }
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
