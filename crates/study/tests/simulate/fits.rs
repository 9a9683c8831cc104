//! The cost model on made-up measurements whose costs and noise are drawn: do its intervals hold what they
//! promise?

use super::setting;
use plimsoll_stats::fit::simulate::{Setup, run};
use plimsoll_stats::order::{generator, sub_seed};
use rand_pcg::rand_core::Rng;

/// Measurements with the same costs and noise.
const EACH: u32 = 500;

/// 93–97% of the intervals hold their cost, of costs that lie more than three standard errors from zero;
/// near zero at least 93%. The model, which is true, is found inadequate in 1%, and in a few more where
/// some cells are much noisier than others.
#[test]
fn costs_are_covered() {
    let studies = setting("PLIMSOLL_STUDIES", 40);
    let seed = setting("PLIMSOLL_SEED", 2026);
    let (mut clear, mut near_zero, mut inadequate) = (Vec::new(), Vec::new(), Vec::new());
    let mut means = Vec::new();
    for number in 0..studies {
        let random = &mut generator(seed, &format!("costs {number}"));
        let mut uniform =
            |low: f64, high: f64| low + (high - low) * random.next_u64() as f64 / u64::MAX as f64;
        let blocks = [3, 6, 12, 24][number as usize % 4];
        let (block_sd, cell_sd) = (uniform(0.0, 0.2), uniform(0.01, 0.12));
        let mut setup = Setup::of_home(blocks, block_sd, cell_sd, 12.9e-3).expect("four sets");
        for (_, cost) in &mut setup.costs {
            *cost *= 10f64.powf(uniform(-1.5, 1.0));
        }
        for sd in &mut setup.cell_sd {
            *sd *= uniform(0.5, 2.0);
        }
        let seed = sub_seed(seed, &format!("measurements {number}"));
        let outcome = run(&setup, 0.95, EACH, seed).expect("some fit");
        for cost in outcome.costs {
            let side = if cost.standard_errors > 3.0 { &mut clear } else { &mut near_zero };
            side.push(cost.coverage);
            // Of one setup within five standard errors of its number of measurements.
            let slack = 5.0 * (0.05f64 * 0.95 / f64::from(EACH)).sqrt();
            assert!(cost.coverage > 0.95 - slack, "{number}: {cost:?}");
        }
        means.push(outcome.means);
        inadequate.push(outcome.inadequate);
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    println!(
        "costs: seed {seed}, {studies} setups of {EACH} measurements: {} costs covered {:.2}%, {} near \
         zero {:.2}%, mean times {:.2}%; inadequate {:.2}%",
        clear.len(),
        100.0 * mean(&clear),
        near_zero.len(),
        100.0 * mean(&near_zero),
        100.0 * mean(&means),
        100.0 * mean(&inadequate)
    );
    assert!(clear.len() as u64 > studies && !near_zero.is_empty());
    assert!((0.93..=0.97).contains(&mean(&clear)) && mean(&near_zero) >= 0.93);
    assert!((0.93..=0.97).contains(&mean(&means)) && mean(&inadequate) < 0.03);
}
