//! A device of the first stage as a study of one block: a workload for each part of it.

use crate::document;
use plimsoll_model::device::{Measured, Part, PartRecord};
use plimsoll_model::{
    BoxFacts, Cell, Design, Device, DeviceJob, Job, Length, MeasureInfo, Metric, Origin, Outcome,
    PartResult, Plan, PointResult, Rule, SCHEMA, StorageOptions, Study, StudyId, Subject,
    SubjectFacts, Trial, Workload,
};
use std::num::NonZeroU16;

/// A device as a study of one block, with a trial for each of its parts. The record stays as it is in
/// what the subject turned out to be; its figures are the trials', as far as their words make names.
pub fn study_of(device: Device) -> Study {
    let figures = device.measured();
    let mut workloads = Vec::new();
    let mut trials = Vec::new();
    let mut measures = Vec::new();
    let mut started_seconds = 0.0;
    for part in Part::ALL {
        let record = device.parts.iter().find(|record| record.part == part);
        let seconds = record.map_or(0.0, |record| record.seconds);
        let figures: Vec<&Measured> = figures.iter().filter(|f| f.part == part).collect();
        if part != Part::Inventory && (record.is_some() || !figures.is_empty()) {
            let (result, noted) = result(record, &figures);
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
            workloads.push(workload(DeviceJob { part, quick: device.quick }, seconds));
        }
        started_seconds += seconds;
    }
    let host = device.host.to_string();
    Study {
        schema: SCHEMA.to_owned(),
        id: StudyId(device.id.0.clone()),
        started_unix_seconds: device.started_unix_seconds,
        origin: Origin::Measured { version: device.version.clone() },
        plan: Plan {
            subjects: vec![Subject::Host { host: device.host.clone() }],
            workloads,
            factors: Vec::new(),
            contrasts: Vec::new(),
            design: Design {
                rule: Rule::Fixed { blocks: 1 },
                cap_seconds: 0.0,
                baseline_seconds: 0.0,
                margin: 0.05,
                confidence: 0.95,
                seed: 0,
            },
            clients: Vec::new(),
            hosts: Vec::new(),
            storage: StorageOptions::default(),
            command: device.command.clone(),
        },
        hosts: Vec::new(),
        flags: Vec::new(),
        measures: document::measures(&measures, &trials),
        trials,
        ended: device.ended.clone(),
        subjects: vec![SubjectFacts::Host(Box::new(BoxFacts {
            label: host.clone(),
            given: host,
            device,
        }))],
    }
}

/// The job took as long as it needed; a record says how long that was.
fn workload(job: DeviceJob, seconds: f64) -> Workload {
    let part = plimsoll_model::Part::closed(Job::Device(job), NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::of(part, Length::UntilDone { at_most_seconds: seconds })
}

/// What a part did. One that was not measured whole is a trial that failed or was stopped; what it
/// has of figures is as good as any.
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
