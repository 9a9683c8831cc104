//! An NFS version 3 client over TCP, in layers: [`xdr`] → [`rpc`] → [`portmap`], [`mount`],
//! [`nfs3`]. It needs no mount and no privileges, and knows nothing of who uses it.
//!
//! Two ways in: [`nfs3::Client`] makes one call at a time, each with a time limit, for names and
//! attributes; [`nfs3::Pipeline`] keeps many READ, WRITE and COMMIT calls in flight on one
//! connection without allocating per call and without copying payload where that can be avoided.
//!
//! Not implemented: versions 2 and 4, UDP, RPCSEC_GSS, locking (NLM), links and special files.
#![forbid(unsafe_code)]

mod error;
pub mod mount;
pub mod nfs3;
pub mod portmap;
pub mod rpc;
pub mod xdr;

pub use error::Error;
