//! Hosts as subjects, in blocks.

use super::{DEVICE, measure, shown, study_of};
use crate::NARROW;
use plimsoll_model::device::{CryptoMeans, DisturbedFigure};
use plimsoll_model::*;
use plimsoll_report::Document;

/// A host without a probe.
const SHELL: &str = include_str!("../../../record/tests/golden/device-shell.json");

/// Hosts by themselves, in blocks: figures with intervals, and what is in their records.
#[test]
fn two_hosts_in_blocks() {
    let hosts =
        ["ssh://old", "ssh://new"].map(|host| HostSubject { host: host.parse().unwrap() }.into());
    let record = plimsoll_record::from_json(DEVICE).unwrap();
    let mut study = study_of(&hosts, record.plan.workloads.clone());
    study.measures = record.measures.clone();
    measure(&mut study, 6, |cell, off| {
        let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
        let mut part = trial.result.parts[0].clone();
        let factor = off * (1.0 + 0.5 * f64::from(cell.subject));
        part.quantities.values_mut().for_each(|value| *value *= factor);
        vec![part]
    });
    let text = shown(&study);
    for words in [
        "integer rounds, one core",
        "Cryptography: ssh://new",
        "ssh://new is 50% faster than ssh://old",
        "Synology DS218play",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let page = Document::of_study(&study).html();
    assert!(
        page.contains("id=\"host-cpu-2\"") && page.contains("ssh://old and ssh://new compared")
    );
    // What was measured by other means on one of them is not compared.
    let crypto = |study: &Study| {
        let shown = crate::written::study(study, &NARROW);
        let (_, rest) = shown.split_once("\n\nCrypto\n").expect("a section");
        rest.lines()
            .find(|line| line.starts_with("> "))
            .unwrap_or_else(|| panic!("{shown}"))
            .to_owned()
    };
    assert!(crypto(&study).contains("ssh://new is 50% faster"), "{}", crypto(&study));
    let SubjectFacts::Host(facts) = &mut study.subjects[1] else { panic!("a host") };
    for figure in &mut facts.device.crypto.as_mut().unwrap().algorithms {
        figure.means = CryptoMeans::Portable;
    }
    assert!(!crypto(&study).contains("faster"), "{}", crypto(&study));
    let text = crate::written::study(&study, &NARROW);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let apart = "Not compared, because they were measured in different ways: AES-128-GCM (openssl,";
    assert!(text.contains(apart), "{text}");
}

/// Without a probe three parts of each host failed for the same reason, which stood in the section of each, too.
#[test]
fn why_hosts_have_no_probe_is_said_once_for_each() {
    let names = ["ssh://old", "ssh://new"];
    let hosts = names.map(|host| HostSubject { host: host.parse().unwrap() }.into());
    let record = plimsoll_record::from_json(SHELL).unwrap();
    let mut study = study_of(&hosts, record.plan.workloads.clone());
    study.measures = record.measures.clone();
    for (subject, name) in study.subjects.iter_mut().zip(names) {
        let SubjectFacts::Host(facts) = subject else { panic!("a host") };
        facts.device = record.subjects[0].host().unwrap().device.clone();
        let parts = facts.device.parts.iter_mut();
        parts.flat_map(|part| &mut part.failures).for_each(|why| why.on = name.to_owned());
    }
    measure(&mut study, 2, |_, _| Vec::new());
    for trial in &mut study.trials {
        trial.result = record.trials[usize::from(trial.cell.workload)].result.clone();
        if let Outcome::Failed { failure, .. } = &mut trial.result.outcome {
            failure.on = names[usize::from(trial.cell.subject)].to_owned();
        }
    }
    // The machine that plimsoll ran on had none for itself either.
    let reason = "there is no probe for mips here; there are none at all";
    study.hosts[0].without_probe = Some(reason.to_owned());
    let text = |study: &Study| {
        let text = crate::written::study(study, &NARROW);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let whole = text(&study);
    assert_eq!(whole.matches(reason).count(), 2, "{whole}");
    let above = "Not all was measured: see the warnings at the top.";
    assert_eq!(whole.matches(above).count(), 2 * 3, "{whole}");
    assert!(whole.contains("could not be used: see the warnings at the top."), "{whole}");
    // Where no trial failed for it, the first part that needs the probe says so.
    study.trials.iter_mut().for_each(|trial| trial.result.outcome = Outcome::Stopped);
    study.hosts[0].without_probe = None;
    let whole = text(&study);
    assert_eq!(whole.matches(reason).count(), 2, "{whole}");
    assert_eq!(whole.matches("Not all was measured: see CPU.").count(), 2 * 2, "{whole}");
}

/// One host has its own page: what it is, and its figures with intervals where they stood alone.
#[test]
fn one_host_in_blocks_and_the_same_with_another_firmware() {
    let host = |blocks, factor: f64| {
        let record = plimsoll_record::from_json(DEVICE).unwrap();
        let mut study = study_of(&record.plan.subjects, record.plan.workloads.clone());
        study.measures = record.measures.clone();
        measure(&mut study, blocks, |cell, off| {
            let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
            let mut part = trial.result.parts[0].clone();
            part.quantities.values_mut().for_each(|value| *value *= factor * off);
            vec![part]
        });
        study
    };
    let (old, new) = (host(3, 1.0), host(3, 1.5));
    let text = crate::written::study(&old, &NARROW);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "geometric means of 3 blocks with 95% intervals",
        "402 MB/s [400–404]",
        "Compared with published platforms",
        "Synology DS218play",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(crate::written::study(&new, &NARROW).contains("603 MB/s [600–606]"));
    let page = Document::of_study(&old).html().replace("&nbsp;", " ");
    assert!(page.contains("402 MB/s [400–404]") && page.contains("3 blocks"));

    let both = crate::written::compare(&old, &new, &NARROW);
    let row = both.lines().find(|line| line.starts_with("AES-128-GCM ")).expect("a row");
    assert!(row.contains("603 MB/s [600–606]") && row.contains("1.50 [1.4"), "{row}");
    assert!(both.contains("> AES-128-GCM: B is 50% faster than A ["), "{both}");
    // A single block has no interval, and no verdict follows.
    let single = crate::written::compare(&old, &host(1, 1.5), &NARROW);
    assert!(
        single.contains("no intervals and no verdicts") && !single.contains("faster"),
        "{single}"
    );
    let row = single.lines().find(|line| line.starts_with("AES-128-GCM ")).expect("a row");
    assert!(row.trim_end().ends_with("1.50"), "{row}");
}

/// A figure that was disturbed in any block is no measure of the host, whatever the last one was.
#[test]
fn a_block_that_was_disturbed_is_not_forgotten() {
    let record = plimsoll_record::from_json(DEVICE).unwrap();
    let mut study = study_of(&record.plan.subjects, record.plan.workloads.clone());
    study.measures = record.measures.clone();
    measure(&mut study, 3, |cell, _| {
        let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
        trial.result.parts.clone()
    });
    let ceiling = "Encrypted transport (AES-128-GCM, SMB 3 and TLS): at most about 402 MB/s";
    let flat = |study: &Study| {
        let text = crate::written::study(study, &NARROW);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(flat(&study).contains(ceiling), "{}", flat(&study));
    let crypto = study.plan.workloads.iter().position(|w| w.parts[0].job.kind() == "crypto");
    let of_crypto = |trial: &&mut Trial| Some(usize::from(trial.cell.workload)) == crypto;
    let first = study.trials.iter_mut().find(of_crypto).unwrap();
    let figure = DisturbedFigure {
        figure: "AES-128-GCM".into(),
        by: "openssl".into(),
        cpu_share: Some(0.41),
        slowest_share: None,
        slower_than: None,
    };
    first.result.flags.push(Flag::FiguresDisturbed { figures: vec![figure], of: 6 });
    let text = flat(&study);
    assert!(text.contains("1 of 6 figures was disturbed: as little as 41% of a core"), "{text}");
    assert!(text.contains("No limit is derived from AES-128-GCM") && !text.contains(ceiling));
}
