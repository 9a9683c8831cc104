//! NFS targets as a [`Share`](crate::Share): the client in `crates/nfs`, driven through lanes.

pub(crate) mod failures;
mod files;
pub(crate) mod lane;
pub(crate) mod namespace;
pub(crate) mod opening;
pub(crate) mod parts;
mod share;
pub(crate) mod site;

pub use share::NfsShare;
