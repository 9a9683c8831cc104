//! Changes of level in synthetic series of 12 to 60 studies: how many steps of 10% are found within one study, and how
//! many series have a false alarm. `PLIMSOLL_STUDIES` is the number of series of each kind.

use plimsoll_stats::divisive::{LEVEL, Setup, simulate};

const SEED: u64 = 40_2026;
/// Logarithm of 10% less.
const STEP: f64 = -0.105_360_515_657_826_3;

fn series() -> u32 {
    std::env::var("PLIMSOLL_STUDIES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

#[test]
#[ignore = "a simulation: make simulate"]
fn series_of_studies() {
    let series = series();
    println!("seed {SEED}, {series} series of each kind, level {LEVEL}");
    println!(
        "{:>7} {:>5} {:>6} {:>6} {:>8} {:>13}",
        "studies", "sd", "drift", "step", "found", "false alarms"
    );
    let mut missed = Vec::new();
    for studies in [12, 20, 30, 60] {
        for sd in [0.02, 0.03, 0.05] {
            for (drift, step) in [(0.0, 0.0), (0.05, 0.0), (0.1, 0.0), (0.0, STEP)] {
                let outcome = simulate(Setup { studies, sd, drift, step }, series, SEED);
                let (power, alarms) = (outcome.power(), outcome.false_alarm_rate());
                let found = if step == 0.0 { "-".to_owned() } else { format!("{power:.3}") };
                println!("{studies:>7} {sd:>5} {drift:>6} {step:>6.2} {found:>8} {alarms:>13.3}");
                // 5%, give or take two standard errors; a step in the wrong place is none.
                let error = 2.0 * (0.05 * 0.95 / f64::from(series)).sqrt();
                let is_good = step != 0.0 || alarms <= 0.05 + error;
                // Steps of few studies are found if the spread is a fifth of the step.
                let is_large = sd <= 0.02 || sd <= 0.03 && studies >= 20;
                let is_found = step == 0.0 || !is_large || power >= 0.8;
                if !is_good || !is_found {
                    missed
                        .push(format!("{studies} studies, sd {sd}, drift {drift}, step {step:.2}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
