//! Between a client and real servers: passes everything on, and writes down what they answered.

use super::receive;
use super::transcript::{FIRST, MORE, Step, Transcript, Wire};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// What passed on each connection, in the order in which they were made.
type Passed = Arc<Mutex<Vec<Connection>>>;

/// Stands between a client and servers until it is dropped. One connection is to end before the
/// next begins.
#[derive(Debug)]
pub struct Recorder {
    wire: Wire,
    passed: Passed,
    ended: Arc<AtomicBool>,
    ways: Vec<(SocketAddr, JoinHandle<()>)>,
}

#[derive(Debug, Default)]
struct Connection {
    /// The numbers of the messages in each frame of the client.
    requests: Vec<Vec<u64>>,
    replies: Vec<Vec<u8>>,
}

impl Recorder {
    /// Nothing is recorded yet.
    pub fn new(wire: Wire) -> Recorder {
        Recorder { wire, passed: Passed::default(), ended: Arc::default(), ways: Vec::new() }
    }

    /// Another way to a server: connections to the address that is returned go there.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn before(&mut self, server: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (wire, passed, ended) = (self.wire, self.passed.clone(), self.ended.clone());
        let thread = std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Acquire) || between(wire, client, server, &passed).is_err()
                {
                    return;
                }
            }
        });
        self.ways.push((address, thread));
        Ok(address)
    }

    /// What was answered until now. The numbers of messages are left out.
    pub fn transcript(&self) -> Transcript {
        let mut steps = Vec::new();
        for connection in connections(&self.passed).iter() {
            let mut flags = FIRST;
            for numbers in &connection.requests {
                let answers = |frame: &&Vec<u8>| {
                    self.wire.numbers(frame).first().is_some_and(|first| numbers.contains(first))
                };
                let mut replies = connection.replies.iter().filter(answers).peekable();
                while let Some(reply) = replies.next() {
                    let more = if replies.peek().is_some() { MORE } else { 0 };
                    let mut frame = reply.clone();
                    self.wire.put_numbers(&mut frame, &[0]);
                    steps.push(Step { flags: flags | more, frame });
                    flags = 0;
                }
            }
        }
        Transcript(steps)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        for (address, thread) in self.ways.drain(..) {
            let _waker = TcpStream::connect(address);
            let _ = thread.join();
        }
    }
}

/// Passes on what both sides of one connection say, until one of them closes.
fn between(wire: Wire, client: TcpStream, server: SocketAddr, passed: &Passed) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let number = {
        let mut all = connections(passed);
        all.push(Connection::default());
        all.len() - 1
    };
    let (requests, to) = (client.try_clone()?, server.try_clone()?);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pass(wire, requests, to, |frame| {
                connections(passed)[number].requests.push(wire.numbers(frame));
            });
        });
        pass(wire, server, client, |frame| {
            connections(passed)[number].replies.push(frame.to_vec())
        });
    });
    Ok(())
}

fn connections(passed: &Passed) -> MutexGuard<'_, Vec<Connection>> {
    passed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes frames on until one side closes.
fn pass(wire: Wire, mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let _ = to.set_nodelay(true);
    while let Ok(frame) = receive(wire, &mut from) {
        note(&frame);
        let prefix = wire.prefix(frame.len(), true);
        if to.write_all(&[&prefix[..], &frame].concat()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
