//! What protects messages: signatures and encryption.

use crate::Error;
use crate::NtStatus;
use crate::message::ReplyHeader;

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

    /// Whether a reply that came in the clear may be believed (MS-SMB2, section 3.2.5.1.3); of those
    /// that [`Guard::lacks_signature`], only what [`ReplyHeader::unsigned_interim`] says.
    pub(crate) fn verify(&self, message: &mut [u8], header: &ReplyHeader) -> Result<(), Error> {
        if self.seal {
            return Err(unprotected(Error::NotEncrypted, header));
        }
        // Where nothing is to be signed, a signature could be left out as well, so it proves
        // nothing.
        match self.signing() {
            Some(signer) if !self.lacks_signature(header) => {
                signer.verify(message).map_err(|error| unprotected(error, header))
            }
            _ => Ok(()),
        }
    }

    /// Whether it is an interim reply that nothing authenticates on a session that is signed.
    pub(crate) fn lacks_signature(&self, header: &ReplyHeader) -> bool {
        header.is_interim() && !header.is_signed() && self.signing().is_some()
    }
}

/// What is wrong with a reply that lacks its protection. A server that has ended the session has no keys for it and says so
/// without them (MS-SMB2, section 3.3.5.2.9). Whoever is on the way can say that, too, and could as well close the
/// connection: it ends all the same.
pub(crate) fn unprotected(lacks: Error, header: &ReplyHeader) -> Error {
    match lacks {
        Error::NotSigned | Error::NotEncrypted
            if header.status == NtStatus::USER_SESSION_DELETED =>
        {
            Error::SessionEnded
        }
        lacks => lacks,
    }
}
