//! What Kofler's tables show: home routers that send and route.

use super::common::{does_not_fit, end, percent};
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::BYTES;
use crate::text::{capital, listed};
use plimsoll_model::units::three_digits;
use plimsoll_published::kofler2011::{
    Confounded, Gain, Sender, confounded, contradictions, exact_gains, gains, senders, sends,
    typical_gain,
};
use plimsoll_references::Table;

pub(super) fn sections(tables: &[Table]) -> Vec<Section> {
    let mut answer = Section::new("answer", "");
    let gains = gains(tables);
    answer.table(with_and_without(&gains).table(), Layout::Words);
    let mut sentences: Vec<String> = senders(tables).iter().filter_map(blocks).collect();
    sentences.extend(different(&confounded(tables)));
    if gains.iter().any(|gain| gain.full_link.is_some()) {
        sentences
            .push("A gain that saturates the link would be larger on a faster link.".to_owned());
    }
    if !gains.is_empty() {
        sentences.push(
            "The comparison with and without netfilter is valid, because nothing else changed on the \
             platform."
                .to_owned(),
        );
    }
    sentences
        .extend(exact_gains(tables).zip(typical_gain(tables)).map(|((low, high), typical)| {
        let outside =
            if (low..=high).contains(&typical) { "" } else { ", which is outside this range" };
        format!(
            "The exact gains in the text are {low:.0} to {high:.0}%. Its conclusion says around \
             {typical:.0}%{outside}."
        )
    }));
    answer.list(sentences);
    let mut table = Columns::with_headings(["TCP sent", "of the link", "of STREAM copy"]);
    for sends in sends(tables) {
        let share = |share: Option<f64>| share.map_or("–".to_owned(), percent);
        let rate = megabits(sends.bits_per_second);
        table.row(sends.platform.clone(), [rate, share(sends.link), share(sends.copy)]);
    }
    let mut details = Section::details("sends", "Rates compared with link and memory");
    details.table(table.table(), Layout::Figures);
    details.text(
        "\"of STREAM copy\" is the share of the memory bandwidth that one copy of each byte takes. One \
         copy alone is not the bottleneck. CPU load was not published, so the bottleneck is unknown.",
    );
    vec![answer, end("kofler2011", &contradictions(tables), true), details]
}

fn megabits(bits: f64) -> String {
    format!("{} Mbit/s", three_digits(bits / 1e6))
}

fn with_and_without(gains: &[Gain]) -> Columns {
    let mut table = Columns::with_headings(["with netfilter", "without", "gain", ""]);
    for gain in gains {
        let [with, without] = gain.bits_per_second.map(megabits);
        let full = gain.full_link.map(|share| format!("{} of the link", percent(share)));
        let percent = format!("{:.0}%", gain.percent);
        table.row(capital(&gain.name), [with, without, percent, full.unwrap_or_default()]);
    }
    table
}

/// What a call and a byte cost on a platform, or why that is not known.
fn blocks(sender: &Sender) -> Option<String> {
    let model = sender.model.as_ref()?;
    let sizes: Vec<String> = sender.points.iter().map(|(bytes, _)| BYTES.value(*bytes)).collect();
    let (platform, sizes) = (&sender.platform, listed(&sizes));
    let series = format!("{platform} over TCP with block sizes {sizes}");
    match model.is_tested() {
        false => Some(format!(
            "{series}: no costs are given, because two times determine both costs of the model and leave \
                 no time to test it."
        )),
        true => does_not_fit(&series, model),
    }
}

/// Platforms that differ in more than one thing.
fn different(confounded: &[Confounded]) -> Option<String> {
    let pairs: Vec<String> = confounded
        .iter()
        .map(|two| {
            format!(
                "{} and {} ({} of {} properties)",
                two.platforms[0],
                two.platforms[1],
                two.differ.len(),
                two.of
            )
        })
        .collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "Comparisons of platforms are confounded, because several properties differ at once: {}. These \
             tables do not show which property makes a platform faster.",
            listed(&pairs)
        )
    })
}
