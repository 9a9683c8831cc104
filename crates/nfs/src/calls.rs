//! Calls in the words of each version.

use crate::nfs2;
use crate::nfs3::{Procedure, Request};
use crate::xdr::{Encode, Encoder};
use crate::{Error, Version};

impl Version {
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
}
