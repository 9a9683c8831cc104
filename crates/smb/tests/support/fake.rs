//! A small SMB 2 server of one thread that behaves but for one lie a test tells. It is written
//! from the specification (MS-SMB2), with no code of the client's, and lets everybody in as a
//! guest, so nothing it sends is signed.
#![allow(dead_code, reason = "every test program uses a part of it")]

use plimsoll_testkit::responder::smb::reply;
#[allow(unused_imports, reason = "every test program uses a part of it")]
pub use plimsoll_testkit::responder::smb::reply::{
    buffer as buffer_body, error as error_body, frame, negotiate as negotiate_body,
    preauth_context, read as read_body, session_setup as session_setup_body, write as write_body,
};
use plimsoll_transport::{Socket, SourcePort};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub const NEGOTIATE: u16 = 0;
pub const SESSION_SETUP: u16 = 1;
pub const TREE_CONNECT: u16 = 3;
pub const CREATE: u16 = 5;
pub const CLOSE: u16 = 6;
pub const FLUSH: u16 = 7;
pub const READ: u16 = 8;
pub const WRITE: u16 = 9;
pub const IOCTL: u16 = 11;
pub const QUERY_DIRECTORY: u16 = 14;
pub const QUERY_INFO: u16 = 16;

pub const SUCCESS: u32 = 0;
pub const PENDING: u32 = 0x0000_0103;
pub const MORE_PROCESSING: u32 = 0xC000_0016;
pub const NO_MORE_FILES: u32 = 0x8000_0006;

const RESPONSE: u32 = 1;
const ASYNC: u32 = 2;
const RELATED: u32 = 4;
const SESSION: u64 = 0x51;
const TREE: u32 = 0x77;

/// One request of a client; several in one frame are several requests.
#[derive(Clone)]
pub struct Request {
    pub bytes: Vec<u8>,
    /// Whether another one follows in the same frame.
    pub more: bool,
}

impl Request {
    pub fn command(&self) -> u16 {
        self.u16_at(12)
    }

    pub fn message_id(&self) -> u64 {
        u64::from_le_bytes(self.bytes[24..32].try_into().unwrap())
    }

    pub fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes[at..at + 2].try_into().unwrap())
    }

    pub fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    /// A response to it, which grants 32 credits.
    pub fn response(&self, status: u32, body: &[u8]) -> Response {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(b"\xfeSMB");
        bytes[4] = 64;
        bytes[6..8].copy_from_slice(&self.bytes[6..8]);
        bytes[8..12].copy_from_slice(&status.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.bytes[12..14]);
        bytes[14] = 32;
        let flags = RESPONSE | self.u32_at(16) & RELATED;
        bytes[16..20].copy_from_slice(&flags.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.bytes[24..32]);
        bytes[36..40].copy_from_slice(&TREE.to_le_bytes());
        bytes[40..48].copy_from_slice(&SESSION.to_le_bytes());
        bytes.extend_from_slice(body);
        Response(bytes)
    }

    /// The interim response that says: later. The final one then carries the same flag and id.
    pub fn pending(&self) -> Response {
        self.response(PENDING, &error_body()).asynchronous()
    }

    /// What an honest server answers.
    pub fn honest(&self) -> Response {
        let (status, body) = match self.command() {
            NEGOTIATE => (SUCCESS, negotiate_body(0x0210, &[])),
            SESSION_SETUP if self.is_first_of_session() => {
                (MORE_PROCESSING, session_setup_body(0, &challenge()))
            }
            SESSION_SETUP => (SUCCESS, session_setup_body(1, &[])),
            TREE_CONNECT => (SUCCESS, reply::tree_connect()),
            CREATE => (SUCCESS, create_body(100)),
            CLOSE => (SUCCESS, reply::close()),
            READ => (SUCCESS, read_body(80, 100, &[7; 100])),
            WRITE => (SUCCESS, write_body(self.u32_at(64 + 4))),
            QUERY_DIRECTORY => (NO_MORE_FILES, error_body()),
            _ => (SUCCESS, reply::empty()),
        };
        self.response(status, &body)
    }

    fn is_first_of_session(&self) -> bool {
        self.bytes[40..48] == [0; 8]
    }
}

/// One response, to be bent.
#[derive(Clone)]
pub struct Response(pub Vec<u8>);

impl Response {
    /// With these bytes at that place, counted from the header's first.
    pub fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub fn credits(self, credits: u16) -> Self {
        self.with(14, &credits.to_le_bytes())
    }

    pub fn asynchronous(self) -> Self {
        let flags = u32::from_le_bytes(self.0[16..20].try_into().unwrap()) | ASYNC;
        self.with(16, &flags.to_le_bytes()).with(32, &9_u64.to_le_bytes())
    }

    /// With its length before it, as it goes on the wire.
    pub fn frame(&self) -> Vec<u8> {
        frame(&self.0)
    }
}

/// CREATE Response of a regular file of so many bytes.
pub fn create_body(size: u64) -> Vec<u8> {
    reply::create(1, 0, size, 0x80, [3; 16])
}

/// An NTLM CHALLENGE_MESSAGE in a SPNEGO negTokenResp (RFC 4178, section 4.2.2).
fn challenge() -> Vec<u8> {
    let ntlm = reply::challenge(0xe28a_8215, [9; 8]);
    let der = |tag: u8, content: &[u8]| {
        assert!(content.len() < 128);
        [&[tag, content.len() as u8][..], content].concat()
    };
    let state = der(0xa0, &der(0x0a, &[1]));
    let mechanism = der(0xa1, &der(0x06, &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 10]));
    let token = der(0xa2, &der(0x04, &ntlm));
    // Above 127 bytes the length takes a byte of its own.
    let long = |tag: u8, content: &[u8]| [&[tag, 0x81, content.len() as u8][..], content].concat();
    long(0xa1, &long(0x30, &[state, mechanism, token].concat()))
}

/// The requests of one connection, in their order.
pub struct Peer {
    stream: TcpStream,
    waiting: std::collections::VecDeque<Request>,
}

impl Peer {
    /// The next request; `None` once the client has gone.
    pub fn next(&mut self) -> Option<Request> {
        if let Some(request) = self.waiting.pop_front() {
            return Some(request);
        }
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut rest = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut rest).ok()?;
        loop {
            let next = u32::from_le_bytes(rest[20..24].try_into().unwrap()) as usize;
            let tail = if next == 0 { Vec::new() } else { rest.split_off(next) };
            self.waiting.push_back(Request { bytes: rest, more: next != 0 });
            if next == 0 {
                return self.waiting.pop_front();
            }
            rest = tail;
        }
    }

    /// Sends raw bytes; whether the client still takes them.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends what an honest server answers to a request and to those compounded with it.
    pub fn answer_honestly(&mut self, request: Request) {
        let mut requests = vec![request];
        while requests.last().is_some_and(|r| r.more) {
            requests.extend(self.next());
        }
        let responses: Vec<_> = requests.iter().map(Request::honest).collect();
        let compound = compound(&responses);
        self.send(&frame(&compound));
    }

    /// Behaves until a request of this command, which is returned with the first rest of its
    /// compound still to come.
    pub fn until(&mut self, command: u16) -> Option<Request> {
        loop {
            let request = self.next()?;
            if request.command() == command {
                return Some(request);
            }
            self.answer_honestly(request);
        }
    }

    /// Behaves to the end.
    pub fn behave(mut self) {
        while let Some(request) = self.next() {
            self.answer_honestly(request);
        }
    }
}

/// Responses in one frame, each at a multiple of eight (MS-SMB2, section 3.3.4.1.3).
pub fn compound(responses: &[Response]) -> Vec<u8> {
    let mut whole = Vec::new();
    for (index, Response(bytes)) in responses.iter().enumerate() {
        let at = whole.len();
        whole.extend_from_slice(bytes);
        if index + 1 < responses.len() {
            whole.resize(whole.len().next_multiple_of(8), 0);
            let next = (whole.len() - at) as u32;
            whole[at + 20..at + 24].copy_from_slice(&next.to_le_bytes());
        }
    }
    whole
}

/// A server that follows a script on one connection, then closes it.
pub fn peer(script: impl FnOnce(Peer) + Send + 'static) -> (Socket, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        script(Peer { stream, waiting: Default::default() });
    });
    let limit = Duration::from_secs(5);
    (
        plimsoll_transport::connect(
            &[HERE],
            port,
            SourcePort::Any,
            limit,
            &plimsoll_transport::SystemClock::no_deadline(),
        )
        .unwrap(),
        thread,
    )
}
