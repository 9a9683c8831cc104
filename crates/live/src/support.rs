//! Runs made up for tests.

use crate::news::{Header, News, Notice};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cell, CpuTimes, Design, HostLoad, HostName, Length, OpKind, Part, PatternJob, Plan, Rule,
    StudyId, Subject, Target, Window, Workload,
};
use std::num::NonZeroU16;

pub(crate) fn workload(job: PatternJob) -> Workload {
    let part = Part::closed(job.into(), NonZeroU16::new(4).unwrap(), NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds: 5.0, warm_up_seconds: 0.5 })
}

pub(crate) fn subject(target: &str) -> Subject {
    target.parse::<Target>().unwrap().into()
}

pub(crate) fn header() -> Header {
    let subjects = ["nfs://nas.example/volume1/films", "/mnt/films"].map(subject).into();
    let workloads = PatternJob::all(Bytes(1 << 30)).map(workload).to_vec();
    let rule = Rule::Sequential { first: 6, half_width: 0.025, at_least_seconds: 0.0 };
    let plan = Plan {
        command: "plimsoll check".to_owned(),
        ..Plan::new(subjects, workloads, Design { rule, seed: 1, ..Design::default() })
    };
    Header { pid: 42, ..Header::new(StudyId("00c0ffee".to_owned()), 1_760_000_000, plan) }
}

/// The cell of a trial: subjects in turn, then patterns.
pub(crate) fn cell(number: u32) -> Cell {
    let [subject, workload] = [number % 2, number / 2 % 5].map(|n| n as u16);
    Cell { subject, workload, setting: 0 }
}

pub(crate) fn notice(at_seconds: f64, news: News) -> Notice {
    Notice { at_seconds, news }
}

/// Trial `number` begins: on the targets in turn, a second each.
pub(crate) fn trial(number: u32) -> Notice {
    let (block, cell) = (number / 10, cell(number));
    let seconds_left = f64::from(60 - number.min(60));
    let news = News::Trial { number, block, cell, planned: 60, seconds_left };
    notice(f64::from(number), news)
}

pub(crate) fn window(at_seconds: f64) -> Notice {
    let ops = 100 + (at_seconds * 10.0) as u64 % 7 * 5;
    let window = Window::only(OpKind::READ, ops, ops << 20);
    notice(at_seconds, News::Window { trial_seconds: at_seconds.fract().max(0.1), window })
}

pub(crate) fn loads(at_seconds: f64) -> Notice {
    let cpu = CpuTimes { user: 0.2, system: 0.5, softirq: 0.3, idle: 1.0, ..CpuTimes::default() };
    let load = HostLoad {
        host: HostName::Local,
        seconds: 1.0,
        cpu,
        cores_busy: vec![0.8, 0.2],
        ..HostLoad::default()
    };
    notice(at_seconds, News::Loads { hosts: vec![load] })
}
