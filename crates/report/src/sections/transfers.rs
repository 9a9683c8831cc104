//! What an operation and a byte cost by the size of blocks, and what several in flight bring, each beside the
//! model.

use super::answer::binds;
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
    let mut section = Section::details("transfers", "What an operation and a byte cost");
    if shown.transfers.is_empty() {
        return section;
    }
    section.text(
        "Model: time = cost of an operation + bytes × cost of a byte, fitted to the sizes of blocks that were \
         moved one at a time, up to the largest transfer that client and server agreed on. Several in flight \
         are predicted from it as if the round trip of a call that does nothing were waiting, which many do \
         at once, and all else went one after the other: where more was done, several were worked on at once.",
    );
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
        CostModel::Off => format!("the model does not fit: up to {off} off. It names no cost."),
        CostModel::Fits { roughly: true, .. } => {
            format!("the model fits roughly: up to {off} off.")
        }
        CostModel::Fits { costs, .. } => match costs.fit().lack_of_fit() {
            Some(lack) => {
                format!("the model fits: up to {off} off (p = {}).", three_digits(lack.p_value))
            }
            None => format!("up to {off} off, nothing repeated."),
        },
    }
}

/// A measured value, and how far off the model is of it.
pub(super) fn beside(error: Option<f64>, value: impl Fn(f64) -> String) -> String {
    error.map_or(NOTHING.to_owned(), |error| {
        // Rounded first, so that what is shown as nothing has no sign.
        let off = (1000.0 * error).round() / 10.0 + 0.0;
        let sign = if off > 0.0 { "+" } else { "" };
        format!("{} ({sign}{off:.1}%)", value(1.0 + error))
    })
}

fn sizes(transfers: &Transfers) -> Columns {
    let mut columns = Columns::of(["time of one", "by the model", "rate"]);
    for size in &transfers.sizes {
        let seconds = size.seconds;
        let cells = [
            TIME.with_ends(seconds.value, seconds.interval),
            beside(size.error, |of| TIME.value(seconds.value * of)),
            BANDWIDTH.value(size.rate()),
        ];
        columns.row(size.block.to_string(), cells);
    }
    columns
}

fn in_flight(flights: &Flights) -> String {
    match flights.rounds {
        true => format!("Blocks of {} in rounds:", flights.block),
        false => format!("Blocks of {} in flight:", flights.block),
    }
}

fn depths(flights: &Flights) -> Columns {
    let mut columns = Columns::of(["operations/s", "by the model"]);
    for one in &flights.depths {
        let rate = one.per_second;
        let error = one.modelled.map(|modelled| modelled / rate.value - 1.0);
        let cells = [
            RATE.with_ends(rate.value, rate.interval),
            beside(error, |of| RATE.value(rate.value * of)),
        ];
        columns.row(one.depth.to_string(), cells);
    }
    columns
}
