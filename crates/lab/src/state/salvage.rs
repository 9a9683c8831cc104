//! Taking away a lab whose `bed.json` cannot be read: cut off, damaged, or of another version of this
//! program. What is its is found by its directory and its mark.

use super::remains::{PATIENCE, failed, remove_group};
use super::{DIRECTORY_VARIABLE, Directory, MARK_VARIABLE};
use crate::{netns::group, vm};
use plimsoll_model::Failure;
use plimsoll_process::{ProcessId, all, kill_all, marked, variable};
use std::fs;
use std::path::{Path, PathBuf};

/// Letters of a mark.
const MARK_LENGTH: usize = 16;

/// Removes what can be found of it.
///
/// # Errors
/// Where nothing tells its mark any more, and there are control groups of labs without processes:
/// those are named.
pub(crate) fn salvage(directory: &Directory) -> Result<(), Failure> {
    let path = directory.path().display().to_string();
    let mut processes = marked(DIRECTORY_VARIABLE, &path);
    let mut marks = marks(directory);
    marks.extend(processes.iter().filter_map(|process| variable(process.pid, MARK_VARIABLE)));
    processes.extend(marks.iter().flat_map(|mark| marked(MARK_VARIABLE, mark)));
    processes
        .extend(all().filter(|pid| is_machine(*pid, directory)).filter_map(ProcessId::from_pid));
    if !kill_all(&processes, PATIENCE) {
        return Err(failed(directory, "its processes do not end"));
    }
    for group in groups(&marks) {
        remove_group(&group).map_err(|error| {
            failed(
                directory,
                format!("the control group {} could not be removed: {error}", group.display()),
            )
        })?;
    }
    let strays = if marks.is_empty() { stray_groups() } else { Vec::new() };
    if !strays.is_empty() {
        let strays = strays.join(" ");
        let happened = format!(
            "these control groups may belong to this lab or to another: \
        {strays}"
        );
        let next = format!(
            "They hold no processes. To remove them: rmdir {strays}; then rm -r \
        {path}"
        );
        return Err(Failure { next, ..failed(directory, happened) });
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

/// Control groups are called after the mark.
const GROUP: &str = "plimsoll-lab-";

fn all_groups() -> Vec<PathBuf> {
    let Some(hierarchy) = group::Hierarchy::of_this_machine() else { return Vec::new() };
    let root = hierarchy.path("");
    let counting = group::accounting(&hierarchy.path(GROUP));
    let counting = counting.as_deref().and_then(Path::parent);
    let roots = std::iter::once(root.as_path()).chain(counting);
    let entries = roots.flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
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

/// Those whose lab has no process, whoever's it was.
fn stray_groups() -> Vec<String> {
    let used: Vec<String> = all().filter_map(|pid| variable(pid, MARK_VARIABLE)).collect();
    let used = groups(&used);
    let stray = all_groups().into_iter().filter(|path| !used.contains(path));
    stray.map(|path| path.display().to_string()).collect()
}
