//! The parts of paths that calls of NFS are about: each takes one name in one directory.

use crate::op::{Node, Op, OpError};
use crate::wire::failed;
use plimsoll_model::ErrorKind;
use plimsoll_nfs::nfs3::Name;

/// Every right that ACCESS knows: to read, look up, modify, extend, delete and execute (RFC 1813, section 3.3.4;
/// RFC 8881, section 18.1).
pub(crate) const EVERY_RIGHT: u32 = 0x3f;

/// The directory that must be found before an operation's own call.
pub(crate) fn directory_of<'p>(op: &Op, path: &'p str) -> &'p str {
    let itself = matches!(
        op,
        Op::ReadDirectory(_) | Op::Access(_) | Op::SetAttribute(Node::Directory(_), _)
    );
    if itself { path } else { parent(path) }
}

pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The part of a path that follows its first bytes.
pub(crate) fn next_part(path: &str, resolved: usize) -> &str {
    let rest = path.get(resolved..).unwrap_or("");
    let rest = if resolved > 0 { rest.strip_prefix('/').unwrap_or(rest) } else { rest };
    rest.split('/').next().unwrap_or("")
}

/// The last name of a path.
pub(crate) fn last(path: &str) -> Result<Name<'_>, OpError> {
    name(path.rsplit('/').next().unwrap_or(path))
}

pub(crate) fn name(part: &str) -> Result<Name<'_>, OpError> {
    let why = || failed(ErrorKind::NotPermitted, format!("'{part}' is not a valid name"));
    Name::new(part).ok_or_else(why)
}
