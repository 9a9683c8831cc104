//! What `plimsoll trace` finds again, and what is left of it after a kill: `make measure-trace`.
//!
//! `PLIMSOLL_MOMENTS` sets how many kills there are, and `PLIMSOLL_SEED` when. What was measured of them is kept in
//! `PLIMSOLL_KEPT`.

use super::super::kept::Kept;
use super::super::support::beds::Beds;
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
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::process::Child;
use std::time::Duration;

const ROUTER: &str = "lab://trace/router";
/// Share of the calls that should run the same number of functions of netfilter.
const WANTED: f64 = 0.95;
/// What a host that is cut off waits before it resets its tracer by itself, and some time for it.
const TIMER: Duration = Duration::from_secs(300);

/// Within that time a run changes the tracer: a machine that is emulated is slow.
const CHANGE: Duration = Duration::from_secs(600);

/// A router with the kernel of this image, and a host to send to.
fn up(image: &str) -> Option<Machines> {
    if !plimsoll_testkit::available(Need::Machines) {
        return None;
    }
    let probes = probes().to_str().expect("letters").to_owned();
    let machines = Machines::with(Plimsoll::new().with("PLIMSOLL_PROBES", &probes));
    let router = LabFile::new().machine("router", "256MiB").set("image", image);
    let lab = router.machine("other", "256MiB");
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
    let Some(machines) = up("debian") else { return };
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
    let in_netfilter = |measure| Metric::for_kind(block_kind("netfilter").unwrap(), measure);
    let mut wrong = Vec::new();
    let without = figures(&study, 0, in_netfilter(TraceJob::FUNCTIONS));
    let known = rulesets();
    let all = std::iter::once(("none", &(0.0..=0.0)));
    let all = all.chain(known.iter().map(|(name, _, more)| (*name, more)));
    for (setting, (name, expected)) in (0..).zip(all) {
        let counts = figures(&study, setting, in_netfilter(TraceJob::FUNCTIONS));
        let same = figures(&study, setting, in_netfilter(TraceJob::SAME));
        eprintln!("{name}: {counts:?} functions of netfilter, shares of the calls {same:?}");
        let differs = |count: &f64| !expected.contains(&(count - without[0]));
        if counts.iter().any(differs) || same.iter().any(|share| *share < WANTED) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "other numbers or shares than wanted: {wrong:?}");
}

/// Share of the functions that may be in no block.
const UNCLASSIFIED: f64 = 0.05;
/// System calls of the probe.
const CALLS: [&str; 5] = ["sendto", "recv", "write", "fsync", "read"];

/// The table of blocks was made from Linux 6.1.
#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_blocks_of_linux_5_10() {
    let Some(machines) = up("debian-old") else { return };
    let beds = &machines.beds;
    let release = beds.on("trace/router", "uname -r");
    assert!(release.starts_with("5.10."), "{release}");
    let mut wrong = Vec::new();
    for operation in CALLS {
        let mut words = vec!["trace", ROUTER, operation, "--payload=400", "--repeats=1"];
        words.extend(["--max-time=1h", "--quiet"]);
        let is_of_a_file = !["sendto", "recv"].contains(&operation);
        words.extend(is_of_a_file.then_some("--dir=/var/tmp"));
        let shown = beds.program.run(&words).expect(0).out;
        let study = beds.program.latest();
        assert_eq!(study.ended, Ended::Done);
        let part = study.trials[0].result.main().expect("a figure");
        let figure = |measure| part.quantities.get(&Metric::all(measure)).copied().unwrap_or(0.0);
        let (functions, share) = (figure(TraceJob::FUNCTIONS), figure(TraceJob::UNCLASSIFIED));
        let none = part.functions.iter().filter(|function| function.block.is_none());
        let none: Vec<&str> = none.map(|function| &*function.name).collect();
        eprintln!(
            "{shown}\n{operation}: {functions} functions, {share:.3} of them in no block: {none:?}"
        );
        if functions < 10.0 || share > UNCLASSIFIED {
            wrong.push(operation);
        }
    }
    assert!(wrong.is_empty(), "too many functions in no block: {wrong:?}");
    beds.lab(&["down", "trace"]).expect(0);
}

/// A moment at which a trace was killed, and what the tracer was then.
#[derive(Serialize, Deserialize)]
struct Kill {
    moment: usize,
    /// Whether anything of its state differed from what was found.
    is_changed: bool,
    /// Whether it was function_graph.
    is_on: bool,
    /// Whether that recorded calls.
    records: bool,
    /// Whether the timer of the host reset it; else `plimsoll restore` did.
    by_timer: bool,
    is_restored: bool,
}

/// At random moments of a trace the program is killed. `plimsoll restore` or, each fifth time, the timer of the host
/// resets the tracer. It continues with the next moment after an interruption.
#[test]
#[ignore = "machines take minutes: make measure-trace"]
fn measure_what_killed_traces_changed() {
    let seed = std::env::var("PLIMSOLL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(38);
    let mut kept: Kept<Kill> = Kept::open(&format!("trace-kills-{seed}.jsonl"));
    let moments = moments();
    let is_new = |moment: &usize| !kept.cases.iter().any(|kill| kill.moment == *moment);
    let left: Vec<usize> = (0..moments).filter(is_new).collect();
    if !left.is_empty() {
        let Some(machines) = up("debian") else { return };
        let found = state(&machines.beds);
        for moment in left {
            let kill = kill(&machines.beds, &found, moment, seed);
            eprintln!("{}", serde_json::to_string(&kill).unwrap());
            let is_restored = kill.is_restored;
            kept.add(kill);
            assert!(is_restored, "moment {moment}: {found}\nnow: {}", state(&machines.beds));
        }
    }
    let kills: Vec<&Kill> = kept.cases.iter().filter(|kill| kill.moment < moments).collect();
    let count = |is: fn(&Kill) -> bool| kills.iter().filter(|kill| is(kill)).count();
    let (restored, changed) = (count(|kill| kill.is_restored), count(|kill| kill.is_changed));
    let (on, records) = (count(|kill| kill.is_on), count(|kill| kill.records));
    let by_timer = count(|kill| kill.by_timer && kill.is_changed);
    eprintln!(
        "{restored} of {moments} restored. At the moment the state was changed in {changed}, of which the timer reset \
         {by_timer}; function_graph was on in {on}, and recorded in {records}"
    );
    assert_eq!(restored, moments);
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
    assert!(on * 3 >= moments, "function_graph was on in {on} of {moments}");
}

/// Kills one trace, and resets what it has changed.
fn kill(beds: &Beds, found: &str, moment: usize, seed: u64) -> Kill {
    // Of its own: an interruption changes no later moment.
    let mut random = Pcg64::seed_from_u64(seed.wrapping_add(1000 * moment as u64));
    let mut run = beds.program.start(&["trace", ROUTER, "--payload=400", "--quiet"]);
    // Each third time perhaps before the tracer changes.
    if !moment.is_multiple_of(3) {
        wait_until_within(CHANGE, "the run changes the tracer", || {
            // A run that was refused never changes it.
            let ended = run.try_wait().unwrap();
            assert!(ended.is_none(), "moment {moment}: the run has ended: {}", errors(&mut run));
            is_changed_soon(beds, found)
        });
    }
    std::thread::sleep(Duration::from_micros(random.random_range(0..2_000_000)));
    signal(&run, "-KILL");
    run.wait().unwrap();
    let left = state(beds);
    let has = |line: &str| left.lines().any(|own| own == line);
    let (is_on, records) = (has("current_tracer function_graph"), has("tracing_on 1"));
    let by_timer = moment % 5 == 4;
    if by_timer {
        wait_until_within(TIMER, "the host resets its tracer", || state(beds) == found);
    }
    beds.program.run(&["restore", ROUTER]).expect(0);
    // A command of the killed run that is still under way on the host would change it again.
    std::thread::sleep(Duration::from_secs(2));
    let (is_changed, is_restored) = (left != found, state(beds) == found);
    Kill { moment, is_changed, is_on, records: is_on && records, by_timer, is_restored }
}

/// Whether the first thing that a run changes has changed, or does within some seconds. The machine itself looks: a
/// look from outside takes as long as half of the time for which the tracer is on.
fn is_changed_soon(beds: &Beds, found: &str) -> bool {
    let kib = found.lines().find_map(|line| line.strip_prefix("buffer_size_kb "));
    let line = format!(
        "cd /sys/kernel/tracing; n=0; while [ $n -lt 50 ]; do
         [ \"$(cat buffer_size_kb)\" = '{}' ] || {{ echo changed; exit; }}
         sleep 0.1; n=$((n + 1)); done",
        kib.expect("the size of the buffer")
    );
    beds.on(ROUTER.trim_start_matches("lab://"), &line).contains("changed")
}

/// What a run that has ended wrote to standard error.
fn errors(run: &mut Child) -> String {
    let mut text = String::new();
    if let Some(errors) = &mut run.stderr {
        errors.read_to_string(&mut text).unwrap();
    }
    text
}
