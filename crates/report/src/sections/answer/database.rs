//! A database: the time of a commit, and whether the target is safe for one.

use super::names::Brief;
use crate::figure::TIME;
use crate::study::Shown;
use crate::text::printable;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::{DatabaseJob, Flag, Job, Measure, Metric, OpKind, Target, TargetFacts};
use std::collections::BTreeSet;

/// Mount options by which locks of programs stay on the client (nfs(5), mount.cifs(8)).
const LOCAL_LOCKS: [&str; 4] = ["nolock", "local_lock=all", "local_lock=posix", "nobrl"];
const FOR_SMB: &str = "Use NFS 4, or mount with nobrl if all programs run on one host.";
const ONE_PROGRAM: &str = "Use it only for a database that a single program opens.";

/// A sentence on commits and one on safety, of each target and setting.
pub(super) fn sentences(shown: &Shown<'_>, brief: &Brief) -> Vec<String> {
    let is_database = |found: &&WorkloadFindings| {
        found.workload.main().is_some_and(|main| matches!(main.job, Job::Database(_)))
    };
    let cells = shown.findings.workloads.iter().filter(is_database).flat_map(|found| &found.cells);
    let several = shown.names.setups() > 1;
    let (mut sentences, mut told) = (Vec::new(), BTreeSet::new());
    for cell in cells.filter(|cell| cell.complete > 0) {
        let subject = usize::from(cell.cell.subject);
        let name = if several { Some(brief.setup(shown, cell.cell)) } else { None };
        let named = |text: String| match &name {
            Some(name) => format!("{name}: {text}"),
            None => text,
        };
        sentences.extend(commits(cell).map(named));
        let facts = shown.study.subjects.get(subject).and_then(|known| known.storage());
        let target = shown.study.plan.target(subject);
        if let (Some(facts), Some(target)) = (facts, target)
            && told.insert((cell.cell.subject, cell.cell.setting))
        {
            let locks = Locks::found(&shown.study.flags, facts, cell);
            let memory = memory_not_shared(&shown.study.flags, facts);
            sentences.push(named(safety(facts, target, &locks, memory.as_deref())));
        }
    }
    sentences
}

/// "99% of commits take 4.21 ms at most, half of them 2.02 ms; the longest took 12.3 ms."
fn commits(cell: &CellFindings) -> Option<String> {
    let level = |measure| cell.levels.get(&Metric::all(measure));
    let longest = TIME.value(level(DatabaseJob::LONGEST_COMMIT)?.largest);
    let time = |measure| level(measure).map(|level| TIME.value(level.estimate));
    let (p50, p99) = (time(DatabaseJob::COMMIT_P50), time(DatabaseJob::COMMIT_P99));
    Some(match (p50, p99) {
        (Some(p50), Some(p99)) => format!(
            "99% of commits take {p99} at most, half of them {p50}; the longest took {longest}."
        ),
        (Some(p50), None) => format!(
            "Half of the commits take {p50} at most; the longest took {longest}. The 99th percentile needs \
             more commits: give a longer --time."
        ),
        (None, _) => format!("The longest commit took {longest}."),
    })
}

/// What locks on a target are worth.
#[derive(Debug, PartialEq, Eq)]
enum Locks {
    Exclusive,
    /// A second program got what was locked.
    Shared,
    Refused(String),
    /// A shared lock could not become exclusive.
    NotUpgraded(String),
    /// The protocol has none.
    None,
}

impl Locks {
    fn found(flags: &[Flag], facts: &TargetFacts, cell: &CellFindings) -> Locks {
        for flag in flags {
            match flag {
                Flag::SecondWriter { target } if *target == facts.given => return Locks::Shared,
                Flag::LockNotUpgraded { target, reason } if *target == facts.given => {
                    return Locks::NotUpgraded(printable(reason));
                }
                Flag::OperationRefused { target, operation: OpKind::LOCK, reason, .. }
                    if *target == facts.given =>
                {
                    return Locks::Refused(printable(reason));
                }
                _ => {}
            }
        }
        match cell.levels.contains_key(&Metric::for_kind(OpKind::LOCK, Measure::IOPS)) {
            true => Locks::Exclusive,
            false => Locks::None,
        }
    }
}

/// Why processes did not share memory by a file there, if that was tried and failed.
fn memory_not_shared(flags: &[Flag], facts: &TargetFacts) -> Option<String> {
    flags.iter().find_map(|flag| match flag {
        Flag::MemoryNotShared { target, reason } if *target == facts.given => {
            Some(printable(reason))
        }
        _ => None,
    })
}

fn has_option(facts: &TargetFacts, wanted: &str) -> bool {
    let mut options = facts.mount_options.as_deref().unwrap_or_default().split(',');
    options.any(|option| option == wanted)
}

fn not_upgraded(place: &str, reason: &str, next: &str) -> String {
    format!(
        "Locks keep a second program out, but SQLite on Linux fails {place} with \"database is locked\": a shared \
         lock cannot become exclusive ({reason}). {next}"
    )
}

/// Whether a database is safe there: locks, who sees them, and memory that programs share, or why not.
fn safety(
    facts: &TargetFacts,
    target: &Target,
    locks: &Locks,
    memory_not_shared: Option<&str>,
) -> String {
    match locks {
        Locks::Refused(reason) => {
            return format!(
                "Not safe for a database: locks are refused ({reason}). Two programs that write at the same time \
                 damage it. {ONE_PROGRAM}"
            );
        }
        Locks::Shared => {
            return format!(
                "Not safe for a database: a second program got a lock that was held. {ONE_PROGRAM}"
            );
        }
        Locks::None => {
            return format!(
                "Measured without locks, which {} does not have. {ONE_PROGRAM}",
                facts
                    .protocol
                    .nfs_version()
                    .map_or("the protocol".to_owned(), |version| format!("NFSv{version}"))
            );
        }
        Locks::NotUpgraded(reason) => {
            let place = match target {
                Target::Directory(_) => "here",
                _ => "on a mount of it",
            };
            let next = match facts.protocol.is_smb() {
                true => FOR_SMB,
                false => "Put the database on another server.",
            };
            return not_upgraded(place, reason, next);
        }
        Locks::Exclusive => {}
    }
    if !matches!(target, Target::Directory(_)) {
        return "Safe for a database: locks keep a second program out. Write-ahead logging (WAL) shares memory \
                (mmap): it needs a mount, and all programs on one host."
            .to_owned();
    }
    let not_shared = memory_not_shared.map(|reason| {
        format!(
            "Write-ahead logging (WAL) fails here: two processes could not share memory (mmap) by a file ({reason})."
        )
    });
    let one_host = not_shared.clone().unwrap_or_else(|| {
        "Write-ahead logging (WAL) shares memory (mmap): use it only if all programs run on one host.".to_owned()
    });
    let file_system = facts.protocol.file_system().unwrap_or_default();
    let mut options = facts.mount_options.as_deref().unwrap_or_default().split(',');
    match options.find(|option| LOCAL_LOCKS.contains(option)) {
        Some(option) => {
            let safe = format!(
                "Safe for a database only if all programs run on this host: the mount option {option} keeps locks \
                 from the server."
            );
            match not_shared {
                Some(not_shared) => format!("{safe} {not_shared}"),
                None => safe,
            }
        }
        // The trial locks for an open file, which that client can upgrade. SQLite locks for its process, which it refuses
        // (`experiments/database.rs`).
        None if facts.protocol.is_smb() && has_option(facts, "nounix") => {
            not_upgraded("here", "the kernel's SMB client refuses it to a process", FOR_SMB)
        }
        None if facts.protocol.is_of_server() => {
            format!("Safe for a database: locks keep a second program out. {one_host}")
        }
        // Names of file systems that are known have no spaces: of others nobody knows where their locks are.
        None if file_system.starts_with("fuse") || file_system.contains(' ') => format!(
            "Locks keep a second program on this host out. Whether other hosts see them depends on {file_system}. \
             {one_host}"
        ),
        None => match not_shared {
            Some(not_shared) => {
                format!("Safe for a database: locks keep a second program out. {not_shared}")
            }
            None => "Safe for a database: locks keep a second program out, and programs can share memory (mmap), \
                     which write-ahead logging (WAL) needs."
                .to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(target: &str, protocol: &str, options: Option<&str>, locks: &Locks) -> String {
        said_with(target, protocol, options, locks, None)
    }

    fn said_with(
        target: &str,
        protocol: &str,
        options: Option<&str>,
        locks: &Locks,
        memory_not_shared: Option<&str>,
    ) -> String {
        let facts = TargetFacts {
            given: target.to_owned(),
            protocol: protocol.into(),
            mount_options: options.map(str::to_owned),
            ..TargetFacts::default()
        };
        safety(&facts, &target.parse().unwrap(), locks, memory_not_shared)
    }

    #[test]
    fn what_makes_a_database_unsafe_is_named() {
        let url = "nfs://nas/a";
        let refused = Locks::Refused("NFS4ERR_LOCK_NOTSUPP".to_owned());
        for (locks, protocol, words) in [
            (&refused, "NFSv4.2 over TCP", &["Not safe", "refused (NFS4ERR_LOCK_NOTSUPP)"][..]),
            (&Locks::Shared, "NFSv4.2 over TCP", &["Not safe", "a second program got a lock"]),
            (&Locks::None, "NFSv3 over TCP", &["without locks, which NFSv3 does not have"]),
        ] {
            let said = said(url, protocol, None, locks);
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
            assert!(said.ends_with(ONE_PROGRAM), "{said}");
        }
    }

    /// The kernel's SMB client refuses to lock exclusively what it has locked as shared: sqlite3 said "database is
    /// locked" where this said "safe".
    #[test]
    fn locks_that_sqlite_cannot_use_are_named() {
        let locks = Locks::NotUpgraded("EACCES".to_owned());
        for (target, protocol, place) in [
            ("/mnt/smb", "directory on cifs", "fails here"),
            ("smb://nas/a", "SMB 3.1.1", "fails on a mount of it"),
        ] {
            let said = said(target, protocol, Some("rw,vers=3.1.1"), &locks);
            for words in [place, "\"database is locked\"", "(EACCES)", "nobrl"] {
                assert!(said.contains(words), "{said}");
            }
            assert!(!said.contains("Safe"), "{said}");
        }
        let mounted = said("/mnt/smb", "directory on cifs", Some("rw,nounix"), &Locks::Exclusive);
        assert!(mounted.contains("fails here") && !mounted.contains("Safe"), "{mounted}");
        let nfs = said("nfs://nas/a", "NFSv4.1 over TCP", None, &locks);
        assert!(nfs.contains("another server") && !nfs.contains("nobrl"), "{nfs}");
    }

    #[test]
    fn locks_on_a_mount_may_stay_on_the_client() {
        let said_of = |protocol, options| said("/mnt", protocol, Some(options), &Locks::Exclusive);
        let nfs = "rw,relatime,vers=4.2,local_lock=none,addr=192.0.2.1";
        assert!(said_of("directory on nfs4", nfs).starts_with("Safe for a database: locks keep"));
        assert!(said_of("directory on nfs4", nfs).contains("only if all programs run on one host"));
        for (protocol, options, option) in [
            ("directory on nfs", "rw,vers=3,nolock,local_lock=all", "nolock"),
            ("directory on nfs", "rw,vers=3,local_lock=posix", "local_lock=posix"),
            ("directory on cifs", "rw,vers=3.1.1,nobrl,cache=strict", "nobrl"),
        ] {
            let said = said_of(protocol, options);
            assert!(said.contains("on this host") && said.contains(option), "{said}");
        }
        assert!(said_of("directory on fuse.sshfs", "rw").contains("depends on fuse.sshfs"));
        let unknown = said_of("directory on a file system of type 0x786f4256", "rw");
        assert!(unknown.starts_with("Locks keep a second program on this host out."), "{unknown}");
        let local = said_of("directory on ext4", "rw,relatime");
        assert!(local.contains("can share memory"), "{local}");
        let smb = said("smb://nas/a", "SMB 3.1.1, not signed", None, &Locks::Exclusive);
        assert!(smb.contains("needs a mount, and all programs on one host"), "{smb}");
    }

    /// What programs on one host may do where they share memory, they may not where that failed.
    #[test]
    fn memory_that_is_not_shared_rules_write_ahead_logging_out() {
        let fails = "Write-ahead logging (WAL) fails here: two processes could not share memory (mmap) by a file \
                     (mmap: No such device).";
        for (protocol, options, begin) in [
            ("directory on ext4", "rw", "Safe for a database: locks keep a second program out."),
            ("directory on nfs4", "rw,local_lock=none", "Safe for a database: locks keep"),
            ("directory on nfs", "rw,vers=3,nolock", "Safe for a database only if"),
            ("directory on fuse.vmhgfs", "rw", "Locks keep a second program on this host out."),
        ] {
            let reason = Some("mmap: No such device");
            let said = said_with("/mnt", protocol, Some(options), &Locks::Exclusive, reason);
            assert!(said.starts_with(begin) && said.ends_with(fails), "{said}");
            let without = said_with("/mnt", protocol, Some(options), &Locks::Exclusive, None);
            assert!(!without.contains("fails here"), "{without}");
        }
        // Of another target, and of none.
        let facts = TargetFacts { given: "/mnt".to_owned(), ..TargetFacts::default() };
        let flag = |target: &str| Flag::MemoryNotShared {
            target: target.to_owned(),
            reason: "mmap: \u{1b}".to_owned(),
        };
        assert_eq!(memory_not_shared(&[flag("/data")], &facts), None);
        let found = memory_not_shared(&[flag("/data"), flag("/mnt")], &facts).unwrap();
        assert!(found.starts_with("mmap: ") && !found.contains('\u{1b}'), "{found}");
    }
}
