//! A study of the first stage, and what becomes of it.

use super::trial::Trial;
use crate::document;
use crate::workloads::{ClosedLoop, Workloads, contrasts, directory};
use plimsoll_model::{
    Cell, Design, Ended, Engine, Flag, HostFacts, HostName, Length, Origin, Rule, SCHEMA,
    ServerHost, StorageOptions, StudyId, Subject, SubjectFacts, Target, TargetFacts, units::Bytes,
};
use serde::Deserialize;

/// A plan and everything that came of it.
#[derive(Deserialize)]
pub(crate) struct Study {
    pub(crate) id: StudyId,
    pub(crate) started_unix_seconds: u64,
    pub(crate) origin: Origin,
    pub(crate) plan: Plan,
    pub(crate) targets: Vec<TargetFacts>,
    pub(crate) hosts: Vec<HostFacts>,
    pub(crate) flags: Vec<Flag>,
    pub(crate) trials: Vec<Trial>,
    pub(crate) ended: Ended,
}

/// Everything that a study needed to be run.
#[derive(Deserialize)]
pub(crate) struct Plan {
    targets: Vec<Target>,
    workloads: Vec<ClosedLoop>,
    trial_seconds: f64,
    warm_up_seconds: f64,
    rule: Rule,
    cap_seconds: f64,
    baseline_seconds: f64,
    margin: f64,
    confidence: f64,
    operation_timeout_seconds: f64,
    seed: u64,
    #[serde(default)]
    server_memory: Option<Bytes>,
    #[serde(default)]
    on: Option<HostName>,
    #[serde(default)]
    hosts: Vec<WatchedHost>,
    #[serde(default)]
    engine: Option<Engine>,
    #[serde(default)]
    adapt_size: bool,
    #[serde(default)]
    fit_size: bool,
    command: String,
}

/// A server's own host.
#[derive(Deserialize)]
struct WatchedHost {
    host: HostName,
    #[serde(default)]
    target: Option<usize>,
    #[serde(default)]
    guessed: bool,
}

impl Study {
    /// Converts to a study of this version, with all figures unchanged.
    ///
    /// # Errors
    /// Why it cannot be one: more targets or workloads than a cell can number.
    pub(crate) fn converted(self) -> Result<plimsoll_model::Study, String> {
        let Study { id, started_unix_seconds, origin, plan, targets, hosts, flags, .. } = self;
        let length =
            Length::For { seconds: plan.trial_seconds, warm_up_seconds: plan.warm_up_seconds };
        let mut workloads = Workloads::default();
        for workload in &plan.workloads {
            workloads.number(workload)?;
        }
        let mut trials = Vec::new();
        for trial in self.trials {
            let subject = u16::try_from(trial.cell.target).map_err(|_| {
                format!("trial {} is of target {}", trial.number, trial.cell.target)
            })?;
            let workload = workloads.number(&trial.cell.workload)?;
            trials.push(trial.converted(Cell { subject, workload, setting: 0 }));
        }
        let mut subjects: Vec<Subject> = plan.targets.into_iter().map(Subject::from).collect();
        // Imported runs had no targets in the plan: they are the directories that fio named.
        let unplanned = targets.iter().skip(subjects.len());
        subjects.extend(unplanned.map(|facts| directory(&facts.given)));
        let mut plan = plimsoll_model::Plan {
            subjects,
            workloads: workloads.planned(length),
            factors: Vec::new(),
            labels: Vec::new(),
            commands: Default::default(),
            reboot: None,
            contrasts: Vec::new(),
            amounts: Vec::new(),
            design: Design {
                rule: plan.rule,
                cap_seconds: plan.cap_seconds,
                baseline_seconds: plan.baseline_seconds,
                margin: plan.margin,
                confidence: plan.confidence,
                seed: plan.seed,
                calibrate: false,
                quick: false,
            },
            clients: plan.on.into_iter().collect(),
            hosts: plan.hosts.into_iter().map(ServerHost::from).collect(),
            storage: StorageOptions {
                operation_timeout_seconds: plan.operation_timeout_seconds,
                server_memory: plan.server_memory,
                engine: plan.engine,
                cache: plimsoll_model::PageCache::Direct,
                adapt_size: plan.adapt_size,
                fit_size: plan.fit_size,
                drop_caches: false,
            },
            command: plan.command,
        };
        plan.contrasts = contrasts(&plan);
        Ok(plimsoll_model::Study {
            schema: SCHEMA.to_owned(),
            id,
            started_unix_seconds,
            origin,
            plan,
            subjects: targets.into_iter().map(SubjectFacts::Storage).collect(),
            hosts,
            flags,
            measures: document::measures(&[], &trials),
            trials,
            ended: self.ended,
        })
    }
}

impl From<WatchedHost> for ServerHost {
    fn from(old: WatchedHost) -> Self {
        ServerHost { host: old.host, subject: old.target, guessed: old.guessed }
    }
}
