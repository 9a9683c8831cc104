//! The exports that version 4 shows below its root. Directories above them (the pseudo file system of RFC
//! 8881, section 7.3) only lead to them: nothing can be written there.

use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{FileType, Name};
use plimsoll_nfs::nfs4::{Client, FileHandle};
use std::collections::VecDeque;

/// Most names that are looked up: a server, or a large directory, may have names without end.
const MOST_LOOKUPS: usize = 256;
/// How deep directories above exports nest at most.
const DEEPEST: usize = 8;

/// The paths of the directories that begin another file system than the root's, as far as they are found
/// within the bounds.
pub(super) fn paths(client: &mut Client) -> Result<Vec<String>, Error> {
    let (root, about) = client.root()?;
    let (mut found, mut lookups) = (Vec::new(), 0);
    let mut above = VecDeque::from([(root, String::new(), 0)]);
    while let Some((directory, path, depth)) = above.pop_front() {
        let entries = match client.list(directory) {
            Err(error) if error.is_fatal() => return Err(error),
            listed => listed.unwrap_or_default(),
        };
        for entry in entries {
            let name = std::str::from_utf8(&entry.name).ok().and_then(Name::new);
            let (Some(name), None | Some(FileType::Directory)) = (name, entry.kind) else {
                continue;
            };
            if lookups == MOST_LOOKUPS {
                return Ok(found);
            }
            lookups += 1;
            let (below, of) = match client.lookup(directory, name) {
                Err(error) if error.is_fatal() => return Err(error),
                // One that this caller may not use is of no use in a message.
                Err(_) => continue,
                Ok(looked_up) => looked_up,
            };
            let path = format!("{path}/{}", name.as_str());
            if of.file_system != about.file_system {
                found.push(path);
            } else if of.kind == Some(FileType::Directory) && depth < DEEPEST {
                above.push_back((below, path, depth + 1));
            }
        }
    }
    Ok(found)
}

/// The same, if the directory is of the root's own file system: one above the exports may be.
pub(super) fn paths_from(client: &mut Client, directory: FileHandle) -> Result<Vec<String>, Error> {
    let (_, root) = client.root()?;
    match client.attributes(directory)?.file_system == root.file_system {
        true => paths(client),
        false => Ok(Vec::new()),
    }
}
