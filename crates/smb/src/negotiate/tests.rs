//! What servers may answer, and what is offered to them.

use super::*;
use crate::message::tests::reply;
use proptest::prelude::*;

const LARGE: u32 = Capabilities::LARGE_MTU | Capabilities::ENCRYPTION;

fn context(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(data.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// What a server says: 16 MiB for listings, 1 MiB reads, 64 KiB writes.
fn said(revision: u16, capabilities: u32, contexts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![65, 0, 1, 0];
    body.extend_from_slice(&revision.to_le_bytes());
    body.extend_from_slice(&(contexts.len() as u16).to_le_bytes());
    body.extend_from_slice(&[8; 16]);
    for number in [capabilities, 16 << 20, 1 << 20, 64 << 10] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    body.extend_from_slice(&[0; 16]);
    body.extend_from_slice(&[128, 0, 0, 0, 128, 0, 0, 0]);
    body.extend(contexts.concat());
    reply(Command::Negotiate, 0, 0, &body)
}

fn hash() -> Vec<u8> {
    context(CONTEXT_PREAUTH, &[1, 0, 2, 0, 1, 0, 9, 9])
}

#[test]
fn old_dialects_have_one_algorithm_each() {
    let old = parse(&said(0x0202, LARGE, &[])).unwrap();
    assert_eq!((old.dialect, old.signing), (Dialect::Smb2_0_2, SigningAlgorithm::HmacSha256));
    assert_eq!((old.transact_most, old.read_most, old.write_most), (65536, 65536, 65536));
    assert!(!old.large_transfers() && old.cipher.is_none() && !old.requires_signing());
    let newer = parse(&said(0x0210, LARGE, &[])).unwrap();
    assert_eq!((newer.transact_most, newer.read_most), (MOST_PAYLOAD, 1 << 20));
    assert!(newer.large_transfers() && newer.cipher.is_none());
    let three = parse(&said(0x0302, LARGE, &[])).unwrap();
    assert_eq!(three.signing, SigningAlgorithm::AesCmac);
    assert_eq!(three.cipher, Some(Cipher::Aes128Ccm));
    assert_eq!(parse(&said(0x0300, 0, &[])).unwrap().cipher, None);
}

#[test]
fn contexts_decide_in_the_newest_dialect() {
    let contexts = [
        hash(),
        context(CONTEXT_CIPHERS, &[1, 0, 4, 0]),
        context(0x77, &[1, 2, 3]),
        context(CONTEXT_SIGNING, &[1, 0, 2, 0]),
    ];
    let new = parse(&said(0x0311, LARGE, &contexts)).unwrap();
    assert_eq!(new.cipher, Some(Cipher::Aes256Gcm));
    assert_eq!(new.signing, SigningAlgorithm::AesGmac);
    let plain = parse(&said(0x0311, LARGE, &[hash()])).unwrap();
    assert_eq!((plain.cipher, plain.signing), (None, SigningAlgorithm::AesCmac));
    let none = [hash(), context(CONTEXT_CIPHERS, &[1, 0, 0, 0])];
    assert_eq!(parse(&said(0x0311, LARGE, &none)).unwrap().cipher, None);
}

#[test]
fn broken_contexts_are_refused() {
    for contexts in [
        vec![],
        vec![context(CONTEXT_PREAUTH, &[2, 0, 0, 0, 1, 0, 2, 0])],
        vec![context(CONTEXT_PREAUTH, &[1, 0, 0, 0, 2, 0])],
        vec![hash(), context(CONTEXT_CIPHERS, &[2, 0, 1, 0, 2, 0])],
        vec![hash(), context(CONTEXT_CIPHERS, &[1, 0, 9, 0])],
        vec![hash(), context(CONTEXT_SIGNING, &[1, 0, 9, 0])],
        vec![hash(), context(CONTEXT_SIGNING, &[1])],
    ] {
        assert!(parse(&said(0x0311, LARGE, &contexts)).is_err(), "{contexts:?}");
    }
    let mut far = said(0x0311, LARGE, &[hash()]);
    far[124..128].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(parse(&far).is_err());
    assert!(parse(&said(0x02ff, LARGE, &[])).is_err());
}

#[test]
fn a_server_chooses_among_what_is_offered_and_insists_on_nothing_ruled_out() {
    let options = Options { dialects: vec![Dialect::Smb3_1_1], ..Options::default() };
    let offer = Offer::new(&options).unwrap();
    let contexts = [hash(), context(CONTEXT_CIPHERS, &[1, 0, 1, 0])];
    let answer = parse(&said(0x0311, LARGE, &contexts)).unwrap();
    assert_eq!(check(&answer, &offer, &options), Ok(()));
    let older = parse(&said(0x0302, LARGE, &[])).unwrap();
    let offered = vec![Dialect::Smb3_1_1];
    assert_eq!(check(&older, &offer, &options), Err(Error::DialectRefused { offered }));
    let gcm = Options { ciphers: vec![Cipher::Aes128Gcm], ..options.clone() };
    assert!(matches!(check(&answer, &offer, &gcm), Err(Error::Malformed(_))));
    let off = Options { encrypt: Protection::Off, ..options.clone() };
    assert!(matches!(check(&answer, &offer, &off), Err(Error::Malformed(_))));
    let on = Options { encrypt: Protection::On, ..options.clone() };
    assert_eq!(check(&answer, &offer, &on), Ok(()));
    let plain = parse(&said(0x0311, LARGE, &[hash()])).unwrap();
    assert!(matches!(check(&plain, &offer, &on), Err(Error::EncryptionRefused(_))));
    let unsigned = Options { sign: Protection::Off, ..options };
    let insists = Negotiated { security_mode: 3, ..answer };
    assert_eq!(check(&insists, &offer, &unsigned), Err(Error::SigningRequired));
}

#[test]
fn what_is_ruled_out_is_not_offered() {
    let offer = |options: &Options| {
        let offer = Offer::new(options).unwrap();
        (offer.security_mode, offer.capabilities, offer.contexts(options).unwrap().len())
    };
    let all = Options::default();
    assert_eq!(offer(&all), (1, LARGE, 3));
    let off = Options { encrypt: Protection::Off, sign: Protection::On, ..all.clone() };
    assert_eq!(offer(&off), (2, Capabilities::LARGE_MTU, 2));
    let old = Options { dialects: vec![Dialect::Smb2_1, Dialect::Smb2_0_2], ..all.clone() };
    assert_eq!(offer(&old), (1, 0, 0));
    assert_eq!(Offer::new(&old).unwrap().dialects, [Dialect::Smb2_0_2, Dialect::Smb2_1]);
    assert!(Offer::new(&Options { dialects: Vec::new(), ..all }).is_err());
}

proptest! {
    #[test]
    fn any_reply_is_read_or_refused(cut in 100usize..200, flips in prop::collection::vec((64usize..200, any::<u8>()), 0..6)) {
        let contexts = [hash(), context(CONTEXT_CIPHERS, &[1, 0, 4, 0])];
        let mut message = said(0x0311, LARGE, &contexts);
        for (at, value) in flips {
            if let Some(byte) = message.get_mut(at) {
                *byte = value;
            }
        }
        message.truncate(cut);
        if let Ok(negotiated) = parse(&message) {
            prop_assert!(negotiated.read_most <= MOST_PAYLOAD);
        }
    }
}
