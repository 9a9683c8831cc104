//! What a run of fio was asked to do: what the file says, else what the user says; and which of
//! plimsoll's patterns that is.

use super::malformed::{Malformed, Parsed};
use super::run::{Half, Run};
use crate::workloads::ClosedLoop;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Layout, Pattern, PatternJob, Stability};
use std::num::NonZeroU16;

/// What the user says beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// What is measured, for runs without a line `Testing ..`: none (then the file's name), one
    /// for all files, or one for each.
    pub labels: Vec<String>,
    /// The pattern of runs that do not say theirs.
    pub pattern: Option<Pattern>,
    /// How many jobs a line of fio's terse output stands for.
    pub jobs: Option<NonZeroU16>,
    /// The command that repeats the import.
    pub command: String,
}

/// What kind of pattern a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// One that plimsoll has.
    Known(Pattern),
    /// One that it has no word for; how to call it.
    Foreign(String),
    /// It cannot be known from the file.
    Unknown,
}

/// The pattern of a run: what the job was asked for, else what the user says, else what its name
/// says of order and its figures of direction.
fn kind(run: &Run, said: Option<Pattern>) -> Kind {
    if let Some(rw) = &run.asked.rw {
        return asked(rw);
    }
    if let Some(pattern) = said {
        return Kind::Known(pattern);
    }
    let names = [run.section.test.as_deref().unwrap_or_default(), &run.name];
    let random = names.iter().find_map(|name| is_random(name));
    match (random, run.read.is_some(), run.write.is_some(), run.unified.is_some()) {
        (None, ..) => Kind::Unknown,
        (Some(true), true, false, false) => Kind::Known(Pattern::RandomRead),
        (Some(true), false, true, false) => Kind::Known(Pattern::RandomWrite),
        (Some(true), true, true, _) | (Some(true), _, _, true) => Kind::Known(Pattern::RandomMixed),
        (Some(false), true, false, false) => Kind::Known(Pattern::SequentialRead),
        (Some(false), false, true, false) => Kind::Known(Pattern::SequentialWrite),
        (Some(false), true, true, _) | (Some(false), _, _, true) => mixed(),
        (Some(_), false, false, false) => Kind::Unknown,
    }
}

/// fio's word for a pattern; a modifier may follow, as in `randread:8`.
fn asked(rw: &str) -> Kind {
    let word = rw.split([':', ',']).next().unwrap_or_default().trim();
    match word {
        "read" => Kind::Known(Pattern::SequentialRead),
        "write" => Kind::Known(Pattern::SequentialWrite),
        "randread" => Kind::Known(Pattern::RandomRead),
        "randwrite" => Kind::Known(Pattern::RandomWrite),
        "randrw" => Kind::Known(Pattern::RandomMixed),
        "rw" | "readwrite" => mixed(),
        other => Kind::Foreign(format!("'{}'", other.escape_debug())),
    }
}

fn mixed() -> Kind {
    Kind::Foreign("reads and writes mixed in sequential order ('rw')".to_owned())
}

/// What a job's name says of the order of its offsets.
fn is_random(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "read" | "write" | "rw" | "readwrite" => Some(false),
        _ if name.contains("rand") => Some(true),
        _ if name.contains("seq") => Some(false),
        _ => None,
    }
}

/// What the run did, and its figures without those that are not of that. Fails where it cannot be known,
/// or plimsoll has no pattern for it.
pub(super) fn of(run: &mut Run, options: &ImportOptions) -> Parsed<ClosedLoop> {
    let pattern = known_pattern(run, options)?;
    fit(run, pattern)?;
    closed_loop(run, pattern)
}

fn known_pattern(run: &Run, options: &ImportOptions) -> Parsed<Pattern> {
    let name = run.name.escape_debug();
    match kind(run, options.pattern) {
        Kind::Known(pattern) => Ok(pattern),
        Kind::Foreign(what) => Err(Malformed::new(
            run.line,
            format!("the job '{name}' did {what}, for which plimsoll has no pattern"),
            "Expected read, write, randread, randwrite or randrw; take the job out of the file.",
        )),
        Kind::Unknown => Err(Malformed::new(
            run.line,
            format!("the pattern of the job '{name}' is not reported, nor its name clear"),
            "Name it with --pattern, import a file for each pattern.",
        )),
    }
}

/// Makes sure that the figures are those of the pattern, and takes out those that are not.
fn fit(run: &mut Run, pattern: Pattern) -> Parsed<()> {
    let mixed = pattern == Pattern::RandomMixed;
    if !mixed && pattern.writes() && run.write.is_some() && run.read.take().is_some() {
        run.notes.push("reads ran as well, to verify; they are left out".to_owned());
    }
    let fits = match pattern {
        Pattern::RandomMixed => run.halves().next().is_some(),
        _ if pattern.reads() => run.read.is_some() && run.write.is_none(),
        _ => run.write.is_some(),
    };
    if !fits && run.error.is_none() {
        return Err(Malformed::new(
            run.line,
            format!("the job '{}' has no figures of {pattern}", run.name.escape_debug()),
            "Check --pattern, and that the job did what it was asked for.",
        ));
    }
    if let (true, Some(read), Some(write)) = (mixed, &run.read, &run.write) {
        let share = read.operations as f64 / (read.operations as f64 + write.operations as f64);
        if !(0.45..=0.55).contains(&share) {
            run.notes.push(format!(
                "{:.0}% of the operations were reads, not half as plimsoll's mixed pattern has it",
                share * 100.0
            ));
        }
    }
    let percentiles = |half: &Half| half.client().is_none_or(|l| !l.quantiles_seconds.is_empty());
    if run.asked.jobs.is_some_and(|n| n > 1) && !run.halves().all(percentiles) {
        run.notes.push(
            "percentiles of separate jobs cannot be put together: run fio with \
             --group_reporting"
                .to_owned(),
        );
    }
    Ok(())
}

fn closed_loop(run: &mut Run, pattern: Pattern) -> Parsed<ClosedLoop> {
    let operations: f64 = run.halves().map(|half| half.operations as f64).sum();
    let bytes: f64 = run.halves().map(|half| half.bytes).sum();
    let mean = if operations > 0.0 { (bytes / operations).round() as u64 } else { 0 };
    let block = match run.asked.block {
        Some((least, most)) if least == most => least,
        Some((least, most)) => {
            run.notes.push(format!("blocks from {} to {}", Bytes(least), Bytes(most)));
            mean
        }
        None => mean,
    };
    let depth = run.asked.depth.unwrap_or_else(|| {
        let level = run.depth_shares.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| name);
        let level = level.and_then(|l| l.trim_start_matches(">=").parse().ok()).unwrap_or(1);
        run.notes
            .push(format!("fio did not say the depth: most operations ran at {level} or more"));
        level
    });
    if run.asked.jobs.is_none() {
        run.notes.push(
            "fio did not say how many jobs ran: taken as one, and CPU time cannot be computed; \
             --jobs says it"
                .to_owned(),
        );
    }
    let line = run.line;
    let small = |value: u64, what: &str| {
        u16::try_from(value).ok().and_then(NonZeroU16::new).ok_or_else(|| {
            let happened = format!("{value} {what}: expected 1 to {}", u16::MAX);
            Malformed::new(line, happened, "Take the job out of the file.")
        })
    };
    let jobs = run.asked.jobs.unwrap_or(1);
    let size = run.asked.size.unwrap_or(0);
    let job = PatternJob {
        pattern,
        block: Bytes(block),
        size: Bytes(if run.asked.one_file { size } else { size.saturating_mul(jobs) }),
        layout: if run.asked.one_file { Layout::Shared } else { Layout::Disjoint },
        stability: match run.asked.synchronous {
            true => Stability::FileSync,
            false => Stability::Unstable,
        },
        verify: false,
    };
    let (workers, depth) = (small(jobs, "jobs")?, small(depth, "operations in flight")?);
    Ok(ClosedLoop { job, workers, depth })
}
