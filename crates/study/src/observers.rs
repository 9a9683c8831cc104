//! What passes progress on to the study's own observer.

use crate::hosts::{self, Hosts};
use crate::progress::Progress;
use crate::remaining_time::RemainingTime;
use plimsoll_model::{Event, LoadObserver, Window};

/// Passes progress on while subjects are prepared; there is no load to account for.
pub(crate) struct Preparing<'a>(pub(crate) &'a mut dyn FnMut(Progress<'_>));

impl Preparing<'_> {
    pub(crate) fn begin(&mut self, subject: usize) {
        (self.0)(Progress::Preparing { subject });
    }
}

impl LoadObserver for Preparing<'_> {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, event: Event) {
        (self.0)(Progress::Event(&event));
    }
}

/// Accounts for the hosts while a load runs, and passes progress on.
pub(crate) struct Watching<'a> {
    hosts: &'a mut Hosts,
    observer: &'a mut dyn FnMut(Progress<'_>),
    next_look: f64,
    left: Option<RemainingTime>,
}

impl<'a> Watching<'a> {
    pub(crate) fn new(
        hosts: &'a mut Hosts,
        observer: &'a mut dyn FnMut(Progress<'_>),
        left: Option<RemainingTime>,
    ) -> Self {
        Watching { hosts, observer, next_look: hosts::LOOK.as_secs_f64(), left }
    }
}

impl LoadObserver for Watching<'_> {
    fn load_begins(&mut self) {
        self.hosts.begin();
    }

    fn load_ends(&mut self) {
        self.hosts.end();
    }

    fn event(&mut self, event: Event) {
        if let Event::Window { at_seconds, .. } = &event
            && *at_seconds >= self.next_look
        {
            self.next_look = at_seconds + hosts::LOOK.as_secs_f64();
            (self.observer)(Progress::Loads(&self.hosts.look()));
        }
        if let Event::Window { at_seconds, parts } = &event
            && let Some(seconds) =
                self.left.as_mut().and_then(|left| left.window(*at_seconds, &Window::sum(parts)))
        {
            (self.observer)(Progress::Left { seconds });
        }
        (self.observer)(Progress::Event(&event));
    }
}
