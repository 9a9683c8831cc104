//! Plan of a study.

use crate::units::Bytes;
use crate::{
    Amount, Cell, Commands, Contrast, Factor, Gate, HostName, HostRole, PathParts, Reboot, Subject,
    Target, Watched, Workload, factor, watched,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything a study needs to be run, and run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Measured subjects; at least one.
    pub subjects: Vec<Subject>,
    /// Short names that the user chose, in the order of the subjects; others are named by
    /// [`label::labels`](crate::label::labels).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Names that the user gave the subjects for all studies, in the order of the subjects: see
    /// [`SubjectKey`](crate::SubjectKey).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Workloads for each subject under each setting, once per block; at least one.
    pub workloads: Vec<Workload>,
    /// Settings that are varied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// The settings among them that are defined by commands, by what follows `command:` in their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, Commands>,
    /// The reboot that each whole plot begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// Parts of a router's path that are priced. Of all settings, only theirs are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PathParts>,
    /// Comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// Amounts of files for which times are predicted from the copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amounts: Vec<Amount>,
    /// Earlier studies that it is compared with, and what makes it fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Blocks, order, intervals.
    #[serde(flatten)]
    pub design: Design,
    /// Its hosts: the clients in the order of their numbers, at least one, then the others.
    #[serde(flatten, with = "watched")]
    pub watched: Vec<Watched>,
    /// How storage is driven.
    #[serde(flatten)]
    pub storage: StorageOptions,
    /// The command that repeats it.
    pub command: String,
}

/// Blocks, order and intervals of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// When to stop.
    pub rule: Rule,
    /// No new block is begun that would end after this many seconds.
    pub cap_seconds: f64,
    /// Idle baseline before the first block, in seconds.
    pub baseline_seconds: f64,
    /// Margin m of the verdicts: differences inside [1/(1+m), 1+m] do not matter.
    pub margin: f64,
    /// Family-wise confidence of the intervals.
    pub confidence: f64,
    /// Seed of the order, of the offsets and of the content.
    pub seed: u64,
    /// Whether the lengths of trials are still to be fixed, by a short run of each workload before the
    /// first block. A plan that is kept has them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrate: bool,
    /// Whether it is a quick study: the time limit starts when the files are created, and workloads
    /// without time for the first blocks are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
}

impl Default for Design {
    /// Six blocks, a family-wise confidence of 95%, a margin of 5%, ten minutes.
    fn default() -> Self {
        Design {
            rule: Rule::Fixed { blocks: 6 },
            cap_seconds: 600.0,
            baseline_seconds: 5.0,
            margin: 0.05,
            confidence: 0.95,
            seed: 0,
            calibrate: false,
            quick: false,
        }
    }
}

/// How storage is driven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageOptions {
    /// No operation may take longer than this many seconds: then the trial fails.
    pub operation_timeout_seconds: f64,
    /// Memory of the servers in bytes, if the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<Bytes>,
    /// Directory engine forced by the user; `None`: chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<crate::Engine>,
    /// Whether directories are read and written through the page cache.
    #[serde(default, skip_serializing_if = "crate::PageCache::is_direct")]
    pub cache: crate::PageCache,
    /// Whether the file sizes may be lowered for a slow target, so that laying them out leaves time
    /// for measuring. Off where the user named a size.
    #[serde(default)]
    pub adapt_size: bool,
    /// Whether the file sizes may be lowered to the space that there is. Off where the user named a
    /// size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit_size: bool,
    /// Whether the hosts that are watched drop what they have in their caches before each trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_caches: bool,
}

impl Default for StorageOptions {
    fn default() -> Self {
        StorageOptions {
            operation_timeout_seconds: 30.0,
            server_memory: None,
            engine: None,
            cache: crate::PageCache::Direct,
            adapt_size: false,
            fit_size: false,
            drop_caches: false,
        }
    }
}

/// When a study stops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Rule {
    /// As soon as every comparison is decided, looking after every block: its interval lies wholly
    /// outside or wholly inside the margin, or is narrow enough (method, section 5).
    Sequential {
        /// Blocks before the first look.
        first: u32,
        /// Half-width on the log scale that is always enough.
        half_width: f64,
        /// Seconds of measurement before any decision, because a verdict is valid only for the
        /// measured time.
        at_least_seconds: f64,
    },
    /// A fixed number of blocks; Student t at that n.
    Fixed {
        /// Blocks.
        blocks: u32,
    },
}

impl Rule {
    /// Blocks that are run whatever the figures say.
    pub fn first_blocks(&self) -> u32 {
        match *self {
            Rule::Sequential { first, .. } => first,
            Rule::Fixed { blocks } => blocks,
        }
    }
}

impl Plan {
    /// A plan by this machine, without factors, that compares every subject with the first.
    pub fn new(subjects: Vec<Subject>, workloads: Vec<Workload>, design: Design) -> Plan {
        let mut plan = Plan {
            subjects,
            labels: Vec::new(),
            names: Vec::new(),
            workloads,
            factors: Vec::new(),
            commands: Default::default(),
            reboot: None,
            parts: None,
            contrasts: Vec::new(),
            amounts: Vec::new(),
            gate: None,
            design,
            watched: watched::clients([]),
            storage: StorageOptions::default(),
            command: String::new(),
        };
        plan.contrasts = Contrast::against_first(&plan);
        plan
    }

    /// The plan with these factors, whose settings are compared with the first.
    pub fn with_factors(self, factors: Vec<Factor>) -> Plan {
        let mut plan = Plan { factors, ..self };
        plan.contrasts = Contrast::against_first(&plan);
        plan
    }

    /// Hosts that the trials are driven on, by their numbers.
    pub fn clients(&self) -> impl Iterator<Item = &HostName> {
        let clients = self.watched.iter().filter(|one| one.role == HostRole::Client);
        clients.map(|client| &client.host)
    }

    /// The host that the first part of each workload is driven on.
    pub fn client(&self) -> &HostName {
        self.clients().next().unwrap_or(&HostName::Local)
    }

    /// Whether this host drives trials.
    pub fn is_client(&self, host: &HostName) -> bool {
        self.clients().any(|client| client == host)
    }

    /// Whether the trials are driven on other hosts.
    pub fn is_remote(&self) -> bool {
        self.clients().any(|client| *client != HostName::Local)
    }

    /// Drives the trials on these hosts; without any, on this machine.
    pub fn drive_on(&mut self, clients: impl IntoIterator<Item = HostName>) {
        self.watched.retain(|one| one.role != HostRole::Client);
        let others = std::mem::replace(&mut self.watched, watched::clients(clients));
        self.watched.extend(others);
    }

    /// Monitored hosts in other roles than that of a client.
    pub fn others(&self) -> impl Iterator<Item = &Watched> {
        self.watched.iter().filter(|one| one.role != HostRole::Client)
    }

    /// Monitored hosts at the other end of a subject: those of its server, or the peer of a path.
    pub fn far_ends(&self, subject: usize) -> impl Iterator<Item = &Watched> {
        let is_far = move |one: &&Watched| one.role.is_far_end() && one.concerns(subject);
        self.watched.iter().filter(is_far)
    }

    /// Monitored router of a path.
    pub fn router(&self, subject: usize) -> Option<&HostName> {
        let is_router = |one: &&Watched| one.role == HostRole::Router && one.concerns(subject);
        self.watched.iter().find(is_router).map(|one| &one.host)
    }

    /// Command that measures its first subject.
    pub fn measured_by(&self) -> Option<&'static str> {
        Some(self.subjects.first()?.kind().info().measured_by)
    }

    /// Command that continues a study of all its subjects; `None` if no command does.
    pub fn continued_by(&self) -> Option<&'static str> {
        let first = self.measured_by()?;
        let mut kinds = self.subjects.iter().map(|subject| subject.kind().info());
        kinds.all(|kind| kind.is_continued && kind.measured_by == first).then_some(first)
    }

    /// Target of the subject with this number; `None` if it is not storage.
    pub fn target(&self, subject: usize) -> Option<&Target> {
        self.subjects.get(subject)?.target()
    }

    /// The workload of a cell.
    pub fn workload(&self, cell: Cell) -> Option<&Workload> {
        self.workloads.get(usize::from(cell.workload))
    }

    /// Longest trial that is planned, in seconds, setting up apart.
    pub fn longest_trial_seconds(&self) -> f64 {
        self.workloads.iter().map(Workload::trial_seconds).fold(0.0, f64::max)
    }

    /// Settings that are measured: every combination of levels, or those that price the parts of a path.
    pub fn settings(&self) -> Vec<u16> {
        match &self.parts {
            Some(parts) => parts.settings(),
            None => (0..=u16::MAX).take(factor::settings(&self.factors)).collect(),
        }
    }

    /// All cells of one block. Workloads that do not apply to a kind of subject are left out.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for setting in self.settings().into_iter().map(usize::from) {
            for (workload, what) in self.workloads.iter().enumerate() {
                for (subject, which) in self.subjects.iter().enumerate() {
                    if what.subject() == Some(which.kind()) {
                        cells.push(Cell::new(subject, workload, setting));
                    }
                }
            }
        }
        cells
    }

    /// Blocks that are run whatever the figures say.
    pub fn first_blocks(&self) -> u32 {
        self.design.rule.first_blocks()
    }
}
