//! Scripted routers in virtual time, and a search on one of them: fluid steps of 1 ms.

use plimsoll_stats::kept::{
    Found, LONGEST_SECONDS, MOST_SECONDS, Purpose, QUICK_SECONDS, Search, Segment, Settings, Trial,
    confirm_seconds, count, late_seconds,
};
use plimsoll_stats::order;
use rand_pcg::Pcg64;
use std::f64::consts::PI;

/// Packets per second that the router forwards.
pub const CAPACITY: f64 = 40_000.0;
/// Steps of a segment.
const STEPS: usize = 100;

/// A router, and the sender before it.
#[derive(Clone, Debug)]
pub struct Bed {
    /// Packets that the router's queue takes.
    pub queue: f64,
    /// Spread of its capacity from one step to the next.
    pub jitter: f64,
    /// Stalls per second, each of 8 ms on average.
    pub stalls: f64,
    /// How often per second the sender is late, by 8 ms on average.
    pub late: f64,
    /// The first so many ms of a trial are forwarded at this share of the capacity.
    pub slow: (usize, f64),
    /// Packets of credit in place of a queue.
    pub credit: f64,
    /// Share of the capacity that is left at overload.
    pub collapses_to: f64,
    /// Packets per second that the sender can send.
    pub sends: f64,
    /// Share of the time in which other work takes 15% of the router, and makes the sender late so often per second.
    pub busy: (f64, f64),
}

impl Default for Bed {
    fn default() -> Bed {
        Bed {
            queue: 256.0,
            jitter: 0.02,
            stalls: 0.0,
            late: 0.0,
            slow: (0, 1.0),
            credit: 0.0,
            collapses_to: 1.0,
            sends: 100_000.0,
            busy: (0.0, 0.0),
        }
    }
}

/// A search in progress on a bed.
struct Run {
    bed: Bed,
    chance: Pcg64,
    seconds: f64,
    is_busy: bool,
}

impl Run {
    fn normal(&mut self) -> f64 {
        let (a, b) = (order::unit(&mut self.chance), order::unit(&mut self.chance));
        (-2.0 * (1.0 - a).ln()).sqrt() * (2.0 * PI * b).cos()
    }

    fn happens(&mut self, per_second: f64) -> bool {
        order::unit(&mut self.chance) < per_second / 1000.0
    }

    /// Steps of a stall, exponential with a mean of 8 ms.
    fn stall(&mut self) -> usize {
        (-8.0 * (1.0 - order::unit(&mut self.chance)).ln()) as usize + 1
    }

    /// A trial at a rate: segments until the good ones after the lead-in sum up to its length.
    fn trial(&mut self, rate: f64, trial: &Trial) -> Vec<Segment> {
        let rate = rate.min(self.bed.sends);
        let (lead, wanted) = (segments(trial.lead_seconds), segments(trial.seconds));
        let most = lead + segments(trial.most_seconds.min(LONGEST_SECONDS)).max(wanted);
        let mut all: Vec<Segment> = Vec::new();
        let (mut queued, mut tokens, mut stalled, mut late, mut owed) =
            (0.0, self.bed.credit, 0, 0, 0.0);
        let (mut good, mut step) = (0, 0);
        while good < wanted && all.len() < most {
            let mut segment = Segment::default();
            let mut delays = Vec::with_capacity(STEPS);
            for _ in 0..STEPS {
                step += 1;
                if usize::is_multiple_of(step, 10) {
                    let (share, _) = self.bed.busy;
                    // Busy and quiet times of some seconds.
                    let leave = if self.is_busy { 1.0 - share } else { share };
                    if self.happens(10.0 * leave / 3.0) {
                        self.is_busy = !self.is_busy;
                    }
                }
                let mut capacity = CAPACITY / 1000.0 * (1.0 + self.bed.jitter * self.normal());
                if stalled > 0 {
                    stalled -= 1;
                    capacity = 0.0;
                } else if self.happens(self.bed.stalls) {
                    stalled = self.stall();
                }
                if self.is_busy {
                    capacity *= 0.85;
                }
                let (slow, share) = self.bed.slow;
                if step <= slow {
                    capacity *= share;
                }
                let mut arrives = rate / 1000.0;
                let lateness = self.bed.late + if self.is_busy { self.bed.busy.1 } else { 0.0 };
                if late > 0 {
                    late -= 1;
                    owed += arrives;
                    arrives = 0.0;
                    segment.late_seconds = segment.late_seconds.max(owed / rate);
                } else if owed > 0.0 {
                    // Catching up is limited: the schedule shifts by the rest.
                    arrives += owed.min(8.0);
                    owed = 0.0;
                } else if self.happens(lateness) {
                    late = self.stall();
                }
                segment.sent += arrives;
                let lost = if self.bed.credit > 0.0 {
                    tokens = (tokens + capacity).min(self.bed.credit);
                    let out = arrives.min(tokens);
                    tokens -= out;
                    arrives - out
                } else {
                    if self.bed.collapses_to < 1.0 && queued >= self.bed.queue {
                        capacity *= self.bed.collapses_to;
                    }
                    queued = (queued + arrives - capacity).max(0.0);
                    let lost = (queued - self.bed.queue).max(0.0);
                    queued -= lost;
                    lost
                };
                segment.received += arrives - lost;
                delays.push(queued / CAPACITY);
            }
            delays.sort_by(f64::total_cmp);
            segment.delay_seconds = Some(delays[STEPS / 2]);
            all.push(segment);
            let is_late = |at: usize| all[at].late_seconds > late_seconds(rate);
            let last = all.len() - 1;
            if last >= lead && !is_late(last) && !is_late(last - 1) {
                good += 1;
            }
        }
        self.seconds += all.len() as f64 * 0.1 + 0.3;
        all
    }
}

pub fn segments(seconds: f64) -> usize {
    (seconds * 10.0).round() as usize
}

/// Settings of a usual search, or of one that a few short trials decide.
pub fn settings(is_quick: bool, phase: f64) -> Settings {
    Settings {
        from: 100.0,
        to: 1e6,
        width: 0.01,
        goals: vec![0.005, 0.0],
        phase,
        start: None,
        confirm_seconds: confirm_seconds(is_quick),
        is_quick,
        most_seconds: if is_quick { QUICK_SECONDS } else { MOST_SECONDS },
    }
}

/// A whole search, and the seconds that it took.
pub fn searched(bed: &Bed, seed: u64, is_quick: bool) -> (Found, f64) {
    let mut chance = order::generator(seed, "router");
    let phase = order::unit(&mut chance);
    let mut run = Run { bed: bed.clone(), chance, seconds: 0.0, is_busy: false };
    let mut search = Search::new(settings(is_quick, phase));
    let mut trials = 0;
    while let Some(trial) = search.next() {
        trials += 1;
        assert!(trials <= 200, "the search does not end: {search:?}");
        let sends = trial.rate.min(run.bed.sends);
        let whole = match trial.purpose {
            // As many as it can: nobody is late.
            Purpose::Top => Trial { seconds: 0.5, ..trial },
            _ => trial,
        };
        let all = run.trial(trial.rate, &whole);
        let seen = count(&all, trial.lead_seconds);
        let received = seen.all_received / seen.all_seconds;
        // A schedule that is shifted sends less.
        let sent = all.iter().map(|segment| segment.sent).sum::<f64>() / seen.all_seconds;
        search.take(&trial, seen, sends.min(sent), received, run.seconds);
    }
    (search.found(), run.seconds)
}
