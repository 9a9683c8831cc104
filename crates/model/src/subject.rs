//! Measured subjects: storage, a network path, a host, and others.
//!
//! A kind of subject is a variant of [`SubjectKind`] and a line of `subjects!`: the type of the subject, and the type of
//! its facts. The rest of the program asks [`KindInfo`], [`SubjectInfo`] and [`FactsInfo`], and does not match on the
//! kind.

use crate::device::Nic;
use crate::job;
use crate::subject_info::{FactsInfo, KindInfo, SubjectInfo, SubjectType};
use crate::subject_kind::SubjectKind;
use crate::{Address, Device, HostName, RouterFacts, Target, TargetFacts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// The kinds of subject: a variant each, named in studies by its name in lower case.
macro_rules! subjects {
    ($($kind:ident($subject:ty, $facts:ty)),* $(,)?) => {
        impl SubjectKind {
            /// Every kind.
            pub const ALL: &'static [SubjectKind] = &[$(SubjectKind::$kind),*];

            /// Properties of the kind.
            pub fn info(self) -> &'static KindInfo {
                match self {
                    $(SubjectKind::$kind => &<$subject as SubjectType>::INFO,)*
                }
            }
        }

        /// Measured subject.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", tag = "subject")]
        pub enum Subject {
            $(#[doc = concat!("See [`", stringify!($subject), "`].")] $kind($subject),)*
        }

        impl Subject {
            /// Kind.
            pub fn kind(&self) -> SubjectKind {
                match self {
                    $(Subject::$kind(_) => SubjectKind::$kind,)*
                }
            }
        }

        $(impl From<$subject> for Subject {
            fn from(subject: $subject) -> Subject {
                Subject::$kind(subject)
            }
        })*

        impl Deref for Subject {
            type Target = dyn SubjectInfo;
            fn deref(&self) -> &(dyn SubjectInfo + 'static) {
                match self {
                    $(Subject::$kind(subject) => subject,)*
                }
            }
        }

        impl fmt::Display for Subject {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Subject::$kind(subject) => fmt::Display::fmt(subject, f),)*
                }
            }
        }

        /// Facts of a subject.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", tag = "subject")]
        pub enum SubjectFacts {
            $(#[doc = concat!("Facts of [`Subject::", stringify!($kind), "`].")] $kind($facts),)*
        }

        impl SubjectFacts {
            /// Short name that is unique in the study.
            pub fn label(&self) -> &str {
                match self {
                    $(SubjectFacts::$kind(facts) => &facts.label,)*
                }
            }

            /// Gives it a short name.
            pub fn set_label(&mut self, label: String) {
                match self {
                    $(SubjectFacts::$kind(facts) => facts.label = label,)*
                }
            }

            /// The subject as the user wrote it.
            pub fn given(&self) -> &str {
                match self {
                    $(SubjectFacts::$kind(facts) => &facts.given,)*
                }
            }

            /// Kind.
            pub fn kind(&self) -> SubjectKind {
                match self {
                    $(SubjectFacts::$kind(_) => SubjectKind::$kind,)*
                }
            }

            /// Changes since these facts were noted that forbid to add to a study, each as "fact: before, now after";
            /// none of a subject of another kind.
            pub fn changes(&self, now: &SubjectFacts) -> Vec<String> {
                match (self, now) {
                    $((SubjectFacts::$kind(before), SubjectFacts::$kind(now)) => before.changes(now),)*
                    _ => Vec::new(),
                }
            }
        }

        impl Deref for SubjectFacts {
            type Target = dyn FactsInfo;
            fn deref(&self) -> &(dyn FactsInfo + 'static) {
                match self {
                    $(SubjectFacts::$kind(facts) => facts,)*
                }
            }
        }
    };
}

subjects! {
    Storage(StorageSubject, TargetFacts),
    Path(PathSubject, PathFacts),
    Host(HostSubject, Box<BoxFacts>),
    Clock(crate::clock_call::ClockSubject, crate::clock_call::ClockFacts),
    Trace(crate::kernel_trace::TraceSubject, crate::kernel_trace::TraceFacts),
}

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().noun)
    }
}

impl Subject {
    /// The target, of storage.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Subject::Storage(storage) => Some(&storage.target),
            _ => None,
        }
    }

    /// The path, of a network path.
    pub fn path(&self) -> Option<&PathSubject> {
        match self {
            Subject::Path(path) => Some(path),
            _ => None,
        }
    }
}

impl From<Target> for Subject {
    fn from(target: Target) -> Self {
        Subject::Storage(StorageSubject { target })
    }
}

impl SubjectFacts {
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

/// A share, an export or a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageSubject {
    /// As the user named it.
    pub target: Target,
}

impl SubjectType for StorageSubject {
    const INFO: KindInfo = KindInfo {
        noun: "storage",
        plural: "Targets",
        title: None,
        measured_by: "plimsoll check",
        is_continued: true,
        has_inventory: false,
        has_typical_length: false,
        has_many_figures: false,
        single_block: None,
        measures: job::OF_STORAGE,
    };
}

impl SubjectInfo for StorageSubject {
    /// None: a server is no name of a host that plimsoll reaches.
    fn hosts(&self) -> Vec<&HostName> {
        Vec::new()
    }

    fn short_name(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for StorageSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.target, f)
    }
}

/// A way through a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSubject {
    /// Where it begins.
    pub from: Endpoint,
    /// Where it ends.
    pub to: Endpoint,
    /// The router on it that is watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<HostName>,
}

/// One end of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Host name for the connection.
    pub host: HostName,
    /// Address of the data, if it differs from the address of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// Facts of a network path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The path as the user wrote it.
    pub given: String,
    /// Remarks, one per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What root would add at its ends, a sentence without a stop for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub root_adds: Vec<String>,
    /// Interfaces of the data at its ends, if known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<PathInterface>,
    /// Its router, if one is monitored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterFacts>,
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

impl SubjectType for PathSubject {
    const INFO: KindInfo = KindInfo {
        noun: "a network path",
        plural: "Paths",
        title: Some("Network path"),
        measured_by: "plimsoll net",
        is_continued: false,
        has_inventory: false,
        has_typical_length: false,
        has_many_figures: false,
        single_block: None,
        measures: job::OF_PATHS,
    };
}

impl SubjectInfo for PathSubject {
    fn hosts(&self) -> Vec<&HostName> {
        [&self.from.host, &self.to.host].into_iter().chain(&self.via).collect()
    }

    fn short_name(&self) -> String {
        let via = self.via.as_ref().map_or(String::new(), |via| format!(" via {}", via.name()));
        format!("{} to {}{via}", self.from.host.name(), self.to.host.name())
    }
}

impl fmt::Display for PathSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from.host, self.to.host)?;
        match &self.via {
            Some(via) => write!(f, " via {via}"),
            None => Ok(()),
        }
    }
}

impl FactsInfo for PathFacts {
    fn described(&self) -> Vec<(&'static str, String)> {
        vec![("notes", self.notes.join("; "))]
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSubject {
    /// Its name.
    pub host: HostName,
}

/// Facts of a measured host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The host as the user wrote it.
    pub given: String,
    /// Its inventory, and how its figures were measured.
    pub device: Device,
}

impl SubjectType for HostSubject {
    const INFO: KindInfo = KindInfo {
        noun: "a host",
        plural: "Hosts",
        title: Some("Device"),
        measured_by: "plimsoll device",
        is_continued: false,
        has_inventory: true,
        has_typical_length: true,
        has_many_figures: true,
        single_block: Some("device"),
        measures: job::OF_HOSTS,
    };
}

impl SubjectInfo for HostSubject {
    fn hosts(&self) -> Vec<&HostName> {
        vec![&self.host]
    }

    fn short_name(&self) -> String {
        self.host.name().to_owned()
    }
}

impl fmt::Display for HostSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.host, f)
    }
}

impl FactsInfo for BoxFacts {
    fn model(&self) -> Option<&str> {
        let inventory = self.device.inventory.as_ref()?;
        let system = inventory.system.as_ref().and_then(|system| system.model.as_deref());
        system.or_else(|| inventory.cpu.as_ref()?.model.as_deref())
    }
}
