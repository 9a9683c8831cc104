//! Signatures and encryption against published vectors, against a second implementation, and
//! against changed bits.

use super::sealer::Key;
use super::signer::Role;
use super::*;
use crate::Error;
use crate::ms_smb2::crypto::encryption as theirs;
use crate::ms_smb2::crypto::signing;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

const SIGNINGS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac];
const CIPHERS: [Cipher; 4] =
    [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];

fn their_signing(algorithm: SigningAlgorithm) -> signing::SigningAlgorithm {
    match algorithm {
        SigningAlgorithm::HmacSha256 => signing::SigningAlgorithm::HmacSha256,
        SigningAlgorithm::AesCmac => signing::SigningAlgorithm::AesCmac,
        SigningAlgorithm::AesGmac => signing::SigningAlgorithm::AesGmac,
    }
}

fn their_cipher(cipher: Cipher) -> theirs::Cipher {
    match cipher {
        Cipher::Aes128Ccm => theirs::Cipher::Aes128Ccm,
        Cipher::Aes128Gcm => theirs::Cipher::Aes128Gcm,
        Cipher::Aes256Ccm => theirs::Cipher::Aes256Ccm,
        Cipher::Aes256Gcm => theirs::Cipher::Aes256Gcm,
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn message(id: u64, command: u16, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 64];
    message[..4].copy_from_slice(b"\xfeSMB");
    message[12..14].copy_from_slice(&command.to_le_bytes());
    message[24..32].copy_from_slice(&id.to_le_bytes());
    message.extend_from_slice(body);
    message
}

/// What the server would send: signed with its role.
fn sign_as_server(signer: &Signer, message: &mut [u8]) {
    message[16] |= 8;
    message[48..64].fill(0);
    let signature = signer.signature(message, Role::Server);
    message[48..64].copy_from_slice(&signature);
}

#[test]
fn cmac_agrees_with_rfc_4493() {
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    let text = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
    let signer = Signer::new(SigningAlgorithm::AesCmac, &key).unwrap();
    for (length, expected) in [
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ] {
        assert_eq!(signer.signature(&text[..length], Role::Client)[..], hex(expected));
    }
}

#[test]
fn hmac_agrees_with_rfc_4231() {
    // Test case 2: keys shorter than a block are filled with zeros.
    let mut key = b"Jefe".to_vec();
    key.resize(16, 0);
    let signer = Signer::new(SigningAlgorithm::HmacSha256, &key).unwrap();
    let signature = signer.signature(b"what do ya want for nothing?", Role::Client);
    assert_eq!(signature[..], hex("5bdcc146bf60754e6a042426089575c7"));
}

/// Test cases 4 and 16 of the GCM specification submitted to NIST.
#[test]
fn gcm_agrees_with_its_specification() {
    let key = hex("feffe9928665731c6d6a8f9467308308");
    let text = hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    let beside = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    let nonce: [u8; 12] = hex("cafebabefacedbaddecaf888").try_into().unwrap();
    for (cipher, key, expected, tag) in [
        (
            Cipher::Aes128Gcm,
            key.clone(),
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            Cipher::Aes256Gcm,
            [key.clone(), key].concat(),
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ] {
        let key = Key::new(cipher, &key).unwrap();
        let mut sealed = text.clone();
        let made = key.seal(&nonce, &beside, &mut sealed).unwrap();
        assert_eq!((&sealed[..], &made[..]), (&hex(expected)[..], &hex(tag)[..]));
        assert!(key.open(&nonce, &beside, made, &mut sealed));
        assert_eq!(sealed, text);
    }
}

/// CCM written down from RFC 3610, sections 2.2 to 2.4: slow, for nonces and tags of any length.
fn ccm(key: &[u8; 16], nonce: &[u8], beside: &[u8], text: &[u8], tag: usize) -> (Vec<u8>, Vec<u8>) {
    let cipher = Aes128::new(&(*key).into());
    let encrypt = |block: [u8; 16]| -> [u8; 16] {
        let mut block = block.into();
        cipher.encrypt_block(&mut block);
        block.into()
    };
    let numbered = |flags: usize, number: usize| {
        let mut block = [0; 16];
        block[8..].copy_from_slice(&(number as u64).to_be_bytes());
        block[0] = flags as u8;
        block[1..=nonce.len()].copy_from_slice(nonce);
        block
    };
    let width = 15 - nonce.len();
    let mut authenticated = numbered(64 + 8 * ((tag - 2) / 2) + (width - 1), text.len()).to_vec();
    for part in [&[&(beside.len() as u16).to_be_bytes(), beside].concat()[..], text] {
        authenticated.extend_from_slice(part);
        authenticated.resize(authenticated.len().next_multiple_of(16), 0);
    }
    let chained = authenticated.chunks(16).fold([0; 16], |chain: [u8; 16], block| {
        encrypt(std::array::from_fn(|i| chain[i] ^ block[i]))
    });
    let stream = |number| encrypt(numbered(width - 1, number));
    let xor = |bytes: &[u8], with: [u8; 16]| -> Vec<u8> {
        bytes.iter().zip(with).map(|(a, b)| a ^ b).collect()
    };
    let sealed = text.chunks(16).enumerate().flat_map(|(i, block)| xor(block, stream(i + 1)));
    (sealed.collect(), xor(&chained[..tag], stream(0)))
}

#[test]
fn ccm_agrees_with_rfc_3610() {
    // Packet vector 1 proves the plain implementation, and that one ours.
    let key: [u8; 16] = hex("c0c1c2c3c4c5c6c7c8c9cacbcccdcecf").try_into().unwrap();
    let packet: Vec<u8> = (0..0x1f).collect();
    let (sealed, tag) =
        ccm(&key, &hex("00000003020100a0a1a2a3a4a5"), &packet[..8], &packet[8..], 8);
    assert_eq!(sealed, hex("588c979a61c663d2f066d0c2c0f989806d5f6b61dac384"));
    assert_eq!(tag, hex("17e8d12cfdf926e0"));

    let ours = Key::new(Cipher::Aes128Ccm, &key).unwrap();
    let nonce = *b"eleven bytes";
    for length in [0, 1, 15, 16, 17, 1000] {
        let text = vec![7; length];
        let mut sealed = text.clone();
        let tag = ours.seal(&nonce, &packet, &mut sealed).unwrap();
        assert_eq!((sealed, tag.to_vec()), ccm(&key, &nonce[..11], &packet, &text, 16));
    }
}

#[test]
fn keys_of_the_wrong_length_are_refused() {
    for algorithm in SIGNINGS {
        for length in [0, 15, 17, 32] {
            assert!(Signer::new(algorithm, &vec![0; length]).is_err());
        }
    }
    for cipher in CIPHERS {
        let right = vec![0; cipher.key_length()];
        assert!(Sealer::new(cipher, &right, &right, 0).is_ok());
        for length in [0, 15, 17, 31, 33] {
            assert!(Sealer::new(cipher, &vec![0; length], &right, 0).is_err());
            assert!(Sealer::new(cipher, &right, &vec![0; length], 0).is_err());
        }
    }
}

#[test]
fn short_and_foreign_frames_are_refused() {
    let signer = Signer::new(SigningAlgorithm::AesGmac, &[1; 16]).unwrap();
    assert!(matches!(signer.verify(&mut [0; 63]), Err(Error::Malformed(_))));
    assert_eq!(signer.verify(&mut message(1, 8, &[])), Err(Error::NotSigned));
    let mut sealer = Sealer::new(Cipher::Aes128Gcm, &[1; 16], &[1; 16], 9).unwrap();
    for length in 0..TRANSFORM_HEADER {
        assert!(matches!(sealer.open(&mut vec![0xfd; length]), Err(Error::Malformed(_))));
    }
    assert_eq!(sealer.open(&mut message(1, 8, &[])), Err(Error::NotEncrypted));
    let mut frame = vec![5; TRANSFORM_HEADER + 80];
    sealer.seal(&mut frame);
    let other = Sealer::new(Cipher::Aes128Gcm, &[1; 16], &[1; 16], 10).unwrap();
    assert!(matches!(other.open(&mut frame.clone()), Err(Error::Malformed(_))));
    let cut = frame.len() - 1;
    assert!(matches!(sealer.open(&mut frame.clone()[..cut]), Err(Error::Malformed(_))));
    assert!(sealer.open(&mut frame).is_ok());
}

#[test]
fn nonces_do_not_repeat() {
    for cipher in CIPHERS {
        let key = vec![3; cipher.key_length()];
        let mut sealer = Sealer::new(cipher, &key, &key, 1).unwrap();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..2000 {
            let mut frame = [0; TRANSFORM_HEADER + 1];
            sealer.seal(&mut frame);
            assert!(seen.insert(frame[20..36].to_vec()));
        }
    }
}

#[test]
fn secrets_are_not_printed() {
    let signer = Signer::new(SigningAlgorithm::HmacSha256, &[0xab; 16]).unwrap();
    assert_eq!(format!("{signer:?}"), "Signer(***)");
    let sealer = Sealer::new(Cipher::Aes256Ccm, &[0xab; 32], &[0xab; 32], 1).unwrap();
    assert_eq!(format!("{sealer:?}"), "Sealer(AES-256-CCM, ***)");
}

proptest! {
    #[test]
    fn signatures_agree_with_a_second_implementation(
        key in any::<[u8; 16]>(),
        id in any::<u64>(),
        cancel in any::<bool>(),
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        for algorithm in SIGNINGS {
            let signer = Signer::new(algorithm, &key).unwrap();
            let mut ours = message(id, if cancel { 12 } else { 9 }, &body);
            let mut others = ours.clone();
            others[16] |= 8;
            let named = their_signing(algorithm);
            signing::sign_message(&mut others, &key, named, id, cancel).unwrap();
            signer.sign(&mut ours);
            prop_assert_eq!(&ours, &others);
            sign_as_server(&signer, &mut ours);
            prop_assert!(signing::verify_signature(&ours, &key, named, id, cancel).is_ok());
            let before = ours.clone();
            prop_assert_eq!(signer.verify(&mut ours), Ok(()));
            prop_assert_eq!(ours, before);
        }
    }

    #[test]
    fn a_changed_bit_breaks_the_signature(
        body in prop::collection::vec(any::<u8>(), 0..100),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        for algorithm in SIGNINGS {
            let signer = Signer::new(algorithm, &[4; 16]).unwrap();
            let mut changed = message(77, 8, &body);
            sign_as_server(&signer, &mut changed);
            let at = at.index(changed.len());
            changed[at] ^= 1u8 << bit;
            prop_assert!(signer.verify(&mut changed).is_err());
        }
    }

    #[test]
    fn encryption_agrees_with_a_second_implementation(
        key in any::<[u8; 32]>(),
        session in any::<u64>(),
        body in prop::collection::vec(any::<u8>(), 1..300),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        for cipher in CIPHERS {
            let (key, named) = (&key[..cipher.key_length()], their_cipher(cipher));
            let mut sealer = Sealer::new(cipher, key, key, session).unwrap();
            let mut frame = vec![0xee; TRANSFORM_HEADER];
            frame.extend_from_slice(&body);
            sealer.seal(&mut frame);
            let (header, sealed) = frame.split_at(TRANSFORM_HEADER);
            prop_assert_eq!(&theirs::decrypt_message(header, sealed, key, named).unwrap(), &body);
            let nonce = header[20..36].try_into().unwrap();
            let again = theirs::encrypt_message(&body, key, named, &nonce, session).unwrap();
            prop_assert_eq!((header, sealed), (&again.0[..], &again.1[..]));

            let mut changed = frame.clone();
            let at = at.index(changed.len());
            changed[at] ^= 1u8 << bit;
            // A nonce has less bytes than its field; the rest is authenticated all the same.
            prop_assert!(sealer.open(&mut changed).is_err());
            prop_assert_eq!(sealer.open(&mut frame).map(|m| m.to_vec()), Ok(body.clone()));
        }
    }

    #[test]
    fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let signer = Signer::new(SigningAlgorithm::AesCmac, &[4; 16]).unwrap();
        prop_assert!(signer.verify(&mut bytes).is_err());
        let sealer = Sealer::new(Cipher::Aes128Ccm, &[4; 16], &[4; 16], 1).unwrap();
        prop_assert!(sealer.open(&mut bytes).is_err());
    }
}
