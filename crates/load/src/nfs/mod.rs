//! NFS targets as a [`Share`](crate::Share): the client in `crates/nfs`, driven through lanes.

mod failures;
mod files;
mod lane;
mod namespace;
mod opening;
mod options;
mod share;
mod site;

pub use options::NfsOptions;
pub use share::NfsShare;
