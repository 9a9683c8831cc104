//! Strategies that reach every variant and every field of a study.

pub mod flags;
mod plan;
mod target;
mod trial;
mod workload;

use super::full;
use flags::flags;
use plan::plan;
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use trial::{any_trial, measures};

/// Any text, control characters and all.
pub fn text() -> impl Strategy<Value = String> + Clone {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

/// A host of each kind that is monitored.
pub fn host() -> impl Strategy<Value = HostName> + Clone {
    let named = ["local", "ssh://root@nas:2222", "lab://bed/router"];
    select(named.map(|name| name.parse::<HostName>().unwrap()).to_vec())
}

fn failure() -> impl Strategy<Value = Failure> {
    let causes = [
        Cause::Trial,
        Cause::Usage,
        Cause::Unreachable,
        Cause::Authentication,
        Cause::NotPermitted,
        Cause::NoSpace,
        Cause::Interrupted,
        Cause::Terminated,
    ];
    (select(causes.to_vec()), text(), text(), text(), text()).prop_map(
        |(cause, tried, on, why, next)| Failure::new(cause, tried).on(on).happened(why).next(next),
    )
}

fn subject_facts() -> impl Strategy<Value = SubjectFacts> {
    let path = (text(), text(), vec(text(), 0..2)).prop_map(|(label, given, notes)| {
        let interface = PathInterface { end: given.clone(), ..PathInterface::default() };
        let router = Some(RouterFacts { rules_digest: Some(label.clone()), ..Default::default() });
        let (root_adds, interfaces) = (notes.clone(), vec![interface]);
        SubjectFacts::Path(PathFacts { label, given, notes, root_adds, interfaces, router })
    });
    prop_oneof![3 => facts().prop_map(SubjectFacts::Storage), 1 => path]
}

fn facts() -> impl Strategy<Value = TargetFacts> {
    let stored = select(vec![
        StoredOn::ClientMemory,
        StoredOn::ServerMemory,
        StoredOn::Disk,
        StoredOn::Unknown,
    ]);
    (text(), text(), any::<(u64, u64)>(), option::of(stored), vec(text(), 0..3)).prop_map(
        |(label, given, space_bytes, reads_from, notes)| TargetFacts {
            protocol: given.clone().into(),
            client_cache: label.clone(),
            label,
            given,
            advertised: AdvertisedSizes {
                largest_read_bytes: reads_from.map(|_| space_bytes.0 as u32),
                listing_bytes: notes.first().map(|_| space_bytes.1 as u32),
                ..AdvertisedSizes::default()
            },
            space_bytes,
            reads_from,
            in_place: notes.first().map(|file: &String| InPlace {
                file: file.clone(),
                size: Bytes(space_bytes.0 / 2),
            }),
            notes,
            ..TargetFacts::default()
        },
    )
}

/// Any study with finite figures, its trials numbered in their order.
pub fn study() -> impl Strategy<Value = Study> {
    let ended = prop_oneof![
        Just(Ended::Open),
        Just(Ended::Done),
        Just(Ended::CapReached),
        Just(Ended::Interrupted),
        failure().prop_map(|failure| Ended::Failed { failure }),
    ];
    let origin = prop_oneof![
        text().prop_map(|version| Origin::Measured { version }),
        text().prop_map(|tool| Origin::Imported { tool }),
    ];
    let lists = (vec(subject_facts(), 0..4), flags(), vec(any_trial(), 0..6));
    (plan(), lists, ended, origin, 0..=i64::MAX as u64, any::<u32>()).prop_map(
        |(plan, (subjects, flags, mut trials), ended, origin, started, id)| {
            for (number, trial) in trials.iter_mut().enumerate() {
                trial.number = number as u32;
            }
            Study {
                schema: SCHEMA.into(),
                id: StudyId(format!("{id:08x}")),
                started_unix_seconds: started,
                origin,
                plan,
                subjects,
                hosts: full().hosts,
                flags,
                measures: measures(&trials),
                trials,
                ended,
            }
        },
    )
}
