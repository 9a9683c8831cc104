//! What a byte cost a host, and how much of that protecting and copying it may be, in words.

use super::{Shown, hosts, limits};
use crate::figure::CPU_PER_GB;
use crate::text::printable;
use crate::verdict::percent;
use plimsoll_explain::{ByteCosts, Checksum, Protected, byte_costs};
use plimsoll_model::{BoxFacts, HostName, Protection, StudyId};

/// A measurement by more than this share beyond what was seen is not of the means that were used.
const BEYOND: f64 = 1.1;

/// A host that was measured by itself.
pub struct RecordedDevice {
    /// The study in which it was measured.
    pub study: StudyId,
    /// What was found.
    pub facts: BoxFacts,
}

/// For each host that was measured by itself, a sentence on the work whose bytes cost it most.
pub(crate) fn sentences(shown: &Shown<'_>, devices: &[RecordedDevice]) -> Vec<String> {
    let known = |host: &HostName| devices.iter().find(|device| *host == *device.facts.given);
    let device = |host: &HostName| known(host).map(|known| &known.facts.device);
    let all = byte_costs(shown.study, &shown.findings.hosts, device);
    let most = |host: &str| {
        let own = all.iter().filter(|costs| costs.host == *host);
        own.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    };
    let of_host = |device: &RecordedDevice| {
        most(&device.facts.given).map(|costs| sentence(shown, costs, &device.study))
    };
    devices.iter().filter_map(of_host).collect()
}

fn sentence(shown: &Shown<'_>, costs: &ByteCosts, study: &StudyId) -> String {
    let work = shown.names.workload(costs.cell.workload);
    let whose = match shown.names.setups() {
        0 | 1 => work,
        _ => format!("{work} on {}", shown.names.setup(costs.cell)),
    };
    let mut parts: Vec<String> =
        costs.protected.iter().map(|protected| protecting(costs.seconds, protected)).collect();
    parts.extend(costs.copy_seconds.map(|seconds| {
        format!("each copy in memory {} (STREAM)", gigabytes(seconds, costs.seconds))
    }));
    parts.extend(costs.checksum.map(|checksum| checksumming(costs.seconds, checksum)));
    format!(
        "A gigabyte of {whose} takes {} of CPU time on {}. Costs on one core by plimsoll device ({}): {}.{}",
        amount(costs.seconds),
        hosts::name(&costs.host),
        printable(&study.0),
        parts.join("; "),
        without(shown, costs).unwrap_or_default()
    )
}

fn checksumming(all: f64, Checksum { seconds, by_interface }: Checksum) -> String {
    let takes = gigabytes(seconds, all);
    match by_interface {
        Some(true) => {
            format!("no checksums, because its network interfaces compute them (otherwise {takes})")
        }
        Some(false) => format!("checksums {takes} (its network interfaces compute none)"),
        None => format!("checksums {takes}, if its network interface computes none"),
    }
}

/// What a processor that is the limit would allow without protecting anything.
fn without(shown: &Shown<'_>, costs: &ByteCosts) -> Option<String> {
    let limits = limits::of_cell(shown, costs.cell)?;
    let more = costs.unprotected_per_second(limits)?;
    let now = limits.binding()?.alone_per_second?;
    let what = protects(&costs.protected.as_ref()?.protection);
    Some(format!(
        " Without {what}, its CPU alone would allow {} instead of {}.",
        limits::amount_of(shown, limits, more),
        limits::amount_of(shown, limits, now)
    ))
}

fn protects(protection: &Protection) -> &'static str {
    match protection {
        Protection::Encryption { .. } => "encryption",
        Protection::Signing { .. } => "signing",
    }
}

/// "5.20 s" for a gigabyte.
fn amount(seconds: f64) -> String {
    CPU_PER_GB.value(seconds).replace("/GB", "")
}

fn gigabytes(seconds: f64, of: f64) -> String {
    format!("{}, {}", amount(seconds), percent(seconds / of))
}

fn protecting(all: f64, Protected { protection, seconds }: &Protected) -> String {
    let what = protects(protection);
    let algorithm = printable(protection.algorithm());
    // GMAC is what authenticates in GCM.
    let at_most = if protection.algorithm().ends_with("GMAC") { "at most " } else { "" };
    match seconds {
        None => format!("{what} with {algorithm} was not measured on this host"),
        Some((seconds, by)) if *seconds > all * BEYOND => format!(
            "{what} with {algorithm} would take {at_most}{} with {by}: more than the total, so another \
             method was used",
            amount(*seconds)
        ),
        Some((seconds, by)) => {
            format!("{what} with {algorithm} {at_most}{} ({by})", gigabytes(*seconds, all))
        }
    }
}
