//! Points of studies that tests measure, and an observer that counts their loads.

use plimsoll_model::{Event, LoadObserver, PointSpec, Workload};

/// A point of the first subject, with limits that no test reaches.
pub fn spec(workload: Workload) -> PointSpec {
    PointSpec {
        number: 0,
        subject: 0,
        workload,
        rotation: 0,
        window_seconds: 0.1,
        left_seconds: 1e4,
        seed: 1,
    }
}

/// How often a load began and ended.
#[derive(Debug, Default)]
pub struct Loads {
    /// Loads that began.
    pub begun: u32,
    /// Loads that ended.
    pub ended: u32,
}

impl LoadObserver for Loads {
    fn load_begins(&mut self) {
        self.begun += 1;
    }

    fn load_ends(&mut self) {
        self.ended += 1;
    }

    fn event(&mut self, _: Event) {}
}
