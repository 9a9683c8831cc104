//! An SMB client for dialects 2.0.2 to 3.1.1 over TCP: blocking, pipelined, signed and encrypted.
//!
//! It knows nothing of benchmarks.
#![forbid(unsafe_code)]

mod authenticate;
mod connection;
mod credentials;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod keys;
mod link;
mod message;
mod ms_smb2;
mod names;
mod negotiate;
mod options;
mod pipeline;
mod requests;
mod session;
mod shares;
mod tree;
mod validate;
mod wire;

pub use credentials::{Credentials, Password};
pub use error::{Error, NtStatus, is_not_there};
pub use files::{Access, CreateHow, Entry, EntryKind, FileInfo, Listing, Space};
pub use guard::{Cipher, Guard, Sealer, Signer, SigningAlgorithm, TRANSFORM_HEADER};
pub use link::{FileId, Link, SessionFacts};
pub use ms_smb2::types::{Command, Dialect};
pub use options::{Options, Protection};
pub use pipeline::{Call, Completion, Done, Pipeline, Request, Smb2};
pub use plimsoll_transport::{ByteRange, Exchange, Full, LockMode, PipelineOptions};
pub use session::Session;
pub use shares::{ShareInfo, ShareKind};
pub use tree::{Tree, TreeFacts};
