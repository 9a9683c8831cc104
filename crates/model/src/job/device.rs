//! Measurements of a host: CPU, memory, cryptography and disk.

use super::{JobFacts, Settable};
use crate::device::{Measured, Part, Quantity};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::{Measure, MeasureInfo, Metric, SubjectKind};
use serde::{Deserialize, Serialize};

/// Measures one part of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceJob {
    /// Which part.
    pub part: Part,
    /// Whether short measurements do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
}

impl DeviceJob {
    /// Rounds of the probe's integer workload on the fastest core.
    pub const INTEGER_ROUNDS: Measure = Measure::own("integer_rounds_one_core_rounds_per_second");
    /// STREAM's copy past all caches, one thread.
    pub const MEMORY_COPY: Measure = Measure::own("copy_memory_bytes_per_second");
    /// One core's AES-128-GCM, which SMB 3 and TLS use.
    pub const AES_128_GCM: Measure = Measure::own("aes_128_gcm_bytes_per_second");
    /// Sequential reads from the disk.
    pub const SEQUENTIAL_READ: Measure = Measure::own("sequential_read_bytes_per_second");
}

pub(super) const MEASURES: [Row; 4] = [
    (DeviceJob::INTEGER_ROUNDS, "1/s", "", Direction::More, Aggregation::Geometric, Combine::None),
    (DeviceJob::MEMORY_COPY, "B/s", "", Direction::More, Aggregation::Geometric, Combine::None),
    (DeviceJob::AES_128_GCM, "B/s", "", Direction::More, Aggregation::Geometric, Combine::None),
    (DeviceJob::SEQUENTIAL_READ, "B/s", "", Direction::More, Aggregation::Geometric, Combine::None),
];

impl JobFacts for DeviceJob {
    fn kind(&self) -> &'static str {
        self.part.name()
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Host
    }

    fn device_part(&self) -> Option<Part> {
        Some(self.part)
    }

    fn is_quick(&self) -> bool {
        self.quick
    }

    fn headline(&self) -> Metric {
        Metric::all(self.speed())
    }

    fn speed(&self) -> Measure {
        match self.part {
            Part::Inventory | Part::Cpu => DeviceJob::INTEGER_ROUNDS,
            Part::Memory => DeviceJob::MEMORY_COPY,
            Part::Crypto => DeviceJob::AES_128_GCM,
            Part::Disk => DeviceJob::SEQUENTIAL_READ,
        }
    }

    fn settings(&self) -> Vec<String> {
        Vec::from_iter(self.quick.then(|| "short measurements".to_owned()))
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("quick", self.quick.to_string())]
    }

    /// Exports name the workers of its part, although its figures do not depend on them.
    fn settable(&self) -> Settable {
        Settable::OF_WORKERS
    }
}

impl Measured {
    /// The figure as a measure, named by its words and its unit: "copy, level 1 cache" is
    /// `copy_level_1_cache_bytes_per_second`. It must be stored with the figures, because measures
    /// of devices are an open set.
    ///
    /// # Errors
    /// Its words do not make a name.
    pub fn info(&self) -> Result<MeasureInfo, String> {
        let words = self.figure.split(|c: char| !c.is_ascii_alphanumeric());
        let mut words: Vec<String> =
            words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
        words.push(self.quantity.unit().to_owned());
        let unit = match self.quantity {
            Quantity::Iterations | Quantity::Rounds | Quantity::Operations => "1/s",
            Quantity::Bandwidth => "B/s",
            Quantity::Time => "s",
        };
        Ok(MeasureInfo {
            measure: words.join("_").parse()?,
            unit: unit.to_owned(),
            per: String::new(),
            direction: if self.quantity.is_cost() { Direction::Less } else { Direction::More },
            aggregation: Aggregation::Geometric,
            combine: Combine::None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(figure: &str, quantity: Quantity) -> Measured {
        let (figure, cpu_share, slowest_share) = (figure.to_owned(), None, None);
        Measured {
            part: Part::Cpu,
            figure,
            by: "probe",
            value: 1.0,
            quantity,
            cpu_share,
            slowest_share,
        }
    }

    #[test]
    fn figures_are_named_by_their_words_and_unit() {
        for (figure, quantity, name, unit) in [
            (
                "CoreMark, one core",
                Quantity::Iterations,
                "coremark_one_core_iterations_per_second",
                "1/s",
            ),
            (
                "copy, level 2 cache",
                Quantity::Bandwidth,
                "copy_level_2_cache_bytes_per_second",
                "B/s",
            ),
            ("AES-256-XTS", Quantity::Bandwidth, "aes_256_xts_bytes_per_second", "B/s"),
            ("latency, memory", Quantity::Time, "latency_memory_seconds", "s"),
        ] {
            let info = measured(figure, quantity).info().unwrap();
            assert_eq!((info.measure.name(), info.unit.as_str()), (name, unit));
            assert_eq!(info.direction == Direction::Less, quantity == Quantity::Time);
            assert_eq!(name.parse::<Metric>().unwrap(), Metric::all(info.measure));
        }
        assert!(measured(&"x".repeat(200), Quantity::Time).info().is_err());
    }

    #[test]
    fn what_is_known_of_a_headline_is_what_its_figure_says() {
        for (figure, quantity, part) in [
            ("integer rounds, one core", Quantity::Rounds, Part::Cpu),
            ("copy, memory", Quantity::Bandwidth, Part::Memory),
            ("AES-128-GCM", Quantity::Bandwidth, Part::Crypto),
            ("sequential read", Quantity::Bandwidth, Part::Disk),
        ] {
            let job = DeviceJob { part, quick: false };
            assert_eq!(job.speed().info(), Some(measured(figure, quantity).info().unwrap()));
        }
    }
}
