//! `plimsoll explain` and the bottleneck in a row: what is named is what a lab was made to be short of.

mod support;

use plimsoll_model::{Measure, Metric};
use plimsoll_testkit::{Need, available};
use support::beds::Beds;
use support::lab_file::LabFile;
use support::sound::{assert_complete, with};
use support::{Plimsoll, unwrapped};

/// A server that may use a twentieth of a core.
fn lab_file() -> LabFile {
    let server = LabFile::new().namespace("server").set("cpu", "5%").ganesha("256MiB");
    let cable = server.namespace("client").link("cable", ["server", "client"]);
    cable.set("rate", "1Gbit/s")
}

const CHECK: [&str; 8] = [
    "check",
    "nfs://server/srv/data",
    "--on=lab://bed/client",
    "--size=8MiB",
    "--repeats=3",
    // Its share may have been spent by others before: a point of a sweep must outlast that.
    "--time=3s",
    "--seed=7",
    "--quiet",
];

fn lab() -> Option<Beds> {
    let needs = [Need::Namespaces, Need::Ganesha];
    needs.into_iter().all(available).then(|| {
        let beds = Beds::with_runner();
        beds.up("bed", &lab_file());
        beds
    })
}

/// Checks with these options, and what `explain` says of it, in one line.
#[track_caller]
fn explained(beds: &Beds, options: &[&str]) -> String {
    beds.program.run(&with(&CHECK, options)).expect(0);
    let said = beds.program.run(&["explain", "latest"]).expect(0).out;
    unwrapped(&said)
}

#[test]
fn what_a_lab_is_short_of_is_named_and_nothing_that_was_not_seen() {
    let Some(beds) = lab() else { return };
    let random = ["--pattern=random-read", "--host=lab://bed/server"];

    // A twentieth of a core.
    let said = explained(
        &beds,
        &with(&random, &["--explain"]).iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let held = "The CPU of lab://bed/server (held to 5% of a core by the lab) is the bottleneck of random read.";
    assert!(said.contains(held), "{said}");
    assert!(said.contains(" of 0.0500 cores."), "{said}");
    assert!(said.contains("with 1 in flight") && said.contains("with 16 in flight"), "{said}");
    let study = beds.program.latest();
    let server = |load: &&plimsoll_model::HostLoad| load.host == *"lab://bed/server";
    let plain: Vec<_> = study.trials.iter().filter(|trial| trial.points.is_empty()).collect();
    assert!(!plain.is_empty());
    for trial in plain {
        let load = trial.loads.iter().find(server).unwrap();
        let group = load.control_group.unwrap();
        assert_eq!(group.quota_cores, Some(0.05));
        // What it may, and as much as it saved up before.
        assert!(group.cpu_seconds > 0.0, "{group:?}");
        assert!(group.cpu_seconds < 0.05 * load.seconds + 0.05, "{group:?} in {}", load.seconds);
    }
    let facts = study.subjects[0].storage().unwrap();
    let round_trip = facts.round_trip_seconds.unwrap();
    assert!((1e-6..1.0).contains(&round_trip), "{round_trip}");

    // The same where the server was not watched: nothing that was seen accounts for it.
    let said = explained(&beds, &random[..1]);
    assert!(!said.contains("is the bottleneck"), "{said}");
    assert!(said.contains("Not monitored: server CPU, disks"), "{said}");
    assert!(said.contains("--host lab://bed/server"), "{said}");

    // A server with all it wants, and a link so slow that it is full on a busy machine too.
    beds.lab(&["set", "bed", "server", "cpu=100%"]).expect(0);
    beds.lab(&["set", "bed", "cable", "rate=20Mbit/s"]).expect(0);
    let said = explained(&beds, &["--pattern=sequential-read", "--host=lab://bed/server"]);
    assert!(said.contains("The link is the bottleneck of sequential read."), "{said}");
    let shown = beds.program.run(&["show", "latest"]).expect(0).out;
    let row = shown.lines().find(|line| line.starts_with("sequential read  ")).unwrap_or(&shown);
    assert!(shown.contains("  bottleneck"), "{shown}");
    let percent = row.rsplit_once("  link ").and_then(|(_, rest)| rest.split_once('%'));
    let percent = percent.and_then(|(percent, _)| percent.parse::<u32>().ok());
    assert!(percent.is_some_and(|percent| (90..=100).contains(&percent)), "{shown}");
}

/// 16 blocks of 1 MiB in flight take 1.6 s on this link: "no operation completed within 0.4 s" was the end of a quarter of
/// the trials, and the exit code was 1.
#[test]
fn a_quick_study_with_bottlenecks_ends_well_on_a_slow_link() {
    let Some(beds) = lab() else { return };
    beds.lab(&["set", "bed", "server", "cpu=none"]).expect(0);
    beds.lab(&["set", "bed", "cable", "rate=80Mbit/s"]).expect(0);
    let [command, target, on, ..] = CHECK;
    let ran = beds.program.run(&[command, target, on, "--quick", "--explain", "--quiet"]).expect(0);
    let said = unwrapped(&format!("{} {}", ran.out, ran.err));
    assert!(!said.contains("no operation completed"), "{said}");
    let study = beds.program.latest();
    assert_complete(&study);
    let points: Vec<_> = study.trials.iter().flat_map(|trial| &trial.points).collect();
    assert!(points.iter().any(|point| point.at == 16.0), "the ladder was measured");
    for point in points {
        let rate = point.parts[0].quantities.get(&Metric::all(Measure::IOPS));
        assert!(rate.is_some_and(|rate| *rate > 0.0), "{} in flight", point.at);
    }
}

#[test]
fn what_is_not_there_is_not_explained() {
    let program = Plimsoll::new();
    let ran = program.run(&["explain", "puskas2071"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("Did you mean `puskas2017`?"), "{}", ran.err);
}
