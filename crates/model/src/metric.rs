//! Names of measured quantities. A trial yields one number per metric and part.

use crate::name::{intern, open_set};
use crate::{OpKind, SubjectKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Measured quantity: an open set. Each name ends with its SI unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measure(&'static str);

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A larger figure is better.
    More,
    /// A smaller figure is better.
    Less,
    /// Neither: a description.
    Neither,
}

/// How the figures of several blocks become one, and how two are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Geometric mean; ratios of pairs on the log scale.
    Geometric,
    /// Arithmetic mean, for figures that may be zero or negative, such as CPU time minus the idle
    /// baseline; ratios of means with Fieller's interval (method, section 5).
    Arithmetic,
}

/// Figure of several clients or cores together, from the figure of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// No rule: it follows from counts and histograms, or nothing has several of it.
    #[default]
    None,
    /// Sum.
    Sum,
    /// Sum of rates, each weighted by the share of the whole time that it was kept up.
    SumOfRates,
    /// Mean, weighted by the operations of each, or by their bytes if it is a figure per byte.
    WeightedMean,
    /// Largest.
    Max,
}

impl Combine {
    /// Whether it is [`Combine::None`].
    pub fn is_none(&self) -> bool {
        *self == Combine::None
    }

    /// The figure of all, from the figure and the weight of each; `None` without a rule or a figure.
    pub fn apply(self, each: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
        let each = each.into_iter();
        match self {
            Combine::None => None,
            Combine::Sum => each.map(|(figure, _)| figure).reduce(|sum, figure| sum + figure),
            Combine::SumOfRates => {
                each.map(|(figure, share)| figure * share).reduce(|sum, rate| sum + rate)
            }
            Combine::WeightedMean => {
                // Step by step, which leaves one figure as it is.
                let weighs = |(_, weight): &(f64, f64)| *weight > 0.0;
                let step = |(mean, weights): (f64, f64), (figure, weight): (f64, f64)| {
                    let weights = weights + weight;
                    (mean + (figure - mean) * (weight / weights), weights)
                };
                let (mean, weights) = each.filter(weighs).fold((0.0, 0.0), step);
                (weights > 0.0).then_some(mean)
            }
            Combine::Max => each.map(|(figure, _)| figure).reduce(f64::max),
        }
    }
}

/// Properties of a measure. They are stored with a study, so that a reader that does not know the
/// measure can still show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureInfo {
    /// The measure.
    pub measure: Measure,
    /// Its unit: `s`, `B`, `B/s`, `1/s`, `1`.
    pub unit: String,
    /// Divisor of a figure: `operation`, `byte`, `file`, `packet`; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub per: String,
    /// Which way is better.
    pub direction: Direction,
    /// How it is averaged and compared.
    pub aggregation: Aggregation,
    /// How the figures of several clients or cores become one.
    #[serde(default, skip_serializing_if = "Combine::is_none")]
    pub combine: Combine,
}

/// A row of a table of measures: name, unit, denominator, direction, aggregation, rule for several clients.
pub(crate) type Row = (Measure, &'static str, &'static str, Direction, Aggregation, Combine);

use Aggregation::{Arithmetic, Geometric};
use Combine::{Max, SumOfRates, WeightedMean};
use Direction::{Less, More, Neither};

impl Measure {
    /// Operations per second, the final flush included for writes.
    pub const IOPS: Measure = Measure("iops");
    /// Payload bytes per second (goodput), the final flush included for writes.
    pub const THROUGHPUT: Measure = Measure("throughput_bytes_per_second");
    /// Bytes per second before a change point inside the trial.
    pub const BURST_THROUGHPUT: Measure = Measure("burst_throughput_bytes_per_second");
    /// Bytes per second after a change point inside the trial.
    pub const SUSTAINED_THROUGHPUT: Measure = Measure("sustained_throughput_bytes_per_second");
    /// Mean client latency (submit to complete).
    pub const LATENCY_MEAN: Measure = Measure("latency_mean_seconds");
    /// Median client latency.
    pub const LATENCY_P50: Measure = Measure("latency_p50_seconds");
    /// 99th percentile of client latency.
    pub const LATENCY_P99: Measure = Measure("latency_p99_seconds");
    /// Largest client latency.
    pub const LATENCY_MAX: Measure = Measure("latency_max_seconds");
    /// Median RPC latency (last byte sent to reply complete).
    pub const RPC_LATENCY_P50: Measure = Measure("rpc_latency_p50_seconds");
    /// Longest time without a completed operation.
    pub const LONGEST_GAP: Measure = Measure("longest_gap_seconds");
    /// Time the final flush took.
    pub const FLUSH_TIME: Measure = Measure("flush_seconds");
    /// CPU time of plimsoll's own client (its driving threads, user and system) per operation.
    pub const CLIENT_CPU_PER_OP: Measure = Measure("client_cpu_seconds_per_operation");
    /// The same per payload byte.
    pub const CLIENT_CPU_PER_BYTE: Measure = Measure("client_cpu_seconds_per_byte");
    /// CPU time of the whole client machine, busy minus its idle baseline, per operation.
    pub const MACHINE_CPU_PER_OP: Measure = Measure("machine_cpu_seconds_per_operation");
    /// The same per payload byte.
    pub const MACHINE_CPU_PER_BYTE: Measure = Measure("machine_cpu_seconds_per_byte");
    /// Time-integrated number of operations in flight.
    pub const IN_FLIGHT: Measure = Measure("operations_in_flight");
    /// CPU time of the subject's servers, where they were watched: busy minus their idle baseline,
    /// per operation.
    pub const SERVER_CPU_PER_OP: Measure = Measure("server_cpu_seconds_per_operation");
    /// The same per payload byte.
    pub const SERVER_CPU_PER_BYTE: Measure = Measure("server_cpu_seconds_per_byte");
    /// Time that the whole work took, from its first operation to the end of its flush.
    pub const ELAPSED: Measure = Measure("elapsed_seconds");
    /// Files done per second of the elapsed time.
    pub const FILES: Measure = Measure("files_per_second");
    /// Names seen per second of the elapsed time: files, directories and others.
    pub const ENTRIES: Measure = Measure("entries_per_second");

    /// How far the first operations of several clients lay apart, by their own clocks.
    pub const START_SPREAD: Measure = Measure("start_spread_seconds");
    /// How far off that may be, as the clocks are not known better.
    pub const START_SPREAD_ERROR: Measure = Measure("start_spread_error_seconds");
    /// Result of a trial with steps, in the unit of the varied parameter.
    pub const STEP: Measure = Measure("step_value");

    /// A measure that a job has of its own; its row stands in the job's table.
    pub(crate) const fn own(name: &'static str) -> Measure {
        Measure(name)
    }

    /// Properties in this version; `None` for a measure of another version.
    pub fn info(self) -> Option<MeasureInfo> {
        rows().find(|row| row.0 == self).map(
            |(measure, unit, per, direction, aggregation, combine)| MeasureInfo {
                measure: *measure,
                unit: (*unit).to_owned(),
                per: (*per).to_owned(),
                direction: *direction,
                aggregation: *aggregation,
                combine: *combine,
            },
        )
    }

    /// Whether it may be zero or below where what was measured is no more than the noise of the idle
    /// baseline that is taken off: CPU time.
    pub fn is_cpu(self) -> bool {
        rows().any(|row| row.0 == self && row.4 == Arithmetic)
    }

    /// The measures that many jobs have, in the order of tables.
    pub fn common() -> impl Iterator<Item = Measure> {
        COMMON.iter().map(|row| row.0)
    }

    /// Whether every reader of the schema knows it, so that a study need not describe it.
    pub fn is_common(self) -> bool {
        Measure::common().any(|measure| measure == self)
    }

    /// Every measure known here, in the order of tables.
    pub fn known() -> impl Iterator<Item = Measure> {
        rows().map(|row| row.0)
    }
}

/// These belong to the schema: one that is added later is not known to the readers of today, and
/// stands in another table.
const COMMON: [Row; 24] = [
    (Measure::IOPS, "1/s", "", More, Geometric, Combine::None),
    (Measure::THROUGHPUT, "B/s", "", More, Geometric, Combine::None),
    (Measure::BURST_THROUGHPUT, "B/s", "", More, Geometric, Combine::None),
    (Measure::SUSTAINED_THROUGHPUT, "B/s", "", More, Geometric, Combine::None),
    (Measure::LATENCY_MEAN, "s", "operation", Less, Geometric, Combine::None),
    (Measure::LATENCY_P50, "s", "operation", Less, Geometric, Combine::None),
    (Measure::LATENCY_P99, "s", "operation", Less, Geometric, Combine::None),
    (Measure::LATENCY_MAX, "s", "operation", Less, Geometric, Combine::None),
    (Measure::RPC_LATENCY_P50, "s", "operation", Less, Geometric, Combine::None),
    (Measure::LONGEST_GAP, "s", "", Less, Geometric, Max),
    (Measure::FLUSH_TIME, "s", "", Less, Geometric, Max),
    (Measure::CLIENT_CPU_PER_OP, "s", "operation", Less, Arithmetic, WeightedMean),
    (Measure::CLIENT_CPU_PER_BYTE, "s", "byte", Less, Arithmetic, WeightedMean),
    (Measure::MACHINE_CPU_PER_OP, "s", "operation", Less, Arithmetic, Combine::None),
    (Measure::MACHINE_CPU_PER_BYTE, "s", "byte", Less, Arithmetic, Combine::None),
    (Measure::IN_FLIGHT, "1", "", Neither, Geometric, SumOfRates),
    (Measure::SERVER_CPU_PER_OP, "s", "operation", Less, Arithmetic, Combine::None),
    (Measure::SERVER_CPU_PER_BYTE, "s", "byte", Less, Arithmetic, Combine::None),
    (Measure::ELAPSED, "s", "", Less, Geometric, Max),
    (Measure::FILES, "1/s", "", More, Geometric, SumOfRates),
    (Measure::ENTRIES, "1/s", "", More, Geometric, SumOfRates),
    (Measure::START_SPREAD, "s", "", Neither, Geometric, Combine::None),
    (Measure::START_SPREAD_ERROR, "s", "", Neither, Geometric, Combine::None),
    (Measure::STEP, "1", "", More, Geometric, Combine::None),
];

/// Measures of many jobs, then measures of single jobs.
fn rows() -> impl Iterator<Item = &'static Row> {
    let kinds = SubjectKind::ALL.iter().flat_map(|kind| kind.info().measures);
    COMMON.iter().chain(kinds.copied().flatten())
}

impl Measure {
    fn rank(self) -> usize {
        rows().position(|row| row.0 == self).unwrap_or(usize::MAX)
    }

    fn known_as(text: &str) -> Option<Measure> {
        rows().map(|row| row.0).find(|measure| measure.0 == text)
    }

    fn named(text: &str) -> Result<Measure, String> {
        Measure::known_as(text).map_or_else(|| intern(text).map(Measure), Ok)
    }
}

open_set!(Measure);

/// A measure of one kind of operation or of all together, written as one name:
/// `read_latency_p99_seconds`, `iops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// Which operations; `None`: all together.
    pub kind: Option<OpKind>,
    /// Which quantity.
    pub measure: Measure,
}

impl Metric {
    /// `measure` over all operations together.
    pub const fn all(measure: Measure) -> Self {
        Metric { kind: None, measure }
    }

    /// `measure` over one kind of operation.
    pub const fn for_kind(kind: OpKind, measure: Measure) -> Self {
        Metric { kind: Some(kind), measure }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{kind}_")?;
        }
        write!(f, "{}", self.measure)
    }
}

impl FromStr for Metric {
    type Err = String;
    /// A name that does not end with a known measure is a separate measure of another version.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(measure) = Measure::known_as(text) {
            return Ok(Metric::all(measure));
        }
        for (cut, _) in text.match_indices('_') {
            if let Some(measure) = Measure::known_as(&text[cut + 1..]) {
                return Ok(Metric::for_kind(text[..cut].parse()?, measure));
            }
        }
        Ok(Metric::all(Measure::named(text)?))
    }
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for measure in Measure::known() {
            for kind in [None, Some(OpKind::READ), Some(OpKind::READ_DIRECTORY)] {
                let metric = Metric { kind, measure };
                assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
            }
            assert_eq!(measure.info().unwrap().measure, measure);
        }
        assert!("Read Speed".parse::<Metric>().is_err());
        assert!("".parse::<Metric>().is_err());
    }

    #[test]
    fn a_figure_of_another_version_is_kept_under_its_name() {
        let later: Metric = "some_later_figure_pixels".parse().unwrap();
        assert_eq!((later.kind, later.measure.info()), (None, None));
        assert_eq!(later.to_string(), "some_later_figure_pixels");
        let kind: Metric = "rename_iops".parse().unwrap();
        assert_eq!(kind, Metric::for_kind("rename".parse().unwrap(), Measure::IOPS));
        assert!(kind > later && later > Metric::all(Measure::ENTRIES));
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<_> = Measure::known().map(Measure::name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
