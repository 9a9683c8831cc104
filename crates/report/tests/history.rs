//! Screens of histories and gates: they fit, and say what is known of the studies.

mod support;

use plimsoll_explain::whatif::{CheckedPrediction, LinkEnd, LinkRate, Place, Score, WhatIf};
use plimsoll_explain::{Recognised, gate, history, recognise};
use plimsoll_model::{
    Cell, Figure, Gate, KeptPrediction, Measure, PastStudy, Pattern, PredictedRow, Study, StudyId,
};
use plimsoll_report::{Document, Style, history_bottlenecks};
use std::collections::BTreeMap;
use support::{plain, rate};

const FILMS: &str = "nfs://nas.example.org/volume1/films";
const TERMINAL: Style = Style { width: 80, colour: false };
const SEED: u64 = 1;

fn studies(count: u32, patterns: &[Pattern], level: impl Fn(u32) -> f64) -> Vec<Study> {
    let study = |number: u32| {
        let mut study = plain::empty(&[FILMS], patterns);
        let wobble = 1.0 + 0.01 * (f64::from(number * 37 % 11) - 5.0) / 5.0;
        plain::add_blocks(&mut study, 3, 0.01, |target, pattern| {
            level(number) * wobble * rate(target, pattern)
        });
        study.id = StudyId(format!("{number:08x}"));
        study.started_unix_seconds += 86_400 * u64::from(number);
        study
    };
    (0..count).map(study).collect()
}

fn document(studies: &[Study]) -> Document {
    with_predictions(studies, &[])
}

fn with_predictions(studies: &[Study], predicted: &[CheckedPrediction]) -> Document {
    let pasts: Vec<PastStudy> = studies.iter().map(PastStudy::new).collect();
    let recognised = recognise(studies, &|key| key.given == FILMS);
    let found = history(&pasts, &recognised.places, SEED);
    let bottleneck = |study: &Study| Some((study.id.clone(), history_bottlenecks(&found, study)?));
    let bottlenecks: BTreeMap<StudyId, String> =
        studies.iter().rev().take(3).filter_map(bottleneck).collect();
    Document::of_history(FILMS, &found, &recognised, predicted, &bottlenecks)
}

#[track_caller]
fn assert_fits(screen: &str) {
    let columns = screen.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(screen.lines().count() <= 23 && columns <= 80, "{columns} columns:\n{screen}");
}

#[test]
fn a_long_history_fits_one_screen() {
    let mut all = studies(60, &Pattern::USUAL, |number| if number < 45 { 1.0 } else { 0.8 });
    for (number, study) in all.iter_mut().enumerate() {
        study.hosts[0].kernel = format!("6.{}", number / 15);
        study.hosts[0].memory_bytes = [8, 16][number / 57] << 30;
    }
    let document = document(&all);
    let screen = document.screen(&TERMINAL);
    assert_fits(&screen);
    for word in ["60 studies from 2025-10-09 to 2025-12-07", "Since study 0000002d", "20% slower"] {
        assert!(screen.contains(word), "{word}:\n{screen}");
    }
    assert!(screen.contains("kernel of local: 6.2, then 6.3"), "{screen}");
    assert!(screen.contains("0000003b"), "the latest study:\n{screen}");
    let text = document.text(&TERMINAL);
    assert!(text.contains("00000000") && text.contains("Method"), "{text}");
    // Charts with a line for the change.
    let charts: Vec<(String, String)> = document.charts().collect();
    assert_eq!(charts.len(), Pattern::USUAL.len());
    for (name, svg) in charts {
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(svg.contains("20% slower"), "{name}");
    }
}

/// A prediction for the first rows of a study, each measured at this place beside its range.
fn predicted(study: &Study, change: WhatIf, places: &[Place]) -> CheckedPrediction {
    let cells = (0..2).map(|workload| Cell { workload, ..Cell::default() });
    let row = |cell: Cell| PredictedRow {
        cell,
        measure: Measure::THROUGHPUT,
        today: 112e6,
        low: 112e6,
        high: 294e6,
        is_bound: true,
    };
    let rows: Vec<PredictedRow> = cells.map(row).collect();
    let score = |(row, place): (&PredictedRow, &Place)| {
        let measured = match place {
            Place::Below => 99e6,
            Place::Inside => 280e6,
            Place::Above => 310e6,
        };
        Score { cell: row.cell, measured, place: *place }
    };
    let scores: Vec<Score> = rows.iter().zip(places).map(score).collect();
    let prediction = KeptPrediction {
        study: study.id.clone(),
        made_unix_seconds: study.started_unix_seconds,
        changes: vec![change],
        rows,
        measured: None,
    };
    let later = (!scores.is_empty()).then(|| StudyId("0000002f".into()));
    CheckedPrediction { prediction, later, scores }
}

#[test]
fn predictions_are_counted_on_the_screen_and_the_details_have_each_row() {
    let all = studies(60, &Pattern::USUAL, |number| if number < 45 { 1.0 } else { 0.8 });
    let link = || WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(2_500_000_000) };
    let faster = || WhatIf::Memory(2.0);
    let said = |checked: &[CheckedPrediction]| {
        let screen = with_predictions(&all, checked).screen(&TERMINAL);
        assert_fits(&screen);
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!said(&[]).contains("prediction"));
    let open = predicted(&all[50], faster(), &[]);
    let words = "1 prediction is kept: no study after the change is known.";
    assert!(said(std::slice::from_ref(&open)).contains(words));
    let scored = predicted(&all[40], link(), &[Place::Inside, Place::Below]);
    let words = "1 prediction: 1 of 2 rows are inside the predicted range; 1 is below it.";
    assert!(said(std::slice::from_ref(&scored)).contains(words));
    let above = predicted(&all[41], link(), &[Place::Above, Place::Above]);
    let three = [scored, above, open];
    let words = "3 predictions, of which 2 can be compared: 1 of 4 rows are inside the predicted range; 1 is below it; 2 \
                 are above it.";
    assert!(said(&three).contains(words), "{}", said(&three));
    let details = with_predictions(&all, &three).text(&Style { width: 120, colour: false });
    for words in
        ["a 2.5 Gbit/s link", "280 MB/s in 0000002f, inside", "99.0 MB/s in 0000002f, below"]
    {
        assert!(details.contains(words), "{words}:\n{details}");
    }
}

#[test]
fn one_study_and_none_are_histories_too() {
    let one = document(&studies(1, &[Pattern::RandomRead], |_| 1.0));
    assert!(one.markdown(None).contains("\n\n1 study on 2025-10-09\n"), "{}", one.markdown(None));
    assert!(one.html().contains(">1 study on 2025-10-09</p>"));
    let one = one.screen(&TERMINAL);
    assert_fits(&one);
    assert!(one.starts_with(&format!("{FILMS}: 1 study on 2025-10-09\n")), "{one}");
    assert!(one.contains("needs 12 studies"), "{one}");
    let found = history(&[], &[], SEED);
    let none = Document::of_history("x", &found, &Recognised::default(), &[], &BTreeMap::new());
    let none = none.screen(&TERMINAL);
    assert!(none.contains("No study of it has a figure."), "{none}");
}

/// Figures that others caused count as in the report of the study.
#[test]
fn a_level_is_that_of_the_report() {
    let mut study = studies(1, &[Pattern::RandomRead], |_| 1.0).remove(0);
    let disturbed = &mut study.trials[2].result;
    disturbed.flags.push(plimsoll_model::Flag::OtherLoad {
        host: plimsoll_model::HostName::Local,
        resource: plimsoll_model::HostResource::Cpu,
        per_second: 1.0,
    });
    disturbed.parts[0].quantities.values_mut().for_each(|value| *value *= 3.0);
    let past = PastStudy::new(&study);
    let (pasts, recognised) = ([past], recognise(&[study.clone()], &|_| true));
    let found = history(&pasts, &recognised.places, SEED);
    let level = found.series[0].levels[0].unwrap();
    let findings = plimsoll_explain::findings(&study);
    let shown = findings.workloads[0].cells[0].levels[&found.series[0].metric].estimate;
    assert!((level / shown - 1.0).abs() < 1e-12, "{level} {shown}");
    assert_eq!(Figure::of_trial(&study.plan, &study.trials[0]).len(), 2, "throughput and IOPS");
}

#[test]
fn a_gate_says_what_failed_and_what_chance_does() {
    let mut all = studies(9, &Pattern::USUAL[..2], |number| if number < 8 { 1.0 } else { 0.85 });
    let mut now = all.pop().unwrap();
    let conditions = ["read<-10%", "write<-20%"].map(|text| text.parse().unwrap());
    now.plan.gate = Some(Gate { baseline: Gate::LAST.into(), conditions: conditions.into() });
    let baseline: Vec<PastStudy> = all.iter().map(PastStudy::new).collect();
    let result = gate(&PastStudy::new(&now), &baseline).unwrap();
    assert!(result.has_failed());
    let screen = Document::of_gate(&now, &result, Some(&all[7].id)).screen(&TERMINAL);
    assert_fits(&screen);
    for word in [
        "Gate failed (exit code 7)",
        "10% lower",
        "20% lower",
        "failed",
        "passed",
        "Baseline: 8 studies up to 00000007.",
    ] {
        assert!(screen.contains(word), "{word}:\n{screen}");
    }
    // Too few studies fail nothing, however much slower it is.
    let few = gate(&PastStudy::new(&now), &baseline[..4]).unwrap();
    assert!(!few.has_failed());
    let screen = Document::of_gate(&now, &few, None).screen(&TERMINAL);
    assert!(screen.contains("spread unknown") && screen.contains("Gate passed"), "{screen}");
    // Other work is no baseline.
    let mut other = baseline.clone();
    other.iter_mut().for_each(|past| {
        past.study.plan.workloads.iter_mut().for_each(|workload| plain::job(workload).size.0 /= 2);
    });
    let apart = gate(&PastStudy::new(&now), &other).unwrap();
    assert!(apart.rows.iter().all(|row| row.studies == 0), "{apart:?}");
}
