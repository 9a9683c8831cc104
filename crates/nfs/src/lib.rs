//! A client of NFS versions 2 and 3 over TCP and UDP and 4.0, 4.1 and 4.2 over TCP, in layers:
//! [`xdr`] → [`rpc`] → [`portmap`], [`mount`], [`nfs3`] and, in its words, [`nfs2`]; [`nfs4`] needs
//! neither portmapper nor MOUNT. No mount and no privileges are needed, and who uses it is not known here.
//!
//! Two ways in: [`nfs3::Client`] makes one call at a time, each with a time limit, for names and
//! attributes; [`nfs3::Pipeline`] keeps many READ, WRITE and COMMIT calls in flight on one
//! connection without allocating per call and without copying payload where that can be avoided.
//!
//! Not implemented: RPCSEC_GSS, TLS, pNFS, ACLs, delegations, locks of versions 2 and 3 (NLM), links
//! and special files.
#![forbid(unsafe_code)]

mod calls;
mod done;
mod error;
mod handle;
pub mod mount;
mod mount_status;
pub mod nfs2;
pub mod nfs3;
pub mod nfs4;
pub mod portmap;
pub mod rpc;
mod version;
mod wire;
pub mod xdr;

pub use done::Done;
pub use error::Error;
pub use handle::Handle;
pub use plimsoll_transport::ByteRange;
pub use version::Version;
