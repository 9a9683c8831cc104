//! A path between a client and a server of this machine that is as long, and as bad, as a test wants:
//! delay, silence and breaks of connections, and lost and doubled datagrams, counted.
//!
//! Rates are not limited: labs have shaped links for that.

mod tcp;
mod udp;

pub use tcp::TcpProxy;
pub use udp::{Faults, UdpCounts, UdpProxy};

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What is on its way, in order, and when it arrives.
struct Line {
    delay: Duration,
    queue: Sender<(Instant, Vec<u8>)>,
}

impl Line {
    fn new(delay: Duration) -> (Line, Receiver<(Instant, Vec<u8>)>) {
        let (queue, arriving) = channel();
        (Line { delay, queue }, arriving)
    }

    /// Sets it on its way; whether anybody waits at the other end.
    fn send(&self, bytes: &[u8]) -> bool {
        self.queue.send((Instant::now() + self.delay, bytes.to_vec())).is_ok()
    }
}

/// Waits for the next that arrives; `None` when there will be none.
fn next(arriving: &Receiver<(Instant, Vec<u8>)>) -> Option<Vec<u8>> {
    let (due, bytes) = arriving.recv().ok()?;
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
    Some(bytes)
}
