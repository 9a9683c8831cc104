//! Remote procedure calls (RFC 5531) over TCP and UDP: messages, credentials, record marking, and a
//! blocking client.

mod auth;
mod client;
mod link;
mod message;
mod record;

pub use auth::{AuthSys, Credential, MOST_GROUPS};
pub use client::Client;
pub(crate) use client::encode_identity;
pub use message::{
    AcceptError, AuthError, CallHeader, MARK_BYTES, Program, Rejection, begin_call, finish_call,
    open_reply, random_xid,
};
pub(crate) use record::answered_call;
pub use record::{RecordBuffer, RecordMark};
