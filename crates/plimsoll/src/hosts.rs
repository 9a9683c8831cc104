//! Hosts of every kind, reached.

use host::reach::Reach;
use model::{Failure, HostName};
use std::sync::Arc;

/// Reaches a host; `may_ask`: whether somebody may be asked on the terminal now.
pub fn open(host: &HostName, may_ask: bool) -> Result<Arc<dyn Reach>, Failure> {
    match host {
        HostName::Lab { lab, host } => lab::bed::reach(lab, host),
        HostName::Local | HostName::Ssh { .. } => host::reach::open(host, may_ask),
    }
}
