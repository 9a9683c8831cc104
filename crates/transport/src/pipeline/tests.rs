//! A pipeline for the smallest of protocols: a request is a number in a frame, and so is its reply.

use super::*;
use crate::SystemClock;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;

/// Numbers in frames. An odd one is asked for twice, one after the other, and 100 too, but later; 13 cannot be
/// sent; at most two are under way. Nobody looks at more of a reply than its number where that is 2, 6, 10, and so on.
pub(super) struct Numbers {
    replies: FrameBuffer<Length>,
    under_way: u32,
    unread: bool,
    frames: Vec<Vec<u8>>,
}

fn is_dropped(number: u32) -> bool {
    number % 4 == 2
}

/// The number that is asked for once more, and how much later.
const PUT_OFF: u32 = 100;
const LATER: u64 = 50;

/// A length, in front of every frame.
pub(super) struct Length;

impl Mark for Length {
    type Error = BadFrame;
    fn parse(mark: [u8; 4]) -> Result<(usize, bool), BadFrame> {
        Ok((u32::from_be_bytes(mark) as usize, true))
    }
}

impl From<Error> for BadFrame {
    fn from(_: Error) -> Self {
        BadFrame::EmptyFragments
    }
}

/// What is asked for, and how often it still is.
type RequestCount = (u32, u32);

impl Protocol for Numbers {
    type Request<'a> = u32;
    type Call = RequestCount;
    type Done<'a> = u32;
    type Error = BadFrame;
    type Mark = Length;

    fn replies(&mut self) -> &mut FrameBuffer<Length> {
        &mut self.replies
    }

    fn begin(&mut self, request: &mut u32, call: &mut RequestCount) {
        *call = (*request, 1 + u32::from(*request % 2 == 1 || *request == PUT_OFF));
    }

    fn encode(
        &mut self,
        _: u16,
        slot: &mut Slot<RequestCount>,
        to: &mut Outgoing,
        _: &mut impl Exchange<Self>,
    ) -> Result<Encoded<BadFrame>, BadFrame> {
        if slot.call.0 == 13 {
            return Ok(Encoded::Refused(BadFrame::EmptyFragments));
        }
        if self.under_way == 2 {
            return Ok(Encoded::Waits);
        }
        self.under_way += 1;
        slot.call.1 -= 1;
        to.append(|bytes| {
            bytes.extend(4u32.to_be_bytes());
            bytes.extend(slot.call.0.to_be_bytes());
        });
        Ok(Encoded::Queued)
    }

    fn expects_unread(&self) -> bool {
        self.unread
    }

    fn is_unread(&mut self, head: Range<usize>, _: &mut InFlight<RequestCount>) -> bool {
        assert!(head.len() >= HEAD_BYTES);
        let number = self.replies.frame(head).first_chunk().copied().map(u32::from_be_bytes);
        number.is_some_and(is_dropped)
    }

    fn complete<X: Exchange<Self>>(
        &mut self,
        Received { place, done, calls, with }: Received<'_, RequestCount, X>,
    ) -> Result<usize, BadFrame> {
        let frame = self.replies.frame(place);
        let number = frame.first_chunk().copied().map(u32::from_be_bytes);
        self.frames.push(frame.to_vec());
        let mut indices = calls.indices();
        let index = indices
            .find(|index| calls.sent(*index).is_some_and(|slot| Some(slot.call.0) == number))
            .ok_or(BadFrame::EmptyFragments)?;
        self.under_way -= 1;
        let Some(slot) = calls.sent(index) else { return Ok(0) };
        if slot.call.1 > 0 {
            if slot.call.0 == PUT_OFF {
                with.postponed(done);
                calls.go_on_at(index, done + LATER);
            } else {
                calls.go_on(index);
            }
            return Ok(0);
        }
        let (tag, sent, result) = (slot.tag, slot.sent, Ok(slot.call.0));
        with.complete(Completion { tag, sent, done, result });
        calls.finish(index);
        Ok(1)
    }
}

#[derive(Default)]
struct User {
    time: u64,
    /// When calls were put off.
    put_off: Vec<u64>,
    ended: Vec<(u32, Result<u32, BadFrame>)>,
}

impl Exchange<Numbers> for User {
    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        &[]
    }
    fn postponed(&mut self, done: u64) {
        self.put_off.push(done);
    }
    fn complete(&mut self, completion: Completion<u32, BadFrame>) {
        assert!(completion.sent <= completion.done);
        assert!(completion.result != Ok(PUT_OFF) || self.time > self.put_off[0] + LATER);
        self.ended.push((completion.tag, completion.result));
    }
}

fn pipeline(depth: usize) -> (Pipeline<Numbers>, TcpStream) {
    pipeline_of(depth, 4, false)
}

fn pipeline_of(depth: usize, limit: usize, unread: bool) -> (Pipeline<Numbers>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = Socket::new(tcp, SystemClock::no_deadline()).unwrap();
    let replies = FrameBuffer::new(limit);
    let protocol = Numbers { replies, under_way: 0, unread, frames: Vec::new() };
    let calls = vec![(0, 0); depth].into_iter();
    (Pipeline::new(socket, protocol, calls, 8), listener.accept().unwrap().0)
}

/// A peer that repeats every number, and tells them at the end.
fn echo(mut peer: TcpStream) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut frame, mut seen) = ([0; 8], Vec::new());
        while peer.read_exact(&mut frame).is_ok() {
            seen.push(frame[7]);
            peer.write_all(&frame).unwrap();
        }
        seen
    })
}

#[test]
fn a_call_that_is_put_off_is_made_again_in_time_and_others_go_on() {
    let (mut pipeline, peer) = pipeline(2);
    let echo = echo(peer);
    let mut user = User::default();
    pipeline.submit(0, PUT_OFF).unwrap();
    pipeline.submit(1, 4).unwrap();
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, &mut user).unwrap();
    }
    assert_eq!(user.ended, [(1, Ok(4)), (0, Ok(PUT_OFF))]);
    assert_eq!(user.put_off.len(), 1);
    drop(pipeline);
    assert_eq!(echo.join().unwrap(), [100, 4, 100]);
}

#[test]
fn calls_wait_go_on_and_end() {
    let (mut pipeline, peer) = pipeline(5);
    let echo = echo(peer);
    let mut user = User::default();
    for (tag, number) in [2, 13, 7, 4, 6].into_iter().enumerate() {
        pipeline.submit(tag as u32, number).unwrap();
    }
    assert_eq!(pipeline.submit(9, 8), Err(Full));
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, &mut user).unwrap();
    }
    user.ended.sort_by_key(|(tag, _)| *tag);
    let refused = Err(BadFrame::EmptyFragments);
    assert_eq!(user.ended, [(0, Ok(2)), (1, refused), (2, Ok(7)), (3, Ok(4)), (4, Ok(6))]);
    assert_eq!(pipeline.moved_bytes(), 5 * 2 * 8, "five frames there and back");
    drop(pipeline);
    let mut seen = echo.join().unwrap();
    assert_eq!(seen[..2], [2, 7]);
    seen.sort();
    assert_eq!(seen, [2, 4, 6, 7, 7], "13 is not sent, and 7 is sent twice");
}

#[test]
fn an_error_of_the_connection_stays() {
    let (mut pipeline, mut peer) = pipeline(1);
    let mut user = User::default();
    pipeline.submit(0, 2).unwrap();
    peer.write_all(&[0, 0, 0, 5]).unwrap();
    let refused = Err(BadFrame::TooLong { length: 5, limit: 4 });
    assert_eq!(pipeline.reap(u64::MAX, &mut user), refused);
    assert_eq!(pipeline.reap(u64::MAX, &mut user), refused);
    assert_eq!(pipeline.flush(&mut user).map(|()| 0), refused);
    assert!(user.ended.is_empty() && pipeline.in_flight() == 1);
}

/// Long replies whose data nobody looks at are dropped by the kernel behind their heads, in whatever pieces they
/// come; others among them come whole, and all have the right length.
#[test]
fn what_nobody_looks_at_is_not_copied() {
    const LONG: usize = 300_001;
    let (mut pipeline, mut peer) = pipeline_of(8, LONG, true);
    let answer = std::thread::spawn(move || {
        let mut request = [0; 8];
        while peer.read_exact(&mut request).is_ok() {
            let number = u32::from_be_bytes(*request.last_chunk().unwrap());
            let mut reply = request.to_vec();
            if number != 4 {
                reply.resize(4 + LONG, 0xaa);
                reply[..4].copy_from_slice(&(LONG as u32).to_be_bytes());
            }
            for piece in reply.chunks(70_001 / number as usize) {
                peer.write_all(piece).unwrap();
                if number < 8 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    });
    let mut user = User::default();
    for number in [2, 4, 6, 10, 8, 14, 18] {
        pipeline.submit(number, number).unwrap();
    }
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, &mut user).unwrap();
    }
    let expected: Vec<_> = [2, 4, 6, 10, 8, 14, 18].map(|number| (number, Ok(number))).into();
    assert_eq!(user.ended, expected);
    let replies = 6 * (4 + LONG) + 8;
    assert_eq!(pipeline.moved_bytes(), (7 * 8 + replies) as u64, "those that were dropped too");
    let frames = &pipeline.protocol().frames;
    let data = |place: usize| &frames[place][4..];
    assert_eq!(frames[1].len(), 4);
    // Of those before 8, which fills the buffer, nothing has come but heads.
    for place in [0, 2, 3] {
        assert_eq!(frames[place].len(), LONG);
        assert!(data(place)[..HEAD_BYTES - 4].iter().all(|byte| *byte == 0xaa), "{place}");
        let copied = data(place).iter().filter(|byte| **byte == 0xaa).count();
        assert!(copied <= 2 * HEAD_BYTES, "{place}: {copied}");
    }
    assert!(data(4).len() == LONG - 4 && data(4).iter().all(|byte| *byte == 0xaa));
    assert!([5, 6].iter().all(|place| frames[*place].len() == LONG));
    assert!(frames[6].ends_with(&[0; 8]), "the padding is left out");
    drop(pipeline);
    answer.join().unwrap();
}
