//! The cost of each part of a router's path.

use super::explained::explained;
use super::{ROUTER, load, routed, screen};
use crate::jobs::{measure, result, shown};
use plimsoll_model::*;

/// 9 µs a packet: 2 for rules, nothing that shows for address translation, 1 for connection tracking; 40% of the frames are
/// lost without the queueing discipline.
fn priced(unsteady: f64) -> Study {
    let mut study = routed();
    study.trials.clear();
    study.plan.workloads.truncate(1);
    let Job::Forwarding(job) = &mut study.plan.workloads[0].parts[0].job else { panic!() };
    (job.rate, job.is_timed) = (std::num::NonZeroU32::new(21_000), true);
    study.plan.workloads[0].steps = None;
    let as_found = || FactorLevel::AsFound;
    let levels =
        ["only-nat", "only-tracking", "none"].map(|value| FactorLevel::Set { value: value.into() });
    let factor = |name: &str, levels: Vec<FactorLevel>| Factor {
        name: name.into(),
        host: ROUTER.parse().unwrap(),
        levels,
        switch: Switch::Live,
    };
    let queue = vec![as_found(), FactorLevel::Set { value: "pfifo".into() }];
    study.plan.factors = vec![
        factor("nft-ruleset", [vec![as_found(), as_found()], levels.into()].concat()),
        factor("qdisc:eth1", queue),
    ];
    let priced = [
        (PathPart::Rules, 0, 2),
        (PathPart::Nat, 2, 3),
        (PathPart::Conntrack, 3, 4),
        (PathPart::Qdisc, 4, 9),
    ];
    let priced = priced.map(|(part, with, without)| PricedPart { part, with, without });
    let reason = "it is off on eth0".to_owned();
    let missing = vec![MissingPart { part: PathPart::Offload, reason }];
    let alone = vec![PartAlone { part: PathPart::Qdisc, setting: 5 }];
    let priced = priced.into();
    study.plan.parts = Some(PathParts { whole: 0, control: 1, priced, alone, missing });
    study.plan.contrasts.clear();
    measure(&mut study, 6, |cell, off| {
        let (cost, loss) = match cell.setting {
            0 => (9e-6, 0.0),
            1 => (9.01e-6 + unsteady, 0.0),
            2 | 3 => (7e-6 + 1e-8 * f64::from(cell.setting), 0.0),
            4 => (6e-6, 0.0),
            _ => (4e-6, 0.4),
        };
        vec![result(&[
            // Settings do not move together.
            (
                Metric::all(Measure::ROUTER_CPU_PER_PACKET),
                cost + (off - 1.0) * 1e-5 * f64::from(cell.setting),
            ),
            (Metric::all(Measure::PACKETS), 21_000.0),
            (Metric::all(StreamJob::LOSS), loss),
            (Metric::all(Measure::ALL_SENT), 417_000.0),
        ])]
    });
    study.trials.iter_mut().for_each(|trial| trial.loads.push(load(417_000)));
    study
}

#[test]
fn the_parts_of_a_path_have_a_price() {
    let study = priced(0.0);
    shown(&study);
    let screen = screen(&study);
    let whole = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = [
        "Rules cost 1.98 µs a packet [",
        "connection tracking costs 1.03 µs [",
        "address translation shows no difference (out 128).",
        "21.0 k frames a second",
        "offload: not measured, because it is off on eth0.",
    ];
    for words in words {
        assert!(whole.contains(words), "{words} in\n{screen}");
    }
    let row = |name: &str| screen.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(row("rules").contains("9.0") && row("rules").contains("7.0"), "{screen}");
    assert!(row("qdisc").contains("40% lost") && row("A/A").contains("no difference"), "{screen}");
    let explained = explained(&study);
    for words in ["Rules cost 1.98 µs a packet [", "The frames have a fixed rate below", "40% lost"]
    {
        assert!(explained.contains(words), "{words} in {explained}");
    }
    assert!(!whole.contains("A: ") || !whole.contains("only-nat"), "{screen}");
}

/// The queueing discipline costs 2.5 µs with the rules and 1 µs without them.
#[test]
fn costs_of_parts_that_do_not_add_up_are_said() {
    let mut study = priced(0.0);
    let costs = [9.0, 9.0, 7.0, 7.0, 6.0, 6.5, 0.0, 0.0, 0.0, 5.0];
    for trial in &mut study.trials {
        let (setting, block) = (trial.cell.setting, trial.block.unwrap_or_default());
        let noise = 0.01 * f64::from((u32::from(setting) + block) % 3);
        let cost = (costs[usize::from(setting)] + noise) * 1e-6;
        let figures = &mut trial.result.parts[0].quantities;
        figures.insert(Metric::all(Measure::ROUTER_CPU_PER_PACKET), cost);
        figures.insert(Metric::all(StreamJob::LOSS), 0.0);
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "Costs do not add up: the queueing discipline costs 2.50 µs a packet with rules, address \
                    translation and connection tracking and 1.00 µs without, a difference of 1.5";
    let screen = screen(&study);
    assert!(one_line(&screen).contains(sentence), "{screen}");
    let details = shown(&study);
    for words in [
        "Parts of the path, two by two",
        "more than 15% of both",
        "rules, nat, qdisc",
        "as found, again",
        "without rules and nat",
        "without qdisc alone",
    ] {
        assert!(details.contains(words), "{words} in\n{details}");
    }
    // Without an interaction, the screen has no word of it.
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.setting == 5) {
        let figures = &mut trial.result.parts[0].quantities;
        figures.insert(Metric::all(Measure::ROUTER_CPU_PER_PACKET), 8e-6);
    }
    assert!(!self::screen(&study).contains("add up"), "{}", self::screen(&study));
    assert!(shown(&study).contains("no interaction shown"));
}

#[test]
fn a_router_that_is_not_steady_gives_no_price() {
    let study = priced(4e-6);
    let screen = screen(&study);
    // The same router a second time takes 4 µs more: 13 less 9.
    let control = screen.lines().find(|line| line.trim_start().starts_with("A/A")).unwrap();
    let [with, without, cost] = [2, 3, 4].map(|place| {
        control.split_whitespace().nth(place).and_then(|word| word.parse::<f64>().ok()).unwrap()
    });
    assert!(cost > 3.0 && (with - without - cost).abs() < 1.5, "{screen}");
    assert!(screen.contains("not steady") && !screen.contains("ules cost"), "{screen}");
    let whole = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("Rules") && whole.contains("show no difference (out 128)."), "{screen}");
}
