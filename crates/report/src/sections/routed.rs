//! UDP through a router by offered rate, with the rates that a publication has of home routers.

use super::by_size::published_in;
use super::common::{MOST_LINES, only_some};
use crate::chart::{Axis, Line, Lines, Point};
use crate::columns::Columns;
use crate::document::{Figure, Layout, Section};
use crate::figure::BITRATE;
use crate::study::Shown;
use plimsoll_explain::Routed;
use plimsoll_published::kofler2011;
use plimsoll_references::Table;

const NOTHING: &str = "–";
/// The figure of the publication.
const FIGURE: u8 = 3;

/// Empty of other studies.
pub(super) fn section(shown: &Shown<'_>, tables: &[Table]) -> Section {
    let mut section = Section::details("routed", "UDP routed by offered rate");
    let Some(workload) = shown.routed.first().map(|routed| routed.cell.workload) else {
        return section;
    };
    let own: Vec<&Routed> =
        shown.routed.iter().filter(|routed| routed.cell.workload == workload).collect();
    let published = kofler2011::routed(tables);
    section.table(table(shown, &own, &published).table(), Layout::Figures);
    section.figures([figure(shown, &own, &published)]);
    section
}

/// The same with the tables of the publication.
pub(crate) fn published_rates(shown: &Shown<'_>) -> Section {
    section(shown, plimsoll_references::tables())
}

/// Name of a platform: "RSPRO without netfilter, published".
fn platform(routed: &kofler2011::Routed) -> String {
    let kernel = if routed.has_netfilter { "" } else { " without netfilter" };
    format!("{}{kernel}, published", routed.platform)
}

/// Name of the own rates.
fn name(shown: &Shown<'_>, routed: &Routed) -> String {
    match shown.names.setups() {
        1 => "R".to_owned(),
        _ => shown.names.setup(routed.cell),
    }
}

/// How far nothing is lost.
fn table(shown: &Shown<'_>, own: &[&Routed], published: &[kofler2011::Routed]) -> Columns {
    let mut table = Columns::with_headings(["without loss", "highest rate\nforwarded"]);
    for routed in own {
        let best = routed.without_loss().and_then(|place| routed.rates.get(place));
        let best = best.map_or_else(|| "none".to_owned(), |rate| BITRATE.value(rate.offered));
        let most = routed.rates.iter().map(|rate| rate.arrived.estimate).reduce(f64::max);
        let most = most.map_or_else(|| NOTHING.to_owned(), |rate| BITRATE.value(rate));
        table.row(name(shown, routed), [best, most]);
    }
    for routed in published {
        let rate = BITRATE.value(routed.bits_per_second / 8.0);
        table.row(platform(routed), [rate, NOTHING.to_owned()]);
    }
    table
}

fn figure(shown: &Shown<'_>, own: &[&Routed], published: &[kofler2011::Routed]) -> Figure {
    let most = MOST_LINES.saturating_sub(published.len());
    let line = |routed: &&Routed| {
        let points = routed.rates.iter().map(|rate| {
            let band = rate.arrived.interval.map(|ends| (ends.low.max(0.0), ends.high));
            Point { x: rate.offered, y: rate.arrived.estimate, band }
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { label: name(shown, routed), series: shown.names.place(routed.cell), points }
    };
    let mut lines: Vec<Line> = own.iter().take(most).map(line).collect();
    lines.extend((shown.names.setups()..).zip(published).map(|(series, routed)| {
        let rate = routed.bits_per_second / 8.0;
        let points = vec![Point { x: rate, y: rate, band: None }];
        Line { label: platform(routed), series, points }
    }));
    let caption = format!(
        "Rate at B for each rate that A offers: arithmetic mean of the blocks, as published, with its interval.{}{} These \
         are the highest rates without loss; the text does not name the payload.",
        only_some(most, own.len()),
        published_in(FIGURE)
    );
    let chart = Lines {
        title: "UDP routed: rate forwarded by rate offered".to_owned(),
        description: caption.clone(),
        x: Axis::new("rate offered", BITRATE),
        y: Axis::new("rate forwarded", BITRATE),
        lines,
        phases: Vec::new(),
        names: Vec::new(),
    };
    Figure::new("routed".to_owned(), Box::new(chart), caption)
}
