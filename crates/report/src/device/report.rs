//! The report of one host: what it is and its main figures first, then part by part.

use super::host::measure;
use super::section::{self, footnote, heading};
use super::{Host, flagged, repeated, sections, subtitle, title};
use crate::columns::Columns;
use crate::document::{Document, Layout, Section};
use crate::study::head;
use crate::text::{listed, printable, shortened, width};
use plimsoll_model::HostName;
use plimsoll_model::device::{Measured, Part};

/// Figures of each part on the first screen.
const MOST: usize = 2;
/// Facts beside figures, and without them.
const FACTS: usize = 6;
const MOST_FACTS: usize = 16;
/// Columns of a fact: one line.
const LONGEST: usize = 62;

/// The report of a study of one host.
pub(crate) fn document(host: &Host<'_>) -> Document {
    let mut found = sections(host);
    let failures = take_failures(&mut found);
    let id = printable(&host.study.id.0);
    let mut answer = Section::new("answer", "");
    answer.warnings(head::ending(host.study));
    answer.facts(what_it_is(host));
    let figures = main_figures(host);
    answer.table(figures.table(), Layout::Figures);
    answer.texts(footnote(&figures));
    answer.texts(repeated(host));
    host.study.flags.iter().for_each(|flag| answer.warning(flagged(flag)));
    let warnings = found.iter().flat_map(|section| &section.warnings);
    warnings.for_each(|warning| answer.warning(warning));
    failures.into_iter().for_each(|failure| answer.warning(failure));
    crate::sections::more(&mut answer, &id);
    let mut all = vec![answer];
    all.extend(found.iter().map(|s| s.reported(s.id.to_owned(), s.heading.to_owned())));
    let mut section = Section::details("method", "Method");
    section.list(method(host));
    section.command("To repeat it", printable(&host.study.plan.command), String::new());
    all.push(section);
    Document {
        title: match host.name() {
            Some(HostName::Local) => "Device: this machine".to_owned(),
            _ => format!("Device: {}", host.given()),
        },
        subtitle: title(host.study),
        extent: String::new(),
        sections: all,
    }
}

/// What could not be measured, each failure once with the parts that it is of; their sections do not repeat it.
fn take_failures(found: &mut [section::Section]) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for section in found {
        let heading = section.heading.to_owned();
        let own = std::mem::take(&mut section.failures);
        if !own.is_empty() && section.is_empty() {
            section.remarks.push("Not measured: see the warnings at the top.".to_owned());
        }
        for failure in own {
            match all.iter_mut().find(|(known, _)| *known == failure) {
                Some((_, parts)) if parts.contains(&heading) => {}
                Some((_, parts)) => parts.push(heading.clone()),
                None => all.push((failure, vec![heading.clone()])),
            }
        }
    }
    all.into_iter().map(|(failure, parts)| format!("{}: {failure}", listed(&parts))).collect()
}

/// The first facts of the inventory; more of them where there are no figures.
fn what_it_is(host: &Host<'_>) -> Vec<(String, String)> {
    let mut facts = super::inventory::section(host).facts;
    if facts.is_empty() {
        return vec![(host.given(), subtitle(host.facts))];
    }
    facts.truncate(if host.measured.is_empty() { MOST_FACTS } else { FACTS });
    facts.into_iter().map(|(name, value)| (name, in_one_line(&value))).collect()
}

/// The first parts of a list that fit in a line; both ends of a part that is longer.
fn in_one_line(text: &str) -> String {
    const CUT: &str = ", ..";
    if width(text) <= LONGEST {
        return text.to_owned();
    }
    let ends = text.match_indices([',', ';']).map(|(at, _)| at);
    let heads = ends.filter(|at| text[at + 1..].starts_with(' ')).map(|at| &text[..at]);
    match heads.take_while(|head| width(head) + CUT.len() <= LONGEST).last() {
        Some(head) => format!("{head}{CUT}"),
        None => shortened(text, LONGEST),
    }
}

/// A figure without a unit in its name, and the same with it.
const ROUNDS: &str = "integer rounds";
const ROUNDS_PER_SECOND: &str = "integer rounds/s";

/// The figures of each part that verdicts would be about, and a few more.
fn main_figures(host: &Host<'_>) -> Columns {
    let mut table = Columns::with_headings(["main figures", "value"]);
    for part in Part::ALL {
        let headline = host.study.plan.workloads.iter().filter_map(|workload| workload.main());
        let mut headline = headline.filter(|main| main.job.device_part() == Some(part));
        let headline = headline.next().map(|main| main.job.headline().measure);
        let mut figures: Vec<&Measured> = host.measured.iter().filter(|m| m.part == part).collect();
        figures.sort_by_key(|figure| measure(figure) != headline);
        for (i, figure) in figures.into_iter().take(MOST).enumerate() {
            let name = if i == 0 { heading(part) } else { "" };
            let what = printable(&figure.figure).replacen(ROUNDS, ROUNDS_PER_SECOND, 1);
            table.row(name, [what, host.shown_figure(figure)]);
        }
    }
    table
}

fn method(host: &Host<'_>) -> Vec<String> {
    let once = || "Measured once, so the figures have no intervals.".to_owned();
    let mut sentences =
        vec![repeated(host).unwrap_or_else(once), "Unknown facts are left out.".to_owned()];
    if host.is_quick() {
        sentences.push("Short measurements were requested.".to_owned());
    }
    for record in &host.parts {
        let part = record.part;
        sentences.push(match record.complete {
            true => format!("The part {part} took {:.1} s.", record.seconds),
            false => format!("The part {part} is not complete; it took {:.1} s.", record.seconds),
        });
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::in_one_line;

    #[test]
    fn a_list_is_cut_between_its_parts() {
        let short = "L1d 32 KiB; L1i 32 KiB; L2 512 KiB, lines of 64 B";
        assert_eq!(in_one_line(short), short);
        assert_eq!(
            in_one_line("Intel(R) Xeon(R) Processor @ 2.50GHz, 2 cores, instructions for AES"),
            "Intel(R) Xeon(R) Processor @ 2.50GHz, 2 cores, .."
        );
        let path = format!("/{}/end", "long,".repeat(20));
        let cut = in_one_line(&path);
        assert!(cut.starts_with("/long,") && cut.ends_with("/end") && cut.len() == 62, "{cut}");
    }
}
