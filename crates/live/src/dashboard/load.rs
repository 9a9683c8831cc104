//! CPU of each host: busy share, where it goes, and the busiest cores.

use crate::run::{HostNow, LoadNow, Run};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph};

/// Columns of a bar.
const BAR: usize = 12;
/// A core as busy as this may be what limits.
const FULL: f64 = 0.95;

/// Rows for one host.
pub(super) const HEIGHT: u16 = 8;

/// Draws the hosts from the top down, as many as fit.
pub(super) fn draw(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let mut lines = Vec::new();
    for host in &run.hosts {
        let Some(load) = host.loads.back() else { continue };
        lines.extend(host_lines(host, load));
    }
    if lines.is_empty() {
        lines.push(Line::from("not measured yet"));
    }
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("CPU")), area);
}

fn host_lines<'a>(host: &HostNow, load: &LoadNow) -> Vec<Line<'a>> {
    let busy = load.shares.busy().0;
    let percent = |share: f64| share * 100.0;
    let name = crate::text::ending(&plimsoll_model::printable(&host.name.to_string()), 8);
    let mut lines = vec![
        bar(&name, busy),
        Line::from(format!(
            "user {:.0}% kernel {:.0}%",
            percent(load.shares.user + load.shares.nice),
            percent(load.shares.system)
        )),
        Line::from(format!(
            "interrupts {:.0}% soft {:.0}%",
            percent(load.shares.irq),
            percent(load.shares.softirq)
        )),
    ];
    // The busiest cores say more than the mean of many.
    let mut cores: Vec<(usize, f64)> = host.cores_busy.iter().copied().enumerate().collect();
    cores.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines.extend(cores.iter().take(3).map(|(core, busy)| bar(&format!("core {core}"), *busy)));
    lines
}

fn bar<'a>(name: &str, share: f64) -> Line<'a> {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = (share * BAR as f64).round() as usize;
    let bar = "█".repeat(filled) + &"░".repeat(BAR - filled);
    let colour = if share >= FULL { Color::Red } else { Color::Green };
    Line::from(format!("{name:<8} {bar}{:>4.0}%", share * 100.0)).style(Style::new().fg(colour))
}
