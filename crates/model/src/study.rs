//! A study: a plan and everything that came of it. This is the record that is kept and exported.

use crate::{
    Flag, HostFacts, HostName, Measure, MeasureInfo, Plan, SubjectFacts, Target, TargetFacts, Trial,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name and major version of the export schema.
pub const SCHEMA: &str = "plimsoll/1";

/// A study's identity: eight lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StudyId(pub String);

impl fmt::Display for StudyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a study's figures come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// plimsoll itself.
    Measured {
        /// Version of the program.
        version: String,
    },
    /// Another tool's output.
    Imported {
        /// The tool and its version.
        tool: String,
    },
}

/// Why a study ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ended {
    /// Not ended: under way, or the program was killed.
    Open,
    /// The stop rule was satisfied.
    Done,
    /// The time cap was reached first; intervals are what they are.
    CapReached,
    /// Stopped by the user.
    Interrupted,
    /// A trial failed in a way that made going on useless.
    Failed {
        /// Why.
        failure: crate::Failure,
    },
}

/// A plan and everything that came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// [`SCHEMA`]; readers refuse an unknown major version and ignore unknown fields.
    pub schema: String,
    /// Identity.
    pub id: StudyId,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// Where the figures come from.
    pub origin: Origin,
    /// Plan of the study.
    pub plan: Plan,
    /// Properties of each subject, in the plan's order.
    pub subjects: Vec<SubjectFacts>,
    /// Machines of the study.
    pub hosts: Vec<HostFacts>,
    /// Warnings about the study as a whole.
    pub flags: Vec<Flag>,
    /// Properties of the measures of its trials, for readers that do not know them. Every reader
    /// knows the measures of [`Measure::common`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<MeasureInfo>,
    /// All trials, in the order of their start.
    pub trials: Vec<Trial>,
    /// Why it ended.
    pub ended: Ended,
}

impl Study {
    /// A study from JSON in the schema [`SCHEMA`].
    ///
    /// What reads a study is compiled here once, and the crates that read parts of it share it: so it is not generic,
    /// and not inlined into them.
    ///
    /// # Errors
    /// The line and column, and what is wrong there.
    #[inline(never)]
    pub fn from_json(text: &str) -> Result<Study, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Properties of a measure: of this version, or of the version that wrote the study.
    pub fn info(&self, measure: Measure) -> Option<MeasureInfo> {
        let noted = || self.measures.iter().find(|info| info.measure == measure).cloned();
        measure.info().or_else(noted)
    }

    /// Whether a host is a machine that drives trials too: its CPU time cannot be divided between both.
    pub fn is_on_machine_of_client(&self, host: &HostName) -> bool {
        let is_same = |flag: &Flag| matches!(flag, Flag::SameMachine { host: own } if own == host);
        self.flags.iter().any(is_same)
    }

    /// Whether a subject is a directory on a disk of the machine that drives its trials: no server takes part.
    pub fn is_local(&self, subject: usize) -> bool {
        let is_directory = matches!(self.plan.target(subject), Some(Target::Directory(_)));
        let facts = self.subjects.get(subject).and_then(SubjectFacts::storage);
        let is_own = |facts: &TargetFacts| {
            // A program may have the files of some from elsewhere.
            let is_known = |name: &str| !name.starts_with("fuse");
            facts.protocol.file_system().is_some_and(is_known) && !facts.protocol.is_of_server()
        };
        is_directory
            && facts.is_some_and(is_own)
            && self.plan.far_ends(subject).all(|far| self.plan.is_client(&far.host))
    }

    /// The study without its trials, which are not copied: they may be many.
    pub fn without_trials(&self) -> Study {
        Study {
            schema: self.schema.clone(),
            id: self.id.clone(),
            started_unix_seconds: self.started_unix_seconds,
            origin: self.origin.clone(),
            plan: self.plan.clone(),
            subjects: self.subjects.clone(),
            hosts: self.hosts.clone(),
            flags: self.flags.clone(),
            measures: self.measures.clone(),
            trials: Vec::new(),
            ended: self.ended.clone(),
        }
    }
}
