//! A client that talks to the fake server while it lies, and what the client makes of it, in time.

use super::fake::{self, Peer, Request, peer};
use plimsoll_smb::{Credentials, Dialect, Error, FileId, Options, Session, Tree};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a call that must not hang may take.
pub const LIMIT: Duration = Duration::from_millis(700);

pub fn options(dialect: Dialect) -> Options {
    Options { dialects: vec![dialect], call_timeout: LIMIT, ..Options::default() }
}

/// Runs something that must end in time.
#[track_caller]
pub fn in_time<R>(what: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let result = what();
    assert!(begun.elapsed() < 4 * LIMIT + Duration::from_secs(5), "it hangs");
    result
}

pub fn open_with(
    options: &Options,
    script: impl FnOnce(Peer) + Send + 'static,
) -> (Result<Session, Error>, JoinHandle<()>) {
    let (socket, thread) = peer(script);
    let session = in_time(|| Session::open(socket, "server", &Credentials::guest(), options));
    (session, thread)
}

/// What opening a session makes of an answer to a request of this command.
#[track_caller]
pub fn opening(
    options: &Options,
    command: u16,
    answer: impl FnOnce(&Request) -> Vec<u8> + Send + 'static,
) -> Error {
    let (session, thread) = open_with(options, move |mut peer| {
        if let Some(request) = peer.until(command) {
            peer.send(&answer(&request));
        }
    });
    let error = session.map(drop).unwrap_err();
    thread.join().unwrap();
    error
}

/// A tree whose server behaves until a request of this command, then follows a script.
pub fn tree_with(
    command: u16,
    script: impl FnOnce(Request, &mut Peer) + Send + 'static,
) -> (Tree, JoinHandle<()>) {
    let (session, thread) = open_with(&options(Dialect::Smb2_1), move |mut peer| {
        if let Some(request) = peer.until(command) {
            script(request, &mut peer);
        }
    });
    (session.unwrap().tree("share").map_err(|(_, error)| error).unwrap(), thread)
}

/// What a call on an open file makes of an answer to a request of this command.
#[track_caller]
pub fn calling<R: std::fmt::Debug>(
    command: u16,
    answer: impl FnOnce(&Request) -> Vec<u8> + Send + 'static,
    call: impl FnOnce(&mut Tree) -> Result<R, Error>,
) -> Error {
    let (mut tree, thread) = tree_with(command, move |request, peer| {
        peer.send(&answer(&request));
    });
    let error = in_time(|| call(&mut tree)).unwrap_err();
    thread.join().unwrap();
    if error.is_fatal() {
        in_time(|| tree.echo()).expect_err("a dead connection stays dead");
    }
    error
}

pub const FILE: FileId =
    FileId { persistent: u64::from_le_bytes([3; 8]), volatile: u64::from_le_bytes([3; 8]) };

pub fn read(tree: &mut Tree) -> Result<usize, Error> {
    tree.read(FILE, 0, &mut [0; 100])
}

/// What a READ of 100 bytes makes of an answer.
#[track_caller]
pub fn reading(answer: impl FnOnce(&Request) -> Vec<u8> + Send + 'static) -> Error {
    calling(fake::READ, answer, read)
}
