//! A relay in front of the server that counts what the client asks for, or adds a round trip.

use super::Outcome;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What clients have sent.
#[derive(Default)]
pub struct Counts {
    /// Frames: each is one thing on the wire, with one request or a compound of some.
    pub frames: AtomicU64,
    /// Requests in them.
    pub requests: AtomicU64,
}

/// A relay for any number of connections, until the program ends.
pub struct Proxy {
    pub port: u16,
    pub counts: Arc<Counts>,
}

impl Proxy {
    /// Relays to a port of this machine, each way delayed.
    pub fn start(to: u16, delay: Duration) -> Outcome<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if relay(client, to, delay, &shared).is_err() {
                    break;
                }
            }
        });
        Ok(Proxy { port, counts })
    }

    /// Frames and requests so far.
    pub fn so_far(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.counts.frames), load(&self.counts.requests))
    }
}

fn relay(client: TcpStream, to: u16, delay: Duration, counts: &Arc<Counts>) -> std::io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let counter = Counter { counts: Arc::clone(counts), pending: Vec::new() };
    one_way(client.try_clone()?, server.try_clone()?, delay, Some(counter));
    one_way(server, client, delay, None);
    Ok(())
}

/// Moves bytes from one to the other: a thread takes them, another one gives them when due.
fn one_way(mut from: TcpStream, mut to: TcpStream, delay: Duration, mut counter: Option<Counter>) {
    let (send, due) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 256 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if let Some(counter) = &mut counter {
                counter.look_at(&buffer[..count]);
            }
            if send.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (at, bytes) in due {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// Takes a client's stream apart.
struct Counter {
    counts: Arc<Counts>,
    pending: Vec<u8>,
}

impl Counter {
    fn look_at(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(prefix) = self.pending[at..].first_chunk::<4>() {
            let end = at + 4 + u32::from_be_bytes(*prefix) as usize;
            let Some(mut frame) = self.pending.get(at + 4..end) else { break };
            self.counts.frames.fetch_add(1, Ordering::Relaxed);
            while frame.starts_with(b"\xfeSMB") && frame.len() >= 64 {
                self.counts.requests.fetch_add(1, Ordering::Relaxed);
                let next = u32::from_le_bytes([frame[20], frame[21], frame[22], frame[23]]);
                frame = frame.get(next as usize..).filter(|_| next > 0).unwrap_or(&[]);
            }
            at = end;
        }
        self.pending.drain(..at);
    }
}
