//! Whether a host serves what another one mounts from it.

use super::{FileSystem, Host, Mount};
use plimsoll_config::{Problem, nearest};

pub(super) fn check(at: &[&str], mount: &Mount, server: &Host) -> Result<(), Problem> {
    let Mount { from, fs, .. } = mount;
    let shared: Vec<&str> = match fs {
        FileSystem::Nfs => {
            let nfsd = server.nfsd.iter().flat_map(|nfsd| &nfsd.exports).map(|e| e.path.as_str());
            let ganesha = server.ganesha.iter().flat_map(|g| &g.exports).map(|e| e.path.as_str());
            nfsd.chain(ganesha).collect()
        }
        FileSystem::Cifs => {
            server.samba.iter().flat_map(|samba| &samba.shares).map(|s| s.name.as_str()).collect()
        }
    };
    // NFS mounts directories inside an export, too.
    let serves = |shared: &&str| match from.path.strip_prefix(*shared) {
        Some(rest) => rest.is_empty() || (*fs == FileSystem::Nfs && rest.starts_with('/')),
        None => false,
    };
    if shared.iter().any(serves) {
        return Ok(());
    }
    let what = if *fs == FileSystem::Nfs { "NFS" } else { "SMB" };
    let happened = format!("`{}` does not serve `{}` by {what}", from.host, from.path);
    Err(Problem::new(at, happened, nearest(&from.path, &shared)))
}
