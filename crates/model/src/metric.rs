//! Names of measured quantities. A trial yields one number per metric.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which operations a metric counts. The halves of a mixed pattern are kept apart and together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Reads and writes together.
    All,
    /// Reads alone.
    Read,
    /// Writes alone.
    Write,
}

/// What is measured, in SI units that its name carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Operations per second, the final flush included for writes.
    Iops,
    /// Bytes per second, the final flush included for writes.
    Throughput,
    /// Bytes per second before a change point inside the trial.
    BurstThroughput,
    /// Bytes per second after a change point inside the trial.
    SustainedThroughput,
    /// Mean client latency (submit to complete).
    LatencyMean,
    /// Median client latency.
    LatencyP50,
    /// 99th percentile of client latency.
    LatencyP99,
    /// Largest client latency.
    LatencyMax,
    /// Median RPC latency (last byte sent to reply complete).
    RpcLatencyP50,
    /// Longest time in which no operation completed.
    LongestGap,
    /// Time the final flush took.
    FlushTime,
    /// CPU time of plimsoll's own client (its driving threads, user and system) per operation.
    ClientCpuPerOp,
    /// The same per payload byte.
    ClientCpuPerByte,
    /// CPU time of the whole client machine, busy minus its idle baseline, per operation.
    MachineCpuPerOp,
    /// The same per payload byte.
    MachineCpuPerByte,
    /// Time-integrated number of operations in flight.
    InFlight,
    /// CPU time of the target's servers, where they were watched: busy minus their idle baseline,
    /// per operation.
    ServerCpuPerOp,
    /// The same per payload byte.
    ServerCpuPerByte,
}

impl Measure {
    /// Whether it is CPU time, which is zero or below where what was measured is no more than the
    /// noise of the idle baseline that is taken off.
    pub const fn is_cpu(self) -> bool {
        matches!(
            self,
            Measure::ClientCpuPerOp
                | Measure::ClientCpuPerByte
                | Measure::MachineCpuPerOp
                | Measure::MachineCpuPerByte
                | Measure::ServerCpuPerOp
                | Measure::ServerCpuPerByte
        )
    }
}

/// A side and a measure, written as one name: `read_latency_p99_seconds`, `iops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// Which operations.
    pub side: Side,
    /// Which quantity.
    pub measure: Measure,
}

impl Metric {
    /// `measure` over reads and writes together.
    pub const fn all(measure: Measure) -> Self {
        Metric { side: Side::All, measure }
    }

    /// `measure` over one side.
    pub const fn of(side: Side, measure: Measure) -> Self {
        Metric { side, measure }
    }

    /// Every metric there is: all measures of both sides together, then of each side.
    pub fn every() -> impl Iterator<Item = Metric> {
        [Side::All, Side::Read, Side::Write]
            .into_iter()
            .flat_map(|side| MEASURES.iter().map(move |m| Metric { side, measure: m.0 }))
    }
}

const MEASURES: [(Measure, &str); 18] = [
    (Measure::Iops, "iops"),
    (Measure::Throughput, "throughput_bytes_per_second"),
    (Measure::BurstThroughput, "burst_throughput_bytes_per_second"),
    (Measure::SustainedThroughput, "sustained_throughput_bytes_per_second"),
    (Measure::LatencyMean, "latency_mean_seconds"),
    (Measure::LatencyP50, "latency_p50_seconds"),
    (Measure::LatencyP99, "latency_p99_seconds"),
    (Measure::LatencyMax, "latency_max_seconds"),
    (Measure::RpcLatencyP50, "rpc_latency_p50_seconds"),
    (Measure::LongestGap, "longest_gap_seconds"),
    (Measure::FlushTime, "flush_seconds"),
    (Measure::ClientCpuPerOp, "client_cpu_seconds_per_operation"),
    (Measure::ClientCpuPerByte, "client_cpu_seconds_per_byte"),
    (Measure::MachineCpuPerOp, "machine_cpu_seconds_per_operation"),
    (Measure::MachineCpuPerByte, "machine_cpu_seconds_per_byte"),
    (Measure::InFlight, "operations_in_flight"),
    (Measure::ServerCpuPerOp, "server_cpu_seconds_per_operation"),
    (Measure::ServerCpuPerByte, "server_cpu_seconds_per_byte"),
];

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::All => "",
            Side::Read => "read_",
            Side::Write => "write_",
        };
        let name = MEASURES.iter().find(|m| m.0 == self.measure).map_or("", |m| m.1);
        write!(f, "{side}{name}")
    }
}

impl FromStr for Metric {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let sides = [("read_", Side::Read), ("write_", Side::Write), ("", Side::All)];
        for (prefix, side) in sides {
            if let Some(rest) = s.strip_prefix(prefix)
                && let Some((measure, _)) = MEASURES.iter().find(|m| m.1 == rest)
            {
                return Ok(Metric { side, measure: *measure });
            }
        }
        Err(format!("unknown metric '{s}'"))
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
        for (measure, _) in MEASURES {
            for side in [Side::All, Side::Read, Side::Write] {
                let metric = Metric { side, measure };
                assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
            }
        }
        assert!("read_speed".parse::<Metric>().is_err());
    }
}
