//! Files that are opened again at a server that has forgotten their client.

use super::*;
use plimsoll_nfs::nfs4::{
    self, Bitmap, ChangeInfo, Close, ConfirmOpen, Delegation, OpenOk, Registration, StateId,
};

pub(super) const OPEN: u32 = 18;
/// Where in a call the operation after SEQUENCE and PUTFH of [`file`] stands.
pub(super) const AFTER_PUTFH: usize = 8 + 12;
/// The same in 4.0, which has no SEQUENCE.
const AFTER_PUTFH_IN_4_0: usize = 11;
/// OPEN4_RESULT_CONFIRM.
pub(super) const MUST_CONFIRM: u32 = 2;

/// What the server says of a state that it has changed so often.
pub(super) fn state(sequence: u32) -> StateId {
    StateId { sequence, other: Fixed([6; 12]) }
}

/// What OPEN gives.
pub(super) fn open_ok(sequence: u32, delegation: Option<StateId>) -> OpenOk {
    let change = ChangeInfo { atomic: true, before: 1, after: 2 };
    let (set, delegation) = (Bitmap::default(), Delegation(delegation));
    OpenOk { state: state(sequence), change, flags: 0, set, delegation }
}

/// The results of SEQUENCE, PUTFH, OPEN, GETFH and GETATTR.
pub(super) fn opened(call: &Call, ok: &OpenOk) -> Vec<u8> {
    assert_eq!(call.rest[AFTER_PUTFH], OPEN);
    let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(ok)].concat();
    [words(&[0, 0, 5]), sequence(call, 9999), open, found()].concat()
}

/// The results of GETFH and GETATTR.
pub(super) fn found() -> Vec<u8> {
    [words(&[10, 0]), encode_all(&file()), words(&[GETATTR, 0]), words(&SIZE)].concat()
}

/// As where another connection opened the file again after this one: the server takes no sequence that it
/// has left behind.
#[test]
fn calls_on_an_open_file_succeed_although_the_server_has_raised_its_sequence() {
    let (mut client, peer) = with(8, |mut peer| {
        let mut operations = Vec::new();
        while let Some(call) = peer.call() {
            if call.first != SEQUENCE {
                break; // the end of the session
            }
            let operation = call.rest[AFTER_PUTFH];
            operations.push(operation);
            let state_words = words(&[&[2][..], &[0x0606_0606; 3]].concat());
            // Where the state's sequence is in the arguments, and what the operation gives.
            let (at, gives) = match operation {
                OPEN => {
                    peer.reply(call.xid, &opened(&call, &open_ok(1, Some(state(1)))));
                    continue;
                }
                4 => (1, state_words),  // CLOSE
                8 => (0, vec![]),       // DELEGRETURN
                12 => (8, state_words), // LOCK
                14 => (2, state_words), // LOCKU
                25 => (0, words(&[1, 4, u32::from_be_bytes(*b"read")])), // READ
                34 => (0, words(&[0])), // SETATTR
                38 => (0, words(&[4, 2, 0, 9])), // WRITE
                other => panic!("operation {other}"),
            };
            let named = &call.rest[AFTER_PUTFH + 1 + at..][..4];
            let status =
                if named == [0, 0x0606_0606, 0x0606_0606, 0x0606_0606] { 0 } else { 10024 };
            let head = [words(&[status, 0, 3]), sequence(&call, 9999), words(&[PUTFH, 0])].concat();
            let gives = if status == 0 { gives } else { vec![] };
            peer.reply(call.xid, &[head, words(&[operation, status]), gives].concat());
        }
        assert_eq!(operations, [OPEN, 8, 25, 38, 34, 12, 14, 4]);
    });
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    assert_eq!(client.read(&open, 0, 4), Ok((b"read".to_vec(), true)));
    assert_eq!(client.write(&open, 0, Stability::FileSync, b"four").unwrap().0, 4);
    client.set_size(&open, 3).unwrap();
    let held = client.lock(&open, LockKind::Write, bytes(0, 1), b"one").unwrap();
    client.unlock(open.handle, held, LockKind::Write, bytes(0, 1)).unwrap();
    client.close(&open).unwrap();
    drop(client);
    peer.join().unwrap();
}

/// A server that has restarted twice, or a network that is not well yet.
#[test]
fn what_a_broken_connection_could_not_open_again_the_next_one_does() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        peer.set_up(8);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &opened(&call, &open_ok(1, None)));
        // It has restarted: it knows neither the session nor the registration.
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[10052, 0, 1, SEQUENCE, 10052]));
        let call = peer.call().unwrap();
        assert_eq!(call.first, 43);
        peer.reply(call.xid, &words(&[10022, 0, 1, 43, 10022]));
        peer.register(unconfirmed(2), 2);
        let call = peer.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH], OPEN);
        drop(peer); // no answer

        let mut peer = Peer(listener.accept().unwrap().0);
        // It has not restarted since, and does not say the number of the next session.
        peer.register(confirmed(0), 3);
        let call = peer.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH], OPEN);
        let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(&open_ok(2, None))].concat();
        peer.reply(call.xid, &[words(&[0, 0, 3]), sequence(&call, 9999), open].concat());
        let call = peer.call().unwrap();
        let complete = [words(&[0, 0, 2]), sequence(&call, 9999), words(&[58, 0])].concat();
        peer.reply(call.xid, &complete);
    });
    let identity = Identity::new(Minor::V1);
    let mut client = connected_as(&identity, port).unwrap();
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    let broken = client.read(&open, 0, 4).unwrap_err();
    assert!(broken.is_fatal(), "{broken}");
    connected_as(&identity, port).unwrap();
    thread.join().unwrap();
}

impl Peer {
    /// Takes a registration of 4.0.
    pub(super) fn register_in_4_0(&mut self, client: u64) {
        let call = self.call().unwrap();
        assert_eq!(call.first, 35);
        self.ok(&call, &Registration { client, confirm: Fixed([3; 8]) });
        let call = self.call().unwrap();
        assert_eq!(call.first, 36);
        self.ok(&call, &());
    }

    /// Takes a call of 4.0, PUTFH of [`file`] and this operation: its number, and the operation's arguments.
    pub(super) fn on_file(&mut self, operation: u32) -> (u32, Vec<u8>) {
        let call = self.call().unwrap();
        assert_eq!((call.first, call.rest[AFTER_PUTFH_IN_4_0]), (PUTFH, operation));
        (call.xid, words(&call.rest[AFTER_PUTFH_IN_4_0 + 1..]))
    }

    /// PUTFH and this operation succeed.
    pub(super) fn gives(&mut self, xid: u32, operation: u32, results: &[u8]) {
        self.reply(xid, &[&words(&[0, 0, 2, PUTFH, 0, operation, 0])[..], results].concat());
    }

    /// Takes the confirmation of an open.
    pub(super) fn confirms(&mut self) {
        let (xid, arguments) = self.on_file(20);
        assert_eq!(arguments, encode_all(&ConfirmOpen { state: state(1), sequence: 1 }));
        self.gives(xid, 20, &encode_all(&state(2)));
    }
}

/// A server of 4.0 that restarts knows no owner any more, and asks each of them to confirm again.
#[test]
fn a_file_that_is_opened_again_is_confirmed_where_the_server_wants_it() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        let open = encode_all(&OpenOk { flags: MUST_CONFIRM, ..open_ok(1, None) });
        peer.register_in_4_0(1);
        let (xid, _) = peer.on_file(OPEN);
        let head = words(&[0, 0, 4, PUTFH, 0, OPEN, 0]);
        peer.reply(xid, &[head, open.clone(), found()].concat());
        peer.confirms();
        // It has restarted: it knows neither the open file nor the registration.
        let (xid, _) = peer.on_file(25);
        peer.reply(xid, &words(&[10023, 0, 2, PUTFH, 0, 25, 10023]));
        let call = peer.call().unwrap();
        assert_eq!(call.first, 30);
        peer.reply(call.xid, &words(&[10022, 0, 1, 30, 10022]));
        peer.register_in_4_0(2);
        // Not ready yet: whether it has numbered this call, only it knows.
        let (xid, put_off) = peer.on_file(OPEN);
        peer.reply(xid, &words(&[10008, 0, 2, PUTFH, 0, OPEN, 10008]));
        let (xid, again) = peer.on_file(OPEN);
        assert_ne!(again, put_off, "another owner, or the answer of before would come again");
        peer.gives(xid, OPEN, &open);
        peer.confirms();
        let (xid, arguments) = peer.on_file(25);
        let read = nfs4::Read { state: state(2), offset: 0, count: 4 };
        assert_eq!(arguments, encode_all(&read), "as what was confirmed");
        peer.gives(xid, 25, &words(&[1, 4, u32::from_be_bytes(*b"read")]));
        let (xid, arguments) = peer.on_file(4);
        let close = Close { sequence: 2, state: state(2) };
        assert_eq!(arguments, encode_all(&close), "after OPEN and OPEN_CONFIRM");
        peer.gives(xid, 4, &encode_all(&state(3)));
    });
    let mut client = connected_as(&Identity::new(Minor::V0), port).unwrap();
    let (open, _) = client.open_to_write(file(), name("f"), OpenHow::Existing).unwrap();
    assert_eq!(client.read(&open, 0, 4), Ok((b"read".to_vec(), true)));
    client.close(&open).unwrap();
    thread.join().unwrap();
}
