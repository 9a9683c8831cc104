//! Call and reply messages (RFC 5531, section 9).

use super::auth::{Credential, LONGEST_BODY};
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};
use std::hash::{BuildHasher, RandomState};

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;

/// Length of the record mark before each fragment, in bytes.
pub const MARK_BYTES: usize = 4;
/// The bit of a record mark that ends the record; the others are the fragment's length.
pub(super) const LAST_FRAGMENT: u32 = 0x8000_0000;

/// An RPC program and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Number.
    pub number: u32,
    /// Version.
    pub version: u32,
}

/// What stands in a call before its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallHeader {
    /// Transaction, repeated in the reply.
    pub xid: u32,
    /// Program called.
    pub program: Program,
    /// Procedure called.
    pub procedure: u32,
    /// Who calls.
    pub credential: Credential,
}

impl Encode for CallHeader {
    fn encode(&self, to: &mut Encoder<'_>) {
        for word in [self.xid, CALL, RPC_VERSION, self.program.number, self.program.version] {
            to.u32(word);
        }
        to.u32(self.procedure);
        to.value(&self.credential);
        to.value(&Credential::None);
    }
}

impl Decode<'_> for CallHeader {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let xid = from.u32()?;
        for (what, expected) in [("call", CALL), ("version of RPC", RPC_VERSION)] {
            match from.u32()? {
                value if value == expected => {}
                value => return Err(Error::Unknown { what, value }),
            }
        }
        let program = Program { number: from.u32()?, version: from.u32()? };
        let procedure = from.u32()?;
        let credential = from.value()?;
        from.value::<Credential>()?;
        Ok(CallHeader { xid, program, procedure, credential })
    }
}

/// Why the RPC layer refused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// MSG_DENIED, RPC_MISMATCH.
    #[error("the server speaks RPC versions {low} to {high}, not 2 (RPC_MISMATCH)")]
    RpcMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// MSG_DENIED, AUTH_ERROR.
    #[error("{0}")]
    Auth(AuthError),
    /// MSG_ACCEPTED with an error.
    #[error("{0}")]
    Accepted(AcceptError),
}

/// Why a credential was refused (auth_stat).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// AUTH_BADCRED.
    #[error("the server cannot read the credential (AUTH_BADCRED)")]
    BadCredential,
    /// AUTH_REJECTEDCRED.
    #[error("the server wants a new session (AUTH_REJECTEDCRED)")]
    RejectedCredential,
    /// AUTH_BADVERF.
    #[error("the server cannot read the verifier (AUTH_BADVERF)")]
    BadVerifier,
    /// AUTH_REJECTEDVERF.
    #[error("the verifier has expired (AUTH_REJECTEDVERF)")]
    RejectedVerifier,
    /// AUTH_TOOWEAK: also what some servers answer to callers from unprivileged ports.
    #[error("the server does not accept this caller (AUTH_TOOWEAK)")]
    TooWeak,
    /// Any other auth_stat.
    #[error("the credential was refused (auth_stat {0})")]
    Other(u32),
}

/// Why an accepted call was not carried out (accept_stat).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// PROG_UNAVAIL.
    #[error("the server does not have this program (PROG_UNAVAIL)")]
    ProgramUnavailable,
    /// PROG_MISMATCH.
    #[error("the server has versions {low} to {high} of this program (PROG_MISMATCH)")]
    ProgramMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// PROC_UNAVAIL.
    #[error("the server does not have this procedure (PROC_UNAVAIL)")]
    ProcedureUnavailable,
    /// GARBAGE_ARGS.
    #[error("the server cannot read the arguments (GARBAGE_ARGS)")]
    GarbageArguments,
    /// SYSTEM_ERR.
    #[error("the server failed by itself (SYSTEM_ERR)")]
    System,
}

/// Opens a reply: its transaction, and its results or why there are none. An `Err` outside means
/// the bytes are not a reply at all.
#[inline]
pub fn open_reply(record: &[u8]) -> Result<(u32, Result<Decoder<'_>, Rejection>), Error> {
    let mut from = Decoder::new(record);
    let xid = from.u32()?;
    match from.u32()? {
        REPLY => {}
        value => return Err(Error::Unknown { what: "reply", value }),
    }
    let outcome = match from.u32()? {
        0 => accepted(&mut from)?,
        1 => Err(denied(&mut from)?),
        value => return Err(Error::Unknown { what: "reply_stat", value }),
    };
    Ok((xid, outcome.map(|()| from)))
}

fn accepted(from: &mut Decoder<'_>) -> Result<Result<(), Rejection>, Error> {
    from.u32()?; // flavor of the verifier: nothing here depends on it
    from.opaque(LONGEST_BODY)?;
    let error = match from.u32()? {
        0 => return Ok(Ok(())),
        1 => AcceptError::ProgramUnavailable,
        2 => AcceptError::ProgramMismatch { low: from.u32()?, high: from.u32()? },
        3 => AcceptError::ProcedureUnavailable,
        4 => AcceptError::GarbageArguments,
        5 => AcceptError::System,
        value => return Err(Error::Unknown { what: "accept_stat", value }),
    };
    Ok(Err(Rejection::Accepted(error)))
}

fn denied(from: &mut Decoder<'_>) -> Result<Rejection, Error> {
    match from.u32()? {
        0 => Ok(Rejection::RpcMismatch { low: from.u32()?, high: from.u32()? }),
        1 => Ok(Rejection::Auth(match from.u32()? {
            1 => AuthError::BadCredential,
            2 => AuthError::RejectedCredential,
            3 => AuthError::BadVerifier,
            4 => AuthError::RejectedVerifier,
            5 => AuthError::TooWeak,
            other => AuthError::Other(other),
        })),
        value => Err(Error::Unknown { what: "reject_stat", value }),
    }
}

/// Appends the record mark, still empty, and the header of a call whose credential is encoded
/// already; returns where the call begins, for [`finish_call`].
pub fn begin_call(
    bytes: &mut Vec<u8>,
    xid: u32,
    program: Program,
    procedure: u32,
    credential_and_verifier: &[u8],
) -> usize {
    let at = bytes.len();
    let words = [0, xid, CALL, RPC_VERSION, program.number, program.version, procedure];
    bytes.extend_from_slice(words.map(u32::to_be_bytes).as_flattened());
    bytes.extend_from_slice(credential_and_verifier);
    at
}

/// Fills in the record mark of the call that began at `at` and that `further` bytes, not in the
/// buffer, will follow. One fragment; false if the call is too long for one.
#[must_use]
pub fn finish_call(bytes: &mut [u8], at: usize, further: usize) -> bool {
    let length = bytes.len() + further - at - MARK_BYTES;
    match u32::try_from(length) {
        Ok(length) if length < LAST_FRAGMENT => {
            bytes[at..at + MARK_BYTES].copy_from_slice(&(length | LAST_FRAGMENT).to_be_bytes());
            true
        }
        _ => false,
    }
}

/// A transaction number to start from. Random, so that a server's duplicate request cache never
/// takes a new connection's calls for repetitions of an old one's.
pub fn random_xid() -> u32 {
    // The standard library seeds each of these from the system; no further crate is needed.
    RandomState::new().hash_one(0u8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::AuthSys;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_be_bytes()).collect()
    }

    #[test]
    fn every_refusal_has_its_name() {
        let cases: [(&[u32], &str); 9] = [
            (&[0, 0, 0, 1], "PROG_UNAVAIL"),
            (&[0, 0, 0, 2, 4, 4], "versions 4 to 4"),
            (&[0, 0, 0, 3], "PROC_UNAVAIL"),
            (&[0, 0, 0, 4], "GARBAGE_ARGS"),
            (&[0, 0, 0, 5], "SYSTEM_ERR"),
            (&[1, 0, 3, 4], "RPC_MISMATCH"),
            (&[1, 1, 1], "AUTH_BADCRED"),
            (&[1, 1, 5], "AUTH_TOOWEAK"),
            (&[1, 1, 13], "auth_stat 13"),
        ];
        for (tail, name) in cases {
            let bytes = words(&[&[9, 1], tail].concat());
            let (xid, outcome) = open_reply(&bytes).unwrap();
            assert_eq!(xid, 9);
            assert!(outcome.unwrap_err().to_string().contains(name), "{name}");
            for cut in 0..bytes.len() {
                assert!(open_reply(&bytes[..cut]).is_err(), "{name} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_reply_hands_out_its_results() {
        let mut bytes = words(&[7, 1, 0, 1, 4, 0xaaaa_aaaa, 0]);
        bytes.extend(words(&[42]));
        let (xid, outcome) = open_reply(&bytes).unwrap();
        assert_eq!((xid, outcome.unwrap().u32()), (7, Ok(42)));
        assert!(open_reply(&words(&[7, 0, 0, 0, 0, 0])).is_err(), "a call is not a reply");
        assert!(open_reply(&words(&[7, 1, 2])).is_err());
        assert!(open_reply(&words(&[7, 1, 0, 0, 401])).is_err(), "a verifier too long");
    }

    #[test]
    fn the_mark_counts_what_follows() {
        let mut bytes = vec![1, 2, 3];
        let program = Program { number: 100_003, version: 3 };
        let at = begin_call(&mut bytes, 5, program, 0, &encode_all(&Credential::None));
        assert!(finish_call(&mut bytes, at, 100));
        let mark = u32::from_be_bytes(bytes[3..7].try_into().unwrap());
        assert_eq!(mark, 0x8000_0000 | (bytes.len() - 7 + 100) as u32);
        assert!(!finish_call(&mut bytes, at, 0x8000_0000));
    }

    proptest! {
        #[test]
        fn calls_read_back(xid: u32, number: u32, version: u32, procedure: u32, uid: u32) {
            let credential = Credential::Sys(AuthSys::new("host", uid, 1, &[2]));
            let program = Program { number, version };
            let header = CallHeader { xid, program, procedure, credential };
            let bytes = encode_all(&header);
            prop_assert_eq!(decode_all::<CallHeader>(&bytes), Ok(header.clone()));
            let mut tail = encode_all(&header.credential);
            tail.extend(encode_all(&Credential::None));
            let mut fast = Vec::new();
            begin_call(&mut fast, xid, program, procedure, &tail);
            prop_assert_eq!(&fast[MARK_BYTES..], &bytes[..]);
        }

        #[test]
        fn any_bytes_are_opened_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = open_reply(&bytes);
            let _ = decode_all::<CallHeader>(&bytes);
        }
    }
}
