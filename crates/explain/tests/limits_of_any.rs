//! What holds of the limits of any study, however short its trials, however busy its machines and however few of
//! them were watched: no resource allows less than was measured, no processor is named by CPU time that tells
//! nothing, and who watches more learns no less.

mod support;

use plimsoll_explain::{Limit, Limits, Resource, Use, limits};
use plimsoll_model::*;
use plimsoll_stats::interval::t_interval;
use support::servers::{SERVER, Truth, count_cores, on_one_machine, study, uniform};

/// What a kernel counts CPU time in.
const TICK: f64 = 0.01;

fn pick<T: Copy>(seed: u64, of: u64, from: &[T]) -> T {
    from[(uniform(seed, of) * from.len() as f64) as usize % from.len()]
}

/// A server of any demands over two orders of magnitude, in trials of milliseconds or seconds.
fn any_truth(seed: u64) -> Truth {
    let demand = |of| 10e-6 * 100_f64.powf(uniform(seed, of));
    Truth {
        depth: pick(seed, 9, &[1, 2, 4, 8, 16, 32]),
        driver: demand(0),
        server: demand(1),
        one_core: uniform(seed, 7) < 0.5,
        disk: demand(2),
        at_a_time: 1.0,
        link: demand(3),
        round_trip: demand(4),
        hidden: if uniform(seed, 8) < 0.3 { demand(5) } else { 0.0 },
        idle: 0.3 * uniform(seed, 6),
        seconds: pick(seed, 10, &[0.004, 0.03, 0.09, 0.4, 2.0]),
    }
}

/// It as it may be measured: counters in ticks, which are looked at for longer than the operations take, beside a
/// busy loop or not, rates that differ by some percent; and where the server is the client's machine, one host.
fn any_study(seed: u64) -> Study {
    let truth = any_truth(seed);
    let mut study = study(truth, true);
    let (looped, shared) = (uniform(seed, 11) < 0.5, uniform(seed, 12) < 0.4);
    let longer = 1.0 + 0.5 * uniform(seed, 13);
    if shared {
        on_one_machine(&mut study);
    }
    for (number, trial) in (1..).zip(&mut study.trials) {
        let random = |of: u64| uniform(seed, 1_000 * number + of);
        let rate = trial.result.parts[0].quantities.get_mut(&Metric::all(Measure::IOPS));
        *rate.unwrap() *= 0.9 + 0.2 * random(0);
        for (host, load) in (0..).zip(&mut trial.loads) {
            load.seconds *= longer;
            let beside = if looped { [0.0, 1.0] } else { [0.0; 2] };
            load.idle_baseline += beside[1] * (0.9 + 0.2 * random(90 + host));
            for ((number, core), beside) in (0..).zip(&mut load.cores).zip(beside) {
                let busy = core.system + beside * load.seconds;
                // Ticks fall at any moment.
                let ticks = (busy / TICK + random(10 + 10 * host + number)).floor();
                let all = (load.seconds / TICK).round() * TICK;
                let busy = (ticks * TICK).min(all);
                *core = CpuTimes { system: busy, idle: all - busy, ..CpuTimes::default() };
            }
            count_cores(load);
        }
    }
    study
}

/// The same without the server's host.
fn watching_less(study: &Study) -> Study {
    let mut less = study.clone();
    less.plan.watched.retain(|one| one.role == HostRole::Client);
    less.hosts.retain(|host| host.name != *SERVER);
    less.flags.retain(|flag| !matches!(flag, Flag::SameMachine { .. }));
    for trial in &mut less.trials {
        trial.loads.retain(|load| load.host != *SERVER);
    }
    less
}

fn named(limits: &Limits) -> Vec<&Use> {
    let places = match &limits.verdict {
        Limit::Resource { binding, .. } => vec![*binding],
        Limit::Several { uses, .. } | Limit::Unsaturated(uses) => uses.clone(),
        Limit::Waiting | Limit::Hidden | Limit::Contradiction(_) => Vec::new(),
    };
    places.into_iter().map(|place| &limits.uses[place]).collect()
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(or)
}

/// Studies that are drawn, by one seed unless another one is wanted.
fn all() -> impl Iterator<Item = (u64, Study)> {
    let (count, seed) = (number("PLIMSOLL_STUDIES", 2_000), number("PLIMSOLL_SEED", 0));
    let seeds = (0..count).map(move |number| seed.wrapping_mul(1 << 32).wrapping_add(number));
    seeds.map(|seed| (seed, any_study(seed)))
}

#[test]
fn nothing_allows_less_than_was_measured() {
    let (mut contradictions, mut bounds) = (0, 0);
    for (seed, study) in all() {
        for limits in limits(&study) {
            for one in &limits.uses {
                let alone = one.alone_per_second;
                let carried = alone.is_none_or(|most| most >= limits.per_second * (1.0 - 1e-9));
                assert!(carried, "{seed}: {one:?} beside {}", limits.per_second);
                assert_eq!(one.is_contradictory(), one.utilisation > 1.05, "{seed}: {one:?}");
                assert!(alone.is_none() || one.is_conclusive(), "{seed}: {one:?}");
                assert!(
                    one.is_conclusive() || one.gain == 0.0 || one.is_delay(),
                    "{seed}: {one:?}"
                );
                bounds += u64::from(alone.is_some());
                contradictions += u64::from(one.is_contradictory());
            }
            // What contradicts itself is said, and never named.
            assert!(
                !named(&limits).iter().any(|one| one.is_contradictory()),
                "{seed}: {limits:#?}"
            );
        }
    }
    println!("{bounds} bounds, {contradictions} contradictions");
    assert!(bounds > 1_000 && contradictions > 10, "{bounds}, {contradictions}");
}

#[test]
fn no_processor_is_named_by_cpu_time_that_tells_nothing() {
    let (mut told, mut untold) = (0, 0);
    for (seed, study) in all() {
        for limits in limits(&study) {
            for one in &limits.uses {
                if !matches!(one.resource, Resource::Processor | Resource::Core { .. }) {
                    continue;
                }
                let of_host = |trial: &Trial| {
                    let load =
                        trial.loads.iter().find(|load| Some(&load.host) == one.host.as_ref())?;
                    Some((load.caused().0, trial.result.parts[0].series.served().operations))
                };
                let caused: Vec<(f64, u64)> = study.trials.iter().filter_map(of_host).collect();
                let ticks = caused.iter().map(|(seconds, _)| seconds).sum::<f64>() / TICK;
                let costs: Vec<f64> = caused.iter().map(|(cost, ops)| cost / *ops as f64).collect();
                let above =
                    t_interval(&costs, study.plan.design.confidence).is_some_and(|i| i.low > 0.0);
                let tells = ticks >= 20.0 && above;
                assert!(tells || !one.is_conclusive(), "{seed}: {ticks} ticks, {one:?}");
                assert!(
                    tells || !named(&limits).contains(&one),
                    "{seed}: {ticks} ticks, {limits:#?}"
                );
                (told, untold) = (told + u64::from(tells), untold + u64::from(!tells));
            }
        }
    }
    println!("{told} processors whose cost is known, {untold} whose is not");
    assert!(told > 100 && untold > 100, "{told}, {untold}");
}

#[test]
fn no_limit_is_lost_by_watching_more() {
    let (mut both, mut found, mut none) = (0, 0, 0);
    for (seed, study) in all() {
        let (less, more) = (limits(&watching_less(&study)), limits(&study));
        for less in &less {
            let more = more.iter().find(|more| more.cell == less.cell);
            let names_more = more.is_some_and(|more| !named(more).is_empty());
            match (named(less).is_empty(), names_more) {
                (false, false) => panic!("{seed}: {less:#?}, watching more {more:#?}"),
                (false, true) => both += 1,
                (true, true) => found += 1,
                (true, false) => none += 1,
            }
        }
    }
    println!("named by the client alone {both}, by watching more {found}, not named {none}");
    assert!(both > 100 && found > 100, "{both}, {found}");
}
