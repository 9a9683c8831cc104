//! What a run's state is in words: the same on the dashboard and on the page.

use crate::run::{Doing, Run};
use crate::text::{duration, ending, rate};
use plimsoll_model::label;
use plimsoll_model::{Cell, Measure, Plan, Workload, factor, printable, units};

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
    format!("{} elapsed, {left}", duration(run.at_seconds))
}

/// What is being done, in at most about `width` columns.
pub(crate) fn doing(run: &Run, width: usize) -> String {
    let plan = &run.header.plan;
    let fitted = |name: String, rest: usize| ending(&name, width.saturating_sub(rest).max(8));
    let percent =
        |share: Option<f64>| share.map(|s| format!(" {:.0}%", s * 100.0)).unwrap_or_default();
    match &run.doing {
        Doing::Starting => "connecting".to_owned(),
        Doing::Baseline { seconds } => {
            format!("measuring the idle machine for {}", units::seconds(*seconds))
        }
        Doing::Preparing { subject: index, share } => {
            format!("preparing {}{}", fitted(subject(plan, *index), 15), percent(*share))
        }
        Doing::Rebooting { host } => {
            fitted(format!("rebooting {}", printable(&host.to_string())), 0)
        }
        Doing::Setting { what } => fitted(format!("setting {}", printable(what)), 0),
        Doing::Trial { phase, share } => {
            let Some(trial) = &run.trial else { return phase.to_string() };
            let workload = plan.workload(trial.cell).map(work).unwrap_or_default();
            let (first, last) =
                (format!("{workload} on "), format!(": {phase}{}", percent(*share)));
            let rest = first.chars().count() + last.len();
            format!("{first}{}{last}", fitted(setup(plan, trial.cell), rest))
        }
    }
}

/// "112 MB/s, 107 op/s, 3.48 ms" of the latest window of a trial under way; else nothing.
pub(crate) fn figures(run: &Run) -> String {
    let under_way = run.trial.as_ref().is_some_and(|t| !t.ended);
    let Some(point) = run.now().filter(|_| under_way) else { return String::new() };
    let latency = point.latency_seconds.map(|s| format!(", {}", units::seconds(s)));
    rate(point.bytes_per_second(None), point.operations_per_second(None))
        + &latency.unwrap_or_default()
}

/// "112 MB/s 3", "112 MB/s 3 1 void 1 bad" of a cell of the plan: the mean of its headline, the number of its complete
/// trials, of those that say nothing and of those that went wrong.
pub(crate) fn done(run: &Run, cell: Cell) -> String {
    let now = run.cell(cell);
    let others: String = [(now.void, "void"), (now.incomplete, "bad")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!(" {count} {word}"))
        .collect();
    let headline = run.header.plan.workload(cell).and_then(headline);
    match now.mean() {
        Some(mean) => format!("{} {}{others}", figure(headline, mean), now.complete),
        None if others.is_empty() => "-".to_owned(),
        None => others.trim_start().to_owned(),
    }
}

fn headline(workload: &Workload) -> Option<Measure> {
    workload.main().map(|part| part.headline().measure)
}

/// A figure in the unit of its measure.
fn figure(measure: Option<Measure>, value: f64) -> String {
    let info = measure.and_then(Measure::info);
    match info.as_ref().map(|info| info.unit.as_str()) {
        Some("B/s") => units::bytes_per_second(value),
        Some("1/s") => format!("{}/s", units::per_second(value)),
        Some("s") => units::seconds(value),
        _ => units::three_digits(value),
    }
}

/// What the figures of the plan's cells are: "mean throughput", "mean result" of other work too.
pub(crate) fn figures_of_plan(run: &Run) -> &'static str {
    let throughput = |w: &Workload| headline(w) == Some(Measure::THROUGHPUT);
    match run.header.plan.workloads.iter().all(throughput) {
        true => "mean throughput",
        false => "mean result",
    }
}

/// What a workload does, in short: "sequential-read", "copy-up+scan".
pub(crate) fn work(workload: &Workload) -> String {
    let mut kinds: Vec<&str> = workload.parts.iter().map(|part| part.job.kind()).collect();
    kinds.dedup();
    kinds.join("+")
}

/// The short name of a subject, safe to print.
pub(crate) fn subject(plan: &Plan, index: usize) -> String {
    printable(label::labels(plan).get(index).map_or("", String::as_str))
}

/// A subject under its setting, safe to print.
pub(crate) fn setup(plan: &Plan, cell: Cell) -> String {
    let levels = factor::words(&plan.factors, cell.setting);
    let words = std::iter::once(subject(plan, cell.subject.into()));
    words.chain(levels.iter().map(|level| printable(level))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::{News, TrialEnd};
    use crate::support::{header, notice};
    use plimsoll_model::{Outcome, VoidReason};

    /// A trial that was void because this machine was late counted as "bad".
    #[test]
    fn void_trials_have_a_count_of_their_own() {
        let mut run = Run::new(header());
        let cell = Cell::default();
        let mut ended = |end, headline| {
            run.apply(&notice(1.0, News::Ended { cell, end, headline }));
            done(&run, cell)
        };
        let reason = VoidReason::LateGenerator { late_seconds: 1.0, seconds: 3.0 };
        let void = TrialEnd::from(&Outcome::Void { reason });
        assert_eq!(ended(void, Some(1e6)), "1 void");
        assert_eq!(ended(TrialEnd::Complete, Some(1e8)), "100 MB/s 1 1 void");
        assert_eq!(ended(TrialEnd::Incomplete, None), "100 MB/s 1 1 void 1 bad");
        assert_eq!(ended(void, None), "100 MB/s 1 2 void 1 bad");
    }
}
