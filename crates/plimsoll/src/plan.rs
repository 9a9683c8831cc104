//! Arguments become a plan: every default is decided here.

use crate::arguments::{self, Design, HostArguments, RuleArguments, WorkloadArguments};
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::{
    Cause, Failure, HostName, Layout, Pattern, Plan, Rule, ServerHost, Target, Workload,
};
use plimsoll_stats::stein::Stein;
use std::num::NonZeroU16;

/// Blocks of the pilot of the stop rule.
const PILOT: u32 = Stein::PILOT as u32;
/// Family-wise confidence of intervals and verdicts.
const CONFIDENCE: f64 = 0.95;
const DEFAULT_SIZE: Bytes = Bytes(GIB);
const DEFAULT_CAP_SECONDS: f64 = 600.0;
const DEFAULT_TRIAL_SECONDS: f64 = 5.0;
const BASELINE_SECONDS: f64 = 5.0;
const QUICK_CAP_SECONDS: f64 = 60.0;
const QUICK_BLOCKS: u32 = 3;
const QUICK_BASELINE_SECONDS: f64 = 1.0;
/// Share of the cap that trials of the first blocks may take; the rest is for laying out files.
const TRIALS_SHARE: f64 = 0.65;
/// Shortest trial that the program chooses by itself.
const SHORTEST_SECONDS: f64 = 0.5;

/// The plan for `check`.
pub fn check(
    targets: Vec<Target>,
    hosts: &HostArguments,
    what: &WorkloadArguments,
    how: &RuleArguments,
) -> Result<Plan, Failure> {
    let on = hosts.on.as_deref().map(str::parse::<HostName>).transpose()?;
    let hosts = servers(&hosts.hosts, &targets)?;
    let size = match (what.size, what.server_memory) {
        (Some(size), _) => size,
        // As much as there is: it is known when the file is open.
        (None, _) if what.file.is_some() => Bytes(i64::MAX as u64),
        (None, Some(memory)) => Bytes(memory.0.saturating_mul(2)),
        (None, None) => DEFAULT_SIZE,
    };
    let mut patterns = what.patterns.clone();
    patterns.sort();
    patterns.dedup();
    if patterns.is_empty() {
        patterns = Pattern::ALL.to_vec();
        patterns.retain(|pattern| what.file.is_none() || !pattern.writes());
    }
    if let Some(file) = &what.file {
        only_reads(file, &patterns, what.verify)?;
    }
    let layout = match what.design {
        Some(Design::Jonfk2024) => Layout::Shared,
        None => Layout::Disjoint,
    };
    let workloads = patterns
        .into_iter()
        .map(|pattern| {
            let block = what.block.unwrap_or(pattern.default_block());
            let workload = Workload {
                pattern,
                block,
                size: whole_ranges(size, block, what.workers, layout)?,
                workers: what.workers,
                depth: what.depth,
                layout,
                stability: what.stability.into(),
                verify: what.verify,
            };
            Ok(workload)
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let cap_seconds = match (how.quick, how.max_time) {
        (true, _) => QUICK_CAP_SECONDS,
        (false, Some(cap)) => cap.as_secs_f64(),
        (false, None) => DEFAULT_CAP_SECONDS,
    };
    let rule = match (how.quick, how.repeats) {
        (true, _) => Rule::Fixed { blocks: QUICK_BLOCKS },
        (false, Some(blocks)) => Rule::Fixed { blocks },
        (false, None) => Rule::Stein {
            pilot: PILOT,
            half_width: Stein::half_width_for(how.margin).unwrap_or(how.margin / 2.0),
        },
    };
    let first_blocks = match rule {
        Rule::Stein { pilot, .. } => pilot,
        Rule::Fixed { blocks } => blocks,
    };
    let first_trials = (targets.len() * workloads.len()) as f64 * f64::from(first_blocks);
    let fitting = (cap_seconds * TRIALS_SHARE / first_trials).max(SHORTEST_SECONDS);
    let trial_seconds = match how.time {
        Some(time) if time.as_secs_f64() < 0.1 => {
            return Err(Failure::new(
                Cause::Usage,
                "plan the trials",
                "--time",
                "a trial must last at least 100 ms",
                "Give --time 1s or more for figures one can trust.",
            ));
        }
        Some(time) => time.as_secs_f64(),
        None => DEFAULT_TRIAL_SECONDS.min(fitting),
    };
    let baseline_seconds = match (how.baseline, how.quick) {
        (Some(time), _) => time.as_secs_f64(),
        (None, true) => QUICK_BASELINE_SECONDS,
        (None, false) => BASELINE_SECONDS,
    };
    Ok(Plan {
        targets,
        // This machine is what drives them anyway.
        on: on.filter(|host| *host != HostName::Local),
        hosts,
        workloads,
        trial_seconds,
        warm_up_seconds: (trial_seconds * 0.1).min(1.0),
        rule,
        cap_seconds,
        baseline_seconds,
        margin: how.margin,
        confidence: CONFIDENCE,
        operation_timeout_seconds: how.timeout.as_secs_f64(),
        seed: how.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
        server_memory: what.server_memory,
        engine: what.engine.map(Into::into),
        adapt_size: what.size.is_none() && what.design.is_none() && what.file.is_none(),
        fit_size: what.size.is_none(),
        command: String::new(),
    })
}

/// A file that is read in place is not written, and what it holds is its owner's.
fn only_reads(file: &str, patterns: &[Pattern], verify: bool) -> Result<(), Failure> {
    let bad = |happened: String, next: &str| {
        Err(Failure::new(
            Cause::Usage,
            "read a file in place",
            format!("--file {file}"),
            happened,
            next,
        ))
    };
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.writes()) {
        return bad(
            format!("{pattern} would write, and such a file is only read"),
            "Give --pattern sequential-read,random-read, or leave --file out.",
        );
    }
    if verify {
        return bad(
            "what it holds is not known, so --verify has nothing to check it by".into(),
            "Leave --verify out, or --file.",
        );
    }
    Ok(())
}

/// What stands for the hosts that the targets name themselves.
const AUTO: &str = "auto";

/// The servers' hosts, each once for each target; those that are guessed come last.
fn servers(given: &[String], targets: &[Target]) -> Result<Vec<ServerHost>, Failure> {
    let mut hosts: Vec<ServerHost> = Vec::new();
    for text in given.iter().filter(|text| *text != AUTO) {
        let server = arguments::server_host(text)?;
        if let Some(target) = server.target.filter(|target| *target >= targets.len()) {
            return Err(Failure::new(
                Cause::Usage,
                "find the target of a host",
                format!("--host {}={}", target + 1, server.host),
                format!("there is no target {}", target + 1),
                "Targets are numbered from 1 in the order given.",
            ));
        }
        let known = |h: &ServerHost| {
            h.host == server.host && (h.target.is_none() || h.target == server.target)
        };
        if !hosts.iter().any(known) {
            hosts.retain(|h| h.host != server.host || server.target.is_some());
            hosts.push(server);
        }
    }
    if given.iter().any(|text| text == AUTO) {
        for (target, of) in targets.iter().enumerate() {
            let named = hosts.iter().any(|host| host.serves(target));
            if let (false, Some(server)) = (named, server_of(of)) {
                let host = HostName::by_ssh(server)?;
                hosts.push(ServerHost { host, target: Some(target), guessed: true });
            }
        }
    }
    Ok(hosts)
}

/// The server that a target names.
fn server_of(target: &Target) -> Option<&str> {
    match target {
        Target::Directory(_) => None,
        Target::Nfs(nfs) => Some(&nfs.host),
        Target::Smb(smb) => Some(&smb.host),
    }
}

/// Rounds the size down so that every worker's range is a whole number of blocks.
fn whole_ranges(
    size: Bytes,
    block: Bytes,
    workers: NonZeroU16,
    layout: Layout,
) -> Result<Bytes, Failure> {
    let bad = |on: String, happened: String, next: &str| {
        Err(Failure::new(Cause::Usage, "plan the workload", on, happened, next))
    };
    if !(512..=64 << 20).contains(&block.0) || !block.0.is_multiple_of(512) {
        let happened = "a block is a multiple of 512 bytes, at most 64 MiB".to_owned();
        return bad(format!("--block {block}"), happened, "Try 4KiB, 32KiB or 1MiB.");
    }
    let ranges = if layout == Layout::Disjoint { u64::from(workers.get()) } else { 1 };
    let unit = block.0 * ranges;
    let whole = size.0 / unit * unit;
    if whole == 0 {
        let happened =
            format!("{workers} workers with blocks of {block} need at least {}", Bytes(unit));
        return bad(format!("--size {size}"), happened, "Give a larger --size.");
    }
    Ok(Bytes(whole))
}

/// The command as typed, with the seed that was drawn, so that it repeats the study.
pub fn repeatable_command(plan: &Plan) -> String {
    let mut words: Vec<String> = words().collect();
    if !words.iter().any(|w| w == "--seed" || w.starts_with("--seed=")) {
        words.push(format!("--seed {}", plan.design.seed));
    }
    format!("plimsoll {}", words.join(" "))
}

/// The command as typed.
pub fn command() -> String {
    format!("plimsoll {}", words().collect::<Vec<_>>().join(" "))
}

/// The words of the command line as a shell would take them.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| shell_quoted(&word.to_string_lossy()))
}

fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_whole() {
        let workers = NonZeroU16::new(3).unwrap();
        let size = whole_ranges(Bytes(1 << 30), Bytes(1 << 20), workers, Layout::Disjoint).unwrap();
        assert_eq!(size.0 % (3 << 20), 0);
        assert!(whole_ranges(Bytes(1 << 20), Bytes(1 << 20), workers, Layout::Disjoint).is_err());
        assert!(whole_ranges(Bytes(1 << 20), Bytes(1 << 20), workers, Layout::Shared).is_ok());
        assert!(whole_ranges(Bytes(1 << 20), Bytes(1000), workers, Layout::Shared).is_err());
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_quoted("nfs://nas/a?uid=1&gid=2"), "'nfs://nas/a?uid=1&gid=2'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted("--size=64MiB"), "--size=64MiB");
    }
}
