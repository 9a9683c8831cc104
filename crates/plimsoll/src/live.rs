//! Progress on standard error while a study runs: what is done, at what rate, how long it still
//! takes. It only looks on; where standard error is no terminal it is silent.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::units;
use model::{Event, Plan, Window};
use std::cell::RefCell;
use std::time::Duration;
use study::Progress;

/// The progress line.
pub struct Live {
    bar: ProgressBar,
    quiet: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    targets: Vec<String>,
    doing: String,
    left: String,
    window_seconds: f64,
    last_at: f64,
}

impl Live {
    /// Progress for `plan`; nothing at all when `quiet`.
    pub fn new(quiet: bool, plan: &Plan) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(8)
        };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        // A template that does not parse is a bug that the tests see; the default serves meanwhile.
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        let targets = plan.targets.iter().map(ToString::to_string).collect();
        let state = RefCell::new(State { targets, ..State::default() });
        Live { bar, quiet, state }
    }

    /// Says what is about to happen and how long it takes.
    pub fn announce(&self, plan: &Plan) {
        if self.quiet {
            return;
        }
        let cells = plan.targets.len() * plan.workloads.len();
        let blocks = plan.first_blocks();
        // A second between trials and the laying out of files are guessed, the trials are not.
        let least =
            (cells as f64) * f64::from(blocks) * (plan.trial_seconds + 0.3) + plan.baseline_seconds;
        let at_least =
            if matches!(plan.rule, model::Rule::Stein { .. }) { "at least " } else { "" };
        output::complain(&format!(
            "{} pattern(s) on {} target(s), {at_least}{blocks} blocks of {} trials of {}: about {}; no \
             block is begun that would end after {}. Seed {}.",
            plan.workloads.len(),
            plan.targets.len(),
            cells,
            units::seconds(plan.trial_seconds),
            minutes(least),
            minutes(plan.cap_seconds),
            plan.seed
        ));
    }

    /// Shows what the study says.
    pub fn show(&self, progress: Progress<'_>) {
        let mut state = self.state.borrow_mut();
        match progress {
            Progress::Baseline { seconds } => {
                self.bar.set_message(format!("watching the idle machine for {seconds:.0} s"));
            }
            Progress::Preparing { target } => {
                let name = state.targets.get(target).cloned().unwrap_or_default();
                state.doing = format!("preparing {}", report::printable(&name));
                self.bar.set_message(state.doing.clone());
            }
            Progress::Trial { number, target, workload, planned, seconds_left, .. } => {
                self.bar.set_length(u64::from(planned));
                self.bar.set_position(u64::from(number));
                let name = state.targets.get(target).cloned().unwrap_or_default();
                state.doing = format!("{} on {}", workload.pattern, report::printable(&name));
                state.left = format!("{} left", minutes(seconds_left));
                state.last_at = 0.0;
                self.bar.set_message(format!("{}, {}", state.left, state.doing));
            }
            Progress::Event(Event::Window { at_seconds, window }) => {
                state.window_seconds = at_seconds - state.last_at;
                state.last_at = *at_seconds;
                let rate = rate(window, state.window_seconds);
                self.bar.set_message(format!("{}, {rate}, {}", state.left, state.doing));
            }
            Progress::Event(Event::Phase { phase, .. }) => {
                self.bar.set_message(format!("{}, {phase}, {}", state.left, state.doing));
            }
            Progress::Event(_) | Progress::Ended(_) | Progress::BlocksWanted { .. } => {}
        }
        self.bar.tick();
    }

    /// Clears the line.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

fn rate(window: &Window, seconds: f64) -> String {
    if seconds <= 0.0 {
        return String::new();
    }
    format!(
        "{}, {} op/s",
        units::bytes_per_second(window.bytes() as f64 / seconds),
        units::per_second((window.read_ops + window.write_ops) as f64 / seconds)
    )
}

fn minutes(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.clamp(0.0, 1e7)).as_secs();
    if whole < 90 { format!("{whole} s") } else { format!("{} min", (whole + 30) / 60) }
}
