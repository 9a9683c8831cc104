//! How a session is to be made.

use crate::guard::{Cipher, SigningAlgorithm};
use crate::ms_smb2::types::Dialect;
use std::time::Duration;

/// Whether messages are signed, or encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// Signing: whenever a user is named, for nothing else shows that the server knows the password
    /// too, and for guests never. Encryption: as the server asks.
    #[default]
    Auto,
    /// Always, or an error.
    On,
    /// Never, or an error where the server insists.
    Off,
}

/// How a session is to be made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Offered; the server takes the newest that it knows.
    pub dialects: Vec<Dialect>,
    /// Signing of every message.
    pub sign: Protection,
    /// Encryption of every message: dialects from 3.0 on.
    pub encrypt: Protection,
    /// Whether a user who is named may be taken for a guest, by a server that did not look at the
    /// password. Without a user, guests are what is asked for.
    pub guests: bool,
    /// Offered in dialect 3.1.1, best first; older dialects have one each.
    pub signing_algorithms: Vec<SigningAlgorithm>,
    /// Offered in dialect 3.1.1, best first; 3.0 and 3.0.2 have AES-128-CCM alone.
    pub ciphers: Vec<Cipher>,
    /// Longest wait for the answer to one call.
    pub call_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dialects: Dialect::ALL.to_vec(),
            sign: Protection::Auto,
            encrypt: Protection::Auto,
            guests: false,
            signing_algorithms: vec![
                SigningAlgorithm::AesGmac,
                SigningAlgorithm::AesCmac,
                SigningAlgorithm::HmacSha256,
            ],
            ciphers: vec![
                Cipher::Aes128Gcm,
                Cipher::Aes256Gcm,
                Cipher::Aes128Ccm,
                Cipher::Aes256Ccm,
            ],
            call_timeout: Duration::from_secs(30),
        }
    }
}
