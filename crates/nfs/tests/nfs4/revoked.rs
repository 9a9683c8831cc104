//! Files that a server says it has revoked (RFC 8881, section 18.46.3), and bits that say nothing of files.

use super::reopened::{AFTER_PUTFH, OPEN, open_ok, opened};
use super::*;

/// SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED.
const ALL: u32 = 0x08;
/// SEQ4_STATUS_ADMIN_STATE_REVOKED.
const BY_ADMINISTRATOR: u32 = 0x20;
/// Both, and SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED.
const ABOUT_FILES: u32 = 0x38;
const READ: u32 = 25;

/// What SEQUENCE gives to a call, with this status.
fn saying(call: &Call, status: u32) -> Vec<u8> {
    let mut results = sequence(call, 9999);
    let at = results.len() - 4;
    results[at..].copy_from_slice(&status.to_be_bytes());
    results
}

/// The results of SEQUENCE with this status, PUTFH and GETATTR.
fn attributes_saying(call: &Call, status: u32) -> Vec<u8> {
    let tail = words(&[&[PUTFH, 0, GETATTR, 0][..], &SIZE].concat());
    [words(&[0, 0, 3]), saying(call, status), tail].concat()
}

impl Peer {
    /// Takes a new registration, which gets this number, and its session: the verifier of the client.
    fn registers(&mut self, client: u64) -> Vec<u32> {
        let exchange = self.call().unwrap();
        assert_eq!(exchange.first, 42);
        self.ok(&exchange, &ExchangeIdOk { client, ..unconfirmed(1) });
        let create = self.call().unwrap();
        assert_eq!((create.first, &create.rest[..3]), (43, &[0, client as u32, 1][..]));
        self.ok(&create, &session(8));
        exchange.rest[..2].to_vec()
    }

    /// Takes RECLAIM_COMPLETE, with this status.
    fn completes(&mut self, status: u32) {
        let call = self.call().unwrap();
        assert_eq!((call.first, call.rest[8]), (SEQUENCE, 58));
        let results = [words(&[0, 0, 2]), saying(&call, status), words(&[58, 0])];
        self.reply(call.xid, &results.concat());
    }

    /// Refuses the operation after SEQUENCE and PUTFH, with this status of SEQUENCE.
    fn refuses(&mut self, operation: u32, why: u32, status: u32) {
        let call = self.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH], operation);
        let tail = words(&[PUTFH, 0, operation, why]);
        self.reply(call.xid, &[words(&[why, 0, 3]), saying(&call, status), tail].concat());
    }
}

/// A server at this port, which follows a script.
fn server(script: impl FnOnce(TcpListener) + Send + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, std::thread::spawn(move || script(listener)))
}

fn accepted(listener: &TcpListener) -> Peer {
    Peer(listener.accept().unwrap().0)
}

/// All of them, as the server does not say which it has revoked; and as a client that has restarted, so that it
/// forgets those.
#[test]
fn revoked_files_are_opened_again_under_another_registration() {
    let (port, thread) = server(|listener| {
        let mut peer = accepted(&listener);
        let before = peer.registers(77);
        peer.completes(0);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &opened(&call, &open_ok(1, None)));
        peer.refuses(READ, 10047, BY_ADMINISTRATOR);
        assert_ne!(peer.registers(78), before, "its verifier");
        // The server has not restarted, so there is nothing to reclaim.
        peer.refuses(OPEN, 10033, 0);
        peer.completes(0);
        let open: Vec<u32> = encode_all(&open_ok(2, None))
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            .collect();
        peer.takes(OPEN, 0, &open);
        peer.takes(READ, 0, &[1, 4, u32::from_be_bytes(*b"read")]);
    });
    let identity = Identity::new(Minor::V1);
    let mut client = connected_as(&identity, port).unwrap();
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    assert_eq!(client.read(&open, 0, 4), Ok((b"read".to_vec(), true)));
    assert_eq!(client.sessions_lost(), 1);
    let told = identity.take_revoked().map(|revoked| revoked.to_string());
    assert_eq!(told.as_deref(), Some("SEQ4_STATUS_ADMIN_STATE_REVOKED"));
    assert_eq!(identity.take_revoked(), None, "told once");
    thread.join().unwrap();
}

#[test]
fn a_call_that_succeeds_counts_and_the_next_one_begins_anew() {
    let (port, thread) = server(|listener| {
        let mut peer = accepted(&listener);
        let before = peer.registers(77);
        peer.completes(0);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &attributes_saying(&call, ALL));
        assert_ne!(peer.registers(78), before);
        peer.completes(0);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &attributes(&call));
    });
    let mut client = connected(port).unwrap();
    for _ in 0..2 {
        assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    }
    thread.join().unwrap();
}

#[test]
fn a_pipeline_whose_files_are_revoked_ends_and_the_next_connection_begins_anew() {
    let (port, thread) = server(|listener| {
        let mut peer = accepted(&listener);
        let before = peer.registers(77);
        peer.completes(0);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &attributes_saying(&call, ALL));
        let mut next = accepted(&listener);
        assert_ne!(next.registers(78), before);
        next.completes(0);
    });
    let identity = Identity::new(Minor::V1);
    let (mut pipeline, mut user) =
        (pipeline(connected_as(&identity, port).unwrap()), User::default());
    pipeline.submit(0, Request::Attributes(file())).unwrap();
    let error = pipeline.reap(u64::MAX, &mut user).unwrap_err();
    assert!(error.is_lost(), "{error}");
    assert!(error.to_string().contains("SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED"), "{error}");
    assert!(user.ended.is_empty());
    connected_as(&identity, port).unwrap();
    thread.join().unwrap();
}

/// Such as that nobody can be called back, which servers say of this client in each reply; and what is said from the
/// beginning, when no file is open, for ever.
#[test]
fn bits_that_say_nothing_of_open_files_change_nothing() {
    for (at_first, later) in [(0, !ABOUT_FILES), (ALL, ALL | !ABOUT_FILES)] {
        let (port, thread) = server(move |listener| {
            let mut peer = accepted(&listener);
            peer.registers(77);
            peer.completes(at_first);
            for number in 2..5 {
                let call = peer.call().unwrap();
                assert_eq!((call.first, call.rest[4]), (SEQUENCE, number), "{later:#x}");
                peer.reply(call.xid, &attributes_saying(&call, later));
            }
        });
        let identity = Identity::new(Minor::V1);
        let mut client = connected_as(&identity, port).unwrap();
        for _ in 0..3 {
            assert_eq!(client.attributes(file()).unwrap().size, Some(5));
        }
        assert_eq!((client.sessions_lost(), identity.take_revoked()), (0, None));
        thread.join().unwrap();
    }
}
