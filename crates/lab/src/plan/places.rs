//! Paths in plans.

use plimsoll_config::Problem;

/// Places in a namespace that are its own, where disks can be put without a trace on this machine.
pub(crate) const OWN_PLACES: [&str; 3] = ["/srv/", "/mnt/", "/media/"];

/// Paths stand in scripts and configuration files as they are.
pub(super) fn a_path(at: &[&str], path: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let parts = || path.split('/').skip(1);
    if path.starts_with('/')
        && path.chars().all(plain)
        && parts().all(|p| !matches!(p, "" | "." | ".."))
    {
        return Ok(());
    }
    let next = "Give an absolute path such as /srv/data, with letters, digits, '.', '_' and '-' \
    only.";
    Err(Problem::new(at, format!("`{path}` is not a plain absolute path"), next))
}
