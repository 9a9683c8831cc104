//! Reaching hosts and watching their load. So far: this machine.
//!
//! Parsing (`proc_files`) is pure and takes text; reading (`local`) is a thin layer on top.
#![forbid(unsafe_code)]

mod local;
pub mod proc_files;

pub use local::Local;

use model::{HostFacts, HostLoad};
use proc_files::Sample;

/// A host that can be watched.
pub trait Watch {
    /// What the host is.
    fn facts(&self) -> HostFacts;
    /// Its counters now; `None` where they cannot be read.
    fn sample(&mut self) -> Option<Sample>;
    /// Whether no disk has an operation in flight; `None` where that cannot be seen.
    fn disks_idle(&self) -> Option<bool>;
}

/// The load of a host between two samples of its counters. `idle_baseline` is in busy CPU seconds
/// per second.
pub fn load_between(host: &str, from: &Sample, to: &Sample, idle_baseline: f64) -> HostLoad {
    let cores_busy = from
        .cores
        .iter()
        .zip(&to.cores)
        .map(|(a, b)| {
            let spent = *b - *a;
            if spent.total() > 0.0 { spent.busy().0 / spent.total() } else { 0.0 }
        })
        .collect();
    HostLoad {
        host: host.to_owned(),
        seconds: to.at.since(from.at).as_secs_f64(),
        cpu: to.cpu - from.cpu,
        cores_busy,
        idle_baseline,
        stretches: Vec::new(),
    }
}
