//! Jobs on storage, a file each. The types that say what is done are `plimsoll_model`'s; here is how.
//!
//! A [`StorageJob`] prepares what it works on, gives each worker an [`OperationSource`], and looks
//! at what was done when the load is over. [`Jobs`] has those of a study on one share.

mod copy;
mod database;
mod file;
mod laid_out;
mod log;
mod made_tree;
mod operations;
pub(crate) mod pattern;
mod playback;
mod scan;
mod slides;
mod table;
mod test_files;
mod tree;
mod whole;
mod written;

pub use laid_out::{Files, LaidOut};
pub use pattern::PatternSource;
pub use table::{Jobs, PartDone};
pub use test_files::{is_test_file, read_file_name, test_file_names, write_file_name};
pub use tree::{is_tree, remove_tree};
pub use whole::{ReadBack, WriteOnce};
pub use written::Written;

use crate::prepare::OperationContext;
use crate::share::{Lane, LaneRequest, Namespace, Share};
use crate::source::OperationSource;
use plimsoll_model::{BufferSeries, Cause, Event, Failure, Flag, Measure, OpKind};
use std::num::NonZeroU16;
use std::time::Duration;
use test_files::TestFiles;

/// Measures that are counts of operations per second: each with the kinds that count.
pub type Counted = &'static [(Measure, &'static [OpKind])];

/// One job as it is done to one share.
pub(crate) trait StorageJob: Send {
    /// What each worker does: a type of its own, so that nothing is looked up for an operation.
    type Source: OperationSource + Send;
    /// What is counted beside operations and bytes.
    const COUNTED: Counted = &[];

    /// Says what it needs of the files that jobs share.
    fn claim(&self, files: &mut TestFiles) {
        let _ = files;
    }
    /// Makes what it works on, but for the files that jobs share, before the first point. Asked
    /// again, it makes nothing.
    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure>;
    /// Makes everything ready for a point; not measured.
    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure>;
    /// What it asks of its lanes; after `begin`.
    fn asks(&self) -> Asks;
    /// What operations need: the context of the study, or with content of its own.
    fn context(&self, of_study: &OperationContext) -> OperationContext {
        of_study.clone()
    }
    /// A worker's lane; after `begin`.
    fn lane(&self, share: &dyn Share, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        share.lane(request)
    }
    /// What a worker does on its lane; after `begin`.
    fn source(&self, point: &Point, worker: u16, lane: &dyn Lane) -> Result<Self::Source, Failure>;
    /// Removes what its points made for it alone.
    fn remove(&mut self, at: &mut Workspace<'_>) -> Result<(), Failure> {
        let _ = at;
        Ok(())
    }
    /// Figures that it found beside what its workers do.
    fn figures(&self) -> Vec<(Measure, f64)> {
        Vec::new()
    }
    /// What the buffers of its films had over time.
    fn buffer(&self) -> Option<BufferSeries> {
        None
    }
    /// Looks at what was done; not measured. `complete`: nothing went wrong until now.
    fn finish(
        &mut self,
        sources: Vec<Self::Source>,
        at: &mut Workspace<'_>,
        complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>>;
}

/// What a job asks of its lanes.
pub(crate) struct Asks {
    /// Largest operation in bytes.
    pub block: u32,
    /// Whether the content of every read is checked.
    pub verify: bool,
    /// Kinds of operation that it does.
    pub kinds: &'static [OpKind],
}

/// What a job needs to know of a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Which of the files it begins with.
    pub rotation: u32,
    /// Seed of the offsets.
    pub seed: u64,
    /// Workers.
    pub workers: NonZeroU16,
    /// Whether the work ends when it is done; else it begins again until the time is over.
    pub once: bool,
    /// Length of the load, and of its warm-up that the plan cuts off.
    pub length: Duration,
    pub warm_up: Duration,
}

/// Why a point is not good although its load ended in order.
pub struct NotGood {
    /// Why.
    pub failure: Failure,
    /// What is odd about it.
    pub flags: Vec<Flag>,
}

impl From<Failure> for Box<NotGood> {
    fn from(failure: Failure) -> Self {
        Box::new(NotGood { failure, flags: Vec::new() })
    }
}

/// Whether a lane does all that a job needs.
fn can_do(tried: &str, lane: &dyn Lane, kinds: &[OpKind]) -> Result<(), Failure> {
    match kinds.iter().find(|kind| !lane.does(**kind)) {
        None => Ok(()),
        Some(kind) => {
            let happened = format!("the target does not support operations of the kind '{kind}'");
            let next = "Name a job that only reads and writes.";
            Err(Failure::new(Cause::Usage, tried).on("the target").happened(happened).next(next))
        }
    }
}

/// The run that jobs are part of: it owns their directory.
pub trait RunContext {
    /// The names on the share, and the path of the run's directory. A failure where nothing may be
    /// written.
    fn names(&mut self) -> Result<(&mut dyn Namespace, &str), Failure>;
    /// What goes on. Called with progress, it also keeps the run's lease alive.
    fn event(&mut self, event: Event);
}

/// Where a job works.
pub(crate) struct Workspace<'a> {
    /// The share.
    pub share: &'a dyn Share,
    /// What operations need.
    pub context: &'a OperationContext,
    /// The run.
    pub run: &'a mut dyn RunContext,
    /// The files that jobs share.
    pub files: &'a mut TestFiles,
    /// The trees of all copies.
    pub trees: &'a mut copy::Trees,
}
