//! Runs that are killed, and runs whose server loses its power, at moments drawn by seed over their whole
//! course: do they end with the trials of an undisturbed run of the same seed, and is the server as it was?

use crate::kept::{Kept, Until, setting, words};
use crate::support::beds::Beds;
use crate::support::server_lab::{State, journals, state, up};
use crate::support::{Plimsoll, ended};
use plimsoll_model::{Cell, Ended, Outcome, Study};
use plimsoll_testkit::{Need, available};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

const SEED: u64 = 1616;
/// How often a run is gone on with before that is given up.
const TRIES: u32 = 6;

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum What {
    /// `kill -9` of the program.
    Kill,
    /// The server's power is cut and given back.
    Reset,
}

/// One run, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Case {
    /// When, as a share of an undisturbed run.
    moment: f64,
    /// What it was doing.
    doing: String,
    /// Trials that it had kept.
    trials: usize,
    /// Whether a setting was changed then.
    changed: bool,
    /// How often it was gone on with.
    continued: u32,
    /// Trials that failed and were not measured again, and why.
    failed: Vec<String>,
    /// What was not as it must be; empty: all is.
    wrong: Vec<String>,
}

/// The bed, the plan, and an undisturbed run of it.
struct Bed<'a> {
    beds: &'a Beds,
    plan: String,
    found: State,
    /// How long it takes at most.
    course: Duration,
    trials: Vec<(Option<u32>, Cell)>,
}

fn trials(study: &Study) -> Vec<(Option<u32>, Cell)> {
    let whole = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete);
    whole.map(|trial| (trial.block, trial.cell)).collect()
}

impl<'a> Bed<'a> {
    fn new(beds: &'a Beds) -> Bed<'a> {
        let (plan, begun) = (up(beds), Instant::now());
        let mut bed =
            Bed { beds, plan, found: state(beds), course: Duration::ZERO, trials: Vec::new() };
        beds.program.run(&bed.words()).expect(0);
        bed.course = begun.elapsed();
        let study = beds.program.latest();
        bed.trials = trials(&study);
        assert_eq!((study.ended, bed.trials.len()), (Ended::Done, 8 * 4));
        bed
    }

    fn words(&self) -> [String; 5] {
        let seed = format!("--seed={SEED}");
        ["run", &self.plan, "--var=blocks=4", &seed, "--quiet"].map(String::from)
    }

    /// `None` where it had ended before that moment, as fewer others work on this machine by now.
    fn measure(&mut self, what: What, moment: f64) -> Option<Case> {
        let program = &self.beds.program;
        let latest = || program.latest().id;
        let before = latest();
        let (mut child, begun) = (program.start(&self.words()), Instant::now());
        let at = self.course.mul_f64(moment);
        while begun.elapsed() < at {
            if child.try_wait().expect("a child").is_some() {
                self.course = begun.elapsed();
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let doing = doing(program);
        if what == What::Kill {
            child.kill().expect("it runs, or has just ended");
            child.wait().expect("it ends");
        }
        let (changed, kept) = (state(self.beds) != self.found, program.latest());
        let kept = if kept.id == before { 0 } else { kept.trials.len() };
        let mut continued = 0;
        let mut code = None;
        if what == What::Reset {
            while self.beds.lab(&["reset", "run/server"]).code != Some(0) {}
            code = ended(child).code;
        }
        let is_done =
            || program.exported("latest").is_some_and(|s| s.id != before && s.ended == Ended::Done);
        while code != Some(0) && !is_done() && continued < TRIES {
            continued += 1;
            code = match latest() == before {
                true => program.run(&self.words()).code,
                false => program.run(&["run", "--continue", "latest", "--quiet"]).code,
            };
        }
        let study = program.latest();
        let failed = study.trials.iter().filter_map(|trial| match &trial.result.outcome {
            Outcome::Failed { failure, .. } => Some(format!("{:?} {failure}", trial.block)),
            Outcome::Complete | Outcome::Stopped | Outcome::Void { .. } => None,
        });
        let failed = failed.collect();
        let wrong = self.wrong(&study);
        // What a killed runner has left on the server lies there for ever.
        let target = "nfs://server/srv/films?uid=0&gid=0";
        program.run(&["clean", "--on=lab://run/client", target]);
        Some(Case { moment, doing, trials: kept, changed, continued, failed, wrong })
    }

    /// What is not as after an undisturbed run.
    fn wrong(&self, study: &Study) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut expect = |right: bool, what: String| wrong.extend((!right).then_some(what));
        expect(study.ended == Ended::Done, format!("it ended: {:?}", study.ended));
        let found = trials(study);
        let lacks: Vec<_> = self.trials.iter().filter(|trial| !found.contains(trial)).collect();
        expect(lacks.is_empty(), format!("{} trials are missing: {lacks:?}", lacks.len()));
        expect(found == self.trials, "its trials are others, or in another order".to_owned());
        expect(state(self.beds) == self.found, format!("settings: {:?}", state(self.beds)));
        let left = journals(self.beds, &self.beds.program);
        expect(left == (String::new(), Vec::new()), format!("journals: {left:?}"));
        wrong
    }
}

/// The last that a run has published of itself.
fn doing(program: &Plimsoll) -> String {
    let feeds = fs::read_dir(program.home().join("plimsoll")).into_iter().flatten().flatten();
    let feeds = feeds.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"));
    let newest = feeds.max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok());
    let text = newest.and_then(|entry| fs::read_to_string(entry.path()).ok()).unwrap_or_default();
    let mut news = text.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line["news"].as_str()?.to_owned())
    });
    news.next_back().unwrap_or_else(|| "reaching hosts".to_owned())
}

fn measure(what: What, name: &str, count: u64) {
    if !available(Need::Machines) {
        return;
    }
    let count = setting("PLIMSOLL_CASES", count) as usize;
    let (beds, until) = (Beds::with_runner(), Until::now());
    let mut kept = Kept::<Case>::open(name);
    // The same moments however often it was started.
    let mut random = Pcg64::seed_from_u64(SEED + what as u64);
    let moments: Vec<f64> = (0..count).map(|_| random.random_range(0.0..1.0)).collect();
    if kept.cases.len() < count {
        let mut bed = Bed::new(&beds);
        for moment in moments.into_iter().skip(kept.cases.len()) {
            if until.is_over() {
                break;
            }
            let case = loop {
                if let Some(case) = bed.measure(what, moment) {
                    break case;
                }
            };
            println!("{what:?} {} of {count}: {case:?}", kept.cases.len() + 1);
            kept.add(case);
        }
    }
    let cases = kept.cases.len() as u32;
    let count = |is: &dyn Fn(&Case) -> bool| {
        words(kept.cases.iter().filter(|case| is(case)).count() as u32, cases)
    };
    println!(
        "{what:?}: all as in an undisturbed run {}; a setting was changed at the moment {}, and just being \
         changed {}; went on without --continue {}; with failed trials beside {}",
        count(&|case| case.wrong.is_empty()),
        count(&|case| case.changed),
        count(&|case| case.doing == "setting"),
        count(&|case| case.continued == 0),
        count(&|case| !case.failed.is_empty()),
    );
    assert!(kept.cases.iter().all(|case| case.wrong.is_empty()), "not all are");
}

#[test]
#[ignore = "takes half an hour: make measure-run"]
fn measure_run_killed() {
    measure(What::Kill, "run-killed.jsonl", 20);
}

#[test]
#[ignore = "takes half an hour: make measure-run"]
fn measure_run_reset() {
    measure(What::Reset, "run-reset.jsonl", 5);
}
