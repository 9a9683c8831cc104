//! A peer that answers a pipeline's requests without storing anything: what it is asked to read is
//! [`content`], and what it is sent must be. It shares no code with the client.
#![allow(dead_code)] // Each test uses a part of it.

mod manners;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use plimsoll_smb::{Cipher, Dialect, Guard, Link, Sealer, SessionFacts, Signer, SigningAlgorithm};
use smb2::crypto::{encryption, signing};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use manners::{EVERY_PROTECTION, How, Lie, Manners, Protection};

const SESSION: u64 = 0x1122_3344;
const KEY: [u8; 32] = [0x5a; 32];
const OTHER_KEY: [u8; 32] = [0xa5; 32];

/// Commands.
pub const CREATE: u16 = 5;
pub const CLOSE: u16 = 6;
pub const FLUSH: u16 = 7;
pub const QUERY_DIRECTORY: u16 = 14;
pub const QUERY_INFO: u16 = 16;
pub const SET_INFO: u16 = 17;
pub const READ: u16 = 8;
pub const WRITE: u16 = 9;

/// What every file holds.
pub fn content(offset: u64, length: usize) -> Vec<u8> {
    (offset..offset + length as u64).map(|at| (at * 7 + at / 4096) as u8).collect()
}

/// What the peer has seen.
#[derive(Clone, Debug, Default)]
pub struct PeerRecord {
    pub frames: u64,
    pub requests: Vec<u16>,
    /// Flags of each WRITE.
    pub write_flags: Vec<u32>,
}

/// Starts a peer for one connection with so many credits granted already; the client's end.
pub fn connect(manners: Manners, credits: u32, dialect: Dialect) -> (Link, JoinHandle<PeerRecord>) {
    let listener = TcpListener::bind((another_address(), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let protection = manners.protection;
    let large_transfers = manners.large_transfers;
    let thread = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        tcp.set_nodelay(true).unwrap();
        let next_id = 100;
        let mut peer = Peer {
            tcp,
            manners,
            next_id,
            credits,
            seen: PeerRecord::default(),
            nonce: 0,
            scratch: vec![],
            said: 0,
            sent: 0,
        };
        peer.serve();
        peer.seen
    });
    let most = if large_transfers { 1 << 20 } else { 65536 };
    let facts = SessionFacts {
        dialect,
        server_guid: [0; 16],
        signing: None,
        cipher: None,
        guest: false,
        read_most: most,
        write_most: most,
        transact_most: 65536,
        large_transfers,
    };
    let mut guard = Guard::default();
    match protection {
        Protection::Plain => {}
        Protection::Sign(algorithm) => {
            guard.signer = Some(Signer::new(algorithm, &KEY[..16]).unwrap());
            guard.sign = true;
        }
        Protection::Seal(cipher) => {
            let length = cipher.key_length();
            let sealer = Sealer::new(cipher, &KEY[..length], &OTHER_KEY[..length], SESSION);
            guard.sealer = Some(sealer.unwrap());
            guard.seal = true;
        }
    }
    let link = Link {
        socket: socket(address),
        guard,
        session_id: SESSION,
        tree_id: 5,
        next_message_id: 100,
        credits,
        facts,
        compounds: true,
    };
    (link, thread)
}

/// Each time another address of this machine: ports of connections that are closed stay taken for a
/// minute, and fuzzing makes thousands of connections.
fn another_address() -> Ipv4Addr {
    static LAST: AtomicU8 = AtomicU8::new(0);
    Ipv4Addr::new(127, 0, LAST.fetch_add(1, Ordering::Relaxed), 1)
}

fn socket(address: SocketAddr) -> plimsoll_transport::Socket {
    plimsoll_transport::Socket::new(
        TcpStream::connect(address).unwrap(),
        plimsoll_transport::SystemClock::no_deadline(),
    )
    .unwrap()
}

struct Peer {
    tcp: TcpStream,
    manners: Manners,
    next_id: u64,
    credits: u32,
    seen: PeerRecord,
    nonce: u128,
    scratch: Vec<u8>,
    /// Replies made, and frames sent.
    said: u8,
    sent: u8,
}

/// One request, taken apart.
struct Request {
    command: u16,
    charge: u16,
    wanted: u16,
    id: u64,
    bytes: Vec<u8>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Peer {
    /// Answers until the client closes.
    fn serve(&mut self) {
        loop {
            let mut calls = Vec::new();
            while calls.len() < self.manners.gather {
                // With some gathered already, no longer wait than a moment for more.
                let hurries = !calls.is_empty() || !self.manners.lies.is_empty();
                let wait = hurries.then_some(Duration::from_millis(5));
                self.tcp.set_read_timeout(wait).unwrap();
                match self.frame() {
                    Ok(Some(requests)) => calls.push(requests),
                    Ok(None) if calls.is_empty() => return,
                    Ok(None) => break,
                    Err(()) => return,
                }
            }
            for requests in calls.into_iter().rev() {
                if self.answer(requests).is_err() {
                    return;
                }
            }
        }
    }

    /// The requests in the next frame; `None` if none comes in time.
    fn frame(&mut self) -> Result<Option<Vec<Request>>, ()> {
        let mut prefix = [0; 4];
        match self.tcp.read(&mut prefix[..1]) {
            Ok(1) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(()),
        }
        self.tcp.set_read_timeout(None).unwrap();
        self.tcp.read_exact(&mut prefix[1..]).map_err(drop)?;
        let mut frame = std::mem::take(&mut self.scratch);
        frame.resize(u32::from_be_bytes(prefix) as usize, 0);
        self.tcp.read_exact(&mut frame).map_err(drop)?;
        self.seen.frames += 1;
        if let Protection::Seal(cipher) = self.manners.protection {
            let (named, length) = their_cipher(cipher);
            frame = encryption::decrypt_message(&frame[..52], &frame[52..], &KEY[..length], named)
                .unwrap();
        }
        let mut requests = Vec::new();
        let mut rest = &frame[..];
        loop {
            let next = u32_at(rest, 20) as usize;
            let bytes = if next == 0 { rest } else { &rest[..next] };
            assert_eq!(&bytes[..4], b"\xfeSMB");
            assert_eq!(u32_at(bytes, 16) & 4 != 0, !requests.is_empty(), "related");
            if let Protection::Sign(algorithm) = self.manners.protection {
                assert_eq!(u32_at(bytes, 16) & 8, 8);
                assert_eq!(signature(algorithm, bytes, false), bytes[48..64]);
            }
            assert_eq!((u64_at(bytes, 40), u32_at(bytes, 36)), (SESSION, 5));
            requests.push(self.request(bytes));
            match next {
                0 => break,
                next => rest = &rest[next..],
            }
        }
        self.scratch = frame;
        Ok(Some(requests))
    }

    /// Checks what the header of a request claims.
    fn request(&mut self, bytes: &[u8]) -> Request {
        let (charge, command) = (u16_at(bytes, 6), u16_at(bytes, 12));
        let id = u64_at(bytes, 24);
        assert_eq!(id, self.next_id, "numbers follow each other");
        let used = if self.manners.large_transfers {
            let payload = if matches!(command, READ | WRITE) { u32_at(bytes, 68) } else { 0 };
            assert_eq!(u32::from(charge), payload.saturating_sub(1) / 65536 + 1);
            charge
        } else {
            assert_eq!(charge, 0);
            1
        };
        self.next_id += u64::from(used);
        let left = self.credits.checked_sub(used.into());
        let left = left.or((!self.manners.lies.is_empty()).then_some(0));
        self.credits = left.expect("the client uses no credits that it does not have");
        self.seen.requests.push(command);
        if command == WRITE {
            self.seen.write_flags.push(u32_at(bytes, 108));
            let length = u32_at(bytes, 68) as usize;
            assert!(bytes.len() >= 112 + length);
            assert_eq!(bytes[112..112 + length], content(u64_at(bytes, 72), length), "payload");
        }
        Request {
            command,
            charge: used,
            wanted: u16_at(bytes, 14),
            id,
            bytes: bytes[..120.min(bytes.len())].to_vec(),
        }
    }

    fn answer(&mut self, requests: Vec<Request>) -> Result<(), ()> {
        if self.manners.breaks {
            let mut oplock_break = header(18, u64::MAX, 0, 1, 0);
            oplock_break.extend_from_slice(&[24, 0, 0, 0]);
            oplock_break.resize(64 + 24, 0);
            let plain = !matches!(self.manners.protection, Protection::Seal(_));
            self.send(oplock_break, plain)?;
        }
        let mut replies = Vec::new();
        let count = requests.len();
        let mut refused = None;
        for (i, request) in requests.into_iter().enumerate() {
            let granted = request.wanted.min(self.manners.grant_most);
            self.credits += u32::from(granted);
            let mut credits = granted;
            if self.manners.pending {
                // Interim replies are not signed.
                let mut interim = header(request.command, request.id, 0x103, 3, granted);
                interim.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
                (self.manners.change_interim)(&mut interim);
                let plain = !matches!(self.manners.protection, Protection::Seal(_));
                self.send(interim, plain)?;
                credits = 0;
            }
            let mut reply = self.reply(&request, &mut refused, credits);
            if !self.manners.split && i + 1 < count {
                let length = reply.len().next_multiple_of(8);
                reply.resize(length, 0);
                reply[20..24].copy_from_slice(&(length as u32).to_le_bytes());
            }
            (self.manners.change_reply)(&mut reply);
            for lie in self.lies(self.said, |how| how == How::Say) {
                let at = usize::from(lie.at) % reply.len();
                reply[at] ^= lie.value;
            }
            self.said = self.said.wrapping_add(1);
            if let Protection::Sign(algorithm) = self.manners.protection {
                reply[16] |= 8;
                let signature = signature(algorithm, &reply, true);
                reply[48..64].copy_from_slice(&signature);
            }
            replies.push(reply);
        }
        if self.manners.split {
            // The last part first: any order is allowed.
            replies.into_iter().rev().try_for_each(|reply| self.send(reply, false))
        } else {
            self.send(replies.concat(), false)
        }
    }

    /// The reply to one request, not protected.
    fn reply(&self, request: &Request, refused: &mut Option<u32>, credits: u16) -> Vec<u8> {
        let asked = request.bytes.as_slice();
        let refuse =
            |(command, status): &(u16, u32)| (*command == request.command).then_some(*status);
        let mut status = refused.or_else(|| self.manners.refuse.iter().find_map(refuse));
        let (offset, length) = match request.command {
            READ | WRITE => (u64_at(asked, 72), u32_at(asked, 68) as usize),
            _ => (0, 0),
        };
        let there = self.manners.file_size.saturating_sub(offset).min(length as u64) as usize;
        if request.command == READ && there == 0 && length > 0 && status.is_none() {
            status = Some(0xc000_0011);
        } else if request.command == CREATE || self.manners.ends_compounds {
            *refused = status;
        }
        let flags = if self.manners.pending { 3 } else { 1 };
        let mut reply = header(request.command, request.id, status.unwrap_or(0), flags, credits);
        if status.is_some() {
            reply.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
            return reply;
        }
        match request.command {
            CREATE => {
                reply.extend_from_slice(&[89, 0]);
                reply.resize(64 + 48, 0);
                reply.extend_from_slice(&self.manners.file_size.to_le_bytes());
                reply.resize(64 + 64, 0);
                reply.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
                reply.resize(64 + 88, 0);
            }
            READ => {
                reply.extend_from_slice(&[17, 0, 80, 0]);
                reply.extend_from_slice(&(there as u32).to_le_bytes());
                reply.resize(80, 0);
                reply.extend_from_slice(&content(offset, there));
            }
            WRITE => {
                reply.extend_from_slice(&[17, 0, 0, 0]);
                reply.extend_from_slice(&(length as u32).to_le_bytes());
                reply.resize(80, 0);
            }
            FLUSH => reply.extend_from_slice(&[4, 0, 0, 0]),
            QUERY_INFO => {
                reply.extend_from_slice(&[9, 0, 72, 0, 56, 0, 0, 0]);
                reply.resize(72 + 40, 0);
                reply.extend_from_slice(&self.manners.file_size.to_le_bytes());
                reply.resize(72 + 56, 0);
            }
            QUERY_DIRECTORY => {
                reply.extend_from_slice(&[9, 0, 72, 0, 66, 0, 0, 0]);
                reply.resize(72 + 60, 0);
                reply.extend_from_slice(&[2, 0, 0, 0, b'a', 0]);
            }
            SET_INFO => reply.extend_from_slice(&[2, 0]),
            CLOSE => {
                reply.extend_from_slice(&[60, 0]);
                reply.resize(64 + 60, 0);
            }
            other => panic!("command {other} is none of a pipeline's"),
        }
        assert!(request.charge > 0);
        reply
    }

    /// Sends a frame, encrypted if so agreed.
    fn send(&mut self, mut content: Vec<u8>, plain: bool) -> Result<(), ()> {
        if let (Protection::Seal(cipher), false) = (self.manners.protection, plain) {
            let (named, length) = their_cipher(cipher);
            self.nonce += 1;
            let nonce = self.nonce.to_le_bytes();
            let key = &OTHER_KEY[..length];
            let (head, sealed) =
                encryption::encrypt_message(&content, key, named, &nonce, SESSION).unwrap();
            content = [head, sealed].concat();
        }
        let mut frame = (content.len() as u32).to_be_bytes().to_vec();
        frame.extend_from_slice(&content);
        (self.manners.change_frame)(&mut frame);
        for lie in self.lies(self.sent, |how| how != How::Say) {
            let at = usize::from(lie.at) % frame.len().max(1);
            match lie.how {
                How::Flip if !frame.is_empty() => frame[at] ^= lie.value,
                How::Cut if frame.len() > 4 => {
                    frame.truncate(at.max(4));
                    let length = frame.len() as u32 - 4;
                    frame[..4].copy_from_slice(&length.to_be_bytes());
                }
                How::Twice => frame.extend_from_within(..),
                How::Withhold => frame.clear(),
                _ => {}
            }
        }
        self.sent = self.sent.wrapping_add(1);
        self.tcp.write_all(&frame).map_err(drop)
    }

    /// The lies about one reply.
    fn lies(&self, reply: u8, which: fn(How) -> bool) -> Vec<Lie> {
        let all = self.manners.lies.iter().copied();
        all.filter(|lie| lie.reply == reply && which(lie.how)).collect()
    }
}

fn header(command: u16, id: u64, status: u32, flags: u32, credits: u16) -> Vec<u8> {
    let mut header = b"\xfeSMB\x40\0".to_vec();
    header.resize(8, 0);
    header.extend_from_slice(&status.to_le_bytes());
    header.extend_from_slice(&command.to_le_bytes());
    header.extend_from_slice(&credits.to_le_bytes());
    header.extend_from_slice(&flags.to_le_bytes());
    header.resize(24, 0);
    header.extend_from_slice(&id.to_le_bytes());
    header.resize(36, 0);
    header.extend_from_slice(&5u32.to_le_bytes());
    header.extend_from_slice(&SESSION.to_le_bytes());
    header.resize(64, 0);
    header
}

fn their_cipher(cipher: Cipher) -> (encryption::Cipher, usize) {
    let named = match cipher {
        Cipher::Aes128Ccm => encryption::Cipher::Aes128Ccm,
        Cipher::Aes128Gcm => encryption::Cipher::Aes128Gcm,
        Cipher::Aes256Ccm => encryption::Cipher::Aes256Ccm,
        Cipher::Aes256Gcm => encryption::Cipher::Aes256Gcm,
    };
    (named, cipher.key_length())
}

/// The signature of a message by the server or the client.
fn signature(algorithm: SigningAlgorithm, message: &[u8], server: bool) -> [u8; 16] {
    let mut message = message.to_vec();
    message[48..64].fill(0);
    let named = match algorithm {
        SigningAlgorithm::HmacSha256 => signing::SigningAlgorithm::HmacSha256,
        SigningAlgorithm::AesCmac => signing::SigningAlgorithm::AesCmac,
        SigningAlgorithm::AesGmac => {
            let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY[..16]).unwrap());
            let mut nonce = [0; 12];
            nonce[..8].copy_from_slice(&message[24..32]);
            nonce[8] = server.into();
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = key.seal_in_place_separate_tag(nonce, Aad::from(&message), &mut []);
            return tag.unwrap().as_ref().try_into().unwrap();
        }
    };
    let id = u64_at(&message, 24);
    signing::sign_message(&mut message, &KEY[..16], named, id, false).unwrap();
    message[48..64].try_into().unwrap()
}
