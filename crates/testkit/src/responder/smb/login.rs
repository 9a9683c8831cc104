//! The server's side of NTLMv2 (MS-NLMP, section 3.3.2), for one user.

use super::request::{bytes, u16_at, u32_at};
use super::{USER, reply};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

/// MD4 of the password in UTF-16, which is what NTLM makes of one: of `password`.
const HASH: [u8; 16] = 0x8846_f7ea_ee8f_b117_ad06_bdd8_30b7_586c_u128.to_be_bytes();
/// Unicode, signing, NTLM, extended session security, information about the target, 128 and 56 bits; no key
/// is exchanged, so that of the session follows from the login.
const FLAGS: u32 = 0xa28a_8215;
/// Any number will do for one that is never attacked.
const NONCE: [u8; 8] = *b"plimsoll";

/// The token that a login is answered with first.
pub(super) fn challenge() -> Vec<u8> {
    reply::challenge(FLAGS, NONCE)
}

/// The key of the session, if the token (AUTHENTICATE_MESSAGE, MS-NLMP, section 2.2.1.3) shows that its
/// sender knows the password; `None` for everybody else.
pub(super) fn session_key(token: &[u8]) -> Option<[u8; 16]> {
    if bytes(token, 0, 12)? != b"NTLMSSP\0\x03\0\0\0" {
        return None;
    }
    // Length, the most that there is space for, offset.
    let field = |at| bytes(token, u32_at(token, at + 4)? as usize, usize::from(u16_at(token, at)?));
    let (response, domain, user) = (field(20)?, field(28)?, field(36)?);
    let name = super::request::text(user);
    if !name.eq_ignore_ascii_case(USER) {
        return None;
    }
    let upper: Vec<u8> = name.to_uppercase().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let key = code(&HASH, [&upper, domain]);
    let (proof, rest) = response.split_first_chunk::<16>()?;
    (code(&key, [&NONCE, rest]) == *proof).then(|| code(&key, [proof, &[]]))
}

/// HMAC-MD5 (RFC 2104).
fn code(key: &[u8; 16], parts: [&[u8]; 2]) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}
