//! Keys of a session, made from what its user and its server both know (MS-SMB2, section
//! 3.1.4.2).

use crate::Error;
use crate::guard::{Cipher, Sealer, Signer, SigningAlgorithm};
use crate::ms_smb2::crypto::kdf::sp800_108_kdf;
use crate::ms_smb2::types::Dialect;
use zeroize::Zeroizing;

/// Every signing key has this length, also beside ciphers with longer keys.
const SIGNING_KEY_BITS: u32 = 128;

/// A session's key and all that is mixed into what is derived from it.
pub(crate) struct Keys<'a> {
    pub dialect: Dialect,
    /// What the authentication gave both sides.
    pub session_key: &'a [u8],
    /// Hash of every message so far (3.1.1).
    pub preauth: &'a [u8; 64],
}

impl Keys<'_> {
    fn derive(&self, old: (&[u8], &[u8]), label: &[u8], bits: u32) -> Zeroizing<Vec<u8>> {
        let (label, context) = match self.dialect {
            Dialect::Smb3_1_1 => (label, &self.preauth[..]),
            _ => old,
        };
        Zeroizing::new(sp800_108_kdf(self.session_key, label, context, bits))
    }

    pub fn signer(&self, algorithm: SigningAlgorithm) -> Result<Signer, Error> {
        if self.dialect < Dialect::Smb3_0 {
            return Signer::new(algorithm, self.session_key);
        }
        let old = (&b"SMB2AESCMAC\0"[..], &b"SmbSign\0"[..]);
        Signer::new(algorithm, &self.derive(old, b"SMBSigningKey\0", SIGNING_KEY_BITS))
    }

    /// For dialects from 3.0 on.
    pub fn sealer(&self, cipher: Cipher, session_id: u64) -> Result<Sealer, Error> {
        let bits = cipher.key_length() as u32 * 8;
        let old = (&b"SMB2AESCCM\0"[..], &b"ServerIn \0"[..]);
        let encrypt = self.derive(old, b"SMBC2SCipherKey\0", bits);
        let old = (&b"SMB2AESCCM\0"[..], &b"ServerOut\0"[..]);
        let decrypt = self.derive(old, b"SMBS2CCipherKey\0", bits);
        Sealer::new(cipher, &encrypt, &decrypt, session_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(dialect: Dialect, preauth: &[u8; 64]) -> Keys<'_> {
        Keys { dialect, session_key: &[7; 16], preauth }
    }

    fn signature(signer: &Signer) -> Vec<u8> {
        let mut message = vec![0; 80];
        signer.sign(&mut message);
        message[48..64].to_vec()
    }

    #[test]
    fn old_dialects_sign_with_the_session_key_itself() {
        let (one, other) = ([1; 64], [2; 64]);
        let algorithm = SigningAlgorithm::HmacSha256;
        let direct = signature(&Signer::new(algorithm, &[7; 16]).unwrap());
        for preauth in [&one, &other] {
            let signer = keys(Dialect::Smb2_1, preauth).signer(algorithm).unwrap();
            assert_eq!(signature(&signer), direct);
        }
    }

    #[test]
    fn what_was_said_before_is_in_the_keys_of_the_newest_dialect_alone() {
        let (one, other) = ([1; 64], [2; 64]);
        let sign = |dialect, preauth| {
            signature(&keys(dialect, preauth).signer(SigningAlgorithm::AesCmac).unwrap())
        };
        assert_eq!(sign(Dialect::Smb3_0, &one), sign(Dialect::Smb3_0_2, &other));
        assert_ne!(sign(Dialect::Smb3_1_1, &one), sign(Dialect::Smb3_1_1, &other));
    }

    #[test]
    fn ciphers_get_keys_of_their_length_and_both_directions_their_own() {
        let preauth = [1; 64];
        let keys = keys(Dialect::Smb3_1_1, &preauth);
        for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm] {
            let mut client = keys.sealer(cipher, 5).unwrap();
            let mut frame = vec![0; 52 + 64];
            client.seal(&mut frame);
            // What the client encrypts, only the server's key opens.
            assert_eq!(client.open(&mut frame), Err(Error::NotDecrypted), "{cipher}");
        }
    }
}
