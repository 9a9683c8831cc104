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

    /// The connection broke, or is given up.
    pub fn broke(&mut self, heard: Nanos, now: Nanos, dead: LaneDead, silent: bool) {
        let (wait, end) = (WAIT, now + self.limit);
        match &mut self.broken {
            // Again, before anything was heard.
            Some(broken) => {
                broken.next = Some((now + wait, 2 * wait));
                broken.silent |= silent;
            }
            None => {
                let next = Some((now, wait));
                self.broken = Some(Broken { since: heard, dead, next, end, silent });
            }
        }
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
