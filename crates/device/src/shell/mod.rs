//! The inventory of a host on which no probe runs: a few files of /proc, /sys and /etc, printed by
//! its shell. It sees less than the probe: nothing that needs a system call, such as offloads.

mod files;
mod network;
mod paths;
mod sections;

use super::clean::Odd;
use super::tool::{SMALL, in_english};
pub(super) use files::Files;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use serde_json::Value;

const SCRIPT: &str = include_str!("inventory.sh");

/// The sections that the shell's files tell of.
///
/// # Errors
/// The host cannot be reached, or has no shell that says anything.
pub(super) fn sections(reach: &dyn Reach, odd: &mut Odd) -> Result<Vec<Value>, Failure> {
    let ran = reach.run(&in_english(SCRIPT), &[], SMALL)?;
    if ran.cut {
        odd.add(
            "the shell's inventory: the output of the host is too long and was \
        truncated"
                .to_owned(),
        );
    }
    let sections = from_output(&String::from_utf8_lossy(&ran.output));
    match sections.is_empty() {
        false => Ok(sections),
        true => {
            let said = String::from_utf8_lossy(&ran.errors);
            let said = said.lines().next().unwrap_or("it printed nothing").to_owned();
            let next = "Log in to the host and check that /bin/sh can read /proc.";
            Err(Failure::new(Cause::Trial, "read the inventory")
                .on(reach.name())
                .happened(said)
                .next(next))
        }
    }
}

/// What the script printed, as sections; none where it printed nothing.
pub fn from_output(output: &str) -> Vec<Value> {
    let files = Files::parse(output);
    match files.text("uname -m").or(files.text("/proc/meminfo")) {
        Some(_) => sections::sections(&files),
        None => Vec::new(),
    }
}

/// What is printed of these paths, as sections.
pub(super) fn paths_from_output(output: &str, paths: &[String]) -> Vec<Value> {
    paths::sections(output, paths, &[])
}

/// What lies behind these paths.
///
/// # Errors
/// The host cannot be reached.
pub(super) fn paths(
    reach: &dyn Reach,
    paths: &[String],
    sections: &[Value],
) -> Result<Vec<Value>, Failure> {
    let ran = reach.run(&in_english(&paths::command(paths)), &[], SMALL)?;
    let disks = sections.iter().find(|section| section["section"] == "disks");
    let disks = disks.and_then(|section| section["disks"].as_array());
    Ok(paths::sections(
        &String::from_utf8_lossy(&ran.output),
        paths,
        disks.map_or(&[][..], Vec::as_slice),
    ))
}
