//! Connections through a path.

use super::{Line, next};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Passes connections on to a server until it is dropped, which breaks them all.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<ProxyState>,
    changed: Condvar,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct ProxyState {
    /// Both ends of every connection so far.
    connections: Vec<[TcpStream; 2]>,
    /// Whether nothing arrives on any connection.
    frozen: bool,
    /// Nothing arrives on the first so many connections, ever again.
    forgotten: usize,
    /// Whether the next that a server says is lost, and its connection with it.
    loses: bool,
    /// How many connections the one is older than that breaks for a new one.
    most: Option<usize>,
}

impl ProxyState {
    fn cut(&self, number: usize) {
        for stream in &self.connections[number] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl TcpProxy {
    /// Stands before a server on any port of this machine, `delay` away from it.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn before(server: SocketAddr, delay: Duration) -> io::Result<TcpProxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.ended.load(Ordering::Acquire) {
                    return;
                }
                // A server that is not there: the connection breaks at once.
                if let Ok(server) = TcpStream::connect(server) {
                    let _ = of_thread.clone().join(client, server, delay);
                }
            }
        });
        Ok(TcpProxy { address, shared, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Nothing arrives any more, on any connection, until [`TcpProxy::thaw`]; what is sent meanwhile is
    /// on its way.
    pub fn freeze(&self) {
        self.shared.state().frozen = true;
    }

    /// Everything arrives again.
    pub fn thaw(&self) {
        self.shared.state().frozen = false;
        self.shared.changed.notify_all();
    }

    /// Nothing arrives ever again on the connections that there are, and nobody is told: as after a power
    /// cut, or where a router has forgotten them. New ones work.
    pub fn forget(&self) {
        let mut state = self.shared.state();
        state.forgotten = state.connections.len();
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        let state = self.shared.state();
        (0..state.connections.len()).for_each(|number| state.cut(number));
    }

    /// The next that a server says does not arrive: its connection breaks instead. What it was asked, it has
    /// done.
    pub fn lose_reply(&self) {
        self.shared.state().loses = true;
    }

    /// Breaks, for each new connection, the one that so many others are younger than.
    pub fn keep_newest(&self, connections: usize) {
        self.shared.state().most = Some(connections);
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.shared.state().connections.len()
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.cut();
        self.shared.changed.notify_all();
        let _waker = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what either end says, on threads that end with the connection.
    fn join(
        self: Arc<Self>,
        client: TcpStream,
        server: TcpStream,
        delay: Duration,
    ) -> io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let number = {
            let mut state = self.state();
            state.connections.push([client.try_clone()?, server.try_clone()?]);
            let number = state.connections.len() - 1;
            if let Some(old) = state.most.and_then(|most| number.checked_sub(most)) {
                state.cut(old);
            }
            number
        };
        let (there, back) = ((client.try_clone()?, server.try_clone()?), (server, client));
        for ((from, to), is_reply) in [(there, false), (back, true)] {
            let shared = self.clone();
            let (line, arriving) = Line::new(delay);
            std::thread::spawn(move || {
                let (mut from, mut bytes) = (from, vec![0; 256 << 10]);
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    if !line.send(&bytes[..count]) {
                        break;
                    }
                }
            });
            std::thread::spawn(move || {
                let mut to = to;
                while let Some(bytes) = next(&arriving) {
                    shared.wait_for(number);
                    if is_reply && std::mem::take(&mut shared.state().loses) {
                        shared.state().cut(number);
                    }
                    if to.write_all(&bytes).is_err() {
                        break;
                    }
                }
                shared.wait_for(number);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        Ok(())
    }

    /// Until something may arrive on a connection.
    fn wait_for(&self, number: usize) {
        let stands = |state: &mut ProxyState| {
            !self.ended.load(Ordering::Acquire) && (state.frozen || number < state.forgotten)
        };
        drop(self.changed.wait_while(self.state(), stands));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A server that says everything again.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || {
                    let mut again = stream.try_clone().unwrap();
                    io::copy(&mut stream, &mut again)
                });
            }
        });
        address
    }

    fn ask(stream: &mut TcpStream, byte: u8) -> io::Result<u8> {
        let mut answer = [0];
        stream.write_all(&[byte])?;
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    }

    #[test]
    fn what_is_sent_arrives_late_in_order_or_not_at_all() {
        let delay = Duration::from_millis(20);
        let proxy = TcpProxy::before(echo(), delay).unwrap();
        let mut one = TcpStream::connect(proxy.address()).unwrap();
        let begun = Instant::now();
        assert_eq!(ask(&mut one, 1).unwrap(), 1);
        assert!(begun.elapsed() >= 2 * delay, "both ways");

        proxy.freeze();
        one.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        ask(&mut one, 2).unwrap_err();
        proxy.thaw();
        one.set_read_timeout(None).unwrap();
        let mut answer = [0];
        one.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [2], "it was on its way");

        proxy.forget();
        one.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        ask(&mut one, 3).unwrap_err();
        let mut other = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(ask(&mut other, 4).unwrap(), 4);
        assert_eq!(proxy.connections(), 2);

        proxy.lose_reply();
        assert!(ask(&mut other, 5).is_err(), "nor does any other arrive");
        let mut another = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(ask(&mut another, 6).unwrap(), 6);

        proxy.keep_newest(1);
        let mut newest = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(ask(&mut newest, 7).unwrap(), 7);
        assert!(ask(&mut another, 8).is_err());

        proxy.cut();
        assert!(ask(&mut newest, 9).is_err());
    }
}
