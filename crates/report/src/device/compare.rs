//! Two devices side by side. Each was measured once: ratios have no intervals, and nothing is
//! claimed.

use super::{heading, subtitle, title};
use crate::figure::{BANDWIDTH, COUNT, Kind, RATE, TIME};
use crate::page::Page;
use crate::style::Style;
use crate::table::Columns;
use crate::text::counted;
use plimsoll_model::Device;
use plimsoll_model::device::{Measured, Part, Quantity};
use plimsoll_model::units::three_digits;

/// Device `b` against device `a`, figure by figure.
pub fn compare_devices(a: &Device, b: &Device, style: &Style) -> String {
    let mut page = Page::new(style);
    for (name, device) in [("A", a), ("B", b)] {
        page.heading(&format!("{name}: {}", title(device)));
        page.item("   ", &subtitle(device));
    }
    page.lines("\n");
    page.paragraph("Each was measured once: the ratios have no intervals, and no verdict follows.");
    figures(&mut page, a, b);
    page.finish()
}

/// Figure by figure, what measured the same; and what did not.
pub(super) fn figures(page: &mut Page, a: &Device, b: &Device) {
    let (of_a, of_b) = (a.measured(), b.measured());
    let mut apart = Vec::new();
    for part in Part::ALL {
        let mut table = Columns {
            rows: Vec::new(),
            columns: ["A", "B", "B / A"].map(|h| (h.to_owned(), Vec::new())).into(),
        };
        for first in of_a.iter().filter(|m| m.part == part) {
            let Some(second) = of_b.iter().find(|m| m.part == part && m.figure == first.figure)
            else {
                continue;
            };
            match comparable(a, b, first, second) {
                true => row(&mut table, first, second),
                false => apart.push(format!(
                    "{} ({}, {})",
                    first.figure,
                    means(a, first),
                    means(b, second)
                )),
            }
        }
        if !table.rows.is_empty() {
            page.heading(heading(part));
            page.lines(&table.fitted(page.style.columns()));
        }
    }
    for (name, figures) in [("A", &of_a), ("B", &of_b)] {
        let disturbed = figures.iter().filter(|figure| figure.is_disturbed()).count();
        if disturbed > 0 {
            page.warning(
                "! ",
                &format!(
                    "{disturbed} of {} of {name} were disturbed by something else that had the \
                 processor: `plimsoll show` tells which. Measure again before comparing.",
                    counted(figures.len() as u64, "figure")
                ),
            );
        }
    }
    if !apart.is_empty() {
        page.paragraph(&format!(
            "Measured in different ways, and not compared: {}.",
            apart.join("; ")
        ));
    }
}

/// Whether the same was measured by the same means. Rounds of different versions are different work.
fn comparable(a: &Device, b: &Device, first: &Measured, second: &Measured) -> bool {
    first.by == second.by
        && first.quantity == second.quantity
        && (first.quantity != Quantity::Rounds || rounds_version(a) == rounds_version(b))
}

fn rounds_version(device: &Device) -> Option<u64> {
    device.cpu.as_ref()?.workload_version_number
}

fn means(device: &Device, figure: &Measured) -> String {
    match (figure.quantity, rounds_version(device)) {
        (Quantity::Rounds, Some(version)) => format!("version {version}"),
        _ => figure.by.to_owned(),
    }
}

fn row(table: &mut Columns, first: &Measured, second: &Measured) {
    let kind = kind(first.quantity);
    let ratio = match first.value > 0.0 {
        true => three_digits(second.value / first.value),
        false => "–".to_owned(),
    };
    table.rows.push(first.figure.clone());
    let cells = [kind.value(first.value), kind.value(second.value), ratio];
    for (column, cell) in table.columns.iter_mut().zip(cells) {
        column.1.push(cell);
    }
}

fn kind(quantity: Quantity) -> Kind {
    match quantity {
        Quantity::Iterations => COUNT,
        Quantity::Rounds | Quantity::Operations => RATE,
        Quantity::Bandwidth => BANDWIDTH,
        Quantity::Time => TIME,
    }
}
