//! What happened over the time of one trial, in windows of equal length, for the pictures and for
//! finding phases.

use serde::{Deserialize, Serialize};

/// Rates over one trial, a row a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of each window in seconds.
    pub window_seconds: f64,
    /// The windows, from the first operation on (warm-up included).
    pub windows: Vec<Window>,
}

impl Series {
    /// Operations and bytes of all windows.
    pub fn totals(&self) -> (u64, u64) {
        self.windows.iter().fold((0, 0), |(operations, bytes): (u64, u64), window| {
            let of_window = window.read_ops.saturating_add(window.write_ops);
            (operations.saturating_add(of_window), bytes.saturating_add(window.bytes()))
        })
    }
}

/// What completed within one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Reads completed.
    pub read_ops: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub write_ops: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Operations in flight, integrated over the window: operations × nanoseconds. 0 where it is not
    /// known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight_ns: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Window {
    /// Bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// Adds what another worker completed in the same window.
    pub fn add(&mut self, other: &Window) {
        self.read_ops = self.read_ops.saturating_add(other.read_ops);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_ops = self.write_ops.saturating_add(other.write_ops);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        self.in_flight_ns = self.in_flight_ns.saturating_add(other.in_flight_ns);
    }
}
