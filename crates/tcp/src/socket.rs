//! A connection, and how it is made.

use crate::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket as RawSocket, Type};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

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

/// All addresses of a host, found within a time limit. The thread that asks is left behind if the
/// name service does not answer: the system offers no way to stop it.
pub fn resolve(host: &str, limit: Duration) -> Result<Vec<IpAddr>, Error> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let (answer, answers) = mpsc::channel();
    let name = host.to_owned();
    let unknown = |detail: String| Error::UnknownHost { host: host.to_owned(), detail };
    std::thread::Builder::new()
        .name("resolve".into())
        .spawn(move || {
            let _ = answer.send((name.as_str(), 0).to_socket_addrs().map(|found| {
                let mut all: Vec<IpAddr> = found.map(|a| a.ip()).collect();
                all.dedup();
                all
            }));
        })
        .map_err(|e| unknown(e.to_string()))?;
    match answers.recv_timeout(limit) {
        Ok(Ok(all)) if !all.is_empty() => Ok(all),
        Ok(Ok(_)) => Err(unknown("it has no address".into())),
        Ok(Err(e)) => Err(unknown(e.to_string())),
        Err(_) => Err(Error::ResolveTimedOut { host: host.to_owned(), after: limit }),
    }
}

/// Connects to the first address that lets us, all within one time limit; `TCP_NODELAY` is set.
/// The error is that of the last address.
pub fn connect(
    addresses: &[IpAddr],
    port: u16,
    from: SourcePort,
    limit: Duration,
) -> Result<Socket, Error> {
    let end = Instant::now() + limit;
    let mut last = Error::UnknownHost { host: String::new(), detail: "no address".into() };
    for (i, ip) in addresses.iter().enumerate() {
        // What is left is shared evenly, so that one dead address does not use it all up.
        let share = end.saturating_duration_since(Instant::now()) / (addresses.len() - i) as u32;
        match connect_one(SocketAddr::new(*ip, port), from, share.max(Duration::from_millis(1))) {
            Ok(tcp) => return Socket::new(tcp),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect_one(address: SocketAddr, from: SourcePort, limit: Duration) -> Result<TcpStream, Error> {
    if from != SourcePort::Any {
        match connect_privileged(address, limit)? {
            Ok(tcp) => return Ok(tcp),
            Err(kind) if from == SourcePort::Privileged => return Err(Error::PrivilegedPort(kind)),
            Err(_) => {}
        }
    }
    TcpStream::connect_timeout(&address, limit).map_err(|e| connect_error(address, limit, &e))
}

fn connect_error(address: SocketAddr, after: Duration, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Error::TimedOut { address, after },
        kind => Error::Connect { address, kind },
    }
}

/// The port to try next. Counting on over the whole process keeps connections made shortly after
/// each other from waiting for each other's ports.
static NEXT_PRIVILEGED: AtomicU16 = AtomicU16::new(0);

/// A connection from a privileged port. The inner error: no such port can be had.
fn connect_privileged(
    address: SocketAddr,
    limit: Duration,
) -> Result<Result<TcpStream, io::ErrorKind>, Error> {
    let end = Instant::now() + limit;
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let count = HIGHEST_PRIVILEGED - LOWEST_PRIVILEGED + 1;
    let mut why = io::ErrorKind::AddrInUse;
    for _ in 0..count {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let step = NEXT_PRIVILEGED.fetch_add(1, Ordering::Relaxed) % count;
        let local = SockAddr::from(SocketAddr::new(any, HIGHEST_PRIVILEGED - step));
        let socket =
            RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // Ports of connections that have just ended may be used again.
        socket.set_reuse_address(true)?;
        match socket.bind(&local).and_then(|()| socket.connect_timeout(&address.into(), left)) {
            Ok(()) => return Ok(Ok(socket.into())),
            Err(e) => match e.kind() {
                io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => why = e.kind(),
                io::ErrorKind::PermissionDenied => return Ok(Err(e.kind())),
                _ => return Err(connect_error(address, limit, &e)),
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
    /// Room for bytes to send.
    Send,
    /// Either.
    Either,
}

/// A connection that can be asked to move bytes now, or to wait for a limited time.
#[derive(Debug)]
pub struct Socket {
    tcp: TcpStream,
    peer: SocketAddr,
}

impl Socket {
    /// Takes over a connection.
    pub fn new(tcp: TcpStream) -> Result<Self, Error> {
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(BLOCKING_WAIT))?;
        let peer = tcp.peer_addr()?;
        Ok(Socket { tcp, peer })
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

    /// Receives what is there at once; `None`: nothing.
    pub fn receive(&self, room: &mut [u8]) -> Result<Option<usize>, Error> {
        self.receive_with(room, MsgFlags::MSG_DONTWAIT)
    }

    /// Receives, waiting for a first byte for at most `limit`; `None`: nothing came. Long limits
    /// are waited for in one system call, in steps: it may return before `limit`, never after.
    pub fn receive_within(&self, room: &mut [u8], limit: Duration) -> Result<Option<usize>, Error> {
        if limit > BLOCKING_WAIT {
            return self.receive_with(room, MsgFlags::empty());
        }
        self.wait(Ready::Receive, limit)?;
        self.receive(room)
    }

    fn receive_with(&self, room: &mut [u8], flags: MsgFlags) -> Result<Option<usize>, Error> {
        match recv(self.tcp.as_raw_fd(), room, flags) {
            Ok(0) => Err(Error::Closed),
            Ok(n) => Ok(Some(n)),
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits until the socket is ready or the limit is over. A signal ends the wait early.
    pub fn wait(&self, until: Ready, limit: Duration) -> Result<(), Error> {
        let events = match until {
            Ready::Receive => PollFlags::POLLIN,
            Ready::Send => PollFlags::POLLOUT,
            Ready::Either => PollFlags::POLLIN | PollFlags::POLLOUT,
        };
        let mut poll_for = [PollFd::new(self.tcp.as_fd(), events)];
        let result = if limit.is_zero() {
            poll(&mut poll_for, PollTimeout::ZERO)
        } else {
            ppoll(&mut poll_for, Some(TimeSpec::from_duration(limit)), None)
        };
        match result {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const LIMIT: Duration = Duration::from_secs(5);
    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn addresses_need_no_name_service() {
        assert_eq!(resolve("127.0.0.1", LIMIT).unwrap(), [HERE]);
        assert_eq!(resolve("::1", LIMIT).unwrap(), [IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        assert!(matches!(
            resolve("no-such-host.invalid", LIMIT),
            Err(Error::UnknownHost { .. } | Error::ResolveTimedOut { .. })
        ));
    }

    #[test]
    fn every_address_is_tried() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let dead = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));
        let socket = connect(&[dead, HERE], port, SourcePort::Auto, LIMIT).unwrap();
        assert_eq!(socket.peer().port(), port);
        drop(listener);
        assert!(matches!(
            connect(&[HERE], port, SourcePort::Any, LIMIT),
            Err(Error::Connect { kind: io::ErrorKind::ConnectionRefused, .. })
        ));
    }

    #[test]
    fn a_privileged_port_is_used_or_refused_but_never_faked() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        match connect(&[HERE], port, SourcePort::Privileged, LIMIT) {
            Ok(socket) => assert!(socket.is_privileged()),
            Err(error) => assert_eq!(error, Error::PrivilegedPort(io::ErrorKind::PermissionDenied)),
        }
        assert!(!connect(&[HERE], port, SourcePort::Any, LIMIT).unwrap().is_privileged());
    }

    #[test]
    fn waiting_ends() {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = connect(&[HERE], port, SourcePort::Any, LIMIT).unwrap();
        let mut room = [0; 8];
        assert_eq!(socket.receive(&mut room), Ok(None));
        assert_eq!(socket.receive_within(&mut room, Duration::from_millis(2)), Ok(None));
        assert_eq!(socket.receive_within(&mut room, Duration::from_secs(1)), Ok(None));
        drop(listener.accept().unwrap());
        assert_eq!(socket.receive_within(&mut room, LIMIT), Err(Error::Closed));
    }
}
