//! The same server as seen from further away: a relay that holds back every byte for a while.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that are taken at once.
const CHUNK: usize = 256 << 10;
/// Chunks that wait in each direction; then the sender waits.
const WAITING: usize = 64;

/// A relay on 127.0.0.1 to a port of this machine; dropping it takes no more connections, and those
/// there are end with their servers.
pub struct Relay {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Adds `round_trip` to every round trip to `port`, half of it in each direction; nothing waits
    /// for what was sent before it.
    pub fn start(port: u16, round_trip: Duration) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let own = listener.local_addr()?.port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let accept = move || {
            for client in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // A client that cannot be served sees its connection close.
                let _ = join(client, port, round_trip / 2);
            }
        };
        let thread = std::thread::Builder::new().name("relay".into()).spawn(accept)?;
        Ok(Relay { port: own, stop, thread: Some(thread) })
    }

    /// The port that stands for the other.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // What wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Connects a client with the port, both ways.
fn join(client: TcpStream, port: u16, delay: Duration) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    pass_on(client.try_clone()?, server.try_clone()?, delay)?;
    pass_on(server, client, delay)
}

/// Passes bytes on in one direction, each a while after it came, until either side ends.
fn pass_on(mut from: TcpStream, mut to: TcpStream, delay: Duration) -> io::Result<()> {
    let (sender, receiver) = mpsc::sync_channel::<(Instant, Vec<u8>)>(WAITING);
    std::thread::Builder::new().name("relay-read".into()).spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let due = Instant::now() + delay;
            if sender.send((due, buffer[..length].to_vec())).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Read);
    })?;
    std::thread::Builder::new().name("relay-write".into()).spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what it gets, to one client.
    fn echo() -> (u16, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut copy = client.try_clone().unwrap();
            io::copy(&mut client, &mut copy).unwrap();
            copy.shutdown(Shutdown::Write).unwrap();
        };
        (port, std::thread::spawn(serve))
    }

    #[test]
    fn bytes_arrive_whole_and_late_and_the_end_with_them() {
        let (port, server) = echo();
        let round_trip = Duration::from_millis(20);
        let relay = Relay::start(port, round_trip).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        let mut byte = [7];
        let begun = Instant::now();
        client.write_all(&byte).unwrap();
        client.read_exact(&mut byte).unwrap();
        assert!(begun.elapsed() >= round_trip);
        // More than waits in the relay at once, sent while it comes back.
        let sent: Vec<u8> = (0..20_000_000u32).map(|n| (n ^ (n >> 8)) as u8).collect();
        let mut sender = client.try_clone().unwrap();
        let bytes = sent.clone();
        let sending = std::thread::spawn(move || {
            sender.write_all(&bytes).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        assert!(back == sent);
        sending.join().unwrap();
        server.join().unwrap();
    }

    #[test]
    fn a_client_of_a_server_that_is_gone_sees_its_connection_close() {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let relay = Relay::start(port, Duration::ZERO).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
        let port = relay.port();
        drop(relay);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "it takes no more");
    }
}
