//! Signatures of messages (MS-SMB2, sections 3.1.4.1 and 3.1.5.1).

use crate::Error;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{cmac, hmac};
use std::fmt;
use std::ops::Range;

/// Length of a message's header in bytes.
const HEADER: usize = 64;
const COMMAND: Range<usize> = 12..14;
const FLAGS: usize = 16;
const MESSAGE_ID: Range<usize> = 24..32;
const SIGNATURE: Range<usize> = 48..64;
/// SMB2_FLAGS_SIGNED, in the first byte of the flags.
const SIGNED: u8 = 8;
const CANCEL: [u8; 2] = [12, 0];

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningAlgorithm {
    /// HMAC-SHA256, cut to 16 bytes: dialects 2.0.2 and 2.1.
    HmacSha256,
    /// AES-128-CMAC (RFC 4493): dialects 3.0, 3.0.2 and, unless agreed otherwise, 3.1.1.
    AesCmac,
    /// AES-128-GMAC (NIST SP 800-38D): dialect 3.1.1.
    AesGmac,
}

impl fmt::Display for SigningAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SigningAlgorithm::HmacSha256 => "HMAC-SHA256",
            SigningAlgorithm::AesCmac => "AES-128-CMAC",
            SigningAlgorithm::AesGmac => "AES-128-GMAC",
        })
    }
}

/// A key, ready for use.
enum Key {
    HmacSha256(Box<hmac::Key>),
    AesCmac(cmac::Key),
    /// GCM of nothing, with the message beside it.
    AesGmac(Box<LessSafeKey>),
}

/// Who signs. It is part of the nonce of GMAC.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Client = 0,
    Server = 1,
}

/// Signs requests and verifies replies; a server's the other way round.
pub struct Signer {
    key: Key,
    own: Role,
    others: Role,
}

impl Signer {
    /// A signer with a key of 16 bytes.
    pub fn new(algorithm: SigningAlgorithm, key: &[u8]) -> Result<Signer, Error> {
        let wrong = || Error::Malformed(format!("a signing key of {} bytes, not 16", key.len()));
        if key.len() != 16 {
            return Err(wrong());
        }
        let key = match algorithm {
            SigningAlgorithm::HmacSha256 => {
                Key::HmacSha256(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
            }
            SigningAlgorithm::AesCmac => {
                Key::AesCmac(cmac::Key::new(cmac::AES_128, key).map_err(|_| wrong())?)
            }
            SigningAlgorithm::AesGmac => {
                let key = UnboundKey::new(&AES_128_GCM, key).map_err(|_| wrong())?;
                Key::AesGmac(Box::new(LessSafeKey::new(key)))
            }
        };
        Ok(Signer { key, own: Role::Client, others: Role::Server })
    }

    /// The same for a server, which signs replies and verifies requests.
    #[must_use]
    pub fn of_server(self) -> Signer {
        Signer { own: Role::Server, others: Role::Client, ..self }
    }

    /// Signs one message, which begins with its header; in a compound it ends with its padding.
    ///
    /// # Panics
    /// If the message is shorter than a header.
    pub fn sign(&self, message: &mut [u8]) {
        message[FLAGS] |= SIGNED;
        message[SIGNATURE].fill(0);
        let signature = self.signature(message, self.own);
        message[SIGNATURE].copy_from_slice(&signature);
    }

    /// Checks the other side's signature of one message, which is the same afterwards.
    pub fn verify(&self, message: &mut [u8]) -> Result<(), Error> {
        if message.len() < HEADER {
            return Err(Error::Malformed(format!("a message of {} bytes", message.len())));
        }
        if message[FLAGS] & SIGNED == 0 {
            return Err(Error::NotSigned);
        }
        let mut claimed = [0; 16];
        claimed.copy_from_slice(&message[SIGNATURE]);
        message[SIGNATURE].fill(0);
        let signature = self.signature(message, self.others);
        message[SIGNATURE].copy_from_slice(&claimed);
        // All bytes are looked at, so that the time taken tells a forger nothing.
        let difference = signature.iter().zip(&claimed).fold(0, |all, (a, b)| all | (a ^ b));
        if std::hint::black_box(difference) == 0 { Ok(()) } else { Err(Error::BadSignature) }
    }

    /// The signature of a message whose own is zeroed.
    pub(super) fn signature(&self, message: &[u8], by: Role) -> [u8; 16] {
        let mut signature = [0; 16];
        match &self.key {
            Key::HmacSha256(key) => {
                signature.copy_from_slice(&hmac::sign(key, message).as_ref()[..16]);
            }
            Key::AesCmac(key) => {
                let tag = cmac::sign(key, message).expect("any message has a CMAC");
                signature.copy_from_slice(tag.as_ref());
            }
            Key::AesGmac(key) => {
                let nonce = Nonce::assume_unique_for_key(gmac_nonce(message, by));
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(message), &mut []);
                let tag = tag.expect("a frame is far below GCM's limit");
                signature.copy_from_slice(tag.as_ref());
            }
        }
        signature
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(***)")
    }
}

/// The message's number, who signs, and whether it is a CANCEL, which shares its number with the
/// request that it cancels.
fn gmac_nonce(message: &[u8], by: Role) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&message[MESSAGE_ID]);
    nonce[8] = by as u8 | if message[COMMAND] == CANCEL { 2 } else { 0 };
    nonce
}
