//! Delegations that nobody wanted are given back: else the server would call them back, and whoever else wants the
//! file would wait for that.

use super::reopened::{AFTER_PUTFH, MUST_CONFIRM, OPEN, found, open_ok, opened, state};
use super::*;
use plimsoll_nfs::nfs4::OpenOk;

const CLOSE: u32 = 4;
const DELEGRETURN: u32 = 8;
const GETFH: u32 = 10;
const READ: u32 = 25;
const WRITE: u32 = 38;
/// OPEN4_SHARE_ACCESS_WANT_NO_DELEG.
const NONE_WANTED: u32 = 0x400;

/// What READ gives: four bytes.
fn four_bytes() -> [u32; 3] {
    [1, 4, u32::from_be_bytes(*b"read")]
}

/// What OPEN gives, with a delegation.
fn with_delegation(sequence: u32) -> OpenOk {
    open_ok(sequence, Some(state(9)))
}

/// The results of a small file's compound, with a delegation.
fn whole(call: &Call, operation: u32, results: &[u32]) -> Vec<u8> {
    let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(&with_delegation(1))].concat();
    let file = [words(&[GETFH, 0]), encode_all(&file())].concat();
    let transfer = [words(&[operation, 0]), words(results)].concat();
    let close = [words(&[CLOSE, 0]), encode_all(&state(2))].concat();
    [words(&[0, 0, 6]), sequence(call, 9999), open, file, transfer, close].concat()
}

/// The results of SEQUENCE, PUTFH and a DELEGRETURN that the server does not take.
fn not_taken(call: &Call) -> Vec<u8> {
    assert_eq!(call.rest[AFTER_PUTFH], DELEGRETURN);
    let tail = words(&[PUTFH, 0, DELEGRETURN, 10025]);
    [words(&[10025, 0, 3]), sequence(call, 9999), tail].concat()
}

/// It has taken it already, as that took too long.
#[test]
fn a_delegation_that_the_server_does_not_take_is_gone_and_the_file_is_open() {
    let (mut client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &opened(&call, &with_delegation(1)));
        let call = peer.call().unwrap();
        peer.reply(call.xid, &not_taken(&call));
    });
    client.open(file(), name("f")).unwrap();
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_delegation_of_a_file_that_is_opened_again_is_given_back_once_all_are_open() {
    let (mut client, peer) = with(8, |mut peer| {
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
        assert_eq!(call.rest[AFTER_PUTFH + 2] & NONE_WANTED, NONE_WANTED);
        let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(&with_delegation(2))].concat();
        peer.reply(call.xid, &[words(&[0, 0, 3]), sequence(&call, 9999), open].concat());
        let call = peer.call().unwrap();
        assert_eq!(call.rest[8], 58);
        let complete = [words(&[0, 0, 2]), sequence(&call, 9999), words(&[58, 0])].concat();
        peer.reply(call.xid, &complete);
        assert_eq!(peer.takes(DELEGRETURN, 0, &[]), 0, "without its sequence");
        peer.takes(READ, 0, &four_bytes());
    });
    let (open, _) = client.open(file(), name("f")).unwrap();
    assert_eq!(client.read(&open, 0, 4), Ok((b"read".to_vec(), true)));
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_delegation_of_a_file_that_a_pipeline_opens_is_given_back_before_that_is_told() {
    for is_taken in [true, false] {
        let (client, peer) = with(8, move |mut peer| {
            let call = peer.call().unwrap();
            assert_eq!(call.rest[AFTER_PUTFH + 2] & NONE_WANTED, NONE_WANTED);
            peer.reply(call.xid, &opened(&call, &with_delegation(1)));
            if is_taken {
                assert_eq!(peer.takes(DELEGRETURN, 0, &[]), 0, "without its sequence");
            } else {
                let call = peer.call().unwrap();
                peer.reply(call.xid, &not_taken(&call));
            }
        });
        let (mut pipeline, mut user) = (pipeline(client), User::default());
        pipeline.submit(0, Request::Open(place(file(), "f"))).unwrap();
        finish(&mut pipeline, &mut user);
        assert_eq!(user.ended, [(0, Ok(None))]);
        drop(pipeline);
        peer.join().unwrap();
    }
}

#[test]
fn a_delegation_of_a_small_file_is_given_back_before_its_bytes_are_told() {
    let (client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &whole(&call, READ, &four_bytes()));
        // Its bytes once more, as those of nobody's open file.
        let call = peer.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH..][..5], [READ, 0, 0, 0, 0]);
        assert_eq!(call.rest[AFTER_PUTFH + 8], DELEGRETURN);
        let head = [words(&[0, 0, 4]), sequence(&call, 9999), words(&[PUTFH, 0, READ, 0])].concat();
        let tail = [words(&four_bytes()), words(&[DELEGRETURN, 0])].concat();
        peer.reply(call.xid, &[head, tail].concat());

        let call = peer.call().unwrap();
        peer.reply(call.xid, &whole(&call, WRITE, &[4, 2, 0, 9]));
        peer.takes(DELEGRETURN, 0, &[]);
    });
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    let place = place(file(), "f");
    pipeline.submit(0, Request::Get { place, count: 4 }).unwrap();
    finish(&mut pipeline, &mut user);
    let (how, stability) = (OpenHow::Unchecked(mode(0o600)), Stability::FileSync);
    pipeline.submit(1, Request::Put { place, how, count: 4, stability }).unwrap();
    finish(&mut pipeline, &mut user);
    assert_eq!(user.ended, [(0, Ok(Some(4))), (1, Ok(Some(4)))]);
    drop(pipeline);
    peer.join().unwrap();
}

/// As other calls are: a server that is busy still has it.
#[test]
fn a_delegation_whose_return_is_put_off_is_returned_once_more() {
    const DELAY: u32 = 10008;
    let (client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &opened(&call, &with_delegation(1)));
        let call = peer.call().unwrap();
        assert_eq!(call.rest[AFTER_PUTFH], DELEGRETURN);
        let tail = words(&[PUTFH, 0, DELEGRETURN, DELAY]);
        peer.reply(call.xid, &[words(&[DELAY, 0, 3]), sequence(&call, 9999), tail].concat());
        peer.takes(DELEGRETURN, 0, &[]);

        let call = peer.call().unwrap();
        peer.reply(call.xid, &whole(&call, READ, &four_bytes()));
        // What was read has gone with its reply.
        for status in [DELAY, 0] {
            let call = peer.call().unwrap();
            assert_eq!((call.rest[AFTER_PUTFH], call.rest[AFTER_PUTFH + 8]), (READ, DELEGRETURN));
            let head = [words(&[status, 0, 4]), sequence(&call, 9999), words(&[PUTFH, 0, READ, 0])];
            let tail = [words(&four_bytes()), words(&[DELEGRETURN, status])];
            peer.reply(call.xid, &[head.concat(), tail.concat()].concat());
        }
    });
    assert_eq!(opened_and_read(client).put_off, 2);
    peer.join().unwrap();
}

/// Opens a file, and then reads it as a small one.
fn opened_and_read(client: Client) -> User {
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    let place = place(file(), "f");
    pipeline.submit(0, Request::Open(place)).unwrap();
    finish(&mut pipeline, &mut user);
    pipeline.submit(1, Request::Get { place, count: 4 }).unwrap();
    finish(&mut pipeline, &mut user);
    assert_eq!(user.ended, [(0, Ok(None)), (1, Ok(Some(4)))]);
    user
}

/// Where none can be refused beforehand.
#[test]
fn delegations_of_4_0_are_given_back_too() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        peer.register_in_4_0(1);
        let (xid, _) = peer.on_file(OPEN);
        let open = encode_all(&OpenOk { flags: MUST_CONFIRM, ..with_delegation(1) });
        let head = words(&[0, 0, 4, PUTFH, 0, OPEN, 0]);
        peer.reply(xid, &[head, open, found()].concat());
        peer.confirms();
        let (xid, arguments) = peer.on_file(DELEGRETURN);
        assert_eq!(arguments, encode_all(&state(9)));
        peer.gives(xid, DELEGRETURN, &[]);

        let (xid, _) = peer.on_file(OPEN);
        let open = [words(&[0, 0, 3, PUTFH, 0, OPEN, 0]), encode_all(&with_delegation(1))];
        let handle = [words(&[GETFH, 0]), encode_all(&file())];
        peer.reply(xid, &[open.concat(), handle.concat()].concat());
        let (xid, arguments) = peer.on_file(READ);
        let given_back = [words(&[DELEGRETURN]), encode_all(&state(9))].concat();
        assert!(arguments.ends_with(&given_back), "after CLOSE");
        let read = [words(&[0, 0, 4, PUTFH, 0, READ, 0]), words(&four_bytes())].concat();
        let close = [words(&[CLOSE, 0]), encode_all(&state(2)), words(&[DELEGRETURN, 0])].concat();
        peer.reply(xid, &[read, close].concat());
    });
    let client = connected_as(&Identity::new(Minor::V0), port).unwrap();
    opened_and_read(client);
    thread.join().unwrap();
}
