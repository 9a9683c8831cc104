//! What protects messages: signatures and encryption.

mod sealer;
mod signer;

#[cfg(test)]
mod tests;

pub use sealer::{Cipher, Sealer, TRANSFORM_HEADER};
pub use signer::{Signer, SigningAlgorithm};

/// What protects the messages of a session. Replies must be protected whenever requests are.
#[derive(Default)]
pub struct Guard {
    /// Signs, once there is a key.
    pub signer: Option<Signer>,
    /// Encrypts, once there are keys.
    pub sealer: Option<Sealer>,
    /// Whether requests from now on are signed. An encrypted message needs no signature.
    pub sign: bool,
    /// Whether requests from now on are encrypted.
    pub seal: bool,
}

impl Guard {
    /// The encryption in use, if requests are to be encrypted.
    pub fn sealing(&mut self) -> Option<&mut Sealer> {
        if self.seal { self.sealer.as_mut() } else { None }
    }

    /// The signatures in use, if requests are to be signed and not encrypted.
    pub fn signing(&self) -> Option<&Signer> {
        if self.sign && !self.seal { self.signer.as_ref() } else { None }
    }
}
