//! What a file and a byte cost where files were copied, and how well that describes the times.

use crate::chart::{Heat, HeatRow};
use crate::columns::Columns;
use crate::compared::Compared;
use crate::document::{Figure, Layout, Section};
use crate::figure::{self, BANDWIDTH, SHARE, TIME};
use crate::study::copies::{Copied, Copies, CopyColumn, Row, TOO_FEW, off_by, row};
use crate::study::{Shown, speed};
use crate::text::counted;
use crate::verdict::percent;
use plimsoll_explain::CostModel;
use plimsoll_model::units::three_digits;
use plimsoll_model::{Cell, Metric};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::CostKind;

const NOTHING: &str = "–";

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("costs", "Costs of files and bytes");
    if shown.costs.is_empty() {
        return section;
    }
    if shown.costs.iter().all(|costs| costs.model == CostModel::TooFewDatasets) {
        section.text(TOO_FEW);
        return section;
    }
    section.text(
        "Model: time = files × cost of a file + bytes × cost of a byte, fitted to the datasets of each \
         row. If the block size is the same everywhere, both costs include the costs of operations.",
    );
    let name = |cell: Cell| shown.names.setup(cell);
    section.table(costs(shown, &name).table(), Layout::Words);
    section.table(datasets(shown).table(), Layout::Figures);
    section.figures(heat(shown, &name));
    section
}

fn costs(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Columns {
    let mut columns = Columns::with_headings(["a file", "per operation", "bytes", "the model"]);
    // The interval below the figure. One without is no figure.
    let cell = |kind: figure::Kind, of: Option<Estimate>| match of {
        Some(Estimate { value, interval: Some(interval) }) => {
            format!("{}\n{}", kind.value(value), kind.ends(value, interval))
        }
        _ => NOTHING.to_owned(),
    };
    // Bytes that may cost nothing have a least rate.
    let rate = |cost: Estimate| match (cost.reciprocal()?, cost.interval) {
        (Estimate { interval: None, .. }, Some(interval)) => {
            Some(format!("≥ {}", BANDWIDTH.value(1.0 / interval.high)))
        }
        (rate, _) => Some(cell(BANDWIDTH, Some(rate))),
    };
    for costs in &shown.costs {
        let rate = costs.cost(CostKind::Byte).and_then(rate);
        let off = format!("up to {}", percent(off_by(costs).unwrap_or_default()));
        let model = match &costs.model {
            CostModel::TooFewDatasets => {
                format!("{}: too few", counted(costs.datasets.len() as u64, "dataset"))
            }
            CostModel::NoBlock => "no block has all datasets".to_owned(),
            CostModel::Off => format!("does not fit: error {off}"),
            CostModel::Fits { .. } if costs.contradiction().is_some() => {
                "contradicts a measured time".to_owned()
            }
            CostModel::Fits { roughly: true, .. } => format!("fits roughly: error {off}"),
            CostModel::Fits { costs, .. } => match costs.fit().lack_of_fit() {
                Some(lack) => format!("fits: error {off} (p = {})", three_digits(lack.p_value)),
                None => format!("error {off}, no repeats"),
            },
        };
        let cells = [
            cell(TIME, costs.cost(CostKind::File).filter(|_| costs.contradiction().is_none())),
            cell(TIME, costs.cost(CostKind::Operation)),
            rate.unwrap_or_else(|| NOTHING.to_owned()),
            model,
        ];
        columns.row(row(shown, costs, name), cells);
    }
    let known = |(_, cells): &(String, Vec<String>)| cells.iter().any(|cell| cell != NOTHING);
    columns.columns.retain(known);
    columns
}

/// Each time, and what the model makes of it.
fn datasets(shown: &Shown<'_>) -> Columns {
    let mut columns = Columns::with_headings(["files", "MB", "time", "by the model"]);
    for costs in &shown.costs {
        for dataset in &costs.datasets {
            let cell = Cell { workload: dataset.workload, ..costs.cell };
            let work = shown.names.workload(dataset.workload);
            let name = match shown.names.setups() {
                0 | 1 => work,
                _ => format!("{work}, {}", shown.names.setup(cell)),
            };
            let seconds = dataset.seconds;
            let model = dataset.error.map_or(NOTHING.to_owned(), |error| {
                // Rounded first, so that what is shown as nothing has no sign.
                let percent = (1000.0 * error).round() / 10.0 + 0.0;
                let sign = if percent > 0.0 { "+" } else { "" };
                format!("{} ({sign}{percent:.1}%)", TIME.value(seconds.value * (1.0 + error)))
            });
            let cells = [
                dataset.work.files.to_string(),
                three_digits(dataset.work.bytes.0 as f64 / 1e6),
                TIME.with_ends(seconds.value, seconds.interval),
                model,
            ];
            columns.row(name, cells);
        }
    }
    columns
}

/// Every dataset under every setting: what each brings, seen at once. `None` of two settings or fewer.
fn heat(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Option<Figure> {
    let copies = Copies::new(shown).filter(|copies| copies.columns.len() > 2)?;
    // A time is as much faster as it is less.
    let speed = |copied: &Copied<'_>| {
        let (found, cell) = (*copied)?;
        let measure = speed(&found.workload);
        let level = cell.levels.get(&Metric::all(measure))?.estimate;
        Some(if shown.shape(measure).compared == Compared::Time { 1.0 / level } else { level })
    };
    let scale = |row: &Row<'_>| {
        let (found, _) = row.cells.iter().flatten().next()?;
        Some((
            found.workload.main()?.job.file_work()?.files_of,
            crate::study::speed(&found.workload),
        ))
    };
    let row = |row: &Row<'_>| -> HeatRow {
        let alike = copies.rows.iter().filter(|other| scale(other) == scale(row));
        let fastest = alike.flat_map(|other| &other.cells).filter_map(speed).fold(0.0, f64::max);
        let share = |copied| speed(copied).map(|speed| speed / fastest);
        (row.name.clone(), row.cells.iter().map(share).collect())
    };
    let heading = |column: &CopyColumn| copies.heading(*column, name).replace('\n', ", ");
    let caption = "Darker is faster: speed as a share of the fastest copy of the same dataset. Copies up and down \
         share a scale; updates have their own.";
    let chart = Heat {
        title: "Datasets and settings".to_owned(),
        description: caption.to_owned(),
        x: "setting".to_owned(),
        columns: copies.columns.iter().map(heading).collect(),
        y: "work".to_owned(),
        rows: copies.rows.iter().map(row).collect(),
        value: "of the fastest".to_owned(),
        kind: SHARE,
        darkest: 1.0,
    };
    Some(Figure::new("settings-heat".to_owned(), Box::new(chart), caption.to_owned()))
}
