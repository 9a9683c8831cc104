//! One study: head, a part per workload, summary, warnings, method.

mod cpu;
mod head;
mod method;
mod summary;
mod warnings;
mod workload;

use crate::names;
use crate::page::Page;
use crate::style::Style;
use explain::Findings;
use model::Study;

/// A study and what is needed of it on every part of the page.
struct Shown<'a> {
    study: &'a Study,
    findings: Findings,
    names: Vec<String>,
}

impl Shown<'_> {
    /// Seconds that one more block of one workload takes.
    fn seconds_per_block(&self) -> f64 {
        self.findings.seconds_per_trial * self.names.len() as f64
    }
}

/// Everything a study says, for the terminal. Works for any study: under way, failed, empty.
pub fn study(study: &Study, style: &Style) -> String {
    let shown = Shown { study, findings: explain::findings(study), names: names::targets(study) };
    let mut page = Page::new(style);
    head::add(&mut page, &shown);
    for workload in &shown.findings.workloads {
        workload::add(&mut page, &shown, workload);
    }
    summary::add(&mut page, &shown);
    warnings::add(&mut page, &shown);
    method::add(&mut page, &shown);
    page.finish()
}
