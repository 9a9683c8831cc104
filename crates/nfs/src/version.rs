//! The versions that are spoken in the words of version 3.

use crate::Error;
use crate::nfs2;
use crate::nfs3::{self, Procedure, Request};
use crate::rpc::Program;
use crate::xdr::{Encode, Encoder};
use std::fmt;

/// A version of NFS whose calls [`Request`] and [`Done`](crate::nfs3::Done) describe: version 2 does
/// less than version 3, and does it in the same way.
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

    /// A procedure's number. Where version 2 has none, it is not called.
    #[inline]
    pub(crate) fn number(self, procedure: Procedure) -> u32 {
        match self {
            Version::V2 => nfs2::number(procedure),
            Version::V3 => procedure as u32,
        }
    }

    /// Why a request cannot be sent, if it cannot.
    #[inline]
    pub(crate) fn refusal(self, request: &Request<'_>) -> Option<Error> {
        match self {
            Version::V2 => nfs2::refusal(request),
            Version::V3 => None,
        }
    }

    /// The arguments of a call, without the data of a WRITE.
    #[inline]
    pub(crate) fn encode(self, request: &Request<'_>, to: &mut Encoder<'_>) {
        match self {
            Version::V2 => nfs2::encode(request, to),
            Version::V3 => request.encode(to),
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
