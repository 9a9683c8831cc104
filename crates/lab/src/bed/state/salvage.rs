//! Taking away a lab whose `bed.json` cannot be read: cut off, damaged, or of another version of this
//! program. What is certainly its is found by its mark and by its directory.

use super::process::{ProcessId, all, kill_all, marked};
use super::remains::{PATIENCE, failed, remove_group};
use super::{Directory, MARK_VARIABLE, names};
use crate::bed::{netns::group, vm};
use model::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// Letters of a mark.
const MARK_LENGTH: usize = 16;

/// Removes what can be found of it.
///
/// # Errors
/// Where nothing tells which processes are its, and some belong to no lab that can be read: those
/// are named, and nothing is removed.
pub(crate) fn salvage(directory: &Directory) -> Result<(), Failure> {
    let marks = marks(directory);
    let mut processes: Vec<ProcessId> =
        marks.iter().flat_map(|mark| marked(MARK_VARIABLE, mark)).collect();
    processes.extend(all().filter(|pid| is_machine(*pid, directory)).filter_map(ProcessId::of));
    if marks.is_empty() {
        let (strays, groups) = (strays(), stray_groups());
        if !strays.is_empty() || !groups.is_empty() {
            return Err(nothing_is_certain(directory, &strays, &groups));
        }
    }
    if !kill_all(&processes, PATIENCE) {
        return Err(failed(directory, "its processes do not end"));
    }
    for group in groups(&marks) {
        remove_group(&group).map_err(|error| {
            failed(directory, format!("the control group {} stays: {error}", group.display()))
        })?;
    }
    fs::remove_dir_all(directory.path()).map_err(|error| failed(directory, error))
}

/// The lab's mark, as it was written down apart and as it can be found in what there is.
fn marks(directory: &Directory) -> Vec<String> {
    let read = |name: &str| {
        let bytes = fs::read(directory.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let bed = read("bed.json");
    let in_bed = bed.split_once("\"mark\"").and_then(|(_, rest)| rest.split('"').nth(1));
    let apart = read("mark");
    let mut marks: Vec<String> = [in_bed, Some(apart.trim())]
        .into_iter()
        .flatten()
        .filter(|mark| is_mark(mark))
        .map(str::to_owned)
        .collect();
    marks.dedup();
    marks
}

fn is_mark(text: &str) -> bool {
    text.len() == MARK_LENGTH && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether a process is a machine whose monitor is in the lab's directory. Others may have that
/// among their words too, such as an editor.
fn is_machine(pid: u32, directory: &Directory) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    line.split('\0').any(|word| vm::is_monitor_in(word, directory.path()))
}

fn nothing_is_certain(directory: &Directory, strays: &[String], groups: &[String]) -> Failure {
    let mut happened = "what it has made cannot be read".to_owned();
    let mut orders = Vec::new();
    for (what, order, names) in
        [("processes", "kill -KILL", strays), ("control groups", "rmdir", groups)]
    {
        if !names.is_empty() {
            let names = names.join(" ");
            happened.push_str(&format!("; these {what} of labs may be its: {names}"));
            orders.push(format!("{order} {names}"));
        }
    }
    let place = directory.path().display();
    let next = format!(
        "Where they are: {}. Then, and where they are another lab's: rm -r {place}",
        orders.join("; ")
    );
    Failure { next, ..failed(directory, happened) }
}

/// The marks of labs here that can be read.
fn known_marks() -> Vec<String> {
    let beds = names().into_iter().filter_map(|name| Directory::of(&name).read().ok().flatten());
    beds.map(|bed| bed.mark).collect()
}

/// Processes of labs, of none here that can be read.
fn strays() -> Vec<String> {
    let known = known_marks();
    let start = format!("{MARK_VARIABLE}=");
    let stray = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let mut marks = environment.split('\0').filter_map(|one| one.strip_prefix(&start));
        marks.any(|mark| !known.iter().any(|known| known == mark))
    };
    all().filter(stray).map(|pid| pid.to_string()).collect()
}

/// Control groups are called after the mark.
const GROUP: &str = "plimsoll-lab-";

fn all_groups() -> Vec<PathBuf> {
    let Some(hierarchy) = group::Hierarchy::of_this_machine() else { return Vec::new() };
    let entries = fs::read_dir(hierarchy.path("")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| mark_of(path).is_some()).collect()
}

fn mark_of(group: &Path) -> Option<&str> {
    let mark = group.file_name()?.to_str()?.strip_prefix(GROUP)?.get(..MARK_LENGTH)?;
    is_mark(mark).then_some(mark)
}

fn groups(marks: &[String]) -> Vec<PathBuf> {
    let own = |path: &PathBuf| mark_of(path).is_some_and(|mark| marks.iter().any(|m| m == mark));
    all_groups().into_iter().filter(own).collect()
}

fn stray_groups() -> Vec<String> {
    let known = groups(&known_marks());
    let stray = all_groups().into_iter().filter(|path| !known.contains(path));
    stray.map(|path| path.display().to_string()).collect()
}
