//! Studies of other jobs than the patterns of a check, on other subjects than storage, in several
//! parts, in steps, and under several settings: every one of them can be shown in every form.

mod hosts;
mod paths;
mod scans_and_copies;
mod settings;

use crate::written::{compare, study};
use crate::{NARROW, any_study, plain};
use plimsoll_model::*;
use plimsoll_report::{Document, Style, redact};
use std::num::NonZeroU16;

const DEVICE: &str = include_str!("../../../record/tests/golden/device-nas.json");

fn part(job: Job) -> Part {
    Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)
}

/// A study of these subjects doing this, without trials.
pub(crate) fn study_of(subjects: &[Subject], workloads: Vec<Workload>) -> Study {
    let mut study = plain::empty(&[], &[]);
    study.subjects = subjects.iter().map(facts).collect();
    study.plan.subjects = subjects.to_vec();
    for (number, path) in subjects.iter().enumerate() {
        let router = path.path().and_then(|path| path.via.clone());
        study.plan.watched.extend(
            router.map(|host| Watched {
                subject: Some(number),
                ..Watched::new(host, HostRole::Router)
            }),
        );
    }
    study.plan.workloads = workloads;
    study.plan.command = "plimsoll run plan.toml".into();
    study.plan.contrasts = Contrast::against_first(&study.plan);
    study
}

fn facts(subject: &Subject) -> SubjectFacts {
    let given = subject.to_string();
    match subject {
        Subject::Storage(_) => SubjectFacts::Storage(TargetFacts {
            label: given.rsplit('/').next().unwrap().to_owned(),
            given,
            protocol: "NFSv3 over TCP".into(),
            ..TargetFacts::default()
        }),
        Subject::Path(PathSubject { from, to, .. }) => SubjectFacts::Path(PathFacts {
            label: format!("{}-{}", from.host, to.host),
            given,
            notes: vec!["1500 bytes at most in a packet".into()],
            ..PathFacts::default()
        }),
        host => {
            let record = plimsoll_record::from_json(DEVICE).unwrap();
            let device = record.subjects[0].host().unwrap().device.clone();
            SubjectFacts::Host(Box::new(BoxFacts { label: host.to_string(), given, device }))
        }
    }
}

fn storage(targets: &[&str]) -> Vec<Subject> {
    targets.iter().map(|target| Subject::from(target.parse::<Target>().unwrap())).collect()
}

fn path(from: &str, to: &str) -> Subject {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    Subject::from(PathSubject { from: end(from), to: end(to), via: None })
}

const SHORT: Length = Length::For { seconds: 5.0, warm_up_seconds: 1.0 };

/// Figures of one part.
pub(crate) fn result(figures: &[(Metric, f64)]) -> PartResult {
    PartResult { quantities: figures.iter().copied().collect(), ..PartResult::default() }
}

/// `blocks` trials of every cell, with what `parts` has for it; each block a little off.
pub(crate) fn measure(
    study: &mut Study,
    blocks: u32,
    parts: impl Fn(Cell, f64) -> Vec<PartResult>,
) {
    for block in 0..blocks {
        for cell in study.plan.cells() {
            let number = study.trials.len() as u32;
            let off = 1.0 + 0.002 * (f64::from(block % 3) - 1.0) * f64::from(1 + cell.subject);
            let mut parts = parts(cell, off);
            let all = study.plan.workload(cell).unwrap().parts.len();
            let together = (parts.len() > all).then(|| parts.pop().unwrap());
            study.trials.push(Trial {
                number,
                block: Some(block),
                cell,
                started_seconds: 5.5 * f64::from(number),
                result: PointResult { parts, together, ..PointResult::empty(Outcome::Complete) },
                points: Vec::new(),
                loads: vec![any_study::load(HostName::Local)],
                mount: None,
                imported: None,
            });
        }
    }
}

/// Shows a study in every form, and gives its text for the terminal.
pub(crate) fn shown(study_of: &Study) -> String {
    let one = std::slice::from_ref(study_of);
    let mut later = study_of.clone();
    later.id.0 = "5eed0002".into();
    later.started_unix_seconds += 86_400;
    for paper in
        [Document::of_studies(one), Document::of_studies(&[study_of.clone(), later.clone()])]
    {
        assert!(paper.html().ends_with("</html>") && !paper.markdown(Some("x")).is_empty());
        let mut names = Vec::new();
        for (name, svg) in paper.charts() {
            assert!(!names.contains(&name), "{name} twice");
            roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
            names.push(name);
        }
    }
    for text in
        [study(study_of, &Style { width: 60, ..NARROW }), compare(study_of, &later, &NARROW)]
    {
        assert!(!text.contains("NaN") && !text.contains("are not compared"), "{text}");
    }
    let redacted = redact(study_of, &[]).unwrap();
    let without_hosts = |trials: &[Trial]| -> Vec<Trial> {
        let mut trials = trials.to_vec();
        for trial in &mut trials {
            let of_points = trial.points.iter_mut().flat_map(|point| &mut point.loads);
            trial.loads.iter_mut().chain(of_points).for_each(|load| load.host = HostName::Local);
        }
        trials
    };
    assert_eq!(without_hosts(&redacted.trials), without_hosts(&study_of.trials));
    assert_eq!(redacted.plan.workloads.len(), study_of.plan.workloads.len());
    plimsoll_record::to_csv(study_of).unwrap();
    study(study_of, &Style { width: 100, colour: false })
}
