//! `plimsoll run` with plans of a network path and of hosts, from a dry run to reports.

mod support;

use plimsoll_model::clock_call::ClockJob;
use plimsoll_model::{
    DeviceJob, Ended, HostName, Measure, Metric, Outcome, Study, SubjectFacts, SubjectKind,
};
use plimsoll_testkit::thorough;
use std::fs;
use support::pair::{PAIR, figures, lab, program};
use support::{Plimsoll, unwrapped};

/// A plan file of the program's user.
fn plan_file(program: &Plimsoll, text: &str) -> String {
    let path = program.home().join("plan.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn assert_complete(study: &Study, trials: usize) {
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, trials));
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
    }
}

/// All that can be done with a study of the store.
#[track_caller]
fn assert_usable(program: &Plimsoll, study: &Study) {
    let id = &study.id.0;
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains(id), "{list}");
    for words in [&["show", id][..], &["show", id, "--details"], &["compare", id, id]] {
        program.run(words).expect(0);
    }
    let exported = program.run(&["export", id]).expect(0).out;
    assert_eq!(plimsoll_record::from_json(&exported).unwrap(), *study);
    let page = program.home().join("page.html");
    program.run(&["report", id, "--output", page.to_str().unwrap()]).expect(0);
    assert!(fs::read_to_string(page).unwrap().contains("</html>"));
}

const HERE: &str = r#"about = "this machine with itself"

[path]
to = "local"

[[job]]
kind = "tcp-out"

[[job]]
kind = "tcp-in"

[[job]]
kind = "request"

[rule]
repeats = 2
time = "300ms"

[[claim]]
compare = "jobs"
jobs = ["tcp-out", "tcp-in"]
"#;

#[test]
fn a_plan_of_a_path_is_measured_kept_shown_and_compared() {
    let program = program();
    let plan = plan_file(&program, HERE);
    let dry = unwrapped(&program.run(&["run", &plan, "--dry-run"]).expect(0).out);
    for words in
        ["Paths", "local to local", "3 combinations in 2 blocks: 6 trials", "1 claim", "TCP in"]
    {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    assert!(!dry.contains("MB/s") && !dry.contains("space"), "it writes no files:\n{dry}");
    assert!(program.exported("latest").is_none(), "nothing was kept");

    let ran = program.run(&["run", &plan]).expect(0);
    assert!(ran.err.contains("6 trials; 1 claim with joint confidence"), "{}", ran.err);
    let study = program.latest();
    assert_complete(&study, 6);
    let SubjectFacts::Path(path) = &study.subjects[0] else { panic!("{:?}", study.subjects) };
    assert_eq!(path.given, "local to local");
    assert!(study.plan.command.starts_with("plimsoll run "), "{}", study.plan.command);
    assert!(figures(&study, 0, Measure::THROUGHPUT).iter().all(|bytes| *bytes > 1e6));
    let found = plimsoll_explain::findings(&study);
    let claims = found.workloads.iter().flat_map(|workload| &workload.pairs);
    assert_eq!(claims.filter(|pair| pair.claim.is_some()).count(), 1);
    assert_usable(&program, &study);

    // What was typed goes before the plan, and what only storage has is refused.
    program.run(&["run", &plan, "--repeats=1", "--quiet"]).expect(0);
    assert_complete(&program.latest(), 3);
    for option in ["--fail-on=all<-1%", "--as=x", "--on=local", "--reboot", "--timeout=5s"] {
        let refused = program.run(&["run", &plan, option, "--quiet"]).expect(2);
        assert!(refused.err.contains("it is for storage"), "{option}: {}", refused.err);
    }
    let id = &study.id.0;
    let refused = program.run(&["run", "--continue", id]).expect(2);
    assert!(refused.err.contains("cannot be continued"), "{}", refused.err);
}

/// 100 and 400 datagrams a second fit into the link of the lab.
const PATH: &str = r#"about = "TCP under two congestion controls, and datagrams at two rates"

[path]
from = "lab://pair/a"
to = "lab://pair/b"

[[job]]
kind = "tcp-out"

[[job]]
kind = "udp-out"
payloads = [1000]
sweep.rate = [400, 100]

[[factor]]
name = "congestion"
setting = "sysctl:net.ipv4.tcp_congestion_control"
levels = ["as-found", "reno"]

[rule]
repeats = 1
time = "1s"
"#;

#[test]
fn tcp_and_a_sweep_of_datagrams_are_measured_between_two_namespaces_under_two_settings() {
    let Some(beds) = lab(PAIR) else { return };
    let plan = plan_file(&beds.program, PATH);
    let dry = unwrapped(&beds.program.run(&["run", &plan, "--dry-run"]).expect(0).out);
    for words in [
        "lab://pair/a to lab://pair/b",
        "UDP out by rate: ",
        "offered rate swept through",
        "4 combinations",
    ] {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    let setting = || beds.on("pair/a", "sysctl -n net.ipv4.tcp_congestion_control");
    let found = setting();
    beds.program.run(&["run", &plan, "--quiet"]).expect(0);
    assert_eq!(setting(), found, "it is restored");
    let study = beds.program.latest();
    assert_complete(&study, 4);
    assert_eq!(study.plan.factors[0].host, "lab://pair/a".parse::<HostName>().unwrap());
    assert_eq!(study.plan.contrasts.len(), 2);
    for goodput in figures(&study, 0, Measure::THROUGHPUT) {
        // 20 Mbit/s of the link, in bytes.
        assert!((0.6 * 2.5e6..1.1 * 2.5e6).contains(&goodput), "{goodput}");
    }
    for trial in study.trials.iter().filter(|trial| trial.cell.workload == 1) {
        let mut offered: Vec<f64> = trial.points.iter().map(|point| point.at).collect();
        offered.sort_by(f64::total_cmp);
        assert_eq!(offered, [100e3, 400e3], "bytes per second, in random order");
        let goodput = trial.result.value(0, Metric::all(Measure::THROUGHPUT)).unwrap();
        assert!((0.8 * 400e3..1.2 * 400e3).contains(&goodput), "{goodput} at the higher rate");
    }
    let details = beds.program.run(&["show", "--details"]).expect(0).out;
    for words in ["UDP out by rate", "offered rate", "loss"] {
        assert!(details.contains(words), "'{words}' is missing in:\n{details}");
    }
    assert_usable(&beds.program, &study);
}

const HOST: &str = r#"about = "this machine: two jobs, one after the other and at the same time"

[[host]]
name = "here"
url = "local"

[[job]]
kind = "memory"

[[job]]
kind = "cpu"

[[job]]
kind = "memory"
name = "both"
while = ["cpu"]

[rule]
quick = true
repeats = 2

[[claim]]
compare = "jobs"
jobs = ["memory", "both"]
"#;

#[test]
fn parts_of_a_host_are_measured_one_after_the_other_and_at_the_same_time() {
    if !thorough::has_time(15) {
        return;
    }
    let program = program();
    let plan = plan_file(&program, HOST);
    let dry = unwrapped(&program.run(&["run", &plan, "--dry-run"]).expect(0).out);
    for words in ["Hosts", "here local", "memory during cpu", "6 trials", "1 claim"] {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    program.run(&["run", &plan, "--quiet"]).expect(0);
    let study = program.latest();
    assert_complete(&study, 6);
    let device = &study.subjects[0].host().expect("a host").device;
    assert!(device.inventory.is_some() && device.is_complete(), "{:?}", device.parts);
    for trial in study.trials.iter().filter(|trial| trial.cell.workload == 2) {
        assert_eq!(trial.result.parts.len(), 2);
        for (part, measure) in [(0, DeviceJob::MEMORY_COPY), (1, DeviceJob::INTEGER_ROUNDS)] {
            let figure = trial.result.value(part, Metric::all(measure));
            assert!(figure.is_some_and(|figure| figure > 0.0), "part {part}: {figure:?}");
        }
    }
    let found = plimsoll_explain::findings(&study);
    let pairs: Vec<_> = found.workloads.iter().flat_map(|workload| &workload.pairs).collect();
    let [pair] = &pairs[..] else { panic!("{pairs:?}") };
    assert!(pair.claim.is_some() && !pair.ratios.is_empty(), "{pair:?}");
    let screen = unwrapped(&program.run(&["show"]).expect(0).out);
    assert!(screen.contains("memory during cpu"), "{screen}");
    let details = program.run(&["show", "--details"]).expect(0).out;
    for heading in ["Memory during cpu", "Inventory", "CPU", "Memory"] {
        assert!(details.lines().any(|line| line == heading), "{heading} in\n{details}");
    }
    assert_usable(&program, &study);
    let refused = program.run(&["run", &plan, "--time=1s", "--quiet"]).expect(2);
    assert!(refused.err.contains("--time"), "{}", refused.err);
    let refused = program.run(&["run", &plan, "ssh://other", "--quiet"]).expect(2);
    assert!(refused.err.contains("ssh://other"), "{}", refused.err);
}

const CLOCK: &str = r#"about = "a clock under two settings"

[[host]]
name = "a"
about = "a host of the lab"

[[job]]
kind = "clock"
clock = "monotonic"

[[factor]]
setting = "sysctl:net.ipv4.tcp_congestion_control"
levels = ["as-found", "reno"]

[rule]
repeats = 2
time = "60ms"
"#;

#[test]
fn a_clock_is_measured_under_two_settings_of_its_host() {
    let Some(beds) = lab(PAIR) else { return };
    let plan = plan_file(&beds.program, CLOCK);
    let setting = || beds.on("pair/a", "sysctl -n net.ipv4.tcp_congestion_control");
    let found = setting();
    beds.program.run(&["run", &plan, "lab://pair/a", "--quiet"]).expect(0);
    assert_eq!(setting(), found, "it is restored");
    let study = beds.program.latest();
    assert_complete(&study, 4);
    assert_eq!(study.plan.subjects[0].kind(), SubjectKind::Clock);
    assert_eq!(study.plan.factors[0].host, "lab://pair/a".parse::<HostName>().unwrap());
    assert!(figures(&study, 0, ClockJob::CALL).iter().all(|seconds| *seconds > 0.0));
    assert_eq!(study.plan.contrasts.len(), 1);
    assert_usable(&beds.program, &study);
    // Another command continues it, and it is complete.
    let id = &study.id.0;
    let refused = beds.program.run(&["clock", "--continue", id]).expect(2);
    assert!(refused.err.contains("it is complete"), "{}", refused.err);
}
