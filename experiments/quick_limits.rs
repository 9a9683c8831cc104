//! Does what is said of limits hold of any short study? Studies drawn by seed, of copies, checks and single
//! operations, quiet and beside a busy loop, on an NFS-Ganesha of this machine, which is watched as client and server:
//! 24 quick ones and eight of three minutes. Nothing allows less than was measured, no processor is named by CPU time
//! that tells nothing, and what the client alone shows to be a limit stays one. Studies are kept; what is said of
//! them is computed each time.

use crate::kept::{Kept, Until, load_average, place, setting, words};
use crate::support::Plimsoll;
use plimsoll_explain::{Limit, Limits, Resource, Use, limits};
use plimsoll_model::{Flag, HostName, HostRole, Study, Trial};
use plimsoll_stats::interval::t_interval;
use plimsoll_stats::order::generator;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SEED: u64 = 33;
/// Quick studies, and studies of three minutes.
const CASES: [(bool, u64); 2] = [(true, 24), (false, 8)];
/// What kernels count CPU time in, and how many of them tell what an operation costs.
const TICK: f64 = 0.01;
const TICKS: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Copy,
    Check,
    Operations,
}

/// A study that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Case {
    seed: u64,
    number: u64,
    quick: bool,
    kind: Kind,
    /// Whether a thread of this machine was busy all the time.
    looped: bool,
}

impl Case {
    fn drawn(seed: u64, number: u64, quick: bool) -> Case {
        let mut draw = generator(seed, &format!("short limits {number} {quick}"));
        let kind = [Kind::Copy, Kind::Check, Kind::Operations][draw.next_u32() as usize % 3];
        Case { seed, number, quick, kind, looped: draw.next_u32() % 2 == 1 }
    }

    /// Where its study is kept.
    fn place(&self) -> PathBuf {
        let length = if self.quick { "quick" } else { "long" };
        place(&format!("short-limits-{}-{length}-{}.json", self.seed, self.number))
    }

    fn measure(&self, url: &str) -> Study {
        let command = match self.kind {
            Kind::Copy => vec!["copy", url],
            Kind::Check => vec!["check", url, "--size=64MiB"],
            Kind::Operations => vec!["ops", url],
        };
        let length = if self.quick { "--quick" } else { "--max-time=3m" };
        let seed = format!("--seed={}", self.seed + self.number);
        let program = Plimsoll::new();
        let (ended, looped) = (AtomicBool::new(false), self.looped);
        let words = [&command[..], &[length, &seed, "--host=local", "--quiet"]].concat();
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                while looped && !ended.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let ran = program.run(&words);
            ended.store(true, Relaxed);
            ran
        });
        assert!(ran.code == Some(0) || ran.code == Some(1), "{words:?}: {}", ran.err);
        program.latest()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { number, quick, kind, looped, .. } = self;
        let length = if *quick { "quick" } else { "3 min" };
        let beside = if *looped { "beside a busy loop" } else { "quiet" };
        write!(f, "{length} {number:2} {kind:?}, {beside}")
    }
}

/// The same study, as if the server's host had not been watched.
fn watching_less(study: &Study) -> Study {
    let mut less = study.clone();
    less.plan.watched.retain(|one| one.role == HostRole::Client);
    less.flags.retain(|flag| !matches!(flag, Flag::SameMachine { .. }));
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

/// Whether CPU time of a host in the trials of a cell tells what an operation cost it.
fn tells(study: &Study, limits: &Limits, host: &HostName) -> bool {
    let of_host = |trial: &Trial| {
        let load = trial.loads.iter().find(|load| load.host == *host)?;
        let operations: u64 =
            trial.result.parts.iter().map(|part| part.series.served().operations).sum();
        (operations > 0).then(|| (load.caused().0, operations as f64))
    };
    let trials = study.trials.iter().filter(|trial| trial.cell == limits.cell);
    let caused: Vec<(f64, f64)> = trials.filter_map(of_host).collect();
    let costs: Vec<f64> = caused.iter().map(|(seconds, operations)| seconds / operations).collect();
    let is_above = |confidence| t_interval(&costs, confidence).is_none_or(|cost| cost.low > 0.0);
    let ticks = caused.iter().map(|(seconds, _)| seconds).sum::<f64>() / TICK;
    ticks >= TICKS && is_above(study.plan.design.confidence)
}

/// How often what has to hold was tried, and how often it did not hold.
#[derive(Default)]
struct Broken {
    limits: u32,
    named: u32,
    bounds: (u32, u32),
    processors: (u32, u32),
    watching_more: (u32, u32),
    contradictions: u32,
}

impl Broken {
    fn add(&mut self, study: &Study) {
        let less = limits(&watching_less(study));
        for found in limits(study) {
            let bounds = found.uses.iter().filter_map(|one| one.alone_per_second);
            for most in bounds {
                count(&mut self.bounds, most < found.per_second * (1.0 - 1e-9));
            }
            for one in named(&found) {
                let is_processor =
                    matches!(one.resource, Resource::Processor | Resource::Core { .. });
                if let Some(host) = one.host.as_ref().filter(|_| is_processor) {
                    count(&mut self.processors, !tells(study, &found, host));
                }
            }
            let by_less = less.iter().find(|less| less.cell == found.cell);
            if by_less.is_some_and(|less| !named(less).is_empty()) {
                count(&mut self.watching_more, named(&found).is_empty());
            }
            self.limits += 1;
            self.named += u32::from(!named(&found).is_empty());
            self.contradictions += u32::from(found.uses.iter().any(Use::is_contradictory));
        }
    }

    fn all(&self) -> u32 {
        self.bounds.1 + self.processors.1 + self.watching_more.1
    }
}

fn count((tried, broken): &mut (u32, u32), is_broken: bool) {
    *tried += 1;
    *broken += u32::from(is_broken);
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |(tried, broken): (u32, u32)| words(broken, tried);
        write!(
            f,
            "{} of {} limits named; below what was measured {}; processors by CPU time that tells nothing {}; lost \
             by watching more {}; contradictions {}",
            self.named,
            self.limits,
            words(self.bounds),
            words(self.processors),
            words(self.watching_more),
            self.contradictions
        )
    }
}

#[test]
#[ignore = "takes an hour: make measure-quick-limits"]
fn measure_quick_limits() {
    let stage = enter_or_skip!(Need::Ganesha);
    let (seed, until) = (setting("PLIMSOLL_SEED", SEED), Until::now());
    let mut kept = Kept::<Case>::open("short-limits.jsonl");
    let mut server = None;
    let mut all = Broken::default();
    for (quick, wanted) in CASES {
        for number in 0..setting("PLIMSOLL_CASES", wanted).min(wanted) {
            let case = Case::drawn(seed, number, quick);
            if !kept.cases.contains(&case) {
                if until.is_over() {
                    break;
                }
                let server = server.get_or_insert_with(|| {
                    let config = GaneshaConfig::one(Export::directory("films"));
                    Ganesha::start(&stage, config).expect("a server")
                });
                let study = serde_json::to_string(&case.measure(&server.url("films")));
                fs::write(case.place(), study.expect("JSON")).expect("it is kept");
                kept.add(case);
            }
            let text = fs::read_to_string(case.place()).expect("the study was kept");
            let mut own = Broken::default();
            let study = serde_json::from_str(&text).expect("a study");
            own.add(&study);
            all.add(&study);
            println!("{case}: {own}");
        }
    }
    println!("all: {all}; load average at the end: {}", load_average());
    assert_eq!(all.all(), 0, "{all}");
}
