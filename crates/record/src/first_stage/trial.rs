//! A trial of the first stage: one pattern on one target, with one result.

use crate::workloads::ClosedLoop;
use plimsoll_model::{
    Flag, HostLoad, ImportedRun, Metric, MountAccount, OpKind, OpStats, Outcome, PartResult,
    PointResult, Series,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A trial as it was kept.
#[derive(Deserialize)]
pub(crate) struct Trial {
    pub(super) number: u32,
    block: Option<u32>,
    pub(super) cell: Cell,
    started_seconds: f64,
    outcome: Outcome,
    quantities: BTreeMap<Metric, f64>,
    ops: BTreeMap<OpKind, OpStats>,
    series: Windows,
    flags: Vec<Flag>,
    loads: Vec<HostLoad>,
    #[serde(default)]
    mount: Option<MountAccount>,
    #[serde(default)]
    imported: Option<ImportedRun>,
}

/// What was measured.
#[derive(Deserialize)]
pub(super) struct Cell {
    pub(super) target: usize,
    pub(super) workload: ClosedLoop,
}

/// Rates over time, a row a window.
#[derive(Deserialize)]
struct Windows {
    window_seconds: f64,
    windows: Vec<Window>,
}

/// What completed within one window.
#[derive(Deserialize)]
struct Window {
    read_ops: u64,
    read_bytes: u64,
    write_ops: u64,
    write_bytes: u64,
    #[serde(default)]
    in_flight_ns: u64,
}

impl Trial {
    pub(super) fn converted(self, cell: plimsoll_model::Cell) -> plimsoll_model::Trial {
        let part = PartResult {
            quantities: self.quantities,
            ops: self.ops,
            series: self.series.in_columns(),
            ..PartResult::default()
        };
        let parts = if part == PartResult::default() { Vec::new() } else { vec![part] };
        plimsoll_model::Trial {
            number: self.number,
            block: self.block,
            cell,
            started_seconds: self.started_seconds,
            result: PointResult { parts, flags: self.flags, ..PointResult::empty(self.outcome) },
            points: Vec::new(),
            loads: self.loads,
            mount: self.mount,
            imported: self.imported,
        }
    }
}

impl Windows {
    /// The same, a column for each kind of operation. A kind of which nothing completed has none, but
    /// for reads where there is no other: a column says how many windows there were.
    fn in_columns(self) -> Series {
        let wrote = self.windows.iter().any(|w| w.write_ops > 0 || w.write_bytes > 0);
        let read = self.windows.iter().any(|w| w.read_ops > 0 || w.read_bytes > 0);
        let windows: Vec<plimsoll_model::Window> = self
            .windows
            .into_iter()
            .map(|window| {
                let (reads, writes) = (
                    (OpKind::READ, window.read_ops, window.read_bytes),
                    (OpKind::WRITE, window.write_ops, window.write_bytes),
                );
                let kinds = [(reads, read || !wrote), (writes, wrote)];
                let kinds = kinds.into_iter().filter(|(_, there)| *there).map(
                    |((kind, operations, bytes), _)| {
                        (kind, plimsoll_model::Count { operations, bytes })
                    },
                );
                plimsoll_model::Window { kinds: kinds.collect(), in_flight_ns: window.in_flight_ns }
            })
            .collect();
        // Trials without a window have no length of windows either.
        if windows.is_empty() {
            Series::default()
        } else {
            Series::new(self.window_seconds, &windows)
        }
    }
}
