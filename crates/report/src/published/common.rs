//! What the sources have in common: their end, and figures in words.

use crate::document::Section;
use crate::figure::{BANDWIDTH, TIME};
use crate::text::capital;
use plimsoll_model::units::three_digits;
use plimsoll_published::{Contradiction, Impossible, Model};
use plimsoll_stats::fit::Estimate;

/// After what a source shows: figures that cannot be, and what to type next.
pub(super) fn end(key: &str, contradictions: &[Contradiction], details: bool) -> Section {
    let mut end = Section::new("end", "");
    contradictions.iter().for_each(|found| end.warning(contradiction(found)));
    if details {
        end.command("More", format!("plimsoll explain {key} --details"), String::new());
    }
    end.command("Rows of the tables", format!("plimsoll references show {key}"), String::new());
    end
}

/// "87%", "5.6%".
pub(super) fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.0995);
    format!("{:.decimals$}%", 100.0 * share)
}

/// That figures cannot be true together.
fn contradiction(found: &Contradiction) -> String {
    let megabits = |bits: f64| format!("{:.0} Mbit/s", bits / 1e6);
    let happened = match found.says {
        Impossible::OverTheLink { published, link } => {
            format!("{} exceed the {} that the link can carry", megabits(published), megabits(link))
        }
        Impossible::TimeAndRate { published, by_rate } => {
            format!(
                "the time is {}, but the rate gives {}",
                TIME.value(published),
                TIME.value(by_rate)
            )
        }
        Impossible::InFlight { published, jobs } => {
            let in_flight = three_digits(published);
            format!(
                "rate × latency is {in_flight} operations in flight, more than the {jobs:.0} jobs"
            )
        }
        Impossible::OverAll { published } => {
            format!("the shares of CPU time add up to {published:.0}%")
        }
        Impossible::Gain { published, by_rates } => {
            format!("the gain is {published:.0}%, but the two rates give {by_rates:.0}%")
        }
    };
    format!("{}: {happened}. The figures contradict each other.", capital(&found.row))
}

/// That a model does not fit; nothing where it does.
pub(super) fn does_not_fit(of: &str, model: &Model) -> Option<String> {
    let off = percent(model.largest_error());
    (!model.fits()).then(|| {
        format!(
            "{of}: no costs are given, because the cost model does not fit (largest error {off})."
        )
    })
}

/// "10.0 MB/s [9.80–10.2]" of seconds for a byte.
pub(super) fn per_second(byte: Estimate) -> String {
    byte.reciprocal()
        .map_or("–".to_owned(), |rate| BANDWIDTH.with_ends(rate.value, rate.interval))
}

/// "27.7 ms [27.0–28.4]".
pub(super) fn seconds(cost: Estimate) -> String {
    TIME.with_ends(cost.value, cost.interval)
}
