//! Which trial comes next.

use super::bounds::{Class, Loads, Phase, WHOLE};
use super::finish::{Found, LEAST_OF_PASSED, OWN_LIMIT, found};
use super::lengths::{Lengths, for_bounds, most_of_bound, most_of_long, whole};
use super::segments::{LEAD_SECONDS, LONGEST_LEAD_SECONDS, RateTrial};

/// Length of the trial that shows what the sender can send.
const TOP_SECONDS: f64 = 0.5;
/// The rate of overload, as a multiple of the rate found.
const OVERLOAD: f64 = 1.2;
/// Shares of the rate found at which events of loss are counted.
const EVENTS_AT: [f64; 2] = [0.5, 0.9];
/// Share of what the sender can send above which nothing was lost, so that the router's rate is not the lower one. Chosen.
const ALL_PASSED: f64 = 0.99;
/// Trials at a rate that the sender did not keep up after which it counts as above its limit.
const UNHELD_TRIALS: u32 = 2;
/// Steps below such a rate of the next one that is tried.
const UNHELD_STEPS: i64 = 8;
/// Share of void segments from which a sender was late all the time, and share of the rate below which it sent less: one
/// such trial is enough. Chosen.
const ALWAYS_LATE: f64 = 0.8;
const SENT_LESS: f64 = 0.98;
/// Most trials for bounds.
const MOST_TRIALS: usize = 100;

/// What is searched, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Lowest and highest rate, in packets per second.
    pub from: f64,
    /// The highest one.
    pub to: f64,
    /// Width of the result as a share.
    pub width: f64,
    /// Losses that are allowed; the first one leads.
    pub goals: Vec<f64>,
    /// Phase of the grid, from 0 to 1: another one in each search.
    pub phase: f64,
    /// Value of an earlier search, near which this one begins.
    pub start: Option<f64>,
    /// Length of the confirming trial at the rate found.
    pub confirm_seconds: f64,
    /// Whether few and short trials are to decide.
    pub is_quick: bool,
    /// Time in which the search ends, in seconds.
    pub most_seconds: f64,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// As many packets as the sender can send: its own limit, and a first guess.
    Top,
    /// A bound of a goal.
    Bound,
    /// More than is kept: the plateau.
    Overload,
    /// A long trial at the rate found.
    Confirm,
    /// A share of the rate found: does the router stall now and then?
    Events,
}

/// A trial that is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Packets per second; of [`Purpose::Top`] more than the sender can send.
    pub rate: f64,
    /// Time that counts.
    pub seconds: f64,
    /// Longest time until it sums up, while the sender is late now and then.
    pub most_seconds: f64,
    /// Shortest lead-in, before it.
    pub lead_seconds: f64,
    /// What it is for.
    pub purpose: Purpose,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    pub(super) settings: Settings,
    pub(super) lengths: &'static Lengths,
    pub(super) loads: Loads,
    /// Logarithm of the rate at step 0 of the grid.
    origin: Option<f64>,
    lead_seconds: f64,
    /// Highest step that the sender can keep up.
    pub(super) top: i64,
    /// Packets per second that the router forwarded of as many as the sender could send.
    pub(super) passed: Option<f64>,
    /// What the sender keeps up at most.
    pub(super) sender_limit: Option<f64>,
    /// What it sent when it was to send as much as it could. Other rates that it did not keep up may say that something else
    /// had its processor.
    pub(super) sent_at_most: Option<f64>,
    /// Steps that the sender did not keep up, with the number of trials.
    unheld: Vec<(i64, u32)>,
    /// Seconds since the search began.
    spent: f64,
    /// Shares of the segments that were void, of the trials for bounds.
    pub(super) void: Vec<f64>,
    pub(super) overload: Option<RateTrial>,
    pub(super) confirm: Option<RateTrial>,
    /// At each of [`EVENTS_AT`].
    pub(super) events: Vec<RateTrial>,
}

impl Search {
    /// A search that has not begun.
    pub fn new(settings: Settings) -> Search {
        let mut search = Search {
            lengths: Lengths::chosen(settings.is_quick),
            settings,
            loads: Loads::default(),
            origin: None,
            lead_seconds: LEAD_SECONDS,
            top: i64::MAX,
            passed: None,
            sender_limit: None,
            sent_at_most: None,
            unheld: Vec::new(),
            spent: 0.0,
            void: Vec::new(),
            overload: None,
            confirm: None,
            events: Vec::new(),
        };
        if let Some(start) = search.settings.start.filter(|start| *start > 0.0) {
            search.begin_at(start);
        }
        search
    }

    fn begin_at(&mut self, rate: f64) {
        let rate = rate.clamp(self.settings.from, self.settings.to);
        self.origin = Some(rate.ln() - self.settings.phase * self.width());
        self.top = self.top.min(self.step_of(self.settings.to));
    }

    fn width(&self) -> f64 {
        self.settings.width.max(1e-6).ln_1p()
    }

    pub(super) fn rate_of(&self, step: i64) -> f64 {
        (self.origin.unwrap_or_default() + step as f64 * self.width()).exp()
    }

    /// The step at or below a rate.
    fn step_of(&self, rate: f64) -> i64 {
        ((rate.max(f64::MIN_POSITIVE).ln() - self.origin.unwrap_or_default()) / self.width())
            .floor() as i64
    }

    fn bottom(&self) -> i64 {
        self.step_of(self.settings.from) + 1
    }

    /// The trial that comes next; `None` at the end.
    pub fn next(&self) -> Option<Trial> {
        if self.origin.is_none() {
            return Some(self.trial(self.settings.to, TOP_SECONDS, Purpose::Top));
        }
        let bound = self.settings.goals.iter().find_map(|goal| self.bound(*goal));
        let left = self.for_bounds() - self.spent;
        let bound = bound.filter(|_| left > 0.0 && self.void.len() < MOST_TRIALS);
        let bound = bound.map(|(step, phase)| Trial {
            most_seconds: most_of_bound(phase.seconds, left),
            ..self.trial(self.rate_of(step), phase.seconds, Purpose::Bound)
        });
        bound.or_else(|| self.last())
    }

    /// Time for the trials of bounds.
    fn for_bounds(&self) -> f64 {
        let Settings { most_seconds, confirm_seconds, .. } = self.settings;
        for_bounds(most_seconds, self.lengths, confirm_seconds, EVENTS_AT.len())
    }

    /// Whether the bounds of a goal are known.
    pub(super) fn is_settled(&self, goal: f64) -> bool {
        self.bound(goal).is_none()
    }

    fn trial(&self, rate: f64, seconds: f64, purpose: Purpose) -> Trial {
        let left = self.settings.most_seconds - self.spent;
        let most_seconds = most_of_long(seconds, left);
        Trial { rate, seconds, most_seconds, lead_seconds: self.lead_seconds, purpose }
    }

    /// The trials that follow the search. Where its time is over, the rate is confirmed alone.
    fn last(&self) -> Option<Trial> {
        let (Some(lower), upper) = self.first_bounds() else { return None };
        let Lengths { overload, events, .. } = self.lengths;
        let confirm = self.settings.confirm_seconds;
        let has_time = |seconds: f64| self.spent + seconds <= self.settings.most_seconds;
        if let (Some(upper), None, None) = (upper, &self.overload, &self.confirm) {
            let middle = (self.rate_of(lower) * self.rate_of(upper)).sqrt();
            let rate = OVERLOAD * middle;
            let is_possible = self.sender_limit.is_none_or(|limit| rate < limit);
            if is_possible && has_time(whole(*overload) + whole(confirm)) {
                return Some(self.trial(rate, *overload, Purpose::Overload));
            }
        }
        if self.confirm.is_none() {
            return Some(self.trial(self.rate_of(lower), confirm, Purpose::Confirm));
        }
        let share = EVENTS_AT.get(self.events.len()).filter(|_| has_time(whole(*events)))?;
        Some(self.trial(share * self.found().rate()?, *events, Purpose::Events))
    }

    /// The bounds of the first goal; where the time was over before they were known, the best guess, unless that is far
    /// below what passed of too much.
    pub(super) fn first_bounds(&self) -> (Option<i64>, Option<i64>) {
        let Some(goal) = self.settings.goals.first() else { return (None, None) };
        if self.is_settled(*goal) {
            return self.kept_steps(*goal);
        }
        let least = self.passed.map_or(0.0, |passed| LEAST_OF_PASSED * passed);
        match self.loads.bounds(*goal, &self.lengths.phases[0]) {
            (Some(lower), upper) if self.rate_of(lower) >= least => (Some(lower), upper),
            _ => (None, None),
        }
    }

    /// The step that a goal needs next, and how thoroughly; `None` when its bounds are known.
    fn bound(&self, goal: f64) -> Option<(i64, &'static Phase)> {
        let mut before: Option<(Option<i64>, Option<i64>)> = None;
        for phase in self.lengths.phases {
            let bounds = self.loads.bounds(goal, phase);
            let is_known = match bounds {
                (Some(lower), Some(upper)) => upper - lower <= phase.width,
                (Some(lower), None) => lower >= self.top,
                // Even the lowest rate is too much.
                (None, Some(upper)) => upper <= self.bottom(),
                (None, None) => false,
            };
            if !is_known {
                return Some((self.step(goal, phase, bounds, before), phase));
            }
            before = Some(bounds);
        }
        None
    }

    fn step(
        &self,
        goal: f64,
        phase: &Phase,
        bounds: (Option<i64>, Option<i64>),
        before: Option<(Option<i64>, Option<i64>)>,
    ) -> i64 {
        let undecided = |step: i64| self.loads.class(step, goal, phase).is_none();
        // Between the bounds of the phase before, then that of them which is missing.
        if let Some((lower, upper)) = before {
            let inside = |step: &i64| {
                bounds.1.is_none_or(|upper| *step < upper)
                    && bounds.0.is_none_or(|lower| *step > lower)
                    && *step <= self.top
                    && undecided(*step)
            };
            let wide = lower.zip(upper).filter(|(lower, upper)| upper - lower > phase.width);
            let middle = wide.map(|(lower, upper)| lower + (upper - lower) / 2);
            let wanted = [middle, lower, upper];
            if let Some(step) = wanted.into_iter().flatten().find(inside) {
                return step;
            }
        }
        let step = match bounds {
            (None, None) => 0,
            (Some(lower), Some(upper)) => lower + (upper - lower) / 2,
            (Some(lower), None) => {
                let lowers = self.loads.steps(Class::Lower, goal, phase);
                let second = lowers.iter().rev().nth(1);
                lower + second.map_or(phase.width, |second| 2 * (lower - second).max(1))
            }
            (None, Some(upper)) => {
                let uppers = self.loads.steps(Class::Upper, goal, phase);
                let down = uppers.get(1).map_or(phase.width, |second| 2 * (second - upper).max(1));
                // What came through at the upper bound is a good guess.
                let through = self.loads.at(upper).last().map(|seen| self.step_of(seen.plateau));
                let guess = through.filter(|step| *step < upper - down && uppers.len() == 1);
                guess.unwrap_or(upper - down)
            }
        };
        step.clamp(self.bottom().min(self.top), self.top)
    }

    /// Takes what a trial showed. `offered` and `received` are packets per second by the clocks of both ends, whatever
    /// the segments say; `spent` are the seconds since the search began.
    pub fn take(
        &mut self,
        trial: &Trial,
        seen: RateTrial,
        offered: f64,
        received: f64,
        spent: f64,
    ) {
        self.spent = spent;
        match trial.purpose {
            Purpose::Top => {
                self.passed = Some(received).filter(|received| *received > 0.0);
                let passed = self.passed.unwrap_or(self.settings.from);
                // Where all passed, the sender sets the rate, and is late when it has to keep that up.
                let is_whole = received >= ALL_PASSED * offered;
                self.begin_at(if is_whole { OWN_LIMIT * offered } else { passed });
                self.sent_at_most = Some(offered).filter(|offered| *offered < self.settings.to);
                self.limit_sender(offered);
            }
            Purpose::Overload => self.overload = Some(seen),
            Purpose::Confirm => self.confirm = Some(seen),
            Purpose::Events => self.events.push(seen),
            Purpose::Bound => {
                self.void.push(seen.void_ratio);
                let step = self.step_of(trial.rate * (0.5 * self.width()).exp());
                if seen.held_seconds < WHOLE * trial.seconds {
                    let is_limit =
                        seen.void_ratio >= ALWAYS_LATE && offered < SENT_LESS * trial.rate;
                    self.not_held(step, is_limit.then_some(offered));
                } else if seen.seconds < WHOLE * trial.seconds {
                    // The lead-in took more than it was given.
                    self.lead_seconds = LONGEST_LEAD_SECONDS;
                } else {
                    self.loads.add(step, seen);
                }
            }
        }
    }

    /// The sender keeps up no more than that.
    fn limit_sender(&mut self, offered: f64) {
        if offered < self.settings.to {
            let limit = self.sender_limit.map_or(offered, |known| known.min(offered));
            self.sender_limit = Some(limit);
            self.top = self.top.min(self.step_of(limit).max(self.bottom()));
        }
    }

    /// The sender did not keep the rate up; it sent `at_most` so much, if it was late all the time.
    fn not_held(&mut self, step: i64, at_most: Option<f64>) {
        let at = self.unheld.iter().position(|(known, _)| *known == step);
        let at = at.unwrap_or_else(|| {
            self.unheld.push((step, 0));
            self.unheld.len() - 1
        });
        self.unheld[at].1 += if at_most.is_some() { UNHELD_TRIALS } else { 1 };
        if self.unheld[at].1 >= UNHELD_TRIALS {
            let above = self.unheld.iter().filter(|(_, trials)| *trials >= UNHELD_TRIALS).count();
            // Further down each time, since near its own limit a sender is late at many rates; the first time, no further
            // than to a rate that it kept up.
            let below = step - (UNHELD_STEPS << (above - 1).min(16));
            let held = self.loads.held_below(step).filter(|_| above == 1);
            self.limit_sender(at_most.unwrap_or_else(|| self.rate_of(step)));
            self.top = self.top.min(held.map_or(below, |held| held.max(below)));
        }
    }

    /// The bounds of a goal, as steps of the grid.
    pub(super) fn kept_steps(&self, goal: f64) -> (Option<i64>, Option<i64>) {
        self.lengths.phases.last().map_or((None, None), |last| self.loads.bounds(goal, last))
    }

    /// What is known now.
    pub fn found(&self) -> Found {
        found(self)
    }
}
