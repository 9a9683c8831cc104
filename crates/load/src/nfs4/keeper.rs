//! Keeps what a share has open: a server forgets a client that is silent for the time of its lease,
//! and between two trials nobody may have anything to say.

use super::share::Server;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A thread that renews the lease. It ends when this is dropped.
pub(super) struct Keeper {
    _ends: Sender<()>,
}

impl Keeper {
    /// Renews a lease of so long, three times in it. What cannot be renewed is noticed by who uses it.
    pub fn start(server: &Arc<Server>, lease: Duration) -> Keeper {
        let (ends, ended) = channel();
        let server = server.clone();
        let every = (lease / 3).max(Duration::from_secs(1));
        std::thread::spawn(move || {
            let mut client = None;
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // A connection that broke is made again, which also opens again what was open.
                let mut live = match client.take() {
                    Some(live) => live,
                    None => match server.client() {
                        Ok(live) => live,
                        Err(_) => continue,
                    },
                };
                if live.renew().is_ok() {
                    client = Some(live);
                }
            }
        });
        Keeper { _ends: ends }
    }
}
