//! A server that repeats what a real one has answered, changed: for clients that must not be
//! harmed by anything a server says.
//!
//! A [`Recorder`] writes a session with a real server down as a [`Transcript`]. A [`Liar`] answers
//! from it, each request with the next frame, whatever was asked. Replies get the numbers of the
//! requests, so that changed ones come as far into the client as true ones.

mod account;
mod lies;
mod recorder;
mod transcript;

pub use account::Account;
pub use lies::Chance;
pub use recorder::Recorder;
pub use transcript::{
    CLOSED, FIRST, LATER, MORE, PIECES, RAW, STALE, Step, TWICE, Transcript, WITHHELD, Wire,
};

use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest request taken.
const LONGEST: usize = 4 << 20;
/// How long half a request, or a port, is waited for.
const FAREWELL: Duration = Duration::from_secs(60);

/// A server that answers from a transcript until it is dropped.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Liar {
    /// Serves the connections of the transcript, one after the other. A client that waits in vain
    /// for so long is hung up on; without `patience` it has to find out by itself.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn start(
        wire: Wire,
        transcript: Transcript,
        patience: Option<Duration>,
    ) -> io::Result<Liar> {
        let listener = listen()?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let stop = ended.clone();
        let thread = std::thread::spawn(move || {
            for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                if stop.load(Ordering::Acquire) {
                    return leave(&stream);
                }
                let mut talk = Talk { wire, stream, patience, late: Vec::new(), before: vec![0] };
                let _ = talk.answer(transcript.connection(number));
                leave(&talk.stream);
            }
        });
        Ok(Liar { address, ended, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _waker = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Listens on any port. Those of thousands of sessions before may all still wait for stragglers,
/// which takes a minute.
fn listen() -> io::Result<TcpListener> {
    let end = Instant::now() + FAREWELL;
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other,
        }
    }
}

/// Closes by a reset, as a server does that dies: thousands of connections that were closed politely
/// would use up all ports. What was sent before can still be read.
fn leave(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// One connection.
struct Talk {
    wire: Wire,
    stream: TcpStream,
    patience: Option<Duration>,
    /// What is to be sent after the next frame.
    late: Vec<u8>,
    /// The numbers of the request before.
    before: Vec<u64>,
}

impl Talk {
    /// Answers each request by the next step, until one side has enough.
    fn answer(&mut self, steps: &[Step]) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(self.patience)?;
        self.stream.set_write_timeout(Some(FAREWELL))?;
        let mut steps = steps.iter();
        loop {
            let request = match receive(self.wire, &mut self.stream) {
                Err(error) if is_silence(&error) && !self.late.is_empty() => {
                    let late = std::mem::take(&mut self.late);
                    self.stream.write_all(&late)?;
                    continue;
                }
                other => other?,
            };
            let numbers = self.wire.numbers(&request);
            loop {
                let Some(step) = steps.next() else { return Ok(()) };
                self.send(step, &numbers)?;
                if step.flags & CLOSED != 0 {
                    return Ok(());
                }
                if step.flags & MORE == 0 {
                    break;
                }
            }
            self.before = numbers;
        }
    }

    fn send(&mut self, step: &Step, numbers: &[u64]) -> io::Result<()> {
        if step.flags & WITHHELD != 0 {
            return Ok(());
        }
        let mut bytes = self.frame(step, numbers);
        let late = match step.flags & (TWICE | LATER) {
            0 => Vec::new(),
            LATER => std::mem::take(&mut bytes),
            TWICE => {
                bytes.extend_from_within(..);
                Vec::new()
            }
            _ => bytes.clone(),
        };
        if !bytes.is_empty() {
            bytes.append(&mut self.late);
        }
        self.late.extend(late);
        if step.flags & PIECES == 0 {
            return self.stream.write_all(&bytes);
        }
        let (first, rest) = bytes.split_at(bytes.len().min(3));
        [first].into_iter().chain(rest.chunks(37)).try_for_each(|part| self.stream.write_all(part))
    }

    /// The bytes of a frame.
    fn frame(&self, step: &Step, numbers: &[u64]) -> Vec<u8> {
        if step.flags & RAW != 0 {
            return step.frame.clone();
        }
        let mut frame = step.frame.clone();
        let stale = step.flags & STALE != 0;
        self.wire.put_numbers(&mut frame, if stale { &self.before } else { numbers });
        if self.wire == Wire::Rpc && step.flags & PIECES != 0 {
            let (first, last) = frame.split_at(frame.len() / 3);
            let parts = [(first, false), (&[][..], false), (last, true)];
            let fragment = |(part, last): (&[u8], bool)| {
                [&self.wire.prefix(part.len(), last)[..], part].concat()
            };
            return parts.into_iter().flat_map(fragment).collect();
        }
        [&self.wire.prefix(frame.len(), true)[..], &frame].concat()
    }
}

/// The next frame without its prefix.
fn receive(wire: Wire, stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 4];
    // Only between frames is silence taken for that.
    stream.read_exact(&mut prefix[..1])?;
    let patience = stream.read_timeout()?;
    stream.set_read_timeout(Some(FAREWELL))?;
    stream.read_exact(&mut prefix[1..])?;
    let length = wire.length(prefix);
    if length > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame)?;
    stream.set_read_timeout(patience)?;
    Ok(frame)
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
