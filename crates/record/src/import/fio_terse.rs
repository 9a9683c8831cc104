//! fio's terse output (`--minimal`, `--output-format=terse`), versions 2 to 5: a line a job, fields
//! between semicolons; see fio's HOWTO, "Terse output", and stat.c. Volumes are KiB, times are
//! microseconds and runtimes milliseconds.

use super::malformed::{Malformed, Parsed};
use super::run::{Client, Cpu, FioOptions, Form, Half, Run, Section, reported_error};
use super::{units, version};
use plimsoll_model::LatencySummary;
use std::collections::BTreeMap;

/// Percentiles that a line holds.
const PERCENTILES: usize = 20;
/// Names of the levels of depth.
const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Fewer fields than the shortest version has: the line is something else.
const FEWEST: usize = 60;

const NEXT: &str = "Give whole lines as fio wrote them with --minimal or --output-format=terse.";

/// Whether a line looks like terse output of any version.
pub(super) fn is_terse(line: &str) -> bool {
    let Some((number, rest)) = line.split_once(';') else { return false };
    let plain =
        !number.is_empty() && number.len() < 3 && number.bytes().all(|b| b.is_ascii_digit());
    plain && (rest.starts_with("fio-") || rest.split(';').count() + 1 >= FEWEST)
}

/// The job of one line.
pub(super) fn read(
    text: &str,
    line: usize,
    invocation: usize,
    section: &Section,
    jobs: Option<u64>,
) -> Parsed<Run> {
    let mut fields = Fields { rest: text.split(';'), line, number: 0 };
    let layout = match fields.text()? {
        "2" => 2,
        "3" => 3,
        "4" => 4,
        "5" => 5,
        other => {
            return Err(Malformed::new(
                line,
                format!("terse version '{}' is not known: expected 2 to 5", other.escape_debug()),
                "Write the output again with --terse-version=3, or as JSON.",
            ));
        }
    };
    let version = if layout == 2 { "" } else { fields.text()? };
    if layout > 2 {
        version::check(version, line)?;
    }
    let name = fields.text()?.to_owned();
    let group = fields.number()? as i64;
    let error = fields.number()? as i64;
    let read = direction(&mut fields, layout)?;
    // The CPU's percents come after as many directions as there are: one where they are reported
    // as one, two, or three with trims, which some writers of version 2 did not have.
    let mut more = Vec::new();
    while more.len() < 3 && !fields.next_is_percent() {
        more.push(direction(&mut fields, layout)?);
    }
    let cpu = Cpu {
        user_percent: fields.percent()?,
        system_percent: fields.percent()?,
        job_seconds: None,
        context_switches: fields.number()? as u64,
        major_faults: fields.number()? as u64,
        minor_faults: fields.number()? as u64,
    };
    let mut depth_shares = BTreeMap::new();
    for level in LEVELS {
        depth_shares.insert(level.to_owned(), fields.percent()? / 100.0);
    }
    let (unified, read) = if more.is_empty() { (read, None) } else { (None, read) };
    let mut more = more.into_iter();
    let write = more.next().flatten();
    let trimmed = more.next().flatten().is_some();
    let block = {
        let halves = [&read, &write, &unified].into_iter().flatten();
        let size = |h: &Half| h.block().unwrap_or((h.bytes / h.operations as f64) as u64);
        let sizes: Vec<u64> = halves.map(size).collect();
        sizes.iter().copied().min().zip(sizes.iter().copied().max())
    };
    Ok(Run {
        form: Form::Terse,
        line,
        invocation,
        section: section.clone(),
        client: Client::Alone,
        version: version.to_owned(),
        name,
        group,
        asked: FioOptions {
            jobs,
            block,
            depth: only_level(&depth_shares),
            ..FioOptions::default()
        },
        printed_unix_seconds: None,
        error: reported_error(error),
        read,
        write,
        unified,
        cpu: Some(cpu),
        depth_shares,
        syncs: None,
        notes: match trimmed {
            true => vec!["trims also ran; they are ignored".to_owned()],
            false => Vec::new(),
        },
        repeated: Vec::new(),
        ambiguous: None,
    })
}

/// The depth, where every operation was alone in flight; higher levels are ranges.
fn only_level(shares: &BTreeMap<String, f64>) -> Option<u64> {
    shares.get("1").filter(|share| **share > 0.9995).map(|_| 1)
}

fn direction(fields: &mut Fields<'_>, layout: u32) -> Parsed<Option<Half>> {
    let bytes = fields.number()? * 1024.0;
    let _kibibytes_per_second = fields.number()?;
    let iops = fields.number()?;
    let seconds = fields.number()? / 1e3;
    let submission = latency(fields)?;
    let completion = latency(fields)?;
    let mut quantiles = BTreeMap::new();
    for _ in 0..PERCENTILES {
        let place = fields.number + 1;
        let field = fields.text()?;
        let (percent, value) = field
            .split_once("%=")
            .and_then(|(percent, value)| Some((percent, units::decimal(value)?)))
            .ok_or_else(|| fields.wrong(place, "a percentile such as 99.000000%=420", field))?;
        if let Some(name) = units::quantile(percent) {
            quantiles.insert(name, value / 1e6);
        }
    }
    let total = latency(fields)?;
    let samples_of_rates = if layout == 5 { 11 } else { 5 };
    for _ in 0..samples_of_rates {
        fields.text()?;
    }
    let operations = operations(bytes, iops, seconds);
    if operations == 0 {
        return Ok(None);
    }
    let mut completion = completion;
    let mut total = total;
    // fio prints one list of percentiles: of clat unless it had none.
    if let Some(with) = completion.as_mut().or(total.as_mut()) {
        with.quantiles_seconds = quantiles;
    }
    // The volume is cut off at a KiB.
    let half = Half { bytes_step: 1024.0, ..Half::new(operations, bytes, seconds) };
    Ok(Some(Half { submission, completion, total, ..half }))
}

/// Terse output has whole operations per second, cut off, and no count: where one block size, a
/// multiple of 512 bytes, explains volume and rate, it gives the count exactly.
fn operations(bytes: f64, iops: f64, seconds: f64) -> u64 {
    if bytes <= 0.0 || seconds <= 0.0 {
        return 0;
    }
    let (fewest, most) = (iops * seconds, (iops + 1.0) * seconds);
    let fits = |block: f64| {
        let count = bytes / block;
        // The volume is cut off at a KiB.
        count > fewest - 1.0 && count <= most + 1.0
    };
    let guess = bytes / ((fewest + most) / 2.0).max(1.0);
    let power = 2f64.powi(guess.log2().round().clamp(9.0, 40.0) as i32);
    let multiple = (guess / 512.0).round().max(1.0) * 512.0;
    let block = [power, multiple].into_iter().find(|block| fits(*block));
    block.map_or(fewest.round().max(1.0), |block| (bytes / block).round().max(1.0)) as u64
}

fn latency(fields: &mut Fields<'_>) -> Parsed<Option<LatencySummary>> {
    let mut next = || Ok(fields.number()? / 1e6);
    let (min, max, mean, deviation) = (next()?, next()?, next()?, next()?);
    Ok((max > 0.0 || mean > 0.0).then(|| LatencySummary {
        mean_seconds: mean,
        min_seconds: min,
        max_seconds: max,
        standard_deviation_seconds: Some(deviation),
        ..LatencySummary::default()
    }))
}

/// The fields of a line, from left to right.
struct Fields<'a> {
    rest: std::str::Split<'a, char>,
    line: usize,
    /// How many were taken.
    number: usize,
}

impl<'a> Fields<'a> {
    fn text(&mut self) -> Parsed<&'a str> {
        self.number += 1;
        let taken = self.number;
        let line = self.line;
        self.rest.next().ok_or_else(|| {
            let happened = format!("the line ends before field {taken}: it is not whole");
            Malformed::new(line, happened, NEXT)
        })
    }

    fn number(&mut self) -> Parsed<f64> {
        let text = self.text()?;
        units::decimal(text).ok_or_else(|| self.wrong(self.number, "a number", text))
    }

    fn percent(&mut self) -> Parsed<f64> {
        let text = self.text()?;
        let number = text.strip_suffix('%').and_then(units::decimal);
        number.ok_or_else(|| self.wrong(self.number, "a percentage", text))
    }

    fn next_is_percent(&self) -> bool {
        self.rest.clone().next().is_some_and(|field| field.ends_with('%'))
    }

    fn wrong(&self, field: usize, expected: &str, found: &str) -> Malformed {
        let found: String = found.chars().take(40).collect();
        let happened =
            format!("field {field} should be {expected}, but is '{}'", found.escape_debug());
        Malformed::new(self.line, happened, NEXT)
    }
}

#[cfg(test)]
mod tests {
    use super::operations;

    #[test]
    fn counts_follow_from_volume_and_rate() {
        // 780 reads of 4 KiB in 23 ms, 33913 a second.
        assert_eq!(operations(3120.0 * 1024.0, 33913.0, 0.023), 780);
        // 4096 reads of 1 MiB in 36.978 s, 110 a second.
        assert_eq!(operations(4096.0 * 1048576.0, 110.0, 36.978), 4096);
        // 1000 reads of 3000 bytes, which no multiple of 512 explains.
        assert!((990..=1000).contains(&operations(2929.0 * 1024.0, 995.0, 1.0)));
        assert_eq!(operations(0.0, 0.0, 0.0), 0);
    }
}
