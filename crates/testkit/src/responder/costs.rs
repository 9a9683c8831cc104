//! What a responder charges: a server whose costs are known, so that what a client makes of them can be
//! held against the truth.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The costs of a server that does one call after the other, whatever connection they come on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Of each call.
    pub operation: Duration,
    /// Of each byte of a call and its reply as they are on the wire, in seconds.
    pub byte: f64,
    /// When it does nothing at all.
    pub stalls: Option<Stalls>,
}

/// Times in which a server does nothing, at regular intervals; the first one begins with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// How long each lasts.
    pub length: Duration,
    /// From the beginning of one to that of the next: longer than they last.
    pub every: Duration,
}

impl Costs {
    /// As fast as the machine.
    pub const FREE: Costs = Costs { operation: Duration::ZERO, byte: 0.0, stalls: None };
}

/// When calls are done, by their costs alone: a queue with one server, first come, first served.
#[derive(Clone, Debug)]
pub struct Schedule {
    costs: Costs,
    /// Until when there is work, since the server began.
    busy: Duration,
}

impl Schedule {
    /// Of a server that begins now.
    ///
    /// # Panics
    /// If it stalls all the time.
    pub fn new(costs: Costs) -> Schedule {
        let works = costs.stalls.is_none_or(|stalls| stalls.length < stalls.every);
        assert!(works, "a server that stalls all the time answers nothing: {costs:?}");
        Schedule { costs, busy: Duration::ZERO }
    }

    /// When a call with its reply of so many bytes, which comes at `arrival`, is done. Both times are since
    /// the server began, and calls come in the order in which they are asked about.
    pub fn done(&mut self, arrival: Duration, bytes: usize) -> Duration {
        let of_bytes = Duration::from_secs_f64(self.costs.byte * bytes as f64);
        let (begin, work) = (arrival.max(self.busy), self.costs.operation + of_bytes);
        self.busy = match self.costs.stalls {
            Some(stalls) => stalls.end(begin, work),
            None => begin + work,
        };
        self.busy
    }
}

impl Stalls {
    /// The response time in seconds that this share of calls stays below which arrive at this interval, each
    /// for `operation` of work, if their phase is another one in each period. The first to wait for all of a
    /// stall is in work when it begins; who comes later has less to wait for, by as much of the time as is
    /// left idle.
    pub fn quantile(self, operation: Duration, interval: Duration, share: f64) -> f64 {
        let [length, every, operation, interval] =
            [self.length, self.every, operation, interval].map(|time| time.as_secs_f64());
        let busy = operation / interval;
        // The mean of what is in work when a stall begins, and of the half of one that those who wait are
        // behind by coming at all times of the one before.
        let ahead = (1.0 + busy) * operation / 2.0;
        let since = every * (1.0 - share) - operation;
        (length + ahead - (1.0 - busy) * since).max(operation)
    }

    /// When work ends that may begin at `now`: it rests in each stall.
    fn end(self, mut now: Duration, mut work: Duration) -> Duration {
        let every = self.every.as_nanos();
        loop {
            let since = Duration::from_nanos((now.as_nanos() % every) as u64);
            now += self.length.saturating_sub(since);
            let until_next = self.every - since.max(self.length);
            if work <= until_next {
                return now + work;
            }
            work -= until_next;
            now += until_next;
        }
    }
}

/// Charges calls of any number of connections.
#[derive(Debug)]
pub(super) struct Charge {
    begun: Instant,
    schedule: Mutex<Schedule>,
}

/// The end of a wait that is spun rather than slept, as a sleep ends up to about this much too late.
const SPUN: Duration = Duration::from_micros(100);

impl Charge {
    /// From now on; `None`: nothing is charged.
    pub fn new(costs: Costs) -> Option<Charge> {
        let schedule = || Mutex::new(Schedule::new(costs));
        (costs != Costs::FREE).then(|| Charge { begun: Instant::now(), schedule: schedule() })
    }

    /// Waits until a call that came at `arrived` is done.
    pub fn wait(&self, arrived: Instant, bytes: usize) {
        let arrival = arrived.saturating_duration_since(self.begun);
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.begun + schedule.done(arrival, bytes);
        drop(schedule);
        let left = done.saturating_duration_since(Instant::now());
        if left > SPUN {
            std::thread::sleep(left - SPUN);
        }
        while Instant::now() < done {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::fit::Rule;
    use plimsoll_stats::fit::costs::{Cell, CostKind, Groups, Work, fit};

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn calls_cost_what_they_are_said_to_one_after_the_other() {
        let costs = Costs { operation: ms(2), byte: 1e-6, stalls: None };
        let mut schedule = Schedule::new(costs);
        assert_eq!(schedule.done(ms(10), 0), ms(12));
        assert_eq!(schedule.done(ms(10), 3000), ms(17), "it waits for the one before");
        assert_eq!(schedule.done(ms(40), 1000), ms(43));
        assert_eq!(Schedule::new(Costs::FREE).done(ms(7), 1 << 20), ms(7));
    }

    #[test]
    fn work_rests_in_each_stall() {
        let stalls = Stalls { length: ms(10), every: ms(100) };
        let mut schedule =
            Schedule::new(Costs { operation: ms(5), byte: 0.0, stalls: Some(stalls) });
        assert_eq!(schedule.done(ms(0), 0), ms(15), "the first begins with the server");
        assert_eq!(schedule.done(ms(1), 0), ms(20), "and the next one waits");
        assert_eq!(schedule.done(ms(97), 0), ms(112), "three before the stall, two after it");
        assert_eq!(schedule.done(ms(195), 0), ms(200), "done when it begins");
        assert_eq!(stalls.end(ms(50), ms(200)), ms(50 + 200 + 2 * 10), "several of them");
    }

    fn quantile(sorted: &[f64], share: f64) -> f64 {
        sorted[(sorted.len() as f64 * share) as usize]
    }

    /// What arrives at its own times tells of a stall whatever waits; a closed loop meets it once.
    #[test]
    fn calls_that_arrive_at_their_own_times_see_a_stall_as_long_as_it_is() {
        let stalls = Stalls { length: ms(1000), every: ms(10_000) };
        let (work, interval) = (ms(5), Duration::from_micros(25_356));
        let costs = Costs { operation: work, byte: 0.0, stalls: Some(stalls) };
        let mut schedule = Schedule::new(costs);
        let paced = (0..9465).map(|number| interval * number);
        let waits = paced.map(|arrival| (schedule.done(arrival, 0) - arrival).as_secs_f64());
        let mut paced: Vec<f64> = waits.collect();
        paced.sort_by(f64::total_cmp);
        let mut schedule = Schedule::new(costs);
        let mut closed = Vec::new();
        let mut now = Duration::ZERO;
        while now < 6 * stalls.every {
            let done = schedule.done(now, 0);
            closed.push((done - now).as_secs_f64());
            now = done;
        }
        closed.sort_by(f64::total_cmp);
        for share in [0.5, 0.9, 0.95, 0.97, 0.99, 0.995] {
            let (found, expected) =
                (quantile(&paced, share), stalls.quantile(work, interval, share));
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found}, not {expected}");
            assert_eq!(quantile(&closed, share), 0.005, "{share}");
        }
        let longest = (stalls.length + work).as_secs_f64();
        assert_eq!(closed.last(), Some(&longest), "{} calls", closed.len());
    }

    /// The fit that the program makes finds what a server charges.
    #[test]
    fn the_cost_model_finds_what_is_charged() {
        let costs = Costs { operation: ms(4), byte: 50e-9, stalls: None };
        let mut schedule = Schedule::new(costs);
        let mut now = Duration::ZERO;
        let mut seconds = |bytes: u64| {
            let done = schedule.done(now, bytes as usize);
            let took = done - now;
            now = done;
            Some(took.as_secs_f64())
        };
        let cell = |bytes: u64| Cell {
            work: Work { files: 0.0, operations: 1.0, bytes: bytes as f64 },
            groups: Groups::default(),
            seconds: (0..3).map(|_| seconds(bytes)).collect(),
        };
        let cells: Vec<Cell> = [512, 4096, 65536, 1 << 20].map(cell).into();
        let found = fit(&cells).unwrap();
        let cost = |kind| found.cost(kind, 0, Rule::Fixed(0.95)).unwrap().value;
        assert!((cost(CostKind::Operation) / 4e-3 - 1.0).abs() < 1e-3);
        assert!((cost(CostKind::Byte) / 50e-9 - 1.0).abs() < 1e-3);
    }

    #[test]
    #[should_panic = "answers nothing"]
    fn a_server_works_at_times() {
        let stalls = Some(Stalls { length: ms(10), every: ms(10) });
        Schedule::new(Costs { stalls, ..Costs::FREE });
    }
}
