//! One study: head, a part per workload, summary, warnings, method.

pub(crate) mod cpu;
pub(crate) mod head;
pub(crate) mod hosts;
pub(crate) mod imported;
pub(crate) mod method;
pub(crate) mod mounts;
pub(crate) mod summary;
pub(crate) mod warnings;
pub(crate) mod workload;

use crate::names;
use crate::page::Page;
use crate::style::Style;
use plimsoll_explain::Findings;
use plimsoll_model::Study;

/// A study and what is needed of it on every part of the page.
pub(crate) struct Shown<'a> {
    pub(crate) study: &'a Study,
    pub(crate) findings: Findings,
    pub(crate) names: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(study: &'a Study) -> Shown<'a> {
        Shown { study, findings: plimsoll_explain::findings(study), names: names::targets(study) }
    }

    /// Seconds that one more block of one workload takes.
    pub(crate) fn seconds_per_block(&self) -> f64 {
        self.findings.seconds_per_trial * self.names.len() as f64
    }
}

/// Everything a study says, for the terminal. Works for any study: under way, failed, empty.
pub fn study(study: &Study, style: &Style) -> String {
    let shown = Shown::new(study);
    let mut page = Page::new(style);
    head::add(&mut page, &shown);
    for workload in &shown.findings.workloads {
        workload::add(&mut page, &shown, workload);
    }
    hosts::add(&mut page, &shown);
    summary::add(&mut page, &shown);
    warnings::add(&mut page, &shown);
    method::add(&mut page, &shown);
    page.finish()
}
