//! Proving who the user is: NTLMv2 (MS-NLMP), one attempt a session.
//!
//! Tokens are sent bare, as the Linux kernel's client does by default: inside SPNEGO (RFC 4178)
//! Samba would want a signature of the list of mechanisms too, which adds nothing where there is
//! one mechanism. Challenges are taken either way.

use crate::ms_smb2::auth::{NtlmAuthenticator, NtlmCredentials, spnego};
use crate::{Credentials, Error};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use std::ops::Range;
use zeroize::Zeroizing;

const NTLM_SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// NTLMSSP_NEGOTIATE_SIGN (MS-NLMP, section 2.2.2.5), in the lowest byte of the flags.
const FLAG_SIGN: u8 = 0x10;
/// NTLMSSP_NEGOTIATE_VERSION, in the highest byte of the flags.
const FLAG_VERSION: u8 = 0x02;
/// VERSION (MS-NLMP, section 2.2.2.10): that of Windows 7, which others than Windows send too, and
/// revision 15 of NTLM.
const VERSION: [u8; 8] = [6, 1, 0xb1, 0x1d, 0, 0, 0, 15];
/// Where an AUTHENTICATE_MESSAGE (MS-NLMP, section 2.2.1.3) says where its first payload lies.
const PAYLOAD_AT: Range<usize> = 32..36;
const AUTHENTICATE_VERSION: Range<usize> = 64..72;
/// Of the three messages, with the session's key.
const AUTHENTICATE_CODE: Range<usize> = 72..88;
/// The name of the guest where the user gave none.
const GUEST: &str = "guest";

/// Who logs in.
pub(crate) enum Identity {
    /// A user, or the guest account, and what was negotiated first.
    User(Box<NtlmAuthenticator>, Vec<u8>),
    /// Nobody (MS-NLMP, section 3.2.5.1.2).
    Anonymous,
}

impl Identity {
    pub fn user(credentials: &Credentials) -> Self {
        let username = match credentials.user.as_str() {
            "" => GUEST,
            user => user,
        };
        let ntlm = NtlmAuthenticator::new(NtlmCredentials {
            username: username.to_owned(),
            password: credentials.password.reveal().to_owned(),
            domain: credentials.domain.clone(),
        });
        Identity::User(Box::new(ntlm), Vec::new())
    }

    /// The token that begins.
    pub fn hello(&mut self) -> Vec<u8> {
        match self {
            Identity::User(ntlm, hello) => {
                *hello = ntlm.negotiate();
                if let Some(flags) = hello.get_mut(12..16) {
                    flags[3] |= FLAG_VERSION;
                }
                hello.extend_from_slice(&VERSION);
                hello.clone()
            }
            Identity::Anonymous => anonymous_hello(),
        }
    }

    /// The token that answers the server's challenge.
    pub fn answer(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Error> {
        let challenge = challenge_in(challenge)?;
        match self {
            Identity::User(ntlm, hello) => {
                let mut answer = ntlm.authenticate(&with_signing(&challenge))?;
                let key = ntlm.session_key().unwrap_or_default();
                say_version(&mut answer, [hello, &challenge], key);
                Ok(answer)
            }
            Identity::Anonymous => Ok(anonymous_answer()),
        }
    }

    /// What both sides know after it.
    pub fn session_key(&self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Identity::User(ntlm, _) => ntlm.session_key().map(|key| Zeroizing::new(key.to_vec())),
            Identity::Anonymous => None,
        }
    }
}

/// The NTLM challenge in a server's token, bare or wrapped.
pub(crate) fn challenge_in(token: &[u8]) -> Result<Vec<u8>, Error> {
    let challenge = if token.starts_with(NTLM_SIGNATURE) {
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
    Ok(challenge)
}

/// A key is exchanged where signing is agreed on too (MS-NLMP, section 3.1.5.1.2). Servers that do
/// not say so (impacket's) wait for the key all the same, and have none without it.
fn with_signing(challenge: &[u8]) -> Vec<u8> {
    let mut challenge = challenge.to_vec();
    if let Some(flags) = challenge.get_mut(20..24) {
        let exchanges_key = flags[3] & 0x40 != 0;
        if exchanges_key {
            flags[0] |= FLAG_SIGN;
        }
    }
    challenge
}

/// Puts the version into an AUTHENTICATE_MESSAGE, whatever the challenge said of it, and the code
/// of all three messages, where there is one, behind it. Without the flag some servers take the
/// version's eight bytes for absent and look for the code where they would be; with it there is
/// but one place.
fn say_version(answer: &mut [u8], before: [&[u8]; 2], key: &[u8]) {
    let payload = answer.get(PAYLOAD_AT).map(|at| u32::from_le_bytes([at[0], at[1], at[2], at[3]]));
    let Some(fixed) = answer.get_mut(..AUTHENTICATE_VERSION.end) else { return };
    fixed[63] |= FLAG_VERSION;
    fixed[AUTHENTICATE_VERSION].copy_from_slice(&VERSION);
    if payload.is_some_and(|at| at as usize >= AUTHENTICATE_CODE.end) {
        answer[AUTHENTICATE_CODE].fill(0);
        let code = message_code(key, [before[0], before[1], answer]);
        answer[AUTHENTICATE_CODE].copy_from_slice(&code);
    }
}

/// HMAC-MD5 of the three messages of a login (MS-NLMP, section 3.1.5.1.2).
fn message_code(key: &[u8], messages: [&[u8]; 3]) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("HMAC takes keys of any length");
    messages.iter().for_each(|message| mac.update(message));
    mac.finalize().into_bytes().into()
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

    /// A CHALLENGE_MESSAGE (MS-NLMP, section 2.2.1.2) with a timestamp, which asks for a code.
    fn challenge(flags: u32) -> Vec<u8> {
        let information = [&[7, 0, 8, 0][..], &[0x44; 8], &[0; 4]].concat();
        [
            &NTLM_SIGNATURE[..],
            &2u32.to_le_bytes(),
            &[0, 0, 0, 0, 56, 0, 0, 0],
            &flags.to_le_bytes(),
            &[9; 8],
            &[0; 8],
            &[16, 0, 16, 0, 56, 0, 0, 0],
            &[0; 8],
            &information,
        ]
        .concat()
    }

    /// The code lies behind the version by every reading: of those who go by the flag, and of those
    /// who go by MS-NLMP, section 2.2.1.3, alone. `macos-fuse-t/go-smb2` goes by the flag.
    #[test]
    fn messages_say_the_version_and_the_code_lies_behind_it() {
        const BASE: u32 = 0xe088_8235;
        for (flags, said) in
            [(BASE, "without"), (BASE | 0x0200_0000, "with"), (BASE & !0x10, "without signing")]
        {
            let user =
                Credentials { user: "User".into(), domain: "Dom".into(), password: "P".into() };
            let mut identity = Identity::user(&user);
            let hello = identity.hello();
            let mut expected = b"NTLMSSP\0\x01\0\0\0\x35\x82\x88\xe2".to_vec();
            expected.extend([0; 16]);
            expected.extend([6, 1, 0xb1, 0x1d, 0, 0, 0, 15]);
            assert_eq!(hello, expected);

            let challenge = challenge(flags);
            let answer = identity.answer(&challenge).unwrap();
            let key = identity.session_key().unwrap();
            // LM 24 bytes of zero, NT 16 + 28 of it, the information with its flags and an end.
            let nt = 16 + 28 + 12 + 8 + 4 + 4;
            let field = |length: u16, at: u32| {
                let length = length.to_le_bytes();
                [&length[..], &length, &at.to_le_bytes()].concat()
            };
            let after_names = 88 + 6 + 8;
            let fixed = [
                b"NTLMSSP\0\x03\0\0\0".to_vec(),
                field(24, after_names),
                field(nt, after_names + 24),
                field(6, 88),
                field(8, 94),
                field(0, after_names),
                field(16, after_names + 24 + u32::from(nt)),
                (flags | 0x0200_0010).to_le_bytes().to_vec(),
                vec![6, 1, 0xb1, 0x1d, 0, 0, 0, 15],
            ]
            .concat();
            assert_eq!(answer[..72], fixed, "{said}");
            assert_eq!(answer[88..102], *b"D\0o\0m\0U\0s\0e\0r\0", "{said}");
            assert_eq!(answer.len(), 102 + 24 + usize::from(nt) + 16, "{said}");
            // The challenge as it was sent, not as it was understood.
            let mut blank = answer.clone();
            blank[72..88].fill(0);
            let code = message_code(&key, [&hello, &challenge, &blank]);
            assert_eq!(answer[72..88], code, "{said}");
        }
    }

    #[test]
    fn without_a_timestamp_there_is_no_code_and_nothing_is_written_over_the_names() {
        let mut challenge = challenge(0xe088_8235);
        challenge[40..44].fill(0);
        let mut identity = Identity::user(&Credentials::guest());
        identity.hello();
        let answer = identity.answer(&challenge).unwrap();
        assert_eq!(answer[32..36], [72, 0, 0, 0]);
        assert_eq!(answer[64..82], *b"\x06\x01\xb1\x1d\0\0\0\x0fg\0u\0e\0s\0t\0");
    }

    #[test]
    fn codes_agree_with_rfc_2202() {
        let code = message_code(b"Jefe", [b"what do ya ", b"want for ", b"nothing?"]);
        let expected = 0x750c_783e_6ab0_b503_eaa8_6e31_0a5d_b738_u128.to_be_bytes();
        assert_eq!(code, expected);
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
