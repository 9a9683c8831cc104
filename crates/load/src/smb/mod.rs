//! SMB targets as a [`Share`](crate::Share): the client in `crates/smb`, driven through lanes.

mod failures;
mod lane;
mod namespace;
mod passwords;
mod share;
mod site;

pub use passwords::Passwords;
pub use share::SmbShare;
