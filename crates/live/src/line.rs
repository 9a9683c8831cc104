//! The progress line on standard error: what is done, at what rate, how long it still takes. Where
//! standard error is no terminal it is silent.

use crate::text::{duration, rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Event, Plan, Rule, units};
use study::Progress;

/// The progress line. Dropping it clears the line.
pub(crate) struct Line {
    bar: ProgressBar,
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
    let least =
        (cells as f64) * f64::from(blocks) * (plan.trial_seconds + 0.3) + plan.baseline_seconds;
    let at_least = if matches!(plan.rule, Rule::Stein { .. }) { "at least " } else { "" };
    format!(
        "{} pattern(s) on {} target(s), {at_least}{blocks} blocks of {} trials of {}: about {}; no \
         block is begun that would end after {}. Seed {}.",
        plan.workloads.len(),
        plan.targets.len(),
        cells,
        units::seconds(plan.trial_seconds),
        duration(least),
        duration(plan.cap_seconds),
        plan.seed
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
        let targets = plan.targets.iter().map(|t| report::printable(&t.to_string())).collect();
        Line { bar, targets, doing: String::new(), left: String::new(), last_at: 0.0 }
    }

    /// Shows what the study says.
    pub(crate) fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Baseline { seconds } => {
                self.bar.set_message(format!("watching the idle machine for {seconds:.0} s"));
            }
            Progress::Preparing { target } => {
                self.doing = format!("preparing {}", self.target(target));
                self.bar.set_message(self.doing.clone());
            }
            Progress::Trial { number, target, workload, planned, seconds_left, .. } => {
                self.bar.set_length(u64::from(planned));
                self.bar.set_position(u64::from(number));
                self.doing = format!("{} on {}", workload.pattern, self.target(target));
                self.left = format!("{} left", duration(seconds_left));
                self.last_at = 0.0;
                self.bar.set_message(format!("{}, {}", self.left, self.doing));
            }
            Progress::Event(Event::Window { at_seconds, window }) => {
                let seconds = at_seconds - self.last_at;
                self.last_at = *at_seconds;
                if seconds > 0.0 {
                    let ops = (window.read_ops + window.write_ops) as f64 / seconds;
                    let rate = rate(window.bytes() as f64 / seconds, ops);
                    self.bar.set_message(format!("{}, {rate}, {}", self.left, self.doing));
                }
            }
            Progress::Event(Event::Phase { phase, .. }) => {
                self.bar.set_message(format!("{}, {phase}, {}", self.left, self.doing));
            }
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
