//! What a change of hardware or of concurrency would bring, as bounds.
//!
//! A change is a new set of demands of the closed network that `limits` fits to a row (method, sections 3 and 10).
//! The lower end takes the time that no monitored resource explains as one more queue, the upper end as a delay. Where
//! a change makes something slower, the range holds for both. It also holds for the work on as few cores as account for
//! what was measured. A demand is known up to 1.5 times the highest rate that was measured; the upper end beyond that
//! has only the capacities that were measured at saturation, and the rates of links. A disk that was never saturated
//! has no known capacity. Both ends are joined with the Student-t range of the logarithms over the blocks; how much one
//! day differs from another is not known from one study.

mod advise;
mod bounds;
mod cores;
mod demands;
mod device;
mod disk;
mod flight;
mod made;
mod path;
mod prediction;
mod purpose;
mod score;
mod spread;

pub use advise::{Advice, Cost, Gain, Proposal, RULES, Rule, Suggestion, Useless, advise};
pub use device::{encryption_seconds, processor_speed};
pub use made::{CheckedPrediction, is_recorded, measured_by};
pub use plimsoll_model::what_if::{
    Encryption, LinkEnd, LinkRate, NewDisk, ProcessorSpeed, Processors, WhatIf,
};
pub use prediction::{Answer, Next, Part, Prediction, Refusal, Settle, Unknown, Why};
pub use purpose::Purpose;
pub use score::{Place, Score, predicted_rows, scores};

use crate::gather::Gathered;
use crate::thresholds::{FARTHEST_BOUND, SEGMENT_BYTES, SEGMENT_ON_ETHERNET_BYTES};
use crate::{Limit, Limits, Unseen, is_ladder, limits};
use demands::Demands;
use plimsoll_model::{Cell, Measure, Steps, Study, SubjectKind, Target};

/// What the changes together would bring to each row that has complete trials. Rows of a study of hosts have none, and
/// changes by factors that are not above 0 predict nothing.
pub fn predict(study: &Study, changes: &[WhatIf]) -> Vec<Prediction> {
    if !changes.iter().all(WhatIf::is_valid) {
        return Vec::new();
    }
    let gathered = Gathered::new(study);
    let known = limits(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let workloads = workloads.filter(|workload| !is_ladder(&study.plan, *workload));
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    let of_cell = |cell: Cell| {
        let own = known.iter().find(|limits| limits.cell == cell);
        of_cell(study, &gathered, cell, own, changes)
    };
    cells.filter_map(of_cell).collect()
}

fn of_cell(
    study: &Study,
    gathered: &Gathered<'_>,
    cell: Cell,
    limits: Option<&Limits>,
    changes: &[WhatIf],
) -> Option<Prediction> {
    let workload = study.plan.workload(cell)?;
    let kind = workload.subject()?;
    // What a router would forward is not known from its rate.
    if kind == SubjectKind::Host || matches!(workload.steps, Some(Steps::Kept { .. })) {
        return None;
    }
    let today = spread::today(study, gathered, cell, limits)?;
    if kind == SubjectKind::Path {
        return Some(path::of_cell(study, cell, &today, changes));
    }
    let (measure, figure, spread) = (today.measure, today.figure, [today.low, today.high]);
    let found = |answer, next| Prediction {
        cell,
        measure,
        today: figure,
        spread,
        answer,
        next,
        limits: limits.cloned(),
    };
    let knows_no_link =
        |limits: &&Limits| limits.unseen.contains(&Unseen::Link) && is_link_alone(changes);
    let Some(known) = limits.filter(|limits| !knows_no_link(limits)) else {
        let answer = without_limits(study, cell, &today, changes, limits.is_some());
        return Some(found(answer, Vec::new()));
    };
    let outcome = refused_as_a_whole(known)
        .map_or(Ok(()), Err)
        .and_then(|()| Demands::changed(study, known, changes));
    Some(match outcome {
        Err(refusal) => found(Answer::CannotSay(refusal), Vec::new()),
        Ok(mut demands) => {
            let next = demands.next();
            match demands.rates() {
                Some(rates) => found(today.answer(study, known, rates, demands.unknown), next),
                None => {
                    let why = Why::NothingMonitored;
                    found(Answer::CannotSay(Refusal { why, settle: Settle::Again }), next)
                }
            }
        }
    })
}

/// Whether the only change is another rate of the path.
fn is_link_alone(changes: &[WhatIf]) -> bool {
    matches!(changes, [WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(_) }])
}

/// Figures that contradict each other predict nothing.
fn refused_as_a_whole(limits: &Limits) -> Option<Refusal> {
    let contradictory = match limits.verdict {
        Limit::Contradiction(place) => limits.uses.get(place),
        _ => limits.uses.iter().find(|one| one.is_contradictory()),
    };
    contradictory.map(|one| Refusal {
        why: Why::Contradiction(Box::new(one.clone())),
        settle: Settle::Again,
    })
}

/// Of a row whose link was not monitored only the rate of a new one is known. `link_alone` if other resources were
/// monitored.
fn without_limits(
    study: &Study,
    cell: Cell,
    today: &spread::Today,
    changes: &[WhatIf],
    link_alone: bool,
) -> Answer {
    let refusal = |why, settle| Answer::CannotSay(Refusal { why, settle });
    if study.plan.workload(cell).is_some_and(|workload| workload.has_fixed_rate()) {
        return refusal(Why::FixedRate, Settle::ClosedLoop);
    }
    let is_local =
        matches!(study.plan.target(usize::from(cell.subject)), Some(Target::Directory(_)));
    match changes {
        [WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(rate) }]
            if today.measure == Measure::THROUGHPUT && !is_local =>
        {
            let high = payload_of(*rate);
            if high < today.figure {
                return refusal(Why::FasterThanLink(*rate as f64), Settle::Nothing);
            }
            if high > FARTHEST_BOUND * today.figure {
                return refusal(Why::BoundTooFar { times: FARTHEST_BOUND }, Settle::Monitor);
            }
            let unknown = vec![Unknown::Link, Unknown::Server];
            Answer::AtMost { low: Some(today.figure * today.low), high, unknown }
        }
        _ if link_alone => refusal(Why::NotMonitored(Part::Link), Settle::Monitor),
        _ => refusal(Why::NothingMonitored, Settle::Monitor),
    }
}

/// Most payload that TCP carries over an Ethernet of this rate, in bytes per second.
pub fn payload_of(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 8.0 * SEGMENT_BYTES / SEGMENT_ON_ETHERNET_BYTES
}
