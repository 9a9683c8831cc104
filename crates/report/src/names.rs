//! What targets and workloads are called.

use crate::text::{printable, shortened};
use plimsoll_model::{Layout, Pattern, Stability, Study, Workload};
use std::collections::HashSet;

/// Longest name of a target in tables and sentences.
const LONGEST: usize = 24;

/// A short printable name for every target, each different from the others.
pub(crate) fn targets(study: &Study) -> Vec<String> {
    let count = study.targets.len().max(study.plan.targets.len());
    let mut used = HashSet::new();
    let name = |i: usize| {
        let label = study.targets.get(i).map(|t| t.label.clone()).filter(|l| !l.is_empty());
        let given = || study.plan.targets.get(i).map(ToString::to_string);
        let name = printable(&label.or_else(given).unwrap_or_else(|| format!("target {}", i + 1)));
        let name = shortened(&name, LONGEST);
        let name = if used.contains(&name) { format!("{name} ({})", i + 1) } else { name };
        used.insert(name.clone());
        name
    };
    (0..count).map(name).collect()
}

/// Name of a target that may not exist.
pub(crate) fn of(names: &[String], target: usize) -> String {
    names.get(target).cloned().unwrap_or_else(|| format!("target {}", target.saturating_add(1)))
}

/// "sequential read".
pub(crate) fn pattern(pattern: Pattern) -> String {
    match pattern {
        Pattern::RandomMixed => "random mixed".to_owned(),
        other => other.name().replace('-', " "),
    }
}

/// "1 MiB blocks, 4 workers, 1 in flight each, 1 GiB".
pub(crate) fn settings(workload: &Workload) -> String {
    let Workload { block, size, workers, depth, layout, stability, verify, .. } = workload;
    let mut text = format!(
        "{block} blocks, {workers} worker{}, {depth} in flight each",
        if workers.get() == 1 { "" } else { "s" }
    );
    match size.0 {
        0 => text.push_str(", size unknown"),
        _ => text.push_str(&format!(", {size}")),
    }
    if *layout == Layout::Shared {
        text.push_str(" shared by all");
    }
    if workload.pattern.writes() && *stability == Stability::FileSync {
        text.push_str(", every write stable");
    }
    if *verify {
        text.push_str(", content verified");
    }
    text
}
