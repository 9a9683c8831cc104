//! Below the table of the rates that a router keeps: what its columns mean, and what was noticed beside the rates.

use super::connections;
use super::forwarding::{
    caveats, compares, flows, has_searches, has_several_flows, label, losses, searches,
    shares_a_machine, steps,
};
use crate::figure::{SHARE, TIME};
use crate::study::{Shown, hosts, paths};
use crate::text::{listed, printable};
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, Forwarded, WorkloadFindings};
use plimsoll_model::{
    Cell, Flow, ForwardingJob, Job, Limit, Measure, Metric, RateCaveat, Steps, StreamJob, Subject,
};
use plimsoll_stats::kept::enough_seconds;

/// What the columns mean, and where the frames did not pass the router.
pub(super) fn legend(shown: &Shown<'_>) -> Vec<String> {
    let mut legend = Vec::new();
    let path = shown.study.plan.subjects.first().and_then(Subject::path);
    if let Some(path) = path {
        let [a, b] = [&path.from.host, &path.to.host].map(hosts::name);
        let via = path.via.as_ref().map(hosts::name);
        let one = searches(shown).next().filter(|_| !has_several_flows(shown));
        let flows = match one.map(flows).as_deref() {
            None => String::new(),
            Some("1") => ", 1 flow".to_owned(),
            Some(many) => format!(", {many} flows"),
        };
        let batches = match most_at_once(shown) {
            1 => String::new(),
            many => format!(", in batches of up to {many}"),
        };
        let what = match has_searches(shown) {
            true => format!(
                " Out: from A to B. UDP{flows}{batches}; frame sizes include the check sequence (L2)."
            ),
            false => String::new(),
        };
        let via = via.unwrap_or_else(|| "not named".to_owned());
        legend.push(format!("A: {a}. B: {b}. R: {via}.{what}"));
    }
    legend.extend(connections::legend(shown));
    legend.extend(without_loss(shown));
    legend.extend(paths::wireless(shown));
    legend.extend(latency(shown));
    legend.extend(confirmed(shown));
    legend.extend(events(shown));
    legend.extend(first_packets(shown));
    let apart: Vec<String> = shown
        .forwarded
        .iter()
        .filter(|router| router.passes_by())
        .map(|router| shown.names.workload(router.cell.workload))
        .collect();
    if !apart.is_empty() {
        legend.push(format!(
            "The interfaces of R did not count the frames ({}): these are offloaded, or do not go through R.",
            printable(&listed(&apart))
        ));
    }
    if passes_one_way(shown) {
        legend.push(
            "R counted the frames of the other direction, so the routes of A and B may differ (ip route get)."
                .to_owned(),
        );
    }
    if shares_a_machine(shown) {
        legend.push(
            "R is a namespace: its soft interrupts are those of the whole machine.".to_owned(),
        );
    }
    legend
}

/// Frames that leave a sender at once, at the highest rate that is kept. A router forwards several at once with less work
/// for each.
fn most_at_once(shown: &Shown<'_>) -> u64 {
    let kept = |cell: &CellFindings| Some(cell.levels.get(&Metric::all(Measure::KEPT))?.estimate);
    let all = searches(shown).flat_map(|found| &found.cells).filter_map(kept);
    all.reduce(f64::max).map_or(1, ForwardingJob::batch)
}

/// "No loss: no frame was lost in most trials, 3 s in all (loss below 0.0025%).", where rates without loss are in the table.
/// A radio link has none.
fn without_loss(shown: &Shown<'_>) -> Vec<String> {
    if losses(shown).last() != Some(&0.0) || compares(shown) {
        return Vec::new();
    }
    let cells = shown.findings.workloads.iter().flat_map(|found| &found.cells);
    let (radio, wired): (Vec<&CellFindings>, Vec<&CellFindings>) =
        cells.partition(|cell| paths::has_radio(shown.study, cell.cell.subject));
    let rate = |cell: &&CellFindings| {
        Some(cell.levels.get(&Metric::all(Measure::KEPT_WITHOUT_LOSS))?.estimate)
    };
    let floor = wired.iter().filter_map(rate).reduce(f64::min).map(|least| {
        let seconds = enough_seconds(is_quick(shown));
        let floor = SHARE.value(3.0 / (least * seconds));
        format!(
            "No loss: no frame was lost in most trials, {seconds:.0} s in all (loss below {floor})."
        )
    });
    let none = "No loss: this rate is not shown, because a wireless link loses frames at any rate.";
    floor.into_iter().chain((!radio.is_empty()).then(|| none.to_owned())).collect()
}

/// Whether the frames of one direction go through the router, and those of the other one do not.
fn passes_one_way(shown: &Shown<'_>) -> bool {
    let flows = |is_meant: fn(&Forwarded) -> bool| -> Vec<Flow> {
        let flow = |router: &Forwarded| {
            let workload = shown.study.plan.workloads.get(usize::from(router.cell.workload))?;
            match &workload.main()?.job {
                Job::Forwarding(job) => Some(job.flow),
                _ => None,
            }
        };
        shown.forwarded.iter().filter(|router| is_meant(router)).filter_map(flow).collect()
    };
    let beside = flows(Forwarded::passes_by);
    let through = flows(|router| router.passed.is_some() && !router.passes_by());
    [(Flow::Out, Flow::In), (Flow::In, Flow::Out)].into_iter().any(|(one, other)| {
        beside.contains(&one) && !beside.contains(&other) && through.contains(&other)
    })
}

/// "Each kept rate has a queue p99 of at most 20.0 ms.", where the user set that bound.
fn latency(shown: &Shown<'_>) -> Option<String> {
    let Steps::Kept { accept: Some(bound), .. } = steps(shown)? else { return None };
    let Limit::AtMost(most) = bound.limit else { return None };
    Some(format!("Each kept rate has a queue p99 of at most {}.", TIME.value(most)))
}

/// "Each rate was confirmed by a trial of 60 s, which lost 0.01% at most.", where the user chose its length.
fn confirmed(shown: &Shown<'_>) -> Option<String> {
    let Steps::Kept { final_seconds: Some(seconds), .. } = steps(shown)? else { return None };
    let cells = || searches(shown).flat_map(|found| &found.cells);
    // A rate that was not confirmed has words of its own.
    let is_confirmed = |cell: Cell| {
        let is_short = |caveat: RateCaveat| {
            use RateCaveat::{BurstCredit, Late, Unsteady};
            matches!(caveat, Unsteady { .. } | BurstCredit { .. } | Late { .. })
        };
        !caveats(shown, cell).any(is_short)
    };
    let loss = |cell: &CellFindings| Some(cell.levels.get(&Metric::all(StreamJob::LOSS))?.largest);
    let confirmed = cells().filter(|cell| is_confirmed(cell.cell));
    let lost: Vec<f64> = confirmed.filter_map(loss).collect();
    let most = percent(lost.iter().copied().reduce(f64::max)?);
    let which = match cells().count() {
        all if all == lost.len() => "Each rate was".to_owned(),
        all => format!("{} of {all} rates were", lost.len()),
    };
    Some(format!("{which} confirmed by trials of {seconds:.0} s, which lost {most} at most."))
}

/// "At 50% and 90% of the rate, frames are lost 0 and 12 times a minute (out 512)." of the load that has most.
fn events(shown: &Shown<'_>) -> Option<String> {
    let per_minute = |cell: &CellFindings, measure| {
        Some(60.0 * cell.levels.get(&Metric::all(measure))?.arithmetic_mean)
    };
    let of_cell = |found: &WorkloadFindings, cell: &CellFindings| {
        let half = per_minute(cell, Measure::EVENTS_AT_HALF)?;
        let most = per_minute(cell, Measure::EVENTS_AT_MOST)?;
        Some((half, most, label(shown, found)))
    };
    let of_cell = &of_cell;
    let all = shown
        .findings
        .workloads
        .iter()
        .flat_map(|found| found.cells.iter().filter_map(move |cell| of_cell(found, cell)));
    let (half, most, load) = all.max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)))?;
    let which = if half + most > 0.0 { format!(" ({load})") } else { String::new() };
    Some(format!(
        "At 50% and 90% of the rate, frames are lost {half:.0} and {most:.0} times a minute{which}."
    ))
}

/// "The lead-in, which has the first packets of each flow, lost up to 12% of its frames (out 512)."
fn first_packets(shown: &Shown<'_>) -> Option<String> {
    let all = shown.findings.workloads.iter().flat_map(|found| {
        let lost = |cell: &CellFindings| cell.levels.get(&Metric::all(Measure::LEAD_LOSS)).copied();
        found.cells.iter().filter_map(lost).map(move |level| (level.arithmetic_mean, found))
    });
    let (lost, found) =
        all.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(lost, _)| *lost > LITTLE)?;
    let (lost, load) = (percent(lost), label(shown, found));
    Some(format!(
        "The lead-in, which has the first packets of each flow, lost up to {lost} of its frames ({load})."
    ))
}

/// Share of the first packets whose loss is worth a word.
const LITTLE: f64 = 0.005;

/// Whether few and short trials decided.
fn is_quick(shown: &Shown<'_>) -> bool {
    let steps = shown.study.plan.workloads.first().and_then(|workload| workload.steps.as_ref());
    matches!(steps, Some(Steps::Kept { is_quick: true, .. }))
}
