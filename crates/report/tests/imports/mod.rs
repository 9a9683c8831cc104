//! Single runs of another tool on two targets.

use crate::{any_study, plain};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Origin, Pattern, Rule, Study};

/// Pattern by pattern, what the first and the second target carry in bytes per second: two rows of
/// the published comparison.
pub const PUBLISHED: [(Pattern, f64, f64); 2] = [
    (Pattern::SequentialRead, 116.2e6, 117.5e6),
    (Pattern::RandomRead, 7334.0 * 4096.0, 5513.0 * 4096.0),
];

/// One run each.
pub fn study(targets: &[&str], rates: &[(Pattern, f64, f64)]) -> Study {
    let patterns: Vec<Pattern> = rates.iter().map(|(pattern, ..)| *pattern).collect();
    let mut import = plain::empty(targets, &patterns);
    import.origin = Origin::Imported { tool: "fio-3.36".into() };
    import.plan.design.rule = Rule::Fixed { blocks: 1 };
    import.plan.subjects.clear();
    import.plan.command = "plimsoll import fio_output.txt".into();
    for (pattern, first, second) in rates {
        plain::add(&mut import, 0, 0, *pattern, *first);
        plain::add(&mut import, 0, 1, *pattern, *second);
    }
    for trial in &mut import.trials {
        trial.block = None;
        trial.imported = Some(any_study::imported(60.0, 4));
    }
    for workload in &mut import.plan.workloads {
        plain::job(workload).size = Bytes(0);
    }
    for facts in &mut import.subjects {
        plain::storage(facts).reads_from = None;
    }
    import
}
