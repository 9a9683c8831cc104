//! What a plan would take, before anything of it is done.

use crate::conduct::{IDLE_BETWEEN_BLOCKS, IDLE_SHARE};
use crate::schedule::{self, Schedule};
use crate::size;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Length, Plan, Rule, Switch, Workload, factor};
use std::collections::BTreeSet;

/// What an estimate rests on: a link of 1 Gbit/s, and small files on an idle server.
const BYTES_PER_SECOND: f64 = 110e6;
const SECONDS_PER_FILE: f64 = 0.005;
/// Beginning and ending a trial, in seconds.
const SECONDS_PER_TRIAL: f64 = 0.3;
/// Bringing a setting into effect, and one for which something restarts, in seconds.
const SECONDS_PER_CHANGE: f64 = 0.5;
const SECONDS_PER_RESTART: f64 = 10.0;
/// Where the program chooses how much is copied, the first blocks take this share of the cap.
const SCALED_SHARE: f64 = 0.5;

/// What a plan would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// What is measured in each block: subjects, workloads, settings.
    pub cells: u64,
    /// Blocks that are run whatever the figures say.
    pub blocks: u32,
    /// Trials of those.
    pub trials: u64,
    /// Whole plots of those: how often something restarts; none where nothing does.
    pub whole_plots: u64,
    /// Seconds of those, laying out included.
    pub seconds: f64,
    /// Bytes that those write, on all subjects together, laid out files included; of trials with a fixed
    /// length at most.
    pub written: Bytes,
    /// What one subject holds at most meanwhile.
    pub held: Bytes,
    /// What it rests on, a sentence each.
    pub rests_on: Vec<String>,
}

/// What a plan would take by rates that are assumed, before any subject was seen.
pub fn estimate(plan: &Plan) -> Estimate {
    let cells = plan.cells();
    let blocks = plan.first_blocks();
    let each = |cells: f64| cells * f64::from(blocks);
    let plots: BTreeSet<Vec<usize>> =
        cells.iter().map(|cell| schedule::whole_plot(plan, cell.setting)).collect();
    let restarts = plan.factors.iter().any(|factor| factor.switch == Switch::Restart);
    let whole_plots = if restarts { each(plots.len() as f64) as u64 } else { 0 };
    let mut estimate = Estimate {
        cells: cells.len() as u64,
        blocks,
        trials: each(cells.len() as f64) as u64,
        whole_plots,
        seconds: plan.design.baseline_seconds,
        written: Bytes(0),
        held: Bytes(size::held(&plan.workloads, u64::MAX).unwrap_or(0)),
        rests_on: vec![format!(
            "{:.0} MB/s and {:.0} ms for a file",
            BYTES_PER_SECOND / 1e6,
            1e3 * SECONDS_PER_FILE
        )],
    };
    let mut written = 0.0;
    let (mut trials, mut scaled) = (0.0, false);
    for cell in &cells {
        let Some(workload) = plan.workload(*cell) else { continue };
        let volume = volume(workload);
        scaled |=
            plan.storage.adapt_size && crate::scale::of(std::slice::from_ref(workload)).is_some();
        trials += each(seconds(workload, &volume) + SECONDS_PER_TRIAL);
        written += each(volume.written);
    }
    // Laid out once for each subject.
    let subjects = plan.subjects.len() as f64;
    let laid_out: f64 = plan.workloads.iter().map(|workload| volume(workload).laid_out).sum();
    written += subjects * laid_out;
    if scaled {
        trials = trials.min(plan.design.cap_seconds * SCALED_SHARE);
        estimate.rests_on.push(
            "as much is copied as lets the first blocks end within half of the cap: less is written then"
                .to_owned(),
        );
    }
    if plan.design.calibrate {
        estimate
            .rests_on
            .push("trials as short as they may be; a slow target has longer ones".into());
    }
    let idle = IDLE_BETWEEN_BLOCKS.as_secs_f64().min(plan.design.baseline_seconds * IDLE_SHARE);
    let changes = each(changes(plan)) - whole_plots as f64;
    let overhead = changes.max(0.0) * (SECONDS_PER_CHANGE + idle)
        + whole_plots as f64 * (SECONDS_PER_RESTART + idle)
        + each(idle);
    if whole_plots > 0 {
        estimate.rests_on.push(format!("{SECONDS_PER_RESTART:.0} s for each restart"));
    }
    estimate.seconds += subjects * laid_out / BYTES_PER_SECOND + trials + overhead;
    if let Rule::Sequential { at_least_seconds, .. } = plan.design.rule {
        estimate.seconds = estimate.seconds.max(at_least_seconds);
        estimate
            .rests_on
            .push("the first look at the figures; what is not decided then goes on".into());
    }
    estimate.written = Bytes(written as u64);
    estimate
}

/// What one trial moves, and what lies there for it, in bytes; and files.
#[derive(Default)]
struct Volume {
    moved: f64,
    written: f64,
    laid_out: f64,
    files: f64,
}

fn volume(workload: &Workload) -> Volume {
    let mut volume = Volume::default();
    for part in &workload.parts {
        let footprint = part.job.footprint();
        volume.laid_out += footprint.read as f64;
        match workload.length {
            Length::UntilDone { .. } => {
                volume.moved += (footprint.read + footprint.written) as f64;
                volume.written += footprint.written as f64;
                volume.files += footprint.names as f64;
            }
            Length::For { seconds, .. } if footprint.written > 0 => {
                volume.laid_out += footprint.written as f64;
                volume.written += seconds * BYTES_PER_SECOND;
            }
            Length::For { .. } => {}
        }
    }
    volume
}

fn seconds(workload: &Workload, volume: &Volume) -> f64 {
    match workload.length {
        Length::For { seconds, .. } => seconds,
        Length::UntilDone { at_most_seconds } => {
            let copied = volume.moved / BYTES_PER_SECOND + volume.files * SECONDS_PER_FILE;
            copied.min(at_most_seconds)
        }
    }
}

/// How often a setting is changed in a block, on average: as often as two cells of a plot that follow each
/// other have different ones.
fn changes(plan: &Plan) -> f64 {
    let cells = Schedule::new(plan).next_size() as f64;
    let settings = factor::settings(&plan.factors) as f64;
    if settings <= 1.0 { 0.0 } else { cells * (settings - 1.0) / settings }
}
