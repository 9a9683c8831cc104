//! The search for the highest rate that a path keeps: the trials that [`Search`] asks for become points, and their
//! figures go back to it.

use super::{Measured, TimeLimit, Trial, ended, failed, figure};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Bound, Flag, ForwardingJob, HostLoad, Job, Length, Measure, Metric, Outcome, Point,
    PointResult, RateCaveat,
};
use plimsoll_stats::kept::{Caveat, Found, Purpose, RateTrial, Search, Settings, Slope};

/// What is searched, in frames per second.
pub(super) struct Range<'a> {
    pub from: f64,
    pub to: f64,
    pub width: f64,
    pub losses: &'a [f64],
    /// Condition of a rate that is kept, beside its loss.
    pub accept: Option<&'a Bound>,
    pub start: Option<f64>,
    /// Length of the confirming trial.
    pub confirm_seconds: f64,
    /// Whether few and short trials are to decide.
    pub is_quick: bool,
    /// Time in which the search ends.
    pub time: TimeLimit<'a>,
}

/// What was noticed while a search was under way.
#[derive(Default)]
struct Noticed {
    lead_loss: Option<f64>,
    /// The figure of the confirming trial that exceeds its bound.
    late: Option<f64>,
}

impl Trial<'_> {
    /// Searches with this phase of the grid. The result is the point at the highest rate kept, with what the search
    /// found.
    pub(super) fn kept(&mut self, range: &Range<'_>, phase: f64) -> Measured {
        let mut search = Search::new(Settings {
            from: range.from,
            to: range.to,
            width: range.width,
            goals: range.losses.to_vec(),
            phase,
            start: range.start,
            confirm_seconds: range.confirm_seconds,
            is_quick: range.is_quick,
            most_seconds: range.time.most_seconds,
        });
        let goal = range.losses.first().copied().unwrap_or_default();
        // The point at each rate that was kept, the last one of each.
        let mut kept: Vec<(f64, PointResult, Vec<HostLoad>)> = Vec::new();
        let mut noticed = Noticed::default();
        while let Some(trial) = search.next() {
            let offered = match trial.purpose {
                Purpose::Top => f64::INFINITY,
                _ => trial.rate,
            };
            let mut workload = self.workload.at(self.steps.over(), offered).map_err(ended)?;
            let seconds = trial.lead_seconds + trial.seconds;
            workload.length = Length::For { seconds, warm_up_seconds: trial.lead_seconds };
            let most_seconds = trial.lead_seconds + trial.most_seconds;
            let (result, loads) = self.measured(&workload, most_seconds);
            if result.outcome != Outcome::Complete {
                return Err(Box::new(result));
            }
            let (mut seen, offered, received) = rate_trial(&result);
            let bounded = range.accept.map(|bound| (figure(&result, bound), bound.limit));
            match bounded.filter(|(value, limit)| value.is_none_or(|value| !limit.admits(value))) {
                // Frames that come too late count as lost.
                Some(_) if trial.purpose == Purpose::Bound => seen.lost = seen.sent,
                Some((value, _)) if trial.purpose == Purpose::Confirm => noticed.late = value,
                _ => {}
            }
            let accepted = seen.loss(goal) <= goal;
            self.points.push(Point {
                at: if trial.purpose == Purpose::Top { offered } else { trial.rate },
                accepted: (trial.purpose == Purpose::Bound).then_some(accepted),
                parts: result.parts.clone(),
                loads: loads.clone(),
            });
            search.take(&trial, seen, offered, received, (range.time.spent)());
            if accepted && matches!(trial.purpose, Purpose::Bound | Purpose::Confirm) {
                let lead_loss = noticed.lead_loss.unwrap_or_default();
                noticed.lead_loss = Some(lead_loss.max(seen.lead_loss_ratio));
                kept.retain(|(rate, ..)| *rate != trial.rate);
                kept.push((trial.rate, result, loads));
            }
        }
        self.amounts_to(&search.found(), &noticed, kept, range)
    }

    fn amounts_to(
        &self,
        found: &Found,
        noticed: &Noticed,
        kept: Vec<(f64, PointResult, Vec<HostLoad>)>,
        range: &Range<'_>,
    ) -> Measured {
        let lower = found.kept.first().and_then(|first| first.lower);
        let at_lower = lower.and_then(|lower| {
            let near = |(rate, ..): &(f64, _, _)| (rate / lower - 1.0).abs() < 1e-6;
            kept.into_iter().rfind(near)
        });
        let Some((rate, (_, mut result, loads))) = found.rate().zip(at_lower) else {
            return Err(unkept(found, range.accept));
        };
        let mut put = |measure: Measure, value: Option<f64>| {
            if let (Some(part), Some(value)) = (result.parts.first_mut(), value) {
                part.quantities.insert(Metric::all(measure), value);
            }
        };
        put(Measure::FORWARDED, Some(rate));
        put(Measure::STEP, Some(rate));
        put(Measure::KEPT, lower);
        put(Measure::KEPT_WITHOUT_LOSS, found.kept.get(1).and_then(|second| second.lower));
        put(Measure::OVERLOADED, found.plateau);
        put(Measure::VOID, Some(found.void_ratio));
        put(Measure::LEAD_LOSS, noticed.lead_loss);
        put(Measure::EVENTS_AT_HALF, found.events_per_second.first().copied());
        put(Measure::EVENTS_AT_MOST, found.events_per_second.get(1).copied());
        let main = self.workload.main();
        let job = main.map(|part| load_in_words(&part.job)).unwrap_or_default();
        let frame = main.and_then(|part| part.job.block()).unwrap_or(Bytes(1));
        let sent = match main.map(|part| &part.job) {
            Some(Job::Forwarding(job)) => job.frame_sent(&result.flags),
            _ => frame,
        };
        let late = noticed.late.map(|delay_seconds| RateCaveat::Late {
            delay_seconds,
            seconds: range.confirm_seconds,
        });
        let caveats = found.caveats.iter().map(|caveat| as_flag(caveat, sent)).chain(late);
        result.flags.extend(caveats.map(|caveat| Flag::KeptRate {
            workload: job.clone(),
            frame,
            caveat,
        }));
        Ok((result, loads))
    }
}

/// "out", "out imix in 1 flow": a load, as far as the loads of a study differ by more than the bytes of a frame.
fn load_in_words(job: &Job) -> String {
    let title = job.title();
    let Job::Forwarding(job) = job else { return title };
    let mix = if job.imix.is_some() { " imix" } else { "" };
    match job.flows {
        ForwardingJob::FLOWS => format!("{title}{mix}"),
        1 => format!("{title}{mix} in 1 flow"),
        many => format!("{title}{mix} in {many} flows"),
    }
}

/// Why no rate was kept.
fn unkept(found: &Found, accept: Option<&Bound>) -> Box<PointResult> {
    let tried = "find the highest rate that is kept";
    let void = found.caveats.iter().find_map(|caveat| match caveat {
        Caveat::CannotHold { void_ratio } => Some(*void_ratio),
        _ => None,
    });
    let interrupted = found.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Interruptions { plateau } => Some(*plateau),
        _ => None,
    });
    match void {
        None if interrupted.is_some() => {
            let happened = format!(
                "no rate was kept for long, because of interruptions; between them, the router forwards about {:.0} \
                 frames per second",
                interrupted.unwrap_or_default()
            );
            let next =
                "Look for the cause: other work on the router, or a link that fails now and then.";
            failed(tried, &happened, next)
        }
        Some(share) => {
            let happened = format!(
                "this machine cannot hold the rate: the sender was late in {:.0}% of the time (void segments of 0.1 s)",
                100.0 * share
            );
            let next = "Stop other work on the sending machine, or send from a faster one.";
            failed(tried, &happened, next)
        }
        None => {
            let lowest = found.kept.first().and_then(|first| first.upper).unwrap_or_default();
            let at = format!("even at {lowest:.0} frames per second");
            match accept {
                Some(Bound { metric, limit, .. }) => {
                    let late = limit.violation();
                    let happened = format!("{at} more is lost, or {metric} (the delay) is {late}");
                    failed(tried, &happened, "Allow a longer delay, or leave the bound out.")
                }
                None => {
                    let next = "Check that the router forwards, and that no firewall on the path limits UDP.";
                    failed(tried, &format!("{at} more is lost"), next)
                }
            }
        }
    }
}

/// The figures of a trial, with the rates at which frames were sent and received.
fn rate_trial(result: &PointResult) -> (RateTrial, f64, f64) {
    let known = |measure: Measure| result.value(0, Metric::all(measure));
    let value = |measure: Measure| known(measure).unwrap_or_default();
    let slope = known(Measure::DELAY_SLOPE).zip(known(Measure::DELAY_SLOPE_LOW));
    let seen = RateTrial {
        seconds: value(Measure::COUNTED),
        held_seconds: value(Measure::HELD),
        sent: value(Measure::COUNTED_SENT),
        lost: value(Measure::COUNTED_LOST),
        slope: slope.map(|(estimate, low)| Slope { estimate, low }),
        void_ratio: value(Measure::VOID),
        lead_loss_ratio: value(Measure::LEAD_LOSS),
        late_loss_ratio: value(Measure::LATE_LOSS),
        plateau: value(Measure::LATE_RATE),
        loss_events: value(Measure::LOSS_EVENTS),
        all_received: value(Measure::ALL_RECEIVED),
        all_seconds: value(Measure::ALL_SEGMENTS),
        queue_seconds: value(Measure::QUEUE_GROWTH),
    };
    (seen, value(Measure::OFFERED_FRAMES), value(Measure::PACKETS))
}

/// A caveat as it is kept; a burst in bytes.
fn as_flag(caveat: &Caveat, frame: Bytes) -> RateCaveat {
    match *caveat {
        Caveat::AtLeast => RateCaveat::AtLeast,
        Caveat::CannotHold { void_ratio } => RateCaveat::CannotHold { void_ratio },
        Caveat::QuietMoments { share } => RateCaveat::QuietMoments { share },
        Caveat::BurstCredit { packets, plateau } => {
            let bytes = packets * frame.0 as f64;
            RateCaveat::BurstCredit { bytes, frames_per_second: plateau }
        }
        Caveat::Collapse { plateau } => RateCaveat::Collapse { frames_per_second: plateau },
        Caveat::Interruptions { plateau } => {
            RateCaveat::Interruptions { frames_per_second: plateau }
        }
        Caveat::Unfinished { width } => RateCaveat::Unfinished { width_ratio: width },
        Caveat::Unsteady { loss_ratio, seconds } => RateCaveat::Unsteady { loss_ratio, seconds },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{Conditions, measure};
    use plimsoll_model::{Flow, Parameter, Part, PartResult, Steps, StreamJob, Workload};
    use std::num::NonZeroU16;

    const FRAME: u64 = 500;
    const SENDS: f64 = 90_000.0;
    const DELAY: Metric = Metric::all(Measure::QUEUE_P99);

    /// A search on a router that forwards so many frames a second.
    fn searched(
        capacity: f64,
        start: Option<f64>,
        seed: u64,
    ) -> (PointResult, Vec<Point>, Vec<HostLoad>) {
        within(capacity, None, &|_, _| 0.0, start, seed)
    }

    /// The same with a bound on the delay, which depends on the rate and the length of the trial.
    fn within(
        capacity: f64,
        at_most: Option<f64>,
        delay: &dyn Fn(f64, f64) -> f64,
        start: Option<f64>,
        seed: u64,
    ) -> (PointResult, Vec<Point>, Vec<HostLoad>) {
        let steps = Steps::Kept {
            over: Parameter::Rate,
            from: 200.0,
            to: 1e7,
            width: 0.01,
            losses: vec![0.005, 0.0],
            final_seconds: None,
            accept: at_most.map(|at_most| Bound::at_most(DELAY, at_most)),
            is_quick: false,
        };
        let job = ForwardingJob::new(Flow::Out, Bytes(FRAME)).into();
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let workload = Workload::new(part, Length::For { seconds: 1.5, warm_up_seconds: 0.5 });
        let mut order = plimsoll_stats::order::generator(seed, "steps");
        let mut point = |at: &Workload, _: f64| {
            let Job::Forwarding(job) = &at.parts[0].job else { panic!("{at:?}") };
            let Length::For { seconds, warm_up_seconds } = at.length else { panic!("{at:?}") };
            let counted = seconds - warm_up_seconds;
            let rate = job.rate.map_or(SENDS, |rate| f64::from(rate.get()).min(SENDS));
            let carried = rate.min(capacity);
            let quantities = [
                (Measure::OFFERED_FRAMES, rate),
                (Measure::PACKETS, carried),
                (Measure::COUNTED, counted),
                (Measure::HELD, counted),
                (Measure::COUNTED_SENT, rate * counted),
                (Measure::COUNTED_LOST, (rate - carried) * counted),
                (Measure::LATE_LOSS, 1.0 - carried / rate),
                (Measure::LATE_RATE, carried),
                (Measure::ALL_RECEIVED, carried * seconds),
                (Measure::ALL_SEGMENTS, seconds),
                (StreamJob::LOSS, 1.0 - carried / rate),
                (if rate * counted < 2000.0 { Measure::QUEUE_MOST } else { Measure::QUEUE_P99 }, {
                    delay(rate, counted)
                }),
            ];
            let quantities = quantities.map(|(measure, value)| (Metric::all(measure), value));
            let part = PartResult { quantities: quantities.into(), ..PartResult::default() };
            let load = HostLoad { seconds: rate, ..HostLoad::default() };
            let complete = PointResult::empty(Outcome::Complete);
            (PointResult { parts: vec![part], ..complete }, vec![load])
        };
        let time = TimeLimit { most_seconds: f64::INFINITY, spent: &|| 0.0 };
        let conditions = Conditions { start, time };
        let (result, loads, points) =
            measure(&workload, &steps, &conditions, &mut order, &mut point);
        (result, points, loads)
    }

    #[test]
    fn the_result_is_the_point_that_was_kept_with_what_the_search_found() {
        let (result, points, loads) = searched(40_000.0, None, 1);
        let value = |measure| result.value(0, Metric::all(measure)).unwrap();
        assert!((value(Measure::FORWARDED) / 40_200.0 - 1.0).abs() < 0.011, "{result:?}");
        assert!(value(Measure::KEPT) <= 40_201.0 && value(Measure::KEPT) > 39_700.0);
        assert!(value(Measure::KEPT_WITHOUT_LOSS) <= 40_000.0);
        assert!((value(Measure::OVERLOADED) - 40_000.0).abs() < 1.0);
        assert_eq!(value(Measure::STEP), value(Measure::FORWARDED));
        assert!(value(StreamJob::LOSS) <= 0.005 && result.flags.is_empty(), "{result:?}");
        // The loads are those of that point.
        assert!((loads[0].seconds / value(Measure::KEPT) - 1.0).abs() < 1e-3, "{loads:?}");
        assert!((8..40).contains(&points.len()), "{} points", points.len());
        assert_eq!(points[0].at, SENDS, "first as many as the sender can");
    }

    #[test]
    fn a_later_search_begins_near_the_first_one_and_not_on_its_grid() {
        let start = Some(40_000.0);
        let at = |seed| searched(40_000.0, start, seed).1[0].at;
        let all: Vec<f64> = (0..10).map(at).collect();
        assert!(all.iter().all(|at| (39_600.0..=40_000.0).contains(at)), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }

    /// A queue of which 99% is shorter than a millisecond by the share of the capacity that is left.
    fn queue(rate: f64, _: f64) -> f64 {
        0.001 * rate / (40_000.0 - rate.min(39_999.0))
    }

    #[test]
    fn the_highest_rate_with_a_bounded_delay_is_found() {
        for seed in 0..5 {
            let (result, points, _) = within(40_000.0, Some(0.02), &queue, None, seed);
            let value = |measure| result.value(0, Metric::all(measure)).unwrap();
            // 20 of 21 parts of the capacity.
            let found = value(Measure::FORWARDED) / (40_000.0 * 20.0 / 21.0);
            assert!((found - 1.0).abs() < 0.011, "{found}");
            assert!(value(Measure::QUEUE_P99) <= 0.02 && result.flags.is_empty(), "{result:?}");
            // Without loss the delay is bounded, too.
            assert!(value(Measure::KEPT_WITHOUT_LOSS) <= 40_000.0 * 20.0 / 21.0);
            let late = points.iter().filter(|point| point.accepted == Some(false));
            assert!(late.count() > 0 && points.len() < 60, "{} points", points.len());
        }
        // A slow router has too few frames for a 99th percentile.
        let (result, ..) = within(400.0, Some(0.02), &|_, _| 0.019, None, 1);
        assert_eq!(result.outcome, Outcome::Complete, "{result:?}");
        let (result, ..) = within(400.0, Some(0.02), &|_, _| 0.021, None, 1);
        assert!(matches!(result.outcome, Outcome::Failed { .. }), "{result:?}");
        // A bound that is wider than all delays changes nothing, and loss still counts.
        let (result, ..) = within(40_000.0, Some(0.02), &|_, _| 0.019, None, 1);
        let rate = result.value(0, Metric::all(Measure::FORWARDED)).unwrap();
        assert!((rate / 40_200.0 - 1.0).abs() < 0.011, "{rate}");
        // None is kept.
        let (result, ..) = within(40_000.0, Some(0.02), &|_, _| 0.021, None, 1);
        let Outcome::Failed { failure, .. } = result.outcome else { panic!("{result:?}") };
        assert!(failure.happened.contains("is above 0.02"), "{failure}");
    }

    /// The queue grows in seconds.
    #[test]
    fn a_delay_that_a_long_trial_does_not_keep_is_said() {
        let slow = |_: f64, seconds: f64| if seconds > 5.0 { 0.05 } else { 0.001 };
        let (result, ..) = within(40_000.0, Some(0.02), &slow, None, 1);
        let caveat = |flag: &Flag| match flag {
            Flag::KeptRate { caveat: RateCaveat::Late { delay_seconds, seconds }, .. } => {
                Some((*delay_seconds, *seconds))
            }
            _ => None,
        };
        let late: Vec<(f64, f64)> = result.flags.iter().filter_map(caveat).collect();
        assert_eq!(late, [(0.05, 10.0)], "{result:?}");
    }

    /// Of several numbers of flows, one had the words of all.
    #[test]
    fn words_are_of_one_load() {
        let load =
            |flows, job: ForwardingJob| load_in_words(&ForwardingJob { flows, ..job }.into());
        let frames = || ForwardingJob::new(Flow::Out, Bytes(128));
        assert_eq!(load(ForwardingJob::FLOWS, frames()), "out");
        assert_eq!(load(1, frames()), "out in 1 flow");
        assert_eq!(load(1024, frames()), "out in 1024 flows");
        let mix = ForwardingJob::imix(Flow::Both, Bytes(1518));
        assert_eq!(load(ForwardingJob::FLOWS, mix), "both ways imix");
    }

    #[test]
    fn words_and_failures() {
        let (result, ..) = searched(1e6, None, 1);
        let caveat =
            |flag: &Flag| matches!(flag, Flag::KeptRate { caveat: RateCaveat::AtLeast, .. });
        assert!(result.flags.iter().any(caveat), "{:?}", result.flags);
        let (result, ..) = searched(0.0, None, 1);
        let Outcome::Failed { failure, .. } = result.outcome else { panic!("{result:?}") };
        assert!(failure.happened.contains("frames per second more is lost"), "{failure}");
    }
}
