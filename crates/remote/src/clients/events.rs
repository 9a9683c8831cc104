//! What several clients say, as one load and its progress.

use plimsoll_model::{Event, LoadObserver, Phase, Window};
use std::collections::VecDeque;

/// What several clients say, as one load and its progress. Like all progress that may be lost; the
/// load ends once for the observer, whatever happens.
pub(super) struct Events<'a> {
    to: &'a mut dyn LoadObserver,
    clients: Vec<Client>,
    loaded: bool,
}

#[derive(Default)]
struct Client {
    /// Places of its parts in the workload.
    places: Vec<usize>,
    /// Windows of its parts that others have not reached yet.
    windows: VecDeque<(f64, Vec<Window>)>,
    /// Whether its load is over.
    over: bool,
}

/// Windows of a client that may wait for those of the others.
const MOST_WAITING: usize = 100;

impl<'a> Events<'a> {
    /// Of clients whose parts have these places in the workload.
    pub fn new(places: Vec<Vec<usize>>, to: &'a mut dyn LoadObserver) -> Events<'a> {
        let client = |places| Client { places, ..Client::default() };
        Events { to, clients: places.into_iter().map(client).collect(), loaded: false }
    }

    /// All clients are to begin.
    pub fn load_begins(&mut self) {
        self.to.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        self.loaded = true;
        self.to.load_begins();
    }

    /// The load of a client is over. It may be said twice.
    pub fn load_ends(&mut self, client: usize) {
        self.clients[client].over = true;
        self.add_windows();
        if self.loaded && self.clients.iter().all(|client| client.over) {
            self.loaded = false;
            self.to.load_ends();
            self.to.event(Event::Phase { phase: Phase::Summarize, total_bytes: 0 });
        }
    }

    /// Takes in what a client said.
    pub fn take(&mut self, client: usize, event: Event) {
        match event {
            // They begin and end when all do, which they cannot know.
            Event::Phase { phase: Phase::Measure | Phase::Summarize, .. } => {}
            // The others do the same at the same time.
            Event::Phase { phase, total_bytes } if client == 0 => {
                let total_bytes = total_bytes.saturating_mul(self.clients.len() as u64);
                self.to.event(Event::Phase { phase, total_bytes });
            }
            Event::Phase { .. } => {}
            Event::Progress { .. } | Event::Step { .. } => self.to.event(event),
            Event::Window { at_seconds, parts } => {
                let waiting = &mut self.clients[client].windows;
                waiting.push_back((at_seconds, parts));
                if waiting.len() > MOST_WAITING {
                    waiting.pop_front();
                }
                self.add_windows();
            }
        }
    }

    /// Hands on the windows that every client has reached whose load goes on.
    fn add_windows(&mut self) {
        let waits = |client: &Client| !client.windows.is_empty();
        while self.clients.iter().any(waits) && self.clients.iter().all(|c| c.over || waits(c)) {
            let count = self.clients.iter().flat_map(|client| &client.places).max();
            let mut parts = vec![Window::default(); count.map_or(0, |last| last + 1)];
            let mut at = 0.0_f64;
            for client in &mut self.clients {
                let Some((seconds, windows)) = client.windows.pop_front() else { continue };
                at = at.max(seconds);
                for (place, window) in client.places.iter().zip(windows) {
                    parts[*place] = window;
                }
            }
            self.to.event(Event::Window { at_seconds: at, parts });
        }
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        if self.loaded {
            self.to.load_ends();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::OpKind;

    #[derive(Default)]
    struct Heard(Vec<Said>);

    #[derive(Clone, Debug, PartialEq)]
    enum Said {
        Begin,
        End,
        Event(Event),
    }

    impl LoadObserver for Heard {
        fn load_begins(&mut self) {
            self.0.push(Said::Begin);
        }
        fn load_ends(&mut self) {
            self.0.push(Said::End);
        }
        fn event(&mut self, event: Event) {
            self.0.push(Said::Event(event));
        }
    }

    fn window(at_seconds: f64, parts: &[u64]) -> Event {
        let window = |operations: &u64| match *operations {
            0 => Window::default(),
            some => Window::only(OpKind::READ, some, some * 4096),
        };
        Event::Window { at_seconds, parts: parts.iter().map(window).collect() }
    }

    /// The first client has the parts at the ends of the workload, the second the one between them.
    fn places() -> Vec<Vec<usize>> {
        vec![vec![0, 2], vec![1]]
    }

    fn phase(phase: Phase, total_bytes: u64) -> Event {
        Event::Phase { phase, total_bytes }
    }

    #[test]
    fn what_two_say_is_heard_once() {
        let mut heard = Heard::default();
        let mut events = Events::new(places(), &mut heard);
        let progress = Event::Progress { bytes: 7 };
        for client in [1, 0] {
            events.take(client, phase(Phase::LayOut, 10));
            events.take(client, progress.clone());
            events.take(client, phase(Phase::Measure, 0));
        }
        events.load_begins();
        events.take(0, window(0.1, &[3, 7]));
        events.take(0, window(0.2, &[4, 8]));
        events.take(1, window(0.15, &[5]));
        events.load_ends(1);
        events.load_ends(1);
        events.take(1, phase(Phase::Summarize, 0));
        events.take(0, window(0.3, &[6, 9]));
        events.load_ends(0);
        events.load_ends(0);
        drop(events);
        let event = Said::Event;
        let expected = [
            event(progress.clone()),
            event(phase(Phase::LayOut, 20)),
            event(progress),
            event(phase(Phase::Measure, 0)),
            Said::Begin,
            event(window(0.15, &[3, 5, 7])),
            event(window(0.2, &[4, 0, 8])),
            event(window(0.3, &[6, 0, 9])),
            Said::End,
            event(phase(Phase::Summarize, 0)),
        ];
        assert_eq!(heard.0, expected);
    }

    #[test]
    fn a_load_ends_on_every_path_and_only_one_that_began() {
        let mut heard = Heard::default();
        let mut events = Events::new(places(), &mut heard);
        events.load_begins();
        events.load_ends(1);
        drop(events);
        assert_eq!(heard.0[1..], [Said::Begin, Said::End]);

        let mut heard = Heard::default();
        let mut events = Events::new(places(), &mut heard);
        events.load_ends(0);
        events.load_ends(1);
        drop(events);
        assert_eq!(heard.0, []);
    }
}
