//! Nothing that comes from outside steers what it is shown on: hostile text in every field of a
//! record, in every form that a record leaves the program in.

use crate::support::{self, TWO, measured, plain};
use crate::{any_study, imports};
use plimsoll_explain::whatif::{LinkEnd, LinkRate, ProcessorSpeed, Processors, WhatIf};
use plimsoll_model::{HostName, Study, StudyId};
use plimsoll_record::{StudySummary, SubjectSummary};
use plimsoll_references::SOURCES;
use plimsoll_report::{Document, Style, WhatIfReport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;

const NARROW: Style = Style { width: 80, colour: false };
const DEVICE: &str = include_str!("../../../record/tests/golden/device-router.json");
const SHELL: &str = include_str!("../../../record/tests/golden/device-shell.json");

/// Begins what passes for a line of its own where a line break gets through.
const HOSTILE: &str = "=\u{1b}[33mx\u{1b}[0m\u{9b}2J\u{7f}\0\r\u{85}\u{ad}\u{61c}\u{180e}\u{200b}\
    \u{200d}\u{200e}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}\nFAKE";

/// The record with hostile text wherever it takes text: strings of one kind, known by their path,
/// are replaced together, and names are added to its maps, as far as it can be read afterwards.
fn poisoned<T: Serialize + DeserializeOwned>(record: &T) -> (T, usize) {
    fn leaves(value: &Value, path: String, found: &mut BTreeSet<String>) {
        match value {
            Value::String(_) => drop(found.insert(path)),
            Value::Array(all) => all.iter().for_each(|v| leaves(v, format!("{path}/*"), found)),
            Value::Object(all) => {
                found.insert(format!("{path}/+"));
                all.iter().for_each(|(k, v)| leaves(v, format!("{path}/{k}"), found));
            }
            _ => {}
        }
    }
    fn poison(value: &mut Value, path: &str) {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match value {
            Value::String(text) if path.is_empty() => *text = HOSTILE.into(),
            Value::Array(all) if first == "*" => all.iter_mut().for_each(|v| poison(v, rest)),
            Value::Object(all) if first == "+" => {
                let copied = all.values().next().cloned();
                all.extend(copied.map(|v| (HOSTILE.to_owned(), v)));
            }
            Value::Object(all) => all.get_mut(first).into_iter().for_each(|v| poison(v, rest)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(record).unwrap();
    let mut paths = BTreeSet::new();
    leaves(&value, String::new(), &mut paths);
    let mut taken = 0;
    for path in paths {
        let mut other = value.clone();
        poison(&mut other, path.trim_start_matches('/'));
        if let Ok(read) = T::deserialize(&other) {
            let read = serde_json::to_value(read).unwrap();
            taken += usize::from(read != value);
            value = read;
        }
    }
    (T::deserialize(&value).unwrap(), taken)
}

fn assert_harmless(what: &str, text: &str) {
    let steers = |c: &char| plimsoll_model::printable(&c.to_string()) != c.to_string();
    let through: Vec<char> = text.chars().filter(|c| *c != '\n' && steers(c)).collect();
    assert!(through.is_empty(), "{what}: {through:?} in\n{text}");
    for (at, _) in text.match_indices("FAKE") {
        let before = text[..at].chars().next_back();
        assert!(before.is_some_and(|c| !c.is_whitespace()), "{what}:\n{}", &text[at - 200..at + 4]);
    }
}

fn csv_is_harmless(what: &str, text: &str) {
    assert_harmless(what, &text.replace("\r\n", "\n"));
    let mut cells = csv::Reader::from_reader(text.as_bytes());
    for row in cells.records().map(Result::unwrap) {
        for cell in row.iter().filter(|cell| cell.parse::<f64>().is_err()) {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{what}: {cell}");
        }
    }
}

/// The export is the study, and what is known of its measures.
fn means_the_same(json: &str, study: &Study) {
    let mut read = serde_json::from_str::<Study>(json).unwrap();
    let noted = std::mem::replace(&mut read.measures, study.measures.clone());
    assert_eq!(&read, study, "and it means the same");
    assert!(noted.iter().all(|info| study.info(info.measure).is_none_or(|known| known == *info)));
}

/// A study beside what each source published.
fn source_comparisons(study: &Study) -> impl Iterator<Item = Document> {
    SOURCES.iter().map(|source| Document::compared_with_source(study, source))
}

/// What a faster link and faster processors would bring to a study, and advice from it.
fn predicted(study: &Study) -> [Document; 2] {
    let link = WhatIf::Link { end: LinkEnd::Path, to: LinkRate::Times(2.5) };
    let speed = ProcessorSpeed::times(2.0);
    let faster = WhatIf::Processor { of: Processors::All, speed };
    let report = WhatIfReport::new(study, &[link, faster], Some(study));
    assert_harmless("a prediction as JSON", &report.json());
    [report.document(), Document::advising(study, None)]
}

fn assert_harmless_in_every_form(paper: &Document) {
    assert_harmless("the terminal", &paper.text(&NARROW));
    assert_harmless("HTML", &paper.html());
    assert_harmless("Markdown", &paper.markdown(Some("charts")));
    paper.charts().for_each(|(name, svg)| assert_harmless(&name, &svg));
}

fn assert_harmless_exports(study: &Study) {
    csv_is_harmless("CSV", &plimsoll_record::to_csv(study).unwrap());
    let json = plimsoll_record::to_json(study).unwrap();
    assert_harmless("JSON", &json);
    means_the_same(&json, study);
}

/// Whatever the field, whatever the form.
#[test]
fn no_text_of_any_field_steers_a_terminal_or_a_spreadsheet() {
    let mut rich = measured(&TWO, 2);
    support::watch(&mut rich, "ssh://jane@nas");
    rich.flags.extend(any_study::any::flags::golden(0.5, 7, "x"));
    rich.flags.extend(any_study::any::flags::of_hosts(0.5, &HostName::Local, "x"));
    rich.flags.extend(any_study::any::flags::since(0.5, 7, "x"));
    rich.trials[1].result.flags = any_study::any::flags::golden(0.5, 7, "x");
    plain::fail(&mut rich.trials[0]);
    let of_fio = imports::study(&TWO, &imports::PUBLISHED);
    let colour = Style { colour: true, ..NARROW };
    for (study, least) in [(&rich, 32), (&of_fio, 15)] {
        let (bad, taken) = poisoned(study);
        assert!(taken >= least, "only {taken} kinds of field were replaced");
        let texts = |style: &Style| {
            [
                crate::written::study(&bad, style),
                crate::written::compare(&bad, study, style),
                crate::written::compare(study, &bad, style),
            ]
        };
        for text in texts(&NARROW) {
            assert_harmless("the terminal", &text);
        }
        for text in texts(&colour) {
            let lines: Vec<&str> = text.lines().collect();
            let own = |l: &&str| l.starts_with('\u{1b}') && l.ends_with("\u{1b}[0m");
            assert!(lines.iter().all(|l| l.matches('\u{1b}').count() == 2 * usize::from(own(l))));
            assert_harmless("a picture", &plimsoll_report::picture(&text));
        }
        let papers =
            [Document::of_study(&bad), Document::of_studies(&[study.clone(), bad.clone()])];
        for paper in papers.into_iter().chain(source_comparisons(&bad)).chain(predicted(&bad)) {
            assert_harmless_in_every_form(&paper);
        }
        assert_harmless_exports(&bad);
        let name = || HOSTILE.to_owned();
        let summary = StudySummary {
            id: StudyId(name()),
            started_unix_seconds: 1,
            subjects: vec![SubjectSummary { given: name(), kind: None, model: Some(name()) }],
            jobs: Vec::new(),
            blocks: 1,
            complete: 1,
            incomplete: 1,
            ended: bad.ended.clone(),
            origin: plimsoll_model::Origin::Imported { tool: name() },
        };
        assert_harmless("the list", &plimsoll_report::list(&[summary], &NARROW));
    }
    for text in [DEVICE, SHELL] {
        let study = plimsoll_record::from_json(text).unwrap();
        let (bad, taken) = poisoned(&study);
        assert!(taken >= 20, "only {taken} kinds of field were replaced");
        for (a, b) in [(&bad, &study), (&study, &bad)] {
            assert_harmless("two studies", &crate::written::compare(a, b, &NARROW));
        }
        for paper in source_comparisons(&bad).chain([Document::of_study(&bad)]) {
            assert_harmless_in_every_form(&paper);
        }
        assert_harmless_exports(&bad);
    }
}
