//! What jobs see of the run that they are part of.

use crate::directory::RunDirectory;
use plimsoll_load::{Namespace, RunContext};
use plimsoll_model::{Cause, Deadline, Event, Failure, LoadObserver, Nanos};
use std::time::Duration;

/// Shortest time between two renewals of the lease while a job prepares.
const RENEWED: Duration = Duration::from_secs(60);

/// The run's directory, if there is one, and who looks on.
pub(crate) struct Context<'a> {
    directory: &'a mut Option<RunDirectory>,
    observer: &'a mut dyn LoadObserver,
    given: &'a str,
    deadline: &'a Deadline,
    silence: Duration,
    renewed: Nanos,
}

impl<'a> Context<'a> {
    /// `silence`: the longest time in which the lease need not be renewed.
    pub fn new(
        directory: &'a mut Option<RunDirectory>,
        observer: &'a mut dyn LoadObserver,
        given: &'a str,
        deadline: &'a Deadline,
        silence: Duration,
    ) -> Self {
        Context { directory, observer, given, deadline, silence, renewed: deadline.now() }
    }
}

impl RunContext for Context<'_> {
    fn names(&mut self) -> Result<(&mut dyn Namespace, &str), Failure> {
        match self.directory {
            Some(directory) => Ok(directory.names()),
            None => {
                let happened = "with --file, plimsoll does not write";
                let next = "Omit --file to write, or name patterns that only read.";
                Err(Failure::new(Cause::Usage, "write to the target")
                    .on(self.given)
                    .happened(happened)
                    .next(next))
            }
        }
    }

    fn event(&mut self, event: Event) {
        let progress = matches!(event, Event::Progress { .. });
        self.observer.event(event);
        if progress && self.deadline.now().since(self.renewed) > self.silence.max(RENEWED) {
            self.renewed = self.deadline.now();
            // A lease that cannot be renewed shows soon enough in the work itself.
            let _ = self.directory.as_mut().map(RunDirectory::renew);
        }
    }
}
