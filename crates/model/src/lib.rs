//! The words every other room of plimsoll speaks: what is measured ([`Target`]), how
//! ([`Workload`], [`Plan`], [`TrialSpec`]), and what came out ([`Study`], [`Trial`],
//! [`OpStats`], [`Flag`]). Values only: nothing here does I/O, reads a clock or draws a number.
#![forbid(unsafe_code)]

mod clock;
mod deadline;
pub mod device;
mod event;
mod failure;
mod flag;
mod histogram;
mod host;
mod host_load;
mod host_name;
mod imported;
mod metric;
mod mount;
mod op;
mod plan;
mod printable;
mod series;
mod study;
mod target;
mod trial;
pub mod units;
mod workload;

pub use clock::{Clock, Nanos};
pub use deadline::{Deadline, Over};
pub use device::{Device, DeviceId};
pub use event::{Event, Phase};
pub use failure::{Cause, Failure};
pub use flag::{Flag, is_file_server};
pub use histogram::Histogram;
pub use host::{CpuSeconds, CpuTimes, HostFacts, LabFacts, ServerHost, WatchedBy};
pub use host_load::{
    DiskLoad, Frequency, HostLoad, InterfaceLoad, LoadStretch, MemoryLoad, MemoryNow, Moved,
    NfsdLoad, Softirqs,
};
pub use host_name::{HostName, is_lab_name};
pub use imported::{ImportedCpu, ImportedRun};
pub use metric::{Measure, Metric, Side};
pub use mount::{MountAccount, MountOperation, MountWire};
pub use op::{ErrorKind, LatencySummary, OpKind, OpStats};
pub use plan::{Plan, Rule};
pub use printable::{printable, printable_json, printable_lines};
pub use series::{Series, Window};
pub use study::{Ended, Origin, SCHEMA, Study, StudyId};
pub use target::{
    DirectoryTarget, Engine, InPlace, NfsTarget, SmbDialect, SmbProtection, SmbTarget, SourcePort,
    Target, TargetFacts, url_meant, without_password,
};
pub use trial::{Cell, Outcome, StoredOn, Trial, TrialResult, TrialSpec};
pub use workload::{Layout, Pattern, Stability, Workload};
