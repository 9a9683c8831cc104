//! Copies side by side: datasets and ways down, subjects, settings and methods across; and what their
//! files cost.

use super::Shown;
use crate::figure::{self, BYTES, TIME};
use crate::text::{capital, listed};
use crate::verdict::percent;
use plimsoll_explain::{
    CellFindings, CopyCosts, CostModel, FARTHEST, Prediction, WorkloadFindings,
};
use plimsoll_model::{Amount, Cell};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::CostKind;
use plimsoll_stats::interval::Interval;

/// What it takes to tell costs apart.
pub(crate) const TOO_FEW: &str = "The fixed cost per file, which predicts the time of other files, needs at least three datasets: \
     --dataset home.";

/// Columns up to which there is something to see.
const MOST_COLUMNS: usize = 40;

/// A column of a table of copies.
#[derive(Clone, Copy)]
pub(crate) struct CopyColumn {
    /// Subject and setting.
    pub(crate) setup: Cell,
    pub(crate) method: &'static str,
}

/// A study of copies.
pub(crate) struct Copies<'a> {
    pub(crate) columns: Vec<CopyColumn>,
    pub(crate) rows: Vec<Row<'a>>,
}

/// What is known of a copy; `None` where it was not done.
pub(crate) type Copied<'a> = Option<(&'a WorkloadFindings, &'a CellFindings)>;

/// A dataset on one way.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    /// By column.
    pub(crate) cells: Vec<Copied<'a>>,
}

impl<'a> Copies<'a> {
    /// `None` where there is other work in the study, where two workloads would stand in one place, and of
    /// more than can be seen side by side.
    pub(crate) fn new(shown: &'a Shown<'_>) -> Option<Copies<'a>> {
        let (mut rows, mut methods): (Vec<(&str, &str)>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for found in &shown.findings.workloads {
            let work = found.workload.file_work()?;
            places.push((found, (work.way, work.files_of), work.method));
            rows.extend(Some((work.way, work.files_of)).filter(|row| !rows.contains(row)));
            methods.extend(Some(work.method).filter(|method| !methods.contains(method)));
        }
        // One way after the other, each in the order of the plan.
        let ways: Vec<&str> = rows.iter().map(|row| row.0).collect();
        rows.sort_by_key(|row| ways.iter().position(|way| *way == row.0));
        let setups: Vec<Cell> = shown.names.every_setup().collect();
        let columns_of_method =
            |method| setups.iter().map(move |setup| CopyColumn { setup: *setup, method });
        let columns: Vec<CopyColumn> = methods.into_iter().flat_map(columns_of_method).collect();
        if columns.len() > MOST_COLUMNS {
            return None;
        }
        let mut cells = vec![vec![None; columns.len()]; rows.len()];
        for (found, row, method) in places {
            let row = rows.iter().position(|other| *other == row)?;
            for cell in &found.cells {
                let is = |column: &CopyColumn| {
                    same_setup(column.setup, cell.cell) && column.method == method
                };
                let place = &mut cells[row][columns.iter().position(is)?];
                if place.replace((found, cell)).is_some() {
                    return None;
                }
            }
        }
        let row = |((way, files), cells): ((&str, &str), Vec<_>)| Row {
            name: format!("{files} {way}"),
            cells,
        };
        (!cells.is_empty())
            .then(|| Copies { columns, rows: rows.into_iter().zip(cells).map(row).collect() })
    }

    /// How many methods there are.
    pub(crate) fn methods(&self) -> usize {
        let mut methods: Vec<&str> = self.columns.iter().map(|column| column.method).collect();
        methods.dedup();
        methods.len()
    }

    /// What sets a column apart from the others: by `name` that of its subject and setting, and the method.
    pub(crate) fn heading(&self, column: CopyColumn, name: &dyn Fn(Cell) -> String) -> String {
        let several = self.columns.len() > self.methods();
        match (several, self.methods() > 1) {
            (false, false) => String::new(),
            (false, true) => column.method.to_owned(),
            (true, false) => name(column.setup),
            (true, true) => format!("{}\n{}", column.method, name(column.setup)),
        }
    }
}

impl Copies<'_> {
    /// The name of the column of a cell, in a line.
    pub(crate) fn name(
        &self,
        shown: &Shown<'_>,
        cell: Cell,
        name: &dyn Fn(Cell) -> String,
    ) -> String {
        let work = shown.study.plan.workload(cell).and_then(|workload| workload.file_work());
        let method = work.map_or("", |work| work.method);
        self.heading(CopyColumn { setup: cell, method }, name).replace('\n', " ")
    }
}

pub(crate) fn same_setup(a: Cell, b: Cell) -> bool {
    (a.subject, a.setting) == (b.subject, b.setting)
}

/// What sets the costs of one subject, setting and method apart from those of the others: "nas pipelined".
pub(crate) fn label(shown: &Shown<'_>, of: &CopyCosts, name: &dyn Fn(Cell) -> String) -> String {
    let several = |differs: &dyn Fn(&CopyCosts) -> bool| shown.costs.iter().any(differs);
    let setup = several(&|other| !same_setup(other.cell, of.cell)).then(|| name(of.cell));
    let method = several(&|other| other.way().1 != of.way().1).then(|| of.way().1.to_owned());
    setup.into_iter().chain(method).collect::<Vec<_>>().join(" ")
}

/// What a file costs, and what saves of it, on the way on which files take the most of a dataset's time.
pub(crate) fn per_file(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Option<String> {
    let by_files = |costs: &CopyCosts| {
        costs.most_by_file().map_or(0, |(_, share)| (100.0 * share).round() as u8)
    };
    // Of equals the first.
    let way = shown.costs.iter().rev().max_by_key(|costs| by_files(costs))?.way().0;
    let of_way = shown.costs.iter().filter(|costs| costs.way().0 == way);
    // What is hardly known says nothing of what saves.
    let known = |cost: &Estimate| cost.interval.is_some_and(|i| !figure::is_wide(cost.value, i));
    let cost = |costs| Some((costs, CopyCosts::cost(costs, CostKind::File).filter(known)?));
    let consistent = |costs: &&CopyCosts| costs.contradiction().is_none();
    let mut all: Vec<_> = of_way.filter(consistent).filter_map(cost).collect();
    let (first, cost) = *all.first()?;
    // What else differs has a cause of its own.
    all.retain(|(costs, _)| differences(shown, first, costs) <= 1);
    let (dataset, share) = first.most_by_file()?;
    let time = format!("{} of the time of the {}", whole(share), dataset.work.files_of);
    if all.len() == 1 {
        let which = match label(shown, first, name) {
            label if label.is_empty() => label,
            label => format!(" ({label})"),
        };
        let cost = TIME.value(cost.value);
        return Some(format!("Fixed cost per file, {way}: {cost}{which}, {time}."));
    }
    // Intervals and shares of the time stand with the details.
    let words = |(number, (costs, own)): (usize, &(&CopyCosts, Estimate))| {
        let figure = format!("{} {}", label(shown, costs, name), TIME.value(own.value));
        match at_least_less(cost, *own).filter(|_| number > 0) {
            Some(less) => format!("{figure} (at least {} less)", whole(less)),
            None => figure,
        }
    };
    let words: Vec<String> = all.iter().enumerate().map(words).collect();
    Some(format!("Fixed cost per file, {way}: {}.", words.join("; ")))
}

/// How many things differ between two: subject, factors, and method.
fn differences(shown: &Shown<'_>, a: &CopyCosts, b: &CopyCosts) -> usize {
    shown.differences(a.cell, b.cell) + usize::from(a.way().1 != b.way().1)
}

/// By how much the second is less for certain; `None` where that is not resolved.
fn at_least_less(first: Estimate, other: Estimate) -> Option<f64> {
    let (first, other) = (first.interval?, other.interval?);
    (other.high < first.low).then(|| 1.0 - other.high / first.low)
}

/// What is missing to say what a file costs, and where the model of it does not fit. What is missing only where
/// times of other files were asked for.
pub(crate) fn without_model(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let costs_with =
        |model: CostModel| shown.costs.iter().filter(move |costs| costs.model == model);
    let names = |some: Vec<&CopyCosts>| {
        listed(&some.iter().map(|c| row(shown, c, name)).collect::<Vec<_>>())
    };
    let asked = !shown.study.plan.amounts.is_empty();
    let mut sentences = Vec::new();
    if asked && costs_with(CostModel::TooFewDatasets).next().is_some() {
        sentences.push(TOO_FEW.to_owned());
    }
    let none: Vec<_> = costs_with(CostModel::NoBlock).collect();
    if asked && !none.is_empty() {
        let of = names(none);
        sentences.push(format!("The cost per file is unknown ({of}): no block has all datasets."));
    }
    let contradicts = |costs: &&CopyCosts| costs.contradiction().is_some();
    let contradictory: Vec<&CopyCosts> = shown.costs.iter().filter(contradicts).collect();
    // Of several the first is the example.
    let first = contradictory.first().copied();
    if let Some((costs, (dataset, time), cost)) =
        first.and_then(|c| Some((c, c.contradiction()?, c.cost(CostKind::File)?)))
    {
        let example = match contradictory.len() {
            1 => String::new(),
            _ => format!("{}: ", row(shown, costs, name)),
        };
        sentences.push(format!(
            "No cost per file ({}): the model contradicts measured times ({example}{} a file, but a whole file of the {} \
             took {}).",
            names(contradictory),
            TIME.value(cost.value),
            dataset.work.files_of,
            TIME.value(time)
        ));
    }
    let off: Vec<_> = costs_with(CostModel::Off).collect();
    if let Some(by) = off.iter().filter_map(|costs| off_by(costs)).reduce(f64::max) {
        sentences.push(format!(
            "No cost per file ({}): a fixed cost per file and per byte does not explain the times (error \
             up to {}).",
            names(off),
            whole(by)
        ));
    }
    sentences
}

/// "up", "up, nas pipelined".
pub(crate) fn row(shown: &Shown<'_>, costs: &CopyCosts, name: &dyn Fn(Cell) -> String) -> String {
    match label(shown, costs, name) {
        label if label.is_empty() => costs.way().0.to_owned(),
        label => format!("{}, {label}", costs.way().0),
    }
}

/// How long each amount takes that the user asked for: "200 GB of pictures: up 34–36 min; down 30 min."
pub(crate) fn amounts(shown: &Shown<'_>, name: &dyn Fn(Cell) -> String) -> Vec<String> {
    let mut ways: Vec<&str> = Vec::new();
    for costs in &shown.costs {
        ways.extend(Some(costs.way().0).filter(|way| !ways.contains(way)));
    }
    let of_amount = |amount: &Amount| {
        let of_way = |way: &&str| {
            // The same time once, with all that take it.
            let mut times: Vec<(String, Vec<String>)> = Vec::new();
            for costs in shown.costs.iter().filter(|costs| costs.way().0 == *way) {
                let time = match costs.predicted(amount) {
                    Prediction::Time(time) => range(time),
                    Prediction::NotKnown => "unknown".to_owned(),
                    Prediction::TooFar(copied) => {
                        format!("unknown from {}", BYTES.value(copied.0 as f64))
                    }
                    Prediction::BeyondMemory(memory) => {
                        format!(
                            "unknown beyond the server's memory, {}",
                            BYTES.value(memory.0 as f64)
                        )
                    }
                };
                let label = label(shown, costs, name);
                match times.iter_mut().find(|(known, _)| *known == time) {
                    Some((_, labels)) => labels.push(label),
                    None => times.push((time, vec![label])),
                }
            }
            let words = times.into_iter().map(|(time, labels)| match listed(&labels) {
                label if label.is_empty() => time,
                labels => format!("{time} ({labels})"),
            });
            format!("{way} {}", words.collect::<Vec<_>>().join(", "))
        };
        let ways: Vec<String> = ways.iter().map(of_way).collect();
        (!ways.is_empty())
            .then(|| format!("{}: {}.", capital(&amount.to_string()), ways.join("; ")))
    };
    let mut sentences: Vec<String> =
        shown.study.plan.amounts.iter().filter_map(of_amount).collect();
    // On the line of the last time: screens have few.
    if let (Some(last), true) = (sentences.last_mut(), is_memory_unknown(shown)) {
        last.push_str(
            " Amounts beyond the server's memory may take longer; --host reads its size.",
        );
    }
    sentences.extend(more_to_copy(shown));
    sentences
}

/// Whether nobody knows from which amount on predicted times are too short.
fn is_memory_unknown(shown: &Shown<'_>) -> bool {
    let predicted =
        |costs: &CopyCosts, amount| matches!(costs.predicted(amount), Prediction::Time(_));
    let is_open = |costs: &CopyCosts| {
        let amounts = &shown.study.plan.amounts;
        costs.is_memory_unknown && amounts.iter().any(|amount| predicted(costs, amount))
    };
    shown.costs.iter().any(is_open)
}

/// How much to copy so that the times of all amounts are known.
fn more_to_copy(shown: &Shown<'_>) -> Option<String> {
    let amounts = shown.study.plan.amounts.iter();
    let needed = |amount: &Amount| {
        let bytes_needed = |costs: &CopyCosts| match costs.predicted(amount) {
            Prediction::TooFar(_) => Some(amount.bytes.0.div_ceil(FARTHEST)),
            Prediction::BeyondMemory(memory) => Some(memory.0),
            Prediction::Time(_) | Prediction::NotKnown => None,
        };
        shown.costs.iter().filter_map(bytes_needed).max()
    };
    let bytes = amounts.filter_map(needed).max()?;
    let mut copied: Vec<_> = shown.costs.first()?.datasets.iter().map(|d| d.work).collect();
    copied.dedup_by_key(|work| work.files_of);
    let whole = copied.iter().map(|work| {
        let (files, mean) = work.class?.files_and_mean_bytes();
        Some(files as f64 * mean)
    });
    let scale =
        whole.sum::<Option<f64>>().map(|whole| (100.0 * bytes as f64 / whole).ceil() / 100.0);
    let how = match scale.filter(|scale| *scale <= MOST_SCALE) {
        Some(scale) => format!("--scale {scale}"),
        None => "--data with a directory of that size".to_owned(),
    };
    let bytes = BYTES.value(bytes as f64);
    Some(format!(
        "Predictions end at {FARTHEST} times the copied data, and at the size of memory. For more, copy at \
         least {bytes} ({how})."
    ))
}

/// Largest --scale of a copy.
const MOST_SCALE: f64 = 100.0;

/// A share in whole percent.
fn whole(share: f64) -> String {
    percent((100.0 * share).round() / 100.0)
}

/// How far the model is off of a dataset, at most.
pub(crate) fn off_by(costs: &CopyCosts) -> Option<f64> {
    let errors = costs.datasets.iter().filter_map(|dataset| dataset.error);
    errors.map(f64::abs).reduce(f64::max)
}

/// A time as the range that it is in: "34–36 min", "about 35 min" where nothing says how far it may be off.
pub(crate) fn range(time: Estimate) -> String {
    const UNITS: [(f64, &str); 4] = [(86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    if !time.value.is_finite() {
        return "an unknown time".to_owned();
    }
    let most = time.interval.map_or(time.value, |interval| interval.high);
    // Hours from an hour and a half on.
    let (size, unit) = UNITS.into_iter().find(|unit| most >= 1.5 * unit.0).unwrap_or((1.0, "s"));
    let digits = |seconds: f64| match seconds / size {
        few if most / size < 9.95 => format!("{few:.1}"),
        many => format!("{many:.0}"),
    };
    match time.interval {
        None => format!("about {} {unit}", digits(time.value)),
        Some(interval) if figure::is_wide(time.value, interval) => "too imprecise".to_owned(),
        Some(Interval { low, high, .. }) => {
            let (low, high) = (digits(low), digits(high));
            let both = if low == high { low } else { format!("{low}–{high}") };
            format!("{both} {unit}")
        }
    }
}
