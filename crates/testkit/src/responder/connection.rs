//! How responders serve a connection: calls are taken from it in order, and replies to those that have
//! come together go back together.

use super::costs::Charge;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Space for the longest call or reply in bytes.
pub(super) const LONGEST: usize = (1 << 20) + 4096;
/// Length of the mark in front of each call and reply in bytes: four of its length, and these bits.
const MARK: usize = 4;
/// Bits of the marks of RPC: set in that of a record's last fragment (RFC 5531, section 11). Clients send a
/// call in one.
pub(super) const RECORDS: u32 = 0x8000_0000;
/// Bits of the marks of SMB: none (MS-SMB2, section 2.1).
pub(super) const FRAMES: u32 = 0;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Its reply has been appended.
    Reply,
    /// None is due.
    Nothing,
    /// None, and the connection breaks.
    Cut,
    /// All connections do.
    CutAll,
}

/// The connections of a server that are open.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    /// By number, the oldest first.
    streams: BTreeMap<u64, TcpStream>,
    /// How many there were.
    made: u64,
    /// Most at a time, where there is a limit: the oldest is closed for a new one.
    most: Option<usize>,
}

impl Open {
    /// Breaks as many as that, the oldest first.
    fn cut(&mut self, count: usize) {
        for _ in 0..count {
            let Some((_, stream)) = self.streams.pop_first() else { return };
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new one: its number, and how many are open with it.
    pub fn add(&self, stream: &TcpStream) -> io::Result<(u64, usize)> {
        let again = stream.try_clone()?;
        let mut open = self.open();
        if let Some(most) = open.most {
            let over = (open.streams.len() + 1).saturating_sub(most);
            open.cut(over);
        }
        open.made += 1;
        let number = open.made;
        open.streams.insert(number, again);
        Ok((number, open.streams.len()))
    }

    /// One has ended.
    pub fn remove(&self, number: u64) {
        self.open().streams.remove(&number);
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.open().streams.len()
    }

    /// Closes the oldest from now on where there would be more than so many.
    pub fn keep_newest(&self, most: usize) {
        self.open().most = Some(most);
    }

    /// Breaks the newest, as many as that.
    pub fn cut_newest(&self, count: usize) {
        let mut open = self.open();
        for _ in 0..count {
            let Some((_, stream)) = open.streams.pop_last() else { return };
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Breaks all.
    pub fn cut(&self) {
        self.open().cut(usize::MAX);
    }
}

/// Answers calls until the client goes, or one of them breaks the connection: which way. `answer` appends
/// the reply to a call.
pub(super) fn serve(
    mut stream: &TcpStream,
    bits: u32,
    charge: Option<&Charge>,
    mut answer: impl FnMut(&mut [u8], &mut Vec<u8>) -> Answer,
) -> io::Result<Answer> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 4 * LONGEST];
    let mut replies = Vec::with_capacity(LONGEST);
    let (mut begin, mut end) = (0, 0);
    loop {
        if buffer.len() - end < LONGEST {
            buffer.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
        }
        match stream.read(&mut buffer[end..])? {
            0 => return Ok(Answer::Cut),
            count => end += count,
        }
        let arrived = charge.map(|_| Instant::now());
        while let Some(mark) = buffer[begin..end].first_chunk::<MARK>() {
            let length = (u32::from_be_bytes(*mark) & !bits) as usize;
            if length > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let Some(call) = buffer[begin..end].get_mut(MARK..MARK + length) else { break };
            let at = replies.len();
            replies.extend_from_slice(&[0; MARK]);
            match answer(call, &mut replies) {
                Answer::Reply => {
                    let mark = (replies.len() - at - MARK) as u32 | bits;
                    replies[at..at + MARK].copy_from_slice(&mark.to_be_bytes());
                }
                Answer::Nothing => replies.truncate(at),
                broken => {
                    replies.truncate(at);
                    stream.write_all(&replies)?;
                    return Ok(broken);
                }
            }
            begin += MARK + length;
            if let (Some(charge), Some(arrived)) = (charge, arrived) {
                charge.wait(arrived, MARK + length + replies.len() - at);
                stream.write_all(&replies)?;
                replies.clear();
            }
        }
        stream.write_all(&replies)?;
        replies.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responder::{Costs, Stalls, null};
    use std::time::Duration;

    /// NULL of NFS version 3 as AUTH_NONE, with its mark.
    fn call(number: u32) -> Vec<u8> {
        let words = [RECORDS | 40, number, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// The numbers of so many replies.
    fn numbers(stream: &mut TcpStream, count: usize) -> Vec<u32> {
        let mut next = || {
            let mut mark = [0; MARK];
            stream.read_exact(&mut mark).unwrap();
            let mut reply = vec![0; (u32::from_be_bytes(mark) & !RECORDS) as usize];
            stream.read_exact(&mut reply).unwrap();
            u32::from_be_bytes(*reply.first_chunk().unwrap())
        };
        (0..count).map(|_| next()).collect()
    }

    /// No time is too long on a busy machine; too short it cannot be.
    #[test]
    fn replies_come_in_order_and_no_sooner_than_they_are_paid_for() {
        let operation = Duration::from_millis(5);
        let length = Duration::from_millis(50);
        let stalls = Some(Stalls { length, every: Duration::from_secs(3600) });
        let each_is = Costs { operation, byte: 1e-6, stalls };
        for (costs, least) in [(Costs::FREE, Duration::ZERO), (each_is, length + 4 * operation)] {
            let begun = Instant::now();
            let address = null::serve(null::nfs3, costs).unwrap();
            let mut stream = TcpStream::connect(address).unwrap();
            let calls: Vec<u8> = (7..11).flat_map(call).collect();
            // The last one in two pieces.
            let (together, rest) = calls.split_at(calls.len() - 10);
            stream.write_all(together).unwrap();
            assert_eq!(numbers(&mut stream, 3), [7, 8, 9]);
            stream.write_all(rest).unwrap();
            assert_eq!(numbers(&mut stream, 1), [10]);
            let bytes = if costs == Costs::FREE { 0 } else { 4 * (44 + 44) };
            assert!(begun.elapsed() >= least + Duration::from_micros(bytes));
        }
    }

    #[test]
    fn a_call_without_end_breaks_the_connection() {
        let mut stream = TcpStream::connect(null::serve(null::nfs3, Costs::FREE).unwrap()).unwrap();
        stream.write_all(&u32::MAX.to_be_bytes()).unwrap();
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
}
