//! Somebody between client and server changes replies of Samba's: noticed in every protection.

mod support;

use plimsoll_smb::{CreateHow, Error, Options};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use std::time::Duration;
use support::proxy::Proxy;
use support::{Way, tree};

/// Every way that protects.
fn protected() -> impl Iterator<Item = Way> {
    Way::ALL.into_iter().filter(|way| way.signing.is_some() || way.cipher.is_some())
}

/// What a small read makes of a changed reply.
fn reading(
    server: &Samba,
    way: Way,
    change: impl FnOnce(Vec<u8>) -> Vec<Vec<u8>> + Send + 'static,
) -> Error {
    let proxy = Proxy::before(server.port());
    let options = Options { call_timeout: Duration::from_millis(700), ..way.options() };
    let mut tree = tree(proxy.port, "data", &options);
    assert_eq!(tree.get_small("file", 100).unwrap(), b"content", "{way:?}");
    proxy.arm(change);
    let answer = tree.get_small("file", 100);
    let error = answer.map(drop).expect_err(&format!("{way:?}: a changed reply was believed"));
    assert!(proxy.has_fired());
    assert!(error.is_fatal(), "{way:?} {error:?}");
    assert!(tree.echo().is_err(), "{way:?}");
    error
}

#[test]
fn every_changed_reply_is_noticed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let mut bare = tree(server.port(), "data", &Options::default());
    bare.put_small("file", CreateHow::New, b"content", false).unwrap();
    bare.disconnect();
    for way in protected() {
        let flipped = |place: fn(usize) -> usize| {
            reading(&server, way, move |mut message| {
                let at = place(message.len());
                message[at] ^= 1;
                vec![message]
            })
        };
        if way.cipher.is_some() {
            // Signature, nonce and content; a changed session id or length may be reported as such.
            for place in [|_| 4, |_| 20, |length| length - 1] as [fn(usize) -> usize; 3] {
                assert_eq!(flipped(place), Error::NotDecrypted, "{way:?}");
            }
            for place in [|_| 36, |_| 42, |_| 44] as [fn(usize) -> usize; 3] {
                let error = flipped(place);
                assert!(matches!(error, Error::NotDecrypted | Error::Malformed(_)), "{error:?}");
            }
            let cut = reading(&server, way, |message| vec![message[..60].to_vec()]);
            assert!(matches!(cut, Error::NotDecrypted | Error::Malformed(_)), "{cut:?}");
            // The same request has the same number where nothing hides it.
            let id = message_id(&server, Way { cipher: None, ..way });
            let bare = reading(&server, way, move |_| vec![bare_reply(id)]);
            assert_eq!(bare, Error::NotEncrypted, "{way:?}");
        } else {
            // Signature, status and content.
            for place in [|_| 50, |_| 8, |length| length - 1] as [fn(usize) -> usize; 3] {
                assert_eq!(flipped(place), Error::BadSignature, "{way:?}");
            }
            let unsigned = reading(&server, way, |mut message| {
                message[16] &= !8;
                vec![message]
            });
            assert!(matches!(unsigned, Error::NotSigned | Error::BadSignature), "{unsigned:?}");
            let stripped = reading(&server, way, |mut message| {
                message[16] &= !8;
                message[48..64].fill(0);
                vec![message]
            });
            assert!(matches!(stripped, Error::NotSigned | Error::BadSignature), "{stripped:?}");
        }
    }
}

#[test]
fn a_reply_played_twice_is_noticed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    for way in Way::ALL {
        let proxy = Proxy::before(server.port());
        let mut tree = tree(proxy.port, "data", &way.options());
        proxy.arm(|message| vec![message.clone(), message]);
        tree.echo().unwrap();
        let error = tree.echo().expect_err("it was taken for the next one");
        assert!(matches!(error, Error::UnknownMessage(_)), "{way:?} {error:?}");
    }
}

/// The number of the request whose reply [`reading`] changes.
fn message_id(server: &Samba, way: Way) -> u64 {
    let (tell, result) = std::sync::mpsc::channel();
    reading(server, way, move |message| {
        tell.send(u64::from_le_bytes(message[24..32].try_into().unwrap())).unwrap();
        vec![vec![0; 64]]
    });
    result.recv().unwrap()
}

/// An unprotected reply to the opening of a file: refused.
fn bare_reply(message_id: u64) -> Vec<u8> {
    let mut bytes = vec![0; 73];
    bytes[..6].copy_from_slice(b"\xfeSMB\x40\0");
    bytes[8..12].copy_from_slice(&0xC000_0022_u32.to_le_bytes());
    bytes[12] = 5;
    bytes[16] = 1;
    bytes[24..32].copy_from_slice(&message_id.to_le_bytes());
    bytes[64] = 9;
    bytes
}
