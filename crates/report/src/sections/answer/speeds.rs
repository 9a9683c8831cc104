//! The speeds side by side, as one picture.

use super::names::work;
use crate::chart::{Bar, Group, Groups};
use crate::compared::Compared;
use crate::document::Figure;
use crate::sections::common::speeds;
use crate::study::{Shown, speed};
use crate::text::capital;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{FileWork, Workload};

/// Bars up to which the picture is seen at a glance; the details have all.
const BARS: usize = 24;

pub(super) fn figure(shown: &Shown<'_>) -> Option<Figure> {
    let groups = groups(shown);
    let bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    if !(2..=BARS).contains(&bars) {
        return None;
    }
    let meaning = match shown.findings.imported {
        true => "Bar: geometric mean of the runs, which has no interval.".to_owned(),
        false => format!(
            "Bar: geometric mean of the blocks; line: its {} interval, open if it has no end.",
            crate::verdict::percent(shown.study.plan.design.confidence)
        ),
    };
    let caption = format!("{meaning} Bars of the same unit have the same scale.");
    let title = "Speed".to_owned();
    let chart = Groups { title, description: caption.clone(), groups };
    Some(Figure::new("speeds".to_owned(), Box::new(chart), caption))
}

/// A group for each kind of work. Ways and methods of copying the same files stand in one group.
fn groups(shown: &Shown<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for found in &shown.findings.workloads {
        let own = group(shown, found);
        match groups.iter_mut().find(|known| known.label == own.label) {
            Some(known) => known.bars.extend(own.bars),
            None => groups.push(own),
        }
    }
    groups.retain(|group| !group.bars.is_empty());
    groups
}

fn group(shown: &Shown<'_>, found: &WorkloadFindings) -> Group {
    let shape = shown.shape(speed(&found.workload));
    let copied = copied(&found.workload);
    let work = match &copied {
        Some(work) => work.files_of.to_owned(),
        None => work(shown, found),
    };
    let how_to_read = match shape.compared {
        Compared::Time => format!(": {}, shorter is faster", shape.name),
        _ => String::new(),
    };
    let mut bars = speeds(shown, found);
    if let Some(work) = copied {
        bars.iter_mut().for_each(|bar| label(shown, &work, bar));
    }
    Group { label: capital(&work) + &how_to_read, kind: shape.kind, unit: shape.unit(), bars }
}

/// The files that a workload copies, where that is all it does.
fn copied(workload: &Workload) -> Option<FileWork> {
    workload.file_work()
}

/// Names the bar of a copy by its way and, where there are several, by its method and subject.
fn label(shown: &Shown<'_>, work: &FileWork, bar: &mut Bar) {
    let mut methods: Vec<&str> = Vec::new();
    for work in shown.findings.workloads.iter().filter_map(|found| copied(&found.workload)) {
        methods.extend(Some(work.method).filter(|method| !methods.contains(method)));
    }
    let mut words = vec![work.way.to_owned()];
    words.extend((methods.len() > 1).then(|| work.method.to_owned()));
    if shown.names.setups() > 1 {
        words.push(std::mem::take(&mut bar.label));
    } else {
        // Of one subject the colours are those of the methods.
        bar.series = methods.iter().position(|method| *method == work.method).unwrap_or(0);
    }
    bar.label = words.join(", ");
}
