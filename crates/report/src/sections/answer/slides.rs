//! A slide show: time to each photo, and how many are late.

use super::names::Brief;
use crate::chart::Table;
use crate::document::{Layout, Section};
use crate::figure::TIME;
use crate::study::{Shown, stored};
use crate::text::listed;
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::{Cell, Job, Metric, SlidesJob};

/// Whether the study is a slide show.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    let mut workloads = shown.findings.workloads.iter();
    !shown.findings.imported && workloads.any(|found| job(found).is_some())
}

fn job(found: &WorkloadFindings) -> Option<&SlidesJob> {
    match &found.workload.main()?.job {
        Job::Slides(job) => Some(job),
        _ => None,
    }
}

/// Figures of a slide show.
struct Slides {
    mean: f64,
    longest: f64,
    late: f64,
    photos: f64,
}

fn figures(cell: &CellFindings) -> Option<Slides> {
    let level = |measure| cell.levels.get(&Metric::all(measure));
    let photos = level(SlidesJob::PHOTOS)?;
    Some(Slides {
        mean: level(SlidesJob::PHOTO_TIME)?.arithmetic_mean,
        longest: level(SlidesJob::PHOTO_LONGEST)?.largest,
        late: level(SlidesJob::LATE)?.arithmetic_mean,
        photos: photos.arithmetic_mean * photos.trials as f64,
    })
}

/// "12% of the photos of 24 MB are late (0% if the next one is fetched ahead).", of all subjects.
pub(super) fn sentence(shown: &Shown<'_>) -> String {
    let late = |found: &&WorkloadFindings| {
        found.cells.iter().filter_map(figures).map(|slides| slides.late).fold(0.0, f64::max)
    };
    let found = || shown.findings.workloads.iter();
    let sentence = |one: &WorkloadFindings| {
        let slides = job(one).filter(|job| !job.ahead)?;
        let ahead = |other: &&WorkloadFindings| {
            job(other).is_some_and(|job| job.ahead && job.photo == slides.photo)
        };
        let ahead = found().find(ahead).map(|other| late(&other));
        let alone = percent(late(&one));
        let megabytes = slides.photo.0 as f64 / 1e6;
        Some(match ahead {
            Some(ahead) => format!(
                "{alone} of the photos of {megabytes:.0} MB are late ({} if the next one is fetched ahead)",
                percent(ahead)
            ),
            None => format!("{alone} of the photos of {megabytes:.0} MB are late"),
        })
    };
    if found().all(|one| late(&one) == 0.0) {
        return "No photo is late.".to_owned();
    }
    let all: Vec<String> = found().filter_map(sentence).collect();
    format!("{}.", listed(&all))
}

/// The table, and what to know of it.
pub(super) fn add(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let header = ["photos", "number", "time to photo\nmean", "\nlongest", "late"];
    let mut table = Table::new(header.map(str::to_owned).to_vec());
    let several = shown.names.setups() > 1;
    for found in &shown.findings.workloads {
        for cell in &found.cells {
            let (Some(slides), Some(main)) = (figures(cell), found.workload.main()) else {
                continue;
            };
            let setup = brief.setup(shown, cell.cell);
            let name = main.job.title();
            table.rows.push(vec![
                if several { format!("{setup}: {name}") } else { name },
                format!("{:.0}", slides.photos),
                TIME.value(slides.mean),
                TIME.value(slides.longest),
                percent(slides.late),
            ]);
        }
    }
    section.table(table, Layout::Figures);
    section.text(format!(
        "Late: more than {} s after the slide changes. A photo is on the screen for 3 s.",
        SlidesJob::LATE_SECONDS
    ));
    let name = |cell: Cell| brief.setup(shown, cell);
    if let Some(text) = stored::sentence(shown, &name) {
        let shorter = stored::shorter(&text);
        section.text_or_shorter(text, shorter);
    }
}
