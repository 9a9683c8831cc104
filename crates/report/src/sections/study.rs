//! The report of one study.

use super::{
    answer, by_size, clients, costs, cpu, gains, hosts, kernel_samples, kernel_trace, limits,
    operations, part_interactions, published_copies, published_films, routed, settings, transfers,
    whole_files, workload,
};
use crate::device;
use crate::document::{Document, Layout, Section};
use crate::study::{Shown, head, method, stalls};
use crate::text::{listed, printable};
use plimsoll_model::{Study, SubjectFacts};

impl Document {
    /// The report of one study. Works for any study: under way, failed, empty.
    pub fn of_study(study: &Study) -> Document {
        let shown = Shown::new(study);
        if let Some(host) = device::only(&shown) {
            return device::document(&host);
        }
        let extent = answer::measured(&shown).unwrap_or_default();
        let (title, subtitle) = (title(&shown), head::title(study));
        let of_kernels = || kernel_samples::sections(&shown);
        if let Some(mut sections) = kernel_trace::sections(&shown).or_else(of_kernels) {
            sections.push(self::method(&shown));
            return Document { title, subtitle, extent, sections };
        }
        let mut sections = vec![answer::section(&shown)];
        sections.push(limits::section(&shown));
        sections.push(costs::section(&shown));
        sections.push(part_interactions::section(&shown));
        sections.push(by_size::section(&shown, plimsoll_references::tables()));
        sections.push(gains::section(&shown, plimsoll_references::tables()));
        sections.push(routed::section(&shown, plimsoll_references::tables()));
        sections.push(operations::section(&shown));
        sections.push(transfers::section(&shown));
        sections.push(whole_files::section(&shown));
        sections.push(published_copies::section(&shown));
        sections.push(published_films::section(&shown));
        sections.push(clients::section(&shown));
        let workloads = shown.findings.workloads.iter().enumerate();
        sections.extend(workloads.map(|(i, found)| workload::section(&shown, i, found)));
        sections.push(cpu::speeds(&shown));
        sections.push(cpu::section(&shown));
        sections.extend(hosts::sections(&shown));
        sections.extend(device::host_sections(&shown));
        sections.push(self::method(&shown));
        Document { title, subtitle, extent, sections }
    }
}

/// How it was measured, and how to repeat it.
fn method(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("method", "Method");
    section.list(method::sentences(shown));
    section.texts(stalls::few(shown));
    for (name, table) in settings::tables(shown) {
        section.text(format!("{name}:"));
        section.table(table, Layout::Facts);
    }
    section.command("To repeat it", printable(&shown.study.plan.command), String::new());
    section
}

fn title(shown: &Shown<'_>) -> String {
    match &shown.names.subjects[..] {
        [] => "A study without a subject".to_owned(),
        [one] if shown.names.setups() > 1 => format!("{one} under several settings"),
        [one] => {
            let kind = shown.study.subjects.first().map(SubjectFacts::kind);
            match kind.and_then(|kind| kind.info().title) {
                Some(title) => format!("{title}: {one}"),
                None => one.clone(),
            }
        }
        few if few.len() <= 4 => format!("{} compared", listed(few)),
        [first, others @ ..] => format!("{first} and {} others compared", others.len()),
    }
}
