//! Why workers have no lanes: the server is gone, or takes no more connections.

use crate::advice::FEWER_CONNECTIONS;
use crate::connection::patiently;
use crate::prepare::OperationContext;
use crate::share::Share;
use plimsoll_model::{Cause, Failure};
use std::num::NonZeroU16;
use std::time::Duration;

/// How long a server has to take a connection in place of those that were closed.
const NOTICES_WITHIN: Duration = Duration::from_secs(2);
/// Largest operation of a lane that is made for that, in bytes; it does none.
const ANY_BLOCK: u32 = 4096;

/// Why a part has no workers.
pub(crate) struct NoCrew {
    /// What the first lane failed with that could not be made, or anything else.
    pub failure: Failure,
    /// How many of its lanes had been made when one could not be; `None`: it is not about a lane.
    pub taken: Option<u16>,
}

impl From<Failure> for NoCrew {
    fn from(failure: Failure) -> NoCrew {
        NoCrew { failure, taken: None }
    }
}

impl NoCrew {
    /// The failure, once the lanes of all parts are closed: the parts before had so many, and all together are to have one
    /// for each of their workers.
    pub fn failure(
        self,
        share: &dyn Share,
        context: &OperationContext,
        before: u32,
        workers: u32,
    ) -> Failure {
        let NoCrew { failure, taken } = self;
        let Some(taken) = taken else { return failure };
        // A server with a limit takes one again, once it has noticed that the others are closed.
        let request = || context.lane(NonZeroU16::MIN, ANY_BLOCK, false);
        let again = || share.lane(request()).map_err(perhaps_later);
        refused(failure, before + u32::from(taken), workers, || {
            patiently(&context.deadline, NOTICES_WITHIN, again).is_ok()
        })
    }
}

/// Why a worker has no lane after the server took those of others. If it `takes_one` again, it has a limit, which ends
/// the trial and not the study. Otherwise it is gone.
fn refused(
    failure: Failure,
    taken: u32,
    workers: u32,
    takes_one: impl FnOnce() -> bool,
) -> Failure {
    // A server with a limit closes the connection or refuses the session.
    let perhaps_limit = matches!(failure.cause, Cause::Unreachable | Cause::NotPermitted);
    if taken == 0 || !perhaps_limit || !takes_one() {
        return failure;
    }
    let happened =
        format!("the server took {taken} of {workers} connections: {}", failure.happened);
    Failure { cause: Cause::Trial, happened, next: FEWER_CONNECTIONS.to_owned(), ..failure }
}

/// A refusal by a server that may not have noticed yet that others have gone.
fn perhaps_later(failure: Failure) -> Failure {
    match failure.cause {
        Cause::NotPermitted => Failure { cause: Cause::Unreachable, ..failure },
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, MockShare, Reply, VirtualClock};
    use plimsoll_model::Deadline;
    use std::sync::Arc;

    #[test]
    fn a_server_that_takes_some_connections_ends_the_trial_alone() {
        let closed = Failure::new(Cause::Unreachable, "connect").on("nas").happened("closed");
        let limit = refused(closed.clone(), 3, 4, || true);
        assert_eq!(limit.cause, Cause::Trial);
        assert_eq!(limit.happened, "the server took 3 of 4 connections: closed");
        assert!(limit.next.contains("fewer connections"), "{limit}");
        // One that takes none is gone, and so is one that takes none after the others are closed.
        assert_eq!(refused(closed.clone(), 0, 4, || true), closed);
        assert_eq!(refused(closed.clone(), 3, 4, || false), closed);
        // Windows refuses the session.
        let full = Failure { cause: Cause::NotPermitted, ..closed.clone() };
        assert_eq!(refused(full.clone(), 3, 4, || true).cause, Cause::Trial);
        assert_eq!(refused(full.clone(), 0, 4, || true), full);
        assert_eq!(perhaps_later(full.clone()).cause, Cause::Unreachable, "it is tried again");
        // A password that is wrong now locks an account if it is tried again.
        for cause in [Cause::Interrupted, Cause::Authentication] {
            let other = Failure { cause, ..closed.clone() };
            assert_eq!(refused(other.clone(), 3, 4, || panic!("tried again")), other);
            assert_eq!(perhaps_later(other.clone()), other);
        }
    }

    /// A backup beside films: its connection is the first of its part, and one more than the server takes.
    #[test]
    fn the_connections_of_earlier_parts_are_taken_too() {
        let clock = Arc::new(VirtualClock::new());
        let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |_, _| Reply::Never);
        let context = OperationContext {
            content: Arc::new(Content::new(1)),
            paths: Arc::default(),
            deadline: Deadline::new(clock, Arc::default()),
            operation_timeout: NOTICES_WITHIN,
            stalls: Default::default(),
        };
        let closed = Failure::new(Cause::Unreachable, "connect").on("nas").happened("closed");
        let failure = |taken, before| {
            NoCrew { failure: closed.clone(), taken }.failure(&share, &context, before, 4)
        };
        let limit = failure(Some(0), 3);
        assert_eq!(limit.cause, Cause::Trial);
        assert_eq!(limit.happened, "the server took 3 of 4 connections: closed");
        assert_eq!(failure(Some(0), 0), closed);
        assert_eq!(failure(None, 3), closed, "it is not about a connection");
    }
}
