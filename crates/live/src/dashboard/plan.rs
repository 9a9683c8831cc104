//! The plan with what is done: a row a workload, a column a target.

use crate::run::Run;
use crate::text::ending;
use crate::words;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Cell, Row, Table};

/// Columns for the name of a workload and for a target.
const NAME: u16 = 17;
const TARGET: u16 = 15;
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
    let now = run.trial.as_ref().filter(|t| !t.ended);
    let current = now.and_then(|t| Some((t.target, run.place(&t.workload)?)));
    let room = usize::from(area.width.saturating_sub(2 + NAME) / (TARGET + 1)).max(1);
    let (targets, more) = around(plan.targets.len(), room, current.map_or(0, |c| c.0));
    let rows = usize::from(area.height.saturating_sub(3));
    let (workloads, _) = around(plan.workloads.len(), rows, current.map_or(0, |c| c.1));
    let names = targets.clone().map(|target| {
        // As far in as the figures below.
        format!("  {}", ending(&words::target(run, target), usize::from(TARGET) - 2))
    });
    let head = std::iter::once(String::new()).chain(names).map(Cell::from);
    let body = workloads.map(|workload| {
        let name = plan.workloads[workload].pattern.to_string();
        let cells = targets.clone().map(|target| {
            let cell = run.cells[target][workload];
            if current == Some((target, workload)) {
                let style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
                Cell::from(format!("▶ {}", words::done(&cell))).style(style)
            } else {
                Cell::from(format!("  {}", words::done(&cell)))
            }
        });
        Row::new(std::iter::once(Cell::from(name)).chain(cells))
    });
    let widths = std::iter::once(NAME).chain(targets.clone().map(|_| TARGET));
    let title = match more {
        0 => "plan: mean throughput, trials".to_owned(),
        more => format!("plan: mean throughput, trials; {more} more targets"),
    };
    let table = Table::new(body, widths.map(Constraint::Length))
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

/// Which `room` of `count` things are shown so that `current` is among them, and how many are not.
fn around(count: usize, room: usize, current: usize) -> (std::ops::Range<usize>, usize) {
    let shown = room.min(count);
    let from = current.saturating_sub(shown / 2).min(count - shown);
    (from..from + shown, count - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_one_is_always_shown() {
        for count in 0..12 {
            for room in 0..6 {
                for current in 0..count {
                    let (shown, hidden) = around(count, room, current);
                    assert_eq!(shown.len() + hidden, count);
                    assert!(room == 0 || shown.contains(&current), "{count} {room} {current}");
                }
            }
        }
    }
}
