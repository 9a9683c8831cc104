//! The hosts of a study of several: their sections after the study's own, from its facts.

use super::{Host, compare, failure, hosts, platform_comparison, section, sections};
use crate::document::{Item, Section};
use crate::study::Shown;
use crate::text::printable;
use plimsoll_model::{Outcome, Trial};

/// The host of a study of nothing else, whose page is that of a device: no settings, and no work at the same time.
pub(crate) fn only<'a>(shown: &Shown<'a>) -> Option<Host<'a>> {
    let study = shown.study;
    let is_alone = study.plan.workloads.iter().all(|workload| workload.parts.len() == 1);
    if study.subjects.len() != 1 || !study.plan.factors.is_empty() || !is_alone {
        return None;
    }
    hosts(study, &shown.findings).pop()
}

/// "CPU: nas" where there are several, else "CPU".
fn heading(heading: &str, host: &Host<'_>, of: usize) -> String {
    match of {
        0 | 1 => heading.to_owned(),
        _ => format!("{heading}: {}", printable(&host.facts.label)),
    }
}

/// A section of one of several hosts, by a name that no other has.
fn reported(of: &section::Section, host: &Host<'_>, number: usize, hosts: usize) -> Section {
    let unique = |id: &str| match number {
        0 => format!("host-{id}"),
        n => format!("host-{id}-{}", n + 1),
    };
    let mut section = of.reported(unique(of.id), heading(of.heading, host, hosts));
    for item in &mut section.items {
        if let Item::Chart(figure) = item {
            figure.id = unique(&figure.id);
        }
    }
    section
}

/// Every host beside the published platforms; empty sections of those that have none of their figures.
pub(crate) fn platform_comparisons(shown: &Shown<'_>) -> Vec<Section> {
    let hosts = hosts(shown.study, &shown.findings);
    let section =
        |(number, host)| reported(&platform_comparison::section(host), host, number, hosts.len());
    hosts.iter().enumerate().map(section).collect()
}

/// What was found out about every host.
pub(crate) fn host_sections(shown: &Shown<'_>) -> Vec<Section> {
    let hosts = hosts(shown.study, &shown.findings);
    let mut all = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        let mut of_host = sections(host);
        say_failures_once(shown, &mut of_host);
        all.extend(of_host.iter().map(|section| reported(section, host, number, hosts.len())));
    }
    let mut apart = Section::details("apart", "Not compared");
    for other in hosts.iter().skip(1) {
        apart.texts(compare::apart(&hosts[0], other));
    }
    all.push(apart);
    all
}

/// Says why parts of a host were not measured once for each reason: above all sections where trials failed for it, else
/// in the first of them.
fn say_failures_once(shown: &Shown<'_>, found: &mut [section::Section]) {
    let of_trial = |trial: &Trial| match &trial.result.outcome {
        Outcome::Failed { failure: why, .. } => Some((failure(why), "the warnings at the top")),
        _ => None,
    };
    let mut said: Vec<(String, &str)> = shown.study.trials.iter().filter_map(of_trial).collect();
    for section in found {
        for why in std::mem::take(&mut section.failures) {
            match said.iter().find(|(known, _)| *known == why) {
                Some((_, place)) if *place == section.heading => {}
                Some((_, place)) => {
                    let remark = format!("Not all was measured: see {place}.");
                    if !section.remarks.contains(&remark) {
                        section.remarks.push(remark);
                    }
                }
                None => {
                    said.push((why.clone(), section.heading));
                    section.failures.push(why);
                }
            }
        }
    }
}

/// What was measured in different ways on the hosts of two studies.
pub(crate) fn add_apart(section: &mut Section, a: &Shown<'_>, b: &Shown<'_>) {
    let (a, b) = (hosts(a.study, &a.findings), hosts(b.study, &b.findings));
    for (a, b) in a.iter().zip(&b) {
        section.texts(compare::apart(a, b));
    }
}
