//! The one fresh directory that a run works in, and how leftovers of dead runs are removed.
//!
//! Only what plimsoll made is ever removed: directories named `.plimsoll-<study>-<random>`, or without the
//! dot on servers that refuse it, and in them only files of the few names below and trees of names of our
//! making. Links are never followed.

use crate::lease::{LEASE_FILE, LEASE_LIMIT, Lease, LeaseState};
use plimsoll_load::{
    Entry, EntryKind, Namespace, is_test_file, is_tree, remove_tree, test_file_names,
};
use plimsoll_model::{Cause, Deadline, Failure, Flag, StudyId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Whether a file in a run's directory can be the run's.
fn is_own_file(name: &str) -> bool {
    name == LEASE_FILE || is_test_file(name)
}

const PREFIX: &str = "plimsoll-";
/// The name's first character, unless the server refuses such names.
const HIDDEN: char = '.';

/// How long a directory without a readable lease may be one that is just being made, or removed.
const SETTLE: Duration = Duration::from_secs(2);

/// How long it may take to remove a directory that holds nothing yet.
const UNDO: Duration = Duration::from_secs(5);

/// A run directory that this process made.
pub struct RunDirectory {
    namespace: Box<dyn Namespace>,
    name: String,
    study: StudyId,
    silence: Duration,
}

impl RunDirectory {
    /// Makes a fresh directory with a lease in it. `silence` is the longest time between two calls
    /// of [`RunDirectory::renew`].
    pub fn make(
        mut namespace: Box<dyn Namespace>,
        study: &StudyId,
        random: u32,
        silence: Duration,
        deadline: &Deadline,
    ) -> Result<Self, Failure> {
        let name = make_one(&mut *namespace, &format!("{PREFIX}{study}-{random:08x}"))?;
        let mut made = RunDirectory { namespace, name, study: study.clone(), silence };
        if let Err(failure) = made.renew() {
            // A full disk has room for a name but not for the lease: leave nothing behind, also
            // when it is asked to stop.
            deadline.finish_within(UNDO);
            return Err(match made.remove(&mut || {}) {
                Ok(()) => failure,
                Err(_) => perhaps_made(failure, &made.name),
            });
        }
        Ok(made)
    }

    /// Its name on the target.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names below the target, and its own among them.
    pub fn names(&mut self) -> (&mut dyn Namespace, &str) {
        (&mut *self.namespace, &self.name)
    }

    /// Goes on with another connection.
    pub fn reconnect(&mut self, namespace: Box<dyn Namespace>) {
        self.namespace = namespace;
    }

    /// Writes the lease anew.
    pub fn renew(&mut self) -> Result<(), Failure> {
        let lease = Lease::of_this_process(&self.study.0, self.silence);
        self.namespace.write_small(&self.path(LEASE_FILE), &lease.to_bytes())
    }

    /// Removes everything that it holds of ours, and itself. `progress` is called with every file of a
    /// tree that is gone.
    pub fn remove(&mut self, progress: &mut dyn FnMut()) -> Result<(), Failure> {
        match remove_one(&mut *self.namespace, &self.name, progress) {
            Ok(foreign) if foreign.is_empty() => Ok(()),
            Ok(foreign) => Err(foreign_files(&self.name, &foreign)),
            Err(failure) if matches!(failure.cause, Cause::Trial | Cause::NotPermitted) => {
                self.remove_unlisted().map_err(|_| failure)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The same where the server does not say what it holds: all that can be of ours.
    fn remove_unlisted(&mut self) -> Result<(), Failure> {
        // The lease is the last one removed.
        for file in test_file_names().chain([LEASE_FILE.to_owned()]) {
            // What is not there cannot be removed; what cannot be shows by the directory itself.
            let _ = self.namespace.remove_file(&self.path(&file));
        }
        self.namespace.remove_directory(&self.name)
    }

    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.name)
    }
}

/// Makes a directory of this name with a dot before it, and returns the name; without the dot where the
/// server refuses that (`veto files = /.*/` of Samba). Where it refuses both, the first refusal counts.
fn make_one(namespace: &mut dyn Namespace, visible: &str) -> Result<String, Failure> {
    let hidden = format!("{HIDDEN}{visible}");
    let refused = match namespace.make_directory(&hidden) {
        Ok(()) => return Ok(hidden),
        Err(refused) if refused.cause == Cause::NotPermitted => refused,
        Err(failure) => return Err(perhaps_made(failure, &hidden)),
    };
    match namespace.make_directory(visible) {
        Ok(()) => Ok(visible.to_owned()),
        Err(failure) if failure.cause == Cause::NotPermitted => Err(refused),
        Err(failure) => Err(perhaps_made(failure, visible)),
    }
}

/// A run directory found on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Whether its run is alive.
    pub state: LeaseState,
}

/// Every run directory on the target. `wait` is called once where a directory may be in the making.
pub fn find(namespace: &mut dyn Namespace, wait: &dyn Fn(Duration)) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    let mut waited = false;
    for name in names(namespace)? {
        let mut state = state_of(namespace, &name);
        if state.is_none() && !waited {
            wait(SETTLE);
            waited = true;
            state = state_of(namespace, &name);
        }
        found.push(Found { name, state: state.unwrap_or(LeaseState::Dead) });
    }
    Ok(found)
}

/// The names of the run directories on the target, in order.
fn names(namespace: &mut dyn Namespace) -> Result<Vec<String>, Failure> {
    let entries = namespace.list("")?.into_iter();
    let ours = entries.filter(|e| e.kind == EntryKind::Directory && is_run_directory(&e.name));
    let mut names: Vec<String> = ours.map(|e| e.name).collect();
    names.sort();
    Ok(names)
}

/// What `clean` did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// Directories removed.
    pub removed: Vec<String>,
    /// Directories of live runs, untouched.
    pub live: Vec<String>,
    /// Directories of dead runs that could not be removed whole, and why.
    pub left: Vec<(String, String)>,
}

/// Removes the leftovers of dead runs, or of those of one study, and nothing else. `wait` is called where
/// a directory may be in the making, or being removed by another client of the study.
pub fn clean(
    namespace: &mut dyn Namespace,
    of: Option<&StudyId>,
    wait: &dyn Fn(Duration),
) -> Result<Cleaned, Failure> {
    let mut cleaned = Cleaned::default();
    for Found { name, state } in find(namespace, wait)? {
        if of.is_some_and(|study| !belongs_to(&name, study)) {
            continue;
        }
        match state {
            LeaseState::Live => cleaned.live.push(name),
            LeaseState::Unknown(why) => cleaned.left.push((name, why)),
            LeaseState::Dead => match remove_one(namespace, &name, &mut || {}) {
                Ok(foreign) if foreign.is_empty() => cleaned.removed.push(name),
                Ok(foreign) => {
                    let why = format!(
                        "it contains files that plimsoll did not create: {}",
                        foreign.join(", ")
                    );
                    cleaned.left.push((name, why));
                }
                Err(failure) => cleaned.left.push((name, failure.happened)),
            },
        }
    }
    if !cleaned.left.is_empty() {
        // The clients of a study end together: each may be removing its own at the same time.
        if of.is_some() {
            wait(SETTLE);
        }
        // What was removed is reported in any case.
        if let Ok(there) = names(namespace) {
            cleaned.left.retain(|(name, _)| there.contains(name));
        }
    }
    Ok(cleaned)
}

/// What a run directory says of its run; `None` where its lease is torn or not there yet.
fn state_of(namespace: &mut dyn Namespace, name: &str) -> Option<LeaseState> {
    let unknown = |happened: &str| {
        let why = format!("its lease cannot be read ({happened}), so its run may still be alive");
        Some(LeaseState::Unknown(why))
    };
    let entries = match namespace.list(name) {
        Ok(entries) => entries,
        Err(failure) => return unknown(&failure.happened),
    };
    if !entries.iter().any(|e| e.name == LEASE_FILE) {
        // The lease is the first file made and the last one removed.
        let holds = |e: &Entry| is_own_file(&e.name) || is_tree(e);
        let files = || LeaseState::Unknown("it contains files of a run, but no lease".to_owned());
        return entries.iter().any(holds).then(files);
    }
    match namespace.read_small(&format!("{name}/{LEASE_FILE}"), LEASE_LIMIT) {
        Ok(bytes) => match Lease::from_bytes(&bytes) {
            Some(lease) => Some(lease.state()),
            None if Lease::is_torn(&bytes, study_of(name)) => None,
            None => {
                Some(LeaseState::Unknown(format!("its {LEASE_FILE} is not the lease of a run")))
            }
        },
        Err(failure) => unknown(&failure.happened),
    }
}

/// Removes our files in one run directory, and it if nothing else is in it. Returns the names that
/// are not ours. The lease goes last: while files are left, their directory stays recognisable.
fn remove_one(
    namespace: &mut dyn Namespace,
    name: &str,
    progress: &mut dyn FnMut(),
) -> Result<Vec<String>, Failure> {
    let mut foreign = Vec::new();
    let mut lease = false;
    for entry in namespace.list(name)? {
        if is_tree(&entry) {
            foreign.extend(remove_tree(namespace, &format!("{name}/{}", entry.name), progress)?);
        } else if entry.kind != EntryKind::File || !is_own_file(&entry.name) {
            foreign.push(entry.name);
        } else if entry.name == LEASE_FILE {
            lease = true;
        } else {
            namespace.remove_file(&format!("{name}/{}", entry.name))?;
        }
    }
    if foreign.is_empty() {
        if lease {
            namespace.remove_file(&format!("{name}/{LEASE_FILE}"))?;
        }
        namespace.remove_directory(name)?;
    }
    Ok(foreign)
}

/// A failure after which the directory may be there: a server that says nothing may have made it.
fn perhaps_made(mut failure: Failure, name: &str) -> Failure {
    if matches!(failure.cause, Cause::Unreachable | Cause::Interrupted | Cause::Terminated) {
        let (target, directory) = (failure.on.clone(), name.to_owned());
        let clean = Flag::NotCleaned { target, directory, on: None }.advice();
        failure.next = format!("{} {name} may remain on the target. {clean}", failure.next);
    }
    failure
}

fn foreign_files(name: &str, foreign: &[String]) -> Failure {
    Failure::new(Cause::Trial, "remove the run's directory")
        .on(name)
        .happened(format!("it contains files that plimsoll did not create: {}", foreign.join(", ")))
        .next("Move these files elsewhere, then remove the directory.")
}

/// The study and the number in the name of a run directory, `[.]plimsoll-<study>-<number>`.
fn parts(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(HIDDEN).unwrap_or(name).strip_prefix(PREFIX)?.split_once('-')
}

/// Whether a run directory is of this study.
fn belongs_to(name: &str, study: &StudyId) -> bool {
    parts(name).is_some_and(|(of, _)| of == study.0)
}

/// How far apart the numbers of one run's directories can be: every client and target has the next.
const OF_ONE_RUN: u32 = 1 << 21;

/// Whether a directory is of the run of this study whose own directory has this number. Earlier runs of
/// a study that is continued drew other numbers.
pub(crate) fn is_of_run(name: &str, study: &StudyId, number: u32) -> bool {
    let other = parts(name).filter(|(of, _)| *of == study.0);
    other.and_then(|(_, digits)| u32::from_str_radix(digits, 16).ok()).is_some_and(|other| {
        other.wrapping_sub(number).min(number.wrapping_sub(other)) < OF_ONE_RUN
    })
}

/// The study in the name of a run directory.
fn study_of(name: &str) -> &str {
    parts(name).map_or("", |(study, _)| study)
}

/// Whether a name is exactly `.plimsoll-<8 hex digits>-<8 hex digits>`, with or without the dot.
fn is_run_directory(name: &str) -> bool {
    let hex = |s: &str| {
        s.len() == 8 && s.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    parts(name).is_some_and(|(study, random)| hex(study) && hex(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_ours() {
        assert!(is_run_directory(".plimsoll-0123abcd-00ff00ff"));
        assert!(
            is_run_directory("plimsoll-0123abcd-00ff00ff"),
            "where names with a dot are refused"
        );
        for other in [
            ".plimsoll-0123abcd-00ff00f",
            ".plimsoll-0123abcd-00ff00ff0",
            ".plimsoll-0123ABCD-00ff00ff",
            ".plimsoll-0123abcd-00ff00ff/..",
            "..plimsoll-0123abcd-00ff00ff",
            "my-plimsoll-0123abcd-00ff00ff",
            "plimsoll-0123abcd",
            ".plimsoll-",
            ".plimsoll",
        ] {
            assert!(!is_run_directory(other), "{other}");
        }
    }
    #[test]
    fn an_earlier_run_of_a_study_is_another_run() {
        let study = StudyId("0123abcd".into());
        let of_run = |name: &str, number| is_of_run(name, &study, number);
        assert!(of_run(".plimsoll-0123abcd-00ff00ff", 0x00ff_00ff));
        assert!(of_run(".plimsoll-0123abcd-00ff00ff", 0x00ff_00fe), "the next target");
        assert!(of_run(".plimsoll-0123abcd-00ff00ff", 0x0100_00ff), "another client");
        assert!(of_run(".plimsoll-0123abcd-00000000", u32::MAX), "numbers go round");
        assert!(!of_run(".plimsoll-0123abcd-00ff00ff", 0x10ff_00ff));
        assert!(!of_run(".plimsoll-0123abce-00ff00ff", 0x00ff_00ff));
    }
}
