//! Labs and findings in words, and as JSON.

use super::Shipped;
use plimsoll_lab::doctor::Finding;
use plimsoll_lab::plan::{DiskKind, HostKind};
use plimsoll_lab::{DiskStatus, LabState, LabStatus};
use plimsoll_model::{Cause, Failure, printable_json};
use plimsoll_report::wrapped;
use serde::Serialize;
use std::fmt::Write;

/// As JSON, with a line break at the end.
pub fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| printable_json(&text) + "\n")
        .map_err(|e| Failure::new(Cause::Trial, "write JSON").on("standard output").happened(e))
}

/// The labs that are up, and those that can be brought up by their names.
pub fn list(up: &[LabStatus], shipped: &[Shipped]) -> String {
    let mut text = String::new();
    for lab in up {
        let hosts = lab.hosts.len();
        let hosts = format!("{hosts} host{}", if hosts == 1 { "" } else { "s" });
        let _ = writeln!(text, "{:<14} {}, {hosts}", lab.name, state(lab.state));
    }
    for Shipped { name, about } in shipped.iter().filter(|s| up.iter().all(|u| u.name != s.name)) {
        let _ = writeln!(text, "{name:<14} {about}");
    }
    text
}

fn state(state: LabState) -> &'static str {
    match state {
        LabState::Up => "up",
        LabState::ComingUp => "coming up",
        LabState::Incomplete => "incomplete: take it down with plimsoll lab down",
        LabState::Broken => "broken: a host has stopped",
    }
}

/// A lab in some lines.
pub fn lab(lab: &LabStatus) -> String {
    let mut text = format!("{}: {}\n", lab.name, state(lab.state));
    for (name, host) in &lab.hosts {
        let kind = match host.kind {
            HostKind::Netns => "namespaces",
            HostKind::Vm => "machine",
        };
        let addresses: Vec<String> =
            host.addresses.iter().map(|(link, address)| format!("{address} ({link})")).collect();
        let dead = match (host.starting, host.alive) {
            (true, true) => "  starting",
            (true, false) => "  not started yet",
            (false, true) => "",
            (false, false) => "  stopped",
        };
        let cpu = host.cpu.map_or_else(String::new, |share| format!("  {share} of a core"));
        let _ = writeln!(
            text,
            "  lab://{}/{name}  {kind}  {}{cpu}{dead}",
            lab.name,
            addresses.join(", ")
        );
    }
    for (name, host) in &lab.hosts {
        for (disk, what) in &host.disks {
            let _ = writeln!(text, "  {name}/{disk}: {}", self::disk(what));
        }
    }
    for (name, link) in &lab.links {
        let _ = write!(text, "  {name}: {}", link.between.join(" - "));
        if let Some(rate) = &link.rate {
            let _ = write!(text, "  {rate}");
        }
        if let Some(scaled) = link.shaped_rate.as_ref().filter(|s| Some(*s) != link.rate.as_ref()) {
            let _ = write!(text, " scaled to {scaled}");
        }
        if let Some(mtu) = link.mtu {
            let _ = write!(text, "  packets of {mtu} B");
        }
        if let Some(delay) = link.delay {
            let _ = write!(text, "  +{delay}");
        }
        if let Some(loss) = link.loss {
            let _ = write!(text, "  {loss} lost");
        }
        text.push('\n');
    }
    for note in &lab.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

/// A disk in some words.
fn disk(disk: &DiskStatus) -> String {
    let asked = &disk.asked;
    let mut text = format!("{} at {}", asked.size, asked.at);
    if asked.kind == DiskKind::Null {
        text.push_str("  memory");
    }
    if asked.encrypted {
        text.push_str("  encrypted");
    }
    if let Some(rate) = asked.rate {
        let _ = write!(text, "  {rate}");
    }
    if let Some(burst) = asked.burst {
        let _ = write!(text, ", {} for {} s", burst.rate, burst.seconds);
    }
    if let Some(latency) = asked.latency {
        let _ = write!(text, "  +{latency}");
    }
    if let Some(measured) = disk.measured_latency {
        // The rest is chance.
        let _ = write!(text, " (a read takes {:.1} ms)", measured.0 as f64 / 1000.0);
    }
    text
}

/// What this machine can do, each in a line if there is room.
pub fn findings(findings: &[Finding], columns: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let sign = if finding.good { "yes" } else { "no " };
        let name = format!("{sign}  {:<18} ", finding.what);
        text.push_str(&wrapped(&name, &finding.found, columns));
        if let Some(next) = &finding.next {
            text.push_str(&wrapped(&" ".repeat(name.len()), next, columns));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stay_within_the_terminal() {
        let long = "no kernel module, so links have no delay and no loss; ".repeat(3);
        let one = Finding {
            what: "netem".to_owned(),
            good: false,
            found: long.clone(),
            next: Some(long),
        };
        let shown = findings(&[one], 80);
        assert!(shown.lines().count() > 4, "{shown}");
        let begins =
            |line: &str| line.starts_with("no   netem ") || line.starts_with(&" ".repeat(24));
        assert!(shown.lines().all(|line| line.len() <= 80 && begins(line)), "{shown}");
    }
}
