//! The rows of published tables.

use super::words;
use super::{Outcome, Row, WhatIfReport};
use crate::device::amount;
use crate::figure::{BANDWIDTH, RATE};
use crate::text::{capital, listed};
use plimsoll_explain::whatif::WhatIf;
use plimsoll_published::whatif::{Answer, Missing, Predicted, Reason, predict};
use plimsoll_references::{Source, Table};
use serde_json::json;

impl WhatIfReport {
    /// What these changes together would bring to the rows of a source, as far as these tables say.
    pub fn of_source(source: &Source, tables: &[Table], changes: &[WhatIf]) -> WhatIfReport {
        let predicted = predict(source.key, tables, changes);
        let is_range =
            |one: &Predicted| matches!(one.answer, Answer::AtMost { .. } | Answer::Between { .. });
        let mut assumed = Vec::new();
        if predicted.iter().any(is_range) {
            assumed.push(
                "The ranges leave out the spread of the measurement: the published table has none."
                    .to_owned(),
            );
        }
        let is_silent = |one: &Predicted| matches!(one.answer, Answer::CannotSay(_));
        let has_link = changes.iter().any(|change| matches!(change, WhatIf::Link { .. }));
        if has_link && !predicted.iter().all(is_silent) {
            assumed.push(
                "Assumed: a packet takes the same CPU time on the new link. A USB adapter may need more."
                    .to_owned(),
            );
        }
        WhatIfReport {
            titles: [format!("Prediction for {}", source.key), format!("{}.", source.citation)],
            change: words::changes(changes),
            of: json!({ "source": source.key }),
            rows: predicted.iter().map(row).collect(),
            assumed,
            later: None,
            ranges: Vec::new(),
            kept: None,
        }
    }
}

fn row(one: &Predicted) -> Row {
    let (kind, unit, recorded_unit) = match one.is_bytes {
        true => (BANDWIDTH, "", "B/s"),
        false => (RATE, "op/s", "1/s"),
    };
    let mut next = Vec::new();
    let outcome = match &one.answer {
        Answer::Same(reason) => Outcome::Same(same(*reason)),
        Answer::Between { low, high } => {
            Outcome::Range { low: Some(*low), high: *high, unknown: Vec::new() }
        }
        Answer::AtMost { high, next: by, unmeasured } => {
            next.push((*by).to_owned());
            let names: Vec<String> = unmeasured.iter().map(|name| (*name).to_owned()).collect();
            let unknown = format!(
                "Not measured: {}. One of these may be saturated at a lower rate.",
                listed(&names)
            );
            let low = Some(one.today.min(*high));
            Outcome::Range { low, high: *high, unknown: vec![unknown] }
        }
        Answer::CannotSay(missing) => Outcome::CannotSay(cannot_say(*missing)),
    };
    Row {
        work: capital(&one.name),
        setup: None,
        kind,
        unit: unit.to_owned(),
        recorded_unit,
        today: one.today,
        outcome,
        next,
        settle: Vec::new(),
        measured: None,
    }
}

fn same(reason: Reason) -> String {
    match reason {
        Reason::SmallPart { operation, part } => {
            format!("the link takes less than {} of an operation's time", tenths(part / operation))
        }
        Reason::SmallShare(share) => {
            format!("the link takes less than {} of the time", tenths(share))
        }
        Reason::NotDisks(_) => {
            "the rate is several times that of the disks, so memory serves it".to_owned()
        }
        Reason::OtherEnd(rate) => {
            format!("the other end stays at {}", amount::link(rate as u64))
        }
        Reason::LinkIsFull(rate) => {
            format!("the link of {} is saturated", amount::link(rate as u64))
        }
    }
}

/// The next whole tenth, so that rows with about the same share have the same words: "10%".
fn tenths(share: f64) -> String {
    format!("{:.0}%", 10.0 * (10.0 * share).ceil())
}

fn cannot_say(missing: Missing) -> String {
    let words = match missing {
        Missing::Utilisation(resource) => {
            return format!("the source has no utilisation of {resource}");
        }
        Missing::RoundTrip => "the source has no share of the round trip in an operation's time",
        Missing::Memory => "the source does not say how much is read from memory",
        Missing::Concurrency => "the source has only one number of operations in flight",
        Missing::Costs => "no costs fit the published times",
        Missing::Confounded => {
            "the platforms differ in several things at once, so the comparison is confounded"
        }
    };
    words.to_owned()
}
