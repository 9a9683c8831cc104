//! A way out for news that never makes the teller wait: a bounded queue to a thread of its own.

use crate::news::Notice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pieces of news that may wait: some 100 s of windows, a few hundred kilobytes.
const QUEUE: usize = 1024;
/// How long the end of a run waits for the thread to finish its work.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts what was left out.
#[derive(Clone, Default)]
pub(crate) struct Missed(Arc<AtomicU64>);

impl Missed {
    /// Pieces of news left out so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The near end of the queue. Dropping it ends the thread, which works off what is queued.
pub(crate) struct Outlet {
    sender: Option<SyncSender<Notice>>,
    missed: Missed,
    thread: Option<JoinHandle<()>>,
}

impl Outlet {
    /// Starts a thread that does `work` on what comes until nothing more will come. Without a
    /// thread everything is missed.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(Receiver<Notice>, Missed) + Send + 'static,
    ) -> Outlet {
        Outlet::with_queue(QUEUE, name, work)
    }

    fn with_queue(
        queue: usize,
        name: &str,
        work: impl FnOnce(Receiver<Notice>, Missed) + Send + 'static,
    ) -> Outlet {
        let (sender, receiver) = sync_channel(queue);
        let missed = Missed::default();
        let counted = missed.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(receiver, counted))
            .ok();
        Outlet { sender: Some(sender), missed, thread }
    }

    /// Hands over a piece of news, or leaves it out where the queue is full.
    pub(crate) fn send(&self, notice: Notice) {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.try_send(notice).is_ok());
        if !sent {
            self.missed.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.sender = None;
        let Some(thread) = self.thread.take() else { return };
        // A thread that hangs on a dead file system or terminal is left behind.
        let begun = Instant::now();
        while !thread.is_finished() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::News;
    use std::sync::mpsc::channel;

    fn notice(at: u32) -> Notice {
        Notice { at_seconds: f64::from(at), news: News::Baseline { seconds: 1.0 } }
    }

    #[test]
    fn a_reader_that_hangs_costs_news_and_no_time() {
        let (go, wait) = channel::<()>();
        let (seen, all) = channel();
        let outlet = Outlet::with_queue(4, "test", move |receiver, missed| {
            let _ = wait.recv();
            let got: Vec<f64> = receiver.iter().map(|t| t.at_seconds).collect();
            let _ = seen.send((got, missed.count()));
        });
        for at in 0..10 {
            outlet.send(notice(at));
        }
        assert_eq!(outlet.missed.count(), 6);
        go.send(()).unwrap();
        drop(outlet);
        assert_eq!(all.recv().unwrap(), (vec![0.0, 1.0, 2.0, 3.0], 6));
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error() {
        let outlet = Outlet::start("test", |receiver, _| drop(receiver));
        while !outlet.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            std::thread::yield_now();
        }
        outlet.send(notice(0));
        assert_eq!(outlet.missed.count(), 1);
    }
}
