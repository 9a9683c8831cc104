//! Files of which something fails, or is put off, once their OPEN has succeeded: they are closed, or gone on with,
//! and never opened once more.

use super::reopened::{AFTER_PUTFH, MUST_CONFIRM, OPEN, found, open_ok, state};
use super::*;
use plimsoll_nfs::nfs4::{Close, ConfirmOpen, OpenOk, Operation, WriteHead};

const CLOSE: u32 = 4;
const GETFH: u32 = 10;
const LOOKUP: u32 = 15;
const CONFIRM: u32 = 20;
const READ: u32 = 25;
const WRITE: u32 = 38;
const ACCESS: u32 = 13;
const NO_ENTRY: u32 = 2;
const NO_SPACE: u32 = 28;
const SERVER_FAULT: u32 = 10006;
const DELAY: u32 = 10008;
const BAD_SEQUENCE: u32 = 10026;
/// The name "f".
const NAME: u32 = u32::from_be_bytes(*b"f\0\0\0");
/// WRITE: four bytes, FILE_SYNC, a verifier.
const WRITTEN: [u32; 4] = [4, 2, 0, 9];

fn put() -> Request<'static> {
    let (how, stability) = (OpenHow::Unchecked(mode(0o600)), Stability::FileSync);
    Request::Put { place: place(file(), "f"), how, count: 4, stability }
}

fn refused(operation: Operation, status: Status) -> Error {
    Error::Nfs4 { operation, status }
}

/// What ended, and how often something was put off.
type Ended = (Vec<(u32, Result<Option<u64>, Error>)>, u32);

/// One call of a pipeline.
fn call(client: Client, request: Request<'_>) -> Ended {
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    pipeline.submit(0, request).unwrap();
    finish(&mut pipeline, &mut user);
    (user.ended, user.put_off)
}

/// A client of 4.0, with a server that follows a script.
fn in_4_0(script: impl FnOnce(Peer) + Send + 'static) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        peer.register_in_4_0(1);
        script(peer);
    });
    (connected_as(&Identity::new(Minor::V0), port).unwrap(), thread)
}

/// What OPEN gives, where the open is to be confirmed or is not.
fn first_open(confirms: bool) -> OpenOk {
    OpenOk { flags: if confirms { MUST_CONFIRM } else { 0 }, ..open_ok(1, None) }
}

/// The results of PUTFH, OPEN and GETFH.
fn open_and_handle(ok: &OpenOk) -> Vec<u8> {
    let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(ok)].concat();
    [open, words(&[GETFH, 0]), encode_all(&file())].concat()
}

/// The results of an operation that changes a state.
fn changed(operation: u32, sequence: u32) -> Vec<u8> {
    [words(&[operation, 0]), encode_all(&state(sequence))].concat()
}

impl Peer {
    /// Takes the OPEN of a small file of 4.0.
    fn opens(&mut self, ok: &OpenOk) {
        let (xid, _) = self.on_file(OPEN);
        self.reply(xid, &[words(&[0, 0, 3]), open_and_handle(ok)].concat());
    }

    /// Refuses the handle of a file that it has opened; takes its CLOSE, by its name.
    fn gives_no_handle(&mut self) {
        let call = self.call().unwrap();
        let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(&open_ok(1, None))].concat();
        let results = [sequence(&call, 9999), open, words(&[GETFH, SERVER_FAULT])].concat();
        self.reply(call.xid, &[words(&[SERVER_FAULT, 0, 4]), results].concat());
        let call = self.call().unwrap();
        let state_words = [0, 0x0606_0606, 0x0606_0606, 0x0606_0606];
        let expected = [&[LOOKUP, 1, NAME, CLOSE, 0][..], &state_words].concat();
        assert_eq!(&call.rest[AFTER_PUTFH..], &expected[..], "without its sequence");
        let results = [words(&[PUTFH, 0, LOOKUP, 0]), changed(CLOSE, 2)].concat();
        self.reply(call.xid, &[words(&[0, 0, 4]), sequence(&call, 9999), results].concat());
    }

    /// The results of a compound of 4.0 that begins with PUTFH and comes to this status: so many.
    fn ends(&mut self, xid: u32, status: u32, count: u32, results: &[Vec<u8>]) {
        let head = words(&[status, 0, count, PUTFH, 0]);
        self.reply(xid, &[head, results.concat()].concat());
    }
}

/// A server that still had it open would hold it against the next opener.
#[test]
fn a_small_file_of_4_0_that_could_not_be_written_is_closed_and_the_first_refusal_is_told() {
    for (confirms, status) in [(false, 0), (true, 0), (false, BAD_SEQUENCE)] {
        let (client, peer) = in_4_0(move |mut peer| {
            peer.opens(&first_open(confirms));
            let no_space = words(&[WRITE, NO_SPACE]);
            if confirms {
                let (xid, _) = peer.on_file(CONFIRM);
                peer.ends(xid, NO_SPACE, 3, &[changed(CONFIRM, 2), no_space]);
            } else {
                let (xid, _) = peer.on_file(WRITE);
                peer.ends(xid, NO_SPACE, 2, &[no_space]);
            }
            let (xid, arguments) = peer.on_file(CLOSE);
            let changes = 1 + u32::from(confirms);
            let close = Close { sequence: changes, state: state(changes) };
            assert_eq!(arguments, encode_all(&close));
            let result = if status == 0 { changed(CLOSE, 3) } else { words(&[CLOSE, status]) };
            peer.ends(xid, status, 2, &[result]);
        });
        let told = Err(refused(Operation::Write, Status::NoSpace));
        assert_eq!(call(client, put()), (vec![(0, told)], 0));
        peer.join().unwrap();
    }
}

/// Its bytes are not transferred then, and nothing is open that was not confirmed.
#[test]
fn a_small_file_of_4_0_whose_open_is_not_confirmed_is_not_closed() {
    let (client, peer) = in_4_0(|mut peer| {
        peer.opens(&first_open(true));
        let (xid, _) = peer.on_file(CONFIRM);
        peer.ends(xid, BAD_SEQUENCE, 2, &[words(&[CONFIRM, BAD_SEQUENCE])]);
        assert_eq!(peer.call(), None);
    });
    let told = Err(refused(Operation::ConfirmOpen, Status::BadSequence));
    assert_eq!(call(client, put()), (vec![(0, told)], 0));
    peer.join().unwrap();
}

#[test]
fn a_small_file_of_4_0_goes_on_where_it_was_put_off() {
    let (client, peer) = in_4_0(|mut peer| {
        peer.opens(&first_open(true));
        let (xid, nothing_done) = peer.on_file(CONFIRM);
        peer.reply(xid, &words(&[DELAY, 0, 1, PUTFH, DELAY]));
        let (xid, again) = peer.on_file(CONFIRM);
        assert_eq!(again, nothing_done);
        peer.ends(xid, DELAY, 3, &[changed(CONFIRM, 2), words(&[WRITE, DELAY])]);
        let (xid, arguments) = peer.on_file(WRITE);
        let (state, offset, stability) = (state(2), 0, Stability::FileSync);
        let head = encode_all(&WriteHead { state, offset, stability, count: 4 });
        let close = encode_all(&Close { sequence: 2, state });
        assert_eq!(arguments, [&head[..], b"four", &words(&[CLOSE]), &close].concat());
        let written = [words(&[WRITE, 0]), words(&WRITTEN)].concat();
        peer.ends(xid, DELAY, 3, &[written, words(&[CLOSE, DELAY])]);
        let (xid, arguments) = peer.on_file(CLOSE);
        assert_eq!(arguments, encode_all(&Close { sequence: 3, state }), "it is counted");
        peer.ends(xid, 0, 2, &[changed(CLOSE, 3)]);
    });
    assert_eq!(call(client, put()), (vec![(0, Ok(Some(4)))], 3));
    peer.join().unwrap();
}

/// The bytes that came with the CLOSE that was put off have gone with their reply.
#[test]
fn a_small_file_of_4_0_is_read_again_until_it_is_closed() {
    let (client, peer) = in_4_0(|mut peer| {
        peer.opens(&first_open(false));
        let read = || words(&[READ, 0, 1, 4, u32::from_be_bytes(*b"read")]);
        for (sequence, status) in [(1, DELAY), (2, 0)] {
            let (xid, arguments) = peer.on_file(READ);
            let close = [words(&[CLOSE]), encode_all(&Close { sequence, state: state(1) })];
            assert!(arguments.ends_with(&close.concat()));
            let closed = if status == 0 { changed(CLOSE, 2) } else { words(&[CLOSE, status]) };
            peer.ends(xid, status, 3, &[read(), closed]);
        }
    });
    let get = Request::Get { place: place(file(), "f"), count: 4 };
    assert_eq!(call(client, get), (vec![(0, Ok(Some(4)))], 1));
    peer.join().unwrap();
}

#[test]
fn a_small_file_whose_bytes_are_put_off_is_not_opened_again() {
    let (client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        let tail = [open_and_handle(&open_ok(1, None)), words(&[WRITE, DELAY])].concat();
        peer.reply(call.xid, &[words(&[DELAY, 0, 5]), sequence(&call, 9999), tail].concat());
        // All of the next compound is put off, too, and comes again as it is.
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[DELAY, 0, 1, SEQUENCE, DELAY]));
        let again = peer.call().unwrap();
        assert_eq!(again.rest, call.rest);
        let state_words = [0, 0x0606_0606, 0x0606_0606, 0x0606_0606];
        let (write, close) = again.rest[AFTER_PUTFH..].split_at(1 + 4 + 2 + 1 + 1 + 1);
        assert_eq!((write[0], &write[1..5]), (WRITE, &state_words[..]));
        assert_eq!((close[0], close[1], &close[2..]), (CLOSE, 0, &state_words[..]));
        let head = [words(&[0, 0, 4]), sequence(&again, 9999), words(&[PUTFH, 0, WRITE, 0])];
        let tail = [words(&WRITTEN), changed(CLOSE, 2)];
        peer.reply(again.xid, &[head.concat(), tail.concat()].concat());
    });
    assert_eq!(call(client, put()), (vec![(0, Ok(Some(4)))], 2));
    peer.join().unwrap();
}

/// The results of SEQUENCE, PUTFH, OPEN, GETFH and a GETATTR that comes to this status.
fn without_attributes(call: &Call, status: u32) -> Vec<u8> {
    let tail = [open_and_handle(&open_ok(1, None)), words(&[GETATTR, status])].concat();
    [words(&[status, 0, 5]), sequence(call, 9999), tail].concat()
}

#[test]
fn a_file_is_asked_for_its_attributes_later_and_closed_where_they_are_refused() {
    for status in [DELAY, ACCESS] {
        let (client, peer) = with(8, move |mut peer| {
            let call = peer.call().unwrap();
            peer.reply(call.xid, &without_attributes(&call, status));
            if status == DELAY {
                peer.takes(GETATTR, 0, &SIZE);
            } else {
                assert_eq!(peer.takes(CLOSE, 1, &[2, 0, 0, 0]), 0, "without its sequence");
            }
        });
        let expected = match status {
            DELAY => (vec![(0, Ok(None))], 1),
            _ => (vec![(0, Err(refused(Operation::GetAttributes, Status::Access)))], 0),
        };
        assert_eq!(call(client, Request::Open(place(file(), "f"))), expected);
        peer.join().unwrap();
    }
}

/// The blocking client, which would find the file that it has made itself.
#[test]
fn a_single_open_is_not_made_again_for_its_attributes() {
    for status in [DELAY, ACCESS] {
        let (mut client, peer) = with(8, move |mut peer| {
            let call = peer.call().unwrap();
            peer.reply(call.xid, &without_attributes(&call, status));
            if status == DELAY {
                peer.takes(GETATTR, 0, &SIZE);
            } else {
                let call = peer.call().unwrap();
                assert_eq!(call.rest[AFTER_PUTFH], GETATTR);
                let tail = [sequence(&call, 9999), words(&[PUTFH, 0, GETATTR, status])].concat();
                peer.reply(call.xid, &[words(&[status, 0, 3]), tail].concat());
                peer.takes(CLOSE, 0, &[2, 0, 0, 0]);
            }
        });
        let how = OpenHow::Guarded(mode(0o600));
        match client.open_to_write(file(), name("f"), how) {
            Ok((_, attributes)) => assert_eq!((status, attributes.size), (DELAY, Some(5))),
            Err(error) => {
                assert_eq!(error, refused(Operation::GetAttributes, Status::Access));
                assert_eq!(status, ACCESS);
            }
        }
        drop(client);
        peer.join().unwrap();
    }
}

#[test]
fn a_file_of_4_0_without_attributes_is_confirmed_to_be_closed() {
    let (client, peer) = in_4_0(|mut peer| {
        let (xid, _) = peer.on_file(OPEN);
        let attributes = words(&[GETATTR, ACCESS]);
        let results = [words(&[ACCESS, 0, 4]), open_and_handle(&first_open(true)), attributes];
        peer.reply(xid, &results.concat());
        let (xid, arguments) = peer.on_file(CONFIRM);
        let confirm = encode_all(&ConfirmOpen { state: state(1), sequence: 1 });
        let close = encode_all(&Close { sequence: 2, state: state(2) });
        assert_eq!(arguments, [confirm, words(&[CLOSE]), close].concat());
        peer.ends(xid, 0, 3, &[changed(CONFIRM, 2), changed(CLOSE, 3)]);
        // The next one goes well.
        let (xid, _) = peer.on_file(OPEN);
        let open = [words(&[PUTFH, 0, OPEN, 0]), encode_all(&first_open(false))].concat();
        peer.reply(xid, &[words(&[0, 0, 4]), open, found()].concat());
    });
    let (mut pipeline, mut user) = (pipeline(client), User::default());
    for tag in [0, 1] {
        pipeline.submit(tag, Request::Open(place(file(), "f"))).unwrap();
        finish(&mut pipeline, &mut user);
    }
    let told = Err(refused(Operation::GetAttributes, Status::Access));
    assert_eq!(user.ended, [(0, told), (1, Ok(None))]);
    drop(pipeline);
    peer.join().unwrap();
}

/// CLOSE needs the file, which nothing but its name stands for then.
#[test]
fn a_file_whose_handle_is_refused_is_closed() {
    let fault = || refused(Operation::GetHandle, Status::ServerFault);
    for request in [put(), Request::Open(place(file(), "f"))] {
        let (client, peer) = with(8, |mut peer| peer.gives_no_handle());
        assert_eq!(call(client, request), (vec![(0, Err(fault()))], 0));
        peer.join().unwrap();
    }
    let (mut client, peer) = with(8, |mut peer| peer.gives_no_handle());
    let told = client.open_to_write(file(), name("f"), OpenHow::Guarded(mode(0o600)));
    assert_eq!(told.map(drop), Err(fault()));
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_file_of_4_0_whose_handle_is_refused_is_confirmed_to_be_closed_unless_its_name_has_gone() {
    for status in [0, NO_ENTRY] {
        let (client, peer) = in_4_0(move |mut peer| {
            let (xid, _) = peer.on_file(OPEN);
            let open = [words(&[OPEN, 0]), encode_all(&first_open(true))].concat();
            peer.ends(xid, SERVER_FAULT, 3, &[open, words(&[GETFH, SERVER_FAULT])]);
            let (xid, arguments) = peer.on_file(LOOKUP);
            let confirm = encode_all(&ConfirmOpen { state: state(1), sequence: 1 });
            let close = encode_all(&Close { sequence: 2, state: state(2) });
            let expected = [words(&[1, NAME, CONFIRM]), confirm, words(&[CLOSE]), close].concat();
            assert_eq!(arguments, expected);
            let found = words(&[LOOKUP, status]);
            if status == 0 {
                peer.ends(xid, status, 4, &[found, changed(CONFIRM, 2), changed(CLOSE, 3)]);
            } else {
                peer.ends(xid, status, 2, &[found]);
            }
            assert_eq!(peer.call(), None);
        });
        let told = Err(refused(Operation::GetHandle, Status::ServerFault));
        assert_eq!(call(client, put()), (vec![(0, told)], 0));
        peer.join().unwrap();
    }
}
