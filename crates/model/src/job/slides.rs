//! A slide show: one photo after the other, each on the screen for the same time.

use super::pattern::{PatternJob, fit_units, of_each};
use super::{CannotSet, Footprint, JobFacts, Settable, settable};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::{self, Bytes};
use crate::{Measure, Metric, Parameter, SubjectKind};
use serde::{Deserialize, Serialize};

/// Photos that are shown one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlidesJob {
    /// Size of a photo.
    pub photo: Bytes,
    /// Seconds for which each is on the screen.
    pub shown_seconds: f64,
    /// Whether the next photo is fetched while one is on the screen.
    pub ahead: bool,
    /// Bytes of a request.
    pub block: Bytes,
    /// Size of all its files together; there are as many as patterns have.
    pub size: Bytes,
}

impl SlidesJob {
    /// Seconds after which a photo is late.
    pub const LATE_SECONDS: f64 = 0.5;
    /// Mean time from the change of the slide to the photo.
    pub const PHOTO_TIME: Measure = Measure::own("photo_seconds");
    /// Longest time to a photo.
    pub const PHOTO_LONGEST: Measure = Measure::own("photo_longest_seconds");
    /// Share of the photos that took more than half a second.
    pub const LATE: Measure = Measure::own("photos_late_ratio");
    /// Photos that were due.
    pub const PHOTOS: Measure = Measure::own("photos");

    /// Size of each of its files, in bytes: one photo at least.
    pub fn file_bytes(&self) -> u64 {
        of_each(self.size, self.photo)
    }
}

use Aggregation::Arithmetic;

pub(super) const MEASURES: [Row; 4] = [
    (SlidesJob::PHOTO_TIME, "s", "", Direction::Less, Arithmetic, Combine::WeightedMean),
    (SlidesJob::PHOTO_LONGEST, "s", "", Direction::Less, Arithmetic, Combine::Max),
    (SlidesJob::LATE, "1", "", Direction::Less, Arithmetic, Combine::WeightedMean),
    (SlidesJob::PHOTOS, "1", "", Direction::Neither, Arithmetic, Combine::Sum),
];

impl JobFacts for SlidesJob {
    fn kind(&self) -> &'static str {
        if self.ahead { "slides-ahead" } else { "slides" }
    }

    fn title(&self) -> String {
        let megabytes = self.photo.0 as f64 / 1e6;
        let ahead = if self.ahead { ", next one fetched ahead" } else { "" };
        format!("photos of {megabytes:.0} MB{ahead}")
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(SlidesJob::PHOTO_TIME)
    }

    fn speed(&self) -> Measure {
        Measure::THROUGHPUT
    }

    fn has_fixed_rate(&self) -> bool {
        true
    }

    fn settings(&self) -> Vec<String> {
        vec![
            format!("one every {}", units::chosen_time(self.shown_seconds)),
            format!("requests of {}", self.block),
            self.size.to_string(),
        ]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("photo_bytes", self.photo.0.to_string()),
            ("shown_seconds", self.shown_seconds.to_string()),
            ("ahead", self.ahead.to_string()),
            ("block_bytes", self.block.0.to_string()),
            ("size_bytes", self.size.0.to_string()),
        ]
    }

    fn footprint(&self) -> Footprint {
        let files = self.file_bytes().saturating_mul(u64::from(PatternJob::FILES));
        Footprint { read: files.max(self.size.0), shared: true, ..Footprint::default() }
    }

    /// A photo begins when the one before was shown long enough.
    fn settable(&self) -> Settable {
        Settable { block: true, ..Settable::OF_WORKERS }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.block)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.block = settable::block(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }

    fn fit(&mut self, _: u16, largest: u64) -> bool {
        let unit = self.photo.0.saturating_mul(u64::from(PatternJob::FILES));
        fit_units(&mut self.size, unit, largest)
    }
}
