//! Datagrams of ONC RPC through a path: some are dropped or doubled, by a seed, and counted by transaction.

use crate::servers::liar::Chance;
use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Space for the longest datagram, in bytes.
const LONGEST: usize = 1 << 16;

/// How many of a thousand datagrams, each way, are dropped and doubled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Dropped, of 1000.
    pub dropped: u32,
    /// Doubled, of 1000.
    pub doubled: u32,
}

/// What came of the calls, by their transaction numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounts {
    /// Transactions that the client has sent.
    pub attempts: u64,
    /// Those of which at least one reply was handed to the client.
    pub answered: u64,
    /// Replies that were handed to the client beyond the first of each.
    pub doubled: u64,
    /// Datagrams that were dropped.
    pub dropped: u64,
}

/// Passes datagrams on to a server. Its threads end with the test.
#[derive(Clone, Debug)]
pub struct UdpProxy {
    address: SocketAddr,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Debug)]
struct ProxyState {
    faults: Faults,
    chance: Chance,
    dropped: u64,
    /// Replies handed over of each transaction of each client.
    replies: BTreeMap<(SocketAddr, u32), u64>,
}

impl UdpProxy {
    /// Stands before a server on this machine.
    ///
    /// # Errors
    /// No socket can be had.
    pub fn before(server: SocketAddr, faults: Faults, seed: u64) -> std::io::Result<Self> {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = front.local_addr()?;
        let (chance, replies) = (Chance::new(seed), BTreeMap::new());
        let state = Arc::new(Mutex::new(ProxyState { faults, chance, dropped: 0, replies }));
        let proxy = UdpProxy { address, state };
        let own = proxy.clone();
        std::thread::spawn(move || own.forward(&front, server));
        Ok(proxy)
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on.
    pub fn set(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// What came of all calls so far.
    pub fn counts(&self) -> UdpCounts {
        let state = self.lock();
        let replies = || state.replies.values().filter(|replies| **replies > 0);
        UdpCounts {
            attempts: state.replies.len() as u64,
            answered: replies().count() as u64,
            doubled: replies().map(|replies| replies - 1).sum(),
            dropped: state.dropped,
        }
    }

    fn lock(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls go on to the server, each client's from a socket of its own.
    fn forward(&self, front: &UdpSocket, server: SocketAddr) -> Option<()> {
        let mut clients: HashMap<SocketAddr, UdpSocket> = HashMap::new();
        let mut buffer = vec![0; LONGEST];
        loop {
            let (length, client) = front.recv_from(&mut buffer).ok()?;
            let call = &buffer[..length];
            let back = match clients.get(&client) {
                Some(back) => back,
                None => {
                    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
                    back.connect(server).ok()?;
                    let (own, from, to) =
                        (self.clone(), back.try_clone().ok()?, front.try_clone().ok()?);
                    std::thread::spawn(move || own.backward(&from, &to, client));
                    clients.entry(client).or_insert(back)
                }
            };
            let times = {
                let mut state = self.lock();
                if let Some(xid) = transaction(call) {
                    state.replies.entry((client, xid)).or_insert(0);
                }
                state.times()
            };
            (0..times).for_each(|_| drop(back.send(call)));
        }
    }

    /// Replies go back to the client.
    fn backward(&self, from: &UdpSocket, to: &UdpSocket, client: SocketAddr) {
        let mut buffer = vec![0; LONGEST];
        loop {
            // A server that is gone refuses what is sent to it; it may come back.
            let Ok(length) = from.recv(&mut buffer) else { continue };
            let reply = &buffer[..length];
            let mut state = self.lock();
            let times = state.times();
            if let Some(xid) = transaction(reply) {
                *state.replies.entry((client, xid)).or_insert(0) += times;
            }
            (0..times).for_each(|_| drop(to.send_to(reply, client)));
        }
    }
}

impl ProxyState {
    /// How often a datagram goes on.
    fn times(&mut self) -> u64 {
        let Faults { dropped, doubled } = self.faults;
        match self.chance.below(1000) as u32 {
            n if n < dropped => {
                self.dropped += 1;
                0
            }
            n if n < dropped + doubled => 2,
            _ => 1,
        }
    }
}

fn transaction(message: &[u8]) -> Option<u32> {
    message.first_chunk().map(|xid| u32::from_be_bytes(*xid))
}
