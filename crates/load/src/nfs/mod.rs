//! NFS targets as a [`Share`](crate::Share): the client in `crates/nfs`, driven through lanes.

mod failures;
mod files;
mod lane;
mod namespace;
mod opening;
mod share;
mod site;

pub use share::NfsShare;
