//! UDP through a router at rising rates: how far nothing is lost, and a row for each of the rates that show it.

use super::forwarding::shares_a_machine;
use super::rows::NOTHING;
use crate::chart::Table;
use crate::figure::{BITRATE, SHARE};
use crate::study::{Shown, hosts};
use crate::verdict::percent;
use plimsoll_explain::{OfferedRate, Routed};
use plimsoll_model::{Subject, Workload};

/// Rates of one screen.
const MOST_ROWS: usize = 9;

/// The only staircase of a study that measured nothing else, under one setting.
pub(super) fn only<'a>(shown: &'a Shown<'_>) -> Option<&'a Routed> {
    let is_only = shown.study.plan.workloads.len() == 1 && shown.names.setups() == 1;
    shown.routed.first().filter(|_| is_only)
}

/// "R forwards 95.0 Mbit/s without loss. Of 100 Mbit/s, the highest rate offered, 92.1 Mbit/s arrive."
pub(super) fn sentence(routed: &Routed) -> String {
    let Some(last) = routed.rates.last() else { return String::new() };
    let most = format!(
        "Of {}, the highest rate offered, {} arrive.",
        BITRATE.value(last.offered),
        BITRATE.value(last.arrived.estimate)
    );
    match routed.without_loss().and_then(|place| routed.rates.get(place)) {
        Some(best) if best == last && last.is_short() => format!(
            "R forwards all that A can send without loss: {} of {}.",
            BITRATE.value(last.offered),
            BITRATE.value(last.planned[1])
        ),
        Some(best) if best == last => format!(
            "R forwards every rate without loss, up to {}. Offer more with --up-to.",
            BITRATE.value(last.offered)
        ),
        Some(best) => format!("R forwards {} without loss. {most}", BITRATE.value(best.offered)),
        None => format!("R forwards no rate without loss. {most}"),
    }
}

pub(super) fn table(routed: &Routed) -> Table {
    let header = ["offered", "forwarded", "lost", "busiest\ncore of R"];
    let mut table = Table::new(header.map(str::to_owned).into());
    let places = telling(routed.rates.len(), routed.without_loss());
    table.rows.extend(places.into_iter().filter_map(|place| routed.rates.get(place)).map(row));
    table
}

fn row(rate: &OfferedRate) -> Vec<String> {
    let whole = |share: f64| percent((100.0 * share).round() / 100.0);
    vec![
        BITRATE.value(rate.offered),
        BITRATE.within(rate.arrived.estimate, rate.arrived.interval),
        SHARE.value(rate.loss),
        rate.busiest_core.map_or_else(|| NOTHING.to_owned(), whole),
    ]
}

/// The places of the rates that a screen has room for: the ends, the last rate without loss and the next one, and others
/// at equal distances.
fn telling(all: usize, without_loss: Option<usize>) -> Vec<usize> {
    if all <= MOST_ROWS {
        return (0..all).collect();
    }
    let spread = MOST_ROWS - 3;
    let mut places: Vec<usize> = (0..=spread).map(|number| number * (all - 1) / spread).collect();
    places.extend(without_loss.into_iter().flat_map(|place| [place, place + 1]));
    places.sort_unstable();
    places.dedup();
    places.retain(|place| *place < all);
    places
}

/// What the columns mean, and whether there are more rows.
pub(super) fn legend(shown: &Shown<'_>, routed: &Routed) -> Vec<String> {
    let mut legend = Vec::new();
    if let Some(path) = shown.study.plan.subjects.first().and_then(Subject::path) {
        let [a, b] = [&path.from.host, &path.to.host].map(hosts::name);
        let via = path.via.as_ref().map(hosts::name).unwrap_or_default();
        let part = shown.study.plan.workloads.first().and_then(Workload::main);
        let settings = part.map(|part| part.job.settings().join(", ")).unwrap_or_default();
        legend.push(format!(
            "A: {a}. B: {b}. R: {via}. UDP from A to B, {settings}; rates are payload."
        ));
    }
    if shares_a_machine(shown) {
        legend.push(
            "R is a namespace: the table has the busiest core of the whole machine.".to_owned(),
        );
    }
    legend.extend(slow_sender(routed));
    let dropped = routed.rates.iter().map(|rate| rate.dropped_at_b).fold(0.0, f64::max);
    if dropped > 0.0 {
        let dropped = SHARE.value(dropped);
        legend.push(format!(
            "B dropped up to {dropped} of the datagrams itself, because its socket was full: R did not lose these."
        ));
    }
    let (all, rows) =
        (routed.rates.len(), telling(routed.rates.len(), routed.without_loss()).len());
    if rows < all {
        legend.push(format!("{rows} of {all} rates; --details and the page have all."));
    }
    legend
}

/// Of an A that sent less than planned.
fn slow_sender(routed: &Routed) -> Option<String> {
    let last = routed.rates.last().filter(|last| last.is_of_several());
    let same = last.map(|last| {
        let [from, to] = last.planned.map(|rate| BITRATE.value(rate));
        format!(
            "The last row has the planned rates from {from} to {to}: A sent about the same at each."
        )
    });
    let is_any = routed.rates.iter().any(OfferedRate::is_short);
    same.or_else(|| is_any.then(|| "A sent less than planned at some of the rates.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_has_the_ends_of_a_staircase_and_its_knee() {
        assert_eq!(telling(4, Some(1)), [0, 1, 2, 3]);
        assert_eq!(telling(20, Some(13)), [0, 3, 6, 9, 12, 13, 14, 15, 19]);
        assert_eq!(telling(20, Some(19)), [0, 3, 6, 9, 12, 15, 19]);
        for all in 0..200 {
            for place in (0..all).map(Some).chain([None]) {
                let places = telling(all, place);
                assert!(places.len() <= MOST_ROWS && places.len() >= all.min(MOST_ROWS - 3));
                assert!(place.is_none_or(|place| places.contains(&place)), "{places:?}");
                assert_eq!(places.last().copied(), all.checked_sub(1));
            }
        }
    }
}
