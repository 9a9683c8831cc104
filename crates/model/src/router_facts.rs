//! How the router on a path is set up.

use crate::device::{Netfilter, Nic};
use serde::{Deserialize, Serialize};

/// The router on a path, before the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouterFacts {
    /// Its interfaces on the path, as in an inventory: queue disciplines, steering of the queues, offloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Nic>,
    /// How many rules its packet filter has, as in an inventory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Netfilter>,
    /// Digest of these rules without their counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_digest: Option<String>,
}
