//! NFS version 2 (RFC 1094), in the words of version 3: what a [`Request`](crate::nfs3::Request) is
//! on the wire, and what a reply means for it.
//!
//! What version 2 does not have, ACCESS, COMMIT and READDIRPLUS, is refused as NFS3ERR_NOTSUPP without being
//! sent; so is a transfer beyond 32 bits, in words. Every WRITE is stable when it is answered (section
//! 2.2.9). CREATE has no guard: it does not fail where the file is there (section 2.2.10).

mod arguments;
mod results;

pub(crate) use arguments::{encode, encode_handle, refusal};
pub(crate) use results::results;
pub use results::{Attributes2, Entries, Space, decode_handle};

use crate::nfs3::Procedure;
use crate::rpc::Program;

/// The RPC program.
pub const PROGRAM: Program = Program { number: 100_003, version: 2 };
/// Longest READ and WRITE, and longest page of names, in bytes (MAXDATA).
pub const LONGEST_TRANSFER: u32 = 8192;
/// Length of a file handle in bytes (FHSIZE).
pub const HANDLE_BYTES: usize = 32;
/// STATFS, which is FSSTAT and FSINFO.
pub(crate) const STATFS: u32 = 17;

/// The number of a procedure (section 2.2); those that version 2 does not have are never called.
pub(crate) fn number(procedure: Procedure) -> u32 {
    match procedure {
        Procedure::Null | Procedure::Access | Procedure::Commit => 0,
        Procedure::GetAttributes => 1,
        Procedure::SetAttributes => 2,
        Procedure::Lookup => 4,
        Procedure::Read => 6,
        Procedure::Write => 8,
        Procedure::Create => 9,
        Procedure::Remove => 10,
        Procedure::Rename => 11,
        Procedure::MakeDirectory => 14,
        Procedure::RemoveDirectory => 15,
        Procedure::ReadDirectory | Procedure::ReadDirectoryPlus => 16,
        Procedure::FileSystemSpace | Procedure::FileSystemInfo => STATFS,
    }
}

#[cfg(test)]
mod tests;
