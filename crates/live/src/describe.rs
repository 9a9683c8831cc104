//! What a run's state is in words: the same on the dashboard and on the page.

use crate::run::{CellNow, Doing, Run};
use crate::text::{duration, ending, rate};
use plimsoll_model::units;

/// "trial 13 of 60, block 2 of 6 or more".
pub(crate) fn place(run: &Run) -> String {
    let more = if run.may_grow() { " or more" } else { "" };
    match (&run.trial, run.trials()) {
        (Some(trial), (_, planned)) => format!(
            "trial {} of {planned}, block {} of {}{more}",
            trial.number.saturating_add(1),
            trial.block.saturating_add(1),
            run.blocks
        ),
        (None, (_, planned)) => format!("{planned} trials in {} blocks{more}", run.blocks),
    }
}

/// "12 s so far, about 47 s left".
pub(crate) fn time(run: &Run) -> String {
    let left = match run.seconds_left() {
        Some(seconds) => format!("about {} left", duration(seconds)),
        None => format!("at most {}", duration(run.header.plan.design.cap_seconds)),
    };
    format!("{} so far, {left}", duration(run.at_seconds))
}

/// What is being done, in at most about `width` columns.
pub(crate) fn doing(run: &Run, width: usize) -> String {
    let target =
        |index: usize, rest: usize| ending(&target(run, index), width.saturating_sub(rest).max(8));
    let percent =
        |share: Option<f64>| share.map(|s| format!(" {:.0}%", s * 100.0)).unwrap_or_default();
    match run.doing {
        Doing::Starting => "connecting".to_owned(),
        Doing::Baseline { seconds } => {
            format!("watching the idle machine for {}", units::seconds(seconds))
        }
        Doing::Preparing { target: index, share } => {
            format!("preparing {}{}", target(index, 15), percent(share))
        }
        Doing::Trial { phase, share } => {
            let Some(trial) = &run.trial else { return phase.to_string() };
            let (first, last) =
                (format!("{} on ", trial.workload.pattern), format!(": {phase}{}", percent(share)));
            format!("{first}{}{last}", target(trial.target, first.len() + last.len()))
        }
    }
}

/// "112 MB/s, 107 op/s, 3.48 ms" of the latest window of a trial under way; else nothing.
pub(crate) fn figures(run: &Run) -> String {
    let under_way = run.trial.as_ref().is_some_and(|t| !t.ended);
    let Some(point) = run.now().filter(|_| under_way) else { return String::new() };
    let latency = point.latency_seconds.map(|s| format!(", {}", units::seconds(s)));
    rate(point.bytes_per_second(), point.ops_per_second) + &latency.unwrap_or_default()
}

/// "112 MB/s 3", "112 MB/s 3 1 bad" of a cell of the plan.
pub(crate) fn done(cell: &CellNow) -> String {
    let bad = match cell.incomplete {
        0 => String::new(),
        n => format!(" {n} bad"),
    };
    match cell.mean_bytes_per_second() {
        Some(mean) => format!("{} {}{bad}", units::bytes_per_second(mean), cell.complete),
        None if bad.is_empty() => "-".to_owned(),
        None => bad.trim_start().to_owned(),
    }
}

/// A target as the user wrote it, safe to print.
pub(crate) fn target(run: &Run, index: usize) -> String {
    let name = run.header.plan.targets.get(index).map(ToString::to_string);
    plimsoll_model::printable(&name.unwrap_or_default())
}
