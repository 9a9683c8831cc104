//! Proving who the user is: NTLMv2 (MS-NLMP), one attempt a session.
//!
//! Tokens are sent bare, as the Linux kernel's client does by default: inside SPNEGO (RFC 4178)
//! Samba would want a signature of the list of mechanisms too, which adds nothing where there is
//! one mechanism. Challenges are taken either way.

use crate::{Credentials, Error};
use smb2::auth::{NtlmAuthenticator, NtlmCredentials, spnego};
use zeroize::Zeroizing;

const NTLM_SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// NTLMSSP_NEGOTIATE_SIGN (MS-NLMP, section 2.2.2.5), in the lowest byte of the flags.
const FLAG_SIGN: u8 = 0x10;
/// The name of the guest where the user gave none.
const GUEST: &str = "guest";

/// Who logs in.
pub(crate) enum Identity {
    /// A user, or the guest account.
    User(Box<NtlmAuthenticator>),
    /// Nobody (MS-NLMP, section 3.2.5.1.2).
    Anonymous,
}

impl Identity {
    pub fn user(credentials: &Credentials) -> Self {
        let username = match credentials.user.as_str() {
            "" => GUEST,
            user => user,
        };
        Identity::User(Box::new(NtlmAuthenticator::new(NtlmCredentials {
            username: username.to_owned(),
            password: credentials.password.reveal().to_owned(),
            domain: credentials.domain.clone(),
        })))
    }

    /// The token that begins.
    pub fn hello(&mut self) -> Vec<u8> {
        match self {
            Identity::User(ntlm) => ntlm.negotiate(),
            Identity::Anonymous => anonymous_hello(),
        }
    }

    /// The token that answers the server's challenge.
    pub fn answer(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Error> {
        let challenge = challenge_in(challenge)?;
        match self {
            Identity::User(ntlm) => Ok(ntlm.authenticate(&challenge)?),
            Identity::Anonymous => Ok(anonymous_answer()),
        }
    }

    /// What both sides know after it.
    pub fn session_key(&self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Identity::User(ntlm) => ntlm.session_key().map(|key| Zeroizing::new(key.to_vec())),
            Identity::Anonymous => None,
        }
    }
}

/// The NTLM challenge in a server's token, bare or wrapped.
pub(crate) fn challenge_in(token: &[u8]) -> Result<Vec<u8>, Error> {
    let mut challenge = if token.starts_with(NTLM_SIGNATURE) {
        token.to_vec()
    } else {
        spnego::parse_neg_token_resp(token)?
            .response_token
            .ok_or_else(|| Error::Malformed("a security token: it has no challenge".into()))?
    };
    // The offset is added to a length later on: it lies inside, or the challenge is refused here.
    let offset = challenge.get(44..48).map(|o| u32::from_le_bytes([o[0], o[1], o[2], o[3]]));
    if offset.is_some_and(|offset| offset as usize > challenge.len()) {
        return Err(Error::Malformed("an NTLM challenge: its data lies outside".into()));
    }
    // A key is exchanged where signing is agreed on too (MS-NLMP, section 3.1.5.1.2). Servers that
    // do not say so (impacket's) wait for the key all the same, and have none without it.
    if let Some(flags) = challenge.get_mut(20..24) {
        let exchanges_key = flags[3] & 0x40 != 0;
        if exchanges_key {
            flags[0] |= FLAG_SIGN;
        }
    }
    Ok(challenge)
}

/// What nobody asks for: Unicode, NTLM, extended session security, 128 and 56 bits; no signing, as
/// there is no key (MS-NLMP, section 2.2.2.5).
const ANONYMOUS_FLAGS: u32 = 0xa008_0201;
const FLAG_ANONYMOUS: u32 = 0x800;

/// NEGOTIATE_MESSAGE (MS-NLMP, section 2.2.1.1) without names.
fn anonymous_hello() -> Vec<u8> {
    let mut token = NTLM_SIGNATURE.to_vec();
    token.extend_from_slice(&1u32.to_le_bytes());
    token.extend_from_slice(&ANONYMOUS_FLAGS.to_le_bytes());
    token.resize(token.len() + 16, 0);
    token
}

/// AUTHENTICATE_MESSAGE (MS-NLMP, section 2.2.1.3): every field empty but the LM response, which
/// is one zero byte.
fn anonymous_answer() -> Vec<u8> {
    const FIXED: u32 = 72;
    let mut token = NTLM_SIGNATURE.to_vec();
    token.extend_from_slice(&3u32.to_le_bytes());
    for length in [1u16, 0, 0, 0, 0, 0] {
        token.extend_from_slice(&length.to_le_bytes());
        token.extend_from_slice(&length.to_le_bytes());
        token.extend_from_slice(&FIXED.to_le_bytes());
    }
    token.extend_from_slice(&(ANONYMOUS_FLAGS | FLAG_ANONYMOUS).to_le_bytes());
    token.resize(FIXED as usize + 1, 0);
    token
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_challenge_is_answered() {
        let mut identity = Identity::user(&Credentials::guest());
        assert!(identity.hello().starts_with(NTLM_SIGNATURE));
        assert!(identity.session_key().is_none());
        assert!(identity.answer(b"nonsense").is_err());
    }

    #[test]
    fn a_challenge_is_taken_bare_or_wrapped() {
        let mut challenge = NTLM_SIGNATURE.to_vec();
        challenge.extend_from_slice(&2u32.to_le_bytes());
        challenge.resize(48, 0);
        assert_eq!(challenge_in(&challenge).unwrap(), challenge);
        let wrapped = spnego::wrap_neg_token_resp(&challenge);
        assert_eq!(challenge_in(&wrapped).unwrap(), challenge);
        let mut identity = Identity::user(&Credentials::guest());
        identity.hello();
        identity.answer(&wrapped).unwrap();
        assert_eq!(identity.session_key().unwrap().len(), 16);
        challenge[44..48].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(challenge_in(&challenge).is_err());
    }

    #[test]
    fn nobody_has_one_byte_to_say() {
        let token = anonymous_answer();
        assert_eq!(token.len(), 73);
        assert_eq!(token[12..20], [1, 0, 1, 0, 72, 0, 0, 0]);
        assert_eq!(token[60..64], (ANONYMOUS_FLAGS | FLAG_ANONYMOUS).to_le_bytes());
    }

    proptest! {
        #[test]
        fn any_token_is_answered_or_refused(mut token in prop::collection::vec(any::<u8>(), 0..120), signed: bool) {
            if signed && token.len() >= 12 {
                token[..8].copy_from_slice(NTLM_SIGNATURE);
                token[8..12].copy_from_slice(&2u32.to_le_bytes());
            }
            let mut identity = Identity::user(&Credentials::guest());
            identity.hello();
            let _ = identity.answer(&token);
        }
    }
}
