//! Properties of jobs, for code that does not know which job it has.

use super::{CannotSet, DataClass, Dataset, Parameter, Settable, Stability};
use crate::units::Bytes;
use crate::{Measure, Metric, OpKind, SubjectKind};

/// Storage that a job needs, at most, while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of files that are created once for reads.
    pub read: u64,
    /// Bytes that are written, and replaced by later trials.
    pub written: u64,
    /// Bytes that are written in a trial, and gone before the next trial of any job writes its own.
    pub transient: u64,
    /// Names: files and directories.
    pub names: u64,
    /// Whether jobs that say so have their files in common, which are as large as the largest needs.
    pub shared: bool,
}

/// Work of a job on whole files, and the other quantities that determine its time: the input of the
/// cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileWork {
    /// Name of its files in tables: "pictures".
    pub files_of: &'static str,
    /// The class that they are like.
    pub class: Option<DataClass>,
    /// Which way they go, in a word: "up".
    pub way: &'static str,
    /// How they are copied: "pipelined".
    pub method: &'static str,
    /// Whether all of them are copied; otherwise most are only checked.
    pub all: bool,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Bytes per operation.
    pub block: Bytes,
}

/// Properties of a job, by who asks for them.
pub trait JobFacts {
    // For everybody: what it is.

    /// Name in plans and exports. Workloads of the same kind correspond in a comparison of two
    /// studies.
    fn kind(&self) -> &'static str;

    /// Name in tables: "sequential read".
    fn title(&self) -> String {
        self.kind().replace('-', " ")
    }

    /// Kind of subject.
    fn subject(&self) -> SubjectKind;

    // For verdicts and reports: which figures count, and the settings in words.

    /// Metric of the verdicts.
    fn headline(&self) -> Metric;

    /// Measure shown as its speed.
    fn speed(&self) -> Measure;

    /// Kinds of operation that are shown in addition to their total.
    fn kinds_apart(&self) -> &'static [OpKind] {
        &[]
    }

    /// Whether it is about bytes; else what counts is operations.
    fn moves_payload(&self) -> bool {
        true
    }

    /// Its settings in words, in the order of their weight: "block size 4 KiB", "1 GiB".
    fn settings(&self) -> Vec<String>;

    /// Its settings for programs: names with their units, and values. Columns of tables.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Part of a device that it measures; `None` for other jobs.
    fn device_part(&self) -> Option<crate::device::Part> {
        None
    }

    /// Whether it is a short measurement, for a first look.
    fn is_quick(&self) -> bool {
        false
    }

    // For steps and limits: what can be varied.

    /// Parameters that it and the part that does it have.
    fn settable(&self) -> Settable;

    /// Sets a parameter that it keeps itself: its block, or the rate of its streams. All others are the part's, see
    /// [`Part::set`](crate::Part::set).
    ///
    /// # Errors
    /// It keeps no such parameter, or the parameter cannot have that value.
    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        let _ = (parameter, value);
        Err(CannotSet::Parameter)
    }

    /// The bytes of each of its operations; `None` where they have no size of their own.
    fn block(&self) -> Option<Bytes> {
        None
    }

    /// Whether it asks for no more than it needs, as a film that plays, so that this need and not the storage is what is
    /// measured.
    fn has_fixed_rate(&self) -> bool {
        false
    }

    // For plans of storage: the room that it takes, and how to take less.

    /// Stability of its writes; `None` if it does not write.
    fn stability(&self) -> Option<Stability> {
        None
    }

    /// Storage that it needs.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// The files that lie on the storage for it, which jobs of equal datasets have in common.
    fn dataset(&self) -> Option<&Dataset> {
        None
    }

    /// Lowers its largest file to `largest` bytes, or less where its workers share it out. Whether
    /// that can be done; jobs without sizes of their own can always.
    fn fit(&mut self, workers: u16, largest: u64) -> bool {
        let _ = (workers, largest);
        true
    }

    /// Share of the whole dataset, if it can be chosen; 1 is all of it.
    fn scale(&self) -> Option<f64> {
        None
    }

    /// Sets the share of the whole dataset, if it can be chosen.
    fn set_scale(&mut self, scale: f64) {
        let _ = scale;
    }

    /// Advice on how to use less space for jobs without a size option, as in "make room, or ...".
    fn needs_less(&self) -> Option<&'static str> {
        None
    }

    // For the cost model.

    /// The files that it moves whole; `None` of other jobs.
    fn file_work(&self) -> Option<FileWork> {
        None
    }
}
