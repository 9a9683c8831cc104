//! A session bound to one share: all that is needed to send requests and believe replies.

use crate::guard::{Cipher, Guard, SigningAlgorithm};
use crate::ms_smb2::types::Dialect;
use plimsoll_transport::Socket;

/// What was agreed with the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// The dialect.
    pub dialect: Dialect,
    /// GUID that the server calls itself by (MS-SMB2, section 2.2.4).
    pub server_guid: [u8; 16],
    /// How messages are signed, if they are.
    pub signing: Option<SigningAlgorithm>,
    /// How messages are encrypted, if they are.
    pub cipher: Option<Cipher>,
    /// Whether the server took the user for a guest.
    pub guest: bool,
    /// Longest READ in bytes.
    pub read_most: u32,
    /// Longest WRITE in bytes.
    pub write_most: u32,
    /// Longest directory listing or other query in bytes.
    pub transact_most: u32,
    /// Whether requests above 64 KiB are allowed, and so every request is charged by its size
    /// (MS-SMB2, section 3.2.4.1.5).
    pub large_transfers: bool,
}

impl SessionFacts {
    /// Credits that a request costs whose payload or whose reply's payload has so many bytes.
    pub fn charge(&self, payload: u32) -> u16 {
        if !self.large_transfers {
            return 1;
        }
        u16::try_from(payload.saturating_sub(1) / 65536 + 1).unwrap_or(u16::MAX)
    }
}

/// A connection, authenticated and bound to a share: what a pipeline is made from.
pub struct Link {
    /// The connection.
    pub socket: Socket,
    /// What protects its messages.
    pub guard: Guard,
    /// The session's number.
    pub session_id: u64,
    /// The share's number in the session.
    pub tree_id: u32,
    /// The number of the next request.
    pub next_message_id: u64,
    /// Credits that the server has granted and no request has used.
    pub credits: u32,
    /// What was agreed with the server.
    pub facts: SessionFacts,
    /// Whether requests about one name go as one compound. Some servers sign the replies wrongly.
    pub compounds: bool,
}

/// An open file: valid on its own session alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// What survives a disconnection, where the server grants that.
    pub persistent: u64,
    /// What does not.
    pub volatile: u64,
}

impl FileId {
    /// In a related compound: the file that the request before opened (MS-SMB2, section 3.2.4.1.4).
    pub(crate) const OF_THE_REQUEST_BEFORE: FileId =
        FileId { persistent: u64::MAX, volatile: u64::MAX };
}
