//! A socket that sends and receives datagrams of one peer.

use crate::socket::{Ready, connect_error, privileged_addresses, wait};
use crate::{Deadline, Error, SourcePort};
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Longest datagram in bytes (RFC 768 over RFC 791).
pub const LONGEST_DATAGRAM: usize = 65_507;
/// Received bytes that the kernel is asked to keep for us: replies come many at a time.
const KEPT: usize = 4 << 20;
/// How often, and for how long each time, space for a datagram is waited for.
const TRIES: u32 = 50;
const MOMENT: Duration = Duration::from_millis(10);

/// A socket to one peer: what others send is not received.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
    peer: SocketAddr,
    deadline: Deadline,
}

impl DatagramSocket {
    /// A socket to the first address that there is a way to. Nothing is sent: whether somebody
    /// listens there shows with the first call.
    ///
    /// # Errors
    /// No way to any address, or no privileged port where one was asked for.
    pub fn connect(
        addresses: &[IpAddr],
        port: u16,
        from: SourcePort,
        deadline: &Deadline,
    ) -> Result<Self, Error> {
        let mut last = Error::UnknownHost { host: String::new(), detail: "no address".into() };
        for ip in addresses {
            let peer = SocketAddr::new(*ip, port);
            let socket = bound(peer, from)?;
            match socket.connect(&peer.into()) {
                Ok(()) => {
                    // A kernel that keeps less makes replies be lost, no more.
                    let _ = socket.set_recv_buffer_size(KEPT);
                    let (socket, deadline) = (socket.into(), deadline.clone());
                    return Ok(DatagramSocket { socket, peer, deadline });
                }
                Err(error) => last = connect_error(peer, &error),
            }
        }
        Err(last)
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether datagrams come from a port below 1024.
    pub fn is_privileged(&self) -> bool {
        self.socket.local_addr().is_ok_and(|a| a.port() < 1024)
    }

    /// What bounds the waits from now on: an end for several calls together, for one.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// The end of a step that may take at most `limit` from now on.
    pub fn within(&self, limit: Duration) -> Deadline {
        self.deadline.within(limit)
    }

    /// Sends a datagram. One that the system has no space for is lost, as any may be.
    ///
    /// # Errors
    /// [`Error::Connect`] where the peer has said that nobody listens there.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> Result<(), Error> {
        let flags = (MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL).bits();
        for _ in 0..TRIES {
            match SockRef::from(&self.socket).send_vectored_with_flags(parts, flags) {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    wait(&self.socket, Ready::Send, MOMENT)?;
                }
                Err(e) if e.raw_os_error() == Some(nix::Error::ENOBUFS as i32) => return Ok(()),
                Err(e) => return Err(self.error(&e)),
            }
        }
        Ok(())
    }

    /// Receives a datagram, waiting for at most `limit`: its length, of which `buffer` may have less;
    /// `None`: none came.
    ///
    /// # Errors
    /// As [`DatagramSocket::send`].
    pub fn receive(&self, buffer: &mut [u8], limit: Duration) -> Result<Option<usize>, Error> {
        if !limit.is_zero() && !wait(&self.socket, Ready::Receive, limit)? {
            return Ok(None);
        }
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        match recv(self.socket.as_raw_fd(), buffer, flags) {
            Ok(length) => Ok(Some(length)),
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => Ok(None),
            Err(e) => Err(self.error(&e.into())),
        }
    }

    /// Receives a datagram before `end`: its length, of which `buffer` may have less.
    ///
    /// # Errors
    /// As [`DatagramSocket::send`], or why it may not be waited for any longer.
    pub fn receive_one(&self, buffer: &mut [u8], end: &Deadline) -> Result<usize, Error> {
        loop {
            let slice = end.slice().map_err(|over| Error::over(self.peer, over))?;
            if let Some(length) = self.receive(buffer, slice)? {
                return Ok(length);
            }
        }
    }

    fn error(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => connect_error(self.peer, error),
            kind => Error::Connection(kind),
        }
    }
}

/// A socket on a port as it is wanted.
fn bound(peer: SocketAddr, from: SourcePort) -> Result<RawSocket, Error> {
    let new = || RawSocket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP));
    let mut why = io::ErrorKind::AddrInUse;
    let addresses = (from != SourcePort::Any).then(|| privileged_addresses(peer));
    for local in addresses.into_iter().flatten() {
        let socket = new()?;
        match socket.bind(&local) {
            Ok(()) => return Ok(socket),
            Err(e) => why = e.kind(),
        }
        if why == io::ErrorKind::PermissionDenied {
            break;
        }
    }
    if from == SourcePort::Privileged { Err(Error::PrivilegedPort(why)) } else { Ok(new()?) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const LIMIT: Duration = Duration::from_secs(5);

    #[test]
    fn datagrams_go_both_ways_whole_and_of_the_peer_alone() {
        let peer = UdpSocket::bind((HERE, 0)).unwrap();
        let port = peer.local_addr().unwrap().port();
        let free = SystemClock::no_deadline();
        let socket = DatagramSocket::connect(&[HERE], port, SourcePort::Auto, &free).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(socket.receive(&mut buffer, Duration::ZERO), Ok(None));
        assert_eq!(socket.receive(&mut buffer, MOMENT), Ok(None));
        socket.send(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]).unwrap();
        let (length, from) = peer.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"abc");
        UdpSocket::bind((HERE, 0)).unwrap().send_to(b"stranger", from).unwrap();
        peer.send_to(b"", from).unwrap();
        peer.send_to(&[7; 20], from).unwrap();
        assert_eq!(socket.receive(&mut buffer, LIMIT), Ok(Some(0)));
        assert_eq!(socket.receive(&mut buffer, LIMIT), Ok(Some(20)));
        assert_eq!(buffer, [7; 8]);
        drop(peer);
        socket.send(&[IoSlice::new(b"x")]).unwrap();
        let refused = socket.receive(&mut buffer, LIMIT);
        let kind = io::ErrorKind::ConnectionRefused;
        assert_eq!(refused, Err(Error::Connect { address: socket.peer(), kind }));
    }

    #[test]
    fn a_privileged_port_is_used_or_refused_but_never_faked() {
        let free = SystemClock::no_deadline();
        let connect = |from| DatagramSocket::connect(&[HERE], 9, from, &free);
        match connect(SourcePort::Privileged) {
            Ok(socket) => assert!(socket.is_privileged()),
            Err(error) => assert_eq!(error, Error::PrivilegedPort(io::ErrorKind::PermissionDenied)),
        }
        assert!(!connect(SourcePort::Any).unwrap().is_privileged());
    }
}
