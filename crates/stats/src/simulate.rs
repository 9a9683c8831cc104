//! The method tried on studies whose truth is known: how often its intervals hold it, and how often
//! its verdicts are wrong, under the stop rule as shipped.

use crate::family::adjusted_confidence;
use crate::fieller::{self, Quotient};
use crate::interval::{mean, ratio_interval, t_interval};
use crate::order::{generator, shuffled};
use crate::sequential::Sequential;
use crate::synthetic::{Between, Course, Noise, WriteCache, standard_normal};
use crate::verdict::{Side, Verdict};
use crate::{correlation, outlier};
use rand_pcg::Pcg64;
use std::fmt;

/// A kind of study: two targets, some patterns, noise, and the rules of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Patterns; each gives one comparison of the family.
    pub comparisons: usize,
    /// True natural logarithm of B/A, the same for every pattern.
    pub log_ratio: f64,
    /// Windows of a trial.
    pub windows: usize,
    /// Noise of all trials.
    pub noise: Noise,
    /// What differs between blocks.
    pub between: Between,
    /// Blocks before the first look: six, or as many as two minutes have.
    pub first: usize,
    /// Margin of the verdicts; also sets the half-width that is always enough.
    pub margin: f64,
    /// Family-wise confidence.
    pub confidence: f64,
    /// Most blocks of a study.
    pub cap: u64,
}

/// What came out of many studies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Studies run.
    pub studies: u32,
    /// Seed they can be repeated with.
    pub seed: u64,
    /// Intervals computed: studies × comparisons.
    pub intervals: u32,
    /// Intervals that hold the true ratio.
    pub covered: u32,
    /// Studies in which all intervals do.
    pub all_covered: u32,
    /// Studies with at least one verdict that the truth contradicts. Where there is no difference
    /// these are the studies that call one side faster, by however little.
    pub wrong: u32,
    /// Studies with a verdict "faster" that the truth contradicts.
    pub falsely_faster: u32,
    /// Studies in which a comparison is flagged because its neighbouring blocks move together.
    pub together: u32,
    /// Studies in which something stalled.
    pub stalled: u32,
    /// Those of them in which blocks far from the others are flagged.
    pub stalls_found: u32,
    /// Studies in which nothing stalled, and blocks are flagged all the same.
    pub stalls_made_up: u32,
    /// Verdicts that were left unresolved.
    pub not_resolved: u32,
    /// Studies in which the cap came before every comparison was decided.
    pub capped: u32,
    /// Blocks run in all.
    pub blocks: u64,
}

impl Outcome {
    /// Share of intervals that hold the truth.
    pub fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.intervals)
    }

    /// Share of studies in which all intervals hold the truth.
    pub fn simultaneous_coverage(&self) -> f64 {
        f64::from(self.all_covered) / f64::from(self.studies)
    }

    /// Share of studies with a wrong verdict.
    pub fn wrong_verdicts(&self) -> f64 {
        f64::from(self.wrong) / f64::from(self.studies)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {}, {} studies: coverage {:.1}% of intervals, {:.1}% of studies; wrong verdicts \
             in {:.1}% of studies; {:.1}% of verdicts inconclusive; {:.1} blocks on average, cap \
             reached in {:.1}%",
            self.seed,
            self.studies,
            100.0 * self.coverage(),
            100.0 * self.simultaneous_coverage(),
            100.0 * self.wrong_verdicts(),
            100.0 * f64::from(self.not_resolved) / f64::from(self.intervals),
            self.blocks as f64 / f64::from(self.studies),
            100.0 * f64::from(self.capped) / f64::from(self.studies),
        )
    }
}

/// Runs `studies` synthetic studies. `None` where the setup cannot be run: no comparison, no
/// window, a margin or confidence out of range, or figures beyond the range of numbers.
pub fn run(setup: &Setup, studies: u32, seed: u64) -> Option<Outcome> {
    if setup.comparisons == 0 || setup.windows == 0 {
        return None;
    }
    let rule = Sequential {
        first: setup.first,
        half_width: Sequential::half_width_for(setup.margin)?,
        margin: Some(setup.margin),
        confidence: adjusted_confidence(setup.confidence, setup.comparisons)?,
    };
    let mut outcome = Outcome { studies, seed, ..Outcome::default() };
    for number in 0..studies {
        one(setup, &rule, &mut generator(seed, &format!("study {number}")), &mut outcome)?;
    }
    Some(outcome)
}

fn one(
    setup: &Setup,
    rule: &Sequential,
    generator: &mut Pcg64,
    outcome: &mut Outcome,
) -> Option<()> {
    let course = |_| Course::new(setup.between, generator);
    let mut courses: Vec<Course> = (0..setup.comparisons).map(course).collect();
    let mut caches = Caches::new(setup);
    let mut log_ratios = vec![Vec::new(); setup.comparisons];
    let mut decided = vec![false; setup.comparisons];
    let mut done = 0;
    while done < setup.cap && decided.contains(&false) {
        let pairs = block(setup, done as usize, &mut caches, generator)?;
        done += 1;
        for (number, decided) in decided.iter_mut().enumerate() {
            // One that is decided takes part no more.
            if !*decided {
                let values = &mut log_ratios[number];
                values.push(pairs[number] + courses[number].next(generator));
                *decided = rule.is_decided(values);
            }
        }
    }
    let (mut all_covered, mut any_wrong, mut faster) = (true, false, false);
    let (mut together, mut far) = (false, false);
    for values in &log_ratios {
        let ratio = rule.interval(values)?.exp()?;
        let covered = ratio.contains(setup.truth().exp());
        let verdict = Verdict::on(ratio, setup.margin)?;
        outcome.intervals += 1;
        outcome.covered += u32::from(covered);
        outcome.not_resolved += u32::from(matches!(verdict, Verdict::NotResolved(_)));
        all_covered &= covered;
        any_wrong |= is_wrong(verdict, setup);
        faster |= is_wrong(verdict, setup) && matches!(verdict, Verdict::Faster(_));
        let correlation = correlation::lag_1(values);
        together |= correlation::moves_together(correlation, values.len()).is_some();
        far |= outlier::far(values) > 0;
    }
    let stalled = courses.iter().any(|course| course.stalled > 0);
    outcome.falsely_faster += u32::from(faster);
    outcome.together += u32::from(together);
    outcome.stalled += u32::from(stalled);
    outcome.stalls_found += u32::from(stalled && far);
    outcome.stalls_made_up += u32::from(!stalled && far);
    outcome.all_covered += u32::from(all_covered);
    outcome.wrong += u32::from(any_wrong);
    outcome.capped += u32::from(decided.contains(&false));
    outcome.blocks += done;
    Some(())
}

/// Every pattern once on both targets, in random order; one log ratio per pattern.
fn block(
    setup: &Setup,
    number: usize,
    caches: &mut Caches,
    generator: &mut Pcg64,
) -> Option<Vec<f64>> {
    let trials = 2 * setup.comparisons;
    let mut logs = vec![0.0; trials];
    let block_noise = standard_normal(generator);
    for (position, trial) in shuffled(trials, generator).into_iter().enumerate() {
        let rate = if trial % 2 == 0 { 1.0 } else { setup.log_ratio.exp() };
        let slot = number * trials + position;
        let noise = caches.before(trial, slot, setup);
        let windows = noise.trial(rate, setup.windows, slot, block_noise, generator);
        logs[trial] = mean(&windows)?.ln();
    }
    Some(logs.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect())
}

/// How much of each trial's write cache is filled, where it is not empty before every trial.
struct Caches {
    /// Windows that it still takes, and the slot after which that was so.
    free: Vec<(f64, usize)>,
}

impl Caches {
    fn new(setup: &Setup) -> Caches {
        let windows = setup.noise.write_cache.map_or(0.0, |cache| cache.windows);
        Caches { free: vec![(windows, 0); 2 * setup.comparisons] }
    }

    /// The noise of a trial with what its cache takes by now; it is as full as can be afterwards.
    fn before(&mut self, trial: usize, slot: usize, setup: &Setup) -> Noise {
        let of_trial = |cache: WriteCache| {
            let Some(emptied) = cache.emptied else { return cache };
            let (free, since) = &mut self.free[trial];
            let idle = setup.windows as f64 * slot.saturating_sub(*since) as f64;
            let windows = (*free + emptied * idle).min(cache.windows);
            (*free, *since) = ((windows - setup.windows as f64).max(0.0), slot + 1);
            WriteCache { windows, ..cache }
        };
        Noise { write_cache: setup.noise.write_cache.map(of_trial), ..setup.noise }
    }
}

impl Setup {
    /// The mean of the log ratios that blocks would have without end.
    fn truth(&self) -> f64 {
        self.log_ratio - self.between.stalls * std::f64::consts::LN_2
    }
}

fn is_wrong(verdict: Verdict, setup: &Setup) -> bool {
    // How far ahead the side named truly is.
    let truth = setup.truth();
    let lead_of = |side| if side == Side::B { truth } else { -truth };
    match verdict {
        Verdict::Faster(lead) => lead_of(lead.faster) <= setup.margin.ln_1p(),
        Verdict::PerhapsTooLittle(lead) => lead_of(lead.faster) <= 0.0,
        Verdict::NoPracticalDifference(_) => truth.abs() > setup.margin.ln_1p(),
        Verdict::NotResolved(_) => false,
    }
}

/// CPU costs of two targets in blocks of noise that is common to both and of their own: busy minus
/// idle, which crosses zero where the noise is as large as the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Mean cost of A.
    pub mean: f64,
    /// That of B over that of A.
    pub ratio: f64,
    /// Standard deviation of what a block adds to both.
    pub block_sd: f64,
    /// Standard deviation of what a trial adds.
    pub trial_sd: f64,
    /// Blocks of a study.
    pub blocks: usize,
}

/// What came of many comparisons of costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostsOutcome {
    /// Comparisons.
    pub studies: u32,
    /// Whose interval has ends.
    pub bounded: u32,
    /// Whose set of ratios, with ends or not, holds the truth.
    pub covered: u32,
    /// Whose interval would hold it by logarithms, without the blocks that have none.
    pub covered_by_logarithms: u32,
    /// Blocks with a cost at or below zero.
    pub below_zero: u64,
}

impl fmt::Display for CostsOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(self.studies);
        write!(
            f,
            "{} comparisons: coverage {:.1}%, by logarithms {:.1}%; {:.1}% bounded; {} blocks with \
             a cost at or below zero",
            self.studies,
            share(self.covered),
            share(self.covered_by_logarithms),
            share(self.bounded),
            self.below_zero,
        )
    }
}

/// Compares costs `studies` times. `None` where an interval cannot be had.
pub fn costs(setup: &Costs, confidence: f64, studies: u32, seed: u64) -> Option<CostsOutcome> {
    let mut outcome = CostsOutcome { studies, ..CostsOutcome::default() };
    for number in 0..studies {
        let generator = &mut generator(seed, &format!("costs {number}"));
        let (mut a, mut b, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..setup.blocks {
            let common = setup.mean + setup.block_sd * standard_normal(generator);
            let mut trial = |times: f64| {
                setup.mean * (times - 1.0) + common + setup.trial_sd * standard_normal(generator)
            };
            let (of_a, of_b) = (trial(1.0), trial(setup.ratio));
            logs.extend(Some((of_b / of_a).ln()).filter(|_| of_a > 0.0 && of_b > 0.0));
            outcome.below_zero += u64::from(of_a <= 0.0 || of_b <= 0.0);
            a.push(of_a);
            b.push(of_b);
        }
        outcome.covered += u32::from(match fieller::paired(&a, &b, confidence)? {
            Quotient::Bounded(interval) => {
                outcome.bounded += 1;
                interval.contains(setup.ratio)
            }
            // No ends: what is left out lies between, or nothing is.
            Quotient::Unbounded => {
                let rest = a.iter().zip(&b).map(|(a, b)| b - setup.ratio * a);
                t_interval(&rest.collect::<Vec<_>>(), confidence)?.contains(0.0)
            }
        });
        let by_logarithms = ratio_interval(&logs, confidence);
        outcome.covered_by_logarithms +=
            u32::from(by_logarithms.is_some_and(|i| i.contains(setup.ratio)));
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 20_240_229;

    /// Everything at once: autocorrelated windows, drift, lognormal trials, a write cache.
    fn hard() -> Noise {
        Noise {
            block_sd: 0.2,
            trial_sd: 0.02,
            window_sd: 0.1,
            autocorrelation: 0.8,
            drift_per_trial: 0.001,
            write_cache: Some(WriteCache { windows: 5.0, times: 2.0, emptied: None }),
        }
    }

    fn setup(comparisons: usize, log_ratio: f64, noise: Noise) -> Setup {
        Setup {
            comparisons,
            log_ratio,
            windows: 20,
            noise,
            between: Between::default(),
            first: 6,
            margin: 0.1,
            confidence: 0.95,
            cap: 1000,
        }
    }

    fn check(name: &str, setup: Setup, studies: u32) -> Outcome {
        let outcome = run(&setup, studies, SEED).unwrap();
        println!("{name}: {outcome}");
        let coverage = outcome.simultaneous_coverage();
        assert!(coverage >= 0.95, "{name}: {outcome}");
        assert!(outcome.wrong_verdicts() <= 0.05, "{name}: {outcome}");
        outcome
    }

    #[test]
    fn coverage_with_independent_normal_noise() {
        let noise = Noise { trial_sd: 0.05, ..Noise::default() };
        let outcome = check("normal", Setup { windows: 1, ..setup(1, 0.05, noise) }, 4_000);
        assert_eq!((outcome.capped, outcome.not_resolved), (0, 0));
        assert!(outcome.blocks > 6 * 4_000, "the rule asked for more than the pilot");
    }

    #[test]
    fn coverage_with_hard_noise() {
        check("hard", setup(1, 0.2, hard()), 2_000);
    }

    #[test]
    fn coverage_where_the_cap_ends_the_run() {
        let capped = Setup { cap: 8, ..setup(1, 0.0, hard()) };
        let outcome = check("cap", capped, 2_000);
        assert!(outcome.capped > 1_000, "{outcome}");
    }

    #[test]
    fn a_family_of_five_without_a_difference() {
        // The cap keeps intervals wide, so that those that miss 1 do lead to a claim.
        let family = Setup { cap: 10, windows: 10, ..setup(5, 0.0, hard()) };
        let outcome = check("family", family, 2_000);
        assert!((outcome.coverage() - 0.99).abs() < 0.01, "{outcome}");
        // It is put to the test: an interval that promises little holds little.
        let careless = Setup { confidence: 0.1, cap: 200, margin: 0.01, ..setup(1, 0.0, hard()) };
        let careless = run(&careless, 2_000, SEED).unwrap();
        println!("careless: {careless}");
        assert!(careless.wrong_verdicts() > 0.1, "{careless}");
        assert!(careless.simultaneous_coverage() < 0.9, "{careless}");
    }

    #[test]
    fn a_large_difference_is_seen() {
        let noise = Noise { trial_sd: 0.03, ..Noise::default() };
        let outcome = run(&setup(2, 0.4, noise), 200, SEED).unwrap();
        assert!(outcome.wrong <= 10 && outcome.not_resolved == 0, "{outcome}");
    }

    /// Costs that cross zero in a third of the blocks, in every size of study; and what leaving
    /// those blocks out does.
    #[test]
    fn costs_that_cross_zero_are_covered_and_would_not_be_by_logarithms() {
        for (blocks, ratio, block_sd) in [(6, 2.0, 0.0), (12, 2.0, 0.5), (40, 0.5, 1.0)] {
            let setup = Costs { mean: 1.0, ratio, block_sd, trial_sd: 0.8, blocks };
            let outcome = costs(&setup, 0.95, 4_000, SEED).unwrap();
            println!("{blocks} blocks, ratio {ratio}: {outcome}");
            let coverage = f64::from(outcome.covered) / 4_000.0;
            assert!((0.93..=0.97).contains(&coverage), "{setup:?} {outcome}");
            assert!(outcome.below_zero > 400 * blocks as u64, "{outcome}");
        }
        // The more blocks there are, the surer logarithms are of what is wrong.
        let many = Costs { mean: 1.0, ratio: 0.5, block_sd: 0.0, trial_sd: 0.8, blocks: 100 };
        let outcome = costs(&many, 0.95, 1_000, SEED).unwrap();
        println!("100 blocks: {outcome}");
        assert!(outcome.covered_by_logarithms < 700 && outcome.covered >= 930, "{outcome}");
    }

    #[test]
    fn a_setup_that_cannot_be_run_is_refused() {
        let good = setup(1, 0.0, hard());
        assert_eq!(run(&Setup { comparisons: 0, ..good }, 1, 1), None);
        assert_eq!(run(&Setup { windows: 0, ..good }, 1, 1), None);
        assert_eq!(run(&Setup { margin: 0.0, ..good }, 1, 1), None);
        assert_eq!(run(&Setup { confidence: 1.0, ..good }, 1, 1), None);
        assert_eq!(run(&Setup { log_ratio: f64::NAN, ..good }, 1, 1), None);
    }
}
