//! However the kernel takes the bytes, the accounting and the order stay right.

use super::*;
use crate::SystemClock;
use crate::pipeline::Completion;
use crate::pipeline::tests::Numbers;
use proptest::prelude::*;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

struct Payloads(Vec<Vec<u8>>);

impl Exchange<Numbers> for Payloads {
    fn now(&mut self) -> u64 {
        0
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.0[tag as usize]
    }
    fn complete(&mut self, _: Completion<u32, BadFrame>) {}
}

fn connected() -> (Socket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = Socket::new(tcp, SystemClock::no_deadline()).unwrap();
    (socket, listener.accept().unwrap().0)
}

#[test]
fn a_payload_of_the_wrong_length_is_an_error() {
    let (socket, _peer) = connected();
    let mut outgoing = Outgoing::new(16);
    outgoing.append_later(0, 5);
    let refused = Err(BadFrame::Payload { length: 4, announced: 5 });
    assert_eq!(outgoing.send(&socket, &mut Payloads(vec![vec![1; 4]])), refused);
}

proptest! {
    /// Calls one after the other, each a head, a payload and a tail; the next is begun only when
    /// there is space for it.
    #[test]
    fn any_progress_keeps_the_order(
        parts in prop::collection::vec((0usize..20, 0usize..30, 0usize..4), 1..12),
        steps in prop::collection::vec(1usize..25, 1..6),
    ) {
        let mut outgoing = Outgoing::new(64);
        let (mut expected, mut taken): (Vec<u8>, Vec<u8>) = Default::default();
        let payloads: Vec<_> = (0..parts.len()).map(|i| vec![100 + i as u8; parts[i].1]).collect();
        let mut steps = steps.iter().cycle();
        let mut parts = parts.iter().enumerate();
        loop {
            while outgoing.has_room() && let Some((i, (head, payload, tail))) = parts.next() {
                outgoing.append(|bytes| bytes.resize(bytes.len() + head, i as u8));
                expected.resize(expected.len() + head, i as u8);
                if payload % 2 == 0 {
                    outgoing.append_later(i as u32, *payload as u32);
                } else {
                    outgoing.append(|bytes| bytes.extend(&payloads[i]));
                }
                expected.extend(&payloads[i]);
                outgoing.append(|bytes| bytes.resize(bytes.len() + tail, 0));
                expected.resize(expected.len() + tail, 0);
            }
            if outgoing.is_empty() {
                break;
            }
            // What `send_once` would offer, cut to what the kernel takes.
            let mut offer: Vec<u8> = Vec::new();
            match &outgoing.later {
                None => offer.extend(&outgoing.bytes[outgoing.sent..]),
                Some(later) => {
                    offer.extend(&outgoing.bytes[outgoing.sent..later.at]);
                    offer.extend(&payloads[later.tag as usize][later.sent..]);
                    offer.extend(&outgoing.bytes[later.at..]);
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
    let (socket, mut peer) = connected();
    let length = 32 << 20;
    let mut payloads = Payloads(vec![vec![7; length]]);
    let mut outgoing = Outgoing::new(16);
    outgoing.append(|bytes| bytes.extend(b"head"));
    outgoing.append_later(0, length as u32);
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
