//! A connection, and how it is made.

use crate::{Deadline, Error};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket as RawSocket, Type};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Privileged ports tried: those the usual clients use, below which services live.
const LOWEST_PRIVILEGED: u16 = 665;
const HIGHEST_PRIVILEGED: u16 = 1023;
/// Longest uninterrupted wait of [`Socket::receive_within`].
const BLOCKING_WAIT: Duration = Duration::from_millis(100);

/// Which local port a connection comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcePort {
    /// Below 1024 where this process may bind one, else any.
    #[default]
    Auto,
    /// Below 1024, or an error.
    Privileged,
    /// Any.
    Any,
}

/// Connects to the first address that lets us, all within `limit`; `TCP_NODELAY` is set. The error
/// is that of the last address. The connection keeps to `deadline` from then on.
pub fn connect(
    addresses: &[IpAddr],
    port: u16,
    from: SourcePort,
    limit: Duration,
    deadline: &Deadline,
) -> Result<Socket, Error> {
    let end = deadline.within(limit);
    let mut last = Error::UnknownHost { host: String::new(), detail: "no address".into() };
    for (i, ip) in addresses.iter().enumerate() {
        // What is left is shared evenly, so that one dead address does not use it all up.
        let share = end.remaining().unwrap_or_default() / (addresses.len() - i) as u32;
        let end = end.within(share.max(Duration::from_millis(1)));
        match connect_one(SocketAddr::new(*ip, port), from, &end) {
            Ok(tcp) => return Socket::new(tcp, deadline.clone()),
            Err(error) => last = error,
        }
        // Whoever has no more time at all is told that, not that a share of a moment was too short.
        deadline.remaining()?;
    }
    Err(last)
}

fn connect_one(address: SocketAddr, from: SourcePort, end: &Deadline) -> Result<TcpStream, Error> {
    if from != SourcePort::Any {
        match connect_privileged(address, end)? {
            Ok(tcp) => return Ok(tcp),
            Err(kind) if from == SourcePort::Privileged => return Err(Error::PrivilegedPort(kind)),
            Err(_) => {}
        }
    }
    connect_from(new_socket(address)?, address, end)?.map_err(|e| connect_error(address, &e))
}

fn new_socket(address: SocketAddr) -> io::Result<RawSocket> {
    RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
}

/// Connects a socket. The inner error is the system's.
fn connect_from(
    socket: RawSocket,
    address: SocketAddr,
    end: &Deadline,
) -> Result<io::Result<TcpStream>, Error> {
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(e) if e.raw_os_error() != Some(nix::Error::EINPROGRESS as i32) => return Ok(Err(e)),
        _ => {}
    }
    loop {
        let slice = end.slice().map_err(|over| Error::over(address, over))?;
        if wait(&socket, Ready::Send, slice)? {
            break;
        }
    }
    if let Some(error) = socket.take_error()? {
        return Ok(Err(error));
    }
    socket.set_nonblocking(false)?;
    Ok(Ok(socket.into()))
}

pub(crate) fn connect_error(address: SocketAddr, error: &io::Error) -> Error {
    Error::Connect { address, kind: error.kind() }
}

/// The port to try next. Counting on over the whole process keeps connections made shortly after
/// each other from waiting for each other's ports.
static NEXT_PRIVILEGED: AtomicU16 = AtomicU16::new(0);

/// Privileged local addresses to reach a peer from, each of them once.
pub(crate) fn privileged_addresses(peer: SocketAddr) -> impl Iterator<Item = SockAddr> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let count = HIGHEST_PRIVILEGED - LOWEST_PRIVILEGED + 1;
    (0..count).map(move |_| {
        let step = NEXT_PRIVILEGED.fetch_add(1, Ordering::Relaxed) % count;
        SockAddr::from(SocketAddr::new(any, HIGHEST_PRIVILEGED - step))
    })
}

/// A connection from a privileged port. The inner error: no such port can be had.
fn connect_privileged(
    address: SocketAddr,
    end: &Deadline,
) -> Result<Result<TcpStream, io::ErrorKind>, Error> {
    let mut why = io::ErrorKind::AddrInUse;
    for local in privileged_addresses(address) {
        let socket = new_socket(address)?;
        // Ports of connections that have just ended may be used again.
        socket.set_reuse_address(true)?;
        let connected = match socket.bind(&local) {
            Ok(()) => connect_from(socket, address, end)?,
            Err(e) => Err(e),
        };
        match connected {
            Ok(tcp) => return Ok(Ok(tcp)),
            Err(e) => match e.kind() {
                io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => why = e.kind(),
                io::ErrorKind::PermissionDenied => return Ok(Err(e.kind())),
                _ => return Err(connect_error(address, &e)),
            },
        }
    }
    Ok(Err(why))
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Bytes to receive.
    Receive,
    /// Space for bytes to send.
    Send,
    /// Either.
    Either,
}

/// What of the bytes that are received is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of them.
    All,
    /// Nothing: the kernel drops them, and the buffer is as it was (MSG_TRUNC of tcp(7)).
    Nothing,
}

/// Waits until a socket is ready or the limit is over; whether it is ready. A signal ends the wait
/// early.
pub(crate) fn wait(socket: &impl AsFd, until: Ready, limit: Duration) -> Result<bool, Error> {
    wait_for(&mut [PollFd::new(socket.as_fd(), events(until))], limit)
}

/// Most sockets that are waited for at once.
pub(crate) const MOST_SOCKETS: usize = 16;

/// Waits until one of the sockets, of which there is at least one, is ready or the limit is over. A
/// signal ends the wait early.
pub(crate) fn wait_any<'a>(
    sockets: impl Iterator<Item = (&'a Socket, Ready)>,
    limit: Duration,
) -> Result<(), Error> {
    let mut sockets = sockets.take(MOST_SOCKETS).peekable();
    let Some(first) = sockets.peek().copied() else { return Ok(()) };
    let mut count = 0;
    let mut poll_for = std::array::from_fn::<_, MOST_SOCKETS, _>(|_| {
        let next = sockets.next();
        count += usize::from(next.is_some());
        let (socket, until) = next.unwrap_or(first);
        PollFd::new(socket.tcp.as_fd(), events(until))
    });
    wait_for(&mut poll_for[..count], limit).map(drop)
}

fn events(until: Ready) -> PollFlags {
    match until {
        Ready::Receive => PollFlags::POLLIN,
        Ready::Send => PollFlags::POLLOUT,
        Ready::Either => PollFlags::POLLIN | PollFlags::POLLOUT,
    }
}

fn wait_for(poll_for: &mut [PollFd<'_>], limit: Duration) -> Result<bool, Error> {
    let result = if limit.is_zero() {
        poll(poll_for, PollTimeout::ZERO)
    } else {
        ppoll(poll_for, Some(TimeSpec::from_duration(limit)), None)
    };
    match result {
        Ok(ready) => Ok(ready > 0),
        Err(nix::Error::EINTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// A connection that can be asked to move bytes now, to wait for a limited time, or to wait as long
/// as its deadline allows.
#[derive(Debug)]
pub struct Socket {
    tcp: TcpStream,
    peer: SocketAddr,
    deadline: Deadline,
}

impl Socket {
    /// Takes over a connection, which is waited for no longer than `deadline` allows.
    pub fn new(tcp: TcpStream, deadline: Deadline) -> Result<Self, Error> {
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(BLOCKING_WAIT))?;
        let peer = tcp.peer_addr()?;
        Ok(Socket { tcp, peer, deadline })
    }

    /// The same connection once more.
    pub fn try_clone(&self) -> Result<Socket, Error> {
        let (tcp, deadline) = (self.tcp.try_clone()?, self.deadline.clone());
        Ok(Socket { tcp, peer: self.peer, deadline })
    }

    /// What bounds the waits from now on: an end for several calls together, for one.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// The end of a step that may take at most `limit` from now on.
    pub fn within(&self, limit: Duration) -> Deadline {
        self.deadline.within(limit)
    }

    /// Sends all bytes before `end`.
    pub fn send_all(&self, mut bytes: &[u8], end: &Deadline) -> Result<(), Error> {
        while !bytes.is_empty() {
            let slice = end.slice().map_err(|over| Error::over(self.peer, over))?;
            match self.send(&[IoSlice::new(bytes)])? {
                Some(count) => bytes = bytes.get(count..).unwrap_or(&[]),
                None => self.wait(Ready::Send, slice)?,
            }
        }
        Ok(())
    }

    /// Receives some bytes, at least one, before `end`.
    pub fn receive_some(&self, buffer: &mut [u8], end: &Deadline) -> Result<usize, Error> {
        loop {
            let slice = end.slice().map_err(|over| Error::over(self.peer, over))?;
            if let Some(count) = self.receive_within(buffer, Kept::All, slice)? {
                return Ok(count);
            }
        }
    }

    /// The server's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether the connection comes from a port below 1024.
    pub fn is_privileged(&self) -> bool {
        self.tcp.local_addr().is_ok_and(|a| a.port() < 1024)
    }

    /// Sends what the kernel takes at once; `None`: nothing.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> Result<Option<usize>, Error> {
        let flags = (MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL).bits();
        loop {
            match SockRef::from(&self.tcp).send_vectored_with_flags(parts, flags) {
                Ok(n) => return Ok(Some(n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Receives, waiting for a first byte for at most `limit`, which may be zero; `None`: nothing came. Long limits
    /// are waited for in one system call, in steps: it may return before `limit`, never after.
    pub(crate) fn receive_within(
        &self,
        buffer: &mut [u8],
        kept: Kept,
        limit: Duration,
    ) -> Result<Option<usize>, Error> {
        let flags = match kept {
            Kept::All => MsgFlags::empty(),
            Kept::Nothing => MsgFlags::MSG_TRUNC,
        };
        if limit > BLOCKING_WAIT {
            return self.receive_with(buffer, flags);
        }
        if !limit.is_zero() {
            self.wait(Ready::Receive, limit)?;
        }
        self.receive_with(buffer, flags | MsgFlags::MSG_DONTWAIT)
    }

    fn receive_with(&self, buffer: &mut [u8], flags: MsgFlags) -> Result<Option<usize>, Error> {
        match recv(self.tcp.as_raw_fd(), buffer, flags) {
            Ok(0) => Err(Error::Closed),
            Ok(n) => Ok(Some(n)),
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether the other end has closed it, as far as is known here: nothing is asked, and what was received before stays
    /// to be read.
    pub fn is_closed(&self) -> bool {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        match recv(self.tcp.as_raw_fd(), &mut [0], flags) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error, nix::Error::EAGAIN | nix::Error::EINTR),
        }
    }

    /// Waits until the socket is ready or the limit is over. A signal ends the wait early.
    pub fn wait(&self, until: Ready, limit: Duration) -> Result<(), Error> {
        wait(&self.tcp, until, limit).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use std::net::TcpListener;

    const LIMIT: Duration = Duration::from_secs(5);
    fn free() -> Deadline {
        SystemClock::no_deadline()
    }

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn every_address_is_tried() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let dead = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));
        let socket = connect(&[dead, HERE], port, SourcePort::Auto, LIMIT, &free()).unwrap();
        assert_eq!(socket.peer().port(), port);
        drop(listener);
        assert!(matches!(
            connect(&[HERE], port, SourcePort::Any, LIMIT, &free()),
            Err(Error::Connect { kind: io::ErrorKind::ConnectionRefused, .. })
        ));
    }

    #[test]
    fn a_privileged_port_is_used_or_refused_but_never_faked() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        match connect(&[HERE], port, SourcePort::Privileged, LIMIT, &free()) {
            Ok(socket) => assert!(socket.is_privileged()),
            Err(error) => assert_eq!(error, Error::PrivilegedPort(io::ErrorKind::PermissionDenied)),
        }
        assert!(!connect(&[HERE], port, SourcePort::Any, LIMIT, &free()).unwrap().is_privileged());
    }

    #[test]
    fn waiting_ends() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = connect(&[HERE], port, SourcePort::Any, LIMIT, &free()).unwrap();
        let receive = |buffer: &mut [u8], limit| socket.receive_within(buffer, Kept::All, limit);
        let mut buffer = [0; 8];
        assert_eq!(receive(&mut buffer, Duration::ZERO), Ok(None));
        assert_eq!(receive(&mut buffer, Duration::from_millis(2)), Ok(None));
        assert_eq!(receive(&mut buffer, Duration::from_secs(1)), Ok(None));
        let (mut peer, _) = listener.accept().unwrap();
        assert!(!socket.is_closed());
        std::io::Write::write_all(&mut peer, b"x").unwrap();
        assert!(!socket.is_closed(), "it has something to say");
        assert_eq!(receive(&mut buffer, LIMIT), Ok(Some(1)));
        drop(peer);
        assert_eq!(receive(&mut buffer, LIMIT), Err(Error::Closed));
        assert!(socket.is_closed());
    }

    /// A frozen peer and one that sends a byte now and then are left when the time is over, when all
    /// of it is, and when a stop is asked for; what is asked for is what is named.
    #[test]
    fn waiting_for_a_peer_ends_by_time_and_by_a_stop() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let deadline = free();
        let socket = connect(&[HERE], port, SourcePort::Any, LIMIT, &deadline).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut buffer = [0; 8];
        let mut wait = |limit| socket.receive_some(&mut buffer, &socket.within(limit));
        let short = Duration::from_millis(250);
        assert_eq!(wait(short), Err(Error::TimedOut { address: socket.peer(), after: short }));
        std::io::Write::write_all(&mut peer, b"x").unwrap();
        assert_eq!(wait(LIMIT), Ok(1));
        deadline.give(short);
        assert_eq!(wait(10 * LIMIT), Err(Error::OutOfTime));
        let nobody = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port();
        let late = connect(&[HERE], nobody, SourcePort::Any, LIMIT, &deadline).map(drop);
        assert_eq!(late, Err(Error::OutOfTime), "not what came of the last moment");
        deadline.give(1000 * LIMIT);
        let stop = deadline.stop().clone();
        let stopping = std::thread::spawn(move || {
            std::thread::sleep(short);
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(wait(1000 * LIMIT), Err(Error::Stopped));
        let full = vec![0; 64 << 20];
        assert_eq!(socket.send_all(&full, &socket.within(1000 * LIMIT)), Err(Error::Stopped));
        let again = connect(&[HERE], port, SourcePort::Any, LIMIT, &deadline).map(drop);
        assert_eq!(again, Err(Error::Stopped));
        stopping.join().unwrap();
        deadline.finish_within(1000 * LIMIT);
        std::io::Write::write_all(&mut peer, b"y").unwrap();
        assert_eq!(wait(LIMIT), Ok(1), "what was made can still be removed");
    }
}
