//! Flags that only a whole study can have.

use plimsoll_explain::Writes;
use plimsoll_model::{Burst, Flag, Study, Subject, Target};
use std::collections::BTreeMap;

/// Flags of a study that has ended. A quick one says which ratio it could have told from 1.
pub fn hindsight(study: &Study, quick: bool) -> Vec<Flag> {
    let mut flags = Vec::new();
    let targets: Vec<&Target> = study.plan.subjects.iter().filter_map(Subject::target).collect();
    let twice = targets.iter().enumerate().find(|(i, t)| targets[..*i].contains(t));
    if let Some((_, target)) = twice {
        flags.push(Flag::SameTarget { target: target.to_string() });
    }
    flags.extend(bursts(study));
    if quick {
        flags.push(Flag::Quick { resolvable: resolvable(study) });
    }
    flags
}

/// Which writes are a burst's, the first reason of each workload.
fn bursts(study: &Study) -> Vec<Flag> {
    let mut found: BTreeMap<Burst, Vec<String>> = BTreeMap::new();
    let mut known = Vec::new();
    for Writes { cell, sustained } in plimsoll_explain::writes(study) {
        // Sweeps are never sustained for long enough: the report marks them without a warning.
        let workload = study.plan.workload(cell).filter(|workload| workload.steps.is_none());
        let main = workload.and_then(|workload| workload.main());
        let title = main.map(|main| main.job.title()).filter(|title| !known.contains(title));
        if let (Err(why), Some(title)) = (sustained, title) {
            known.push(title.clone());
            found.entry(why).or_default().push(title);
        }
    }
    found.into_iter().map(|(why, workloads)| Flag::Burst { workloads, why }).collect()
}

/// The smallest ratio that the widest interval of the family could tell from 1.
fn resolvable(study: &Study) -> Option<f64> {
    let findings = plimsoll_explain::findings(study);
    let pairs = findings.workloads.iter().flat_map(|w| &w.pairs);
    let ratios = pairs.filter_map(|p| p.claim.map(|c| c.ratio));
    ratios.filter_map(|r| Some(r.interval?.high / r.estimate)).reduce(f64::max)
}
