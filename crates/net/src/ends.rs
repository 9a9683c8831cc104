//! The ends of a path: two hosts with the probe on each.

use crate::address::Addresses;
use crate::report::Report;
use crate::session::Session;
use plimsoll_model::{Failure, Flag, HostName};
use plimsoll_reach::probe::Placed;
use std::fmt;
use std::net::IpAddr;

/// One of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first host.
    A,
    /// The second one.
    B,
}

impl Side {
    /// Both, A first.
    pub const BOTH: [Side; 2] = [Side::A, Side::B];

    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::A => "A",
            Side::B => "B",
        })
    }
}

/// A host at an end of the path.
pub struct End {
    /// As the user named it.
    pub name: HostName,
    /// The probe on it.
    pub placed: Placed,
}

impl End {
    /// Removes the probe; a flag if it is left.
    pub(crate) fn remove(self) -> Option<Flag> {
        Some(Flag::program_left(&self.name, self.placed.remove().err()?))
    }
}

/// Both ends.
pub struct Ends {
    /// A.
    pub a: End,
    /// B.
    pub b: End,
    /// Where they find each other.
    pub addresses: Addresses,
    /// The address of a router in between that the listener may see instead of the one of the end that connects.
    pub translated: Option<IpAddr>,
    /// The end that opens all connections.
    pub opener: Side,
    /// The port that the other one listens at; 0: the kernel chooses.
    pub port: u16,
}

impl Ends {
    /// The host at a side.
    pub fn end(&self, side: Side) -> &End {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// Removes the probes; a flag for each that is left.
    pub(crate) fn remove(self) -> Vec<Flag> {
        [self.a, self.b].into_iter().filter_map(End::remove).collect()
    }
}

/// Sessions of one part of a workload, one at each end; a part runs at the same time as the others.
#[derive(Default)]
pub(crate) struct Pair {
    a: Option<Session>,
    b: Option<Session>,
}

impl Pair {
    /// Starts the sessions that are not there.
    pub fn ready(&mut self, ends: &Ends) -> Result<(), Failure> {
        for side in Side::BOTH {
            let slot = self.slot(side);
            if slot.as_ref().is_some_and(Session::is_stale)
                && let Some(stale) = slot.take()
            {
                stale.stop();
            }
            if slot.is_none() {
                *slot = Some(Session::start(&ends.end(side).placed)?);
            }
        }
        Ok(())
    }

    fn slot(&mut self, side: Side) -> &mut Option<Session> {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// The session at a side, once it is ready.
    pub fn at(&mut self, side: Side) -> Option<&mut Session> {
        self.slot(side).as_mut()
    }

    /// Both sessions, A first.
    pub fn both(&mut self) -> impl Iterator<Item = &mut Session> {
        [&mut self.a, &mut self.b].into_iter().flatten()
    }

    /// What both said of their trial; they forget it.
    pub fn take_reports(&mut self) -> (Report, Report) {
        let take = |session: &mut Option<Session>| {
            session.as_mut().map(|session| std::mem::take(&mut session.report)).unwrap_or_default()
        };
        (take(&mut self.a), take(&mut self.b))
    }

    /// Ends both.
    pub fn stop(self) {
        [self.a, self.b].into_iter().flatten().for_each(Session::stop);
    }
}
