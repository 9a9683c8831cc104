//! Registrations and sessions that are made again, and their numbers.

use super::*;
use plimsoll_nfs::nfs4::Registration;

/// As after the lease of one file, or a connection, was lost: the client alone knows the number of its next session.
/// Where it is wrong, the one that the server says may be right.
#[test]
fn a_registration_that_the_server_still_has_goes_on_with_the_clients_number() {
    let (mut client, peer) = with(8, |mut peer| {
        let goes_on = |peer: &mut Peer| {
            let call = peer.call().unwrap();
            let head = [words(&[10054, 0, 2]), sequence(&call, 9999)].concat();
            peer.reply(call.xid, &[head, words(&[58, 10054])].concat());
            let call = peer.call().unwrap();
            peer.reply(call.xid, &attributes(&call));
        };
        let call = peer.call().unwrap();
        let head = [words(&[10011, 0, 2]), sequence(&call, 9999)].concat();
        peer.reply(call.xid, &[head, words(&[PUTFH, 10011])].concat());
        peer.register(confirmed(1), 2);
        goes_on(&mut peer);
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[10052, 0, 1, SEQUENCE, 10052]));
        let call = peer.call().unwrap();
        assert_eq!((call.first, call.rest[2]), (43, 3));
        peer.reply(call.xid, &words(&[10063, 0, 1, 43, 10063]));
        peer.register(confirmed(9), 9);
        goes_on(&mut peer);
    });
    for _ in 0..2 {
        assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    }
    drop(client);
    peer.join().unwrap();
}

/// The same number again would be a repetition, which a server may answer as before, for ever.
#[test]
fn a_session_that_was_refused_has_used_up_its_number() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut first = Peer(listener.accept().unwrap().0);
        first.set_up(8);
        let mut second = Peer(listener.accept().unwrap().0);
        let call = second.call().unwrap();
        assert_eq!((call.first, call.rest[2]), (43, 2));
        second.reply(call.xid, &words(&[28, 0, 1, 43, 28]));
        let mut third = Peer(listener.accept().unwrap().0);
        let call = third.call().unwrap();
        assert_eq!((call.first, call.rest[2]), (43, 3));
        // What is put off is no session yet, and uses up nothing.
        third.reply(call.xid, &words(&[10008, 0, 1, 43, 10008]));
        let call = third.call().unwrap();
        assert_eq!((call.first, call.rest[2]), (43, 3));
        third.ok(&call, &session(8));
    });
    let identity = Identity::new(Minor::V1);
    let _first = connected_as(&identity, port).unwrap();
    assert_eq!(status(connected_as(&identity, port)), Status::NoSpace);
    let third = connected_as(&identity, port).unwrap();
    assert_eq!(third.waits(), 1);
    thread.join().unwrap();
}

#[test]
fn a_session_that_could_not_be_made_again_is_made_before_the_next_call() {
    let (mut client, peer) = with(8, |mut peer| {
        let call = peer.call().unwrap();
        peer.reply(call.xid, &words(&[10052, 0, 1, SEQUENCE, 10052]));
        let call = peer.call().unwrap();
        assert_eq!(call.first, 43);
        peer.reply(call.xid, &words(&[28, 0, 1, 43, 28]));
        let call = peer.call().unwrap();
        assert_eq!(call.first, 43, "no call without a session");
        peer.ok(&call, &session(8));
        let call = peer.call().unwrap();
        peer.reply(call.xid, &attributes(&call));
    });
    assert_eq!(status(client.attributes(file())), Status::NoSpace);
    assert_eq!(client.attributes(file()).unwrap().size, Some(5));
    drop(client);
    peer.join().unwrap();
}

/// The server restarts in between. Then it cannot call the client back, which renews the lease all the same.
#[test]
fn a_registration_of_4_0_that_was_not_confirmed_in_time_is_made_again() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut peer = Peer(listener.accept().unwrap().0);
        for is_known in [false, true] {
            let call = peer.call().unwrap();
            assert_eq!(call.first, 35);
            peer.ok(&call, &Registration { client: 7, confirm: Fixed([3; 8]) });
            let call = peer.call().unwrap();
            assert_eq!(call.first, 36);
            match is_known {
                true => peer.ok(&call, &()),
                false => peer.reply(call.xid, &words(&[10022, 0, 1, 36, 10022])),
            }
        }
        let call = peer.call().unwrap();
        assert_eq!(call.first, 30);
        peer.reply(call.xid, &words(&[10048, 0, 1, 30, 10048]));
    });
    let mut client = connected_as(&Identity::new(Minor::V0), port).unwrap();
    client.renew().unwrap();
    thread.join().unwrap();
}
