//! What a plan would take, before anything of it is done.

use crate::conduct::IDLE_BETWEEN_BLOCKS;
use crate::schedule::{self, Schedule};
use crate::size;
use crate::volume::{BYTES_PER_SECOND, Volume};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Footprint, Length, Part, Plan, Rule, Steps, Switch, Workload};
use std::collections::BTreeSet;

/// What an estimate rests on beside the rate: small files on an idle server.
const SECONDS_PER_FILE: f64 = 0.005;
/// Beginning and ending a trial, in seconds.
const SECONDS_PER_TRIAL: f64 = 0.3;
/// Bringing a setting into effect, and one for which something restarts, in seconds.
const SECONDS_PER_CHANGE: f64 = 0.5;
const SECONDS_PER_RESTART: f64 = 10.0;
/// Rebooting a host until it works again, in seconds.
const SECONDS_PER_REBOOT: f64 = 90.0;
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
    /// Whole plots of those: how often something restarts, or is rebooted; none where nothing does.
    pub whole_plots: u64,
    /// Seconds until the study ends: creating the files and the blocks, as far as the cap lets them begin. It is
    /// known beforehand where the lengths of all trials are ([`Estimate::is_known`]).
    pub seconds: f64,
    /// Seconds of it before the first block, creating files above all.
    pub preparing_seconds: f64,
    /// Seconds of the first blocks, whatever the cap is.
    pub first_blocks_seconds: f64,
    /// Whether the number of blocks and the length of every trial are fixed; else what is measured decides, and the
    /// time is known from the first block on.
    pub is_known: bool,
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
        seconds: 0.0,
        preparing_seconds: plan.design.baseline_seconds,
        first_blocks_seconds: 0.0,
        is_known: is_known(plan),
        written: Bytes(0),
        held: Bytes(size::most_stored(&plan.workloads, u64::MAX).unwrap_or(0)),
        rests_on: Vec::new(),
    };
    if plan.subjects.iter().any(|subject| subject.target().is_some()) {
        estimate.rests_on.push(format!(
            "{:.0} MB/s and {:.0} ms for a file",
            BYTES_PER_SECOND / 1e6,
            1e3 * SECONDS_PER_FILE
        ));
    }
    let mut written = 0.0;
    let (mut trials, mut scaled) = (0.0, false);
    for cell in &cells {
        let Some(workload) = plan.workload(*cell) else { continue };
        let volume = Volume::new(workload);
        scaled |= plan.storage.adapt_size
            && crate::scale::largest_planned(std::slice::from_ref(workload)).is_some();
        trials += each(seconds(workload, &volume) + SECONDS_PER_TRIAL);
        written += each(volume.written);
    }
    // Once for each subject.
    let subjects = plan.subjects.len() as f64;
    let laid_out = laid_out(&plan.workloads);
    written += subjects * laid_out;
    if scaled {
        trials = trials.min(plan.design.cap_seconds * SCALED_SHARE);
        estimate.rests_on.push(
            "copies are scaled so that the first blocks end within half of the time limit"
                .to_owned(),
        );
    }
    if plan.design.calibrate {
        estimate.rests_on.push("the shortest trials (a slow target needs longer ones)".into());
    }
    let idle = IDLE_BETWEEN_BLOCKS.as_secs_f64().min(plan.design.baseline_seconds);
    let changes = each(changes(plan)) - whole_plots as f64;
    let (restart, what) = match plan.reboot {
        None => (SECONDS_PER_RESTART, "restart"),
        Some(_) => (SECONDS_PER_REBOOT, "reboot"),
    };
    let overhead = changes.max(0.0) * (SECONDS_PER_CHANGE + idle)
        + whole_plots as f64 * (restart + idle)
        + each(idle);
    if whole_plots > 0 {
        estimate.rests_on.push(format!("{restart:.0} s for each {what}"));
    }
    estimate.preparing_seconds += subjects * laid_out / BYTES_PER_SECOND;
    estimate.first_blocks_seconds = trials + overhead;
    if let Rule::Sequential { at_least_seconds, .. } = plan.design.rule {
        let least = at_least_seconds - estimate.preparing_seconds;
        estimate.first_blocks_seconds = estimate.first_blocks_seconds.max(least);
        estimate.rests_on.push("the earliest end (inconclusive comparisons take longer)".into());
    }
    estimate.seconds = estimate.preparing_seconds + within_cap(plan, &estimate);
    estimate.written = Bytes(written as u64);
    estimate
}

/// Seconds of the first blocks that the cap lets begin: the first one always does.
fn within_cap(plan: &Plan, estimate: &Estimate) -> f64 {
    let before = if plan.design.quick { 0.0 } else { estimate.preparing_seconds };
    let each = estimate.first_blocks_seconds / f64::from(estimate.blocks.max(1));
    let fitting = ((plan.design.cap_seconds - before).max(0.0) / each).floor().max(1.0);
    each * fitting.min(f64::from(estimate.blocks))
}

/// Whether all that decides about a study's time is fixed before it begins.
fn is_known(plan: &Plan) -> bool {
    let has_length = |workload: &Workload| match workload.length {
        Length::For { .. } => {
            !matches!(workload.steps, Some(Steps::Search { .. } | Steps::Kept { .. }))
        }
        Length::UntilDone { .. } => is_of_typical_length(workload),
    };
    matches!(plan.design.rule, Rule::Fixed { .. })
        && !plan.design.calibrate
        && plan.workloads.iter().all(has_length)
}

/// Whether a workload that ends by itself takes about as long as it may: what moves no files, such as measuring a
/// part of a host.
fn is_of_typical_length(workload: &Workload) -> bool {
    workload.subject().is_some_and(|kind| kind.info().has_typical_length)
}

/// Bytes that are laid out before the first trial: of copies what comes back, of all else what is read and
/// overwritten.
fn laid_out(workloads: &[Workload]) -> f64 {
    let is_copy = |part: &Part| part.job.file_work().is_some();
    let parts = workloads.iter().flat_map(|workload| &workload.parts);
    let copies = parts.filter(|part| is_copy(part)).map(|part| &part.job);
    let back = Footprint::own(copies).read;
    let mut others = workloads.to_vec();
    others.iter_mut().for_each(|workload| workload.parts.retain(|part| !is_copy(part)));
    (back + size::most_stored(&others, u64::MAX).unwrap_or(0)) as f64
}

fn seconds(workload: &Workload, volume: &Volume) -> f64 {
    match workload.length {
        Length::For { .. } => workload.trial_seconds(),
        Length::UntilDone { at_most_seconds } if is_of_typical_length(workload) => at_most_seconds,
        Length::UntilDone { at_most_seconds } => {
            let copied = volume.moved / BYTES_PER_SECOND + volume.files * SECONDS_PER_FILE;
            copied.min(workload.points() as f64 * at_most_seconds)
        }
    }
}

/// How often a setting is changed in a block, on average: as often as two cells of a plot that follow each
/// other have different ones.
fn changes(plan: &Plan) -> f64 {
    let cells = Schedule::new(plan).next_size() as f64;
    let settings = plan.settings().len() as f64;
    if settings <= 1.0 { 0.0 } else { cells * (settings - 1.0) / settings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::{GIB, MIB};
    use plimsoll_model::{
        Bound, DataClass, Design, DirectoryTarget, Factor, FactorLevel, GeneratedData, HostName,
        Job, Measure, Metric, Parameter, PatternJob, Reboot, Target, Transfer,
    };
    use std::num::NonZeroU16;

    fn plan(jobs: Vec<(Job, Length)>, blocks: u32) -> Plan {
        let one = NonZeroU16::MIN;
        let workload = |(job, length)| Workload::new(Part::closed(job, one, one), length);
        let target = |path: &str| Target::Directory(DirectoryTarget { path: path.into() }).into();
        let design = Design {
            rule: Rule::Fixed { blocks },
            baseline_seconds: 0.0,
            cap_seconds: 7200.0,
            ..Design::default()
        };
        Plan::new(vec![target("a"), target("b")], jobs.into_iter().map(workload).collect(), design)
    }

    fn pattern(name: &str) -> (Job, Length) {
        let job = PatternJob::named(name, Bytes(GIB)).unwrap();
        (job.into(), Length::For { seconds: 2.0, warm_up_seconds: 0.2 })
    }

    /// 1.1 MB and ten files.
    fn copy(transfer: Transfer) -> (Job, Length) {
        let data = GeneratedData {
            class: DataClass::Music,
            count: 10,
            mean_bytes: 11e6,
            scale: 1.0,
            seed: 1,
        };
        let job = plimsoll_model::CopyJob {
            dataset: data.dataset(),
            transfer,
            method: plimsoll_model::Method::default(),
            block: Bytes(MIB),
            verify: false,
        };
        (job.into(), Length::UntilDone { at_most_seconds: 7200.0 })
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found}, not {expected}");
    }

    #[test]
    fn files_that_jobs_share_are_laid_out_once_for_each_subject() {
        let patterns = ["sequential-read", "random-read", "random-write"].map(pattern);
        let found = estimate(&plan(patterns.into(), 5));
        assert_eq!((found.cells, found.trials, found.whole_plots), (6, 30, 0));
        assert_eq!(found.held, Bytes(2 * GIB));
        let laid_out = 4.0 * GIB as f64;
        near(found.seconds, laid_out / BYTES_PER_SECOND + 30.0 * 2.3);
        near(found.written.0 as f64, laid_out + 10.0 * 2.0 * BYTES_PER_SECOND);
    }

    #[test]
    fn work_is_done_once_at_each_value_of_a_sweep() {
        let once = plan(vec![copy(Transfer::Up), pattern("random-write")], 3);
        let mut swept = once.clone();
        for workload in &mut swept.workloads {
            let values = vec![1.0, 2.0, 4.0];
            let over = plimsoll_model::Parameter::Workers;
            workload.steps = Some(Steps::Sweep { over, values });
        }
        let (once, swept) = (estimate(&once), estimate(&swept));
        let trials = |found: &Estimate| found.seconds - 12.0 * SECONDS_PER_TRIAL;
        let laid_out = 2.0 * GIB as f64;
        near(swept.written.0 as f64 - laid_out, 3.0 * (once.written.0 as f64 - laid_out));
        let laid_out = laid_out / BYTES_PER_SECOND;
        near(trials(&swept) - laid_out, 3.0 * (trials(&once) - laid_out));
    }

    /// Three short trials and four of full length; of one length five.
    #[test]
    fn a_search_begins_with_short_trials() {
        for (seconds, expected) in [(8.0, 3.0 * 2.0 + 4.0 * 8.0), (0.5, 5.0 * 0.5)] {
            let mut searching = plan(vec![pattern("random-write")], 2);
            let workload = &mut searching.workloads[0];
            workload.length = Length::For { seconds, warm_up_seconds: 0.0 };
            let accept = vec![Bound::at_most(Metric::all(Measure::LATENCY_P99), 0.01)];
            let (over, from, to) = (Parameter::Workers, 1.0, 64.0);
            workload.steps = Some(Steps::Search { over, from, to, resolution: 0.05, accept });
            let found = estimate(&searching);
            near(found.first_blocks_seconds, 4.0 * (expected + SECONDS_PER_TRIAL));
            let laid_out = found.preparing_seconds * BYTES_PER_SECOND;
            near(found.written.0 as f64 - laid_out, 4.0 * expected * BYTES_PER_SECOND);
            assert!(!found.is_known);
        }
    }

    /// It said 15 hours and, in the same line, 60 seconds: creating 6 TB takes the former, measuring the latter.
    #[test]
    fn the_cap_bounds_what_is_measured_and_not_the_files_of_a_first_look() {
        let mut quick = plan(vec![pattern("random-read")], 1000);
        quick.design.cap_seconds = 60.0;
        let capped = estimate(&quick);
        let laid_out = 2.0 * GIB as f64 / BYTES_PER_SECOND;
        near(capped.preparing_seconds, laid_out);
        assert!(capped.first_blocks_seconds > 4000.0 && capped.is_known);
        // Blocks of two trials of 2.3 s: as many as end by then, the files counted.
        near(capped.seconds, laid_out + ((60.0 - laid_out) / 4.6).floor() * 4.6);
        quick.design.quick = true;
        near(estimate(&quick).seconds, laid_out + 13.0 * 4.6);
        quick.design.calibrate = true;
        assert!(!estimate(&quick).is_known, "a run decides how long trials are");
    }

    #[test]
    fn parts_of_a_host_take_about_as_long_as_they_may() {
        let (part, quick) = (plimsoll_model::device::Part::Cpu, true);
        let job = Job::Device(plimsoll_model::DeviceJob { part, quick });
        let one = NonZeroU16::MIN;
        let length = Length::UntilDone { at_most_seconds: 10.0 };
        let host = plimsoll_model::HostSubject { host: HostName::Local }.into();
        let design = plan(Vec::new(), 1).design;
        let workloads = vec![Workload::new(Part::closed(job, one, one), length)];
        let found = estimate(&Plan::new(vec![host], workloads, design));
        near(found.seconds, 10.0 + SECONDS_PER_TRIAL);
        assert!(found.is_known);
    }

    #[test]
    fn copies_take_what_their_bytes_and_files_do() {
        let found = estimate(&plan(vec![copy(Transfer::Up), copy(Transfer::Down)], 3));
        near(found.seconds, 2.0 + 12.0 * (1.0 + 11.0 * SECONDS_PER_FILE + SECONDS_PER_TRIAL));
        // Up in six trials, and once for each subject to come back.
        near(found.written.0 as f64, 8.0 * 110e6);
        let mut scaled = plan(vec![copy(Transfer::Up)], 3000);
        scaled.storage.adapt_size = true;
        near(estimate(&scaled).seconds, 3600.0);
    }

    /// 110 MB up, of which the reads take half of the rate; and a trial of 2 s in which files are copied, too.
    #[test]
    fn what_runs_at_the_same_time_shares_the_rate() {
        let mut both = plan(vec![copy(Transfer::Up), pattern("random-read")], 3);
        let parts = [0, 1].map(|number: usize| both.workloads[number].parts[0].clone());
        let alone = estimate(&both);
        both.workloads[0].parts.push(parts[1].clone());
        both.workloads[1].parts.push(parts[0].clone());
        let found = estimate(&both);
        near(found.seconds - alone.seconds, 6.0 * (1.0 + 11.0 * SECONDS_PER_FILE));
        // Each repetition makes new files, and the first of 110 MB is counted.
        near((found.held.0 - alone.held.0) as f64, 2.0 * BYTES_PER_SECOND - 110e6);
        near((found.written.0 - alone.written.0) as f64, 6.0 * 2.0 * BYTES_PER_SECOND);
    }

    #[test]
    fn whole_plots_restart_and_are_counted() {
        let mut plan = plan(vec![pattern("random-read")], 8);
        let factor = |levels, switch| Factor {
            name: "x".into(),
            host: HostName::Local,
            levels: vec![FactorLevel::AsFound; levels],
            switch,
        };
        let before = estimate(&plan).seconds;
        plan.factors = vec![factor(3, Switch::Restart), factor(2, Switch::Live)];
        let found = estimate(&plan);
        assert_eq!((found.cells, found.trials, found.whole_plots), (12, 96, 24));
        // 80 more trials, the restarts, and half of the other trials have another level of what is live.
        let changes = 96.0 * 5.0 / 6.0 - 24.0;
        near(found.seconds - before, 80.0 * 2.3 + 240.0 + changes * SECONDS_PER_CHANGE);
        // Every setting after a reboot.
        plan.factors[1].switch = Switch::Restart;
        let host = "ssh://root@nas".parse().unwrap();
        plan.reboot = Some(Reboot { host, command: None, within_seconds: 600.0 });
        let found = estimate(&plan);
        assert_eq!((found.trials, found.whole_plots), (96, 48));
        let changes = 96.0 * 5.0 / 6.0 - 48.0;
        let reboots = 48.0 * SECONDS_PER_REBOOT;
        near(found.seconds - before, 80.0 * 2.3 + reboots + changes * SECONDS_PER_CHANGE);
        assert!(found.rests_on.contains(&"90 s for each reboot".to_owned()), "{found:?}");
    }
}
