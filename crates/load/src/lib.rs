//! Driving load: shares, lanes, and the jobs on top of lanes.
//!
//! A [`Share`] owns connections and the [`Namespace`]; a [`Lane`] is a queue pair on it for one
//! worker. Kinds of shares: [`DirectoryShare`], [`NfsShare`], [`SmbShare`]; for tests [`NullShare`] (what the
//! program itself costs) and [`MockShare`] (a script on a [`VirtualClock`]). An
//! [`OperationSource`] says which operation comes next and is written once for all of them.
//!
//! The way of a trial: [`open`] the target, make the files in its namespace, [`lay_out`] them,
//! [`run`] a pattern, take the figures from [`TeamResult::measured`], [`verify`] what was written.
//!
//! ```
//! use plimsoll_load::*;
//! use plimsoll_model::{Deadline, PatternJob, units::Bytes};
//! use std::{num::NonZeroU16, sync::Arc, time::Duration};
//!
//! // One server that takes a millisecond for everything.
//! let clock = Arc::new(VirtualClock::new());
//! let millisecond = Duration::from_millis(1);
//! let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |_, _| Reply::After(millisecond));
//!
//! let context = OperationContext {
//!     content: Arc::new(Content::new(42)),
//!     paths: Arc::default(),
//!     deadline: Deadline::new(clock.clone(), Arc::default()),
//!     operation_timeout: Duration::from_secs(30),
//!     stalls: Default::default(),
//! };
//! let size = 16 << 20;
//! let mut namespace = share.namespace()?;
//! let mut file = |name| -> Result<LaidOut, plimsoll_model::Failure> {
//!     let laid_out = LaidOut { file: namespace.create(name)?, generation: 0 };
//!     lay_out(&share, &context, laid_out, size, &mut |_bytes| {})?;
//!     Ok(laid_out)
//! };
//! let files = Files { read: vec![file("read")?], write: vec![file("write")?] };
//!
//! let spec = RunSpec {
//!     job: PatternJob::named("random-mixed", Bytes(size)).expect("one of the five"),
//!     workers: NonZeroU16::MIN,
//!     depth: NonZeroU16::MIN,
//!     files: files.clone(),
//!     context: context.clone(),
//!     duration: Duration::from_secs(5),
//!     window: Duration::from_millis(100),
//!     seed: 1,
//! };
//! let (result, written) = run(&share, &spec, None)?;
//! let measured = result.measured(Duration::from_secs(1));
//! let operations: u64 = measured.kinds.values().map(|kind| kind.operations).sum();
//! assert_eq!((measured.length, operations), (Duration::from_secs(4), 4001));
//! assert_eq!(result.flush, Some(millisecond));
//! assert_eq!(measured.in_flight, 1.0);
//!
//! let verified = verify(&share, &context, files.write[0], size, Some(&written[0]), &mut |_| {})?;
//! assert!(verified.is_good());
//! # Ok::<(), plimsoll_model::Failure>(())
//! ```
#![deny(unsafe_code)]

mod advice;
mod aligned;
mod clock;
mod connection;
pub mod content;
mod cpu;
mod dataset;
mod directory;
mod driver;
mod entry;
mod film;
mod jobs;
mod memory;
mod mock;
mod names;
mod nfs;
mod nfs4;
mod no_crew;
mod null;
mod oddities;
mod op;
mod open;
mod open_files;
mod open_options;
mod paths;
mod prepare;
mod random;
mod result;
mod round_trip;
mod run;
mod schedule;
mod share;
mod smb;
mod source;
mod stall;
mod tally;
mod team;
mod techniques;
mod wire;

pub use self::nfs::NfsShare;
pub use self::nfs4::Nfs4Share;
pub use self::smb::{Passwords, SmbShare};
pub use clock::VirtualClock;
pub use connection::TimeLimits;
pub use content::{Content, ContentError, ContentWriter, LocalFiles};
pub use dataset::{FileSet, Manifest};
pub use directory::{DirectoryShare, fetched};
pub use entry::{Entry, EntryKind, Space};
pub use film::{FilmFile, NoFilm, film_file, film_on_share};
pub use jobs::{
    Counted, Files, Jobs, LaidOut, NotGood, PartDone, PatternSource, ReadBack, RunContext,
    WriteOnce, Written, is_test_file, is_tree, read_file_name, remove_tree, test_file_names,
    write_file_name,
};
pub use memory::NamespaceScript;
pub use mock::{MockShare, Pauses, Reply, Script};
pub use names::Names;
pub use null::NullShare;
pub use op::{
    Attributes, ByteRange, Done, FileId, Found, KINDS, LockMode, NewAttribute, Node, Op, OpError,
    PathId, Span, Tag, Whole,
};
pub use open::open;
pub use open_options::OpenOptions;
pub use paths::{ManyPaths, Paths};
pub use plimsoll_smb::Password;
pub use plimsoll_transport::SystemClock;
pub use prepare::{OperationContext, Verified, bad_content, failure, lay_out, verify};
pub use result::{KindFigures, Measured, TeamResult};
pub use run::{Observer, RunSpec, StartGate, run, run_from};
pub use share::{Full, Lane, LaneDead, LaneRequest, Memory, Namespace, Share};
pub use source::{Ended, OperationSource, Step};
pub use stall::{OutsideStalls, SILENCE, Stalled};
