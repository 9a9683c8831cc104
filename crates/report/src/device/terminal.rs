//! The page of one host for the terminal.

use super::section::{BarGroup, Section};
use super::{Host, ending, flagged, repeated, sections, subtitle, title};
use crate::page::Page;
use crate::style::Style;
use crate::text::shortened;

/// Columns of the longest bar.
const BAR: usize = 30;
/// Most columns of a bar's label.
const LABEL: usize = 24;
/// Columns that the name of a fact has.
const NAME: usize = 18;

/// What a study of one host found out.
pub(crate) fn device(host: &Host<'_>, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&title(host.study));
    page.item("  ", &subtitle(host.facts));
    if host.is_quick() {
        page.item("  ", "Short measurements were asked for: less exact.");
    }
    if let Some(repeated) = repeated(host) {
        page.item("  ", &repeated);
    }
    if let Some(ending) = ending(host.study) {
        page.warning("", &ending);
    }
    for flag in &host.study.flags {
        page.warning("! ", &flagged(flag));
    }
    for section in sections(host) {
        add(&mut page, &section, section.heading);
    }
    page.finish()
}

/// A section under this heading.
pub(super) fn add(page: &mut Page, section: &Section, heading: &str) {
    page.heading(heading);
    for remark in &section.remarks {
        page.paragraph(remark);
    }
    for (name, value) in &section.facts {
        page.item(&format!("  {:NAME$} ", shortened(name, NAME)), value);
    }
    if !section.table.rows.is_empty() {
        page.lines(&section.table.fitted(page.style.columns()));
    }
    for group in &section.bars {
        page.lines("\n");
        page.lines(&bars(group));
    }
    for claim in &section.claims {
        page.item("> ", claim);
    }
    for warning in &section.warnings {
        page.warning("! ", warning);
    }
}

/// A bar a line, the longest as long as the line has space for.
fn bars(group: &BarGroup) -> String {
    let largest = group.bars.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
    let labels = group.bars.iter().map(|(label, ..)| shortened(label, LABEL));
    let widest = labels.clone().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut out = format!("{} ({})\n", group.title, group.axis);
    for (label, (_, value, _)) in labels.zip(&group.bars) {
        let share = if largest > 0.0 { value / largest } else { 0.0 };
        let (bar, value) = (blocks(share), group.kind.value(*value));
        // Right-aligned by letters: a byte is not a column.
        out.push_str(&format!("  {label:<widest$}  {bar:<BAR$} {value}\n"));
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
