//! Driving load: shares, lanes, and the workloads on top of lanes.
#![deny(unsafe_code)]

pub mod content;
mod op;
mod share;

pub use op::{Done, FileId, Op, OpError, Span, Tag};
pub use share::{
    Entry, EntryKind, Full, Lane, LaneDead, LaneRequest, Namespace, Share, Space,
};
