//! A share of a core: control groups, version 1 or 2.
//!
//! A quota stutters: within each period a host runs at full speed until its share is used up, and
//! then stands still. It is not a slower processor. Of a host in namespaces it holds for processes
//! alone: packets are passed on in interrupts of the kernel. Of a machine it holds for all of it.

use crate::plan::Percent;
use crate::state::Holder;
use plimsoll_model::{Cause, Failure};
use std::fs;
use std::path::{Path, PathBuf};

/// The period of a quota. The kernel takes no quota below [`LEAST_QUOTA_US`], so that of small
/// shares is longer.
pub(crate) const PERIOD_US: u64 = 5_000;

const LEAST_QUOTA_US: u64 = 1_000;

/// Where quotas can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// Version 1, with the controller `cpu` mounted there.
    V1(PathBuf),
    /// Version 2.
    V2(PathBuf),
}

impl Hierarchy {
    /// The one of this machine; `None` where none has a controller for processors.
    pub fn of_this_machine() -> Option<Hierarchy> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let found = mounts.lines().find_map(in_version_1);
        let second = || {
            let roots = mounts.lines().filter_map(in_version_2);
            let has_cpu = |root: &PathBuf| {
                let controllers = fs::read_to_string(root.join("cgroup.controllers"));
                controllers.is_ok_and(|all| all.split_whitespace().any(|one| one == "cpu"))
            };
            roots.into_iter().find(has_cpu).map(Hierarchy::V2)
        };
        found.or_else(second)
    }

    /// Where the group of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Hierarchy::V1(root) | Hierarchy::V2(root) => root.join(name),
        }
    }

    /// The number of the version.
    pub fn version(&self) -> u8 {
        match self {
            Hierarchy::V1(_) => 1,
            Hierarchy::V2(_) => 2,
        }
    }
}

/// Mount point, type and options of a line of mountinfo (proc(5)).
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    let mut right = right.split(' ');
    Some((left.split(' ').nth(4)?, right.next()?, right.nth(1)?))
}

fn in_version_1(line: &str) -> Option<Hierarchy> {
    let (at, kind, options) = fields(line)?;
    let has_cpu = kind == "cgroup" && options.split(',').any(|option| option == "cpu");
    has_cpu.then(|| Hierarchy::V1(PathBuf::from(at)))
}

fn in_version_2(line: &str) -> Option<PathBuf> {
    let (at, kind, _) = fields(line)?;
    (kind == "cgroup2").then(|| PathBuf::from(at))
}

/// The group of the same name that counts what its processes use, where version 1 has that apart; else the
/// group itself counts it.
pub(crate) fn accounting(path: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let root = mounts.lines().find_map(accounts_in_version_1)?;
    let parent = path.parent()?;
    let apart = parent != root && parent.join("cpu.cfs_period_us").exists();
    apart.then(|| root.join(path.file_name().unwrap_or_default()))
}

fn accounts_in_version_1(line: &str) -> Option<PathBuf> {
    let (at, kind, options) = fields(line)?;
    let has = kind == "cgroup" && options.split(',').any(|option| option == "cpuacct");
    has.then(|| PathBuf::from(at))
}

/// A group, and the one beside it that counts, if there is one.
pub(crate) fn both(path: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(path.to_owned()).chain(accounting(path).filter(|path| path.exists()))
}

/// The hierarchy, or a word on why there is none.
pub(crate) fn hierarchy() -> Result<Hierarchy, Failure> {
    Hierarchy::of_this_machine().ok_or_else(|| {
        let happened = "no CPU controller of control groups is mounted";
        let next = "Omit cpu in the lab file, or mount cgroup2 at /sys/fs/cgroup.";
        Failure::new(Cause::Usage, "limit a host to a share of a core")
            .on("cpu")
            .happened(happened)
            .next(next)
    })
}

/// Makes a group without a limit and puts a holder into it; what it starts stays in it.
pub(crate) fn make(path: &Path, holder: &Holder) -> Result<(), Failure> {
    fs::create_dir(path).map_err(|error| failed(path, &error))?;
    if let Some(counting) = accounting(path) {
        fs::create_dir(&counting).map_err(|error| failed(&counting, &error))?;
    }
    for (process, group) in
        holder.processes.iter().flat_map(|process| both(path).map(move |group| (process, group)))
    {
        write(&group.join("cgroup.procs"), &process.pid.to_string())?;
    }
    Ok(())
}

/// Takes in all that runs in a host of namespaces: what was started before it had a group. A machine is
/// one process, which is in already.
pub(crate) fn take_in(path: &Path, holder: &Holder) -> Result<(), Failure> {
    let Some(inside) = holder.inside else { return Ok(()) };
    let network = |pid: &str| fs::read_link(Path::new("/proc").join(pid).join("ns/net")).ok();
    let Some(own) = network(&inside.pid.to_string()) else { return Ok(()) };
    // What is started meanwhile by a process that is not in yet is taken in by the next round.
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let known = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
        let known: Vec<&str> = known.lines().collect();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = processes.filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = processes.filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        let outside: Vec<String> = numbers
            .filter(|pid| !known.contains(&pid.as_str()))
            .filter(|pid| network(pid).as_ref() == Some(&own))
            .collect();
        if outside.is_empty() {
            break;
        }
        for (pid, group) in outside.iter().flat_map(|pid| both(path).map(move |group| (pid, group)))
        {
            match fs::write(group.join("cgroup.procs"), pid) {
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => {}
                written => written.map_err(|error| failed(&group, &error))?,
            }
        }
    }
    Ok(())
}

/// Takes the limit of a group away.
pub(crate) fn lift(path: &Path) -> Result<(), Failure> {
    match path.join("cpu.cfs_quota_us") {
        quota if quota.exists() => write(&quota, "-1"),
        _ => write(&path.join("cpu.max"), "max"),
    }
}

/// Sets the share of a group.
pub(crate) fn limit(path: &Path, share: Percent) -> Result<(), Failure> {
    let (quota_us, period_us) = quota(share);
    if path.join("cpu.cfs_period_us").exists() {
        // The quota first taken away, for the two are checked against each other.
        lift(path)?;
        write(&path.join("cpu.cfs_period_us"), &period_us.to_string())?;
        return write(&path.join("cpu.cfs_quota_us"), &quota_us.to_string());
    }
    if !path.join("cpu.max").exists()
        && let Some(root) = path.parent()
    {
        write(&root.join("cgroup.subtree_control"), "+cpu")?;
    }
    write(&path.join("cpu.max"), &format!("{quota_us} {period_us}"))
}

/// Quota and period in microseconds.
fn quota(share: Percent) -> (u64, u64) {
    let thousandths = u64::from(share.0).max(1);
    let quota = (PERIOD_US * thousandths / 100_000).max(LEAST_QUOTA_US);
    (quota, (quota * 100_000 / thousandths).max(PERIOD_US))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let next = "Omit cpu in the lab file; plimsoll lab doctor shows what this machine supports.";
    Failure::new(Cause::NotPermitted, "limit a host to a share of a core")
        .on(path.display())
        .happened(error)
        .next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_as_quotas() {
        assert_eq!(quota(Percent(50_000)), (2_500, 5_000));
        assert_eq!(quota(Percent(100_000)), (5_000, 5_000));
        assert_eq!(quota(Percent(20_000)), (1_000, 5_000));
        assert_eq!(quota(Percent(1_000)), (1_000, 100_000), "a small share has a longer period");
    }

    #[test]
    fn both_versions_are_found() {
        let v1 = "33 32 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        let at = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct");
        assert_eq!(in_version_1(v1), Some(Hierarchy::V1(at)));
        assert_eq!(in_version_1(&v1.replace("rw,cpu,cpuacct", "rw,cpuset")), None);
        let v2 = "26 20 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(in_version_2(v2), Some(PathBuf::from("/sys/fs/cgroup")));
    }
}
