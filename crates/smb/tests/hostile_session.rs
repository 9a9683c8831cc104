//! Servers that lie while a session is made: the right error in time, no panic.

mod support;

use plimsoll_smb::{Credentials, Dialect, Error, Options, Protection, Session};
use support::fake::{self, Peer, frame, peer};
use support::lies::{in_time, open_with, opening, options, reading};

#[test]
fn broken_frames_are_errors() {
    let at_once = |bytes: Vec<u8>| opening(&options(Dialect::Smb2_1), fake::NEGOTIATE, |_| bytes);
    assert_eq!(at_once(Vec::new()), plimsoll_transport::Error::Closed.into());
    assert_eq!(at_once(vec![0, 0]), plimsoll_transport::Error::Closed.into());
    assert!(matches!(at_once(vec![0, 0xff, 0xff, 0xff, 1]), Error::TooLong { .. }));
    assert!(matches!(at_once(vec![0xff; 64]), Error::TooLong { .. } | Error::Malformed(_)));
    assert!(matches!(at_once(vec![0; 4]), Error::Malformed(_)));
    assert!(matches!(at_once(frame(&[7; 40])), Error::Malformed(_)));
    assert!(matches!(at_once(frame(&[7; 200])), Error::Malformed(_)));
    // The first four bytes of text are a length beyond every limit, or no frame at all.
    let http = at_once(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    assert!(matches!(http, Error::TooLong { .. } | Error::Malformed(_)), "{http:?}");
    let smb1 = [&b"\xffSMB\x72"[..], &[0; 60]].concat();
    assert!(matches!(at_once(frame(&smb1)), Error::Malformed(_)));

    assert!(matches!(reading(|_| vec![0, 0xff, 0xff, 0xff, 1]), Error::TooLong { .. }));
    assert!(matches!(reading(|_| vec![0; 4]), Error::Malformed(_)));
    assert_eq!(
        reading(|r| r.honest().frame()[..90].to_vec()),
        plimsoll_transport::Error::Closed.into()
    );
    assert!(matches!(reading(|r| r.honest().with(0, b"\xffSMB").frame()), Error::Malformed(_)));
    // Sealed, where nothing was agreed to seal with.
    let sealed = reading(|_| frame(&[&b"\xfdSMB"[..], &[0; 200]].concat()));
    assert!(matches!(sealed, Error::Malformed(_) | Error::NotDecrypted), "{sealed:?}");
    let length = reading(|r| r.honest().with(4, &[63, 0]).frame());
    assert!(matches!(length, Error::Malformed(_)), "{length:?}");
}

#[test]
fn negotiation_cannot_be_abused() {
    let with_dialect = |offered: Dialect, answered: u16| {
        opening(&options(offered), fake::NEGOTIATE, move |r| {
            let contexts = if answered == 0x0311 { vec![fake::preauth_context()] } else { vec![] };
            r.response(0, &fake::negotiate_body(answered, &contexts)).frame()
        })
    };
    for (offered, answered) in [
        (Dialect::Smb2_1, 0x0202),
        (Dialect::Smb2_1, 0x0311),
        (Dialect::Smb3_1_1, 0x0210),
        (Dialect::Smb2_1, 0x0999),
        (Dialect::Smb2_1, 0x02ff),
        (Dialect::Smb2_1, 0),
    ] {
        let error = with_dialect(offered, answered);
        let right = matches!(
            error,
            Error::Malformed(_) | Error::DialectRefused { .. } | Error::Downgraded(_)
        );
        assert!(right, "{offered} {answered:x} {error:?}");
    }
    type Contexts = Vec<(u16, Vec<u8>)>;
    let good = fake::preauth_context;
    let absurd: [Contexts; 8] = [
        vec![],
        vec![(1, vec![])],
        vec![(1, vec![0; 6])],
        vec![(1, vec![1, 0, 0, 0, 9, 0])],
        vec![good(), good()],
        vec![good(), (2, vec![1, 0, 99, 0])],
        vec![good(), (2, vec![0xff, 0xff, 1, 0])],
        vec![good(), (8, vec![1, 0, 77, 0])],
    ];
    for contexts in absurd {
        let shown = format!("{contexts:?}");
        let error = opening(&options(Dialect::Smb3_1_1), fake::NEGOTIATE, move |r| {
            r.response(0, &fake::negotiate_body(0x0311, &contexts)).frame()
        });
        assert!(error.is_fatal() && error.status().is_none(), "{shown}: {error:?}");
        assert!(!matches!(error, Error::Tcp(_)), "it was believed: {shown}: {error:?}");
        // A server that has not heard of contexts is distinguished: an older dialect is open to it.
        assert_eq!(error == Error::NoContexts, shown == "[]", "{shown}: {error:?}");
    }
    // Offsets and counts that lie, limits of nothing.
    for (at, bytes) in [
        (64 + 56, &[0xff, 0xff][..]),
        (64 + 58, &[0xff, 0xff]),
        (64 + 60, &[0xff, 0xff, 0xff, 0xff]),
        (64 + 60, &[1, 0, 0, 0]),
        (64 + 6, &[0xff, 0xff]),
        (64 + 28, &[0; 12]),
        (64, &[1, 0]),
    ] {
        let error = opening(&options(Dialect::Smb3_1_1), fake::NEGOTIATE, move |r| {
            let body = fake::negotiate_body(0x0311, &[fake::preauth_context()]);
            r.response(0, &body).with(at, bytes).frame()
        });
        assert!(error.status().is_none(), "{at} {bytes:?}: {error:?}");
    }
}

#[test]
fn session_setup_cannot_be_abused() {
    let setup = |body: Vec<u8>, status: u32| {
        opening(&options(Dialect::Smb2_1), fake::SESSION_SETUP, move |r| {
            r.response(status, &body).frame()
        })
    };
    for token in
        [vec![], vec![0xa1; 300], b"NTLMSSP\0".to_vec(), vec![0xa1, 0x84, 0xff, 0xff, 0xff, 0xff]]
    {
        let error = setup(fake::session_setup_body(0, &token), fake::MORE_PROCESSING);
        assert!(matches!(error, Error::Malformed(_)), "{token:x?}: {error:?}");
    }
    let mut lying = fake::session_setup_body(0, &[1; 20]);
    lying[6] = 0xff;
    assert!(matches!(setup(lying.clone(), fake::MORE_PROCESSING), Error::Malformed(_)));
    lying[4..8].copy_from_slice(&[0xff; 4]);
    assert!(matches!(setup(lying, fake::MORE_PROCESSING), Error::Malformed(_)));
    assert!(matches!(setup(vec![], fake::MORE_PROCESSING), Error::Malformed(_)));
    // A user whose password is wrong has one try.
    let user = Credentials { user: "me".into(), domain: String::new(), password: "x".into() };
    let (socket, thread) = peer(|mut peer| {
        if let Some(request) = peer.until(fake::SESSION_SETUP) {
            peer.send(&request.response(0xC000_006D, &fake::error_body()).frame());
        }
        assert!(peer.next().is_none(), "a second try");
    });
    let refused = in_time(|| Session::open(socket, "server", &user, &options(Dialect::Smb2_1)));
    assert_eq!(
        refused.map(drop).unwrap_err().status(),
        Some(plimsoll_smb::NtStatus::LOGON_FAILURE)
    );
    thread.join().unwrap();

    // Asked for more for ever.
    let (session, thread) = open_with(&options(Dialect::Smb2_1), |mut peer| {
        let Some(first) = peer.until(fake::SESSION_SETUP) else { return };
        let challenge = first.honest();
        let mut request = Some(first);
        while let Some(asked) = request {
            let again = challenge.clone().with(24, &asked.message_id().to_le_bytes());
            peer.send(&again.frame());
            request = peer.next();
        }
    });
    assert!(session.is_err());
    drop(session);
    thread.join().unwrap();

    // A guest, where signing was asked for: nothing would prove who answers.
    let signed = Options { sign: Protection::On, ..options(Dialect::Smb2_1) };
    let (session, thread) = open_with(&signed, Peer::behave);
    assert_eq!(session.map(drop), Err(Error::GuestOnly("signed")));
    thread.join().unwrap();
}

/// Whatever a server without the password says of the session: a guest's, nobody's, or a full one
/// that it cannot sign for.
#[test]
fn a_server_that_does_not_know_the_password_is_not_believed() {
    let user = Credentials { user: "me".into(), domain: String::new(), password: "x".into() };
    let open = |credentials: &Credentials, dialect, flags, options: &Options| {
        let options = Options { dialects: vec![dialect], ..options.clone() };
        let (socket, thread) = peer(move |mut peer| {
            while let Some(request) = peer.next() {
                let contexts = [fake::preauth_context()];
                let contexts = if dialect == Dialect::Smb3_1_1 { &contexts[..] } else { &[] };
                let answer = match request.command() {
                    fake::NEGOTIATE => {
                        request.response(0, &fake::negotiate_body(dialect.into(), contexts))
                    }
                    fake::SESSION_SETUP if request.message_id() > 1 => {
                        request.response(0, &fake::session_setup_body(flags, &[]))
                    }
                    _ => request.honest(),
                };
                peer.send(&answer.frame());
            }
        });
        let session = in_time(|| Session::open(socket, "server", credentials, &options));
        let facts = session.map(|session| session.facts().clone());
        thread.join().unwrap();
        facts
    };
    for dialect in Dialect::ALL {
        let auto = options(*dialect);
        let allowed = Options { guests: true, ..auto.clone() };
        for (flags, expected) in [
            (0, Error::NotSigned),
            (1, Error::GuestRefused("a guest")),
            (2, Error::GuestRefused("an anonymous user")),
            (3, Error::GuestRefused("a guest")),
        ] {
            assert_eq!(open(&user, *dialect, flags, &auto), Err(expected), "{dialect} {flags}");
            // Allowed it is taken as what it says that it is, and as nothing more.
            match open(&user, *dialect, flags, &allowed) {
                Ok(facts) => assert!(flags > 0 && facts.guest && facts.signing.is_none()),
                Err(error) => assert_eq!((flags, error), (0, Error::NotSigned), "{dialect}"),
            }
        }
        // Who names nobody asked for no more.
        for flags in [1, 2] {
            assert!(open(&Credentials::guest(), *dialect, flags, &auto).unwrap().guest);
        }
    }
}

#[test]
fn a_user_who_is_not_a_guest_proves_the_server_by_its_signature() {
    // In dialect 3.1.1 the last reply of a session's setup is signed. This server knows no
    // password, so it can sign nothing, and claims a full session all the same.
    let user = Credentials { user: "me".into(), domain: String::new(), password: "x".into() };
    for signature in [[0; 16], [7; 16]] {
        for flags in [1_u8, 9] {
            let (socket, thread) = peer(move |mut peer| {
                while let Some(request) = peer.next() {
                    let answer = match request.command() {
                        fake::NEGOTIATE => {
                            let contexts = [fake::preauth_context()];
                            request.response(0, &fake::negotiate_body(0x0311, &contexts))
                        }
                        fake::SESSION_SETUP if request.message_id() > 1 => request
                            .response(0, &fake::session_setup_body(0, &[]))
                            .with(16, &[flags])
                            .with(48, &signature),
                        _ => request.honest(),
                    };
                    peer.send(&answer.frame());
                }
            });
            let session =
                in_time(|| Session::open(socket, "server", &user, &options(Dialect::Smb3_1_1)));
            let error = session.map(drop).unwrap_err();
            assert!(matches!(error, Error::BadSignature | Error::NotSigned), "{error:?}");
            thread.join().unwrap();
        }
    }
}
