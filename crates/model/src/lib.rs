//! The types that every other crate of plimsoll shares: what is measured ([`Subject`]), how
//! ([`Job`], [`Workload`], [`Factor`], [`Plan`]), and what came out ([`Study`], [`Trial`],
//! [`Metric`], [`Flag`]). Values only: nothing here does I/O, reads a clock or draws a number.
#![forbid(unsafe_code)]

mod address;
pub mod advice;
mod amount;
mod bound;
mod cell;
mod clock;
pub mod clock_call;
mod deadline;
pub mod device;
mod event;
pub mod factor;
mod failure;
mod figure;
mod flag;
mod gate;
mod histogram;
mod host;
mod host_load;
mod host_name;
mod imported;
mod job;
pub mod kernel_samples;
pub mod kernel_trace;
pub mod label;
mod metric;
mod mount;
mod name;
mod op;
mod path_parts;
mod plan;
mod prediction;
mod printable;
mod rate_basis;
mod router_facts;
mod runner;
mod series;
mod stored_on;
mod study;
mod subject;
mod subject_info;
mod subject_key;
mod subject_kind;
mod target;
mod trial;
mod trial_length;
pub mod units;
mod watched;
pub mod what_if;
mod workload;

pub use address::{Address, NoInterface, Zone};
pub use amount::{Amount, AmountOf};
pub use bound::{Bound, Limit};
pub use cell::{Cell, Contrast, Measurand};
pub use clock::{Clock, Nanos};
pub use deadline::{Deadline, Over};
pub use device::Device;
pub use event::{Event, LoadObserver, Phase};
pub use factor::{Commands, Factor, FactorLevel, Reboot, Switch};
pub use failure::{Cause, Failure};
pub use figure::{Figure, PastStudy};
pub use flag::{Burst, Flag, IdleWindows, RateCaveat, Scaled, Severity, Words, is_file_server};
pub use gate::{Gate, GateCondition, GateSide};
pub use histogram::Histogram;
pub use host::{CpuSeconds, CpuTimes, DiskFacts, HostFacts, LabFacts, WatchedBy};
pub use host_load::{
    ConntrackLoad, ControlGroupLoad, DiskLoad, Frequency, HostLoad, HostResource, InterfaceLoad,
    LoadStretch, MemoryLoad, MemoryNow, Moved, NfsdLoad, QueueLoad, Softirqs, Softnet,
};
pub use host_name::{HostName, is_lab_name};
pub use imported::{ImportedCpu, ImportedRun};
pub use job::*;
pub use metric::{Aggregation, Combine, Direction, Measure, MeasureInfo, Metric};
pub use mount::{MountAccount, MountCommand, MountOperation, MountWire};
pub use op::{Count, ErrorKind, LatencySummary, OpKind, OpStats};
pub use path_parts::{MissingPart, PartAlone, PathPart, PathParts, PricedPart};
pub use plan::{Design, Plan, Rule, StorageOptions};
pub use prediction::{KeptPrediction, PredictedRow};
pub use printable::{printable, printable_json, printable_lines};
pub use rate_basis::{PartialCount, RateBasis};
pub use router_facts::RouterFacts;
pub use runner::{Prepared, SubjectRunner};
pub use series::{Column, Series, Window};
pub use stored_on::{ClientMemory, StoredOn};
pub use study::{Ended, Origin, SCHEMA, Study, StudyId};
pub use subject::{
    BoxFacts, Endpoint, HostSubject, PathFacts, PathInterface, PathSubject, StorageSubject,
    Subject, SubjectFacts, WirelessLink,
};
pub use subject_info::{FactsInfo, KindInfo, NamedBottleneck, SubjectInfo};
pub use subject_key::{SubjectKey, without_slash};
pub use subject_kind::SubjectKind;
pub use target::{
    AdvertisedSizes, DirectoryTarget, Engine, InPlace, NfsTarget, NfsTransport, NfsVersion,
    PageCache, Protection, Protocol, SmbDialect, SmbProtection, SmbTarget, SourcePort, Target,
    TargetFacts, WriteState, suggested_url, with_letters, without_password,
};
pub use trial::{
    BufferSeries, Outcome, PartResult, Point, PointResult, PointSpec, Stall, StallPhase, Trial,
    VoidReason,
};
pub use watched::{HostRole, Watched};
pub use workload::{Arrival, Length, Part, Steps, Technique, Workload};
