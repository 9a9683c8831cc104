//! Parts of a router's path, two by two: what each costs with and without the others, and combinations that were not
//! measured.

use super::answer::parts::{interval_of, named, value_of};
use crate::chart::Table;
use crate::document::{Layout, Section};
use crate::study::Shown;
use crate::text::listed;
use crate::verdict::percent;
use plimsoll_explain::{Interaction, InteractionVerdict};

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("parts", "Parts of the path, two by two");
    let all = || shown.part_costs.iter().flat_map(|costs| &costs.interactions);
    if all().next().is_none() {
        return section;
    }
    section.text(
        "A part with settings of its own was switched off alone as well. The interaction is what it costs with the other \
         parts less what it costs without them: if that is 0, the costs add up. CPU time a packet in µs.",
    );
    let header = ["part", "others", "with\nothers", "without\nothers", "inter-\naction", "verdict"];
    let mut table = Table::new(header.map(str::to_owned).to_vec());
    table.rows.extend(all().map(row));
    section.table(table, Layout::Words);
    let predicted: Vec<Vec<String>> = all().flat_map(predictions).collect();
    if !predicted.is_empty() {
        section.text(
            "Combinations that were not measured: the cost without the other parts, less the cost of the part. That is \
             between both of its costs above, in proportion to the cost of the others that are left. The interval allows both.",
        );
        let mut table = Table::new(["off", "predicted"].map(str::to_owned).to_vec());
        table.rows = predicted;
        section.table(table, Layout::Words);
    }
    section
}

fn row(found: &Interaction) -> Vec<String> {
    let others: Vec<String> = found.others.iter().map(ToString::to_string).collect();
    vec![
        found.part.to_string(),
        others.join(", "),
        value_of(&found.with_others),
        value_of(&found.without_others),
        value_of(&found.interaction),
        match found.verdict {
            InteractionVerdict::Depends { is_much: true } => "more than 15% of both".to_owned(),
            InteractionVerdict::Depends { is_much: false } => "depends, by little".to_owned(),
            InteractionVerdict::NoneShown => "no interaction shown".to_owned(),
            InteractionVerdict::TooFewBlocks => "too few blocks".to_owned(),
            InteractionVerdict::Lost { share } => format!("{} lost", percent(share)),
        },
    ]
}

fn predictions(found: &Interaction) -> Vec<Vec<String>> {
    let one = |predicted: &plimsoll_explain::Predicted| {
        let off: Vec<String> = predicted.off.iter().map(ToString::to_string).collect();
        Some(vec![off.join(", "), interval_of(predicted.seconds?, predicted.interval)])
    };
    found.predicted.iter().filter_map(one).collect()
}

/// "The queueing discipline costs 2.5 µs a packet with rules and connection tracking and 1.5 µs without them (difference
/// [0.8–1.2]), so the costs of these parts do not add up (out 128)."; where that is much.
pub(super) fn sentence(found: &Interaction, load: &str) -> Option<String> {
    if found.verdict != (InteractionVerdict::Depends { is_much: true }) {
        return None;
    }
    let others: Vec<String> = found.others.iter().map(|part| named(*part).to_owned()).collect();
    let [with, without] = [&found.with_others, &found.without_others].map(|one| one.seconds);
    let interval = found.interaction.interval?;
    let digits = super::answer::parts::digits(interval.high - interval.low);
    let us = |seconds: f64| super::answer::parts::microseconds(seconds, digits);
    Some(format!(
        "Costs do not add up: {} costs {} µs a packet with {} and {} µs without, a difference of {} µs [{}–{}] ({load}).",
        named(found.part),
        us(with?),
        listed(&others),
        us(without?),
        us(interval.estimate),
        us(interval.low),
        us(interval.high)
    ))
}
