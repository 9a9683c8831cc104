//! Measured subjects: storage, a network path, a host.

use crate::device::Nic;
use crate::job::SubjectKind;
use crate::{Device, HostName, Target, TargetFacts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Measured subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "subject")]
pub enum Subject {
    /// A share, an export or a directory.
    Storage {
        /// As the user named it.
        target: Target,
    },
    /// A way through a network.
    Path {
        /// Where it begins.
        from: Endpoint,
        /// Where it ends.
        to: Endpoint,
        /// The router on it that is watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<HostName>,
    },
    /// A host.
    Host {
        /// Which.
        host: HostName,
    },
}

/// One end of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Host name for the connection.
    pub host: HostName,
    /// Address of the data, if it differs from the address of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
}

impl Subject {
    /// Which kind.
    pub fn kind(&self) -> SubjectKind {
        match self {
            Subject::Storage { .. } => SubjectKind::Storage,
            Subject::Path { .. } => SubjectKind::Path,
            Subject::Host { .. } => SubjectKind::Host,
        }
    }

    /// The target, of storage.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Subject::Storage { target } => Some(target),
            _ => None,
        }
    }
}

impl From<Target> for Subject {
    fn from(target: Target) -> Self {
        Subject::Storage { target }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Storage { target } => write!(f, "{target}"),
            Subject::Path { from, to, via: None } => write!(f, "{} to {}", from.host, to.host),
            Subject::Path { from, to, via: Some(via) } => {
                write!(f, "{} to {} via {via}", from.host, to.host)
            }
            Subject::Host { host } => write!(f, "{host}"),
        }
    }
}

/// Properties of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "subject")]
#[expect(clippy::large_enum_variant, reason = "a study has a handful")]
pub enum SubjectFacts {
    /// Storage.
    Storage(TargetFacts),
    /// A network path.
    Path(PathFacts),
    /// A host.
    Host(Box<BoxFacts>),
}

/// Properties of a network path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The path as the user wrote it.
    pub given: String,
    /// Remarks, one per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Interfaces of the data at its ends, if known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<PathInterface>,
}

/// Interface of the data at an end of a path, before the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathInterface {
    /// The end: `A` or `B`.
    pub end: String,
    /// Name, queues, interrupts and queue disciplines, as in an inventory.
    pub device: Nic,
    /// Radio link, of a wireless interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireless: Option<WirelessLink>,
}

/// Radio link of a wireless interface to its access point, or to its only station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirelessLink {
    /// Rate at which it sends, in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_bits_per_second: Option<u64>,
    /// Rate at which it receives, in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_bits_per_second: Option<u64>,
    /// Signal in dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<i32>,
    /// Channel, in hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_hertz: Option<u64>,
    /// Packets sent since it connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_packets: Option<u64>,
    /// Transmissions of them that were repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_packets: Option<u64>,
    /// Packets that were given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_packets: Option<u64>,
}

/// Properties of a measured host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The host as the user wrote it.
    pub given: String,
    /// Its inventory, and how its figures were measured.
    pub device: Device,
}

impl SubjectFacts {
    /// Short name that is unique in the study.
    pub fn label(&self) -> &str {
        match self {
            SubjectFacts::Storage(facts) => &facts.label,
            SubjectFacts::Path(facts) => &facts.label,
            SubjectFacts::Host(facts) => &facts.label,
        }
    }

    /// Gives it a short name.
    pub fn set_label(&mut self, label: String) {
        match self {
            SubjectFacts::Storage(facts) => facts.label = label,
            SubjectFacts::Path(facts) => facts.label = label,
            SubjectFacts::Host(facts) => facts.label = label,
        }
    }

    /// The subject as the user wrote it.
    pub fn given(&self) -> &str {
        match self {
            SubjectFacts::Storage(facts) => &facts.given,
            SubjectFacts::Path(facts) => &facts.given,
            SubjectFacts::Host(facts) => &facts.given,
        }
    }

    /// Facts of storage.
    pub fn storage(&self) -> Option<&TargetFacts> {
        match self {
            SubjectFacts::Storage(facts) => Some(facts),
            _ => None,
        }
    }

    /// Properties of a host.
    pub fn host(&self) -> Option<&BoxFacts> {
        match self {
            SubjectFacts::Host(facts) => Some(facts),
            _ => None,
        }
    }
}
