//! What is done with files (MS-SMB2, sections 3.3.5.9 to 3.3.5.21).

use super::request::{Request, text, u32_at};
use super::{Status, reply};
use crate::responder::tree::{Content, File, Node, ROOT, Tree};
use nfs3_types::nfs3::nfsstat3;
use std::collections::BTreeMap;

mod command {
    pub const CREATE: u16 = 5;
    pub const CLOSE: u16 = 6;
    pub const FLUSH: u16 = 7;
    pub const READ: u16 = 8;
    pub const WRITE: u16 = 9;
    pub const QUERY_DIRECTORY: u16 = 14;
    pub const QUERY_INFO: u16 = 16;
    pub const SET_INFO: u16 = 17;
}

/// Longest READ, WRITE and listing in bytes, as NEGOTIATE says.
const MOST: u32 = 1 << 20;
/// In place of a file: the one of the request before in the same compound.
const OF_THE_REQUEST_BEFORE: u64 = u64::MAX;
/// Opens of one connection, far more than a client needs.
const MOST_OPEN: usize = 1 << 16;
const ATTRIBUTE_DIRECTORY: u32 = 0x10;
const ATTRIBUTE_NORMAL: u32 = 0x80;
/// What the share holds and has left, in units of a block.
const SPACE: u64 = 1 << 28;
const BLOCK: u32 = 4096;
/// Seconds from the beginning of 1601, where the times of SMB begin, to that of 1970; in their units of 100 ns
/// 10 million make one.
const TO_1970: u64 = 11_644_473_600;
const TICKS: u64 = 10_000_000;

/// The files that a connection has open.
#[derive(Default)]
pub(super) struct Files {
    open: BTreeMap<u64, Open>,
    given: u64,
    /// The file of the request before, or why there is none.
    last: Option<Result<u64, Status>>,
}

struct Open {
    node: u64,
    /// Where it is named; the share itself is named nowhere.
    name: Option<(u64, Vec<u8>)>,
    /// Whether the name goes when it is closed.
    removed: bool,
    /// How many of its names have been listed.
    listed: usize,
}

impl From<nfsstat3> for Status {
    fn from(status: nfsstat3) -> Status {
        match status {
            nfsstat3::NFS3ERR_NOENT => Status::NAME_NOT_FOUND,
            nfsstat3::NFS3ERR_EXIST => Status::NAME_COLLISION,
            nfsstat3::NFS3ERR_ISDIR => Status::IS_A_DIRECTORY,
            nfsstat3::NFS3ERR_NOTDIR => Status::NOT_A_DIRECTORY,
            nfsstat3::NFS3ERR_NOTEMPTY => Status::NOT_EMPTY,
            nfsstat3::NFS3ERR_FBIG => Status::DISK_FULL,
            _ => Status::FILE_CLOSED,
        }
    }
}

impl Files {
    /// Does what is asked for, and appends what follows the header.
    pub fn perform(
        &mut self,
        command: u16,
        related: bool,
        asked: Request<'_>,
        tree: &mut Tree,
        to: &mut Vec<u8>,
    ) -> Result<(), Status> {
        if !related {
            self.last = None;
        }
        if command == command::CREATE {
            let created = self.create(asked, tree, to);
            self.last = Some(created);
            return created.map(drop);
        }
        let at = match command {
            command::CLOSE | command::FLUSH | command::QUERY_DIRECTORY => 72,
            command::QUERY_INFO => 88,
            command::READ | command::WRITE | command::SET_INFO => 80,
            _ => return Err(Status::NOT_SUPPORTED),
        };
        let number = match (asked.u64(at + 8)?, self.last) {
            (OF_THE_REQUEST_BEFORE, Some(file)) => file?,
            (number, _) => number,
        };
        self.last = Some(Ok(number));
        if command == command::CLOSE {
            let open = self.open.remove(&number).ok_or(Status::FILE_CLOSED)?;
            to.extend(reply::close());
            return match open.name.filter(|_| open.removed) {
                Some((directory, name)) => {
                    let is_directory = matches!(tree.node(open.node)?.kind, Content::Directory(_));
                    Ok(tree.remove(directory, &name, is_directory)?)
                }
                None => Ok(()),
            };
        }
        let open = self.open.get_mut(&number).ok_or(Status::FILE_CLOSED)?;
        match command {
            command::FLUSH => {
                tree.file(open.node)?.commit(0, 0);
                to.extend(reply::empty());
            }
            command::READ => {
                let (length, offset) = (asked.u32(68)?.min(MOST) as usize, asked.u64(72)?);
                let now = &tree.file(open.node)?.now;
                let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(now.len());
                let data = &now[begin..now.len().min(begin + length)];
                if data.is_empty() && length > 0 {
                    return Err(Status::END_OF_FILE);
                }
                to.extend(reply::read(80, data.len() as u32, &[]));
                to.extend_from_slice(data);
            }
            command::WRITE => {
                let data = asked.part(asked.u16(66)?, asked.u32(68)?)?;
                // SMB2_WRITEFLAG_WRITE_THROUGH.
                let through = asked.u32(108)? & 1 != 0;
                tree.file(open.node)?.write(asked.u64(72)?, data, through)?;
                to.extend(reply::write(data.len() as u32));
            }
            command::QUERY_DIRECTORY => open.list(asked, tree, to)?,
            command::QUERY_INFO => {
                let found = open.information((asked.u8(66)?, asked.u8(67)?), tree)?;
                to.extend(reply::buffer(72, found.len() as u32, &found));
            }
            _ => {
                let buffer = asked.part(asked.u16(72)?, asked.u32(68)?)?;
                open.set((asked.u8(66)?, asked.u8(67)?), buffer, tree)?;
                to.extend([2, 0]);
            }
        }
        Ok(())
    }

    /// Opens a path, or makes it; the number of what is open now.
    fn create(
        &mut self,
        asked: Request<'_>,
        tree: &mut Tree,
        to: &mut Vec<u8>,
    ) -> Result<u64, Status> {
        /// CreateDisposition (section 2.2.13).
        const OPEN: u32 = 1;
        const CREATE: u32 = 2;
        const OPEN_IF: u32 = 3;
        const DIRECTORY: u32 = 1;
        const NO_DIRECTORY: u32 = 0x40;
        let (how, options) = (asked.u32(100)?, asked.u32(104)?);
        let name = place(asked.part(asked.u16(108)?, asked.u16(110)?.into())?, tree)?;
        if self.open.len() >= MOST_OPEN || how > 5 {
            return Err(Status::INVALID);
        }
        let there = match &name {
            Some((directory, name)) => match tree.look_up(*directory, name) {
                Ok(node) => Some(node),
                Err(nfsstat3::NFS3ERR_NOENT) => None,
                Err(status) => return Err(status.into()),
            },
            None => Some(ROOT),
        };
        let (node, action) = match (there, how) {
            (Some(_), CREATE) => return Err(Status::NAME_COLLISION),
            (Some(node), _) => {
                match (&tree.node(node)?.kind, options) {
                    (Content::File(_), options) if options & DIRECTORY != 0 => {
                        return Err(Status::NOT_A_DIRECTORY);
                    }
                    (Content::Directory(_), options) if options & NO_DIRECTORY != 0 => {
                        return Err(Status::IS_A_DIRECTORY);
                    }
                    _ => {}
                }
                if matches!(how, OPEN | OPEN_IF) {
                    (node, 1)
                } else {
                    tree.file(node)?.set_size(0)?;
                    (node, 3)
                }
            }
            // FILE_OVERWRITE wants it to be there as well.
            (None, OPEN | 4) => return Err(Status::NAME_NOT_FOUND),
            (None, _) => {
                let (directory, name) = name.as_ref().ok_or(Status::INVALID)?;
                let kind = match options & DIRECTORY {
                    0 => Content::File(File::default()),
                    _ => Content::default(),
                };
                (tree.add(*directory, name, Node { kind, ..Node::default() })?, 2)
            }
        };
        self.given += 1;
        let number = self.given;
        let (attributes, size, written) = facts(node, tree)?;
        let identity = u128::from(number) << 64 | u128::from(number);
        to.extend(reply::create(action, written, size, attributes, identity.to_le_bytes()));
        self.open.insert(number, Open { node, name, removed: false, listed: 0 });
        Ok(number)
    }
}

/// The directory and the name of a path in UTF-16, with `\` between names; `None`: the share itself.
fn place(path: &[u8], tree: &mut Tree) -> Result<Option<(u64, Vec<u8>)>, Status> {
    let path = text(path);
    let mut names = path.split('\\').filter(|name| !name.is_empty());
    let Some(last) = names.next_back() else { return Ok(None) };
    let mut directory = ROOT;
    for name in names {
        directory = tree.look_up(directory, name.as_bytes()).map_err(|_| Status::PATH_NOT_FOUND)?;
    }
    Ok(Some((directory, last.as_bytes().to_vec())))
}

/// Attributes, size in bytes, and the time of the last write.
fn facts(node: u64, tree: &mut Tree) -> Result<(u32, u64, u64), Status> {
    let Node { modified, kind, .. } = tree.node(node)?;
    let written = (u64::from(*modified) + TO_1970) * TICKS;
    Ok(match kind {
        Content::Directory(_) => (ATTRIBUTE_DIRECTORY, 0, written),
        Content::File(file) => (ATTRIBUTE_NORMAL, file.now.len() as u64, written),
    })
}

impl Open {
    /// The next names (FileDirectoryInformation, MS-FSCC, section 2.4.10), as many as there is space for.
    fn list(
        &mut self,
        asked: Request<'_>,
        tree: &mut Tree,
        to: &mut Vec<u8>,
    ) -> Result<(), Status> {
        const DIRECTORY_INFORMATION: u8 = 1;
        const RESTART: u8 = 1;
        /// Bytes of an entry in front of its name.
        const ENTRY: usize = 64;
        if asked.u8(66)? != DIRECTORY_INFORMATION {
            return Err(Status::INFO_CLASS);
        }
        if asked.u8(67)? & RESTART != 0 {
            self.listed = 0;
        }
        let space = asked.u32(92)?.min(MOST) as usize;
        let names: Vec<(Vec<u8>, u64)> = tree
            .names(self.node)?
            .iter()
            .skip(self.listed)
            .map(|(name, node)| (name.clone(), *node))
            .collect();
        let mut page: Vec<u8> = Vec::new();
        let mut last = 0;
        for (name, node) in &names {
            let name: Vec<u8> =
                String::from_utf8_lossy(name).encode_utf16().flat_map(u16::to_le_bytes).collect();
            let at = page.len().next_multiple_of(8);
            if at + ENTRY + name.len() > space {
                break;
            }
            let (attributes, size, written) = facts(*node, tree)?;
            page.resize(at + ENTRY, 0);
            page[last..last + 4].copy_from_slice(&((at - last) as u32).to_le_bytes());
            let entry = &mut page[at..];
            entry[24..32].copy_from_slice(&written.to_le_bytes());
            entry[40..48].copy_from_slice(&size.to_le_bytes());
            entry[56..60].copy_from_slice(&attributes.to_le_bytes());
            entry[60..64].copy_from_slice(&(name.len() as u32).to_le_bytes());
            page.extend(name);
            last = at;
            self.listed += 1;
        }
        if page.is_empty() {
            let fits = names.is_empty();
            return Err(if fits { Status::NO_MORE_FILES } else { Status::INVALID });
        }
        to.extend(reply::buffer(72, page.len() as u32, &page));
        Ok(())
    }

    /// What is asked of a file or its share: type and class.
    fn information(&self, what: (u8, u8), tree: &mut Tree) -> Result<Vec<u8>, Status> {
        const NETWORK_OPEN: (u8, u8) = (1, 34);
        const SPACE_LEFT: (u8, u8) = (2, 3);
        let (attributes, size, written) = facts(self.node, tree)?;
        Ok(match what {
            // FileNetworkOpenInformation (MS-FSCC, section 2.4.34).
            NETWORK_OPEN => {
                let words = [written, written, written, written, size, size];
                let mut found: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
                found.extend_from_slice(&u64::from(attributes).to_le_bytes());
                found
            }
            // FileFsSizeInformation (section 2.5.8).
            SPACE_LEFT => {
                let units = [1, BLOCK].into_iter().flat_map(u32::to_le_bytes);
                [SPACE, SPACE].into_iter().flat_map(u64::to_le_bytes).chain(units).collect()
            }
            _ => return Err(Status::INFO_CLASS),
        })
    }

    /// Sets something of a file: type and class (MS-FSCC, section 2.4).
    fn set(&mut self, what: (u8, u8), buffer: &[u8], tree: &mut Tree) -> Result<(), Status> {
        const BASIC: (u8, u8) = (1, 4);
        const RENAME: (u8, u8) = (1, 10);
        const DISPOSITION: (u8, u8) = (1, 13);
        const END_OF_FILE: (u8, u8) = (1, 20);
        let buffer = Request(buffer);
        match what {
            BASIC => {
                let written = buffer.u64(16)?;
                // 0 and -1: it stays as it is.
                if written != 0 && written != u64::MAX {
                    let seconds = (written / TICKS).saturating_sub(TO_1970);
                    tree.node(self.node)?.modified = u32::try_from(seconds).unwrap_or(u32::MAX);
                }
            }
            RENAME => {
                let length = u32_at(buffer.0, 16).ok_or(Status::INVALID)?;
                let to = place(buffer.part(20, length)?, tree)?.ok_or(Status::INVALID)?;
                let from = self.name.clone().ok_or(Status::INVALID)?;
                if tree.look_up(to.0, &to.1).is_ok() && buffer.u8(0)? == 0 {
                    return Err(Status::NAME_COLLISION);
                }
                tree.rename((from.0, &from.1), (to.0, &to.1))?;
                self.name = Some(to);
            }
            DISPOSITION => {
                let removed = buffer.u8(0)? != 0;
                if removed
                    && let Content::Directory(names) = &tree.node(self.node)?.kind
                    && !names.is_empty()
                {
                    return Err(Status::NOT_EMPTY);
                }
                self.removed = removed;
            }
            END_OF_FILE => tree.file(self.node)?.set_size(buffer.u64(0)?)?,
            _ => return Err(Status::INFO_CLASS),
        }
        Ok(())
    }
}
