//! From a target to its share.

use crate::directory::DirectoryShare;
use crate::nfs::{NfsOptions, NfsShare};
use crate::share::Share;
use model::{Engine, Failure, Target};
use std::sync::Arc;

/// How targets are opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// The engine of directories; `None`: chosen by what the kernel allows and the depth.
    pub engine: Option<Engine>,
    /// Time limits of NFS shares.
    pub nfs: NfsOptions,
}

/// Opens a target: connects where there is something to connect to, and finds out what it is.
/// Nothing is left behind on it.
pub fn open(target: &Target, options: &OpenOptions) -> Result<Arc<dyn Share>, Failure> {
    let given = target.to_string();
    Ok(match target {
        Target::Directory(directory) => {
            Arc::new(DirectoryShare::open(directory, options.engine, &given)?)
        }
        Target::Nfs(export) => Arc::new(NfsShare::open(export, &given, options.nfs)?),
    })
}
