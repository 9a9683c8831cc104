//! Rates over the time of one trial, in windows of equal length, for charts and for the detection
//! of phases.

use crate::{Count, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rates over one trial: a column for each kind of operation, a row a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of each window in seconds.
    pub window_seconds: f64,
    /// The windows from the first operation on, warm-up included, by kind of operation; columns may
    /// be shorter than others: nothing completed after their end.
    pub kinds: BTreeMap<OpKind, Column>,
    /// Operations in flight, integrated over each window: operations × nanoseconds. Empty if
    /// unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight_ns: Vec<u64>,
    /// Operations that were in flight at the end of the last window and completed after it.
    #[serde(default, skip_serializing_if = "Count::is_none")]
    pub late: Count,
}

/// Completed operations of one kind, window by window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Operations.
    pub operations: Vec<u64>,
    /// Payload bytes; empty where the kind moves none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<u64>,
}

impl Column {
    fn at(&self, window: usize) -> Count {
        let in_window = |values: &[u64]| values.get(window).copied().unwrap_or(0);
        Count { operations: in_window(&self.operations), bytes: in_window(&self.bytes) }
    }
}

impl Series {
    /// A series of windows, all of this length.
    pub fn new(window_seconds: f64, windows: &[Window]) -> Series {
        let mut series = Series { window_seconds, ..Series::default() };
        for (row, window) in windows.iter().enumerate() {
            for (kind, count) in &window.kinds {
                let column = series.kinds.entry(*kind).or_default();
                if count.operations > 0 {
                    column.operations.resize(row, 0);
                    column.operations.push(count.operations);
                }
                if count.bytes > 0 {
                    column.bytes.resize(row, 0);
                    column.bytes.push(count.bytes);
                }
            }
        }
        // The longest column says how many windows there are.
        if let Some(first) = series.kinds.values_mut().next() {
            first.operations.resize(windows.len().max(first.operations.len()), 0);
        }
        if windows.iter().any(|window| window.in_flight_ns > 0) {
            series.in_flight_ns = windows.iter().map(|window| window.in_flight_ns).collect();
        }
        series
    }

    /// How many windows there are.
    pub fn len(&self) -> usize {
        let columns = self.kinds.values().map(|c| c.operations.len().max(c.bytes.len()));
        columns.chain([self.in_flight_ns.len()]).max().unwrap_or(0)
    }

    /// Whether there is no window.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One window.
    pub fn window(&self, number: usize) -> Window {
        Window {
            kinds: self.kinds.iter().map(|(kind, column)| (*kind, column.at(number))).collect(),
            in_flight_ns: self.in_flight_ns.get(number).copied().unwrap_or(0),
        }
    }

    /// All windows in their order.
    pub fn windows(&self) -> impl Iterator<Item = Window> {
        (0..self.len()).map(|number| self.window(number))
    }

    /// All operations that hosts processed if they were monitored to the end of the load: completed
    /// in the windows and after them.
    pub fn served(&self) -> Count {
        let mut all = self.total();
        all.add(self.late);
        all
    }

    /// Everything that completed in the windows, all kinds together.
    pub fn total(&self) -> Count {
        let mut total = Count::default();
        for column in self.kinds.values() {
            let sum = |values: &[u64]| values.iter().fold(0_u64, |a, b| a.saturating_add(*b));
            total.add(Count { operations: sum(&column.operations), bytes: sum(&column.bytes) });
        }
        total
    }
}

/// Completed operations of one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// By kind of operation; kinds without any may be absent.
    pub kinds: BTreeMap<OpKind, Count>,
    /// Operations in flight, integrated over the window: operations × nanoseconds. 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight_ns: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Window {
    /// Window with only these completed operations.
    pub fn only(kind: OpKind, operations: u64, bytes: u64) -> Window {
        let kinds = BTreeMap::from([(kind, Count { operations, bytes })]);
        Window { kinds, in_flight_ns: 0 }
    }

    /// Completed operations of one kind.
    pub fn count(&self, kind: OpKind) -> Count {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// Completed operations of all kinds.
    pub fn total(&self) -> Count {
        self.kinds.values().fold(Count::default(), |mut total, count| {
            total.add(*count);
            total
        })
    }

    /// Bytes of all kinds.
    pub fn bytes(&self) -> u64 {
        self.total().bytes
    }

    /// Operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.total().operations
    }

    /// Operations that several parts completed in the same window.
    pub fn sum(parts: &[Window]) -> Window {
        let mut sum = Window::default();
        parts.iter().for_each(|part| sum.add(part));
        sum
    }

    /// Adds what another worker completed in the same window.
    pub fn add(&mut self, other: &Window) {
        for (kind, count) in &other.kinds {
            self.kinds.entry(*kind).or_default().add(*count);
        }
        self.in_flight_ns = self.in_flight_ns.saturating_add(other.in_flight_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_come_back_as_they_were() {
        let quiet = Window::default();
        let mut mixed = Window::only(OpKind::READ, 3, 4096);
        mixed.add(&Window::only(OpKind::LOOKUP, 7, 0));
        mixed.in_flight_ns = 5;
        let windows = [quiet.clone(), mixed.clone(), quiet];
        let series = Series::new(0.1, &windows);
        assert_eq!(series.len(), 3);
        let back: Vec<Window> = series.windows().collect();
        assert_eq!(back.iter().map(Window::total).collect::<Vec<_>>()[1], mixed.total());
        assert_eq!(back[1].count(OpKind::LOOKUP).operations, 7);
        assert_eq!((back[1].in_flight_ns, back[2].operations()), (5, 0));
        assert_eq!(series.total(), Count { operations: 10, bytes: 4096 });
        assert!(Series::new(0.1, &[]).is_empty());
    }
}
