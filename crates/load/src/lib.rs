//! Driving load: shares, lanes, and the workloads on top of lanes.
#![deny(unsafe_code)]

mod aligned;
mod clock;
pub mod content;
mod cpu;
mod directory;
mod driver;
mod memory;
mod mock;
mod nfs;
mod null;
mod op;
mod open;
mod prepare;
mod result;
mod run;
mod share;
mod tally;
mod workload;

pub use self::nfs::{NfsOptions, NfsShare};
pub use clock::{SystemClock, VirtualClock};
pub use content::{Content, ContentError, ContentWriter};
pub use directory::DirectoryShare;
pub use driver::Ended;
pub use memory::NamespaceScript;
pub use mock::{MockShare, Reply, Script};
pub use null::NullShare;
pub use op::{Done, FileId, Op, OpError, Span, Tag};
pub use open::{OpenOptions, open};
pub use prepare::{Means, Verified, failure, lay_out, verify};
pub use result::{Kind, Measured, TeamResult};
pub use run::{Observer, RunSpec, run};
pub use share::{Entry, EntryKind, Full, Lane, LaneDead, LaneRequest, Namespace, Share, Space};
pub use workload::{Files, LaidOut, PatternWorkload, ReadBack, Step, Workload, WriteOnce, Written};
