//! The words of NFS version 4 (RFC 7530, RFC 8881, RFC 7862, section 2 of each XDR).

use crate::Handle;
use crate::wire::{enumeration, wire};
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

enumeration! {
    /// The operations of this client, by their numbers.
    pub enum Operation, "operation" {
        /// The compound as a whole, before its first operation. Not an operation of the protocol.
        Compound = 0 "COMPOUND",
        /// What the caller may do.
        Access = 3 "ACCESS",
        /// Closes an open file.
        Close = 4 "CLOSE",
        /// Makes unstable writes stable.
        Commit = 5 "COMMIT",
        /// A new directory.
        Create = 6 "CREATE",
        /// Gives a delegation back.
        ReturnDelegation = 8 "DELEGRETURN",
        /// Attributes of the current file.
        GetAttributes = 9 "GETATTR",
        /// The handle of the current file.
        GetHandle = 10 "GETFH",
        /// Locks a range of bytes.
        Lock = 12 "LOCK",
        /// Whether a range could be locked.
        TestLock = 13 "LOCKT",
        /// Unlocks a range.
        Unlock = 14 "LOCKU",
        /// A name in the current directory.
        Lookup = 15 "LOOKUP",
        /// Opens or makes a file.
        Open = 18 "OPEN",
        /// Confirms the first open of an owner (4.0).
        ConfirmOpen = 20 "OPEN_CONFIRM",
        /// Makes a file the current one.
        PutHandle = 22 "PUTFH",
        /// Makes the root the current file.
        PutRoot = 24 "PUTROOTFH",
        /// Bytes from a file.
        Read = 25 "READ",
        /// Names in a directory.
        ReadDirectory = 26 "READDIR",
        /// Removes a name.
        Remove = 28 "REMOVE",
        /// Gives a name another one.
        Rename = 29 "RENAME",
        /// Renews the lease (4.0).
        Renew = 30 "RENEW",
        /// Makes the saved file the current one.
        RestoreHandle = 31 "RESTOREFH",
        /// Saves the current file.
        SaveHandle = 32 "SAVEFH",
        /// Sets attributes.
        SetAttributes = 34 "SETATTR",
        /// Registers a client (4.0).
        SetClient = 35 "SETCLIENTID",
        /// Confirms the registration (4.0).
        ConfirmClient = 36 "SETCLIENTID_CONFIRM",
        /// Whether attributes are as they should be.
        Verify = 37 "VERIFY",
        /// Bytes to a file.
        Write = 38 "WRITE",
        /// Registers a client (4.1).
        ExchangeId = 42 "EXCHANGE_ID",
        /// A new session (4.1).
        CreateSession = 43 "CREATE_SESSION",
        /// Ends a session (4.1).
        DestroySession = 44 "DESTROY_SESSION",
        /// First in each compound of a session (4.1).
        Sequence = 53 "SEQUENCE",
        /// Forgets a client (4.1).
        DestroyClient = 57 "DESTROY_CLIENTID",
        /// Nothing more will be reclaimed (4.1).
        ReclaimComplete = 58 "RECLAIM_COMPLETE",
        /// Sets space aside (4.2).
        Allocate = 59 "ALLOCATE",
        /// Bytes and holes from a file (4.2).
        ReadPlus = 68 "READ_PLUS",
        /// What a server answers in the place of an operation that it does not have.
        Illegal = 10044 "ILLEGAL",
    }
}

enumeration! {
    /// The minor versions.
    pub enum Minor, "minor version" {
        /// RFC 7530: no sessions.
        V0 = 0 "4.0",
        /// RFC 8881: sessions.
        V1 = 1 "4.1",
        /// RFC 7862: ALLOCATE, READ_PLUS.
        V2 = 2 "4.2",
    }
}

/// The server's own name of a file (NFS4_FHSIZE).
pub type FileHandle = Handle<128>;

/// Opaque bytes of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<const N: usize>(pub [u8; N]);

impl<const N: usize> Encode for Fixed<N> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.fixed(&self.0);
    }
}

impl<const N: usize> Decode<'_> for Fixed<N> {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.fixed(N)?.try_into().map(Fixed).map_err(|_| Error::Truncated)
    }
}

/// Opaque bytes, at most 1024: names of owners, of servers, of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short<'a>(pub &'a [u8]);

impl Encode for Short<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.0);
    }
}

impl<'a> Decode<'a> for Short<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        from.opaque(1024).map(Short)
    }
}

/// A session (sessionid4).
pub type SessionId = Fixed<16>;

wire! {
    /// What a server keeps of an open file or of locks (stateid4).
    pub struct StateId {
        /// How often it has changed. In 4.1 zero means: as it is now.
        pub sequence: u32,
        /// Which one it is.
        pub other: Fixed<12>,
    }
}

impl StateId {
    /// No open file: READ, WRITE and SETATTR as version 3 has them (RFC 8881, section 8.2.3).
    pub const ANONYMOUS: StateId = StateId { sequence: 0, other: Fixed([0; 12]) };
    /// The one that an operation before it in the same compound made (4.1).
    pub const CURRENT: StateId = StateId { sequence: 1, other: Fixed([0; 12]) };

    /// What calls name a state by that the server has given. From 4.1 on without its sequence: whichever it
    /// is by then (RFC 8881, section 8.2.2). It is raised where one connection opens a file again while calls
    /// of others are under way, and those would be refused with NFS4ERR_OLD_STATEID. 4.0 has no zero that
    /// means this, and the sequence tells the special states from each other (section 8.2.3).
    pub(super) fn in_calls(self, minor: Minor) -> StateId {
        let is_special = [[0; 12], [0xff; 12]].contains(&self.other.0);
        if minor == Minor::V0 || is_special { self } else { StateId { sequence: 0, ..self } }
    }
}

wire! {
    /// A directory before and after a change (change_info4).
    pub struct ChangeInfo {
        /// Whether nothing else changed it in between.
        pub atomic: bool,
        /// Before.
        pub before: u64,
        /// After.
        pub after: u64,
    }
}

impl Encode for i64 {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(*self as u64);
    }
}

impl Decode<'_> for i64 {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        from.u64().map(|bits| bits as i64)
    }
}
