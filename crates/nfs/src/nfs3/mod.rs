//! NFS version 3 (RFC 1813): types, arguments, results, a blocking client, and a
//! pipeline.

mod arguments;
mod attributes;
mod client;
mod listing;
mod pipeline;
mod request;
mod results;
mod status;
mod types;
mod unstable;

pub use arguments::{
    AccessArguments, CommitArguments, CreateArguments, CreateHow, MakeDirectoryArguments, Place,
    ReadArguments, ReadDirectoryArguments, ReadDirectoryPlusArguments, RenameArguments,
    SetAttributesArguments, WriteArguments,
};
pub use attributes::{Attributes, SetAttributes, Time};
pub use client::Client;
pub(crate) use listing::PAGE_BYTES;
pub use listing::{DirectoryEntry, Listed, Listing, MOST_ENTRIES};
pub use pipeline::{Call, Completion, DATAGRAM_TRANSFER, Datagrams, Nfs3, Pipeline};
pub use plimsoll_transport::{Exchange, Full, PipelineOptions};
pub(crate) use request::ExpectedReply;
pub use request::{Done, Other, Request};
pub(crate) use results::checked_data;
pub use results::{
    AccessOk, Before, Changed, CommitOk, CreateOk, FileSystemInfo, FileSystemSpace, LookupOk, Page,
    PageEntry, PagePlus, PagePlusEntry, ReadOk, Renamed, Reply, Skipped, WriteOk,
};
pub use status::Status;
pub use types::{Data, FileHandle, FileType, Name, Procedure, Stability, Verifier};
pub use unstable::{CommitBegun, Piece, UnstableData};

use crate::rpc::Program;

/// The RPC program.
pub const PROGRAM: Program = Program { number: 100_003, version: 3 };
/// The port where the portmapper is not asked and nothing else is known.
pub const PORT: u16 = 2049;
