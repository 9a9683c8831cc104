//! Workload of a fio run, from the file or else from the user, and the matching pattern of
//! plimsoll.

use super::malformed::{Malformed, Parsed};
use super::run::{Half, Run};
use super::workloads::ClosedLoop;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Layout, Pattern, PatternJob, Stability};
use std::num::NonZeroU16;

/// Information from the user in addition to the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Names of the measured storage, for runs without a line `Testing ..`: none (then the file's
    /// name), one for all files, or one for each.
    pub labels: Vec<String>,
    /// The pattern of runs that do not say theirs.
    pub pattern: Option<Pattern>,
    /// How many jobs a line of fio's terse output stands for.
    pub jobs: Option<NonZeroU16>,
    /// The command that repeats the import.
    pub command: String,
}

/// Kind of pattern of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AccessPattern {
    /// One that plimsoll has.
    Known(Pattern),
    /// One that it has no word for; how to call it.
    Foreign(String),
    /// It cannot be known from the file.
    Unknown,
}

/// Pattern of a run: from the job's options, else from the user, else the order from its name and
/// the direction from its figures.
fn kind(run: &Run, said: Option<Pattern>) -> AccessPattern {
    if let Some(rw) = &run.asked.rw {
        return access_pattern(rw);
    }
    if let Some(pattern) = said {
        return AccessPattern::Known(pattern);
    }
    let names = [run.section.test.as_deref().unwrap_or_default(), &run.name];
    let random = names.iter().find_map(|name| is_random(name));
    match (random, run.read.is_some(), run.write.is_some(), run.unified.is_some()) {
        (None, ..) => AccessPattern::Unknown,
        (Some(true), true, false, false) => AccessPattern::Known(Pattern::RandomRead),
        (Some(true), false, true, false) => AccessPattern::Known(Pattern::RandomWrite),
        (Some(true), true, true, _) | (Some(true), _, _, true) => {
            AccessPattern::Known(Pattern::RandomMixed)
        }
        (Some(false), true, true, _) | (Some(false), _, _, true) => {
            AccessPattern::Known(Pattern::SequentialMixed)
        }
        (Some(false), true, false, false) => AccessPattern::Known(Pattern::SequentialRead),
        (Some(false), false, true, false) => AccessPattern::Known(Pattern::SequentialWrite),
        (Some(_), false, false, false) => AccessPattern::Unknown,
    }
}

/// fio's word for a pattern; a modifier may follow, as in `randread:8`.
fn access_pattern(rw: &str) -> AccessPattern {
    let word = rw.split([':', ',']).next().unwrap_or_default().trim();
    match word {
        "read" => AccessPattern::Known(Pattern::SequentialRead),
        "write" => AccessPattern::Known(Pattern::SequentialWrite),
        "randread" => AccessPattern::Known(Pattern::RandomRead),
        "randwrite" => AccessPattern::Known(Pattern::RandomWrite),
        "randrw" => AccessPattern::Known(Pattern::RandomMixed),
        "rw" | "readwrite" => AccessPattern::Known(Pattern::SequentialMixed),
        other => AccessPattern::Foreign(format!("'{}'", other.escape_debug())),
    }
}

/// Order of offsets according to a job's name.
fn is_random(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "read" | "write" | "rw" | "readwrite" => Some(false),
        _ if name.contains("rand") => Some(true),
        _ if name.contains("seq") => Some(false),
        _ => None,
    }
}

/// Workload of a run, and the figures that belong to it. Fails if the workload is unknown, or if
/// plimsoll has no pattern for it.
pub(super) fn workload(run: &mut Run, options: &ImportOptions) -> Parsed<ClosedLoop> {
    let mut pattern = known_pattern(run, options)?;
    pattern = order(run, pattern);
    pattern = directions(run, pattern);
    fit(run, pattern)?;
    closed_loop(run, pattern)
}

fn known_pattern(run: &Run, options: &ImportOptions) -> Parsed<Pattern> {
    let name = run.name.escape_debug();
    match kind(run, options.pattern) {
        AccessPattern::Known(pattern) => Ok(pattern),
        AccessPattern::Foreign(what) => Err(Malformed::new(
            run.line,
            format!("the job '{name}' did {what}, for which plimsoll has no pattern"),
            "Expected read, write, rw, randread, randwrite or randrw.",
        )),
        AccessPattern::Unknown => Err(Malformed::new(
            run.line,
            match &run.error {
                None => {
                    format!("the pattern of the job '{name}' is not reported, nor its name clear")
                }
                Some(error) => {
                    format!("the job '{name}' failed, and its pattern is unknown: {error}")
                }
            },
            "Name it with --pattern, import a file for each pattern.",
        )),
    }
}

/// Pattern with the order of `percentage_random`.
fn order(run: &mut Run, pattern: Pattern) -> Pattern {
    let random = run.asked.percent_random.as_deref().filter(|_| !pattern.is_sequential());
    match random.map(|percent| (percent, percent.parse::<u32>())) {
        None | Some((_, Ok(100..))) => pattern,
        Some((_, Ok(0))) => match (pattern.reads(), pattern.writes()) {
            (true, true) => Pattern::SequentialMixed,
            (reads, _) => Pattern::SequentialMixed.one_way(reads),
        },
        Some((_, Ok(percent))) => {
            run.notes.push(format!("{percent}% random: the other offsets are sequential"));
            pattern
        }
        Some((percent, Err(_))) => {
            let percent: String = percent.chars().take(20).collect();
            run.notes.push(format!("percentage_random={}", percent.escape_debug()));
            pattern
        }
    }
}

/// A mixed pattern of which one direction alone ran (`rwmixread=0`) is the pattern of that direction.
fn directions(run: &mut Run, pattern: Pattern) -> Pattern {
    match (&run.read, &run.write, &run.unified) {
        (Some(_), None, None) | (None, Some(_), None) if pattern.is_mixed() => {
            let reads = run.read.is_some();
            let alone = if reads { "reads" } else { "writes" };
            run.notes.push(format!("the job was to mix reads and writes, but only {alone} ran"));
            pattern.one_way(reads)
        }
        _ => pattern,
    }
}

/// Below this share of the time a job that is not held back has an operation in flight.
const MOSTLY_IDLE: f64 = 0.5;
/// Time that fio takes between two operations at most, for itself and for each byte: it may fill
/// buffers.
const FIO_SECONDS_PER_OPERATION: f64 = 100e-6;
const FIO_SECONDS_PER_BYTE: f64 = 1e-8;

/// Reason why fio stayed below the rate of the storage: a rate limit in its options, or else a low
/// number of operations in flight without another explanation. The text output of fio lacks the
/// options.
pub(super) fn rate_held(run: &Run) -> Option<String> {
    if !run.asked.rate_limits.is_empty() {
        return Some(run.asked.rate_limits.join(", "));
    }
    // Jobs that sync spend time in no operation.
    let in_flight = run.in_flight().filter(|_| run.syncs == Some(0))?;
    let operations: f64 = run.halves().map(|half| half.operations as f64).sum();
    let bytes: f64 = run.halves().map(|half| half.bytes).sum();
    let idle_seconds = (1.0 - in_flight) * run.seconds() * run.asked.jobs? as f64;
    let own = operations * FIO_SECONDS_PER_OPERATION + bytes * FIO_SECONDS_PER_BYTE;
    (in_flight < MOSTLY_IDLE && idle_seconds > own).then(|| {
        format!(
            "no operation was in flight for {:.0}% of the time, as with rate, rate_iops or thinktime",
            (1.0 - in_flight) * 100.0
        )
    })
}

/// Removes figures that do not belong to the pattern, and checks the rest.
fn fit(run: &mut Run, pattern: Pattern) -> Parsed<()> {
    let mixed = pattern.is_mixed();
    if !mixed && pattern.writes() && run.write.is_some() && run.read.take().is_some() {
        run.notes.push("reads also ran, to verify; they are ignored".to_owned());
    }
    let fits = match pattern {
        _ if mixed => run.halves().next().is_some(),
        _ if pattern.reads() => run.read.is_some() && run.write.is_none(),
        _ => run.write.is_some(),
    };
    if !fits && run.error.is_none() {
        return Err(Malformed::new(
            run.line,
            format!("the job '{}' has no figures of {pattern}", run.name.escape_debug()),
            "Check --pattern, and that the job did its work.",
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
    let blocks: Vec<Option<u64>> = run.halves().map(Half::block).collect();
    let mean = match blocks[..] {
        [Some(block), ref others @ ..] if others.iter().all(|other| *other == Some(block)) => block,
        _ if operations > 0.0 => (bytes / operations).round() as u64,
        _ => 0,
    };
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
            Malformed::new(line, happened, "Run fewer at once.")
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
