//! A device of the first stage as a study of one block: a workload for each part of it.

use crate::document;
use plimsoll_model::device::{Measured, Part, PartRecord};
use plimsoll_model::{
    BoxFacts, Cell, Design, DeviceJob, Ended, HostName, Job, Length, MeasureInfo, Metric, Origin,
    Outcome, PartResult, Plan, PointResult, Rule, SCHEMA, StorageOptions, Study, StudyId, Subject,
    SubjectFacts, Trial, Workload,
};
use serde::Deserialize;
use std::num::NonZeroU16;

/// A record of a device as the first stage wrote it.
#[derive(Debug, Deserialize)]
pub(crate) struct Device {
    id: StudyId,
    started_unix_seconds: u64,
    version: String,
    command: String,
    host: HostName,
    quick: bool,
    ended: Ended,
    /// The rest is what is known of a host today.
    #[serde(flatten)]
    found: plimsoll_model::Device,
}

impl Device {
    /// As a study of one block, with a trial for each of its parts. Its figures are the trials', as
    /// far as their words make names; all else of it is what the subject turned out to be.
    pub(crate) fn converted(self) -> Study {
        let device = self.found;
        let figures = device.measured();
        let mut workloads = Vec::new();
        let mut trials = Vec::new();
        let mut measures = Vec::new();
        let mut started_seconds = 0.0;
        for part in Part::ALL {
            let went = device.part(part);
            let seconds = went.map_or(0.0, |went| went.seconds);
            let figures: Vec<&Measured> = figures.iter().filter(|f| f.part == part).collect();
            if part != Part::Inventory && (went.is_some() || !figures.is_empty()) {
                let (mut result, noted) = result(went, &figures);
                result.flags.extend(device.disturbed(part));
                // A device has five parts.
                let number = trials.len() as u16;
                trials.push(Trial {
                    number: number.into(),
                    block: Some(0),
                    cell: Cell { subject: 0, workload: number, setting: 0 },
                    started_seconds,
                    result,
                    points: Vec::new(),
                    loads: Vec::new(),
                    mount: None,
                    imported: None,
                });
                measures.extend(noted);
                workloads.push(workload(DeviceJob { part, quick: self.quick }, seconds));
            }
            started_seconds += seconds;
        }
        let host = self.host.to_string();
        Study {
            schema: SCHEMA.to_owned(),
            id: self.id,
            started_unix_seconds: self.started_unix_seconds,
            origin: Origin::Measured { version: self.version },
            plan: Plan {
                subjects: vec![Subject::Host { host: self.host }],
                workloads,
                factors: Vec::new(),
                labels: Vec::new(),
                commands: Default::default(),
                reboot: None,
                contrasts: Vec::new(),
                amounts: Vec::new(),
                design: Design {
                    rule: Rule::Fixed { blocks: 1 },
                    cap_seconds: 0.0,
                    baseline_seconds: 0.0,
                    margin: 0.05,
                    confidence: 0.95,
                    seed: 0,
                    calibrate: false,
                    quick: false,
                },
                clients: Vec::new(),
                hosts: Vec::new(),
                storage: StorageOptions::default(),
                command: self.command,
            },
            hosts: Vec::new(),
            flags: Vec::new(),
            measures: document::measures(&measures, &trials),
            trials,
            ended: self.ended,
            subjects: vec![SubjectFacts::Host(Box::new(BoxFacts {
                label: host.clone(),
                given: host,
                device,
            }))],
        }
    }
}

/// The job took as long as it needed; a record says how long that was.
fn workload(job: DeviceJob, seconds: f64) -> Workload {
    let part = plimsoll_model::Part::closed(Job::Device(job), NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::of(part, Length::UntilDone { at_most_seconds: seconds })
}

/// Result of a part. An incomplete part is a failed or stopped trial; its figures are valid.
fn result(record: Option<&PartRecord>, figures: &[&Measured]) -> (PointResult, Vec<MeasureInfo>) {
    let mut part = PartResult::default();
    let mut measures = Vec::new();
    for figure in figures {
        if let Ok(info) = figure.info() {
            part.quantities.insert(Metric::all(info.measure), figure.value);
            measures.push(info);
        }
    }
    let outcome = match record {
        Some(record) if record.complete => Outcome::Complete,
        record => match record.and_then(|record| record.failures.first()) {
            Some(failure) => {
                Outcome::Failed { phase: "measure".to_owned(), failure: failure.clone() }
            }
            None => Outcome::Stopped,
        },
    };
    let parts = if figures.is_empty() { Vec::new() } else { vec![part] };
    (PointResult { parts, ..PointResult::empty(outcome) }, measures)
}
