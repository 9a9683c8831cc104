//! From a target to its share.

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
        Err(failure) if older == (Older::MayHaveDirectory { exports: true }) => {
            Err(of_both(&refused, failure))
        }
        Err(failure) => Err(failure),
    }
}

/// What went wrong in version 4 and in an older one, whose advice comes first: the exports of version 4 may
/// be many.
fn of_both(newest: &Failure, older: Failure) -> Failure {
    Failure {
        happened: format!("by version 4: {}; {}", newest.happened, older.happened),
        next: format!("{} {}", older.next, newest.next),
        ..older
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_for_the_directory_stands_before_the_exports() {
        let of = |happened: &str, next: &str| {
            Failure::new(Cause::NotPermitted, "find the directory").happened(happened).next(next)
        };
        let newest = of("no such path", "Name one of the server's exports: nfs://nas/srv.");
        let both = of_both(&newest, of("'film' does not exist", "Create the directory."));
        assert_eq!(both.happened, "by version 4: no such path; 'film' does not exist");
        let next = "Create the directory. Name one of the server's exports: nfs://nas/srv.";
        assert_eq!(both.next, next);
    }
}
