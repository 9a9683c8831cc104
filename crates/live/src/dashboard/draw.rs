//! The whole picture: head, charts, plan and hosts. Made for 80 x 24 and larger; in less there is
//! less of it.

use super::{charts, load, plan};
use crate::describe;
use crate::run::Run;
use crate::text::ending;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Paragraph};

const FOOT: &str = "Ctrl-C stops the run: test files are removed, finished trials are kept.";

/// Draws a run.
pub(super) fn draw(run: &Run, frame: &mut Frame<'_>) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(plan::height(run).max(load::HEIGHT)),
        Constraint::Length(1),
    ]);
    let [head, bar, doing, middle, bottom, foot] = rows.areas(frame.area());
    draw_head(run, frame, head);
    draw_bar(run, frame, bar);
    draw_doing(run, frame, doing);
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [left, right] = Layout::horizontal(halves).areas(middle);
    charts::throughput(run, frame, left);
    charts::latency(run, frame, right);
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(28)]).areas(bottom);
    plan::draw(run, frame, left);
    load::draw(run, frame, right);
    frame.render_widget(Paragraph::new(FOOT).style(Style::new().add_modifier(Modifier::DIM)), foot);
}

fn draw_head(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let study = format!("  study {}", plimsoll_model::printable(&run.header.study.0));
    let left = Line::from(vec![Span::styled("plimsoll", bold), Span::raw(study)]);
    frame.render_widget(Paragraph::new(left), area);
    frame.render_widget(Paragraph::new(describe::place(run)).alignment(Alignment::Right), area);
}

fn draw_bar(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let time = describe::time(run);
    let width = u16::try_from(time.chars().count() + 1).unwrap_or(u16::MAX);
    let [bar, text] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]).areas(area);
    let (done, planned) = run.trials();
    let share = (f64::from(done) / f64::from(planned.max(1))).clamp(0.0, 1.0);
    let gauge = LineGauge::default()
        .filled_symbol("█")
        .unfilled_symbol("░")
        .filled_style(Style::new().fg(Color::Cyan))
        .label(format!("{:>3.0}%", share * 100.0))
        .ratio(share);
    frame.render_widget(gauge, bar);
    frame.render_widget(Paragraph::new(time).alignment(Alignment::Right), text);
}

fn draw_doing(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let figures = describe::figures(run);
    let width = usize::from(area.width).saturating_sub(figures.chars().count() + 2);
    let doing = ending(&describe::doing(run, width), width);
    frame.render_widget(Paragraph::new(doing), area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(figures).style(bold).alignment(Alignment::Right), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::{News, TrialEnd};
    use crate::support::{cell, header, loads, notice, subject, trial, window};
    use plimsoll_model::units::Bytes;
    use plimsoll_model::{
        Cell, Factor, FactorLevel, Job, OpKind, Phase, ScanJob, Switch, Window, Workload,
    };
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn picture(run: &Run, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(run, frame)).unwrap();
        terminal.backend().to_string()
    }

    /// A run in its 13th trial.
    fn run() -> Run {
        let mut run = Run::new(header());
        for number in 0..13 {
            run.apply(&trial(number));
            run.apply(&notice(
                f64::from(number),
                News::Phase { phase: Phase::Measure, total_bytes: Bytes(0) },
            ));
            for tenth in 1..10 {
                run.apply(&window(f64::from(number) + 0.1 * f64::from(tenth)));
            }
            run.apply(&loads(f64::from(number) + 0.9));
            if number < 12 {
                let ended = News::Ended {
                    cell: cell(number),
                    end: if number == 7 { TrialEnd::Incomplete } else { TrialEnd::Complete },
                    headline: Some(1e8 + f64::from(number) * 1e6),
                };
                run.apply(&notice(f64::from(number) + 0.95, ended));
            }
        }
        run
    }

    #[test]
    fn a_run_in_80_by_24() {
        insta::assert_snapshot!(picture(&run(), 80, 24));
    }

    #[test]
    fn a_run_that_begins() {
        let mut run = Run::new(header());
        insta::assert_snapshot!("starting", picture(&run, 80, 24));
        run.apply(&notice(0.5, News::Preparing { subject: 0 }));
        let total_bytes = Bytes(1 << 30);
        run.apply(&notice(0.6, News::Phase { phase: Phase::LayOut, total_bytes }));
        run.apply(&notice(0.7, News::Progress { bytes: Bytes(1 << 28) }));
        let prepared = picture(&run, 80, 24);
        assert!(prepared.contains("preparing nfs 25%"), "{prepared}");
    }

    #[test]
    fn a_wide_terminal_is_used() {
        insta::assert_snapshot!(picture(&run(), 120, 40));
    }

    #[test]
    fn two_hundred_targets_and_the_one_under_way() {
        let mut header = header();
        header.plan.subjects = (0..200).map(|i| subject(&format!("/mnt/disk{i}"))).collect();
        let mut run = Run::new(header);
        let begun = trial(0);
        let News::Trial { number, block, cell, planned, seconds_left } = begun.news else {
            panic!("a trial");
        };
        let cell = Cell { subject: 150, ..cell };
        let news = News::Trial { number, block, cell, planned, seconds_left };
        run.apply(&notice(1.0, news));
        let picture = picture(&run, 80, 24);
        assert!(picture.contains("/mnt/disk150") && picture.contains("198 more"), "{picture}");
    }

    /// Work without bytes under two settings: operations in the chart, entries in the plan.
    #[test]
    fn a_scan_under_two_settings() {
        let mut header = header();
        let Workload { parts, length, .. } = header.plan.workloads[0].clone();
        let job = Job::Scan(ScanJob::default());
        let part = plimsoll_model::Part { job, ..parts[0].clone() };
        header.plan.workloads = vec![Workload::new(part, length)];
        header.plan.subjects.truncate(1);
        header.plan.factors = vec![Factor {
            name: "sysctl:net.ipv4.tcp_sack".into(),
            host: "ssh://nas".parse().unwrap(),
            levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "0".into() }],
            switch: Switch::Live,
        }];
        let mut run = Run::new(header);
        let (factor, level) = ("sysctl:net.ipv4.tcp_sack".into(), "0".into());
        let host = "ssh://nas".parse().unwrap();
        run.apply(&notice(1.0, News::Setting { factor, level, host }));
        let setting = picture(&run, 100, 24);
        assert!(
            setting.contains("setting sysctl:net.ipv4.tcp_sack to 0 on ssh://nas"),
            "{setting}"
        );
        let cell = Cell { setting: 1, ..Cell::default() };
        let end = TrialEnd::Complete;
        run.apply(&notice(2.0, News::Ended { cell, end, headline: Some(21_500.0) }));
        let (number, block, planned, seconds_left) = (1, 0, 12, 50.0);
        run.apply(&notice(3.0, News::Trial { number, block, cell, planned, seconds_left }));
        let window = Window::only(OpKind::LOOKUP, 2000, 0);
        run.apply(&notice(3.1, News::Window { trial_seconds: 0.1, window }));
        let picture = picture(&run, 100, 24);
        for words in
            ["21.5 k/s 1", "20.0 k op/s", "plan: mean result", "┌operations", "…, tcp_sack=0"]
        {
            assert!(picture.contains(words), "{words} in\n{picture}");
        }
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut header = header();
        header.plan.subjects = vec![subject("/mnt/\u{1b}[2Jx\u{202e}y")];
        let mut run = Run::new(header);
        run.apply(&notice(0.5, News::Preparing { subject: 0 }));
        let picture = picture(&run, 100, 30);
        assert!(picture.contains("\\u{1b}[2Jx\\u{202e}y"), "{picture}");
    }

    #[test]
    fn no_size_and_no_figure_makes_it_panic() {
        let mut strange = run();
        let worst = News::Ended {
            cell: Cell { subject: 99, ..Cell::default() },
            end: TrialEnd::Complete,
            headline: Some(f64::INFINITY),
        };
        strange.apply(&notice(f64::NAN, worst));
        strange.apply(&notice(
            1e300,
            News::Window {
                trial_seconds: 1e-300,
                window: Window::only(OpKind::READ, u64::MAX, u64::MAX),
            },
        ));
        let last = News::Trial {
            number: u32::MAX,
            block: u32::MAX,
            cell: Cell { subject: u16::MAX, workload: u16::MAX, setting: u16::MAX },
            planned: 0,
            seconds_left: f64::NAN,
        };
        strange.apply(&notice(1e300, last));
        strange.apply(&notice(1e300, News::Baseline { seconds: f64::NAN }));
        for run in [run(), Run::new(header()), strange] {
            for (width, height) in
                [(1, 1), (1, 30), (3, 50), (300, 2), (20, 10), (79, 23), (250, 80)]
            {
                picture(&run, width, height);
            }
        }
    }
}
