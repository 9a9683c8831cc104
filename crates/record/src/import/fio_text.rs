//! fio's human-readable report of one job or group, of fio 2 and 3; see stat.c, show_ddir_status
//! and show_thread_status_normal. Two layouts: `read : io=.., bw=..KB/s, iops=.., runt=..msec`
//! until 2.14, `read: IOPS=.., BW=..MiB/s (..MB/s)(..MiB/..msec)` since.

use super::calendar;
use super::malformed::{Malformed, Parsed};
use super::run::{Client, Cpu, FioOptions, Form, Half, Run, Section};
use super::units::{self, Kilo, Printed};
use plimsoll_model::LatencySummary;
use std::collections::BTreeMap;

const NEXT: &str = "Give the whole output as fio printed it.";

/// Job in the line before a run: `NAME: (g=0): rw=randread, bs=.., ioengine=psync, iodepth=1`.
pub(super) fn job_line(line: &str) -> Option<(String, FioOptions)> {
    let (name, rest) = line.split_once(": (g=")?;
    let (group, rest) = rest.split_once("): ")?;
    group.parse::<i64>().ok()?;
    let after = |key: &str| rest.split_once(key).map(|(_, after)| after);
    let word = |key: &str| {
        let value = after(key)?.split(',').next()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    let rw = word("rw=")?;
    let blocks = after("bs").and_then(|text| text.split_once('=')).map(|(_, text)| text);
    Some((
        name.to_owned(),
        FioOptions {
            block: blocks.and_then(|text| block(text, &rw)),
            engine: word("ioengine=").unwrap_or_default(),
            depth: word("iodepth=").and_then(|n| n.parse().ok()),
            rw: Some(rw),
            ..FioOptions::default()
        },
    ))
}

/// The range of blocks of the directions that `rw` uses, of `(R) 4096B-4096B, (W) 4096B-4096B, ..`
/// or, until 2.14, `4K-4K/4K-4K/4K-4K, ..`.
fn block(text: &str, rw: &str) -> Option<(u64, u64)> {
    let range = |text: &str| {
        let (least, most) = text.trim().split_once('-')?;
        let size = |text| units::printed(text, Kilo::Binary).map(|p| p.value as u64);
        Some((size(least)?, size(most)?))
    };
    let (reads, writes) = if text.starts_with("(R)") {
        let range_after = |mark: &str| text.split_once(mark)?.1.split(',').next().and_then(range);
        (range_after("(R)"), range_after("(W)"))
    } else {
        let mut parts = text.split(',').next()?.split('/');
        (parts.next().and_then(range), parts.next().and_then(range))
    };
    match (rw.contains("read"), rw.contains("write")) {
        (true, _) => reads,
        (_, true) => writes,
        _ => {
            let (reads, writes) = (reads?, writes?);
            Some((reads.0.min(writes.0), reads.1.max(writes.1)))
        }
    }
}

/// The first line of a report: `NAME: (groupid=0, jobs=4): err= 0: pid=2300: Wed Oct  9 ..`.
pub(super) struct Head {
    pub(super) name: String,
    pub(super) group: i64,
    jobs: u64,
    error: Option<String>,
    printed_unix_seconds: Option<f64>,
}

/// `None` where the line is something else.
pub(super) fn head(line: &str) -> Option<Head> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let (error, rest) = rest.split_once(": pid=")?;
    let code = error.split_whitespace().next()?;
    Some(Head {
        name: name.to_owned(),
        group: group.parse().ok()?,
        jobs: jobs.parse().ok()?,
        error: (code != "0").then(|| format!("fio reports error {}", error.trim())),
        printed_unix_seconds: rest.split_once(": ").and_then(|(_, date)| calendar::unix(date)),
    })
}

/// A report that is being read, line by line.
pub(super) struct Report {
    head: Head,
    line: usize,
    directions: Vec<Direction>,
    /// Which latency the lines of percentiles that follow belong to, and their unit.
    percentiles: Option<(Slot, f64)>,
    cpu: Option<Cpu>,
    depth_shares: BTreeMap<String, f64>,
    /// Reads, writes, trims that were issued, and syncs where the layout has them.
    issued: Option<([u64; 3], Option<u64>)>,
    client: Client,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Submission,
    Completion,
    Total,
    Other,
}

/// One direction as printed.
struct Direction {
    word: String,
    iops: Printed,
    bytes: Printed,
    seconds: f64,
    latencies: [Option<LatencySummary>; 3],
}

impl Report {
    pub(super) fn new(head: Head, line: usize, client: Client) -> Report {
        Report {
            head,
            line,
            directions: Vec::new(),
            percentiles: None,
            cpu: None,
            depth_shares: BTreeMap::new(),
            issued: None,
            client,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.head.name
    }

    /// Takes the next line of the report, which is indented.
    pub(super) fn line(&mut self, text: &str, number: usize) -> Parsed<()> {
        let wrong = |expected: &str| {
            let found: String = text.trim().chars().take(60).collect();
            let happened = format!("expected {expected}, found '{}'", found.escape_debug());
            Malformed::new(number, happened, NEXT)
        };
        let text = text.trim();
        if let Some(rest) = text.strip_prefix('|') {
            if let Some((slot, unit)) = self.percentiles {
                let found = percentiles(rest, unit)
                    .ok_or_else(|| wrong("percentiles such as '99.00th=[ 1319]'"))?;
                if let Some(latency) = self.latency(slot) {
                    latency.quantiles_seconds.extend(found);
                }
            }
            return Ok(());
        }
        self.percentiles = None;
        let Some((key, value)) = text.split_once(':') else {
            if let Some((slot, unit)) = percentile_head(text) {
                self.percentiles = Some((slot, unit));
            }
            return Ok(());
        };
        let (key, value) = (key.trim(), value.trim());
        if let Some((slot, unit)) = percentile_head(key) {
            self.percentiles = Some((slot, unit));
        } else if matches!(key, "read" | "write" | "trim" | "mixed") {
            let direction = direction(key, value).ok_or_else(|| {
                wrong("'IOPS=.., BW=.. (..)(../..msec)' or 'io=.., bw=.., iops=.., runt=..msec'")
            })?;
            self.directions.push(direction);
        } else if let Some((slot, unit)) = latency_head(key) {
            // The distribution `lat (usec) : 500=41.71%, ..` has the same beginning.
            if value.contains("avg=") {
                let summary = summary(value, unit)
                    .ok_or_else(|| wrong("'min=.., max=.., avg=.., stdev=..'"))?;
                if let (Some(direction), Some(at)) = (self.directions.last_mut(), slot.place()) {
                    direction.latencies[at] = Some(summary);
                }
            }
        } else if key == "cpu" {
            let cpu = cpu(value).ok_or_else(|| wrong("'usr=..%, sys=..%, ctx=.., ..'"))?;
            self.cpu = Some(cpu);
        } else if key == "IO depths" {
            let shares = shares(value).ok_or_else(|| wrong("'1=100.0%, 2=0.0%, ..'"))?;
            self.depth_shares = shares;
        } else if key == "issued" || key.starts_with("issued rwt") {
            let issued = issued(value).ok_or_else(|| wrong("'total=..,..,.. short=..'"))?;
            self.issued = Some(issued);
        }
        Ok(())
    }

    fn latency(&mut self, slot: Slot) -> Option<&mut LatencySummary> {
        let at = slot.place()?;
        self.directions.last_mut()?.latencies[at].as_mut()
    }

    /// The run, when the report is over; `asked` is what the lines before said of this job.
    pub(super) fn finish(
        self,
        asked: Option<&FioOptions>,
        version: &str,
        invocation: usize,
        section: Section,
    ) -> Parsed<Run> {
        let missing = |what: &str| {
            let happened = format!(
                "the report of job '{}' ends without its {what}: it is not whole",
                self.head.name.escape_debug()
            );
            Malformed::new(self.line, happened, NEXT)
        };
        let (issued, syncs) = self.issued.ok_or_else(|| missing("'issued' line"))?;
        let cpu = self.cpu.ok_or_else(|| missing("'cpu' line"))?;
        if self.directions.is_empty() && self.head.error.is_none() {
            return Err(missing("'read' or 'write' line"));
        }
        let asked = FioOptions { jobs: Some(self.head.jobs), ..asked.cloned().unwrap_or_default() };
        let (mut read, mut write, mut unified) = (None, None, None);
        let mut notes = Vec::new();
        for direction in self.directions {
            match direction.word.as_str() {
                "read" => read = direction.half(issued[0], &asked),
                "write" => write = direction.half(issued[1], &asked),
                "mixed" => unified = direction.half(issued[0] + issued[1], &asked),
                _ => notes.push("trims also ran; they are ignored".to_owned()),
            }
        }
        Ok(Run {
            form: Form::Text,
            line: self.line,
            invocation,
            section,
            client: self.client,
            version: version.to_owned(),
            name: self.head.name,
            group: self.head.group,
            asked,
            printed_unix_seconds: self.head.printed_unix_seconds,
            error: self.head.error,
            read,
            write,
            unified,
            cpu: Some(cpu),
            depth_shares: self.depth_shares,
            syncs,
            notes,
            repeated: Vec::new(),
            ambiguous: None,
        })
    }
}

impl Slot {
    fn place(self) -> Option<usize> {
        match self {
            Slot::Submission => Some(0),
            Slot::Completion => Some(1),
            Slot::Total => Some(2),
            Slot::Other => None,
        }
    }
}

impl Direction {
    /// The text has few digits, but exact counts of issued operations, and for blocks of one size
    /// the bytes follow from these. The exact figures are used if they agree with the printed
    /// figures, otherwise the printed figures.
    fn half(self, issued: u64, asked: &FioOptions) -> Option<Half> {
        let per_second = |amount: f64| if self.seconds > 0.0 { amount / self.seconds } else { 0.0 };
        let operations = match self.iops.stands_for(per_second(issued as f64)) {
            true => issued,
            false => (self.iops.value * self.seconds).round() as u64,
        };
        if operations == 0 {
            return None;
        }
        let whole = asked.block.filter(|(least, most)| least == most);
        let exact = whole.map(|(block, _)| block as f64 * operations as f64);
        let exact = exact.filter(|b| self.bytes.stands_for(*b));
        let bytes = exact.unwrap_or(self.bytes.value);
        let bytes_step = if exact.is_some() { 0.0 } else { self.bytes.step };
        let [submission, completion, total] = self.latencies;
        let half = Half::new(operations, bytes, self.seconds);
        let mut half = Half { submission, completion, total, bytes_step, ..half };
        // Where nothing says that blocks differ, the size of all makes the volume exact.
        if asked.block.is_none()
            && let Some(block) = half.block()
        {
            half.set_bytes(block as f64 * operations as f64);
        }
        Some(half)
    }
}

/// Text after `read:`.
fn direction(word: &str, value: &str) -> Option<Direction> {
    let value = value.split(';').next()?;
    let made = |iops, bytes, milliseconds: &str| {
        Some(Direction {
            word: word.to_owned(),
            iops,
            bytes,
            seconds: units::decimal(milliseconds.trim().strip_suffix("msec")?)? / 1e3,
            latencies: [None, None, None],
        })
    };
    if let Some(rest) = value.strip_prefix("IOPS=") {
        let (iops, rest) = rest.split_once(", BW=")?;
        let volume = rest.rsplit_once('(')?.1.strip_suffix(')')?;
        let (bytes, time) = volume.split_once('/')?;
        let read = |text| units::printed(text, Kilo::Thousand);
        return made(read(iops)?, read(bytes)?, time);
    }
    let fields: BTreeMap<&str, &str> = fields(value).collect();
    let bytes = units::printed(fields.get("io")?, Kilo::Binary)?;
    let iops = units::printed(fields.get("iops")?, Kilo::Thousand)?;
    made(iops, bytes, fields.get("runt")?)
}

/// The pieces of `key=value, key=value`.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|field| {
        let (key, value) = field.split_once('=')?;
        Some((key.trim(), value.trim()))
    })
}

/// `clat (usec)`.
fn latency_head(key: &str) -> Option<(Slot, f64)> {
    let (word, unit) = key.split_once('(')?;
    let slot = slot(word.trim())?;
    Some((slot, units::nanoseconds(unit.strip_suffix(')')?)?))
}

/// `clat percentiles (usec)`, also of one priority alone, which is passed over.
fn percentile_head(key: &str) -> Option<(Slot, f64)> {
    let (words, unit) = key.rsplit_once('(')?;
    let word = words.trim().strip_suffix("percentiles")?.trim();
    let unit = units::nanoseconds(unit.strip_suffix(')')?)?;
    Some((slot(word).unwrap_or(Slot::Other), unit))
}

fn slot(word: &str) -> Option<Slot> {
    Some(match word {
        "slat" => Slot::Submission,
        "clat" => Slot::Completion,
        "lat" => Slot::Total,
        _ => return None,
    })
}

fn summary(value: &str, nanoseconds: f64) -> Option<LatencySummary> {
    let fields: BTreeMap<&str, &str> = fields(value).collect();
    let seconds = |value: f64| value * nanoseconds / 1e9;
    let whole = |key| units::printed(fields.get(key)?, Kilo::Thousand).map(|p| seconds(p.value));
    let broken = |key| units::decimal(fields.get(key)?).map(seconds);
    Some(LatencySummary {
        mean_seconds: broken("avg")?,
        min_seconds: whole("min")?,
        max_seconds: whole("max")?,
        standard_deviation_seconds: Some(broken("stdev")?),
        ..LatencySummary::default()
    })
}

/// `1.00th=[  326],  5.00th=[  359],`.
fn percentiles(text: &str, nanoseconds: f64) -> Option<Vec<(String, f64)>> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (percent, value) = part.split_once("th=[")?;
        let value = units::decimal(value.strip_suffix(']')?)?;
        // Of all clients together fio prints percents without decimals: 99.5 is `100th` as well.
        let rounded_up = percent.trim() == "100";
        if let Some(name) = units::quantile(percent).filter(|_| !rounded_up) {
            found.push((name, value * nanoseconds / 1e9));
        }
    }
    Some(found)
}

fn cpu(value: &str) -> Option<Cpu> {
    let fields: BTreeMap<&str, &str> = fields(value).collect();
    let percent = |key| units::decimal(fields.get(key)?.strip_suffix('%')?);
    let count = |key| fields.get(key)?.parse::<u64>().ok();
    Some(Cpu {
        user_percent: percent("usr")?,
        system_percent: percent("sys")?,
        job_seconds: None,
        context_switches: count("ctx")?,
        major_faults: count("majf").unwrap_or(0),
        minor_faults: count("minf").unwrap_or(0),
    })
}

/// `1=100.0%, 2=0.0%, .. >=64=0.0%`.
fn shares(value: &str) -> Option<BTreeMap<String, f64>> {
    let share = |field: &str| {
        let (level, percent) = field.trim().rsplit_once('=')?;
        Some((level.to_owned(), units::decimal(percent.strip_suffix('%')?)? / 100.0))
    };
    value.split(',').map(share).collect()
}

/// `total=780,820,0,0 short=..`, or until 2.14 `total=r=780/w=820/d=0, short=..`.
fn issued(value: &str) -> Option<([u64; 3], Option<u64>)> {
    let total = value.strip_prefix("total=")?.split_whitespace().next()?;
    let mut counts = total.split([',', '/']).filter(|part| !part.is_empty()).map(|part| {
        let number = part.rsplit_once('=').map_or(part, |(_, number)| number);
        number.parse::<u64>().ok()
    });
    let mut next = || counts.next().flatten();
    let all = [next()?, next()?, next()?];
    all[0].checked_add(all[1])?;
    Some((all, next()))
}
