//! Everything that can go wrong between this client and a server.

use crate::ms_smb2::types::{Command, Dialect};

pub use crate::ms_smb2::types::status::NtStatus;

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The connection could not be made, or broke.
    #[error(transparent)]
    Tcp(#[from] plimsoll_transport::Error),
    /// A message that breaks its format.
    #[error("a malformed message: {0}")]
    Malformed(String),
    /// A frame longer than any that was asked for.
    #[error("a frame of {length} bytes, more than the limit of {limit}")]
    TooLong {
        /// Length claimed.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// A reply whose signature is wrong: changed on its way, or not by the server.
    #[error("the signature of a reply is wrong")]
    BadSignature,
    /// A reply that should be signed and is not.
    #[error("a reply is not signed although it must be")]
    NotSigned,
    /// A reply that does not decrypt.
    #[error("a reply cannot be decrypted")]
    NotDecrypted,
    /// A reply that should be encrypted and is not.
    #[error("a reply is not encrypted although it must be")]
    NotEncrypted,
    /// The server has ended the session. It has no keys for it any more, and says so without protection.
    #[error("the server has ended the session (STATUS_USER_SESSION_DELETED)")]
    SessionEnded,
    /// A reply to a request that is not under way.
    #[error("a reply to an unknown request (message {0})")]
    UnknownMessage(u64),
    /// The server grants no credits: nothing more may be sent.
    #[error("the server grants no more credits, so nothing can be sent")]
    NoCredits,
    /// The server speaks none of the dialects offered.
    #[error("the server speaks none of the dialects offered ({})", dialects(.offered))]
    DialectRefused {
        /// What was offered.
        offered: Vec<Dialect>,
    },
    /// Dialect 3.1.1 without what belongs to it (MS-SMB2, section 2.2.4.1): a server's error.
    #[error(
        "the server chose dialect 3.1.1 without the required negotiate context for pre-authentication integrity"
    )]
    NoContexts,
    /// Encryption was asked for and cannot be had.
    #[error("encryption was requested, but {0}")]
    EncryptionRefused(String),
    /// The server or the share insists on encryption, and it was ruled out.
    #[error("{0} requires encryption, but encrypt=off forbids it")]
    EncryptionRequired(String),
    /// Access is denied where no encryption was agreed on, and servers that insist on it say no
    /// more than that.
    #[error(
        "access is denied: the user has no access, or the server requires encryption, which {0}"
    )]
    RefusedUnencrypted(&'static str),
    /// Signing was asked for and cannot be had.
    #[error("signing was requested, but {0}")]
    SigningRefused(String),
    /// The server insists on signing, and it was ruled out.
    #[error("the server requires signing, but sign=off forbids it")]
    SigningRequired,
    /// The server took the user for a guest, and guests have no key to sign or encrypt with.
    #[error("the server only accepts the user as a guest, and messages of guests cannot be {0}")]
    GuestOnly(&'static str),
    /// A user was named, and the server lets anybody in: it has not looked at the password.
    #[error("the server only accepts the user as {0}, without checking the password")]
    GuestRefused(&'static str),
    /// What was negotiated is not what the server believes it negotiated: somebody in between
    /// changed it (MS-SMB2, section 3.2.5.14.12).
    #[error("the negotiation was tampered with: {0}")]
    Downgraded(String),
    /// A name that SMB cannot carry.
    #[error("'{name}' is not a valid name in SMB: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A share of printers or pipes.
    #[error("the share '{0}' is not a file share")]
    NotFiles(String),
    /// A link or something else where a regular file should be.
    #[error("'{0}' is not a regular file")]
    NotAFile(String),
    /// The server wrote less than it was given, without a reason.
    #[error("{written} of {asked} bytes were written")]
    ShortWrite {
        /// Bytes given.
        asked: usize,
        /// Bytes written.
        written: usize,
    },
    /// A directory listing or a file longer than was allowed.
    #[error("{0}")]
    OverLimit(String),
    /// The server refused.
    #[error("{command}: {status}")]
    Status {
        /// What was asked.
        command: Command,
        /// Its answer.
        status: NtStatus,
    },
}

fn dialects(offered: &[Dialect]) -> String {
    offered.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl From<crate::ms_smb2::Error> for Error {
    fn from(error: crate::ms_smb2::Error) -> Self {
        Error::Malformed(error.to_string())
    }
}

// What MS-ERREF names and the protocol crate does not.
const NOT_FOUND: NtStatus = NtStatus(0xC000_0225);
const OBJECT_PATH_INVALID: NtStatus = NtStatus(0xC000_0039);
const FILE_DELETED: NtStatus = NtStatus(0xC000_0123);

/// Whether a status says that there is nothing of that name. Servers use several of them for the same: Windows
/// and Samba distinguish the last part of a path from the parts above it, and impacket knows of no
/// difference and sends the status that is meant for listings.
pub fn is_not_there(status: NtStatus) -> bool {
    matches!(
        status,
        NtStatus::OBJECT_NAME_NOT_FOUND
            | NtStatus::OBJECT_PATH_NOT_FOUND
            | NtStatus::NO_SUCH_FILE
            | NOT_FOUND
            | OBJECT_PATH_INVALID
            | FILE_DELETED
    )
}

impl Error {
    /// Whether the server says that there is nothing of the name that it was asked about.
    pub fn is_not_there(&self) -> bool {
        self.status().is_some_and(is_not_there)
    }

    /// The server's status, where it refused.
    pub fn status(&self) -> Option<NtStatus> {
        match self {
            Error::Status { status, .. } => Some(*status),
            Error::RefusedUnencrypted(_) => Some(NtStatus::ACCESS_DENIED),
            _ => None,
        }
    }

    /// Whether the server has ended the session or closed the share for it: it has done nothing of what was asked, and a
    /// new session may do it.
    pub fn ends_session(&self) -> bool {
        matches!(
            self.status(),
            Some(
                NtStatus::USER_SESSION_DELETED
                    | NtStatus::NETWORK_SESSION_EXPIRED
                    | NtStatus::NETWORK_NAME_DELETED
            )
        ) || *self == Error::SessionEnded
    }

    /// Whether the connection is of no use after it.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self,
            Error::Status { .. }
                | Error::Name { .. }
                | Error::RefusedUnencrypted(_)
                | Error::EncryptionRequired(_)
                | Error::NotFiles(_)
                | Error::NotAFile(_)
                | Error::ShortWrite { .. }
                | Error::OverLimit(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_leave_the_connection_alone_and_broken_replies_do_not() {
        let refusal = Error::Status { command: Command::Create, status: NtStatus::ACCESS_DENIED };
        assert_eq!(refusal.to_string(), "Create: STATUS_ACCESS_DENIED");
        assert_eq!(refusal.status(), Some(NtStatus::ACCESS_DENIED));
        assert!(!refusal.is_fatal());
        for fatal in [
            Error::Tcp(plimsoll_transport::Error::Closed),
            Error::Malformed(String::new()),
            Error::BadSignature,
            Error::NotSigned,
            Error::SessionEnded,
            Error::NoCredits,
            Error::Downgraded(String::new()),
        ] {
            assert!(fatal.is_fatal() && fatal.status().is_none(), "{fatal}");
        }
    }

    #[test]
    fn a_session_ends_by_a_status_or_without_protection() {
        for status in [0xC000_0203, 0xC000_035C, 0xC000_00C9].map(NtStatus) {
            assert!(Error::Status { command: Command::Read, status }.ends_session(), "{status}");
        }
        assert!(Error::SessionEnded.ends_session());
        for error in [
            Error::Status { command: Command::Read, status: NtStatus::FILE_CLOSED },
            Error::Tcp(plimsoll_transport::Error::Closed),
            Error::NotSigned,
        ] {
            assert!(!error.ends_session(), "{error}");
        }
    }

    #[test]
    fn every_status_that_says_that_a_name_is_not_there_is_one() {
        let numbers =
            [0xC000_0034, 0xC000_003A, 0xC000_000F, 0xC000_0225, 0xC000_0039, 0xC000_0123];
        for status in numbers.map(NtStatus) {
            let error = Error::Status { command: Command::Create, status };
            assert!(error.is_not_there() && !error.is_fatal(), "{error}");
        }
        for status in [
            NtStatus::ACCESS_DENIED,
            NtStatus::OBJECT_NAME_INVALID,
            NtStatus::OBJECT_NAME_COLLISION,
            NtStatus::DELETE_PENDING,
            NtStatus::BAD_NETWORK_NAME,
            NtStatus::NO_MORE_FILES,
            NtStatus::SUCCESS,
        ] {
            assert!(!is_not_there(status), "{status}");
        }
        assert!(!Error::Tcp(plimsoll_transport::Error::Closed).is_not_there());
    }

    #[test]
    fn dialects_are_named() {
        let offered = vec![Dialect::Smb2_1, Dialect::Smb3_1_1];
        let error = Error::DialectRefused { offered };
        assert!(error.to_string().ends_with("(SMB 2.1, SMB 3.1.1)"), "{error}");
    }
}
