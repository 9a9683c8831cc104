//! Bars beside each other: as a chart on a page, as text in a terminal.

use super::section::{BarGroup, Whose};
use crate::chart::{Axis, Bar, Bars};
use crate::document::Figure;
use crate::text::{shortened, width};

/// Columns of the longest bar.
const BAR: usize = 30;
/// Most columns of a bar's label.
const LABEL: usize = 24;
/// Which of the distinguishable styles bars have.
const OWN: usize = 0;
const PUBLISHED: usize = 1;

/// The bars as a chart, and as text.
pub(super) fn figure(group: &BarGroup) -> Figure {
    let bar = |(label, value, whose): &(String, f64, Whose)| Bar {
        label: label.clone(),
        series: if *whose == Whose::Device { OWN } else { PUBLISHED },
        value: *value,
        interval: None,
    };
    let chart = Bars {
        title: group.title.to_owned(),
        description: group.caption.clone(),
        axis: Axis::new(group.axis, group.kind),
        reaches: 0.0,
        bars: group.bars.iter().map(bar).collect(),
    };
    let figure = Figure::new(group.id.to_owned(), Box::new(chart), group.caption.clone());
    Figure { in_text: Some(bars(group)), ..figure }
}

/// A bar a line, the longest as long as the line has space for.
fn bars(group: &BarGroup) -> String {
    let largest = group.bars.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
    let labels = group.bars.iter().map(|(label, ..)| shortened(label, LABEL));
    let widest = labels.clone().map(|label| width(&label)).max().unwrap_or(0);
    let mut out = format!("{} ({})\n", group.title, group.axis);
    for (label, (_, value, _)) in labels.zip(&group.bars) {
        let share = if largest > 0.0 { value / largest } else { 0.0 };
        let (bar, value) = (blocks(share), group.kind.value(*value));
        // Aligned by columns: a byte is none.
        let space = " ".repeat(widest - width(&label));
        out.push_str(&format!("  {label}{space}  {bar:<BAR$} {value}\n"));
    }
    out
}

/// A share of the longest bar in eighths of a column; what is not nothing can be seen.
fn blocks(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(blocks(1.0).chars().count(), BAR);
        assert_eq!(blocks(0.0), "");
        assert_eq!(blocks(1e-9), "▏");
        assert_eq!(blocks(f64::NAN), "");
        assert_eq!(blocks(0.5), "█".repeat(BAR / 2));
    }
}
