//! Exchanges with servers that answer by a script.

use super::*;
use crate::NtStatus;
use crate::guard::{Signer, SigningAlgorithm};
use crate::message::tests::reply;
use crate::ms_smb2::msg::echo::EchoRequest;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const NO_TIME: Duration = Duration::from_millis(50);

/// A connection to a server that reads one frame for each of these answers and sends it.
fn to(answers: Vec<Vec<Vec<u8>>>) -> (Connection, thread::JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = thread::spawn(move || {
        let (mut tcp, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        for frames in answers {
            let mut prefix = [0; 4];
            if tcp.read_exact(&mut prefix).is_err() {
                break;
            }
            let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
            tcp.read_exact(&mut frame).unwrap();
            heard.push(frame);
            for frame in frames {
                // The client may have heard enough.
                let _ = tcp.write_all(&(frame.len() as u32).to_be_bytes());
                let _ = tcp.write_all(&frame);
            }
        }
        // The connection stays open until the client has gone.
        let _ = tcp.read(&mut [0]);
        heard
    });
    let mut connection = Connection::new(
        Socket::new(tcp, plimsoll_transport::SystemClock::no_deadline()).unwrap(),
        Duration::from_secs(5),
    );
    connection.large_transfers = true;
    (connection, server)
}

fn echo() -> Request {
    Request::new(Command::Echo, &EchoRequest)
}

fn answer(message_id: u64) -> Vec<u8> {
    reply(Command::Echo, message_id, 0, &[4, 0, 0, 0])
}

fn interim(message_id: u64) -> Vec<u8> {
    let mut message = answer(message_id);
    message[8..12].copy_from_slice(&NtStatus::PENDING.0.to_le_bytes());
    message[16] |= 2;
    message
}

#[test]
fn interim_replies_and_oplock_breaks_are_waited_past_and_credits_counted() {
    let unasked = reply(Command::OplockBreak, UNASKED, 0, &[24, 0]);
    let (mut connection, server) = to(vec![vec![unasked, interim(0), answer(0)]]);
    connection.call(echo()).unwrap();
    // Each reply grants 3; one was spent, and the break answers nothing.
    assert_eq!((connection.credits, connection.next_message_id), (6, 1));
    drop(connection);
    assert_eq!(server.join().unwrap()[0][12], u16::from(Command::Echo) as u8);
}

#[test]
fn requests_are_charged_by_payload_and_credits_asked_for_when_short() {
    let mut rich = answer(0);
    rich[14..16].copy_from_slice(&10u16.to_le_bytes());
    let (mut connection, server) = to(vec![vec![rich], vec![answer(1)]]);
    connection.call(echo().with_payload(600_000)).unwrap();
    // An echo brought the 10 credits needed: 600000 bytes are 10 times 64 KiB.
    assert_eq!((connection.next_message_id, connection.credits), (11, 3));
    drop(connection);
    server.join().unwrap();
}

#[test]
fn a_server_that_grants_nothing_ends_it() {
    let mut stingy = answer(0);
    stingy[14] = 0;
    let (mut connection, server) = to(vec![vec![stingy]]);
    connection.call(echo()).unwrap();
    assert_eq!(connection.call(echo()).unwrap_err(), Error::NoCredits);
    drop(connection);
    server.join().unwrap();
}

#[test]
fn replies_that_nobody_waits_for_break_the_connection() {
    for (frames, error) in [
        (vec![answer(9)], Error::UnknownMessage(9)),
        (vec![[0xfd; 80].to_vec()], Error::NotDecrypted),
        (vec![vec![0; 4 << 20]], Error::TooLong { length: 4 << 20, limit: 64 << 10 }),
    ] {
        let (mut connection, server) = to(vec![frames]);
        assert_eq!(connection.call(echo()).unwrap_err(), error);
        assert_eq!(connection.call(echo()).unwrap_err(), error, "and stay");
        drop(connection);
        server.join().unwrap();
    }
    let (mut connection, server) = to(vec![vec![reply(Command::Read, 0, 0, &[])]]);
    assert!(matches!(connection.call(echo()), Err(Error::Malformed(_))));
    drop(connection);
    server.join().unwrap();
}

#[test]
fn where_requests_are_signed_replies_must_be() {
    let signer = || Signer::new(SigningAlgorithm::HmacSha256, &[1; 16]).unwrap();
    let mut wrong = answer(0);
    wrong[16] |= 8;
    for (frames, error) in
        [(vec![interim(0), answer(0)], Error::NotSigned), (vec![wrong], Error::BadSignature)]
    {
        let (mut connection, server) = to(vec![frames]);
        connection.guard.signer = Some(signer());
        connection.guard.sign = true;
        assert_eq!(connection.call(echo()).unwrap_err(), error);
        drop(connection);
        server.join().unwrap();
    }
    let (mut connection, server) = to(vec![vec![answer(0)]]);
    connection.guard.seal = true;
    assert_eq!(connection.call(echo()).unwrap_err(), Error::NotEncrypted);
    drop(connection);
    server.join().unwrap();
}

/// It was blamed on the network: "a reply is not signed although it must be".
#[test]
fn a_server_that_has_ended_the_session_says_so_without_its_keys() {
    let mut ended = answer(0);
    ended[8..12].copy_from_slice(&NtStatus::USER_SESSION_DELETED.0.to_le_bytes());
    for seal in [false, true] {
        let (mut connection, server) = to(vec![vec![ended.clone()]]);
        connection.guard.signer =
            Some(Signer::new(SigningAlgorithm::HmacSha256, &[1; 16]).unwrap());
        (connection.guard.sign, connection.guard.seal) = (true, seal);
        assert_eq!(connection.call(echo()).unwrap_err(), Error::SessionEnded);
        assert_eq!(connection.call(echo()).unwrap_err(), Error::SessionEnded, "for good");
        drop(connection);
        server.join().unwrap();
    }
}

/// Servers do not sign interim replies (MS-SMB2, section 3.3.4.1.1), so whoever is on the way can
/// make one: it may say "later" once, and bring no more credits than were asked for.
#[test]
fn an_interim_reply_without_a_signature_says_later_once_and_no_more() {
    let signer = || Signer::new(SigningAlgorithm::HmacSha256, &[1; 16]).unwrap();
    let mut signed = answer(0);
    signer().sign(&mut signed);
    let with = |at: usize, bytes: &[u8]| {
        let mut interim = interim(0);
        interim[at..at + bytes.len()].copy_from_slice(bytes);
        interim
    };
    let later = || with(14, &u16::MAX.to_le_bytes());
    let mut twice = with(16, &[0x0b]);
    twice[48..64].fill(7);
    let cases = [
        (vec![later(), signed.clone()], None),
        (vec![later(), later(), signed.clone()], Some(Error::NotSigned)),
        (vec![with(12, &[8]), signed.clone()], Some(Error::NotSigned)),
        (vec![with(40, &[8]), signed.clone()], Some(Error::NotSigned)),
        (vec![with(24, &[1]), signed.clone()], Some(Error::UnknownMessage(1))),
        (vec![twice, signed], Some(Error::BadSignature)),
    ];
    for (frames, expected) in cases {
        let (mut connection, server) = to(vec![frames]);
        (connection.guard.signer, connection.guard.sign) = (Some(signer()), true);
        connection.session_id = 7;
        assert_eq!(connection.call(echo()).err(), expected);
        if expected.is_none() {
            // The one that was there is spent, the rest was asked for; the final reply brought three.
            assert_eq!(connection.credits, CREDITS_WANTED - 1 + 3);
        }
        drop(connection);
        server.join().unwrap();
    }
}

#[test]
fn compounds_are_answered_together_or_one_by_one() {
    let mut together = reply(Command::Echo, 0, 72, &[4, 0, 0, 0, 0, 0, 0, 0]);
    together.extend(answer(1));
    for frames in [vec![together], vec![answer(1), answer(0)]] {
        let (mut connection, server) = to(vec![frames]);
        connection.credits = 2;
        let replies = connection.compound(vec![echo(), echo()]).unwrap();
        let ids: Vec<_> = replies.iter().map(|reply| reply.header.message_id).collect();
        assert_eq!(ids, [0, 1]);
        drop(connection);
        let heard = server.join().unwrap();
        assert_eq!(heard[0].len(), 72 + 68, "the first is padded, the last is not");
        assert_eq!((heard[0][20], heard[0][16], heard[0][72 + 16]), (72, 0, 4));
    }
}

#[test]
fn waiting_ends() {
    let (mut connection, server) = to(vec![vec![interim(0)]]);
    connection.timeout = NO_TIME;
    let error = connection.call(echo()).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error}");
    drop(connection);
    server.join().unwrap();
}

#[test]
fn lengths_of_frames_are_checked_before_bytes_come() {
    assert_eq!(frame_length([0, 0, 1, 0], 1000), Ok(256));
    assert!(frame_length([0, 0, 0, 63], 1000).is_err());
    assert!(frame_length([0x85, 0, 0, 64], 1000).is_err());
    let limit = 1000;
    let length = 0xff_ffff;
    assert_eq!(frame_length([0, 255, 255, 255], limit), Err(Error::TooLong { length, limit }));
}
