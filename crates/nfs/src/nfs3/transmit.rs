//! What is on its way to the kernel: calls in a buffer, and payloads that are not in it.

use super::pipeline::Exchange;
use crate::Error;
use crate::xdr::Error as XdrError;
use plimsoll_transport::Socket;
use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes already sent that are tolerated at the front of the buffer before the rest is moved.
const SENT_KEPT: usize = 256 * 1024;

/// A payload that is asked for when the kernel can take it.
struct Hole {
    /// Where in the buffer it belongs.
    at: usize,
    tag: u32,
    length: usize,
    sent: usize,
}

/// Calls to be sent, in order.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    holes: VecDeque<Hole>,
    /// Bytes queued, and bytes handed to the kernel, since the connection began.
    queued: u64,
    handed: u64,
}

impl Outgoing {
    /// Room for `calls` calls and `bytes` bytes without a further allocation.
    pub fn new(calls: usize, bytes: usize) -> Self {
        Outgoing {
            bytes: Vec::with_capacity(bytes),
            sent: 0,
            holes: VecDeque::with_capacity(calls),
            queued: 0,
            handed: 0,
        }
    }

    /// Appends what `write` writes to the buffer.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        write(&mut self.bytes);
        self.queued += (self.bytes.len() - before) as u64;
    }

    /// Appends a payload that is not in the buffer.
    pub fn append_hole(&mut self, tag: u32, length: u32) {
        let length = length as usize;
        self.holes.push_back(Hole { at: self.bytes.len(), tag, length, sent: 0 });
        self.queued += length as u64;
    }

    /// Position in the stream after everything queued.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// Position in the stream after everything handed to the kernel.
    pub fn handed(&self) -> u64 {
        self.handed
    }

    /// Whether the kernel has it all.
    pub fn is_empty(&self) -> bool {
        self.handed == self.queued
    }

    /// Hands over as much as the kernel takes at once; whether any.
    pub fn send(&mut self, socket: &Socket, payloads: &mut impl Exchange) -> Result<bool, Error> {
        let before = self.handed;
        while !self.is_empty() {
            match self.send_once(socket, payloads)? {
                Some(count) => self.advance(count),
                None => break,
            }
        }
        Ok(self.handed != before)
    }

    /// One system call: bytes up to a payload, the payload, bytes up to the next payload.
    fn send_once(
        &self,
        socket: &Socket,
        payloads: &mut impl Exchange,
    ) -> Result<Option<usize>, Error> {
        let Some(hole) = self.holes.front() else {
            return Ok(socket.send(&[IoSlice::new(&self.bytes[self.sent..])])?);
        };
        let after = self.holes.get(1).map_or(self.bytes.len(), |next| next.at);
        let payload = payloads.payload(hole.tag).get(hole.sent..hole.length);
        let payload = payload.ok_or(XdrError::Invalid("payload: its length"))?;
        Ok(socket.send(&[
            IoSlice::new(&self.bytes[self.sent..hole.at]),
            IoSlice::new(payload),
            IoSlice::new(&self.bytes[hole.at..after]),
        ])?)
    }

    fn advance(&mut self, mut count: usize) {
        self.handed += count as u64;
        while let Some(hole) = self.holes.front_mut() {
            let before = hole.at - self.sent;
            let inside = hole.length - hole.sent;
            if count < before + inside {
                self.sent += count.min(before);
                hole.sent += count.saturating_sub(before);
                count = 0;
                break;
            }
            count -= before + inside;
            self.sent = hole.at;
            self.holes.pop_front();
        }
        self.sent += count;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > SENT_KEPT {
            self.bytes.drain(..self.sent);
            self.holes.iter_mut().for_each(|hole| hole.at -= self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipeline::Completion;
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    struct Payloads(Vec<Vec<u8>>);

    impl Exchange for Payloads {
        fn now(&mut self) -> u64 {
            0
        }
        fn payload(&mut self, tag: u32) -> &[u8] {
            &self.0[tag as usize]
        }
        fn complete(&mut self, _: Completion<'_>) {}
    }

    #[test]
    fn a_payload_of_the_wrong_length_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Socket::new(
            TcpStream::connect(listener.local_addr().unwrap()).unwrap(),
            plimsoll_transport::SystemClock::no_deadline(),
        )
        .unwrap();
        let mut outgoing = Outgoing::new(1, 16);
        outgoing.append_hole(0, 5);
        assert!(outgoing.send(&socket, &mut Payloads(vec![vec![1; 4]])).is_err());
    }

    proptest! {
        /// However the kernel takes the bytes, the books and the order stay right.
        #[test]
        fn any_progress_keeps_the_order(parts in prop::collection::vec((0usize..20, 0usize..30), 1..12),
                                        steps in prop::collection::vec(1usize..25, 1..6)) {
            let mut outgoing = Outgoing::new(4, 64);
            let mut expected = Vec::new();
            let mut payloads = Vec::new();
            for (i, (head, payload)) in parts.iter().enumerate() {
                outgoing.append(|bytes| bytes.resize(bytes.len() + head, i as u8));
                expected.resize(expected.len() + head, i as u8);
                payloads.push(vec![100 + i as u8; *payload]);
                outgoing.append_hole(i as u32, *payload as u32);
                expected.extend(&payloads[i]);
            }
            let mut taken: Vec<u8> = Vec::new();
            let mut steps = steps.iter().cycle();
            while !outgoing.is_empty() {
                // What `send_once` would offer, cut to what the kernel takes.
                let mut offer: Vec<u8> = Vec::new();
                match outgoing.holes.front() {
                    None => offer.extend(&outgoing.bytes[outgoing.sent..]),
                    Some(hole) => {
                        let after = outgoing.holes.get(1).map_or(outgoing.bytes.len(), |n| n.at);
                        offer.extend(&outgoing.bytes[outgoing.sent..hole.at]);
                        offer.extend(&payloads[hole.tag as usize][hole.sent..]);
                        offer.extend(&outgoing.bytes[hole.at..after]);
                    }
                }
                let count = offer.len().min(*steps.next().unwrap());
                taken.extend(&offer[..count]);
                outgoing.advance(count);
            }
            prop_assert_eq!(taken, expected);
            prop_assert_eq!(outgoing.queued(), outgoing.handed());
        }
    }

    #[test]
    fn a_full_socket_takes_the_rest_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Socket::new(
            TcpStream::connect(listener.local_addr().unwrap()).unwrap(),
            plimsoll_transport::SystemClock::no_deadline(),
        )
        .unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let length = 32 << 20;
        let mut payloads = Payloads(vec![vec![7; length]]);
        let mut outgoing = Outgoing::new(1, 16);
        outgoing.append(|bytes| bytes.extend(b"head"));
        outgoing.append_hole(0, length as u32);
        outgoing.append(|bytes| bytes.extend(b"tail"));
        assert!(outgoing.send(&socket, &mut payloads).unwrap());
        assert!(!outgoing.is_empty(), "32 MiB do not fit into a socket nobody reads");
        let reader = std::thread::spawn(move || {
            let mut all = vec![0; length + 8];
            peer.read_exact(&mut all).unwrap();
            all
        });
        while !outgoing.is_empty() {
            outgoing.send(&socket, &mut payloads).unwrap();
            std::thread::yield_now();
        }
        let all = reader.join().unwrap();
        assert!(all.starts_with(b"head\x07") && all.ends_with(b"\x07tail"));
    }
}
