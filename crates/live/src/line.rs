//! The progress line on standard error: what is done, at what rate, how long it still takes. Where
//! standard error is no terminal, a line of its own from time to time: a log is to show that the
//! run goes on.

use crate::text::{duration, rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_model::{Event, Plan, Rule, printable, units};
use plimsoll_study::Progress;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Lets a line pass where so long none did.
#[derive(Debug)]
pub struct Paced {
    last: Instant,
}

impl Paced {
    /// Time from one line to the next.
    pub const EVERY: Duration = Duration::from_secs(30);

    /// The first line is due that long after `now`.
    pub fn from(now: Instant) -> Paced {
        Paced { last: now }
    }

    /// Whether a line is due; if so, this is it.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let due = now.saturating_duration_since(self.last) >= Paced::EVERY;
        if due {
            self.last = now;
        }
        due
    }
}

/// The progress line. Dropping it clears the line.
pub(crate) struct Line {
    bar: ProgressBar,
    /// Of standard error that is no terminal.
    paced: Option<Paced>,
    targets: Vec<String>,
    doing: String,
    left: String,
    /// Seconds since the trial's first operation at the end of the last window.
    last_at: f64,
}

/// What is about to happen and how long it takes.
pub(crate) fn announcement(plan: &Plan) -> String {
    let cells = plan.targets.len() * plan.workloads.len();
    let blocks = plan.first_blocks();
    // The pauses between trials are guessed, the trials are not.
    let least = (cells as f64) * f64::from(blocks) * (plan.trial_seconds + 0.3)
        + plan.design.baseline_seconds;
    let at_least = if matches!(plan.design.rule, Rule::Stein { .. }) { "at least " } else { "" };
    format!(
        "{} pattern(s) on {} target(s), {at_least}{blocks} blocks of {} trials of {}: about {}; no \
         block is begun that would end after {}. Seed {}.",
        plan.workloads.len(),
        plan.targets.len(),
        cells,
        units::seconds(plan.trial_seconds),
        duration(least),
        duration(plan.design.cap_seconds),
        plan.design.seed
    )
}

impl Line {
    /// Progress for `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(8));
        // A template that does not parse is a bug that the tests see; the default serves meanwhile.
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        let targets = plan.targets.iter().map(ToString::to_string).collect();
        let paced = (!stderr().is_terminal()).then(|| Paced::from(Instant::now()));
        Line { bar, paced, targets, doing: String::new(), left: String::new(), last_at: 0.0 }
    }

    /// The one way out of here.
    fn say(&mut self, text: &str) {
        let text = printable(text);
        if self.paced.as_mut().is_some_and(|paced| paced.is_due(Instant::now())) {
            let _ = writeln!(stderr().lock(), "{}", self.alone(&text));
        }
        self.bar.set_message(text);
    }

    /// The line where it stands alone.
    fn alone(&self, text: &str) -> String {
        match self.bar.length() {
            Some(planned) if !self.left.is_empty() => {
                format!("trial {} of {planned}: {text}", self.bar.position() + 1)
            }
            _ => text.to_owned(),
        }
    }

    /// Shows what the study says.
    pub(crate) fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Baseline { seconds } => {
                self.say(&format!("watching the idle machine for {seconds:.0} s"));
            }
            Progress::Preparing { target } => {
                self.doing = format!("preparing {}", self.target(target));
                self.say(&self.doing.clone());
            }
            Progress::Trial { number, target, workload, planned, seconds_left, .. } => {
                self.bar.set_length(u64::from(planned));
                self.bar.set_position(u64::from(number));
                self.doing = format!("{} on {}", workload.pattern, self.target(target));
                self.left = format!("{} left", duration(seconds_left));
                self.last_at = 0.0;
                self.say(&format!("{}, {}", self.left, self.doing));
            }
            Progress::Event(Event::Window { at_seconds, window }) => {
                let seconds = at_seconds - self.last_at;
                self.last_at = *at_seconds;
                if seconds > 0.0 {
                    let ops = (window.read_ops + window.write_ops) as f64 / seconds;
                    let rate = rate(window.bytes() as f64 / seconds, ops);
                    self.say(&format!("{}, {rate}, {}", self.left, self.doing));
                }
            }
            Progress::Event(Event::Phase { phase, .. }) => {
                let left = if self.left.is_empty() { "" } else { &format!("{}, ", self.left) };
                self.say(&format!("{left}{phase}, {}", self.doing));
            }
            // The same again: laying out may take minutes.
            Progress::Event(Event::Progress { .. }) => self.say(&self.bar.message()),
            _ => {}
        }
        self.bar.tick();
    }

    fn target(&self, index: usize) -> &str {
        self.targets.get(index).map_or("", String::as_str)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support;

    #[test]
    fn without_a_terminal_a_line_every_thirty_seconds() {
        let begun = Instant::now();
        let mut paced = Paced::from(begun);
        let due: Vec<u64> = (0..1000)
            .map(|tenths| tenths * 100)
            .filter(|ms| paced.is_due(begun + Duration::from_millis(*ms)))
            .collect();
        assert_eq!(due, [30_000, 60_000, 90_000]);
    }

    #[test]
    fn a_line_that_stands_alone_says_how_far_it_is_and_steers_nothing() {
        let mut line = Line::new(&support::header().plan);
        line.targets[0] = "nfs://nas/\u{1b}[2J\u{202e}\nx".into();
        line.show(Progress::Preparing { target: 0 });
        let shown = line.bar.message();
        assert_eq!(shown, "preparing nfs://nas/\\u{1b}[2J\\u{202e}\\u{a}x");
        assert_eq!(line.alone(&shown), shown);
        let workload = support::header().plan.workloads[0].clone();
        line.show(Progress::Trial {
            number: 11,
            block: 1,
            target: 0,
            workload: &workload,
            planned: 60,
            seconds_left: 200.0,
        });
        let alone = line.alone(&line.bar.message());
        assert!(alone.starts_with("trial 12 of 60: 3 min left, "), "{alone}");
    }
}
