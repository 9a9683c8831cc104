//! Limits of thousands of servers of any kind.

use crate::support::servers::{Truth, study, uniform};
use crate::{UNSATURATED, named, one};
use plimsoll_model::*;

/// Any demands over two orders of magnitude, at any depth.
fn any(seed: u64) -> Truth {
    let demand = |of| 10e-6 * 100_f64.powf(uniform(seed, of));
    Truth {
        depth: [1, 2, 4, 8, 16, 32][(uniform(seed, 9) * 6.0) as usize],
        driver: demand(0),
        server: demand(1),
        one_core: uniform(seed, 7) < 0.5,
        disk: demand(2),
        link: demand(3),
        round_trip: demand(4),
        hidden: if uniform(seed, 8) < 0.3 { demand(5) } else { 0.0 },
        at_a_time: 1.0,
        idle: 0.3 * uniform(seed, 6),
        seconds: 2.0,
    }
}

/// What doubling each truly brings, the hidden one last.
fn gains(truth: Truth) -> Vec<(&'static str, f64)> {
    let base = truth.carries(truth.depth);
    let half = |change: fn(&mut Truth)| {
        let mut doubled = truth;
        change(&mut doubled);
        doubled.carries(truth.depth) / base - 1.0
    };
    vec![
        ("driver", half(|t| t.driver /= 2.0)),
        (if truth.one_core { "core" } else { "processor" }, half(|t| t.server /= 2.0)),
        ("disk", half(|t| t.disk /= 2.0)),
        ("link", half(|t| t.link /= 2.0)),
        ("round trip", half(|t| t.round_trip /= 2.0)),
        ("waiting", half(|t| t.hidden /= 2.0)),
    ]
}

/// Of two thousand servers of any kind, with figures that are off by some percent, hardly any is called
/// limited by what is not its limit, and most that have one have it named.
#[test]
fn limits_of_any_server_are_named_or_left_open() {
    let (mut clear, mut right, mut wrong, mut named_any) = (0_u64, 0_u64, 0_u64, 0_u64);
    let setting = |name: &str, or: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(or)
    };
    let (count, seeds) = (setting("PLIMSOLL_STUDIES", 2000), setting("PLIMSOLL_SEED", 0));
    for seed in (0..count).map(|number| seeds.wrapping_mul(1 << 32).wrapping_add(number)) {
        let truth = any(seed);
        let mut measured = study(truth, true);
        for (number, trial) in measured.trials.iter_mut().enumerate() {
            let off = |of: u64| 1.0 + 0.06 * (uniform(seed, 100 + 10 * number as u64 + of) - 0.5);
            let rate = trial.result.parts[0].quantities.get_mut(&Metric::all(Measure::IOPS));
            *rate.unwrap() *= off(0);
            for load in &mut trial.loads {
                load.disks.iter_mut().for_each(|disk| disk.busy_seconds *= off(1));
                load.cpu.system *= off(2);
            }
        }
        let mut truly = gains(truth);
        truly.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(first, most), (_, next), ..] = truly[..] else { unreachable!() };
        let said = named(&one(&measured));
        let said = said.trim_start_matches(UNSATURATED);
        let stands_out = most > 0.1 && most > 2.0 * next;
        clear += u64::from(stands_out);
        right += u64::from(stands_out && said == first);
        let single = ["driver", "processor", "core", "disk", "link", "round trip"].contains(&said);
        named_any += u64::from(single);
        // Wrong is what something else would have helped half as much again.
        let of_said = truly.iter().find(|(name, _)| *name == said).map_or(0.0, |(_, gain)| *gain);
        wrong += u64::from(single && of_said * 1.5 < most);
    }
    println!(
        "{count} servers: of {clear} with a clear limit {right} named; of {named_any} named {wrong} wrong"
    );
    assert!(4 * clear > count, "{clear}");
    assert!(10 * right > 9 * clear, "{right} of {clear}");
    assert!(50 * wrong < named_any, "{wrong} of {named_any}");
}
