//! Sessions and file systems that take less than they are asked to.

use super::reopened::{AFTER_PUTFH, OPEN, found, open_ok, opened, state};
use super::*;
use plimsoll_nfs::nfs3::Listing;
use plimsoll_nfs::nfs4;

/// What is left of 8 KiB for data.
const MOST: u32 = 4096;

/// A server whose session takes calls and replies of 8 KiB.
fn small(script: impl FnOnce(Peer) + Send + 'static) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        let call = peer.call().unwrap();
        peer.ok(&call, &unconfirmed(1));
        let call = peer.call().unwrap();
        let mut small = session(8);
        (small.fore.request_most, small.fore.reply_most) = (2 * MOST, 2 * MOST);
        peer.ok(&call, &small);
        let call = peer.call().unwrap();
        let head = [words(&[0, 0, 2]), sequence(&call, 9999)].concat();
        peer.reply(call.xid, &[head, words(&[58, 0])].concat());
        script(peer);
    });
    (connected(port).unwrap(), thread)
}

impl Peer {
    /// Takes SEQUENCE, PUTFH and this operation, and gives its results. The word at `at` of its arguments.
    pub(super) fn takes(&mut self, operation: u32, at: usize, results: &[u32]) -> u32 {
        let call = self.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH], operation);
        let head = [words(&[0, 0, 3]), sequence(&call, 9999), words(&[PUTFH, 0])].concat();
        self.reply(call.xid, &[head, words(&[operation, 0]), words(results)].concat());
        call.rest[AFTER_PUTFH + 1 + at]
    }
}

/// READDIR: no names, and no more to come.
const NO_NAMES: [u32; 4] = [0, 0, 0, 1];

#[test]
fn single_calls_and_their_replies_fit_the_session() {
    let (mut client, peer) = small(|mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &opened(&call, &open_ok(1, None)));
        let read = [1, 4, u32::from_be_bytes(*b"read")];
        assert_eq!(peer.takes(25, 4 + 2, &read), MOST);
        assert_eq!(peer.takes(38, 4 + 2 + 1, &[MOST, 2, 0, 9]), MOST);
        assert_eq!(peer.takes(26, 2 + 2 + 1, &NO_NAMES), MOST);
    });
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    assert_eq!(client.read(&open, 0, 65536), Ok((b"read".to_vec(), true)));
    let written = client.write(&open, 0, Stability::FileSync, &[7; 10_000]).unwrap();
    assert_eq!(written.0, MOST);
    assert_eq!(client.list(file()), Ok(vec![]));
    drop(client);
    peer.join().unwrap();
}

/// There is no session that says it.
#[test]
fn single_calls_of_4_0_fit_the_file_system() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        peer.register_in_4_0(1);
        let (xid, _) = peer.on_file(OPEN);
        let head = words(&[0, 0, 4, PUTFH, 0, OPEN, 0]);
        peer.reply(xid, &[head, encode_all(&open_ok(1, None)), found()].concat());
        let (xid, arguments) = peer.on_file(25);
        let read = nfs4::Read { state: state(1), offset: 0, count: 1000 };
        assert_eq!(arguments, encode_all(&read));
        peer.gives(xid, 25, &words(&[1, 4, u32::from_be_bytes(*b"read")]));
        let (xid, arguments) = peer.on_file(38);
        let (state, stability) = (state(1), Stability::FileSync);
        let write = encode_all(&nfs4::WriteHead { state, offset: 0, stability, count: 3000 });
        assert_eq!(arguments[..write.len()], write);
        peer.gives(xid, 38, &words(&[3000, 2, 0, 9]));
    });
    let mut client = connected_as(&Identity::new(Minor::V0), port).unwrap();
    client.limit_transfers(1000, 3000);
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    assert_eq!(client.read(&open, 0, 65536), Ok((b"read".to_vec(), true)));
    let written = client.write(&open, 0, Stability::FileSync, &[7; 10_000]).unwrap();
    assert_eq!(written.0, 3000);
    thread.join().unwrap();
}

#[test]
fn a_page_in_a_pipeline_fits_the_session() {
    let (client, peer) = small(|mut peer| {
        assert_eq!(peer.takes(26, 2 + 2 + 1, &NO_NAMES), MOST);
    });
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    pipeline.submit(0, Request::List(file(), &Listing::default())).unwrap();
    pipeline.reap(u64::MAX, &mut user).unwrap();
    assert_eq!(user.ended, [(0, Ok(None))]);
    drop(pipeline);
    peer.join().unwrap();
}
