//! From a target to its share.

use crate::advice::MISSING_DIRECTORY;
use crate::directory::DirectoryShare;
use crate::nfs::NfsShare;
use crate::nfs4::{Nfs4Share, Older, Refused};
use crate::open_options::OpenOptions;
use crate::share::Share;
use crate::smb::SmbShare;
use plimsoll_model::{Cause, Failure, NfsTarget, Target};
use std::sync::Arc;

/// Opens a target: connects where there is something to connect to, and finds out what it is.
/// Nothing is left behind on it.
pub fn open(target: &Target, options: &OpenOptions) -> Result<Arc<dyn Share>, Failure> {
    let given = target.to_string();
    Ok(match target {
        Target::Directory(directory) => Arc::new(DirectoryShare::open(directory, &given, options)?),
        Target::Nfs(export) => match export.version {
            Some(version) if version.is_4() => Arc::new(Nfs4Share::open(export, &given, options)?),
            None if export.may_be_4() => open_newest(export, &given, options)?,
            _ => Arc::new(NfsShare::open(export, &given, options)?),
        },
        Target::Smb(share) => Arc::new(SmbShare::open(share, &given, options)?),
    })
}

/// Opens an export in the newest version that both sides have. As with mount.nfs(8), a directory that
/// version 4 does not have, or may not show, is asked for in version 3 or 2; nothing else that goes wrong
/// in the directory is.
fn open_newest(
    target: &NfsTarget,
    given: &str,
    options: &OpenOptions,
) -> Result<Arc<dyn Share>, Failure> {
    let Refused { failure: refused, older } = match Nfs4Share::try_open(target, given, options) {
        Ok(share) => return Ok(Arc::new(share)),
        Err(Refused { failure, older: Older::NoBetter }) => return Err(failure),
        Err(refused) => refused,
    };
    match NfsShare::open(target, given, options) {
        Ok(share) => Ok(Arc::new(share.noted(format!("not by version 4: {}", refused.happened)))),
        // Of a server that has version 4 alone.
        Err(failure) if failure.cause == Cause::Unreachable && refused.cause != failure.cause => {
            Err(refused)
        }
        Err(mut failure) => {
            if older == (Older::MayHaveDirectory { exports: true }) {
                failure.happened =
                    format!("by version 4: {}; {}", refused.happened, failure.happened);
                failure.next = of_both(&refused.next, &failure.next);
            }
            Err(failure)
        }
    }
}

/// The advice of version 4, which names exports, and of an older one. What to do about a missing directory stands before the
/// exports, and once.
fn of_both(newest: &str, older: &str) -> String {
    match older == MISSING_DIRECTORY {
        true => format!("{older} {}", newest.strip_prefix(older).unwrap_or(newest).trim_start()),
        false => format!("{newest} {older}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_on_a_missing_directory_stands_before_the_exports() {
        let exports = "Name one of the server's exports in version 4: nfs://nas/srv.";
        let expected = format!("{MISSING_DIRECTORY} {exports}");
        // Version 4 found the export too, or no directory of that name at its root.
        for newest in [&*expected, exports] {
            assert_eq!(of_both(newest, MISSING_DIRECTORY), expected);
        }
        let older = "Name one of the server's exports in version 3: nfs://nas/srv?vers=3.";
        assert_eq!(of_both(exports, older), format!("{exports} {older}"));
    }
}
