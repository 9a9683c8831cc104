//! Settings and steps.

use super::{measure, result, shown, storage, study_of};
use crate::plain;
use plimsoll_model::*;
use plimsoll_report::{Document, redact};

/// The settings of one target stand beside each other; what was changed is in the method.
#[test]
fn a_factor_of_two_levels() {
    let factors = vec![Factor {
        name: "sysctl:net.ipv4.tcp_congestion_control".into(),
        host: "ssh://root@nas".parse().unwrap(),
        levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "bbr".into() }],
        switch: Switch::Live,
    }];
    let mut study =
        study_of(&storage(&["nfs://nas/x"]), vec![plain::workload(Pattern::SequentialRead)]);
    study.plan.factors = factors;
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 6, |cell, off| {
        let rate = off * (90e6 + 30e6 * f64::from(cell.setting));
        vec![result(&[(Metric::all(Measure::THROUGHPUT), rate)])]
    });
    let text = shown(&study);
    assert!(text.contains("x, tcp_congestion_control=bbr is 33% faster than x,"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "Changed on ssh://root@nas: sysctl:net.ipv4.tcp_congestion_control (as found and bbr), changed \
             between trials, in random order within each block. It was restored at the end."
        ),
        "{text}"
    );
    study.flags.push(Flag::SettingNotRestored {
        host: "ssh://root@nas".parse().unwrap(),
        setting: study.plan.factors[0].name.clone(),
        reason: "no route to host".into(),
    });
    let text = shown(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("It could not be restored; see the warnings."), "{text}");
    assert!(text.contains("could not be restored: no route") && !text.contains("It was restored"));
    let redacted = redact(&study, &[]).unwrap();
    assert_eq!(redacted.plan.factors[0].name, study.plan.factors[0].name);
    assert!(!redacted.plan.factors[0].host.to_string().contains("nas"));
}

#[test]
fn a_sweep_has_a_table_and_a_line() {
    let depths = [1.0, 4.0, 16.0];
    let mut swept = plain::workload(Pattern::RandomRead);
    swept.steps = Some(Steps::Sweep { over: Parameter::Depth, values: depths.into() });
    let mut study = study_of(&storage(&["nfs://nas/x"]), vec![swept]);
    let rate = |depth: f64, off: f64| {
        let iops = off * 8000.0 * depth / (1.0 + 0.2 * depth);
        result(&[
            (Metric::all(Measure::IOPS), iops),
            (Metric::all(Measure::THROUGHPUT), 4096.0 * iops),
        ])
    };
    measure(&mut study, 3, |_, off| vec![rate(16.0, off)]);
    for trial in &mut study.trials {
        // In an order of its own.
        let points = [16.0, 1.0, 4.0].map(|at| Point {
            at,
            accepted: None,
            parts: vec![rate(at, 1.0 + 0.001 * f64::from(trial.number))],
            loads: Vec::new(),
        });
        trial.points = points.into();
    }
    let text = shown(&study);
    assert!(text.contains("in flight per worker swept through 1, 4, 16"), "{text}");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("in flight per worker ") && line.contains("MB/s"))
        .collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows[0].contains("worker 1 ") && rows[0].contains("6673"), "{text}");
    assert!(rows[2].contains("worker 16 ") && rows[2].contains("30.5 k"), "{text}");
    let page = Document::of_study(&study).html();
    assert!(page.contains("Random read: operations per second by in flight per worker"));
}
