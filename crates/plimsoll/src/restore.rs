//! `plimsoll restore`: put back what killed runs left changed; and what stops a measurement of a
//! host until that is done.

use crate::{forgotten, hosts, output};
use clap::Args;
use plimsoll_model::{Cause, Failure, HostName, Plan, printable};
use plimsoll_reach::{Local, Reach, deploy};
use plimsoll_settings::{Entry, Journal, Process, Restored};
use std::fmt::Write;

// A doc comment would take the brackets for links.
const HOST_HELP: &str = "Host: local, ssh://[user@]host[:port] or lab://name/host; the journal on that host is \
read as well [default: all hosts in this machine's journal]";

#[derive(Args)]
pub struct RestoreArguments {
    #[arg(value_name = "HOST", help = HOST_HELP)]
    pub host: Option<String>,
    /// Also restore changes by runs of other machines or containers
    ///
    /// First make sure that no such run is alive: this machine cannot check that
    #[arg(long)]
    pub force: bool,
}

/// Restores every host that is meant; the exit code is that of the first thing that failed, and 1
/// where something had to be left.
pub fn run(arguments: &RestoreArguments) -> Result<u8, Failure> {
    let journal = Journal::of_this_user()?;
    journal.sweep()?;
    let (entries, unreadable) = journal.list()?;
    let named = match &arguments.host {
        Some(host) => vec![host.parse()?],
        None => each_once(entries),
    };
    let mut code = None;
    for file in &unreadable {
        let line = format!("kept {}: {}", printable(&file.path), printable(&file.why));
        output::print(&format!("{line}\n"))?;
        code = Some(Cause::Trial.exit_code());
    }
    if named.is_empty() && unreadable.is_empty() {
        output::print("nothing to restore\n")?;
    }
    if arguments.host.is_none() && !named.contains(&HostName::Local) {
        forgotten::note(&deploy::forgotten(&Local, &[]), Local.name());
    }
    for host in &named {
        let restored = hosts::open(host, true).and_then(|reach| {
            forgotten::note(&deploy::forgotten(&*reach, &[]), reach.name());
            plimsoll_settings::restore(&journal, host, &*reach, arguments.force)
        });
        let own = match restored {
            Ok(restored) => show(host, &restored)?,
            Err(failure) => {
                output::complain(&format!("plimsoll: {failure}"));
                Some(failure.cause.exit_code())
            }
        };
        code = code.or(own);
    }
    Ok(code.unwrap_or(0))
}

fn each_once(entries: Vec<Entry>) -> Vec<HostName> {
    let mut hosts: Vec<HostName> = Vec::new();
    for Entry { host, .. } in entries {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// Says what became of each setting of a host; the exit code where not all was done.
fn show(host: &HostName, restored: &Restored) -> Result<Option<u8>, Failure> {
    let (mut text, mut code) = (String::new(), None);
    for Entry { knob, study, .. } in &restored.done {
        let knob = printable(knob);
        let _ = writeln!(text, "restored {knob} on {host} to its value before study {study}");
    }
    for (Entry { knob, study, owner, .. }, process) in &restored.left {
        let knob = printable(knob);
        let why = match process {
            Process::Alive => {
                format!("study {study} is still running, as process {}", owner.process)
            }
            Process::Dead | Process::Unknown => format!(
                "study {study} of another machine or container may still be running; if it is not: \
                 plimsoll restore --force {host}"
            ),
        };
        let _ = writeln!(text, "kept {knob} on {host}: {why}");
        code = Some(Cause::Trial.exit_code());
    }
    for Entry { knob, study, .. } in &restored.gone {
        let knob = printable(knob);
        let _ = writeln!(
            text,
            "removed {knob} on {host} from the journal: study {study} changed it in namespaces that no longer exist"
        );
    }
    for (Entry { knob, study, origin, .. }, file) in &restored.elsewhere {
        let (knob, file) = (printable(knob), file.display().to_string());
        let namespaces = format!("{} {}", origin.network, origin.mounts);
        let _ = writeln!(
            text,
            "kept {knob} on {host}: study {study} changed it in other namespaces than the current ones \
             ({}). Run plimsoll restore {host} in those. If they no longer exist: rm {}",
            printable(&namespaces),
            printable(&file)
        );
        code = Some(Cause::Trial.exit_code());
    }
    for file in &restored.unreadable {
        let (path, why) = (printable(&file.path), printable(&file.why));
        let _ = writeln!(text, "kept {path} on {host}: {why}");
        code = Some(Cause::Trial.exit_code());
    }
    if text.is_empty() && restored.failed.is_empty() {
        let _ = writeln!(text, "nothing to restore on {host}");
    }
    output::print(&text)?;
    for (_, failure) in &restored.failed {
        output::complain(&format!("plimsoll: {failure}"));
    }
    Ok(restored.failed.first().map(|(_, failure)| failure.cause.exit_code()).or(code))
}

/// Puts back what a run of this plan that died left changed on the hosts of its factors. What cannot be is
/// found when they are measured.
pub fn of_plan(plan: &Plan) -> Result<(), Failure> {
    let mut hosts: Vec<&HostName> = plan.factors.iter().map(|factor| &factor.host).collect();
    hosts.dedup();
    for host in hosts {
        let journal = Journal::of_this_user()?;
        let reach = crate::hosts::open(host, true)?;
        for Entry { knob, study, .. } in
            plimsoll_settings::restore(&journal, host, &*reach, false)?.done
        {
            output::complain(&format!(
                "restored {knob} on {host} to its value before study {study}"
            ));
        }
    }
    Ok(())
}

/// Fails where an earlier run left a setting of one of these hosts changed, or of a server by its
/// name or address, as this machine's journal has it. For other hosts it is a warning.
pub fn expect_none_left(hosts: &[&HostName], servers: &[&str]) -> Result<(), Failure> {
    let named = |host: &HostName| match host {
        HostName::Ssh { host: name, .. } => {
            let same =
                |other: &&HostName| matches!(other, HostName::Ssh { host, .. } if host == name);
            servers.contains(&&**name) || hosts.iter().any(same)
        }
        HostName::Local | HostName::Lab { .. } | HostName::Iperf3 { .. } => hosts.contains(&host),
    };
    // Who has no place for a journal has left nothing in it.
    let Ok(journal) = Journal::of_this_user() else { return Ok(()) };
    plimsoll_settings::expect_none_left(&journal, named)?;
    for line in elsewhere(journal.list()?.0) {
        output::complain(&line);
    }
    Ok(())
}

/// A line for each host whose settings are changed, with what to do about it: of a run that is alive,
/// nothing.
fn elsewhere(mut entries: Vec<Entry>) -> Vec<String> {
    let alive = |entry: &Entry| entry.owner.process() == Process::Alive;
    // One that died asks for something to be done.
    entries.sort_by_key(alive);
    let mut lines: Vec<(HostName, String)> = Vec::new();
    for entry in entries {
        if lines.iter().any(|(host, _)| *host == entry.host) {
            continue;
        }
        let (host, study, process) = (&entry.host, printable(&entry.study), entry.owner.process);
        let line = match alive(&entry) {
            true => format!(
                "plimsoll: note: study {study} (process {process}) is running and has changed settings of {host}"
            ),
            false => format!(
                "plimsoll: note: a study left settings of {host} changed; to restore them: plimsoll restore {host}"
            ),
        };
        lines.push((entry.host, line));
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The same of this machine as a host, by the journal that it has as one.
pub fn expect_none_left_here() -> Result<(), Failure> {
    match plimsoll_settings::device::may_be_here() {
        true => plimsoll_settings::expect_none_left_on(&Local),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_settings::Origin;

    #[test]
    fn a_run_that_is_alive_is_named_and_its_restore_is_not_proposed() {
        let entry = |host: &str, dead: bool| {
            let (host, origin) = (host.parse().unwrap(), Origin::default());
            let knob = "sysctl:vm.swappiness".to_owned();
            let original = plimsoll_settings::Original::default();
            let mut entry = Entry::new(host, origin, knob, original, "0123abcd");
            entry.owner.started += u64::from(dead);
            entry
        };
        let lines = elsewhere(vec![
            entry("ssh://root@nas", false),
            entry("ssh://root@router", false),
            entry("ssh://root@router", true),
        ]);
        let [router, nas] = &lines[..] else { panic!("{lines:?}") };
        assert!(router.ends_with("plimsoll restore ssh://root@router"), "{router}");
        let process = format!("study 0123abcd (process {}) is running", std::process::id());
        assert!(nas.contains(&process) && !nas.contains("plimsoll restore"), "{nas}");
    }
}
