//! Bencher Metric Format: a benchmark for each work on each subject, a measure for each figure.

use super::levels;
use crate::study::Shown;
use plimsoll_model::Study;
use serde_json::{Map, Value};

/// Figures of a study as JSON in Bencher Metric Format. Figures with an interval have its ends as lower and upper value.
pub fn bmf(study: &Study) -> String {
    let shown = Shown::new(study);
    let mut benchmarks = Map::new();
    for of in levels(&shown) {
        let mut name = format!("{}: {}", of.subject, of.workload);
        if !of.setting.is_empty() {
            name.push_str(&format!(", {}", of.setting));
        }
        let mut metric = Map::new();
        metric.insert("value".to_owned(), of.level.estimate.into());
        if let Some(interval) = of.level.interval.filter(|interval| interval.is_finite()) {
            metric.insert("lower_value".to_owned(), interval.low.into());
            metric.insert("upper_value".to_owned(), interval.high.into());
        }
        let measures = benchmarks.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if let Some(measures) = measures.as_object_mut() {
            measures.insert(of.metric.to_string(), Value::Object(metric));
        }
    }
    format!("{:#}\n", Value::Object(benchmarks))
}
