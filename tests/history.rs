//! `plimsoll history`: studies of one subject over time, and what it says of subjects that it cannot find; exports for
//! other programs. Studies are synthetic, with known changes.

#[path = "../crates/report/tests/support/mod.rs"]
mod studies;
mod support;

use plimsoll_model::{Gate, Pattern, Study, StudyId, SubjectFacts};
use plimsoll_record::Store;
use std::time::Instant;
use studies::{TWO, measured, plain};
use support::{Plimsoll, unwrapped};

const FILMS: &str = "nfs://nas/films";
const DAY: u64 = 86_400;

/// A study of one target on a day, at `level` of its usual rates, with a spread of 1% from day to day.
fn study(number: u32, target: &str, level: f64) -> Study {
    let mut study = plain::empty(&[target], &[Pattern::SequentialRead, Pattern::RandomRead]);
    // Looks random, and is the same every time.
    let wobble = 1.0 + 0.01 * (f64::from(number * 37 % 11) - 5.0) / 5.0;
    plain::add_blocks(&mut study, 3, 0.01, |target, pattern| {
        level * wobble * studies::rate(target, pattern)
    });
    study.id = StudyId(format!("{number:08x}"));
    study.started_unix_seconds += DAY * u64::from(number);
    study
}

fn series(count: u32, level: impl Fn(u32) -> f64) -> Vec<Study> {
    (0..count).map(|number| study(number, FILMS, level(number))).collect()
}

fn kept(studies: &[Study]) -> Plimsoll {
    let program = Plimsoll::new();
    Store::open(program.db()).unwrap().import(studies).unwrap();
    program
}

#[test]
fn a_step_is_found_with_the_change_that_was_recorded_there() {
    let mut studies = series(16, |number| if number < 9 { 1.0 } else { 0.9 });
    for study in &mut studies[9..] {
        study.hosts[0].kernel = "6.6.4".into();
    }
    let program = kept(&studies);
    let screen = program.run(&["history", FILMS]).expect(0).out;
    let said = unwrapped(&screen);
    assert!(said.starts_with(&format!("{FILMS}: 16 studies from ")), "{screen}");
    assert!(said.contains("Since study 00000009 of "), "{screen}");
    assert!(said.contains("sequential read 10% slower (11"), "{screen}");
    assert!(said.contains("Recorded there: kernel of local: 6.1.0, then 6.6.4."), "{screen}");
    assert!(said.contains("(1) Recorded change: kernel of local"), "{screen}");
    assert_eq!(screen.matches('↓').count(), 2, "{screen}");
    assert!(screen.lines().count() <= 24, "{screen}");
    // The start of the address is enough, a slash at its end does not matter, and the details have every study.
    for asked in ["nfs://na", "nfs://nas/films/"] {
        assert!(program.run(&["history", asked]).expect(0).out.contains("16 studies"));
    }
    let details = program.run(&["history", FILMS, "--details"]).expect(0).out;
    for word in ["00000000", "Recorded changes", "E-divisive", "10% slower"] {
        assert!(details.contains(word), "{word} in\n{details}");
    }
    let page = program.run(&["history", FILMS, "--format=html", "-o-"]).expect(0).out;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg"));
}

#[test]
fn a_series_without_a_step_has_none_and_a_short_one_is_not_searched() {
    let steady = kept(&series(16, |_| 1.0)).run(&["history", FILMS]).expect(0).out;
    assert!(steady.contains("No change of level was found in 16 studies."), "{steady}");
    assert!(!steady.contains("Since study"), "{steady}");
    let mut studies = series(11, |number| if number < 6 { 1.0 } else { 0.5 });
    for study in &mut studies[6..] {
        study.hosts[0].link_rates = [("eth0".to_owned(), 100_000_000)].into();
    }
    for study in &mut studies[..6] {
        study.hosts[0].link_rates = [("eth0".to_owned(), 1_000_000_000)].into();
    }
    let short = kept(&studies).run(&["history", FILMS]).expect(0).out;
    let said = unwrapped(&short);
    assert!(said.contains("needs 12 studies of equal work; there are 11."), "{short}");
    assert!(said.contains("link eth0 of local: 1000 Mbit/s, then 100 Mbit/s"), "{short}");
    assert!(!said.contains("Since study"), "{short}");
}

/// A study without a figure is a gap, other work is another series, and neither is a change.
#[test]
fn only_equal_work_is_one_series() {
    let mut studies = series(14, |number| if number < 7 { 2.0 } else { 1.0 });
    for study in &mut studies[..7] {
        for workload in &mut study.plan.workloads {
            plain::job(workload).size.0 /= 2;
        }
    }
    studies[9].trials.retain(|trial| trial.cell.workload == 0);
    studies[10].trials.clear();
    let program = kept(&studies);
    let screen = program.run(&["history", FILMS]).expect(0).out;
    let said = unwrapped(&screen);
    assert!(said.contains("needs 12 studies of equal work; there are 6"), "{screen}");
    assert!(said.contains("2 series of work that the latest study does not have"), "{screen}");
    let row = |id: &str| screen.lines().find(|line| line.contains(id)).unwrap().to_owned();
    assert_eq!(row("00000009").matches('–').count(), 1, "{screen}");
    assert_eq!(row("0000000a").matches('–').count(), 3, "figures and bottleneck:\n{screen}");
    assert!(!screen.contains('↓') && !screen.contains('↑'), "{screen}");
}

#[test]
fn names_and_identities_join_addresses_and_conflicts_are_shown() {
    let identity = |study: &mut Study, identity: &str| match &mut study.subjects[0] {
        SubjectFacts::Storage(facts) => facts.identity = Some(identity.to_owned()),
        other => panic!("{other:?}"),
    };
    let mut studies = [study(0, "smb://nas/films", 1.0), study(1, "smb://192.0.2.7/films", 1.0)];
    studies.iter_mut().for_each(|study| identity(study, "SMB 0f films"));
    let joined = kept(&studies).run(&["history", "smb://nas/films"]).expect(0).out;
    assert!(joined.contains("2 studies"), "{joined}");
    // Another server at the address.
    let mut replaced = [study(0, "smb://nas/films", 1.0), study(1, "smb://nas/films", 1.0)];
    identity(&mut replaced[0], "SMB 0f films");
    identity(&mut replaced[1], "SMB 1e films");
    let said = unwrapped(&kept(&replaced).run(&["history", "smb://nas/films"]).expect(0).out);
    assert!(said.contains("2 studies"), "{said}");
    assert!(said.contains("The address smb://nas/films stands for two subjects"), "{said}");
    assert!(said.contains("SMB 0f films") && said.contains("SMB 1e films"), "{said}");
    // One name for two directories, and two names for one.
    let mut named = [study(0, "/mnt/a", 1.0), study(1, "/mnt/b", 1.0), study(2, "/mnt/b", 1.0)];
    for (study, name) in named.iter_mut().zip(["films", "films", "other"]) {
        study.plan.names = vec![name.to_owned()];
    }
    let program = kept(&named);
    let said = unwrapped(&program.run(&["history", "--as", "films"]).expect(0).out);
    assert!(said.contains("2 studies") && said.contains("The name 'films' stands for"), "{said}");
    assert!(said.contains("/mnt/a") && said.contains("/mnt/b"), "{said}");
    assert!(program.run(&["history", "--as=other"]).expect(0).out.contains("1 study"));
}

#[test]
fn a_subject_that_is_not_there_is_refused_with_the_nearest() {
    let empty = Plimsoll::new().run(&["history", FILMS]).expect(2).err;
    assert!(empty.contains("the store is empty") && empty.contains("plimsoll check"), "{empty}");
    let targets = ["nfs://nas/films", "nfs://nas/music", "/srv/data"];
    let studies: Vec<Study> =
        (0..).zip(targets).map(|(number, target)| study(number, target, 1.0)).collect();
    let program = kept(&studies);
    let typo = unwrapped(&program.run(&["history", "nfs://nas/film"]).expect(0).out);
    assert!(typo.contains("1 study"), "the start of one address alone: {typo}");
    let typo = program.run(&["history", "nfs://nsa/films"]).expect(2).err;
    assert!(typo.contains("no study has this subject"), "{typo}");
    assert!(typo.contains("Did you mean nfs://nas/films?"), "{typo}");
    assert!(typo.contains("/srv/data"), "{typo}");
    let several = program.run(&["history", "nfs://nas/"]).expect(2).err;
    assert!(several.contains("several subjects begin with it"), "{several}");
    assert!(several.contains("nfs://nas/films, nfs://nas/music"), "{several}");
    let name = program.run(&["history", "--as", "nas"]).expect(2).err;
    assert!(name.contains("No study has a name."), "{name}");
    program.run(&["history"]).expect(2);
    program.run(&["history", FILMS, "--as", "nas"]).expect(2);
    let steering = program.run(&["history", "\u{1b}[2J"]).expect(2).err;
    assert!(!steering.contains('\u{1b}'), "{steering:?}");
}

/// A line of OpenMetrics text that is a sample: its name, its labels, its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads OpenMetrics 1.0 text as strictly as the part of its grammar is that gauges need (section "ABNF" of the
/// specification): families in one piece, TYPE, UNIT and HELP before the samples, `# EOF` at the end.
fn parse_openmetrics(text: &str) -> Vec<Sample> {
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == ':')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    let (mut samples, mut ended): (Vec<Sample>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut family, mut metadata) = (String::new(), Vec::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (what, name, value) = (words.next(), words.next(), words.next());
            let (what, name) = (what.unwrap(), name.unwrap());
            assert!(is_name(name), "{line}");
            if name != family {
                assert!(!ended.contains(&name.to_owned()), "the family goes on later: {line}");
                ended.push(name.to_owned());
                (family, metadata) = (name.to_owned(), Vec::new());
            }
            assert!(samples.last().is_none_or(|last| last.0 != family), "metadata first: {line}");
            assert!(!metadata.contains(&what), "twice: {line}");
            match what {
                "TYPE" => assert_eq!(value, Some("gauge"), "{line}"),
                "UNIT" => assert!(name.ends_with(&format!("_{}", value.unwrap())), "{line}"),
                "HELP" => assert!(value.is_some_and(|help| !help.is_empty()), "{line}"),
                other => panic!("{other}: {line}"),
            }
            metadata.push(match what {
                "TYPE" => "TYPE",
                "UNIT" => "UNIT",
                _ => "HELP",
            });
            continue;
        }
        let at = line.find(['{', ' ']).expect("a value");
        let (name, mut rest) = line.split_at(at);
        assert!(is_name(name) && name == family && metadata.contains(&"TYPE"), "{line}");
        let mut labels = Vec::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            loop {
                let (label, after) = rest.split_once("=\"").expect("a label");
                assert!(is_name(label) && !label.contains(':'), "{line}");
                let (mut value, mut letters) = (String::new(), after.char_indices());
                let end = loop {
                    match letters.next().expect("the end of a label") {
                        (at, '"') => break at,
                        (_, '\\') => value.push(match letters.next().unwrap().1 {
                            'n' => '\n',
                            c @ ('\\' | '"') => c,
                            other => panic!("\\{other}: {line}"),
                        }),
                        (_, c) => value.push(c),
                    }
                };
                assert!(labels.iter().all(|(known, _)| known != label), "{line}");
                labels.push((label.to_owned(), value));
                match after[end + 1..].strip_prefix(',') {
                    Some(next) => rest = next,
                    None => {
                        rest = after[end + 1..].strip_prefix('}').expect("the end of the labels");
                        break;
                    }
                }
            }
        }
        let value: f64 = rest.strip_prefix(' ').expect("a blank").parse().expect("a number alone");
        assert!(value.is_finite(), "{line}");
        let sample = (name.to_owned(), labels, value);
        assert!(
            samples.iter().all(|known| (&known.0, &known.1) != (&sample.0, &sample.1)),
            "twice: {line}"
        );
        samples.push(sample);
    }
    assert!(text.is_ascii() || text.chars().all(|c| !c.is_control() || c == '\n'));
    samples
}

#[test]
fn openmetrics_text_can_be_read_by_its_grammar() {
    let mut study = measured(&TWO, 3);
    match &mut study.subjects[1] {
        SubjectFacts::Storage(facts) => facts.given = "/srv/a \"b\"\\\u{1b}[2J".into(),
        other => panic!("{other:?}"),
    }
    let program = kept(&[study]);
    let text = program.run(&["export", "--openmetrics"]).expect(0).out;
    let samples = parse_openmetrics(&text);
    let find = |name: &str, wanted: &[(&str, &str)]| {
        let has = |labels: &[(String, String)]| {
            wanted.iter().all(|(label, value)| {
                labels.iter().any(|(own, text)| own == label && text == value)
            })
        };
        let found: Vec<&Sample> =
            samples.iter().filter(|sample| sample.0 == name && has(&sample.1)).collect();
        assert_eq!(found.len(), 1, "{name} {wanted:?}: {found:?}");
        found[0].2
    };
    let read = [("target", TWO[0]), ("workload", "sequential read"), ("operation", "all")];
    let level = find("plimsoll_throughput_bytes_per_second", &read);
    assert!((level / 112e6 - 1.0).abs() < 0.02, "{level}");
    let lower = find("plimsoll_throughput_lower_bound_bytes_per_second", &read);
    let upper = find("plimsoll_throughput_upper_bound_bytes_per_second", &read);
    assert!(lower < level && level < upper);
    assert!(find("plimsoll_latency_p99_seconds", &read) > 0.0);
    assert!(find("plimsoll_operations_per_second", &read) > 0.0);
    assert_eq!(find("plimsoll_study_info", &[("study", "5eed0001")]), 1.0);
    assert_eq!(find("plimsoll_study_start_time_seconds", &[]), 1_760_000_000.0);
    assert_eq!(find("plimsoll_study_trials", &[("outcome", "complete")]), 30.0);
    // Text from outside: printable, and escaped by the rules of the format.
    let odd =
        samples.iter().flat_map(|sample| &sample.1).find(|label| label.1.starts_with("/srv/a"));
    assert_eq!(odd.unwrap().1, "/srv/a \"b\"\\\\u{1b}[2J");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn bencher_metric_format_has_values_with_their_bounds() {
    let program = kept(&[measured(&TWO, 3)]);
    let text = program.run(&["export", "--bmf"]).expect(0).out;
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let benchmarks = all.as_object().unwrap();
    assert_eq!(benchmarks.len(), 10, "two targets, five patterns");
    for (name, measures) in benchmarks {
        assert!(name.contains(": ") && name.len() <= 1024, "{name}");
        for (measure, metric) in measures.as_object().unwrap() {
            assert!(measure.len() <= 64, "{measure}");
            let metric = metric.as_object().unwrap();
            assert!(
                metric.keys().all(|key| ["value", "lower_value", "upper_value"].contains(&&**key))
            );
            let number = |key: &str| metric.get(key).map(|value| value.as_f64().unwrap());
            let value = number("value").unwrap();
            assert!(number("lower_value").is_none_or(|lower| lower <= value), "{name} {measure}");
            assert!(number("upper_value").is_none_or(|upper| upper >= value), "{name} {measure}");
        }
    }
    let throughput = &all["nas: sequential read"]["throughput_bytes_per_second"]["value"];
    let throughput = throughput.as_f64().unwrap();
    assert!((throughput / 112e6 - 1.0).abs() < 0.02, "{throughput}");
}

#[test]
fn test_cases_need_a_gate() {
    let mut studies = series(7, |_| 1.0);
    let program = kept(&studies);
    let refused = program.run(&["export", "--junit"]).expect(2).err;
    assert!(refused.contains("it has no gate") && refused.contains("--fail-on"), "{refused}");
    program.run(&["export", "--junit", "--bmf"]).expect(2);
    let last = studies.last_mut().unwrap();
    let conditions = ["sequential-read<-10%", "random<-5%"].map(|text| text.parse().unwrap());
    last.plan.gate = Some(Gate { baseline: Gate::LAST.into(), conditions: conditions.into() });
    for trial in last.trials.iter_mut().filter(|trial| trial.cell.workload == 0) {
        trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= 0.8);
    }
    let program = kept(&studies);
    let text = program.run(&["export", "--junit"]).expect(0).out;
    let junit = roxmltree::Document::parse(&text).unwrap();
    let suites = junit.root_element();
    assert!(suites.has_tag_name("testsuites"));
    let suite = suites.children().find(|node| node.is_element()).unwrap();
    assert!(suite.has_tag_name("testsuite"));
    for (name, value) in [("tests", "2"), ("failures", "1"), ("errors", "0"), ("skipped", "0")] {
        assert_eq!(suite.attribute(name), Some(value), "{name} in\n{text}");
    }
    assert_eq!(suite.attribute("timestamp"), Some("2025-10-15T08:53:00"));
    // What the schema of JUnit wants, in its order.
    assert_eq!(suites.attributes().count(), 0, "{text}");
    for name in ["package", "id", "name", "hostname", "time"] {
        assert!(suite.attribute(name).is_some_and(|value| !value.is_empty()), "{name} in\n{text}");
    }
    let parts = suite.children().filter(roxmltree::Node::is_element);
    let parts: Vec<&str> = parts.map(|node| node.tag_name().name()).collect();
    assert_eq!(parts, ["properties", "testcase", "testcase", "system-out", "system-err"]);
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), 2);
    assert!(cases.iter().all(|case| case.attribute("classname") == Some(FILMS)));
    let seconds =
        |node: roxmltree::Node<'_, '_>| node.attribute("time").unwrap().parse::<f64>().unwrap();
    let all: f64 = cases.iter().map(|case| seconds(*case)).sum();
    assert!((all - seconds(suite)).abs() < 0.01, "{text}");
    assert_eq!(cases[0].attribute("name"), Some("sequential read: fails if sequential-read<-10%"));
    let failure = cases[0].children().find(|node| node.has_tag_name("failure")).unwrap();
    let message = failure.attribute("message").unwrap();
    assert!(message.contains("from 6 studies, change -20%"), "{message}");
    assert_eq!(cases[1].children().count(), 0, "{text}");
    // The gate is in the metrics as well.
    let metrics = parse_openmetrics(&program.run(&["export", "--openmetrics"]).expect(0).out);
    let failed: Vec<f64> = metrics
        .iter()
        .filter(|sample| sample.0 == "plimsoll_gate_failed")
        .map(|sample| sample.2)
        .collect();
    assert_eq!(failed.iter().sum::<f64>(), 1.0);
    assert_eq!(failed.len(), 2);
}

/// How long lists and histories of 500 studies take: printed, not asserted.
#[test]
#[ignore = "a measurement: make measure-history"]
fn five_hundred_studies() {
    let studies: Vec<Study> = (0..500)
        .map(|number| {
            let mut study = measured(&[FILMS], 12);
            study.id = StudyId(format!("{number:08x}"));
            study.started_unix_seconds += DAY * number;
            study
        })
        .collect();
    let program = kept(&studies);
    let bytes = std::fs::metadata(program.db()).unwrap().len();
    println!("500 studies of {} trials: {} MB", studies[0].trials.len(), bytes / 1_000_000);
    for words in [&["list"][..], &["history", FILMS]] {
        let times: Vec<f64> = (0..5)
            .map(|_| {
                let begun = Instant::now();
                program.run(words).expect(0);
                begun.elapsed().as_secs_f64()
            })
            .collect();
        println!("{}: {times:.3?} s", words.join(" "));
    }
}
