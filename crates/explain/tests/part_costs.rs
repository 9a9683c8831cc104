//! Costs of the parts of a router's path.

mod support;

use plimsoll_explain::{InteractionVerdict, PartVerdict, part_costs};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use proptest::prelude::*;
use std::num::NonZeroU16;
use support::{add_trial, empty};

const CHAIN: [PathPart; 3] = [PathPart::Rules, PathPart::Nat, PathPart::Conntrack];

/// CPU seconds a packet under a setting in a block.
type Costing<'a> = &'a dyn Fn(u16, u32) -> f64;

/// So many blocks of a chain of three parts: settings 0 and 1 are the same, 2 to 4 are without one part more each.
fn study(blocks: u32, costing: Costing<'_>) -> Study {
    study_of(CHAIN, Vec::new(), blocks, costing)
}

/// The same with other parts; setting 5 is without the last one alone.
fn two_by_two(blocks: u32, costing: Costing<'_>) -> Study {
    let parts = [PathPart::Rules, PathPart::Conntrack, PathPart::Qdisc];
    let alone = vec![PartAlone { part: PathPart::Qdisc, setting: 5 }];
    study_of(parts, alone, blocks, costing)
}

fn study_of(
    parts: [PathPart; 3],
    alone: Vec<PartAlone>,
    blocks: u32,
    costing: Costing<'_>,
) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let via = Some("ssh://root@router".parse().unwrap());
    let path = PathSubject { from: end("local"), to: end("ssh://wan"), via }.into();
    let job = ForwardingJob {
        rate: NonZeroU16::new(20_000).map(Into::into),
        is_timed: true,
        ..ForwardingJob::new(Flow::Out, Bytes(128))
    };
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 4.5, warm_up_seconds: 0.5 };
    let design = Design { rule: Rule::Fixed { blocks }, ..Design::default() };
    let mut study = empty(&["/data"], &[]);
    study.plan = Plan::new(vec![path], vec![Workload::new(part, length)], design);
    study.plan.contrasts.clear();
    let priced = parts.into_iter().zip([(0, 2), (2, 3), (3, 4)]);
    let priced = priced.map(|(part, (with, without))| PricedPart { part, with, without }).collect();
    let settings = 5 + alone.len() as u16;
    let (whole, control, missing) = (0, 1, Vec::new());
    study.plan.parts = Some(PathParts { whole, control, priced, alone, missing });
    study.subjects = vec![SubjectFacts::Path(PathFacts::default())];
    for block in 0..blocks {
        for setting in 0..settings {
            let quantities = [
                (Metric::all(Measure::ROUTER_CPU_PER_PACKET), costing(setting, block)),
                (Metric::all(StreamJob::LOSS), 0.0),
            ];
            let part = PartResult { quantities: quantities.into(), ..PartResult::default() };
            add_trial(&mut study, block, Cell { subject: 0, workload: 0, setting }, part);
        }
    }
    study
}

/// Rules cost 2 µs, address translation nothing that shows, connection tracking 1 µs; the router is slower by the same
/// amount under all settings of a block.
fn routed(setting: u16, block: u32) -> f64 {
    let own = [9.0, 9.0, 7.0, 7.0, 6.0][usize::from(setting)];
    let of_block = [0.0, 1.0, 2.0, 1.0][block as usize % 4];
    let noise = [0.0, 0.04, -0.04, 0.0, 0.02][(usize::from(setting) + block as usize) % 5];
    (own + of_block + noise) * 1e-6
}

#[test]
fn each_part_costs_the_difference_between_its_two_settings() {
    let found = part_costs(&study(4, &routed));
    let [one] = &found[..] else { panic!("{found:?}") };
    assert!((one.whole.unwrap() - 10e-6).abs() < 0.05e-6, "{one:?}");
    let verdicts: Vec<&PartVerdict> = one.parts.iter().map(|part| &part.verdict).collect();
    let expected = [PartVerdict::Costs, PartVerdict::NoDifference, PartVerdict::Costs];
    assert_eq!(verdicts, expected.iter().collect::<Vec<_>>(), "{one:?}");
    let rules = &one.parts[0].cost;
    let interval = rules.interval.unwrap();
    assert!(interval.contains(2e-6) && interval.high - interval.low < 0.6e-6, "{rules:?}");
    assert!(one.control.interval.unwrap().contains(0.0) && one.control.blocks == 4, "{one:?}");
    assert_eq!(one.passed, None, "the router was not monitored");
    // By hand: differences of the rules in four blocks of 2.04, 2.04 - 0.04, 2 - 0.06, 2.02 µs.
    let by_hand: f64 = (0..4).map(|block| routed(0, block) - routed(2, block)).sum::<f64>() / 4.0;
    assert!((rules.seconds.unwrap() - by_hand).abs() < 1e-15);
}

#[test]
fn a_router_whose_interfaces_stand_still_did_not_see_the_frames() {
    let mut study = study(4, &routed);
    let router: HostName = "ssh://root@router".parse().unwrap();
    study.plan.watched.push(Watched::new(router.clone(), HostRole::Router));
    let passes_by = |packets: u64| {
        let mut study = study.clone();
        for trial in &mut study.trials {
            let sent = (Metric::all(Measure::ALL_SENT), 90_000.0);
            trial.result.parts[0].quantities.extend([sent]);
            let interface = InterfaceLoad {
                name: "inner".into(),
                received_packets: packets,
                ..InterfaceLoad::default()
            };
            let host = router.clone();
            let load = HostLoad { host, seconds: 5.0, ..HostLoad::default() };
            trial.loads = vec![HostLoad { interfaces: vec![interface], ..load }];
        }
        part_costs(&study)[0].passes_by()
    };
    // Packets of others, and the frames.
    assert!(passes_by(21) && passes_by(5_000));
    assert!(!passes_by(90_000));
}

#[test]
fn a_machine_that_is_not_steady_shows_no_part_that_is_smaller_than_its_unsteadiness() {
    // The same setting differs by 3 µs: more than any part.
    let unsteady = |setting, block| routed(setting, block) + if setting == 1 { 3e-6 } else { 0.0 };
    let found = part_costs(&study(4, &unsteady));
    let none = found[0].parts.iter().all(|part| part.verdict == PartVerdict::NoDifference);
    assert!(none, "{found:?}");
    assert!(!found[0].control.interval.unwrap().contains(0.0));
}

#[test]
fn what_cannot_be_compared_has_a_reason() {
    let one_block = part_costs(&study(1, &routed));
    assert!(one_block[0].parts.iter().all(|part| part.verdict == PartVerdict::TooFewBlocks));
    assert!(one_block[0].parts[0].cost.seconds.is_some(), "{one_block:?}");
    let mut study = study(4, &routed);
    for trial in &mut study.trials {
        match trial.cell.setting {
            3 => {
                let lost = (Metric::all(StreamJob::LOSS), 0.4);
                trial.result.parts[0].quantities.extend([lost]);
            }
            4 => support::fail(trial),
            _ => {}
        }
    }
    let found = part_costs(&study);
    let [rules, nat, conntrack] = &found[0].parts[..] else { panic!("{found:?}") };
    assert_eq!(rules.verdict, PartVerdict::Costs);
    assert!(matches!(nat.verdict, PartVerdict::Lost { share } if (share - 0.4).abs() < 1e-9));
    assert!(matches!(conntrack.verdict, PartVerdict::Failed { .. }), "{conntrack:?}");
    assert_eq!(conntrack.without, None);
    study.plan.parts = None;
    assert_eq!(part_costs(&study), []);
}

/// Rules cost 2 µs, connection tracking 1 µs, the queueing discipline 1.5 µs and `more` while the others are there.
fn with_queue(more: f64) -> impl Fn(u16, u32) -> f64 {
    move |setting, block| {
        let own = [9.5 + more, 9.5 + more, 7.5, 6.5, 5.0, 8.0][usize::from(setting)];
        let of_block = [0.0, 1.0, 2.0, 1.0][block as usize % 4];
        let noise = [0.0, 0.04, -0.04, 0.0, 0.02][(usize::from(setting) + block as usize) % 5];
        (own + of_block + noise) * 1e-6
    }
}

#[test]
fn what_a_part_costs_with_and_without_the_others_shows_whether_they_are_independent() {
    let found = part_costs(&two_by_two(4, &with_queue(0.0)));
    let [one] = &found[0].interactions[..] else { panic!("{found:?}") };
    assert_eq!(
        (one.part, &one.others[..]),
        (PathPart::Qdisc, &[PathPart::Rules, PathPart::Conntrack][..])
    );
    assert_eq!(one.verdict, InteractionVerdict::NoneShown, "{one:?}");
    assert!(one.interaction.interval.unwrap().contains(0.0) && one.interaction.blocks == 4);
    let near = |seconds: Option<f64>, us: f64| (seconds.unwrap() - us * 1e-6).abs() < 0.06e-6;
    assert!(near(one.with_others.seconds, 1.5) && near(one.without_others.seconds, 1.5), "{one:?}");
    assert!(near(one.together.seconds, 4.5), "{one:?}");
    // 1 µs more while the others are there: of 5.5 µs together that is much, and of the control nothing shows.
    let found = part_costs(&two_by_two(4, &with_queue(1.0)));
    let [one] = &found[0].interactions[..] else { panic!("{found:?}") };
    assert_eq!(one.verdict, InteractionVerdict::Depends { is_much: true }, "{one:?}");
    assert!(near(one.interaction.seconds, 1.0) && near(one.without_others.seconds, 1.5), "{one:?}");
    assert!(found[0].control.interval.unwrap().contains(0.0));
    // Each alone costs 3 µs and 2.5 µs, so 1 µs more than both together.
    let (rules, queue) =
        (with_queue(1.0)(0, 0) - with_queue(1.0)(3, 0), one.with_others.seconds.unwrap());
    let sum = rules + queue - one.together.seconds.unwrap();
    assert!((sum - one.interaction.seconds.unwrap()).abs() < 0.1e-6, "{sum}");
    // As little as 0.4 µs is no 15%.
    let found = part_costs(&two_by_two(4, &with_queue(0.4)));
    let little = InteractionVerdict::Depends { is_much: false };
    assert_eq!(found[0].interactions[0].verdict, little, "{found:?}");
}

#[test]
fn combinations_that_were_not_measured_are_predicted_with_the_interaction() {
    // Without rules and queueing discipline, with connection tracking: 7.5 - 1.5 = 6, and 1 on average of the blocks.
    let found = part_costs(&two_by_two(4, &with_queue(0.0)));
    let [predicted] = &found[0].interactions[0].predicted[..] else { panic!("{found:?}") };
    assert_eq!(predicted.off, [PathPart::Rules, PathPart::Qdisc]);
    let interval = predicted.interval.unwrap();
    assert!((predicted.seconds.unwrap() - 7e-6).abs() < 0.06e-6, "{predicted:?}");
    assert!(interval.contains(7e-6), "{predicted:?}");
    // Where the parts depend on each other, both of its costs are possible.
    let found = part_costs(&two_by_two(4, &with_queue(1.0)));
    let [predicted] = &found[0].interactions[0].predicted[..] else { panic!("{found:?}") };
    let interval = predicted.interval.unwrap();
    for seconds in [7e-6, 6e-6] {
        assert!(interval.contains(seconds), "{seconds} in {predicted:?}");
    }
}

/// CPU seconds a packet with rules and connection tracking (2), without rules (1) or without both (0), and with the
/// queueing discipline or without it; some blocks are slower than others.
fn two_factors(cost: fn(usize, bool) -> f64) -> impl Fn(u16, u32) -> f64 {
    move |setting, block| {
        let others = [2, 2, 1, 0, 0, 2][usize::from(setting)];
        let of_block = [1.0, 1.01, 0.99, 1.02][block as usize % 4];
        cost(others, setting < 4) * of_block * 1e-6
    }
}

/// Halfway between both costs of the discipline, the prediction would be 0.25 µs too low where costs multiply, and 0.27 µs
/// too high where they take shares.
#[test]
fn predictions_are_exact_where_costs_add_up_multiply_or_take_shares_of_what_is_left() {
    let models: [fn(usize, bool) -> f64; 3] = [
        |others, queue| 5.0 + [0.0, 1.0, 3.0][others] + if queue { 1.5 } else { 0.0 },
        |others, queue| 5.0 * [1.0, 1.2, 1.6][others] * if queue { 1.5 } else { 1.0 },
        |others, queue| 50.0 - 45.0 * [1.0, 0.98, 0.9][others] * if queue { 0.8 } else { 1.0 },
    ];
    for cost in models {
        let found = part_costs(&two_by_two(4, &two_factors(cost)));
        let [predicted] = &found[0].interactions[0].predicted[..] else { panic!("{found:?}") };
        let expected = cost(1, false) * 1.005e-6;
        let interval = predicted.interval.unwrap();
        assert!((predicted.seconds.unwrap() - expected).abs() < 1e-12, "{expected}: {predicted:?}");
        assert_eq!(predicted.seconds, Some(interval.estimate));
        assert!(interval.low < expected && expected < interval.high, "{predicted:?}");
    }
}

/// The discipline costs 2.5 µs with all others and 1.5 µs without any.
#[test]
fn others_whose_cost_is_not_known_share_the_interaction_by_half() {
    let predicted = |blocks: u32, cost: fn(usize, bool) -> f64| {
        let found = part_costs(&two_by_two(blocks, &two_factors(cost)));
        let [predicted] = &found[0].interactions[0].predicted[..] else { panic!("{found:?}") };
        predicted.clone()
    };
    // The others cost nothing that shows.
    let free = predicted(4, |others, queue| if queue { 6.5 } else { [5.0, 4.5, 4.0][others] });
    assert!((free.seconds.unwrap() - 4.5 * 1.005e-6).abs() < 1e-12, "{free:?}");
    // One block has no interval.
    let one = predicted(1, |others, queue| {
        [5.0, 6.0, 9.0][others] + if queue { [1.5, 1.5, 2.5][others] } else { 0.0 }
    });
    assert_eq!(one.interval, None);
    assert!((one.seconds.unwrap() - 5.5e-6).abs() < 1e-12, "{one:?}");
}

/// Rules without their flowtable cost more than with it: what the discipline costs on such a router was not measured.
#[test]
fn a_combination_beyond_what_was_measured_is_not_predicted() {
    let without_flowtable =
        |others: usize, queue: bool| [5.0, 8.0, 6.0][others] + if queue { 1.5 } else { 0.0 };
    let found = part_costs(&two_by_two(4, &two_factors(without_flowtable)));
    assert!(found[0].interactions[0].predicted.is_empty(), "{found:?}");
    assert!(found[0].interactions[0].interaction.interval.is_some(), "{found:?}");
    let cheapest =
        |others: usize, queue: bool| [5.0, 3.0, 6.0][others] + if queue { 1.5 } else { 0.0 };
    let found = part_costs(&two_by_two(4, &two_factors(cheapest)));
    assert!(found[0].interactions[0].predicted.is_empty(), "{found:?}");
}

#[test]
fn parts_that_cannot_be_compared_or_a_router_that_is_not_steady_show_no_interaction() {
    let unsteady =
        |setting, block| with_queue(1.0)(setting, block) + if setting == 1 { 3e-6 } else { 0.0 };
    let found = part_costs(&two_by_two(4, &unsteady));
    assert_eq!(found[0].interactions[0].verdict, InteractionVerdict::NoneShown, "{found:?}");
    let one_block = part_costs(&two_by_two(1, &with_queue(1.0)));
    assert_eq!(one_block[0].interactions[0].verdict, InteractionVerdict::TooFewBlocks);
    assert!(part_costs(&study(4, &routed))[0].interactions.is_empty());
    let mut lossy = two_by_two(4, &with_queue(1.0));
    for trial in lossy.trials.iter_mut().filter(|trial| trial.cell.setting == 5) {
        trial.result.parts[0].quantities.extend([(Metric::all(StreamJob::LOSS), 0.4)]);
    }
    let [one] = &part_costs(&lossy)[0].interactions[..] else { panic!() };
    assert!(
        matches!(one.verdict, InteractionVerdict::Lost { share } if (share - 0.4).abs() < 1e-9)
    );
    assert!(one.predicted.is_empty(), "{one:?}");
}

proptest! {
    /// The costs of a chain amount to the difference between its ends, whatever was measured, and turn with it.
    #[test]
    fn costs_add_up(costs in proptest::collection::vec(1.0..50.0_f64, 20), factor in 0.1..10.0_f64) {
        let at = |setting: u16, block: u32| costs[usize::from(setting) + 5 * block as usize] * 1e-6;
        let found = part_costs(&study(4, &at));
        let sum: f64 = found[0].parts.iter().map(|part| part.cost.seconds.unwrap()).sum();
        let ends: f64 = (0..4).map(|block| at(0, block) - at(4, block)).sum::<f64>() / 4.0;
        prop_assert!((sum - ends).abs() < 1e-12, "{} {}", sum, ends);
        let scaled = part_costs(&study(4, &|setting, block| factor * at(setting, block)));
        for (one, other) in found[0].parts.iter().zip(&scaled[0].parts) {
            prop_assert_eq!(&one.verdict, &other.verdict);
            let (one, other) = (one.cost.seconds.unwrap(), other.cost.seconds.unwrap());
            prop_assert!((factor * one - other).abs() < 1e-12);
        }
    }
}
