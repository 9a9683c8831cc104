//! What a router that sends UDP gains without its rules, by payload, beside the gains that a publication has of kernels
//! without netfilter.

use super::by_size::published_in;
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::study::Shown;
use crate::text::listed;
use crate::verdict::{percent, percents};
use plimsoll_explain::{Pair, Ratio, WorkloadFindings};
use plimsoll_model::factor::RULESET;
use plimsoll_model::units::Bytes;
use plimsoll_model::{DatagramsJob, Factor, FactorLevel, Flow, Job, Metric, Subject};
use plimsoll_published::kofler2011::{PayloadGain, payload_gains};
use plimsoll_references::Table;
use plimsoll_stats::interval::Interval;

const NOTHING: &str = "–";
/// The figure of the publication.
const FIGURE: u8 = 4;
/// The level of the rules without any.
const WITHOUT: &str = "none";
/// What differs from the publication.
const HOOKS: &str = "The rules are removed, but the hooks of netfilter stay in the kernel; the published kernels had no \
     netfilter at all.";

/// The gain of one payload.
struct Gain<'a> {
    bytes: u64,
    ratio: &'a Ratio,
}

/// Empty of other studies.
pub(super) fn section(shown: &Shown<'_>, tables: &[Table]) -> Section {
    let mut section = Section::details("gains", "Gain without rules by payload");
    let gains = gains(shown);
    if gains.is_empty() {
        return section;
    }
    let published = payload_gains(tables);
    let mut table = Columns::with_headings(["gain", "published,\nwithout netfilter"]);
    for gain in &gains {
        let own = published.iter().find(|own| own.bytes == gain.bytes as f64);
        let own = own.map_or_else(|| NOTHING.to_owned(), range);
        table.row(Bytes(gain.bytes).to_string(), [in_words(gain.ratio), own]);
    }
    section.table(table.table(), Layout::Figures);
    section.text(format!("{HOOKS}{}", published_in(FIGURE)));
    section
}

/// The same with the tables of the publication.
pub(crate) fn published_gains(shown: &Shown<'_>) -> Section {
    section(shown, plimsoll_references::tables())
}

/// "Gain of UDP out without rules: 12% [9%–15%] with 400 B and 3% [1%–5%] with 1450 B; published: …", and a shorter form.
pub(super) fn sentences(shown: &Shown<'_>) -> Option<[String; 2]> {
    let (gains, published) = (gains(shown), payload_gains(plimsoll_references::tables()));
    let is_published =
        |gain: &&Gain<'_>| published.iter().any(|own| own.bytes == gain.bytes as f64);
    let own: Vec<String> = gains
        .iter()
        .filter(is_published)
        .map(|gain| format!("{} with {}", in_words(gain.ratio), Bytes(gain.bytes)))
        .collect();
    if own.is_empty() {
        return None;
    }
    let theirs: Vec<String> =
        published.iter().map(|gain| format!("{} ({})", range(gain), gain.payload)).collect();
    let gains = format!("Gain of UDP out without rules: {}", listed(&own));
    Some([format!("{gains}; published: {}. {HOOKS}", listed(&theirs)), format!("{gains}. {HOOKS}")])
}

/// The gain of each payload, the smallest first, where a router sends with its rules and without them, and no other
/// setting differs.
fn gains<'a>(shown: &'a Shown<'_>) -> Vec<Gain<'a>> {
    let path = shown.study.plan.subjects.first().and_then(Subject::path);
    let (Some(path), [factor]) = (path, shown.study.plan.factors.as_slice()) else {
        return Vec::new();
    };
    if factor.name != RULESET || factor.host != path.from.host || !takes_rules_off(factor) {
        return Vec::new();
    }
    let all = shown.findings.workloads.iter().filter_map(gain);
    let mut all: Vec<Gain<'_>> = all.collect();
    all.sort_by_key(|gain| gain.bytes);
    all
}

/// Whether it has two levels: as found, and none.
fn takes_rules_off(factor: &Factor) -> bool {
    match factor.levels.as_slice() {
        [FactorLevel::AsFound, FactorLevel::Set { value }] => value == WITHOUT,
        _ => false,
    }
}

/// Of one stream of UDP that A sends as fast as it can.
fn gain(found: &WorkloadFindings) -> Option<Gain<'_>> {
    let part = found.workload.main()?;
    let Job::Datagrams(DatagramsJob { flow: Flow::Out, streams: 1, payload, rate: None, .. }) =
        &part.job
    else {
        return None;
    };
    let is_gain = |pair: &&Pair| {
        let (of, against) = (pair.contrast.of.cell, pair.contrast.against.cell);
        of.subject == against.subject && (against.setting, of.setting) == (0, 1)
    };
    let pair = found.pairs.iter().find(is_gain).filter(|_| found.workload.steps.is_none())?;
    let ratio = pair.ratios.get(&Metric::all(part.job.speed()))?;
    Some(Gain { bytes: payload.0, ratio })
}

/// "12% [9%–15%]".
fn in_words(ratio: &Ratio) -> String {
    let by = ratio.interval.map_or_else(String::new, |Interval { low, estimate, high }| {
        let gain = Interval { low: low - 1.0, estimate: estimate - 1.0, high: high - 1.0 };
        format!(" {}", percents(gain))
    });
    format!("{}{by}", percent(ratio.estimate - 1.0))
}

/// "53 to 80%".
fn range(published: &PayloadGain) -> String {
    let (low, high) = published.percent;
    format!("{low:.0} to {high:.0}%")
}
