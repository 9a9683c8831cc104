//! Advice: changes that would help, and those that would not.

use super::study::{reason_of, row, with_options};
use super::{Outcome, named, outwards, words};
use crate::chart::Table;
use crate::document::{Document, Layout, Section};
use crate::study::limits::monitoring;
use crate::study::{Shown, head};
use crate::text::{capital, listed, printable};
use plimsoll_explain::whatif::{
    Advice, Cost, Gain, Proposal, Purpose, RULES, Suggestion, Useless, WhatIf, advise,
};
use plimsoll_model::{Cell, Study};

/// Changes of a table on a screen, of each cost.
const MOST: usize = 3;
/// Commands on a screen.
const COMMANDS: usize = 2;

impl Document {
    /// The changes that would help most, and those that would not, for a purpose or for all rows.
    pub fn advising(study: &Study, purpose: Option<Purpose>) -> Document {
        let shown = Shown::new(study);
        let advice = advise(study, purpose);
        let mut answer = Section::new("answer", "");
        answer.text(lead(&shown, &advice));
        let mut few: Vec<&Suggestion> = Vec::new();
        for cost in [Cost::Free, Cost::Cable, Cost::Box] {
            few.extend(advice.help.iter().filter(|one| one.cost == cost).take(MOST));
        }
        answer.table(table(&shown, &advice, &few), Layout::Facts);
        answer.list(no_help(&shown, &advice.useless, |change| {
            format!("{} would not help", capital(change))
        }));
        answer.list(no_help(&shown, &advice.unknown, |change| {
            format!("Whether {change} would help is not known")
        }));
        answer.asides([
            "Each change is predicted alone, from one study: the day-to-day spread is unknown."
                .to_owned(),
        ]);
        if let Some(options) = monitoring(&shown) {
            let line = with_options(&shown, 0, &format!(" {options}"));
            answer.command("For more advice", line, String::new());
        }
        let free = advice.help.iter().filter(|one| one.cost == Cost::Free);
        for one in free.take(COMMANDS) {
            answer.command("To try it", command(&shown, one), String::new());
        }
        let for_purpose = purpose.map_or(String::new(), |purpose| format!(" ({})", purpose.name()));
        let title = format!("Advice for {}{for_purpose}", listed(&shown.names.subjects));
        let sections = vec![answer, rules()];
        Document { title, subtitle: head::title(study), extent: String::new(), sections }
    }
}

/// The best of all changes in a sentence.
fn lead(shown: &Shown<'_>, advice: &Advice) -> String {
    let most = advice.best();
    let free = advice.help.iter().find(|one| one.cost == Cost::Free);
    let told = |one: &Suggestion| {
        // Names of settings are not capitalised.
        let kind = match one.proposal {
            Proposal::Setting { .. } => "the setting ",
            Proposal::Change(_) => "",
        };
        format!("{kind}{} may bring {}", proposal(&one.proposal), times(shown, one, advice.rows))
    };
    match (most, free) {
        _ if advice.rows == 0 => {
            "The study has no row of this kind with monitored resources, so there is no advice."
                .to_owned()
        }
        (None, _) => "No change that this study can predict would help by 5% or more.".to_owned(),
        (Some(most), Some(free)) if most != free => {
            format!("{}. First try what is free: {}.", capital(&told(most)), told(free))
        }
        (Some(most), _) => format!("{}.", capital(&told(most))),
    }
}

/// "up to 2.1 times as much for sequential read".
fn times(shown: &Shown<'_>, one: &Suggestion, all: usize) -> String {
    let high = one.gains.iter().map(|gain| gain.high).fold(0.0, f64::max);
    format!("up to {} times as much for {}", outwards(high, f64::ceil), rows(shown, one, all))
}

fn rows(shown: &Shown<'_>, one: &Suggestion, all: usize) -> String {
    let titles: Vec<String> = one.gains.iter().map(|gain| title(shown, gain.cell)).collect();
    named(&titles, all)
}

fn title(shown: &Shown<'_>, cell: Cell) -> String {
    let work = shown.names.workload(cell.workload);
    match shown.names.setups() {
        0 | 1 => work,
        _ => format!("{work} on {}", shown.names.setup(cell)),
    }
}

/// "nfsd-threads=64 on ssh://root@nas", "a 2.5 Gbit/s link".
fn proposal(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Change(change) => words::change(change),
        Proposal::Setting { host, setting, values } => {
            let value = values.rsplit(',').next().unwrap_or_default();
            format!(
                "{}={} on {}",
                printable(setting),
                printable(value),
                printable(&host.to_string())
            )
        }
    }
}

fn cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Free => "free",
        Cost::Cable => "cable, card",
        Cost::Box => "box",
    }
}

fn table(shown: &Shown<'_>, advice: &Advice, some: &[&Suggestion]) -> Table {
    let header = ["cost", "change", "times as much", "for"];
    let mut table = Table::new(header.map(str::to_owned).into());
    for one in some {
        let ends = |end: fn(&Gain) -> f64, join: fn(f64, f64) -> f64, first: f64| {
            one.gains.iter().map(end).fold(first, join)
        };
        let low = ends(|gain| gain.low.unwrap_or(0.0), f64::min, f64::INFINITY);
        let high = ends(|gain| gain.high, f64::max, 0.0);
        let range = format!("{}–{}", outwards(low, f64::floor), outwards(high, f64::ceil));
        table.rows.push(vec![
            cost(one.cost).to_owned(),
            proposal(&one.proposal),
            range,
            rows(shown, one, advice.rows),
        ]);
    }
    table
}

/// "A 2.5 Gbit/s link would not help: the disk is the bottleneck."
fn no_help(shown: &Shown<'_>, all: &[Useless], told: fn(&str) -> String) -> Vec<String> {
    let sentence = |one: &Useless| {
        let mut reasons: Vec<String> = Vec::new();
        for prediction in &one.predictions {
            let reason = match row(shown, prediction).outcome {
                Outcome::Same(reason) | Outcome::CannotSay(reason) => reason,
                Outcome::Range { .. } if matches!(one.change, WhatIf::Memory(_)) => {
                    "a study does not show how much of the data would stay in it".to_owned()
                }
                Outcome::Range { .. } => reason_of(shown, prediction),
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let more = if reasons.len() > 1 { " in most rows" } else { "" };
        let reason = reasons.into_iter().next().unwrap_or_default();
        format!("{}: {reason}{more}.", told(&words::change(&one.change)))
    };
    all.iter().map(sentence).collect()
}

/// The command that compares a free change with today.
fn command(shown: &Shown<'_>, one: &Suggestion) -> String {
    let subject = one.gains.first().map_or(0, |gain| gain.cell.subject);
    let options = match &one.proposal {
        Proposal::Setting { host, setting, values } => {
            format!(
                " --set {}/{}={}",
                printable(&host.to_string()),
                printable(setting),
                printable(values)
            )
        }
        Proposal::Change(WhatIf::Readers(count)) => format!(" --workers {count}"),
        Proposal::Change(_) => String::new(),
    };
    with_options(shown, subject, &options)
}

/// Every rule with the figure that it needs and its source.
fn rules() -> Section {
    let mut section = Section::details("rules", "Rules");
    section.text("A rule fires only if the study has its figure.");
    let header = ["cost", "figure of the study", "source"];
    let mut table = Table::new(header.map(str::to_owned).into());
    let row = |rule: &plimsoll_explain::whatif::Rule| {
        vec![cost(rule.cost).to_owned(), rule.needs.to_owned(), rule.source.to_owned()]
    };
    table.rows.extend(RULES.iter().map(row));
    section.table(table, Layout::Facts);
    section
}
