//! Whole studies on a scripted share: do the intervals hold what they promise, under the stop rule
//! as shipped? Every operation goes through lane, driver, runner, study and explain.
//!
//! `PLIMSOLL_STUDIES` sets the number of studies of each scenario, `PLIMSOLL_SEED` the seed. Without the former `cargo
//! test` runs the first few of those that `make test` runs.

#[path = "simulate/fits.rs"]
mod fits;
#[path = "simulate/rule.rs"]
mod rule;
#[path = "simulate/zones.rs"]
mod zones;

use plimsoll_explain::Claim;
use plimsoll_load::{MockShare, Reply, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Design, DirectoryTarget, Ended, Job, Length, Nanos, Part, Pattern, PatternJob, Plan, Rule,
    Study, StudyId, Target, Workload,
};
use plimsoll_record::MemoryStore;
use plimsoll_runner::{Runner, RunnerOptions};
use plimsoll_stats::order::{generator, sub_seed};
use plimsoll_stats::synthetic::{ar1, standard_normal};
use plimsoll_study::{Conduct, NoSettings, conduct};
use plimsoll_testkit::thorough;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The service time of an undisturbed operation, in seconds.
const SERVICE: f64 = 20e-3;
const TRIAL_SECONDS: f64 = 1.0;
const PATTERNS: [Pattern; 2] = [Pattern::SequentialRead, Pattern::RandomRead];
const MARGIN: f64 = 0.05;

/// How a scripted server behaves beyond its mean.
#[derive(Clone, Copy, Default)]
struct Disturbance {
    /// Standard deviation of the slow, autocorrelated part of the log service time.
    slow: f64,
    /// Change of the log service time over a study of 100 s.
    drift: f64,
    /// Standard deviation of the log service time from operation to operation.
    operation: f64,
    /// Whether the first 30% of every trial run at twice the rate.
    write_cache: bool,
    /// Standard deviation of a slow part that each server has for itself: what neighbouring blocks
    /// have in common.
    own: f64,
    /// Share of its trials in which the second server takes twice as long.
    stalls: f64,
}

/// Autocorrelation of the slow part from second to second.
const AUTOCORRELATION: f64 = 0.8;
/// That of what each server has for itself: 0.8 from block to block.
const OWN_AUTOCORRELATION: f64 = 0.95;

struct Outcome {
    /// Whether every interval of the family holds the true ratio.
    covered: bool,
    /// Verdicts "faster", right or wrong.
    faster: bool,
    /// Intervals that exclude 1.
    excludes_one: bool,
    blocks: usize,
    /// Whether a claim is flagged because its neighbouring blocks move together.
    together: bool,
    /// Whether something stalled, and whether a claim is flagged for blocks far from the others.
    stalled: (bool, bool),
}

/// One whole study of two servers, the second `ratio` times as fast.
fn one_study(seed: u64, ratio: f64, disturbance: Disturbance) -> Outcome {
    let clock = Arc::new(VirtualClock::new());
    let world = Arc::new(ar1(4000, AUTOCORRELATION, &mut generator(seed, "world")));
    let stalled = Arc::new(AtomicBool::new(false));
    let shares = [1.0, ratio].into_iter().enumerate().map(|(target, speed)| {
        let world = world.clone();
        let random = Mutex::new(generator(seed, &format!("target {target}")));
        let own = ar1(4000, OWN_AUTOCORRELATION, &mut generator(seed, &format!("own {target}")));
        let trial = Mutex::new(TrialNow::default());
        let stalled = stalled.clone();
        let script = move |_: &_, at: Nanos| {
            let noise = standard_normal(&mut random.lock().expect("no panic") as &mut Pcg64);
            let second = at.0 as f64 / 1e9;
            let slow = world[(second as usize).min(world.len() - 1)];
            let mut log = disturbance.slow * slow
                + disturbance.own * own[(second as usize).min(own.len() - 1)]
                + disturbance.drift * second / 100.0
                + disturbance.operation * noise;
            let share = if target == 1 { disturbance.stalls } else { 0.0 };
            let now = TrialNow::at(&mut trial.lock().expect("no panic"), at, share, seed);
            if disturbance.write_cache && at.since(now.begun).as_secs_f64() < 0.3 * TRIAL_SECONDS {
                log -= 2f64.ln();
            }
            if now.stalls {
                stalled.store(true, Ordering::Relaxed);
                log += 2f64.ln();
            }
            Reply::After(Duration::from_secs_f64(SERVICE / speed * log.exp()))
        };
        let share = MockShare::new(clock.clone(), NonZeroU16::MIN, script);
        Arc::new(share) as Parts
    });
    let (study, claims) = conducted(seed, clock.clone(), shares.collect(), PATTERNS);
    let intervals: Vec<_> = claims.iter().filter_map(|c| c.ratio.interval).collect();
    Outcome {
        covered: intervals.iter().all(|i| i.contains(ratio)),
        faster: claims
            .iter()
            .any(|c| matches!(c.verdict, Some(plimsoll_stats::verdict::Verdict::Faster(_)))),
        excludes_one: intervals.iter().any(|i| !i.contains(1.0)),
        together: claims.iter().any(|claim| claim.moves_together().is_some()),
        stalled: (stalled.load(Ordering::Relaxed), claims.iter().any(|claim| claim.far > 0)),
        blocks: study.trials.iter().filter_map(|t| t.block).max().map_or(0, |b| b as usize + 1),
    }
}

/// A share of a study.
type Parts = Arc<dyn plimsoll_runner::Share>;

/// A whole study of these shares under the rule as shipped, and what it claims.
fn conducted(
    seed: u64,
    clock: Arc<VirtualClock>,
    shares: Vec<Parts>,
    patterns: [Pattern; 2],
) -> (Study, Vec<Claim>) {
    let (id, plan) =
        (StudyId(format!("{:08x}", seed as u32)), plan(sub_seed(seed, "plan"), patterns));
    let stop = Arc::new(AtomicBool::new(false));
    let options = RunnerOptions::of_plan(
        &plan,
        id.clone(),
        0,
        plimsoll_model::Deadline::new(clock.clone(), stop.clone()),
    );
    let options = RunnerOptions { live: false, ..options };
    let study = conduct(Conduct {
        id,
        started_unix_seconds: 0,
        version: "simulated".into(),
        plan,
        runner: Box::new(Runner::new(options, shares)),
        settings: Box::new(NoSettings),
        hosts: Vec::new(),
        flags: Vec::new(),
        begun: plimsoll_model::Clock::now(&*clock),
        clock,
        stop,
        store: &MemoryStore::default(),
        observer: &mut |_| {},
    })
    .expect("a scripted study runs");
    assert!(matches!(study.ended, Ended::Done | Ended::CapReached), "{:?}", study.ended);
    let findings = plimsoll_explain::findings(&study);
    let claims: Vec<_> =
        findings.workloads.iter().flat_map(|w| &w.pairs).filter_map(|p| p.claim).collect();
    assert_eq!(claims.len(), patterns.len());
    (study, claims)
}

/// The trial under way on one server: a new one begins where the last seen is over.
#[derive(Clone, Copy, Default)]
struct TrialNow {
    begun: Nanos,
    ends: Nanos,
    stalls: bool,
}

impl TrialNow {
    /// The trial at a time; a new one stalls in such a share of all.
    fn at(last: &mut TrialNow, at: Nanos, share: f64, seed: u64) -> TrialNow {
        if at >= last.ends {
            let mut draw = generator(seed, &format!("stalls {}", at.0));
            *last = TrialNow {
                begun: at,
                ends: at + Duration::from_secs_f64(TRIAL_SECONDS),
                stalls: (draw.next_u64() as f64) < share * u64::MAX as f64,
            };
        }
        *last
    }
}

fn plan(seed: u64, patterns: [Pattern; 2]) -> Plan {
    let workload = |pattern| {
        let job = Job::Pattern(PatternJob::new(pattern, Bytes(64 * KIB), Bytes(MIB)));
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        Workload::new(part, Length::For { seconds: TRIAL_SECONDS, warm_up_seconds: 0.1 })
    };
    let target = |name: &str| Target::Directory(DirectoryTarget { path: name.into() }).into();
    let design = Design {
        rule: Rule::Sequential {
            first: 6,
            half_width: (1.0 + MARGIN).ln() / 2.0,
            at_least_seconds: 120.0,
        },
        baseline_seconds: 0.0,
        margin: MARGIN,
        seed,
        ..Design::default()
    };
    Plan::new(vec![target("a"), target("b")], patterns.map(workload).to_vec(), design)
}

struct Tally {
    studies: usize,
    covered: f64,
    faster: f64,
    excludes_one: f64,
    blocks: f64,
    together: f64,
    /// Studies in which something stalled, and the share of them that is flagged.
    stalled: (usize, f64),
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The number of studies that was asked for; else the usual one, or few where a part of what takes long is done.
fn number_of_studies(few: usize, usual: usize) -> usize {
    match std::env::var("PLIMSOLL_STUDIES").ok().and_then(|v| v.parse().ok()) {
        Some(asked) => asked,
        None => thorough::some_of(few, usual, "studies of each scenario"),
    }
}

/// The share of the studies that more must be right than: of a few one may be wrong by chance.
fn least(studies: usize) -> f64 {
    if studies < 12 { 0.5 } else { 0.8 }
}

/// Runs the studies of a scenario on two threads and prints what came of them.
fn scenario(name: &str, ratio: f64, disturbance: Disturbance) -> Tally {
    // Those that go on to the cap take longest.
    let is_long = disturbance.own > 0.0 || disturbance.stalls > 0.0;
    let (few, usual) = if is_long { (3, 12) } else { (4, 40) };
    let studies = number_of_studies(few, usual);
    let seed = setting("PLIMSOLL_SEED", 2026);
    let run = |from: usize| -> Vec<Outcome> {
        (from..studies)
            .step_by(2)
            .map(|i| one_study(sub_seed(seed, &format!("{name} {i}")), ratio, disturbance))
            .collect()
    };
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let mut all = run(0);
        all.extend(other.join().expect("no study panics"));
        all
    });
    let share = |f: fn(&Outcome) -> bool| {
        outcomes.iter().filter(|o| f(o)).count() as f64 / outcomes.len() as f64
    };
    let tally = Tally {
        studies: outcomes.len(),
        covered: share(|o| o.covered),
        faster: share(|o| o.faster),
        excludes_one: share(|o| o.excludes_one),
        blocks: outcomes.iter().map(|o| o.blocks as f64).sum::<f64>() / outcomes.len() as f64,
        together: share(|o| o.together),
        stalled: {
            let stalled = outcomes.iter().filter(|o| o.stalled.0).count();
            let found = outcomes.iter().filter(|o| o.stalled.0 && o.stalled.1).count();
            (stalled, found as f64 / stalled.max(1) as f64)
        },
    };
    println!(
        "{name}: seed {seed}, {} studies, true ratio {ratio}: family covered {:.1}%, \
         \"faster\" in {:.1}%, 1 excluded in {:.1}%, {:.1} blocks on average; flagged: together \
         {:.1}%, stalls {:.1}% of {}",
        tally.studies,
        tally.covered * 100.0,
        tally.faster * 100.0,
        tally.excludes_one * 100.0,
        tally.blocks,
        tally.together * 100.0,
        tally.stalled.1 * 100.0,
        tally.stalled.0
    );
    tally
}

/// Asserts the method's bounds, widened by three standard errors of the number of studies.
fn assert_promises(tally: &Tally, ratio: f64) {
    let slack = |p: f64| 3.0 * (p * (1.0 - p) / tally.studies as f64).sqrt();
    assert!(tally.covered >= 0.95 - slack(0.95), "coverage {}", tally.covered);
    if ratio == 1.0 {
        assert!(tally.faster <= 0.05 + slack(0.05), "false verdicts {}", tally.faster);
    }
}

const NOISY: Disturbance = Disturbance {
    slow: 0.015,
    drift: 0.1,
    operation: 0.1,
    write_cache: false,
    own: 0.0,
    stalls: 0.0,
};

#[test]
fn no_true_difference() {
    let tally = scenario("no difference, AR(1) 0.8 + drift + lognormal", 1.0, NOISY);
    assert_promises(&tally, 1.0);
    // Two minutes of trials of a second.
    assert!(tally.blocks >= 28.0, "{} blocks", tally.blocks);
}

/// So much noise that the stop rule asks for several times the pilot.
#[test]
fn a_noisy_server() {
    let noisy = Disturbance { slow: 0.05, drift: 0.3, operation: 0.25, ..NOISY };
    let tally = scenario("no difference, much more noise", 1.0, noisy);
    assert_promises(&tally, 1.0);
    assert!(tally.blocks > 35.0, "{} blocks: the stop rule was not put to the test", tally.blocks);
}

#[test]
fn a_true_difference_is_found() {
    let tally = scenario("20% faster, AR(1) 0.8 + drift + lognormal", 1.2, NOISY);
    assert_promises(&tally, 1.2);
    assert!(tally.faster > least(tally.studies), "power {}", tally.faster);
}

/// CPU costs, busy minus idle, that are zero and below in many blocks: Fieller's intervals of their
/// ratios hold what they promise, whatever a block adds to both.
#[test]
fn costs_that_cross_zero() {
    let studies = setting("PLIMSOLL_STUDIES", 60).max(60) as u32 * 100;
    let seed = setting("PLIMSOLL_SEED", 2026);
    for (blocks, ratio, block_sd, trial_sd) in
        [(6, 1.0, 0.2, 0.5), (6, 2.0, 0.0, 1.0), (20, 0.5, 1.0, 0.8), (100, 3.0, 0.5, 2.0)]
    {
        let setup =
            plimsoll_stats::simulate::Costs { mean: 1.0, ratio, block_sd, trial_sd, blocks };
        let outcome =
            plimsoll_stats::simulate::costs(&setup, 0.95, studies, seed).expect("it can be run");
        println!("costs, ratio {ratio}, {blocks} blocks: {outcome}");
        let coverage = f64::from(outcome.covered) / f64::from(studies);
        assert!((0.93..=0.97).contains(&coverage), "{setup:?} {outcome}");
        assert!(outcome.below_zero > 0, "{outcome}");
    }
}

#[test]
fn write_cache_phases() {
    let cached = Disturbance { write_cache: true, ..NOISY };
    let tally = scenario("no difference, with write-cache phases", 1.0, cached);
    assert_promises(&tally, 1.0);
}

/// Neighbouring blocks of which one is as the next at 0.8: the figures are printed, and flagged.
#[test]
fn blocks_that_move_together_are_flagged() {
    let own = Disturbance { own: 0.05, ..NOISY };
    let tally = scenario("no difference, servers that are slow in turn", 1.0, own);
    assert!(tally.together > least(tally.studies), "{} flagged", tally.together);
}

#[test]
fn stalls_are_flagged() {
    let stalling = Disturbance { stalls: 0.07, ..NOISY };
    let tally = scenario("no difference but for stalls", 1.0, stalling);
    assert!(tally.stalled.0 * 10 > tally.studies * 9, "{} stalled", tally.stalled.0);
    assert!(tally.stalled.1 > least(tally.studies), "{} flagged", tally.stalled.1);
}
