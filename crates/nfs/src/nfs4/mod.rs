//! NFS version 4 (RFC 7530, RFC 8881, RFC 7862): compounds, sessions, a blocking client, and a
//! pipeline.
//!
//! A server's callbacks are not listened to: no delegation is asked for, and one that comes with an open file
//! anyway is given back at once. No layouts, no ACLs, AUTH_SYS alone.

mod attributes;
mod client;
mod compound;
mod identity;
mod listing;
mod names;
mod open_files;
mod opening;
mod operations;
mod pipeline;
mod request;
mod revoked;
mod sessions;
mod slots;
mod status;
mod types;

pub use attributes::{Attributes, Bitmap, FileSystemId, Owner, SetAttributes, Time};
pub use client::Client;
pub use compound::{Arguments, Compound, Results};
pub use identity::{Identity, OpenFile};
pub use listing::{PageEntry, ReadDirectory, ReadDirectoryOk};
pub use opening::{
    Claim, Close, ConfirmOpen, Delegation, Lock, LockKind, Locker, Open, OpenHow, OpenOk,
    StateOwner, TestLock, Unlock,
};
pub use operations::{
    Access, AccessOk, Allocate, Commit, CreateDirectory, CreateOk, GetAttributes, GetHandle,
    Lookup, PutHandle, PutRoot, Read, ReadOk, ReadPlus, ReadPlusOk, Remove, Rename, RenameOk,
    RestoreHandle, ReturnDelegation, SaveHandle, Segment, SetAttributesOf, Verify, Write,
    WriteHead, WriteOk,
};
pub use pipeline::{Call, Completion, Nfs4, Pipeline};
pub use request::{Done, LockOwner, Other, Place, Request};
pub use revoked::Revoked;
pub use sessions::{
    Channel, CreateSession, CreateSessionOk, DestroyClient, DestroySession, ExchangeId,
    ExchangeIdOk, ReclaimComplete, Registration, Renew, Sequence, SequenceOk, SetClient,
};
pub use status::Status;
pub use types::{ChangeInfo, FileHandle, Fixed, Minor, Operation, SessionId, Short, StateId};

use crate::Error;
use crate::nfs3::{Procedure, Stability};
use crate::rpc::Program;

#[cfg(test)]
mod tests;

/// The RPC program.
pub const PROGRAM: Program = Program { number: 100_003, version: 4 };
/// The one procedure beside NULL.
const COMPOUND: u32 = 1;

/// What was read, if it is not more than was asked for.
fn checked_data<'a>(ok: &ReadOk<'a>, asked: u32) -> Result<&'a [u8], Error> {
    let data = ok.data.0;
    if data.len() > asked as usize {
        let (procedure, got) = (Procedure::Read, data.len() as u32);
        return Err(Error::TooMuch { procedure, asked, got });
    }
    Ok(data)
}

/// Whether no more was written than was sent, and as safely as was asked for.
fn checked_written(ok: &WriteOk, sent: u32, asked: Stability) -> Result<(), Error> {
    if ok.count > sent {
        let (procedure, asked, got) = (Procedure::Write, sent, ok.count);
        return Err(Error::TooMuch { procedure, asked, got });
    }
    if ok.committed < asked {
        return Err(Error::NotStable { asked, got: ok.committed });
    }
    Ok(())
}
