//! What `plimsoll trace` finds again, and what is left of it after a kill: `make measure-trace`.
//!
//! `PLIMSOLL_MOMENTS` sets how many kills there are, and `PLIMSOLL_SEED` when.

use super::super::support::lab_file::LabFile;
use super::super::support::{Plimsoll, probes, signal, wait_until_within};
use super::saved::Machines;
use super::settings::moments;
use super::trace::{expand_buffer, figures, rules, state};
use plimsoll_model::kernel_trace::{TraceJob, block_kind};
use plimsoll_model::{Ended, Metric, Outcome};
use plimsoll_testkit::Need;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::time::Duration;

const ROUTER: &str = "lab://trace/router";
/// Share of the calls that should run the same number of functions of netfilter.
const WANTED: f64 = 0.95;
/// What a host that is cut off waits before it resets its tracer by itself, and some time for it.
const TIMER: Duration = Duration::from_secs(300);

/// A router, and a host to send to.
fn up() -> Option<Machines> {
    if !plimsoll_testkit::available(Need::Machines) {
        return None;
    }
    let probes = probes().to_str().expect("letters").to_owned();
    let machines = Machines::with(Plimsoll::new().with("PLIMSOLL_PROBES", &probes));
    let lab = LabFile::new().machine("router", "256MiB").machine("other", "256MiB");
    machines.beds.up("trace", &lab.link("lan", ["router", "other"]));
    expand_buffer(&machines.beds);
    Some(machines)
}

/// Rulesets, and the functions of netfilter that each adds to those without rules, as counted by hand.
fn rulesets() -> [(&'static str, String, std::ops::RangeInclusive<f64>); 5] {
    let table = |chain: &str| {
        format!(
            "table ip t {{\n chain c {{\n  type filter hook output priority 0;\n{chain} }}\n}}\n"
        )
    };
    let masquerade = "table ip t {\n chain c {\n  type nat hook postrouting priority 100;\n  masquerade\n }\n}\n";
    [
        ("empty", table(""), 2.0..=4.0),
        ("ten", rules("output", 10), 12.0..=14.0),
        ("hundred", rules("output", 100), 102.0..=104.0),
        ("conntrack", table("  ct state established,related accept\n"), 12.0..=24.0),
        ("masquerade", masquerade.to_owned(), 12.0..=26.0),
    ]
}

#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_functions_of_netfilter() {
    let Some(machines) = up() else { return };
    let beds = &machines.beds;
    let mut set = "--set=nft-ruleset=none".to_owned();
    for (name, text, _) in rulesets() {
        let file = beds.program.home().join(format!("{name}.nft"));
        std::fs::write(&file, text).unwrap();
        set.push_str(&format!(",{}", file.display()));
    }
    let words = ["trace", ROUTER, "--payload=400", &set, "--repeats=2", "--max-time=1h", "--quiet"];
    eprintln!("{}", beds.program.run(&words).expect(0).out);
    let study = beds.program.latest();
    assert_eq!(study.ended, Ended::Done);
    assert!(study.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let of = |measure| Metric::of(block_kind("netfilter").unwrap(), measure);
    let mut wrong = Vec::new();
    let without = figures(&study, 0, of(TraceJob::FUNCTIONS));
    let known = rulesets();
    let all = std::iter::once(("none", &(0.0..=0.0)));
    let all = all.chain(known.iter().map(|(name, _, more)| (*name, more)));
    for (setting, (name, expected)) in (0..).zip(all) {
        let counts = figures(&study, setting, of(TraceJob::FUNCTIONS));
        let same = figures(&study, setting, of(TraceJob::SAME));
        eprintln!("{name}: {counts:?} functions of netfilter, shares of the calls {same:?}");
        let differs = |count: &f64| !expected.contains(&(count - without[0]));
        if counts.iter().any(differs) || same.iter().any(|share| *share < WANTED) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "other numbers or shares than wanted: {wrong:?}");
}

/// At random moments of a trace the program is killed. `plimsoll restore` or, each fifth time, the timer of the host
/// resets the tracer.
#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_what_killed_traces_changed() {
    let Some(machines) = up() else { return };
    let beds = &machines.beds;
    let found = state(beds);
    let seed = std::env::var("PLIMSOLL_SEED").ok().and_then(|text| text.parse().ok());
    let mut random = Pcg64::seed_from_u64(seed.unwrap_or(38));
    let (moments, mut changed) = (moments(), 0);
    for moment in 0..moments {
        let mut run = beds.program.start(&["trace", ROUTER, "--payload=400", "--quiet"]);
        // Each third time perhaps before the tracer changes.
        if moment % 3 != 0 {
            let begins = || state(beds) != found;
            wait_until_within(Duration::from_secs(300), "the run changes the tracer", begins);
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..4_000_000)));
        signal(&run, "-KILL");
        run.wait().unwrap();
        let is_changed = state(beds) != found;
        changed += usize::from(is_changed);
        let by_timer = moment % 5 == 4;
        if by_timer {
            wait_until_within(TIMER, "the host resets its tracer", || state(beds) == found);
        }
        beds.program.run(&["restore", ROUTER]).expect(0);
        assert_eq!(state(beds), found, "moment {moment}");
        eprintln!("moment {moment}: changed {is_changed}, by the timer {by_timer}");
    }
    eprintln!("{moments} of {moments} restored, {changed} were changed at the moment");
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}
