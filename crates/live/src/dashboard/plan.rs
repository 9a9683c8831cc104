//! The plan with what is done: a row a workload, a column a subject under a setting.

use crate::describe;
use crate::run::Run;
use crate::text::ending;
use plimsoll_model::Cell;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Cell as TableCell, Row, Table};

/// Columns for the name of a workload and for a subject.
const NAME: u16 = 17;
const SUBJECT: u16 = 15;
/// Rows of workloads at most, as many as the patterns of a check.
const ROWS: usize = 8;

/// Rows that the plan takes up.
pub(super) fn height(run: &Run) -> u16 {
    // Border, header, border.
    3 + run.header.plan.workloads.len().min(ROWS) as u16
}

/// Draws the plan. Of more targets or workloads than fit, those around the one under way.
pub(super) fn draw(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let plan = &run.header.plan;
    let now = run.trial.as_ref().filter(|t| !t.ended).map(|t| t.cell);
    let most = usize::from(area.width.saturating_sub(2 + NAME) / (SUBJECT + 1)).max(1);
    // Setting by setting, the subjects beside each other.
    let subjects = plan.subjects.len();
    let settings = plan.settings();
    let columns = subjects.saturating_mul(settings.len());
    let column = |cell: Cell| {
        let setting = settings.iter().position(|setting| *setting == cell.setting);
        setting.unwrap_or(0) * subjects + usize::from(cell.subject)
    };
    let (shown, more) = around(columns, most, now.map_or(0, column));
    let cell = |column: usize, workload: usize| {
        let index = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let (setting, subject) = (column / subjects.max(1), column % subjects.max(1));
        let setting = settings.get(setting).copied().unwrap_or(0);
        Cell { subject: index(subject), workload: index(workload), setting }
    };
    let rows = usize::from(area.height.saturating_sub(3));
    let current = now.map_or(0, |cell| usize::from(cell.workload));
    let (workloads, _) = around(plan.workloads.len(), rows, current);
    let names = shown.clone().map(|column| {
        let name = describe::setup(plan, cell(column, 0));
        // As far in as the figures below.
        format!("  {}", ending(&name, usize::from(SUBJECT) - 2))
    });
    let head = std::iter::once(String::new()).chain(names).map(TableCell::from);
    let body = workloads.map(|workload| {
        let name = ending(&describe::work(&plan.workloads[workload]), usize::from(NAME));
        let cells = shown.clone().map(|column| {
            let cell = cell(column, workload);
            let done = describe::done(run, cell);
            if now == Some(cell) {
                let style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
                TableCell::from(format!("▶ {done}")).style(style)
            } else {
                TableCell::from(format!("  {done}"))
            }
        });
        Row::new(std::iter::once(TableCell::from(name)).chain(cells))
    });
    let widths = std::iter::once(NAME).chain(shown.clone().map(|_| SUBJECT));
    let title = match more {
        0 => format!("plan: {}, trials", describe::figures_of_plan(run)),
        more => format!("plan: {}, trials; {more} more", describe::figures_of_plan(run)),
    };
    let table = Table::new(body, widths.map(Constraint::Length))
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

/// Which `most` of `count` things are shown so that `current` is among them, and how many are not.
fn around(count: usize, most: usize, current: usize) -> (std::ops::Range<usize>, usize) {
    let shown = most.min(count);
    let from = current.saturating_sub(shown / 2).min(count - shown);
    (from..from + shown, count - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_one_is_always_shown() {
        for count in 0..12 {
            for most in 0..6 {
                for current in 0..count {
                    let (shown, hidden) = around(count, most, current);
                    assert_eq!(shown.len() + hidden, count);
                    assert!(most == 0 || shown.contains(&current), "{count} {most} {current}");
                }
            }
        }
    }
}
