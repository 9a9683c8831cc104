//! Servers that break the protocol once a session is made: the right error in time, no panic.

mod support;

use plimsoll_smb::{Access, CreateHow, Credentials, Dialect, Error, Session, Tree};
use std::time::Duration;
use support::fake::{self, Peer, Request, Response, frame, peer};
use support::lies::{FILE, calling, in_time, open_with, options, read, reading, tree_with};

#[test]
fn an_honest_server_is_understood() {
    let (socket, thread) = peer(Peer::behave);
    let session = Session::open(socket, "server", &Credentials::guest(), &options(Dialect::Smb2_1));
    let session = session.unwrap();
    assert!(session.facts().guest);
    let mut tree = session.tree("share").map_err(|(_, error)| error).unwrap();
    let (file, facts) = tree.create("file", CreateHow::Open, Access::Read).unwrap();
    assert_eq!((file, facts.size), (FILE, 100));
    let mut buffer = [0; 200];
    assert_eq!(tree.read(file, 0, &mut buffer).unwrap(), 100);
    assert_eq!(buffer[..100], [7; 100]);
    assert_eq!(tree.write(file, 0, &buffer).unwrap(), 200);
    tree.put_small("small", CreateHow::New, b"abc", true).unwrap();
    assert_eq!(tree.get_small("small", 100).unwrap(), [7; 100]);
    assert_eq!(tree.list("", 10).unwrap(), []);
    tree.close(file).unwrap();
    tree.disconnect();
    thread.join().unwrap();
}

#[test]
fn replies_to_nobody_are_errors() {
    let wrong = reading(|r| r.honest().with(24, &(r.message_id() + 1).to_le_bytes()).frame());
    assert!(matches!(wrong, Error::UnknownMessage(_)), "{wrong:?}");
    let twice = reading(|r| {
        let id = (r.message_id() - 1).to_le_bytes();
        r.honest().with(24, &id).frame()
    });
    assert!(matches!(twice, Error::UnknownMessage(_)), "{twice:?}");
    let command = reading(|r| r.honest().with(12, &fake::WRITE.to_le_bytes()).frame());
    assert!(matches!(command, Error::Malformed(_) | Error::UnknownMessage(_)), "{command:?}");
    let request = reading(|r| r.honest().with(16, &[0]).frame());
    assert!(matches!(request, Error::Malformed(_)), "{request:?}");
}

#[test]
fn silence_and_endless_delay_end_in_time() {
    let (mut tree, thread) = tree_with(fake::READ, |_, peer| {
        peer.next();
    });
    let error = in_time(|| read(&mut tree)).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error:?}");
    drop(tree);
    thread.join().unwrap();

    let (mut tree, thread) = tree_with(fake::READ, |request, peer| {
        while peer.send(&request.pending().frame()) {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let error = in_time(|| read(&mut tree)).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error:?}");
    drop(tree);
    thread.join().unwrap();

    let (mut tree, thread) = tree_with(fake::READ, |request, peer| {
        for byte in request.honest().frame() {
            if !peer.send(&[byte]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let error = in_time(|| read(&mut tree)).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error:?}");
    drop(tree);
    thread.join().unwrap();
}

#[test]
fn a_reply_that_comes_later_counts() {
    let (mut tree, thread) = tree_with(fake::READ, |request, peer| {
        peer.send(&request.pending().frame());
        // Unasked-for news of an oplock is of no concern (MS-SMB2, section 3.2.5.19).
        let oplock = request.response(0, &[24, 0, 0, 0, 0, 0, 0, 0]);
        let oplock = Response([&oplock.0[..], &[0; 16]].concat());
        peer.send(&oplock.with(12, &[18, 0]).with(24, &[0xff; 8]).frame());
        peer.send(&request.honest().asynchronous().frame());
        while let Some(request) = peer.next() {
            peer.answer_honestly(request);
        }
    });
    assert_eq!(read(&mut tree).unwrap(), 100);
    tree.echo().unwrap();
    tree.disconnect();
    thread.join().unwrap();
}

#[test]
fn trees_and_files_cannot_be_abused() {
    for body in [vec![], vec![16, 0], vec![9, 0, 0, 0, 0, 0, 0, 0]] {
        let (session, thread) = open_with(&options(Dialect::Smb2_1), move |mut peer| {
            if let Some(request) = peer.until(fake::TREE_CONNECT) {
                peer.send(&request.response(0, &body).frame());
            }
        });
        let (_, error) = in_time(|| session.unwrap().tree("share")).err().unwrap();
        assert!(matches!(error, Error::Malformed(_)), "{error:?}");
        thread.join().unwrap();
    }
    let create = |tree: &mut Tree| tree.create("file", CreateHow::Open, Access::Read);
    let long_context = {
        let mut body = fake::create_body(1);
        body[80..88].copy_from_slice(&[0xff; 8]);
        body
    };
    for body in [vec![], fake::create_body(1)[..60].to_vec(), long_context] {
        // Contexts were not asked for, so they may also be passed over.
        let (mut tree, thread) = tree_with(fake::CREATE, move |request, peer| {
            peer.send(&request.response(0, &body).frame());
        });
        match in_time(|| create(&mut tree)) {
            Ok((_, facts)) => assert_eq!(facts.size, 1),
            Err(error) => assert!(matches!(error, Error::Malformed(_)), "{error:?}"),
        }
        drop(tree);
        thread.join().unwrap();
    }
}

#[test]
fn data_of_a_read_stays_inside_its_frame_and_what_was_asked() {
    let data = [7; 100];
    for (offset, length) in
        [(80, 101_u32), (81, 100), (255, 100), (80, u32::MAX), (80, 0x7fff_ffff), (0, 100)]
    {
        let error =
            reading(move |r| r.response(0, &fake::read_body(offset, length, &data)).frame());
        assert!(
            matches!(error, Error::Malformed(_) | Error::TooLong { .. }),
            "{offset} {length}: {error:?}"
        );
    }
    // All of it there, and more than was asked for.
    let error = reading(|r| r.response(0, &fake::read_body(80, 200, &[7; 200])).frame());
    assert!(matches!(error, Error::Malformed(_) | Error::TooLong { .. }), "{error:?}");
    assert!(matches!(reading(|r| r.response(0, &[]).frame()), Error::Malformed(_)));
    assert!(matches!(reading(|r| r.response(0, &[17, 0, 80]).frame()), Error::Malformed(_)));
    // More written than was sent.
    let write = |tree: &mut Tree| tree.write(FILE, 0, &[1; 50]);
    let error = calling(fake::WRITE, |r| r.response(0, &fake::write_body(51)).frame(), write);
    assert!(matches!(error, Error::Malformed(_)), "{error:?}");
}

#[test]
fn listings_cannot_be_abused() {
    let list = |tree: &mut Tree| tree.list("", 100);
    let listing = |offset: u16, length: u32, data: Vec<u8>| {
        calling(
            fake::QUERY_DIRECTORY,
            move |r| r.response(0, &fake::buffer_body(offset, length, &data)).frame(),
            list,
        )
    };
    /// An entry with a name of `claimed` bytes, `next` bytes before the next one.
    fn entry(next: u32, claimed: u32, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&next.to_le_bytes());
        bytes[60..64].copy_from_slice(&claimed.to_le_bytes());
        bytes.extend_from_slice(name);
        bytes
    }
    let malformed = [
        (72, 1000, vec![0; 8]),
        (0xffff, 8, vec![0; 8]),
        (72, 0xffff_ffff, vec![0; 8]),
        (72, 20, vec![1; 20]),
        (72, 66, entry(0, 0xffff_ffff, b"a\0")),
        (72, 66, entry(0, 4, b"a\0")),
        (72, 66, entry(8, 2, b"a\0")),
        (72, 66, entry(0xffff_fff8, 2, b"a\0")),
    ];
    for (offset, length, data) in malformed {
        let shown = format!("{offset} {length} {data:?}");
        let error = listing(offset, length, data);
        assert!(matches!(error, Error::Malformed(_)), "{shown}: {error:?}");
    }
    // The same page for ever: ended by the limit of names, or by its having none.
    for page in [entry(0, 2, b"a\0"), entry(0, 2, b".\0"), entry(0, 4, b".\0.\0"), vec![]] {
        let shown = format!("{page:?}");
        let (mut tree, thread) = tree_with(fake::QUERY_DIRECTORY, move |first, peer| {
            let mut request = Some(first);
            while let Some(asked) = request {
                if asked.command() == fake::QUERY_DIRECTORY {
                    let body = fake::buffer_body(72, page.len() as u32, &page);
                    let rest: Vec<_> =
                        std::iter::successors(asked.more.then(|| peer.next()).flatten(), |r| {
                            r.more.then(|| peer.next()).flatten()
                        })
                        .collect();
                    let answers: Vec<_> = std::iter::once(asked.response(0, &body))
                        .chain(rest.iter().map(Request::honest))
                        .collect();
                    peer.send(&frame(&fake::compound(&answers)));
                } else {
                    peer.answer_honestly(asked);
                }
                request = peer.next();
            }
        });
        let error = in_time(|| list(&mut tree)).unwrap_err();
        assert!(!matches!(error, Error::Tcp(_)), "{shown}: {error:?}");
        tree.disconnect();
        thread.join().unwrap();
    }
    // A name that would lead elsewhere is not believed.
    let (mut tree, thread) = tree_with(fake::QUERY_DIRECTORY, |request, peer| {
        let page = entry(0, 6, b"a\0/\0b\0");
        let body = fake::buffer_body(72, page.len() as u32, &page);
        peer.send(&request.response(0, &body).frame());
        while let Some(request) = peer.next() {
            peer.answer_honestly(request);
        }
    });
    let listed = in_time(|| list(&mut tree)).unwrap();
    assert!(listed.iter().all(|entry| !entry.name.contains(['/', '\\'])), "{listed:?}");
    tree.disconnect();
    thread.join().unwrap();
}

#[test]
fn compounds_cannot_be_abused() {
    let get = |tree: &mut Tree| tree.get_small("file", 100);
    // What the first reply of three claims of the next one's place.
    for next in [8_u32, 64, 63, 7, 0xffff_fff8, 0xffff_ffff, 4096, 1 << 31] {
        let (mut tree, thread) = tree_with(fake::CREATE, move |request, peer| {
            let mut requests = vec![request];
            while requests.last().is_some_and(|r| r.more) {
                requests.extend(peer.next());
            }
            let honest: Vec<_> = requests.iter().map(Request::honest).collect();
            let mut whole = fake::compound(&honest);
            whole[20..24].copy_from_slice(&next.to_le_bytes());
            peer.send(&frame(&whole));
        });
        let error = in_time(|| get(&mut tree)).unwrap_err();
        assert!(
            matches!(error, Error::Malformed(_) | Error::UnknownMessage(_)),
            "{next}: {error:?}"
        );
        drop(tree);
        thread.join().unwrap();
    }
    // One reply alone, then nothing.
    let (mut tree, thread) = tree_with(fake::CREATE, |request, peer| {
        peer.send(&request.honest().frame());
        while peer.next().is_some() {}
    });
    let error = in_time(|| get(&mut tree)).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error:?}");
    drop(tree);
    thread.join().unwrap();
    // The same reply three times.
    let (mut tree, thread) = tree_with(fake::CREATE, |request, peer| {
        let honest = request.honest();
        peer.send(&frame(&fake::compound(&[honest.clone(), honest.clone(), honest])));
        while peer.next().is_some() {}
    });
    let error = in_time(|| get(&mut tree)).unwrap_err();
    assert!(matches!(error, Error::UnknownMessage(_) | Error::Malformed(_)), "{error:?}");
    drop(tree);
    thread.join().unwrap();
}

#[test]
fn credits_that_run_dry_or_over_are_borne() {
    // None at all, from the first reply on.
    let (session, thread) = open_with(&options(Dialect::Smb2_1), |mut peer| {
        while let Some(request) = peer.next() {
            peer.send(&request.honest().credits(0).frame());
        }
    });
    assert_eq!(session.map(drop).unwrap_err(), Error::NoCredits);
    thread.join().unwrap();
    // One at a time is enough for single requests.
    let (socket, thread) = peer(|mut peer| {
        while let Some(request) = peer.next() {
            peer.send(&request.honest().credits(1).frame());
        }
    });
    let session = Session::open(socket, "server", &Credentials::guest(), &options(Dialect::Smb2_1));
    let mut tree = session.unwrap().tree("share").map_err(|(_, error)| error).unwrap();
    for _ in 0..100 {
        assert_eq!(read(&mut tree).unwrap(), 100);
    }
    tree.disconnect();
    thread.join().unwrap();
    // As many as can be said, again and again.
    let (socket, thread) = peer(|mut peer| {
        while let Some(request) = peer.next() {
            peer.send(&request.honest().credits(u16::MAX).frame());
        }
    });
    let session = Session::open(socket, "server", &Credentials::guest(), &options(Dialect::Smb2_1));
    let mut tree = session.unwrap().tree("share").map_err(|(_, error)| error).unwrap();
    for _ in 0..100 {
        assert_eq!(read(&mut tree).unwrap(), 100);
    }
    tree.disconnect();
    thread.join().unwrap();
}
