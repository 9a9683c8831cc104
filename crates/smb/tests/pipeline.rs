//! The pipeline against a peer with every kind of manners, good and bad.

mod peer;
mod pipeline {
    pub mod user;
}

use peer::{CLOSE, CREATE, EVERY_PROTECTION, FLUSH, Manners, Protection, READ, WRITE, content};
use pipeline::user::{FILE, Outcome, User, options, pipeline, read, write};
use plimsoll_smb::{
    Access, CreateHow, Dialect, Error, Exchange, FileId, NtStatus, Pipeline, Request,
    SigningAlgorithm, Smb2,
};
use plimsoll_testkit::thorough;
use proptest::prelude::*;
use smb2::types::Command;

/// No test waits longer than this for anything, in nanoseconds.
const PATIENCE: u64 = 30_000_000_000;

fn finish(pipeline: &mut Pipeline, user: &mut User) -> Result<(), Error> {
    while pipeline.in_flight() > 0 {
        assert!(user.now() < PATIENCE, "something never comes");
        pipeline.reap(PATIENCE, user)?;
    }
    Ok(())
}

/// One of each kind, small and large.
fn one_of_each(pipeline: &mut Pipeline, user: &mut User) {
    user.lengths[2] = 1000;
    user.lengths[3] = 1 << 20;
    user.lengths[5] = 11_500;
    pipeline.submit(0, read(4096, 4096)).unwrap();
    pipeline.submit(1, read(8192, 1 << 20)).unwrap();
    pipeline.submit(2, write(1000, false)).unwrap();
    pipeline.submit(3, write(1 << 20, true)).unwrap();
    pipeline.submit(4, Request::Flush { file: FILE }).unwrap();
    pipeline
        .submit(
            5,
            Request::Put { path: "a/b.txt", how: CreateHow::New, count: 11_500, through: false },
        )
        .unwrap();
    pipeline
        .submit(
            6,
            Request::Put { path: "empty", how: CreateHow::Replace, count: 0, through: false },
        )
        .unwrap();
    pipeline.submit(7, Request::Get { path: "a/b.txt", most: 70_000 }).unwrap();
    pipeline
        .submit(
            8,
            Request::Open { path: "c", how: CreateHow::OpenOrCreate, access: Access::ReadWrite },
        )
        .unwrap();
    pipeline.submit(9, Request::Close { file: FILE }).unwrap();
}

const REQUESTS: [u16; 15] = [
    READ, READ, WRITE, WRITE, FLUSH, CREATE, WRITE, CLOSE, CREATE, CLOSE, CREATE, READ, CLOSE,
    CREATE, CLOSE,
];

fn check_one_of_each(user: &User) {
    let file = FileId { persistent: 0x0807_0605_0403_0201, volatile: 0x100f_0e0d_0c0b_0a09 };
    for (tag, expected) in [
        (0, Outcome::Read(content(4096, 4096))),
        (1, Outcome::Read(content(8192, 1 << 20))),
        (2, Outcome::Write(1000)),
        (3, Outcome::Write(1 << 20)),
        (4, Outcome::Flush),
        (5, Outcome::Put(11_500)),
        (6, Outcome::Put(0)),
        (7, Outcome::Get(content(0, 70_000), u64::MAX / 2)),
        (8, Outcome::Open(file, u64::MAX / 2)),
        (9, Outcome::Close),
    ] {
        assert!(*user.outcome(tag) == expected, "call {tag}");
    }
}

#[test]
fn every_call_is_done_under_every_protection_and_with_any_manners() {
    let all_manners = [
        Manners::default(),
        Manners { gather: 10, ..Manners::default() },
        Manners { split: true, breaks: true, ..Manners::default() },
        Manners { pending: true, gather: 3, ..Manners::default() },
    ];
    // Three and four have no divisor in common: each of the manners has its turn.
    let step = thorough::one_in(3, "protections with their manners");
    let each = EVERY_PROTECTION.into_iter().flat_map(|protection| {
        all_manners.clone().map(|manners| Manners { protection, ..manners })
    });
    for manners in each.step_by(step) {
        let (mut pipeline, peer) = pipeline(manners, 16);
        let mut user = User::new();
        one_of_each(&mut pipeline, &mut user);
        finish(&mut pipeline, &mut user).unwrap();
        check_one_of_each(&user);
        drop(pipeline);
        let seen = peer.join().unwrap();
        assert_eq!(seen.requests, REQUESTS);
        assert_eq!(seen.frames, 10, "a compound is one frame");
        assert_eq!(seen.write_flags, [0, 1, 0]);
    }
}

#[test]
fn a_small_message_dialect_charges_nothing_and_flushes_instead_of_writing_through() {
    let manners = Manners { large_transfers: false, gather: 2, ..Manners::default() };
    let (link, peer) = peer::connect(manners, 1, Dialect::Smb2_0_2);
    let mut pipeline = Smb2::pipeline(link, options(4));
    let size = pipeline.protocol().options();
    assert_eq!((size.read_most, size.write_most), (65536, 65536));
    let mut user = User::new();
    pipeline.submit(0, read(0, 1 << 20)).unwrap();
    finish(&mut pipeline, &mut user).unwrap();
    user.lengths[1] = 5000;
    pipeline.submit(1, write(5000, true)).unwrap();
    finish(&mut pipeline, &mut user).unwrap();
    assert_eq!(*user.outcome(0), Outcome::Read(content(0, 65536)));
    assert_eq!(*user.outcome(1), Outcome::Write(5000));
    drop(pipeline);
    let seen = peer.join().unwrap();
    assert_eq!(seen.requests, [READ, WRITE, FLUSH]);
    assert_eq!((seen.write_flags, seen.frames), (vec![0], 2));
}

/// Submits reads of 1 MiB, which cost 16 credits each, as fast as the slots allow.
fn many_reads(pipeline: &mut Pipeline, user: &mut User, count: u32) -> Result<(), Error> {
    for tag in 0..count {
        while pipeline.submit(tag, read(u64::from(tag) << 20, 1 << 20)).is_err() {
            pipeline.reap(PATIENCE, user)?;
        }
    }
    finish(pipeline, user)
}

#[test]
fn calls_wait_for_credits() {
    for pending in [false, true] {
        let manners = Manners { pending, ..Manners::default() };
        let (link, peer) = peer::connect(manners, 17, Dialect::Smb3_1_1);
        let mut pipeline = Smb2::pipeline(link, options(8));
        let mut user = User::new();
        for tag in 0..8 {
            pipeline.submit(tag, read(u64::from(tag) << 20, 1 << 20)).unwrap();
        }
        pipeline.flush(&mut user).unwrap();
        assert_eq!(pipeline.in_flight(), 8);
        finish(&mut pipeline, &mut user).unwrap();
        many_reads(&mut pipeline, &mut User::new(), 20).unwrap();
        for tag in 0..8 {
            assert!(*user.outcome(tag) == Outcome::Read(content(u64::from(tag) << 20, 1 << 20)));
        }
        drop(pipeline);
        assert_eq!(peer.join().unwrap().requests.len(), 28);
    }
}

#[test]
fn a_server_that_grants_too_little_is_an_error_and_not_a_wait() {
    let (link, _peer) = peer::connect(Manners::default(), 15, Dialect::Smb3_1_1);
    let mut pipeline = Smb2::pipeline(link, options(2));
    assert_eq!(many_reads(&mut pipeline, &mut User::new(), 1), Err(Error::NoCredits));
    let manners = Manners { grant_most: 0, ..Manners::default() };
    let (link, _peer) = peer::connect(manners, 33, Dialect::Smb3_1_1);
    let mut pipeline = Smb2::pipeline(link, options(8));
    let mut user = User::new();
    assert_eq!(many_reads(&mut pipeline, &mut user, 3), Err(Error::NoCredits));
    assert_eq!(user.ended.len(), 2);
    assert_eq!(pipeline.flush(&mut user), Err(Error::NoCredits), "and it stays one");
}

#[test]
fn the_end_of_a_file_is_no_error() {
    let manners = Manners { file_size: 5000, ..Manners::default() };
    let (mut pipeline, _peer) = pipeline(manners, 4);
    let mut user = User::new();
    pipeline.submit(0, read(4096, 4096)).unwrap();
    pipeline.submit(1, read(5000, 4096)).unwrap();
    pipeline.submit(2, Request::Get { path: "f", most: 65536 }).unwrap();
    pipeline.submit(3, Request::Get { path: "f", most: 100 }).unwrap();
    finish(&mut pipeline, &mut user).unwrap();
    assert_eq!(*user.outcome(0), Outcome::Read(content(4096, 904)));
    assert_eq!(*user.outcome(1), Outcome::Read(vec![]));
    assert_eq!(*user.outcome(2), Outcome::Get(content(0, 5000), 5000));
    assert_eq!(*user.outcome(3), Outcome::Get(content(0, 100), 5000));
    let (mut pipeline, _peer) = self::pipeline(Manners { file_size: 0, ..Manners::default() }, 1);
    let mut user = User::new();
    pipeline.submit(0, Request::Get { path: "f", most: 100 }).unwrap();
    finish(&mut pipeline, &mut user).unwrap();
    assert_eq!(*user.outcome(0), Outcome::Get(vec![], 0));
}

#[test]
fn refusals_end_one_call_and_the_first_of_a_compound_is_named() {
    for split in [false, true] {
        let (denied, full) = (NtStatus::ACCESS_DENIED, NtStatus::DISK_FULL);
        let refuse = vec![(CREATE, denied.0), (FLUSH, full.0)];
        let (mut pipeline, _peer) = pipeline(Manners { refuse, split, ..Manners::default() }, 4);
        let mut user = User::new();
        user.lengths[0] = 10;
        pipeline
            .submit(0, Request::Put { path: "a", how: CreateHow::New, count: 10, through: false })
            .unwrap();
        pipeline.submit(1, Request::Get { path: "a", most: 10 }).unwrap();
        pipeline.submit(2, Request::Flush { file: FILE }).unwrap();
        pipeline.submit(3, read(0, 100)).unwrap();
        finish(&mut pipeline, &mut user).unwrap();
        let refused = |command, status| Outcome::Failed(Error::Status { command, status });
        assert_eq!(*user.outcome(0), refused(Command::Create, denied));
        assert_eq!(*user.outcome(1), refused(Command::Create, denied));
        assert_eq!(*user.outcome(2), refused(Command::Flush, full));
        assert_eq!(*user.outcome(3), Outcome::Read(content(0, 100)));
    }
}

#[test]
fn names_that_smb_refuses_end_before_they_are_sent() {
    let (mut pipeline, peer) = pipeline(Manners::default(), 2);
    let mut user = User::new();
    pipeline
        .submit(0, Request::Put { path: "a:b", how: CreateHow::New, count: 10, through: false })
        .unwrap();
    pipeline.submit(1, Request::Get { path: "../a", most: 10 }).unwrap();
    assert!(pipeline.submit(2, read(0, 1)).is_err(), "full");
    assert_eq!(pipeline.reap(PATIENCE, &mut user), Ok(2));
    assert_eq!(pipeline.in_flight(), 0);
    assert!(matches!(user.outcome(0), Outcome::Failed(Error::Name { .. })));
    assert!(matches!(user.outcome(1), Outcome::Failed(Error::Name { .. })));
    pipeline.submit(2, read(0, 1)).unwrap();
    finish(&mut pipeline, &mut user).unwrap();
    drop(pipeline);
    assert_eq!(peer.join().unwrap().requests, [READ]);
}

#[test]
fn a_peer_that_answers_before_it_reads_on_halts_nobody() {
    for protection in [Protection::Plain, Protection::Sign(SigningAlgorithm::AesGmac)] {
        let (mut pipeline, _peer) = pipeline(Manners { protection, ..Manners::default() }, 64);
        let mut user = User::new();
        user.lengths.fill(1 << 20);
        for tag in 0..64 {
            match tag % 2 {
                0 => pipeline.submit(tag, read(0, 1 << 20)).unwrap(),
                _ => pipeline.submit(tag, write(1 << 20, false)).unwrap(),
            }
        }
        finish(&mut pipeline, &mut user).unwrap();
        assert_eq!(user.ended.len(), 64);
    }
}

/// Whoever is on the way can make an interim reply, since servers sign none.
#[test]
fn an_interim_reply_without_a_signature_says_later_and_no_more() {
    let protection = Protection::Sign(SigningAlgorithm::AesGmac);
    let manners = || Manners { protection, pending: true, ..Manners::default() };
    for (change_interim, expected) in [
        ((|interim| interim[12] = 9) as Change, Error::NotSigned),
        (|interim| interim[40] ^= 1, Error::NotSigned),
        (|interim| interim[16] |= 8, Error::BadSignature),
    ] {
        assert_eq!(hostile(Manners { change_interim, ..manners() }), expected);
    }
    // As many credits as it likes, in one frame with itself again: neither is taken.
    let change_interim: Change = |interim| {
        interim.resize(80, 0);
        interim[20] = 80;
        let again = interim.clone();
        interim.extend_from_slice(&again);
        interim[80 + 20] = 0;
    };
    assert_eq!(hostile(Manners { change_interim, ..manners() }), Error::NotSigned);
    // The peer counts what it granted and hangs up where a request was not paid for.
    let change_interim: Change = |interim| interim[14..16].fill(0xff);
    let (mut pipeline, peer) = pipeline(Manners { change_interim, ..manners() }, 8);
    many_reads(&mut pipeline, &mut User::new(), 40).unwrap();
    drop(pipeline);
    assert_eq!(peer.join().unwrap().requests.len(), 40);
}

#[test]
fn a_payload_of_the_wrong_length_is_an_error() {
    let (mut pipeline, _peer) = pipeline(Manners::default(), 2);
    let mut user = User::new();
    user.lengths[0] = 99;
    pipeline.submit(0, write(100, false)).unwrap();
    assert!(matches!(pipeline.flush(&mut user), Err(Error::Malformed(_))));
}

/// Reads once from a peer with bad manners; what comes of it.
fn hostile(manners: Manners) -> Error {
    let (mut pipeline, _peer) = pipeline(manners, 2);
    let mut user = User::new();
    pipeline.submit(0, read(0, 1000)).unwrap();
    let error = finish(&mut pipeline, &mut user).expect_err("the reply is wrong");
    assert!(user.ended.is_empty());
    assert_eq!(pipeline.reap(PATIENCE, &mut user), Err(error.clone()), "it stays dead");
    error
}

type Change = fn(&mut Vec<u8>);

#[test]
fn unprotected_and_changed_replies_are_not_believed() {
    for protection in EVERY_PROTECTION {
        // A bit of the data, behind every header.
        let change_frame: Change = |frame| frame[300] ^= 1;
        let expected = match protection {
            Protection::Plain => continue,
            Protection::Sign(_) => Error::BadSignature,
            Protection::Seal(_) => Error::NotDecrypted,
        };
        let manners = Manners { protection, change_frame, ..Manners::default() };
        assert_eq!(hostile(manners), expected, "{protection:?}");
    }
    let protection = Protection::Sign(SigningAlgorithm::AesCmac);
    let change_frame: Change = |frame| frame[4 + 16] &= !8;
    let manners = Manners { protection, change_frame, ..Manners::default() };
    assert_eq!(hostile(manners), Error::NotSigned);
    // A message that was not encrypted, in the place of one that was.
    let protection = Protection::Seal(plimsoll_smb::Cipher::Aes128Gcm);
    let change_frame: Change = |frame| frame[4] = 0xfe;
    let manners = Manners { protection, change_frame, ..Manners::default() };
    assert_eq!(hostile(manners), Error::NotEncrypted);
    // Encryption that nobody agreed on.
    let change_frame: Change = |frame| frame[4] = 0xfd;
    assert_eq!(hostile(Manners { change_frame, ..Manners::default() }), Error::NotDecrypted);
}

#[test]
fn replies_that_lie_are_refused() {
    let malformed: [(&str, Change); 9] = [
        ("no SMB", |reply| reply[1] = b'T'),
        ("a request", |reply| reply[16] &= !1),
        ("a structure of another size", |reply| reply[64] = 18),
        ("more data than asked for", |reply| reply[68..72].copy_from_slice(&[0xd0, 7, 0, 0])),
        ("data in the header", |reply| reply[66] = 60),
        ("data outside", |reply| reply[66] = 81),
        ("an end in the middle", |reply| reply.truncate(70)),
        ("a next message inside the header", |reply| reply[20] = 8),
        ("a next message outside", |reply| reply[22] = 8),
    ];
    for (what, change_reply) in malformed {
        let error = hostile(Manners { change_reply, ..Manners::default() });
        assert!(matches!(error, Error::Malformed(_)), "{what}: {error:?}");
    }
    let unknown: [(&str, u64, Change); 3] = [
        ("another call", 101, |reply| reply[24] += 1),
        ("another command", 100, |reply| reply[12] = 9),
        ("an unasked reply", u64::MAX, |reply| reply[24..32].fill(0xff)),
    ];
    for (what, id, change_reply) in unknown {
        let error = hostile(Manners { change_reply, ..Manners::default() });
        assert_eq!(error, Error::UnknownMessage(id), "{what}");
    }
    let change_frame: Change = |frame| frame[1] = 0xff;
    let error = hostile(Manners { change_frame, ..Manners::default() });
    assert!(matches!(error, Error::TooLong { .. }), "{error:?}");
    let change_frame: Change = |frame| frame[0] = 0x82;
    let error = hostile(Manners { change_frame, ..Manners::default() });
    assert!(matches!(error, Error::Malformed(_)), "{error:?}");
}

#[test]
fn a_reply_that_comes_twice_is_refused() {
    let change_frame: Change = |frame| frame.extend_from_within(..);
    let manners = Manners { change_frame, ..Manners::default() };
    let (mut pipeline, _peer) = pipeline(manners, 2);
    let mut user = User::new();
    pipeline.submit(0, read(0, 10)).unwrap();
    pipeline.submit(1, read(0, 1000)).unwrap();
    assert_eq!(finish(&mut pipeline, &mut user), Err(Error::UnknownMessage(100)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever bytes come, nothing panics and nothing is waited for that cannot come.
    #[test]
    fn any_bytes_end_well(
        replies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..7),
        plausible in any::<bool>(),
    ) {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut link, _) = peer::connect(Manners::default(), 40, Dialect::Smb3_1_1);
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        link.socket = plimsoll_transport::Socket::new(client, plimsoll_transport::SystemClock::no_deadline()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let commands = [CREATE, READ, CLOSE, CREATE, WRITE, CLOSE];
        for (i, reply) in replies.iter().enumerate() {
            let mut frame = reply.clone();
            if plausible && frame.len() > 64 {
                // Right enough to be looked at closely.
                frame[..12].copy_from_slice(b"\xfeSMB\x40\0\x01\0\0\0\0\0");
                frame[12..24].copy_from_slice(&[commands[i] as u8, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
                frame[24..32].copy_from_slice(&[100 + i as u8, 0, 0, 0, 0, 0, 0, 0]);
            }
            server.write_all(&(frame.len() as u32).to_be_bytes()).unwrap();
            server.write_all(&frame).unwrap();
        }
        server.shutdown(std::net::Shutdown::Write).unwrap();
        let mut pipeline = Smb2::pipeline(link, options(8));
        let mut user = User::new();
        user.lengths.fill(10);
        pipeline.submit(0, Request::Get { path: "a", most: 100 }).unwrap();
        pipeline.submit(1, Request::Put { path: "b", how: CreateHow::New, count: 10, through: false }).unwrap();
        let result = finish(&mut pipeline, &mut user);
        prop_assert!(result.is_err() || user.ended.len() == 2);
    }
}

#[test]
fn requests_that_go_one_by_one_do_the_same() {
    for protection in EVERY_PROTECTION {
        let manners = Manners { protection, pending: true, ..Manners::default() };
        let (mut pipeline, peer) = pipeline(manners, 16);
        pipeline.protocol_mut().use_compounds(false);
        let mut user = User::new();
        one_of_each(&mut pipeline, &mut user);
        finish(&mut pipeline, &mut user).unwrap();
        check_one_of_each(&user);
        drop(pipeline);
        let seen = peer.join().unwrap();
        let (mut requests, mut expected) = (seen.requests.clone(), REQUESTS);
        requests.sort();
        expected.sort();
        assert_eq!((requests, seen.frames), (expected.to_vec(), 15));
    }
}

/// Whoever opens closes: also where the server ends a compound at its first refusal, and before what
/// it did not follow is done again one by one. The next call is not tried as a compound then.
#[test]
fn what_a_refused_compound_opened_is_closed() {
    const INVALID_HANDLE: NtStatus = NtStatus(0xc000_0008);
    let compound = [CREATE, WRITE, CLOSE];
    for (status, requests, frames) in [
        (NtStatus::DISK_FULL, [&compound[..], &[CLOSE], &compound, &[CLOSE]].concat(), 4),
        (INVALID_HANDLE, [&compound[..], &[CLOSE], &compound, &compound].concat(), 8),
    ] {
        let refuse = vec![(WRITE, status.0)];
        let manners = Manners { refuse, ends_compounds: true, ..Manners::default() };
        let (mut pipeline, peer) = pipeline(manners, 1);
        let mut user = User::new();
        for tag in [0, 1] {
            user.lengths[tag as usize] = 10;
            pipeline
                .submit(
                    tag,
                    Request::Put { path: "a", how: CreateHow::New, count: 10, through: false },
                )
                .unwrap();
            finish(&mut pipeline, &mut user).unwrap();
            let refused = Error::Status { command: Command::Write, status };
            assert_eq!(*user.outcome(tag), Outcome::Failed(refused));
        }
        drop(pipeline);
        let seen = peer.join().unwrap();
        assert_eq!((seen.requests, seen.frames), (requests, frames), "{status}");
    }
}
