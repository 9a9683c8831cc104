//! `plimsoll run`: a plan from a dry run to its report on a real server, killed at any moment and gone on
//! with, and what it refuses.
//!
//! `PLIMSOLL_SEED` sets the seed of the random moments.

mod support;

use plimsoll_model::{Ended, FactorLevel, Measure, Metric, Outcome};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use support::own::{own_settings, value, values};
use support::sound::{assert_whole, complete};
use support::{Plimsoll, ended, run_directories, unwrapped, wait_until};

const SEED: u64 = 16;
/// Moments at which one study is killed, at least: half of them while a setting is changed.
const KILLS: usize = 6;

/// Two targets, three jobs, two settings: 12 cells.
const PLAN: &str = r#"about = "two shares, three jobs, two settings"

[variable.blocks]
about = "how often"
default = "3"

[[target]]
name = "films"
about = "an export"

[[target]]
name = "music"
about = "another"

[[job]]
kind = "scan"
directories = 2
files = 3
workers = 1

[[job]]
kind = "pattern"
name = "small"
pattern = ["random-read"]
size = "1MiB"
workers = 1

[[job]]
kind = "copy"
name = "copies"
dataset = "pictures"
scale = 0.001
only = "up"
method = "rsync"

[[factor]]
name = "keepalive"
setting = "sysctl:net.ipv4.tcp_keepalive_time"
levels = ["as-found", 300]

[rule]
repeats = "${blocks}"
time = "100ms"
baseline = "0s"

[[claim]]
compare = "targets"
jobs = ["scan", "small"]
at = { keepalive = 300 }
"#;

/// The program with a plan file of its own.
fn program(plan: &str) -> (Plimsoll, String) {
    let program = Plimsoll::new();
    let path = program.home().join("plan.toml");
    fs::write(&path, plan).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (program, path)
}

#[test]
fn a_plan_from_its_dry_run_to_its_report() {
    let stage = enter_or_skip!(Need::Ganesha);
    let _settings = own_settings(&stage);
    let found = values();
    let config = GaneshaConfig::new([Export::directory("films"), Export::directory("music")]);
    let server = Ganesha::start(&stage, config).unwrap();
    let (films, music) = (server.url("films"), server.url("music"));
    let (program, plan) = program(PLAN);
    let run = ["run", &plan, &films, &music];

    let dry = program.run(&[&run[..], &["--dry-run", "--read-hosts"]].concat()).expect(0).out;
    for words in [
        "12 combinations",
        "36 trials",
        "2 claims",
        &music,
        "random read",
        "pictures up",
        "music, tcp_keepalive_time=300 against films, tcp_keepalive_time=300: scan and random read",
        "tcp_keepalive_time on this machine: as found and 300; changed from trial to trial; now 4321",
    ] {
        let dry = dry.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    assert_eq!(values(), found);
    assert!(program.exported("latest").is_none(), "nothing was kept");
    for export in ["films", "music"] {
        assert_eq!(run_directories(server.directory(export).unwrap()).len(), 0);
    }

    let mut child = program.start(&run);
    let mut seen = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        seen.insert(value("tcp_keepalive_time"));
        std::thread::sleep(Duration::from_millis(2));
    }
    let ran = ended(child).expect(0);
    assert!(ran.err.contains("36 trials; 2 claims with joint confidence"), "{}", ran.err);
    assert_eq!(seen, ["300", "4321"].map(String::from).into(), "both levels were in effect");
    assert_eq!(values(), found);
    let study = program.latest();
    assert_whole(&study, 3);
    assert_eq!(study.plan.cells().len(), 12);
    assert_eq!(study.plan.contrasts.iter().filter(|contrast| contrast.claim).count(), 2);
    assert_eq!(study.plan.factors[0].levels[0], FactorLevel::AsFound);
    assert!(study.plan.command.starts_with("plimsoll run "), "{}", study.plan.command);
    let details = program.run(&["show", "--details"]).expect(0).out;
    assert!(details.contains("tcp_keepalive_time=300"), "{details}");
    // Verdicts are on the claims alone, and the others are there as estimates.
    let found = plimsoll_explain::findings(&study);
    let pairs: Vec<_> = found.workloads.iter().flat_map(|workload| &workload.pairs).collect();
    assert!(pairs.iter().all(|pair| pair.contrast.claim == pair.claim.is_some()), "{pairs:?}");
    assert!(pairs.len() > 2 && pairs.iter().all(|pair| !pair.ratios.is_empty()));
    for export in ["films", "music"] {
        assert_eq!(run_directories(server.directory(export).unwrap()).len(), 0);
    }
    // What was typed goes before the plan.
    let fewer = [&run[..], &["--var", "blocks=4", "--repeats=1", "--quiet"]].concat();
    program.run(&fewer).expect(0);
    assert_whole(&program.latest(), 1);
}

const STEPS: &str = r#"
about = "readers, and the highest rate"

[[job]]
kind = "pattern"
name = "readers"
pattern = ["random-read"]
size = "8MiB"
sweep = { workers = [1, 2, 4] }

[[job]]
kind = "pattern"
name = "rate"
pattern = ["random-read"]
size = "8MiB"
search = { rate = [20, 200], latency-max = "60s" }

[[job]]
kind = "pattern"
name = "never"
pattern = ["random-write"]
size = "8MiB"
search = { workers = [2, 4], latency-p99 = "0.001us" }

[rule]
repeats = 2
time = "500ms"
baseline = "0s"
"#;

#[test]
fn trials_go_through_the_values_of_a_sweep_and_search_the_largest_accepted_one() {
    let there = tempfile::tempdir().unwrap();
    let target = there.path().to_str().unwrap();
    let (program, plan) = program(STEPS);
    let dry = unwrapped(&program.run(&["run", &plan, target, "--dry-run"]).expect(0).out);
    for words in ["workers swept through 1, 2, 4", "highest rate, max ≤ 60.0 s, searched from 20"]
    {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    program.run(&["run", &plan, target, "--quiet"]).expect(1);
    let study = program.latest();
    let trials_of = |workload: u16| {
        let own = study.trials.iter().filter(move |trial| trial.cell.workload == workload);
        own.collect::<Vec<_>>()
    };
    for trial in trials_of(0) {
        let mut values: Vec<f64> = trial.points.iter().map(|point| point.at).collect();
        values.sort_by(f64::total_cmp);
        assert_eq!(values, [1.0, 2.0, 4.0], "in random order, each once");
    }
    for trial in trials_of(1) {
        let rate = trial.result.value(0, Metric::all(Measure::STEP)).unwrap();
        assert!((190.0..=200.0).contains(&rate), "{rate}");
        let done = trial.result.value(0, Metric::all(Measure::IOPS)).unwrap();
        // At a fixed rate: a directory could do thousands.
        assert!(done < 1.3 * rate, "{done} at {rate}");
    }
    for trial in trials_of(2) {
        let Outcome::Failed { failure, .. } = &trial.result.outcome else { panic!("{trial:?}") };
        assert!(failure.happened.contains("even at 2 latency_p99"), "{failure}");
    }
    let details = program.run(&["show", "--details"]).expect(0).out;
    // In a table long names are broken, here and there by how wide its figures are.
    for words in ["Random read by workers", "Random read, highest rate, max ≤ 60.0 s", "workers 4"]
    {
        assert!(details.contains(words), "'{words}' is missing in:\n{details}");
    }
    assert_eq!(run_directories(there.path()).len(), 0);
}

const WHILE: &str = r#"
about = "reads, copies, and both at the same time"

[[job]]
kind = "pattern"
name = "reads"
pattern = ["random-read"]
size = "8MiB"

[[job]]
kind = "copy"
name = "backup"
dataset = "pictures"
scale = 0.001
only = "update"
method = "rsync"

[[job]]
kind = "pattern"
name = "both"
pattern = ["random-read"]
size = "8MiB"
while = ["backup"]

[rule]
repeats = 2
time = "2s"
baseline = "0s"

[[claim]]
compare = "jobs"
jobs = ["reads", "both"]
"#;

#[test]
fn a_job_is_repeated_during_another_one() {
    let there = tempfile::tempdir().unwrap();
    let target = there.path().to_str().unwrap();
    let (program, plan) = program(WHILE);
    let dry = unwrapped(&program.run(&["run", &plan, target, "--dry-run"]).expect(0).out);
    for words in ["random read during pictures update, as rsync: block", "; at the same time scale"]
    {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    program.run(&["run", &plan, target, "--quiet"]).expect(0);
    let study = program.latest();
    assert_whole(&study, 2);
    let parts: Vec<usize> = study.plan.workloads.iter().map(|w| w.parts.len()).collect();
    assert_eq!(parts, [1, 1, 2]);
    let one_copy = study.plan.workloads[1].parts[0].job.footprint().transient;
    for trial in study.trials.iter().filter(|trial| trial.cell.workload == 2) {
        assert_eq!(trial.result.parts.len(), 2);
        for (part, measure) in [(0, Measure::IOPS), (1, Measure::FILES)] {
            let figure = trial.result.value(part, Metric::all(measure));
            assert!(figure.is_some_and(|figure| figure > 0.0), "part {part}: {figure:?}");
        }
        let copied = trial.result.parts[1].series.total().bytes;
        assert!(copied > 2 * one_copy, "{copied} bytes are no repeated copy of {one_copy}");
    }
    let found = plimsoll_explain::findings(&study);
    let pairs: Vec<_> = found.workloads.iter().flat_map(|workload| &workload.pairs).collect();
    let [pair] = &pairs[..] else { panic!("{pairs:?}") };
    assert!(pair.claim.is_some() && !pair.ratios.is_empty(), "{pair:?}");
    let figures = &found.workloads[2].cells[0].parts;
    assert!(figures[1].contains_key(&Metric::all(Measure::FILES)), "{figures:?}");
    let details = program.run(&["show", "--details"]).expect(0).out;
    let heading = "Random read during pictures update, as rsync";
    assert!(details.contains(heading), "'{heading}' is missing in:\n{details}");
    let screen = unwrapped(&program.run(&["show"]).expect(0).out);
    assert!(screen.contains("random read during pictures update"), "{screen}");
    assert!(!screen.contains(" of random read during"), "its first job is named twice: {screen}");
    assert_eq!(run_directories(there.path()).len(), 0);
}

#[test]
fn a_plan_that_is_killed_at_any_moment_ends_with_the_same_trials() {
    let stage = enter_or_skip!(Need::Ganesha);
    let _settings = own_settings(&stage);
    let found = values();
    let config = GaneshaConfig::new([Export::directory("films"), Export::directory("music")]);
    let server = Ganesha::start(&stage, config).unwrap();
    let (films, music) = (server.url("films"), server.url("music"));
    let (program, plan) = program(PLAN);
    let seed = std::env::var("PLIMSOLL_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Pcg64::seed_from_u64(seed.unwrap_or(SEED));
    let journal = program.home().join("plimsoll/settings");
    let is_changed = || value("tcp_keepalive_time") == "300";
    let trials = || program.exported("latest").map_or(0, |study| study.trials.len());
    let (mut kills, mut changed, mut in_a_block) = (0, 0, 0);
    while kills < KILLS || 2 * changed < KILLS {
        assert!(kills < 2 * KILLS, "{changed} of {kills} were changed");
        let before = trials();
        let again = ["run", "--continue", "latest", "--quiet"];
        let first = ["run", &plan, &films, &music, "--var", "blocks=15", "--quiet"];
        let mut child = program.start(if kills == 0 { &first[..] } else { &again[..] });
        wait_until("more trials are kept", || trials() > before + 2);
        let mut is_changed_soon = || {
            std::thread::sleep(Duration::from_micros(random.random_range(0..50_000)));
            is_changed()
        };
        // Most while it is changed, some at any moment. Between the look and the kill nothing is waited for,
        // as the change would be over now and then.
        if kills % 3 == 2 {
            is_changed_soon();
        } else {
            wait_until("it is changed", is_changed_soon);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        changed += usize::from(is_changed());
        in_a_block += usize::from(!complete(&program.latest()).len().is_multiple_of(12));
    }
    // Once it was changed, what undoes it is kept until the end.
    let left = fs::read_dir(&journal).unwrap().count() > 0;
    assert!(left || !is_changed());
    let ran =
        program.run(&["run", "--continue", "latest", "--quiet", "--max-time=10min"]).expect(0);
    assert_eq!(ran.err.contains("restored sysctl:net.ipv4.tcp_keepalive_time on local"), left);
    assert_whole(&program.latest(), 15);
    assert_eq!(values(), found);
    assert_eq!(fs::read_dir(&journal).unwrap().count(), 0);
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
    for target in [&films, &music] {
        program.run(&["clean", target]).expect(0);
    }
    eprintln!("{kills} kills, {changed} while it was changed, {in_a_block} within a block");
    // It has all of its trials now.
    let refused = program.run(&["run", "--continue", "latest"]).expect(2);
    assert!(refused.err.contains("15, was fixed in advance"), "{}", refused.err);
}

#[test]
fn what_is_wrong_is_found_before_anything_is_done() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let share = tempfile::tempdir().unwrap();
    let [one, other] = ["a", "b"].map(|name| {
        let path: PathBuf = share.path().join(name);
        fs::create_dir(&path).unwrap();
        path.to_str().unwrap().to_owned()
    });
    for (from, to, words) in [
        ("directories", "direktories", &["`direktories`", "`directories`"][..]),
        ("levels = [\"as-found\", 300]", "levels = [300]", &["at least two levels"][..]),
        ("sysctl:net", "sysctl:no.such.net", &["no.such.net.ipv4.tcp_keepalive_time"][..]),
        ("compare = \"targets\"", "compare = \"target\"", &["`target`", "`targets`"][..]),
    ] {
        let (program, plan) = program(&PLAN.replacen(from, to, 1));
        let ran = program.run(&["run", &plan, &one, &other, "--quiet"]);
        assert_eq!(ran.code, Some(2), "{to}: {}", ran.err);
        let line = 1 + PLAN[..PLAN.find(from).unwrap()].matches('\n').count();
        let place = format!("plan.toml:{line}");
        assert!(ran.err.contains(&place), "{place}: {}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "'{word}' is missing in: {}", ran.err);
        }
        assert!(program.exported("latest").is_none(), "{to}");
    }
    // A setting that cannot be read is found by a dry run, too, where it is to read the hosts.
    let (program, plan) = program(&PLAN.replacen("tcp_keepalive_time", "no_such_parameter", 1));
    let dry = ["run", &plan, &one, &other, "--dry-run"];
    let ran = program.run(&[&dry[..], &["--read-hosts"]].concat());
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.out.contains("cannot be read") && ran.out.contains("36 trials"), "{}", ran.out);
    let ran = program.run(&dry).expect(0);
    assert!(!ran.out.contains("now ") && ran.err.is_empty(), "{}", ran.out);
    assert_eq!(values(), found);
    assert!(run_directories(&share.path().join("a")).is_empty());
}

/// The kernel takes the first number of it.
#[test]
fn a_level_that_does_not_take_stops_it_and_everything_is_put_back() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let found = values();
    let share = tempfile::tempdir().unwrap();
    let target = share.path().to_str().unwrap();
    let (program, plan) = program(
        &PLAN
            .replacen("\"as-found\", 300", "\"as-found\", \"300 400\"", 1)
            .replace("keepalive = 300", "keepalive = \"300 400\""),
    );
    let ran = program.run(&["run", &plan, target, target, "--quiet"]);
    assert_ne!(ran.code, Some(0), "{}", ran.out);
    assert!(format!("{}{}", ran.out, ran.err).contains("tcp_keepalive_time"), "{}", ran.err);
    assert_eq!(values(), found);
    assert!(run_directories(share.path()).is_empty());
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}

/// A setting that a plan defines by commands: a word in a file.
#[test]
fn a_setting_by_commands_is_applied_and_put_back() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("word");
    fs::write(&file, "as it was\n").unwrap();
    let commands = format!(
        "[command.word]\nread = 'touch {0}.was-read; cat {0}'\napply = 'echo \"${{LEVEL}}\" >{0}'\n\
         undo = 'printf \"%s\\n\" \"$FOUND\" >{0}'\n[[factor]]\nname = \"keepalive\"\n\
         setting = \"command:word\"\nlevels = [\"as-found\", 300]\n",
        file.display()
    );
    let (before, rest) = PLAN.split_once("[[factor]]").unwrap();
    let (_, rest) = rest.split_once("[rule]").unwrap();
    let text = format!("{before}{commands}[rule]{rest}");
    let (program, plan) = program(&text);
    let [one, other] = ["a", "b"].map(|name| {
        fs::create_dir(place.path().join(name)).unwrap();
        place.path().join(name).to_str().unwrap().to_owned()
    });
    let run = ["run", &plan, &one, &other, "--quiet"];
    // A dry run runs no command of the plan, and prints each.
    let mark = place.path().join("word.was-read");
    let dry = program.run(&[&run[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(!mark.exists() && !dry.contains("now "), "{dry}");
    let flat = dry.split_whitespace().collect::<Vec<_>>().join(" ");
    let path = file.display();
    for line in [
        format!("word read touch {path}.was-read; cat {path}"),
        format!("word apply echo \"${{LEVEL}}\" >{path}"),
        format!("word undo printf \"%s\\n\" \"$FOUND\" >{path}"),
    ] {
        assert!(flat.contains(&line), "'{line}' is missing in:\n{dry}");
    }
    let dry = program.run(&[&run[..], &["--dry-run", "--read-hosts"]].concat()).expect(0).out;
    assert!(mark.exists() && dry.contains("now as it was"), "{dry}");
    let mut child = program.start(&run);
    let word = || fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    let mut seen = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        seen.insert(word());
        std::thread::sleep(Duration::from_millis(1));
    }
    ended(child).expect(0);
    assert!(seen.contains("300") && seen.contains("as it was"), "{seen:?}");
    assert_eq!(word(), "as it was");
    assert_whole(&program.latest(), 3);
    // Killed while it is changed, it goes on with the commands that the study has.
    let mut child = program.start(&[&run[..], &["--repeats=6"]].concat());
    wait_until("it is changed", || word() == "300");
    let trials = || program.latest().trials.len();
    wait_until("some trials are kept", || program.latest().ended == Ended::Open && trials() > 0);
    wait_until("it is changed", || word() == "300");
    child.kill().unwrap();
    child.wait().unwrap();
    program.run(&["run", "--continue", "latest", "--quiet"]).expect(0);
    assert_whole(&program.latest(), 6);
    assert_eq!(word(), "as it was");
    let unknown = text.replace("command:word", "command:wrod");
    fs::write(&plan, unknown).unwrap();
    let refused = program.run(&run).expect(2);
    assert!(refused.err.contains("no [command.wrod]") && refused.err.contains("`word`"));
}

#[test]
fn plans_that_come_with_the_program_are_listed_shown_and_run() {
    let program = Plimsoll::new();
    let list = program.run(&["run", "--list"]).expect(0).out;
    let names = list.lines().filter_map(|line| line.split(' ').next());
    // Not what is left of a long line.
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    assert_eq!(names.len(), 6, "{list}");
    let share = tempfile::tempdir().unwrap();
    let text = program.run(&["run", "--show", "readers"]).expect(0).out;
    // What is shown is a plan file, and what is named is the same.
    let file = program.home().join("mine.toml");
    fs::write(&file, &text).unwrap();
    let target = share.path().to_str().unwrap();
    let dry =
        |plan: &str| program.run(&["run", plan, target, "--dry-run", "--seed=1"]).expect(0).out;
    assert_eq!(dry("readers"), dry(file.to_str().unwrap()));
    let short = ["--time=100ms", "--repeats=2", "--baseline=0s", "--quiet"];
    program.run(&[&["run", "readers", target][..], &short].concat()).expect(0);
    let study = program.latest();
    assert_whole(&study, 2);
    assert_eq!(study.plan.workloads.len(), 6);
    assert!(run_directories(share.path()).is_empty());
    let unknown = program.run(&["run", "raeders", target]).expect(2);
    assert!(unknown.err.contains("`readers`"), "{}", unknown.err);
}
