//! A host whose kernel is traced, or that makes another one work.

use plimsoll_model::HostName;
use plimsoll_reach::Reach;
use plimsoll_reach::probe::Placed;
use std::sync::Arc;

/// A host with the probe on it.
pub struct TraceHost {
    /// As the user named it.
    pub name: HostName,
    /// The way to it.
    pub reach: Arc<dyn Reach>,
    /// The probe.
    pub probe: Placed,
}
