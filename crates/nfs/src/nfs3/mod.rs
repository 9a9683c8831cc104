//! NFS version 3 (RFC 1813): types, arguments, results, a blocking client for names and
//! attributes, and a pipeline for data.

mod arguments;
mod attributes;
mod client;
mod in_flight;
mod listing;
mod pipeline;
mod results;
mod status;
mod transmit;
mod types;
mod unstable;
mod wire;

pub use arguments::{
    AccessArguments, CommitArguments, CreateArguments, CreateHow, MakeDirectoryArguments, Place,
    ReadArguments, ReadDirectoryArguments, ReadDirectoryPlusArguments, SetAttributesArguments,
    WriteArguments,
};
pub use attributes::{Attributes, SetAttributes, Time};
pub use client::Client;
pub use listing::{DirectoryEntry, MOST_ENTRIES};
pub use pipeline::{Completion, Done, Exchange, Full, Payload, Pipeline, PipelineOptions};
pub use results::{
    AccessOk, Before, Changed, CommitOk, CreateOk, FileSystemInfo, FileSystemSpace, LookupOk, Page,
    PageEntry, PagePlus, PagePlusEntry, ReadOk, Reply, Skipped, WriteOk,
};
pub use status::Status;
pub use types::{Data, FileHandle, FileType, Name, Procedure, Stability, Verifier};
pub use unstable::UnstableData;

use crate::rpc::Program;

/// The RPC program.
pub const PROGRAM: Program = Program { number: 100_003, version: 3 };
/// The port where the portmapper is not asked and nothing else is known.
pub const PORT: u16 = 2049;
