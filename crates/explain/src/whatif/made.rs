//! The study that measured a prediction: the first one after it whose facts show the changes.

use super::score::{Score, with_concurrency};
use super::{Encryption, LinkEnd, LinkRate, WhatIf};
use crate::History;
use crate::across::subject_pairs;
use crate::history::{Moment, is_equal};
use plimsoll_model::{
    Cell, HostFacts, HostName, KeptPrediction, Part, Protection, Study, StudyId, Subject,
    SubjectFacts, TargetFacts, factor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

/// Two figures of a fact are the same within this share: rates of links are exact, but memory is less than its chips.
const SAME: f64 = 0.1;
/// The same of round trips, which vary from day to day.
const SAME_ROUND_TRIP: f64 = 0.25;
/// Settings of a plan that are considered: a store from elsewhere may have a plan with any number of them.
const MOST_SETTINGS: usize = 1000;

/// Kept prediction of a subject, compared with the study that measured it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPrediction {
    /// The prediction, with the rows of the subject.
    pub prediction: KeptPrediction,
    /// The study after the changes; `None` if there is none.
    pub later: Option<StudyId>,
    /// The rows that it measured; none without it.
    pub scores: Vec<Score>,
}

/// Whether the facts of a study show that these changes were made. Facts have no speeds of CPUs and disks.
pub fn is_recorded(changes: &[WhatIf]) -> bool {
    let is_fact = |change: &WhatIf| match change {
        WhatIf::Link { .. }
        | WhatIf::RoundTrip { .. }
        | WhatIf::Readers(_)
        | WhatIf::Depth(_)
        | WhatIf::Memory(_)
        | WhatIf::Encrypt { layer: Encryption::Smb, .. } => true,
        WhatIf::Processor { .. }
        | WhatIf::Disk(_)
        | WhatIf::Encrypt { layer: Encryption::Disk, .. } => false,
    };
    !changes.is_empty() && changes.iter().all(is_fact)
}

/// The study that measured a prediction: the one that the user named, else the first of the history that began after
/// the prediction, has equal work, and whose facts show every change. `before` is the study of the prediction.
pub fn measured_by(
    prediction: &KeptPrediction,
    before: &Moment<'_>,
    history: &History<'_>,
) -> Option<StudyId> {
    if prediction.measured.is_some() || !is_recorded(&prediction.changes) {
        return prediction.measured.clone();
    }
    let planned = with_concurrency(before.study, &prediction.changes);
    let shows = |moment: &&Moment<'_>| {
        let later = Side { study: moment.study, subject: moment.subject };
        let before = Side { study: before.study, subject: before.subject };
        later.study.started_unix_seconds >= prediction.made_unix_seconds
            && later.study.id != before.study.id
            && prediction.changes.iter().all(|change| is_made(change, before, later))
            && has_equal_work(prediction, &planned, before.subject, later)
    };
    history.moments.iter().find(shows).map(|moment| moment.study.id.clone())
}

/// A subject of a study.
#[derive(Clone, Copy)]
struct Side<'a> {
    study: &'a Study,
    subject: u16,
}

/// Whether the later study measured a row of the prediction with equal work.
fn has_equal_work(
    prediction: &KeptPrediction,
    planned: &Study,
    subject: u16,
    later: Side<'_>,
) -> bool {
    let is_pair = subject_pairs(planned, later.study).contains(&(subject, later.subject));
    let workloads = later.study.plan.workloads.len();
    let settings = factor::settings(&later.study.plan.factors).min(MOST_SETTINGS);
    let of_subject = |workload, setting| Cell::new(later.subject.into(), workload, setting);
    let is_measured = |cell: Cell| {
        let mut cells =
            (0..workloads).flat_map(|of| (0..settings).map(move |at| of_subject(of, at)));
        cells.any(|other| is_equal(planned, cell, later.study, other))
    };
    let mut own = prediction.rows.iter().map(|row| row.cell).filter(|cell| cell.subject == subject);
    is_pair && own.any(is_measured)
}

/// Whether the facts of the later study show a change that those of the study before do not have.
fn is_made(change: &WhatIf, before: Side<'_>, later: Side<'_>) -> bool {
    match change {
        WhatIf::Link { end, to } => has_link(*end, *to, before, later),
        WhatIf::RoundTrip { seconds } => {
            let is_there = |side: Side<'_>| {
                let trip = side.storage().and_then(|facts| facts.round_trip_seconds);
                trip.is_some_and(|trip| is_same(trip, *seconds, SAME_ROUND_TRIP))
            };
            is_there(later) && !is_there(before)
        }
        WhatIf::Memory(times) => {
            let memory = |side: Side<'_>| {
                let own = side.hosts(LinkEnd::Server);
                own.map(|host| host.memory_bytes).filter(|bytes| *bytes > 0).max()
            };
            let memory = memory(before).zip(memory(later));
            memory.is_some_and(|(old, new)| {
                let (old, new) = (old as f64, new as f64);
                is_same(new, times * old, SAME) && !is_same(new, old, SAME)
            })
        }
        WhatIf::Encrypt { layer: Encryption::Smb, .. } => {
            let is_encrypted = |side: Side<'_>| {
                let protection = side.storage().and_then(|facts| facts.protection.as_ref());
                matches!(protection, Some(Protection::Encryption { .. }))
            };
            is_encrypted(later) && !is_encrypted(before)
        }
        WhatIf::Readers(count) => has_other(before, |part| part.workers, *count),
        WhatIf::Depth(count) => has_other(before, |part| part.depth(), *count),
        WhatIf::Processor { .. }
        | WhatIf::Disk(_)
        | WhatIf::Encrypt { layer: Encryption::Disk, .. } => false,
    }
}

/// Whether a part of the plan has another number than this: that the later one has it follows from its equal work.
fn has_other(side: Side<'_>, number: impl Fn(&Part) -> NonZeroU16, count: NonZeroU16) -> bool {
    let parts = side.study.plan.workloads.iter().flat_map(|workload| &workload.parts);
    parts.filter(|part| part.job.settable().workers).any(|part| number(part) != count)
}

/// Whether every monitored host of these ends has an interface with the new rate, and one of them had none before.
fn has_link(end: LinkEnd, to: LinkRate, before: Side<'_>, later: Side<'_>) -> bool {
    let mut is_new = false;
    for host in later.hosts(end) {
        let old = before.study.hosts.iter().find(|old| old.name == host.name);
        let old = old.map(rates).unwrap_or_default();
        let new = rates(host);
        let wanted = |name: &str| match to {
            LinkRate::BitsPerSecond(rate) => Some(rate as f64),
            LinkRate::Times(times) => old.get(name).map(|rate| times * *rate as f64),
        };
        let is_wanted =
            |name: &str, rate: u64| wanted(name).is_some_and(|to| is_same(rate as f64, to, SAME));
        let with_rate: Vec<_> = new.iter().filter(|(name, rate)| is_wanted(name, **rate)).collect();
        // A host without known rates says nothing.
        if with_rate.is_empty() && !new.is_empty() {
            return false;
        }
        is_new |= with_rate.into_iter().any(|(name, rate)| old.get(name) != Some(rate));
    }
    is_new
}

/// Rates of the interfaces of a host in bits per second, as far as they are known.
fn rates(host: &HostFacts) -> BTreeMap<&str, u64> {
    let rate = |name| host.link_rate(name).map(|rate| (name, rate));
    host.interfaces().into_iter().filter_map(rate).collect()
}

fn is_same(figure: f64, wanted: f64, within: f64) -> bool {
    (figure - wanted).abs() <= within * wanted
}

impl<'a> Side<'a> {
    fn storage(self) -> Option<&'a TargetFacts> {
        self.study.subjects.get(usize::from(self.subject)).and_then(SubjectFacts::storage)
    }

    /// Facts of the monitored hosts at these ends.
    fn hosts(self, end: LinkEnd) -> impl Iterator<Item = &'a HostFacts> {
        let plan = &self.study.plan;
        let subject = usize::from(self.subject);
        let (clients, servers): (Vec<&HostName>, Vec<&HostName>) =
            match plan.subjects.get(subject).and_then(Subject::path) {
                Some(path) => (vec![&path.from.host], vec![&path.to.host]),
                None => (
                    plan.clients().collect(),
                    plan.far_ends(subject).map(|server| &server.host).collect(),
                ),
            };
        let hosts = match end {
            LinkEnd::Client => clients,
            LinkEnd::Server => servers,
            LinkEnd::Path => clients.into_iter().chain(servers).collect(),
        };
        let names: BTreeSet<&HostName> = hosts.into_iter().collect();
        self.study.hosts.iter().filter(move |facts| names.contains(&facts.name))
    }
}
