//! NFS targets as a [`Share`](crate::Share): the client in `crates/nfs`, driven through lanes.

pub(crate) mod calls;
pub(crate) mod directories;
pub(crate) mod exports;
pub(crate) mod failures;
mod files;
mod lane;
pub(crate) mod namespace;
pub(crate) mod opening;
pub(crate) mod parts;
pub(crate) mod share;
pub(crate) mod site;
pub(crate) mod stable;

pub use share::NfsShare;
