//! Do the demands agree with what others count? mpstat and iostat beside a directory on a disk, and the
//! interface's own counters in a lab, a sample a second; what lies within a trial is compared.

use super::found;
use crate::kept::load_average;
use crate::support::Plimsoll;
use crate::support::beds::Beds;
use plimsoll_explain::{Resource, Use};
use plimsoll_model::Study;
use plimsoll_testkit::{Need, available};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Furthest apart, as a share.
const WANTED: f64 = 0.05;
/// Seconds of a trial, and at its ends what is left out: starts are known to a second.
const TRIAL: &str = "--time=60s";
const EDGE: f64 = 3.0;
/// Before anything is measured.
const IDLE: Duration = Duration::from_secs(8);

/// What another tool counts, a value a second from when it was started.
struct Tool {
    child: Child,
    begun: f64,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

impl Tool {
    fn start(mut command: Command) -> Tool {
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        Tool { child, begun: now() }
    }

    /// What it wrote, after an interrupt.
    fn end(self) -> (f64, String) {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill");
        let output = self.child.wait_with_output().expect("it ends").stdout;
        (self.begun, String::from_utf8_lossy(&output).into_owned())
    }

    /// The samples of sysstat's JSON.
    fn samples(self) -> (f64, Vec<serde_json::Value>) {
        let (begun, text) = self.end();
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let samples = json["sysstat"]["hosts"][0]["statistics"].as_array().cloned();
        (begun, samples.unwrap_or_default())
    }
}

/// The mean of a value a second over what lies between two moments.
fn mean(begun: f64, values: &[f64], (from, to): (f64, f64)) -> f64 {
    let within = |k: &usize| begun + *k as f64 >= from && begun + *k as f64 + 1.0 <= to;
    let chosen: Vec<f64> = (0..values.len()).filter(within).map(|k| values[k]).collect();
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

/// When the only trial ran, its ends left out.
fn window(study: &Study) -> (f64, f64) {
    let trial = &study.trials[0];
    let from = study.started_unix_seconds as f64 + trial.started_seconds;
    (from + EDGE, from + trial.loads[0].seconds - EDGE)
}

fn compare(what: &str, ours: f64, theirs: f64) -> bool {
    let apart = ours / theirs - 1.0;
    let good = apart.abs() <= WANTED;
    println!(
        "{what}: {:.3} µs an operation, by the other {:.3} µs: {:+.1}%{}",
        1e6 * ours,
        1e6 * theirs,
        100.0 * apart,
        if good { "" } else { ", NOT within 5%" }
    );
    good
}

fn demand(uses: &[Use], is: fn(&Resource) -> bool) -> f64 {
    uses.iter().find(|one| is(&one.resource)).expect("it was seen").demand_seconds
}

/// CPU and disk of this machine.
fn on_a_disk() -> bool {
    let sysstat = |tool: &str, words: &[&str]| {
        let mut command = Command::new(tool);
        command.args(words).args(["-o", "JSON", "1"]);
        Tool::start(command)
    };
    // Of disks alone: with processors beside them a sample that is broken off is no JSON.
    let (mpstat, iostat) = (sysstat("mpstat", &[]), sysstat("iostat", &["-d", "-x", "-y"]));
    std::thread::sleep(IDLE);
    let program = Plimsoll::new();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let place = place.path().to_str().expect("letters");
    program
        .run(&[
            "check",
            place,
            "--pattern=random-read",
            "--workers=2",
            "--size=1GiB",
            "--baseline=5s",
            "--repeats=1",
            TRIAL,
            "--quiet",
        ])
        .expect(0);
    let study = program.latest();
    let limits = found(&study).expect("a complete trial");
    let (window, cores) = (window(&study), f64::from(study.hosts[0].cpus));
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let (begun, samples) = mpstat.samples();
    let busy = |sample: &serde_json::Value| {
        let percent = |class: &str| number(&sample["cpu-load"][0][class]);
        (100.0 - percent("idle") - percent("iowait") - percent("steal")) / 100.0 * cores
    };
    let busy: Vec<f64> = samples.iter().map(busy).collect();
    let idle = mean(begun, &busy, (begun, begun + IDLE.as_secs_f64() - 1.0));
    let used = (mean(begun, &busy, window) - idle) / limits.per_second;
    let processor = demand(&limits.uses, |resource| *resource == Resource::Processor);
    let right = compare("CPU beside mpstat", processor, used);
    let Some(Resource::Disk { name }) =
        limits.uses.iter().map(|one| &one.resource).find(|r| matches!(r, Resource::Disk { .. }))
    else {
        panic!("no disk was seen: {limits:?}");
    };
    let (begun, samples) = iostat.samples();
    let busy = |sample: &serde_json::Value| {
        let disks = sample["disk"].as_array().into_iter().flatten();
        let own = disks.into_iter().find(|disk| disk["disk_device"] == name.as_str());
        own.map_or(0.0, |disk| number(&disk["util"]) / 100.0)
    };
    let busy: Vec<f64> = samples.iter().map(busy).collect();
    let used = mean(begun, &busy, window) / limits.per_second;
    let disk = demand(&limits.uses, |resource| matches!(resource, Resource::Disk { .. }));
    compare(&format!("disk {name} beside iostat"), disk, used) && right
}

/// Bytes that an interface has received, a line a second, for longer than a trial with what is around it: an
/// interrupt ends the program that runs this in the lab, and not what it runs.
const BYTES: &str = "for second in $(seq 100); do
    cat /sys/class/net/*/statistics/rx_bytes | sort -n | tail -1; sleep 1; done";

/// The link of a lab.
fn on_a_link() -> bool {
    let beds = Beds::new();
    beds.up("bed", &super::Bed::Namespaces.lab());
    beds.lab(&["set", "bed", "cable", "rate=60Mbit/s"]).expect(0);
    let counted =
        Tool::start(beds.program.command(&["lab", "exec", "bed/client", "--", "sh", "-c", BYTES]));
    beds.program
        .run(&[
            "check",
            "nfs://server/srv/data",
            "--on=lab://bed/client",
            "--host=lab://bed/server",
            "--pattern=sequential-read",
            "--size=64MiB",
            "--baseline=1s",
            "--repeats=1",
            TRIAL,
            "--quiet",
        ])
        .expect(0);
    let study = beds.program.latest();
    let limits = found(&study).expect("a complete trial");
    let (from, to) = window(&study);
    let (begun, text) = counted.end();
    let bytes: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let at = |moment: f64| bytes[((moment - begun) as usize).min(bytes.len() - 1)];
    let per_second = (at(to) - at(from)) / ((to - begun).floor() - (from - begun).floor());
    let Some(Resource::Link { bits_per_second, .. }) =
        limits.uses.iter().map(|one| &one.resource).find(|r| matches!(r, Resource::Link { .. }))
    else {
        panic!("no link was seen: {limits:?}");
    };
    let used = 8.0 * per_second / *bits_per_second as f64 / limits.per_second;
    let link = demand(&limits.uses, |resource| matches!(resource, Resource::Link { .. }));
    compare("link beside the interface", link, used)
}

#[test]
#[ignore = "takes four minutes, and a quiet machine: make measure-limits"]
fn measure_limits_counters() {
    let there = |tool: &str| Command::new(tool).arg("-V").output().is_ok();
    if !available(Need::Namespaces) || !available(Need::Ganesha) {
        return;
    }
    assert!(there("mpstat") && there("iostat"), "make setup-limits installs mpstat and iostat");
    println!("load average: {}", load_average());
    let right = [on_a_disk(), on_a_link()];
    println!("within 5%: {right:?}; load average: {}", load_average());
}
