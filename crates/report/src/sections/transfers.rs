//! Costs of an operation and a byte by the size of blocks, and what several in flight bring, each beside the
//! model.

use super::answer::{binds, calls_of_several};
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, RATE, TIME};
use crate::study::Shown;
use crate::text::capital;
use crate::verdict::percent;
use plimsoll_explain::{CostModel, Flights, Transfers};
use plimsoll_model::units::three_digits;

const NOTHING: &str = "–";

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("transfers", "Cost of an operation and of a byte");
    if shown.transfers.is_empty() {
        return section;
    }
    section.text(
        "Model: time = cost of an operation + bytes × cost of a byte. It is fitted to transfers that \
         were made one at a time, up to the largest transfer that client and server negotiated. For several \
         operations in flight, the model assumes that their round trips overlap (measured with a call that \
         does nothing), and that all other work is done for one operation at a time. If the measured rate \
         is higher than the model, the server worked on several operations at once.",
    );
    section.texts(calls_of_several(shown));
    for transfers in &shown.transfers {
        let name = match shown.names.setups() {
            1 => transfers.title.clone(),
            _ => format!("{}, {}", shown.names.setup(transfers.cell), transfers.title),
        };
        section.text(format!("{}: {}", capital(&name), model(transfers)));
        section.table(sizes(transfers).table(), Layout::Figures);
        // Of one alone the answer has it.
        if shown.names.setups() > 1 {
            section.texts(binds(shown, transfers));
        }
        for flights in &transfers.flights {
            section.text(in_flight(flights));
            section.table(depths(flights).table(), Layout::Figures);
        }
    }
    section
}

/// How well the model describes the times.
fn model(transfers: &Transfers) -> String {
    let off = percent(transfers.off_by().unwrap_or_default());
    match &transfers.model {
        CostModel::TooFewDatasets => "too few sizes for the model.".to_owned(),
        CostModel::NoBlock => "no block has all sizes.".to_owned(),
        CostModel::Off => {
            format!("no costs are given, because the model does not fit (error up to {off}).")
        }
        CostModel::Fits { roughly: true, .. } => {
            format!("the model fits roughly (error up to {off}).")
        }
        CostModel::Fits { costs, .. } => match costs.fit().lack_of_fit() {
            Some(lack) => {
                format!("the model fits (error up to {off}, p = {}).", three_digits(lack.p_value))
            }
            None => format!("error up to {off}, no repeats."),
        },
    }
}

/// A measured value, and how far off the model is of it.
pub(super) fn with_error(error: Option<f64>, value: impl Fn(f64) -> String) -> String {
    error.map_or(NOTHING.to_owned(), |error| {
        // Rounded first, so that what is shown as nothing has no sign.
        let off = (1000.0 * error).round() / 10.0 + 0.0;
        let sign = if off > 0.0 { "+" } else { "" };
        format!("{} ({sign}{off:.1}%)", value(1.0 + error))
    })
}

fn sizes(transfers: &Transfers) -> Columns {
    let mut columns = Columns::with_headings(["measured", "by the model", "rate"]);
    for size in &transfers.sizes {
        let seconds = size.seconds;
        let cells = [
            TIME.with_ends(seconds.value, seconds.interval),
            with_error(size.error, |of| TIME.value(seconds.value * of)),
            BANDWIDTH.value(size.rate()),
        ];
        columns.row(size.block.to_string(), cells);
    }
    columns
}

fn in_flight(flights: &Flights) -> String {
    match flights.rounds {
        true => format!("Block size {}, in batches:", flights.block),
        false => format!("Block size {}, in flight:", flights.block),
    }
}

fn depths(flights: &Flights) -> Columns {
    let mut columns = Columns::with_headings(["IOPS", "by the model"]);
    for one in &flights.depths {
        let rate = one.per_second;
        let error = one.modelled.map(|modelled| modelled / rate.value - 1.0);
        let cells = [
            RATE.with_ends(rate.value, rate.interval),
            with_error(error, |of| RATE.value(rate.value * of)),
        ];
        columns.row(one.depth.to_string(), cells);
    }
    columns
}
