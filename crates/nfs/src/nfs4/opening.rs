//! OPEN, OPEN_CONFIRM, CLOSE and locks (RFC 8881, sections 18.16, 18.2, 18.10 to 18.12).

use super::attributes::{Bitmap, SetAttributes};
use super::operations::operation;
use super::types::{ChangeInfo, Minor, Short, StateId};
use crate::nfs3::{Name, Verifier};
use crate::wire::{enumeration, wire};
use crate::xdr::{Decode, Decoder, Encode, Encoder, Error};

/// Open for reading (OPEN4_SHARE_ACCESS_READ).
pub const READ_ACCESS: u32 = 1;
/// Open for reading and writing (OPEN4_SHARE_ACCESS_BOTH).
pub const BOTH_ACCESS: u32 = 3;
/// No delegation is wanted (OPEN4_SHARE_ACCESS_WANT_NO_DELEG, 4.1).
pub const WANT_NO_DELEGATION: u32 = 0x400;
/// The open must be confirmed (OPEN4_RESULT_CONFIRM, 4.0).
const MUST_CONFIRM: u32 = 2;

wire! {
    /// Who has a file open, or locks (open_owner4, lock_owner4).
    pub struct StateOwner<'a> {
        /// As the server registered the client; 0 within a session.
        pub client: u64,
        /// Any bytes.
        pub owner: Short<'a>,
    }
}

/// What OPEN does when the file is there or not (openflag4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// Fail if it is not there.
    Existing,
    /// Make it, or keep it.
    Unchecked(SetAttributes),
    /// Make it, or fail if it is there.
    Guarded(SetAttributes),
    /// Make it, or fail if it is there, unless it was made by a call with this very verifier.
    Exclusive(Verifier),
    /// The same with attributes (4.1).
    ExclusiveWith(Verifier, SetAttributes),
}

impl Encode for OpenHow {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(*self != OpenHow::Existing);
        match self {
            OpenHow::Existing => {}
            OpenHow::Unchecked(attributes) => {
                to.u32(0);
                to.value(attributes);
            }
            OpenHow::Guarded(attributes) => {
                to.u32(1);
                to.value(attributes);
            }
            OpenHow::Exclusive(verifier) => {
                to.u32(2);
                to.value(verifier);
            }
            OpenHow::ExclusiveWith(verifier, attributes) => {
                to.u32(3);
                to.value(verifier);
                to.value(attributes);
            }
        }
    }
}

impl Decode<'_> for OpenHow {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        if !from.bool()? {
            return Ok(OpenHow::Existing);
        }
        match from.u32()? {
            0 => from.value().map(OpenHow::Unchecked),
            1 => from.value().map(OpenHow::Guarded),
            2 => from.value().map(OpenHow::Exclusive),
            3 => Ok(OpenHow::ExclusiveWith(from.value()?, from.value()?)),
            value => Err(Error::Unknown { what: "createmode4", value }),
        }
    }
}

/// Which file OPEN is about (open_claim4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// A name in the current directory.
    Name(Name<'a>),
    /// The current file, which was open before the server restarted; no delegation was.
    Previous,
    /// The current file (4.1).
    Handle,
}

impl Encode for Claim<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Claim::Name(name) => {
                to.u32(0);
                to.value(name);
            }
            Claim::Previous => {
                to.u32(1);
                to.u32(0);
            }
            Claim::Handle => to.u32(4),
        }
    }
}

impl<'a> Decode<'a> for Claim<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        match (from.u32()?, *from) {
            (0, _) => from.value().map(Claim::Name),
            (1, _) => match from.u32()? {
                0 => Ok(Claim::Previous),
                value => Err(Error::Unknown { what: "delegation of this client", value }),
            },
            (4, _) => Ok(Claim::Handle),
            (value, _) => Err(Error::Unknown { what: "claim of this client", value }),
        }
    }
}

wire! {
    /// OPEN.
    pub struct Open<'a> {
        /// Number of the owner's call (4.0), else 0.
        pub sequence: u32,
        /// What it is opened for.
        pub access: u32,
        /// What others may not open it for meanwhile.
        pub deny: u32,
        /// Who opens it.
        pub owner: StateOwner<'a>,
        /// Whether it is made.
        pub how: OpenHow,
        /// Which file.
        pub claim: Claim<'a>,
    }
}

/// A delegation that came with an open file (open_delegation4): only that there is one is of
/// interest, to give it back. Encoded as one of the kind READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation(pub Option<StateId>);

impl Encode for Delegation {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(self.0.is_some());
        if let Some(state) = &self.0 {
            to.value(state);
            to.bool(false);
            (0..4).for_each(|_| to.u32(0)); // an entry that allows nothing to nobody
        }
    }
}

impl Decode<'_> for Delegation {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Error> {
        let kind = from.u32()?;
        match kind {
            0 => return Ok(Delegation(None)),
            1 | 2 => {}
            // Why there is none: contention (1) and resources (2) come with whether there may be one
            // later.
            3 => {
                if matches!(from.u32()?, 1 | 2) {
                    from.bool()?;
                }
                return Ok(Delegation(None));
            }
            value => return Err(Error::Unknown { what: "open_delegation_type4", value }),
        }
        let state = from.value()?;
        from.bool()?;
        if kind == 2 {
            match from.u32()? {
                // A limit in bytes, or in blocks and their size: as long.
                1 | 2 => from.u64()?,
                value => return Err(Error::Unknown { what: "limit_by4", value }),
            };
        }
        (0..3).try_for_each(|_| from.u32().map(drop))?;
        from.value::<Short<'_>>()?;
        Ok(Delegation(Some(state)))
    }
}

wire! {
    /// What OPEN gives.
    pub struct OpenOk {
        /// The open file.
        pub state: StateId,
        /// The directory that it is in.
        pub change: ChangeInfo,
        /// What is to be done, as bits.
        pub flags: u32,
        /// Which attributes were set.
        pub set: Bitmap,
        /// What came with it.
        pub delegation: Delegation,
    }
}

impl OpenOk {
    /// Whether the open must be confirmed before the file is used; no server of 4.1 may want that.
    pub(super) fn must_confirm(&self, minor: Minor) -> bool {
        minor == Minor::V0 && self.flags & MUST_CONFIRM != 0
    }
}

wire! {
    /// OPEN_CONFIRM (4.0).
    pub struct ConfirmOpen {
        /// The open file.
        pub state: StateId,
        /// Number of the owner's call.
        pub sequence: u32,
    }
}

wire! {
    /// CLOSE.
    pub struct Close {
        /// Number of the owner's call (4.0), else 0.
        pub sequence: u32,
        /// The open file.
        pub state: StateId,
    }
}

enumeration! {
    /// Kinds of locks (nfs_lock_type4).
    pub enum LockKind, "lock type" {
        /// Shared with other readers.
        Read = 1 "read lock",
        /// Exclusive.
        Write = 2 "write lock",
        /// Shared, and the client waits for it.
        ReadWaits = 3 "read lock that is waited for",
        /// Exclusive, and the client waits for it.
        WriteWaits = 4 "write lock that is waited for",
    }
}

/// Who locks (locker4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locker<'a> {
    /// A new owner of locks on an open file, with the numbers of the calls of both (4.0).
    New {
        /// Of who has the file open.
        open_sequence: u32,
        /// The open file.
        open: StateId,
        /// Of who locks.
        lock_sequence: u32,
        /// Who locks.
        owner: StateOwner<'a>,
    },
    /// One who has locks on it.
    Known {
        /// These locks.
        state: StateId,
        /// Number of the owner's call (4.0), else 0.
        sequence: u32,
    },
}

impl Encode for Locker<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Locker::New { open_sequence, open, lock_sequence, owner } => {
                to.bool(true);
                to.u32(*open_sequence);
                to.value(open);
                to.u32(*lock_sequence);
                to.value(owner);
            }
            Locker::Known { state, sequence } => {
                to.bool(false);
                to.value(state);
                to.u32(*sequence);
            }
        }
    }
}

impl<'a> Decode<'a> for Locker<'a> {
    fn decode(from: &mut Decoder<'a>) -> Result<Self, Error> {
        Ok(match from.bool()? {
            true => Locker::New {
                open_sequence: from.u32()?,
                open: from.value()?,
                lock_sequence: from.u32()?,
                owner: from.value()?,
            },
            false => Locker::Known { state: from.value()?, sequence: from.u32()? },
        })
    }
}

wire! {
    /// LOCK.
    pub struct Lock<'a> {
        /// For what.
        pub kind: LockKind,
        /// Whether it was held before the server restarted.
        pub reclaim: bool,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there; all ones: to the end, wherever that is.
        pub length: u64,
        /// Who.
        pub locker: Locker<'a>,
    }
}

wire! {
    /// LOCKT.
    pub struct TestLock<'a> {
        /// For what.
        pub kind: LockKind,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there.
        pub length: u64,
        /// Who.
        pub owner: StateOwner<'a>,
    }
}

wire! {
    /// LOCKU.
    pub struct Unlock {
        /// For what.
        pub kind: LockKind,
        /// Number of the owner's call (4.0), else 0.
        pub sequence: u32,
        /// The locks.
        pub state: StateId,
        /// Offset in bytes.
        pub offset: u64,
        /// Bytes from there.
        pub length: u64,
    }
}

operation! {
    Open<'_> = Open -> OpenOk;
    ConfirmOpen = ConfirmOpen -> StateId;
    Close = Close -> StateId;
    Lock<'_> = Lock -> StateId;
    TestLock<'_> = TestLock -> ();
    Unlock = Unlock -> StateId;
}
