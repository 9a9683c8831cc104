//! Properties of subjects, for code that does not know their kind.

use crate::metric::Row;
use crate::{HostName, Measure};

/// Properties of a kind of subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// Name in messages: "a host".
    pub noun: &'static str,
    /// Heading of the facts of several: "Hosts".
    pub plural: &'static str,
    /// Title of a report of one, before its name: "Device".
    pub title: Option<&'static str>,
    /// Command that measures it.
    pub measured_by: &'static str,
    /// Whether that command continues its studies.
    pub is_continued: bool,
    /// Whether it has facts to find out without a workload.
    pub has_inventory: bool,
    /// Whether a trial that ends when its work is done takes about as long as it may.
    pub has_typical_length: bool,
    /// Whether a workload has many figures of its own, so that tables name the figure and not the workload.
    pub has_many_figures: bool,
    /// Name of a study of one block in lists, where blocks and trials say nothing.
    pub single_block: Option<&'static str>,
    /// Measures of its jobs beside the common ones.
    pub(crate) measures: &'static [&'static [Row]],
}

/// A type of subjects.
pub(crate) trait SubjectType {
    /// Properties that all of them have.
    const INFO: KindInfo;
}

/// Properties of a subject.
pub trait SubjectInfo {
    /// Hosts that it names.
    fn hosts(&self) -> Vec<&HostName>;

    /// Short name for tables.
    fn short_name(&self) -> String;
}

/// Bottleneck that a kind of subject names by its own rule.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedBottleneck {
    /// Name: "system call".
    pub name: &'static str,
    /// Share (0..1) of the time that it takes; `None` if that is not known.
    pub share: Option<f64>,
    /// Reason, a sentence; may be empty.
    pub reason: String,
}

/// Facts of a subject, for code that does not know its kind.
pub trait FactsInfo {
    /// Facts in words, each with its name; the empty ones are not known. Reports show them for kinds without words of
    /// their own.
    fn described(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Model of the subject or of its CPU, for lists.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Bottleneck of work on the subject, where it follows from these facts and the figures of the work.
    fn bottleneck(&self, figure: &dyn Fn(Measure) -> Option<f64>) -> Option<NamedBottleneck> {
        let _ = figure;
        None
    }

    /// Changes since these facts were noted that forbid to add to a study, each as "fact: before, now after".
    fn changes(&self, now: &Self) -> Vec<String>
    where
        Self: Sized,
    {
        let _ = now;
        Vec::new()
    }
}

impl<T: FactsInfo> FactsInfo for Box<T> {
    fn described(&self) -> Vec<(&'static str, String)> {
        (**self).described()
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
    }

    fn bottleneck(&self, figure: &dyn Fn(Measure) -> Option<f64>) -> Option<NamedBottleneck> {
        (**self).bottleneck(figure)
    }

    fn changes(&self, now: &Self) -> Vec<String> {
        (**self).changes(now)
    }
}
