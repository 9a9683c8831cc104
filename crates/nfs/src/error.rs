//! Everything that can go wrong between this client and a server.

use crate::Version;
use crate::mount_status::MountStatus;
use crate::nfs3::{Procedure, Stability, Status};
use crate::rpc::Rejection;
use crate::xdr;

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The connection could not be made, or broke.
    #[error(transparent)]
    Tcp(#[from] plimsoll_transport::Error),
    /// A record longer than any reply that was asked for (RFC 5531, section 11).
    #[error("a record of {length} bytes, more than the limit of {limit}")]
    RecordTooLong {
        /// Length claimed so far.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// Too many empty fragments in one record: no server has a reason to send them.
    #[error("a record of empty fragments")]
    EmptyFragments,
    /// A reply to a call that is not under way.
    #[error("a reply to an unknown call (transaction {0:#010x})")]
    UnknownTransaction(u32),
    /// A reply that breaks its format.
    #[error("a malformed reply: {0}")]
    Malformed(#[from] xdr::Error),
    /// The RPC layer refused the call.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// The portmapper knows no such service.
    #[error("the portmapper has no port for program {program} version {version} over {over}")]
    NotRegistered {
        /// RPC program number.
        program: u32,
        /// Its version.
        version: u32,
        /// TCP or UDP.
        over: &'static str,
    },
    /// MOUNT refused.
    #[error("MNT: {}", .status.name_in(*.version))]
    Mount {
        /// The version of NFS whose MOUNT protocol was spoken.
        version: Version,
        /// The server's answer.
        status: MountStatus,
    },
    /// NFS version 2 or 3 refused.
    #[error("{procedure}: {}", .status.name_in(*.version))]
    Nfs {
        /// Which version.
        version: Version,
        /// What was called.
        procedure: Procedure,
        /// The server's answer.
        status: Status,
    },
    /// NFS version 4 refused.
    #[error("{operation}: {status}")]
    Nfs4 {
        /// Which operation of the compound.
        operation: crate::nfs4::Operation,
        /// The server's answer.
        status: crate::nfs4::Status,
    },
    /// The server has revoked files that are open (4.1): the connection ends, and the next one opens them again.
    #[error("the server has revoked open files ({0})")]
    Revoked(crate::nfs4::Revoked),
    /// More bytes than were asked for or sent.
    #[error("{procedure}: {got} bytes instead of {asked}")]
    TooMuch {
        /// READ or WRITE.
        procedure: Procedure,
        /// Bytes asked for.
        asked: u32,
        /// Bytes the server claims.
        got: u32,
    },
    /// The server made a WRITE less stable than it was asked to (RFC 1813, section 3.3.7 forbids).
    #[error("WRITE: requested {asked}, got {got}")]
    NotStable {
        /// What was asked for.
        asked: Stability,
        /// What the server did.
        got: Stability,
    },
    /// The write verifier changed: the server restarted, unstable data may be lost
    /// (RFC 1813, section 4.8).
    #[error("the server restarted before written data was stable, so the data may be lost")]
    DataLost,
    /// Offsets of NFS version 2 have 32 bits (RFC 1094, section 2.2.7).
    #[error(
        "{procedure}: {count} bytes at offset {offset} exceed 4 GiB, the limit of NFS version 2; \
        use smaller files, or vers=3"
    )]
    Beyond32Bits {
        /// READ or WRITE.
        procedure: Procedure,
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        count: u32,
    },
    /// A directory listing longer than was allowed.
    #[error("more than {0} names in one directory")]
    DirectoryTooLong(usize),
    /// A page of a directory listing that is not the last and leads no further, so that the rest of the
    /// names cannot be had.
    #[error(
        "the server repeats a page of the directory listing (cookie {cookie}), so the listing is \
        incomplete"
    )]
    ListingRepeats {
        /// Where the page began, and where it says that the next one begins.
        cookie: u64,
    },
}

impl Error {
    /// The server's status, where NFS itself refused; of version 4, where version 3 has it too.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Nfs { status, .. } => Some(*status),
            Error::Nfs4 { status, .. } => status.of_version_3(),
            _ => None,
        }
    }

    /// Whether the connection, or what was open on it, has gone, and a new one is worth trying.
    pub fn is_lost(&self) -> bool {
        use plimsoll_transport::Error::{Closed, Connection};
        matches!(self, Error::Tcp(Closed | Connection(_)) | Error::Revoked(_))
    }

    /// Whether the connection is of no use after it.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self,
            Error::Malformed(_)
                | Error::Rejected(_)
                | Error::NotRegistered { .. }
                | Error::Mount { .. }
                | Error::Nfs { .. }
                | Error::Nfs4 { .. }
                | Error::TooMuch { .. }
                | Error::NotStable { .. }
                | Error::DataLost
                | Error::Beyond32Bits { .. }
                | Error::DirectoryTooLong(_)
                | Error::ListingRepeats { .. }
        )
    }
}
