//! The same of streams over a network path, which is no closed network of operations: of each monitored resource only
//! its utilisation is known, so that it allows today's rate over its utilisation.

use super::spread::Today;
use super::{Answer, Next, Part, Prediction, Refusal, Settle, Unknown, Why};
use crate::thresholds::{KNOWN_BEYOND, NEXT_TOO, PATH_SATURATED};
use crate::{PathBottleneck, PathEnd, PathLimits, PathResource, PathUse, path_limits};
use plimsoll_model::what_if::{LinkEnd, LinkRate, Processors, WhatIf};
use plimsoll_model::{Cell, Study};

/// Prediction of a row of a path.
pub(super) fn of_cell(study: &Study, cell: Cell, today: &Today, changes: &[WhatIf]) -> Prediction {
    let limits = path_limits(study).into_iter().find(|limits| limits.cell == cell);
    let outcome = match &limits {
        Some(limits) => Changed::new(limits).after(changes),
        None => Err(Refusal { why: Why::NothingMonitored, settle: Settle::Again }),
    };
    let (answer, next) = match outcome {
        Ok(changed) => (changed.answer(study, today), changed.next()),
        Err(refusal) => (Answer::CannotSay(refusal), Vec::new()),
    };
    let spread = [today.low, today.high];
    let (measure, today) = (today.measure, today.figure);
    Prediction { cell, measure, today, spread, answer, next, limits: None }
}

/// What resources of a path allow after some changes, as times today's rate.
struct Changed<'a> {
    limits: &'a PathLimits,
    /// Each resource, and how much faster it is.
    uses: Vec<(PathUse, f64)>,
    is_changed: bool,
}

impl<'a> Changed<'a> {
    fn new(limits: &'a PathLimits) -> Changed<'a> {
        let uses = limits.uses.iter().map(|one| (one.clone(), 1.0)).collect();
        Changed { limits, uses, is_changed: false }
    }

    /// Whether the window or a buffer allows so many bytes for each round trip.
    fn is_limited_by_round_trip(&self) -> bool {
        matches!(
            self.limits.bottleneck,
            PathBottleneck::ReceiveWindow { .. } | PathBottleneck::SendBuffer { .. }
        )
    }

    fn after(mut self, changes: &[WhatIf]) -> Result<Changed<'a>, Refusal> {
        let refused = |why, settle| Err(Refusal { why, settle });
        for change in changes {
            match change {
                WhatIf::Link { end, to } => {
                    if !self.link(*end, *to) {
                        return refused(Why::NotMonitored(Part::Link), Settle::Change);
                    }
                }
                WhatIf::Processor { of, speed } => {
                    let is_own = |end: PathEnd| match of {
                        Processors::All => true,
                        Processors::Client => matches!(end, PathEnd::A | PathEnd::Both),
                        Processors::Server => matches!(end, PathEnd::B | PathEnd::Both),
                    };
                    let mut known = false;
                    for (one, factor) in &mut self.uses {
                        if let PathResource::Core(end) | PathResource::Quota(end) = one.resource
                            && is_own(end)
                        {
                            *factor *= speed.one_core;
                            known = true;
                        }
                    }
                    if !known {
                        let part = match of {
                            Processors::Client => Part::ClientProcessor,
                            _ => Part::ServerProcessor,
                        };
                        return refused(Why::NotMonitored(part), Settle::Change);
                    }
                    self.is_changed = true;
                }
                WhatIf::RoundTrip { .. } => return refused(Why::NotOfPath, Settle::Change),
                WhatIf::Disk(_) | WhatIf::Memory(_) | WhatIf::Encrypt { .. } => {}
                WhatIf::Readers(_) | WhatIf::Depth(_) => {
                    return refused(Why::NoWorkers, Settle::Change);
                }
            }
        }
        Ok(self)
    }

    /// Changes the busiest link. Whether its new rate is that of the path: of a faster end the other one is not known.
    fn link(&mut self, end: LinkEnd, to: LinkRate) -> bool {
        for (one, factor) in &mut self.uses {
            let PathResource::Link { bits_per_second, .. } = &mut one.resource else { continue };
            let today = *bits_per_second as f64;
            let new = match to {
                LinkRate::BitsPerSecond(rate) => rate as f64,
                LinkRate::Times(times) => times * today,
            };
            if end != LinkEnd::Path && new > today {
                return false;
            }
            *factor *= new / today;
            *bits_per_second = new as u64;
            self.is_changed = true;
            return true;
        }
        false
    }

    /// What a resource allows, as times today's rate.
    fn allows(of: &(PathUse, f64)) -> f64 {
        of.1 / of.0.share.max(f64::MIN_POSITIVE)
    }

    fn answer(&self, study: &Study, today: &Today) -> Answer {
        let margin = 1.0 + study.plan.design.margin;
        let is_slower = self.uses.iter().any(|(_, factor)| *factor < 1.0);
        let is_faster = self.uses.iter().any(|(_, factor)| *factor > 1.0);
        if !self.is_changed {
            return Answer::Same { is_unused: true };
        }
        if self.is_limited_by_round_trip() && !is_slower {
            return Answer::Same { is_unused: false };
        }
        let firm = |(one, _): &&(PathUse, f64)| {
            one.share >= PATH_SATURATED || matches!(one.resource, PathResource::Link { .. })
        };
        let least = |uses: &mut dyn Iterator<Item = &(PathUse, f64)>| {
            uses.map(Self::allows).fold(f64::INFINITY, f64::min)
        };
        let all = least(&mut self.uses.iter());
        let known = all <= KNOWN_BEYOND;
        let high = if known { all } else { least(&mut self.uses.iter().filter(firm)) };
        let mut unknown = Vec::new();
        unknown.extend((!known).then_some(Unknown::Beyond(KNOWN_BEYOND)));
        let is_open = matches!(
            self.limits.bottleneck,
            PathBottleneck::Queue { .. }
                | PathBottleneck::Unknown { .. }
                | PathBottleneck::Loss { .. }
        );
        unknown.extend(is_open.then_some(Unknown::RestOfPath));
        let high = match is_slower {
            true if is_faster && !self.is_limited_by_round_trip() => high,
            true => high.min(1.0),
            false => high.max(1.0),
        };
        if !high.is_finite() {
            let settle = Settle::Change;
            return Answer::CannotSay(Refusal { why: Why::NothingMonitored, settle });
        }
        // What is saturated afterwards carries what it can; else today's rate is all that is known.
        let low = if is_slower { all.min(1.0) } else { 1.0 };
        if high <= margin && low * margin >= 1.0 {
            return Answer::Same { is_unused: false };
        }
        let (low, high) = (low * today.low * today.figure, high * today.high * today.figure);
        match unknown.is_empty() {
            true => Answer::Between { low, high },
            false => Answer::AtMost { low: Some(low), high, unknown },
        }
    }

    /// The resources that allow least, two within 20%.
    fn next(&self) -> Vec<Next> {
        if self.is_limited_by_round_trip() {
            return Vec::new();
        }
        let mut uses: Vec<&(PathUse, f64)> = self.uses.iter().collect();
        uses.sort_by(|a, b| Self::allows(a).total_cmp(&Self::allows(b)));
        let least = uses.first().map_or(0.0, |one| Self::allows(one));
        let near = uses.into_iter().filter(|one| Self::allows(one) * NEXT_TOO <= least);
        near.take(2).map(|(one, _)| Next::OfPath(one.resource.clone())).collect()
    }
}
