//! A study for other programs: figures as OpenMetrics, Bencher Metric Format and JUnit, call trees as folded stacks.

mod bmf;
mod folded;
mod junit;
mod openmetrics;

pub use bmf::bmf;
pub use folded::folded;
pub use junit::junit;
pub use openmetrics::openmetrics;

use crate::study::Shown;
use plimsoll_explain::Level;
use plimsoll_model::{Metric, Study};

/// Longest text from outside in a label, in letters.
const LONGEST: usize = 256;

/// Level of one figure of a study.
struct Exported {
    /// Name of the subject, unique in the study.
    subject: String,
    /// Subject as typed.
    target: String,
    /// Name of the work, unique in the study.
    workload: String,
    /// Setting of all factors in words; empty without factors.
    setting: String,
    metric: Metric,
    level: Level,
    /// Whether verdicts are about it.
    is_headline: bool,
}

/// Levels of all figures of a study, work by work. Numbers that are not finite have no place in any format.
fn levels(shown: &Shown<'_>) -> Vec<Exported> {
    let mut all = Vec::new();
    for found in &shown.findings.workloads {
        let headline = found.workload.main().map(|part| part.headline());
        for cell in found.cells.iter().filter(|cell| cell.complete > 0) {
            let known = cell.levels.iter().filter(|(_, level)| level.estimate.is_finite());
            all.extend(known.map(|(metric, level)| Exported {
                subject: bounded(&shown.names.subject(cell.cell.subject)),
                target: bounded(&given(shown.study, cell.cell.subject)),
                workload: bounded(&shown.names.workload(cell.cell.workload)),
                setting: bounded(&shown.names.levels(cell.cell.setting)),
                metric: *metric,
                level: *level,
                is_headline: headline == Some(*metric),
            }));
        }
    }
    all
}

fn given(study: &Study, subject: u16) -> String {
    let subject = usize::from(subject);
    let facts = study.subjects.get(subject).map(|facts| facts.given().to_owned());
    let planned = || study.plan.subjects.get(subject).map(ToString::to_string);
    facts.filter(|given| !given.is_empty()).or_else(planned).unwrap_or_default()
}

/// Text from outside: what steers a terminal is escaped, and what is too long is cut.
fn bounded(text: &str) -> String {
    crate::text::printable(text).chars().take(LONGEST).collect()
}
