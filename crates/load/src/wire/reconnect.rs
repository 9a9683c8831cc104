//! What becomes of a lane whose connection breaks or falls silent: it connects again, and what was in
//! flight is sent again.
//!
//! How long that takes at most is bounded here; how long an operation takes, by whoever issued it.

use crate::connection::{LONGEST_WAIT, WAIT};
use crate::share::LaneDead;
use plimsoll_model::units::seconds;
use plimsoll_model::{Failure, Nanos};
use std::time::Duration;

/// Makes a connection like the one that broke.
pub(crate) type Connect<W, C> = Box<dyn FnMut(&mut W) -> Result<C, Failure> + Send>;

/// A lane is given up whose connections broke so often in as long as a server may be away, answered in between or not. A
/// server may close its oldest connection for each new one: lanes that connect again take turns then without end.
const MOST_BREAKS: usize = 20;

/// A time without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// When it began, since the lane's first operation.
    pub at: Duration,
    /// Until the first reply on a new connection.
    pub lasted: Duration,
}

/// How a lane gets a new connection, and what it has had to do for it.
pub(crate) struct Reconnect<W, C> {
    connect: Connect<W, C>,
    /// How long a server may be away, and how long it may be silent before a new connection is tried.
    limit: Duration,
    /// When the lane's first operation was submitted.
    begun: Option<Nanos>,
    broken: Option<Broken>,
    gaps: Vec<Gap>,
}

/// The time since a connection broke.
struct Broken {
    /// When the last reply came, or the first call after it was made.
    since: Nanos,
    /// Why.
    dead: LaneDead,
    /// When to try to connect, and how long to wait after that; `None`: there is a connection, and no
    /// reply yet.
    next: Option<(Nanos, Duration)>,
    /// Until when there must be one.
    end: Nanos,
    /// Whether a silent connection was given up for another one, which is done once.
    silent: bool,
    /// How many new connections broke before a reply came.
    closed: u32,
}

/// How it stands with a lane's connection.
pub(crate) enum Link<P> {
    /// As it was.
    Same,
    /// A new one.
    New(P),
    /// None until this time.
    None(Nanos),
}

impl<W, C> Reconnect<W, C> {
    pub fn new(connect: Connect<W, C>, limit: Duration) -> Self {
        Reconnect { connect, limit, begun: None, broken: None, gaps: Vec::new() }
    }

    /// An operation is submitted.
    #[inline]
    pub fn submitted(&mut self, now: Nanos) {
        if self.begun.is_none() {
            self.begun = Some(now);
        }
    }

    /// Whether there is no connection now.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.broken.as_ref().is_some_and(|broken| broken.next.is_some())
    }

    /// When a connection on which nothing was heard since then is given up; `None`: not any more.
    #[inline]
    pub fn silent_at(&self, heard: Nanos) -> Option<Nanos> {
        let given_up = self.broken.as_ref().is_some_and(|broken| broken.silent);
        (!given_up).then(|| heard + self.limit)
    }

    /// The connection broke. An error where new ones have done so for too long: a server with a limit of connections may
    /// take more, and close them when they are used.
    pub fn broke(&mut self, heard: Nanos, now: Nanos, dead: LaneDead) -> Result<(), LaneDead> {
        let Some(broken) = &mut self.broken else {
            if self.breaks_too_often(heard) {
                let LaneDead { kind, detail } = dead;
                let within = seconds(self.limit.as_secs_f64());
                let detail =
                    format!("{detail}, and {MOST_BREAKS} others broke within {within} before it");
                return Err(LaneDead { kind, detail });
            }
            self.begin(heard, now, dead, false);
            return Ok(());
        };
        broken.closed += 1;
        if now >= broken.end && broken.closed > 1 {
            let LaneDead { kind, detail } = broken.dead.clone();
            let (closed, tried) = (broken.closed, seconds(self.limit.as_secs_f64()));
            let detail =
                format!("{detail}, and {closed} new connections were closed unanswered in {tried}");
            return Err(LaneDead { kind, detail });
        }
        let wait = (WAIT * (1_u32 << (broken.closed - 1).min(8))).min(LONGEST_WAIT);
        broken.next = Some((now + wait, (2 * wait).min(LONGEST_WAIT)));
        Ok(())
    }

    /// Whether a connection that was last heard then is one of too many that broke.
    fn breaks_too_often(&self, heard: Nanos) -> bool {
        let first = self.gaps.len().checked_sub(MOST_BREAKS).and_then(|at| self.gaps.get(at));
        first.zip(self.begun).is_some_and(|(gap, begun)| heard.since(begun + gap.at) < self.limit)
    }

    /// A silent connection is given up.
    pub fn fell_silent(&mut self, heard: Nanos, now: Nanos, dead: LaneDead) {
        match &mut self.broken {
            // A new one, on which nothing was heard.
            Some(broken) => {
                broken.next = Some((now + WAIT, 2 * WAIT));
                broken.silent = true;
            }
            None => self.begin(heard, now, dead, true),
        }
    }

    /// A time without a connection begins.
    fn begin(&mut self, heard: Nanos, now: Nanos, dead: LaneDead, silent: bool) {
        let (next, end) = (Some((now, WAIT)), now + self.limit);
        self.broken = Some(Broken { since: heard, dead, next, end, silent, closed: 0 });
    }

    /// A reply came.
    #[inline]
    pub fn heard(&mut self, at: Nanos) {
        if self.broken.is_some() {
            self.mended(at);
        }
    }

    #[cold]
    fn mended(&mut self, at: Nanos) {
        let Some(Broken { since, .. }) = self.broken.take() else { return };
        self.gaps.push(Gap { at: since - self.begun.unwrap_or(since), lasted: at - since });
    }

    /// Connects if it is time for that.
    pub fn link(&mut self, wire: &mut W, now: Nanos) -> Result<Link<C>, LaneDead> {
        let Some(Broken { dead, next: place, end, .. }) = &mut self.broken else {
            return Ok(Link::Same);
        };
        let Some((next, wait)) = *place else { return Ok(Link::Same) };
        if now < next {
            return Ok(Link::None(next));
        }
        match (self.connect)(wire) {
            Ok(pipeline) => {
                *place = None;
                Ok(Link::New(pipeline))
            }
            Err(failure) if now >= *end => {
                let LaneDead { kind, detail } = dead.clone();
                let tried = seconds(self.limit.as_secs_f64());
                let detail = format!(
                    "{detail}, and no new connection could be opened within {tried} ({})",
                    failure.happened
                );
                Err(LaneDead { kind, detail })
            }
            Err(_) => {
                let next = now + wait;
                *place = Some((next, (2 * wait).min(LONGEST_WAIT)));
                Ok(Link::None(next))
            }
        }
    }

    /// The times without a connection so far.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::ErrorKind;

    const LIMIT: Duration = Duration::from_secs(15);
    const SECOND: Duration = Duration::from_secs(1);

    fn reset() -> LaneDead {
        LaneDead { kind: ErrorKind::ConnectionLost, detail: "reset".to_owned() }
    }

    /// A lane that gets a new connection whenever it asks for one.
    fn lane() -> Reconnect<(), ()> {
        Reconnect::new(Box::new(|_| Ok(())), LIMIT)
    }

    /// When it has a new connection.
    fn connected(reconnect: &mut Reconnect<(), ()>, mut now: Nanos) -> Nanos {
        while let Link::None(next) = reconnect.link(&mut (), now).unwrap() {
            now = next;
        }
        now
    }

    /// It went on as long as the operation might take, and the error said "no answer".
    #[test]
    fn a_server_that_closes_each_new_connection_is_given_up() {
        let mut reconnect = lane();
        let begun = Nanos(0) + SECOND;
        let (mut now, mut made) = (begun, 0);
        let ended = loop {
            if let Err(ended) = reconnect.broke(begun, now, reset()) {
                break ended;
            }
            now = connected(&mut reconnect, now);
            made += 1;
        };
        let took = now.since(begun);
        assert!(took >= LIMIT && took <= LIMIT + LONGEST_WAIT, "{took:?}");
        assert!(made < 30, "it is asked less and less often: {made}");
        let detail = format!("reset, and {made} new connections were closed unanswered in 15.0 s");
        assert_eq!(ended, LaneDead { kind: ErrorKind::ConnectionLost, detail });
    }

    #[test]
    fn a_server_that_answers_between_breaks_is_not_given_up() {
        let mut reconnect = lane();
        let mut now = Nanos(0) + SECOND;
        reconnect.submitted(now);
        for _ in 0..40 {
            reconnect.broke(now, now, reset()).unwrap();
            now = connected(&mut reconnect, now) + SECOND;
            reconnect.heard(now);
        }
        assert_eq!(reconnect.gaps().len(), 40);
    }

    /// It was "reconnected" thousands of times in a trial, and the trial counted.
    #[test]
    fn connections_that_others_push_out_again_and_again_are_given_up() {
        let mut reconnect = lane();
        let mut now = Nanos(0) + SECOND;
        reconnect.submitted(now);
        let ended = loop {
            if let Err(ended) = reconnect.broke(now, now, reset()) {
                break ended;
            }
            now = connected(&mut reconnect, now) + SECOND / 100;
            reconnect.heard(now);
        };
        assert_eq!(reconnect.gaps().len(), MOST_BREAKS);
        let detail = "reset, and 20 others broke within 15.0 s before it".to_owned();
        assert_eq!(ended, LaneDead { kind: ErrorKind::ConnectionLost, detail });
    }
}
