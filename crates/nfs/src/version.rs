//! The versions that are spoken in the words of version 3.

use crate::rpc::Program;
use crate::{nfs2, nfs3};
use std::fmt;

/// A version of NFS whose calls [`Request`](crate::nfs3::Request) and [`Done`](crate::nfs3::Done)
/// describe: version 2 does less than version 3, and does it in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 1094.
    V2,
    /// RFC 1813.
    V3,
}

impl Version {
    /// The RPC program.
    pub fn program(self) -> Program {
        match self {
            Version::V2 => nfs2::PROGRAM,
            Version::V3 => nfs3::PROGRAM,
        }
    }

    /// Longest READ and WRITE in bytes, where the version has a limit of its own.
    pub fn longest_transfer(self) -> Option<u32> {
        (self == Version::V2).then_some(nfs2::LONGEST_TRANSFER)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V2 => "2",
            Version::V3 => "3",
        })
    }
}
