//! Encryption of messages (MS-SMB2, sections 2.2.41, 3.1.4.3 and 3.2.5.1.1).

use crate::Error;
use aes::{Aes128, Aes256};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use ccm::Ccm;
use ccm::aead::array::Array;
use ccm::aead::consts::{U11, U16};
use ccm::aead::{AeadInOut, KeyInit};
use std::fmt;
use std::ops::Range;

/// Length of the header in front of an encrypted message, in bytes.
pub const TRANSFORM_HEADER: usize = 52;
const PROTOCOL: [u8; 4] = [0xfd, b'S', b'M', b'B'];
const TAG: Range<usize> = 4..20;
const NONCE: Range<usize> = 20..36;
const LENGTH: Range<usize> = 36..40;
const FLAGS: Range<usize> = 42..44;
const SESSION: Range<usize> = 44..52;
/// What is authenticated beside the message: the header from the nonce on.
const AUTHENTICATED: usize = 20;
/// The message is encrypted (in 3.0 and 3.0.2: with AES-128-CCM).
const ENCRYPTED: [u8; 2] = [1, 0];

/// How messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128-CCM (RFC 3610): dialects from 3.0 on.
    Aes128Ccm,
    /// AES-128-GCM (NIST SP 800-38D): dialect 3.1.1.
    Aes128Gcm,
    /// AES-256-CCM: dialect 3.1.1.
    Aes256Ccm,
    /// AES-256-GCM: dialect 3.1.1.
    Aes256Gcm,
}

impl Cipher {
    /// Length of its key in bytes.
    pub fn key_length(self) -> usize {
        match self {
            Cipher::Aes128Ccm | Cipher::Aes128Gcm => 16,
            Cipher::Aes256Ccm | Cipher::Aes256Gcm => 32,
        }
    }

    /// Length of its nonce in bytes.
    fn nonce_length(self) -> usize {
        match self {
            Cipher::Aes128Ccm | Cipher::Aes256Ccm => 11,
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => 12,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cipher::Aes128Ccm => "AES-128-CCM",
            Cipher::Aes128Gcm => "AES-128-GCM",
            Cipher::Aes256Ccm => "AES-256-CCM",
            Cipher::Aes256Gcm => "AES-256-GCM",
        })
    }
}

/// A key, ready for use.
pub(super) enum Key {
    Gcm(Box<LessSafeKey>),
    Aes128Ccm(Box<Ccm<Aes128, U16, U11>>),
    Aes256Ccm(Box<Ccm<Aes256, U16, U11>>),
}

impl Key {
    pub(super) fn new(cipher: Cipher, key: &[u8]) -> Result<Key, Error> {
        let wrong = || Error::Malformed(format!("a key of {} bytes for {cipher}", key.len()));
        let gcm = |algorithm| {
            let key = UnboundKey::new(algorithm, key).map_err(|_| wrong())?;
            Ok(Key::Gcm(Box::new(LessSafeKey::new(key))))
        };
        match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&AES_256_GCM),
            Cipher::Aes128Ccm => {
                Ok(Key::Aes128Ccm(Box::new(Ccm::new_from_slice(key).map_err(|_| wrong())?)))
            }
            Cipher::Aes256Ccm => {
                Ok(Key::Aes256Ccm(Box::new(Ccm::new_from_slice(key).map_err(|_| wrong())?)))
            }
        }
    }

    /// Encrypts in place; the tag.
    pub(super) fn seal(
        &self,
        nonce: &[u8; 12],
        beside: &[u8],
        message: &mut [u8],
    ) -> Option<[u8; 16]> {
        match self {
            Key::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(*nonce);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(beside), message).ok()?;
                tag.as_ref().try_into().ok()
            }
            Key::Aes128Ccm(key) => seal_ccm(&**key, nonce, beside, message),
            Key::Aes256Ccm(key) => seal_ccm(&**key, nonce, beside, message),
        }
    }

    /// Decrypts in place; whether the tag is right.
    pub(super) fn open(
        &self,
        nonce: &[u8; 12],
        beside: &[u8],
        tag: [u8; 16],
        message: &mut [u8],
    ) -> bool {
        match self {
            Key::Gcm(key) => {
                let nonce = Nonce::assume_unique_for_key(*nonce);
                key.open_in_place_separate_tag(nonce, Aad::from(beside), &tag, message).is_ok()
            }
            Key::Aes128Ccm(key) => open_ccm(&**key, nonce, beside, tag, message),
            Key::Aes256Ccm(key) => open_ccm(&**key, nonce, beside, tag, message),
        }
    }
}

/// Eleven bytes of the nonce count in CCM.
fn ccm_nonce(nonce: &[u8; 12]) -> Array<u8, U11> {
    Array::from_fn(|i| nonce[i])
}

fn seal_ccm(
    key: &impl AeadInOut<NonceSize = U11, TagSize = U16>,
    nonce: &[u8; 12],
    beside: &[u8],
    message: &mut [u8],
) -> Option<[u8; 16]> {
    let tag = key.encrypt_inout_detached(&ccm_nonce(nonce), beside, message.into()).ok()?;
    Some(tag.into())
}

fn open_ccm(
    key: &impl AeadInOut<NonceSize = U11, TagSize = U16>,
    nonce: &[u8; 12],
    beside: &[u8],
    tag: [u8; 16],
    message: &mut [u8],
) -> bool {
    let tag = tag.into();
    key.decrypt_inout_detached(&ccm_nonce(nonce), beside, message.into(), &tag).is_ok()
}

/// Encrypts requests and decrypts replies.
pub struct Sealer {
    cipher: Cipher,
    encrypt: Key,
    decrypt: Key,
    session_id: u64,
    /// The next nonce, as a number of as many bytes as the cipher's nonce has. It starts anywhere
    /// and counts on, so it does not repeat in the life of a session.
    nonce: u128,
}

impl Sealer {
    /// A sealer with the keys of both directions, from the client's point of view.
    pub fn new(
        cipher: Cipher,
        encrypt_key: &[u8],
        decrypt_key: &[u8],
        session_id: u64,
    ) -> Result<Sealer, Error> {
        let mut start = [0; 16];
        SystemRandom::new()
            .fill(&mut start)
            .map_err(|_| Error::EncryptionRefused("the system has no random numbers".into()))?;
        Ok(Sealer {
            cipher,
            encrypt: Key::new(cipher, encrypt_key)?,
            decrypt: Key::new(cipher, decrypt_key)?,
            session_id,
            nonce: u128::from_le_bytes(start),
        })
    }

    /// Encrypts a frame in place: [`TRANSFORM_HEADER`] bytes, which are filled in, and the message
    /// or the compound behind them.
    ///
    /// # Panics
    /// If the frame is shorter than the header, or longer than 4 GiB.
    pub fn seal(&mut self, frame: &mut [u8]) {
        let (header, message) = frame.split_at_mut(TRANSFORM_HEADER);
        let length = u32::try_from(message.len()).expect("a frame is shorter than 16 MiB");
        let nonce = self.next_nonce();
        header.fill(0);
        header[..4].copy_from_slice(&PROTOCOL);
        header[NONCE][..12].copy_from_slice(&nonce);
        header[LENGTH].copy_from_slice(&length.to_le_bytes());
        header[FLAGS].copy_from_slice(&ENCRYPTED);
        header[SESSION].copy_from_slice(&self.session_id.to_le_bytes());
        let tag = self.encrypt.seal(&nonce, &header[AUTHENTICATED..], message);
        header[TAG].copy_from_slice(&tag.expect("4 GiB are below each cipher's limit"));
    }

    /// Decrypts a frame in place: the message or the compound in it.
    pub fn open<'a>(&self, frame: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let claims = frame.len();
        let Some((header, message)) = frame.split_at_mut_checked(TRANSFORM_HEADER) else {
            return Err(Error::Malformed(format!("an encrypted message of {claims} bytes")));
        };
        if header[..4] != PROTOCOL {
            return Err(Error::NotEncrypted);
        }
        if header[FLAGS] != ENCRYPTED || header[LENGTH] != (message.len() as u32).to_le_bytes() {
            return Err(Error::Malformed("an encrypted message: its flags or its length".into()));
        }
        if header[SESSION] != self.session_id.to_le_bytes() {
            return Err(Error::Malformed("an encrypted message of another session".into()));
        }
        let mut nonce = [0; 12];
        nonce.copy_from_slice(&header[NONCE][..12]);
        let mut tag = [0; 16];
        tag.copy_from_slice(&header[TAG]);
        if self.decrypt.open(&nonce, &header[AUTHENTICATED..], tag, message) {
            Ok(message)
        } else {
            Err(Error::NotDecrypted)
        }
    }

    fn next_nonce(&mut self) -> [u8; 12] {
        let bytes = self.nonce.to_le_bytes();
        self.nonce = self.nonce.wrapping_add(1);
        let mut nonce = [0; 12];
        let length = self.cipher.nonce_length();
        nonce[..length].copy_from_slice(&bytes[..length]);
        nonce
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({}, ***)", self.cipher)
    }
}
