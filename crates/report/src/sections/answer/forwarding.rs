//! A router between two hosts: a row for each direction and size of frames, with the rates that it keeps, and what it
//! does meanwhile. Where settings are compared, a row for each of them.

use super::connections;
use super::figures::incomplete;
use super::names::Brief;
use super::rows::NOTHING;
use crate::chart::Table;
use crate::figure::{BITRATE, RATE, TIME, TOO_WIDE, is_wide, plus_minus};
use crate::study::{Shown, paths};
use crate::text::{capital, listed};
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, Claim, Forwarded, QueueSeen, RateLimit, WorkloadFindings};
use plimsoll_model::units::three_digits;
use plimsoll_model::{
    Cell, Flag, Job, Measure, Metric, RateCaveat, Steps, StreamJob, Subject, Workload,
};
use plimsoll_stats::verdict::{Side, Verdict};

/// Headings of the columns that do not depend on the losses that are allowed.
pub(super) const LOAD: &str = "load,\nbytes";
const BITS: &str = "of\nframes";
const DELAY: &str = "queue\np99";
pub(super) const SOFTIRQ: &str = "R soft\nirq";
pub(super) const LIMIT: &str = "limit";
const FLOWS: &str = "flows";
pub(super) const SETTING: &str = "setting";
const EACH: &str = "µs a\npacket";
const PACKETS: &str = "packets";
/// Settings that one screen compares.
const MOST_SETTINGS: usize = 4;

/// Whether every workload searches the highest rate that a router keeps, or opens connections through it, with few
/// settings.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    let workloads = &shown.study.plan.workloads;
    !workloads.is_empty()
        && workloads
            .iter()
            .all(|workload| is_search(workload) || connections::are_of(shown, workload))
        && shown.names.setups() <= MOST_SETTINGS
}

fn is_search(workload: &Workload) -> bool {
    matches!(workload.steps, Some(Steps::Kept { .. }))
}

/// The searches; connections have a table of their own.
pub(super) fn searches<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a WorkloadFindings> {
    shown.findings.workloads.iter().filter(|found| is_search(&found.workload))
}

/// Whether frames are searched for.
pub(super) fn has_searches(shown: &Shown<'_>) -> bool {
    searches(shown).next().is_some()
}

/// How the search of a study ends.
pub(super) fn steps<'a>(shown: &'a Shown<'_>) -> Option<&'a Steps> {
    searches(shown).next()?.workload.steps.as_ref()
}

pub(super) fn compares(shown: &Shown<'_>) -> bool {
    !shown.study.plan.contrasts.is_empty()
}

/// "With rules.nft, R forwards at least 22% fewer packets than with none (out 512)."; `None` without a verdict. Of
/// connections the same.
pub(super) fn sentence(shown: &Shown<'_>, brief: &Brief) -> Option<String> {
    let are_paths = shown.names.subjects.len() > 1;
    let mut clauses: Vec<(String, Vec<String>)> = Vec::new();
    for found in &shown.findings.workloads {
        for pair in &found.pairs {
            let Some(claim) = &pair.claim else { continue };
            let [b, a] = [pair.contrast.of, pair.contrast.against]
                .map(|measurand| brief.setup(shown, measurand.cell));
            let what = if is_search(&found.workload) { "packets" } else { "new connections" };
            let (much, than) = match says(claim) {
                Says::AtLeast(much) => (format!("at least {much} {what}"), "than"),
                Says::Equal => (format!("practically as many {what}"), "as"),
                Says::Nothing(_) => continue,
            };
            let clause = match are_paths {
                true => format!("{b} forwards {much} {than} {a}"),
                false => format!("with {b}, R forwards {much} {than} with {a}"),
            };
            let load = label(shown, found);
            match clauses.iter_mut().find(|(known, _)| *known == clause) {
                Some((_, loads)) => loads.push(load),
                None => clauses.push((clause, vec![load])),
            }
        }
    }
    let with_loads =
        |(clause, loads): &(String, Vec<String>)| format!("{clause} ({})", listed(loads));
    let clauses: Vec<String> = clauses.iter().map(with_loads).collect();
    (!clauses.is_empty()).then(|| capital(&clauses.join("; ")) + ".")
}

/// What a comparison says.
enum Says {
    /// "22% fewer".
    AtLeast(String),
    Equal,
    /// Why.
    Nothing(&'static str),
}

fn says(claim: &Claim) -> Says {
    match claim.verdict {
        Some(verdict @ (Verdict::Faster(_) | Verdict::PerhapsTooLittle(_))) => {
            let lead = verdict.lead();
            Says::AtLeast(match lead.faster {
                Side::B => format!("{} more", down(lead.by.low)),
                Side::A => format!("{} fewer", down(1.0 - 1.0 / (1.0 + lead.by.low))),
            })
        }
        Some(Verdict::NoPracticalDifference(_)) => Says::Equal,
        Some(Verdict::NotResolved(_)) => Says::Nothing("inconclusive"),
        None if claim.is_bound => Says::Nothing("only bounds"),
        None => Says::Nothing("too few blocks"),
    }
}

/// A lower bound in percent, never rounded up.
fn down(share: f64) -> String {
    format!("{:.0}%", (100.0 * share + 1e-9).floor())
}

/// The losses that are allowed.
pub(super) fn losses<'a>(shown: &'a Shown<'_>) -> &'a [f64] {
    match steps(shown) {
        Some(Steps::Kept { losses, .. }) => losses,
        _ => &[],
    }
}

pub(super) fn table(shown: &Shown<'_>, brief: &Brief) -> Table {
    let losses = losses(shown);
    let first = losses.first().copied().unwrap_or_default();
    let mut header = vec![LOAD.to_owned()];
    header.extend(has_several_flows(shown).then(|| FLOWS.to_owned()));
    header.extend(compares(shown).then(|| SETTING.to_owned()));
    header.push(format!("kept/s at\n{} loss", percent(first)));
    let rest = match (compares(shown), losses.len() > 1) {
        (true, _) => &[EACH, SOFTIRQ, LIMIT, PACKETS][..],
        (false, true) => &[BITS, "no\nloss", "loss", DELAY, SOFTIRQ, LIMIT],
        (false, false) => &[BITS, "loss", DELAY, SOFTIRQ, LIMIT],
    };
    header.extend(rest.iter().map(|heading| (*heading).to_owned()));
    let mut table = Table::new(header);
    for found in searches(shown) {
        for cell in &found.cells {
            let mut row = vec![direction_and_size(shown, found)];
            row.extend(has_several_flows(shown).then(|| flows(found)));
            row.extend(compares(shown).then(|| brief.setup(shown, cell.cell)));
            row.extend(figures(shown, found, cell, losses.len() > 1));
            row.resize(table.header.len(), NOTHING.to_owned());
            table.rows.push(row);
        }
    }
    table
}

/// "out 512", "in imix"; where numbers of flows are compared "out 512 in 64 flows".
pub(super) fn label(shown: &Shown<'_>, found: &WorkloadFindings) -> String {
    if connections::are_of(shown, &found.workload) {
        return connections::label(found);
    }
    let label = direction_and_size(shown, found);
    match (has_several_flows(shown), &*flows(found)) {
        (false, _) => label,
        (true, "1") => format!("{label} in 1 flow"),
        (true, many) => format!("{label} in {many} flows"),
    }
}

/// Flows in each direction.
pub(super) fn flows(found: &WorkloadFindings) -> String {
    let parameters = found.workload.main().map(|part| part.job.parameters()).unwrap_or_default();
    parameters.into_iter().find(|(name, _)| *name == FLOWS).map_or_else(String::new, |one| one.1)
}

/// Whether loads differ by their number of flows.
pub(super) fn has_several_flows(shown: &Shown<'_>) -> bool {
    let mut all = searches(shown).map(flows);
    let first = all.next();
    all.any(|other| Some(other) != first)
}

fn direction_and_size(shown: &Shown<'_>, found: &WorkloadFindings) -> String {
    let Some(part) = found.workload.main() else { return String::new() };
    let parameters = part.job.parameters();
    let is_mixed = parameters.contains(&("frame_bytes", "imix".to_owned()));
    let frame = if is_mixed { "imix".to_owned() } else { frame(shown, found).to_string() };
    format!("{} {frame}", part.job.title().trim_end_matches(" ways"))
}

/// Bytes of the frames that were sent; of a mix of sizes the mean.
fn frame(shown: &Shown<'_>, found: &WorkloadFindings) -> u64 {
    let own = shown.study.trials.iter().filter(|trial| trial.cell.workload == found.number);
    match found.workload.main().map(|part| &part.job) {
        Some(Job::Forwarding(job)) => job.frame_sent(own.flat_map(|trial| &trial.result.flags)).0,
        job => job.and_then(|job| job.block()).map_or(0, |frame| frame.0),
    }
}

/// A comparison of the packets that a router keeps, or of connections, of each second: "≥ 22% fewer", "equal",
/// "inconclusive".
pub fn rates_compared(claim: &Claim) -> String {
    match says(claim) {
        Says::AtLeast(much) => format!("≥ {much}"),
        Says::Equal => "equal".to_owned(),
        Says::Nothing(why) => why.to_owned(),
    }
}

/// The same of a setting that is compared with another one.
pub(super) fn compared(found: &WorkloadFindings, cell: Cell) -> String {
    let own = found.pairs.iter().find(|pair| pair.contrast.of.cell == cell);
    let claim = own.and_then(|pair| pair.claim.as_ref());
    claim.map_or_else(|| NOTHING.to_owned(), rates_compared)
}

fn figures(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    cell: &CellFindings,
    lossless: bool,
) -> Vec<String> {
    if cell.complete == 0 {
        return vec![incomplete(cell).unwrap_or("stopped").to_owned()];
    }
    let mut row = Vec::new();
    let nothing = || NOTHING.to_owned();
    let level = |measure: Measure| cell.levels.get(&Metric::all(measure));
    let rate = |measure: Measure| level(measure).map_or_else(nothing, |l| RATE.value(l.estimate));
    // The lower bound is what was kept; how far it reaches follows from the middles, which are compared.
    let around = level(Measure::FORWARDED).and_then(|level| {
        let interval = level.interval?;
        if level.estimate <= 0.0 || is_wide(level.estimate, interval) {
            return Some(format!(" {TOO_WIDE}"));
        }
        let reach = (interval.high / level.estimate).max(level.estimate / interval.low) - 1.0;
        Some(format!(" {}", plus_minus(reach)))
    });
    let kept = kept(shown, cell);
    row.push(kept_in_words(shown, cell) + &around.unwrap_or_default());
    if compares(shown) {
        row.push(kept.map_or_else(nothing, |kept| three_digits(1e6 / kept)));
    } else {
        let frame = frame(shown, found) as f64;
        row.push(kept.map_or_else(nothing, |kept| BITRATE.value(kept * frame)));
        if lossless {
            row.push(match level(Measure::KEPT_WITHOUT_LOSS) {
                _ if paths::has_radio(shown.study, cell.cell.subject) => nothing(),
                Some(_) => rate(Measure::KEPT_WITHOUT_LOSS),
                None => "none".to_owned(),
            });
        }
        let loss = level(StreamJob::LOSS);
        row.push(loss.map_or_else(nothing, |level| percent(level.arithmetic_mean)));
        row.push(level(Measure::QUEUE_P99).map_or_else(nothing, |l| TIME.value(l.estimate)));
    }
    let router = shown.forwarded.iter().find(|router| router.cell == cell.cell);
    let softirq = router.and_then(|router| router.cpu.softirq);
    row.push(softirq.map_or_else(nothing, |share| percent((100.0 * share).round() / 100.0)));
    row.push(router.map_or_else(nothing, |router| limit(router, has_credit(shown, cell.cell))));
    row.extend(compares(shown).then(|| compared(found, cell.cell)));
    row
}

/// The rate that is kept; what passes once the credit is used up, where there is one.
fn kept(shown: &Shown<'_>, cell: &CellFindings) -> Option<f64> {
    let level = || Some(cell.levels.get(&Metric::all(Measure::KEPT))?.estimate);
    sustained(shown, cell.cell).or_else(level)
}

/// "39.8 k", "≥ 39.8 k".
pub(super) fn kept_in_words(shown: &Shown<'_>, cell: &CellFindings) -> String {
    let is_least = caveats(shown, cell.cell).any(|caveat| caveat == RateCaveat::AtLeast);
    let least = if is_least { "≥ " } else { "" };
    kept(shown, cell)
        .map_or_else(|| NOTHING.to_owned(), |kept| format!("{least}{}", RATE.value(kept)))
}

/// What passes once the credit is used up, where there is one.
fn sustained(shown: &Shown<'_>, cell: Cell) -> Option<f64> {
    let mut rates = caveats(shown, cell).filter_map(|caveat| match caveat {
        RateCaveat::BurstCredit { frames_per_second, .. } => Some(frames_per_second),
        _ => None,
    });
    rates.next()
}

pub(super) fn has_credit(shown: &Shown<'_>, cell: Cell) -> bool {
    sustained(shown, cell).is_some()
}

/// What has to be said with the rates of a cell.
pub(super) fn caveats<'a>(
    shown: &'a Shown<'_>,
    cell: Cell,
) -> impl Iterator<Item = RateCaveat> + 'a {
    let own = shown.study.trials.iter().filter(move |trial| trial.cell == cell);
    own.flat_map(|trial| &trial.result.flags).filter_map(|flag| match flag {
        Flag::KeptRate { caveat, .. } => Some(*caveat),
        _ => None,
    })
}

/// What sets the rate of a router, in the words of a column.
pub(super) fn limit(router: &Forwarded, has_credit: bool) -> String {
    let whole = |share: f64| percent((100.0 * share).round() / 100.0);
    if router.passes_by() {
        return "not at R".to_owned();
    }
    match &router.limit {
        RateLimit::Sender => "sender".to_owned(),
        RateLimit::Link { share, .. } => format!("link {}", whole(*share)),
        RateLimit::Core { share } => format!("R core {}", whole(*share)),
        RateLimit::CpuQueue { .. } => "CPU queue".to_owned(),
        RateLimit::Queue { .. } => match router.queue.as_ref().is_some_and(QueueSeen::shapes) {
            true => "shaper".to_owned(),
            false => "queue".to_owned(),
        },
        RateLimit::NotCpu { .. } if has_credit => "policer".to_owned(),
        RateLimit::NotCpu { .. } => "shaper, link".to_owned(),
        RateLimit::Unknown => "none found".to_owned(),
    }
}

/// Whether the router shares its processors with other hosts of a lab of namespaces.
pub(super) fn shares_a_machine(shown: &Shown<'_>) -> bool {
    let path = shown.study.plan.subjects.first().and_then(Subject::path);
    let Some(via) = path.and_then(|path| path.via.as_ref()) else { return false };
    shown.study.hosts.iter().any(|host| host.name == *via && host.is_this_machine)
}
