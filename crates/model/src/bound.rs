//! Bounds on figures, by which a search accepts a value.

use crate::{LatencySummary, Measure, Metric};
use serde::{Deserialize, Deserializer, Serialize};

/// Bound on one figure of one part of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Index of the part.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u16,
    /// Figure.
    pub metric: Metric,
    /// Its limit.
    #[serde(flatten)]
    pub limit: Limit,
}

/// Limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Largest value that is admitted.
    AtMost(f64),
    /// Smallest value that is admitted.
    AtLeast(f64),
}

fn is_first(part: &u16) -> bool {
    *part == 0
}

impl Bound {
    /// A figure of the first part may not exceed this value.
    pub fn at_most(metric: Metric, most: f64) -> Bound {
        Bound { part: 0, metric, limit: Limit::AtMost(most) }
    }

    /// A figure of the first part may not fall below this value.
    pub fn at_least(metric: Metric, least: f64) -> Bound {
        Bound { part: 0, metric, limit: Limit::AtLeast(least) }
    }

    /// The same on another part.
    #[must_use]
    pub fn on(self, part: u16) -> Bound {
        Bound { part, ..self }
    }

    /// Operations that have to end for its figure to be one; `None` for a figure that is not of operations.
    pub fn operations(&self) -> Option<u32> {
        match self.metric.measure {
            Measure::LATENCY_P99 => Some(LatencySummary::P99_OPERATIONS),
            Measure::LATENCY_P50 | Measure::LATENCY_MEAN | Measure::LATENCY_MAX | Measure::IOPS => {
                Some(LatencySummary::P50_OPERATIONS)
            }
            _ => None,
        }
    }

    /// Reads a list of bounds, or a single bound in its place, as earlier versions wrote it.
    pub(crate) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bound>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Bounds {
            One(Bound),
            Several(Vec<Bound>),
        }
        Ok(match Bounds::deserialize(from)? {
            Bounds::One(bound) => vec![bound],
            Bounds::Several(bounds) => bounds,
        })
    }
}

impl Limit {
    /// Whether a figure is within it.
    pub fn admits(self, figure: f64) -> bool {
        match self {
            Limit::AtMost(most) => figure <= most,
            Limit::AtLeast(least) => figure >= least,
        }
    }

    /// Position of a figure that is not admitted: "above 0.01".
    pub fn violation(self) -> String {
        match self {
            Limit::AtMost(most) => format!("above {most}"),
            Limit::AtLeast(least) => format!("below {least}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameter, Steps};

    fn read(accept: &str) -> Vec<Bound> {
        let steps = format!(
            r#"{{"steps": "search", "over": "rate", "from": 1, "to": 9, "resolution": 0.1, "accept": {accept}}}"#
        );
        let steps: Steps = serde_json::from_str(&steps).unwrap();
        let written = serde_json::to_value(&steps).unwrap();
        assert_eq!(serde_json::from_value::<Steps>(written).unwrap(), steps);
        let Steps::Search { over: Parameter::Rate, accept, .. } = steps else { panic!() };
        accept
    }

    #[test]
    fn one_bound_reads_as_a_list_of_one() {
        let p99 = Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.01);
        let one = r#"{"metric": "latency_p99_seconds", "at_most": 0.01}"#;
        assert_eq!(read(one), [p99]);
        assert_eq!(read(&format!("[{one}]")), [p99]);
        let iops = Bound::at_least(Metric::all(Measure::IOPS), 500.0).on(1);
        let second = r#"{"part": 1, "metric": "iops", "at_least": 500}"#;
        assert_eq!(read(&format!("[{one}, {second}]")), [p99, iops]);
    }

    #[test]
    fn a_limit_admits_itself_and_no_unknown_figure() {
        let [most, least] = [Limit::AtMost(2.0), Limit::AtLeast(2.0)];
        assert_eq!([1.0, 2.0, 3.0, f64::NAN].map(|at| most.admits(at)), [true, true, false, false]);
        assert_eq!(
            [1.0, 2.0, 3.0, f64::NAN].map(|at| least.admits(at)),
            [false, true, true, false]
        );
        assert_eq!([most.violation(), least.violation()], ["above 2", "below 2"]);
    }
}
