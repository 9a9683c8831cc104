//! Published tables: what there is, their rows, and what they say. A file for each source.

mod comparison;
mod jonfk2024;
mod kofler2011;
mod list;
mod patterns;
mod puskas2017;
mod rtems2012;

use crate::document::{Document, Section};
use crate::figure::{BANDWIDTH, TIME};
use crate::text::capital;
use plimsoll_model::units::three_digits;
use plimsoll_published::{Contradiction, Impossible, Model};
use plimsoll_references::{Source, Table};
use plimsoll_stats::fit::Estimate;

impl Document {
    /// What the tables of a source say, as far as these tables have its figures.
    pub fn of_source(source: &Source, tables: &[Table]) -> Document {
        let sections = match source.key {
            "jonfk2024" => jonfk2024::sections(tables),
            "kofler2011" => kofler2011::sections(tables),
            "puskas2017" => puskas2017::sections(tables),
            "rtems2012" => rtems2012::sections(tables),
            _ => Vec::new(),
        };
        let (title, none) = (format!("Explanation of {}", source.key), String::new());
        let mut all = vec![cited(source)];
        all.extend(sections);
        Document { title, subtitle: none.clone(), extent: none, sections: all }
    }
}

/// Who published it.
fn cited(source: &Source) -> Section {
    let mut section = Section::new("source", "");
    section.text(format!("{}.", source.citation));
    section
}

/// After what a source shows: figures that cannot be, and what to type next.
fn end(key: &str, contradictions: &[Contradiction], details: bool) -> Section {
    let mut end = Section::new("end", "");
    contradictions.iter().for_each(|found| end.warning(contradiction(found)));
    if details {
        end.command("More", format!("plimsoll explain {key} --details"), String::new());
    }
    end.command("Rows of the tables", format!("plimsoll references show {key}"), String::new());
    end
}

/// "87%", "5.6%".
fn percent(share: f64) -> String {
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
fn does_not_fit(of: &str, model: &Model) -> Option<String> {
    let off = percent(model.largest_error());
    (!model.fits()).then(|| {
        format!(
            "{of}: no costs are given, because the cost model does not fit (largest error {off})."
        )
    })
}

/// "10.0 MB/s [9.80–10.2]" of seconds for a byte.
fn per_second(byte: Estimate) -> String {
    byte.reciprocal()
        .map_or("–".to_owned(), |rate| BANDWIDTH.with_ends(rate.value, rate.interval))
}

/// "27.7 ms [27.0–28.4]".
fn seconds(cost: Estimate) -> String {
    TIME.with_ends(cost.value, cost.interval)
}
