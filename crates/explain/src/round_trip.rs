//! The round trip of a call that does nothing, and whether it bounds what operations take.

use crate::gather::Gathered;
use plimsoll_model::{Measure, Metric, OpKind, Part, PartResult, Study, SubjectFacts};
use std::collections::BTreeMap;

/// Seconds of a call that does nothing: the shortest of some that were made before anything was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTrip {
    /// How many.
    pub seconds: f64,
    /// Kinds of operations that took less on average, though each holds a round trip, with their seconds; the shortest
    /// first. Where there are any it is no bound: the machine was at rest, and had to wake up for it.
    pub longer_than: Vec<(OpKind, f64)>,
}

impl RoundTrip {
    /// Round trip to a subject. `None` where there is no such call.
    pub fn to_subject(study: &Study, subject: u16) -> Option<RoundTrip> {
        let facts = study.subjects.get(usize::from(subject)).and_then(SubjectFacts::storage)?;
        let seconds = facts.round_trip_seconds.filter(|s| s.is_finite() && *s >= 0.0)?;
        let mut longer_than: Vec<(OpKind, f64)> = shortest_means(study, subject)
            .into_iter()
            .filter(|(_, mean)| *mean < seconds)
            .collect();
        longer_than.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some(RoundTrip { seconds, longer_than })
    }

    /// Its seconds, where nothing shows that it is no bound.
    pub fn bound(&self) -> Option<f64> {
        self.longer_than.is_empty().then_some(self.seconds)
    }
}

/// The shortest mean time of each kind of operation that a subject was asked for, of all that was done with it.
/// A flush may have nothing to ask for, and a client that does things by itself asks for less.
fn shortest_means(study: &Study, subject: u16) -> BTreeMap<OpKind, f64> {
    let gathered = Gathered::new(study);
    let mut shortest: BTreeMap<OpKind, f64> = BTreeMap::new();
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        for cell in gathered.cells(number).into_iter().filter(|cell| cell.subject == subject) {
            let mut sums: BTreeMap<(OpKind, u64), (f64, u32)> = BTreeMap::new();
            let mut add = |at: f64, parts: &[PartResult]| {
                for (_, result) in workload.parts.iter().zip(parts).filter(|(part, _)| asks(part)) {
                    for (kind, seconds) in result.quantities.iter().filter_map(of_kind) {
                        let (sum, count) = sums.entry((kind, at.to_bits())).or_default();
                        (*sum, *count) = (*sum + seconds, *count + 1);
                    }
                }
            };
            for trial in gathered.complete(cell) {
                add(0.0, &trial.result.parts);
                trial.points.iter().for_each(|point| add(point.at, &point.parts));
            }
            for ((kind, _), (sum, count)) in sums {
                let least = shortest.entry(kind).or_insert(f64::INFINITY);
                *least = least.min(sum / f64::from(count));
            }
        }
    }
    shortest
}

fn asks(part: &Part) -> bool {
    part.techniques.is_empty()
}

fn of_kind((metric, value): (&Metric, &f64)) -> Option<(OpKind, f64)> {
    let kind = metric.kind.filter(|kind| *kind != OpKind::FLUSH)?;
    let is_time = metric.measure == Measure::LATENCY_MEAN && value.is_finite() && *value > 0.0;
    is_time.then_some((kind, *value))
}
