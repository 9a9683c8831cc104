//! What limits, in words, and what would have to be typed to be sure of it.

mod support;

use plimsoll_explain::whatif::{ProcessorSpeed, Processors, WhatIf};
use plimsoll_model::device::{Device, Inventory, MemoryFigures, Nic, Nics, StreamFigure};
use plimsoll_model::{
    BoxFacts, ControlGroupLoad, CpuTimes, DiskFacts, Flag, IdleWindows, Job, LabFacts, Measure,
    Metric, NfsdLoad, Rule, Stall, StallPhase, Study, StudyId, Subject, SubjectFacts, Target,
    units,
};
use plimsoll_report::{Document, RecordedDevice, Style, WhatIfReport};
use support::plain::servers::{SERVER, Truth, count_cores, study, with_ladder};
use support::plain::storage;

fn explained(study: &Study) -> String {
    explained_with(study, &[])
}

fn explained_with(study: &Study, devices: &[RecordedDevice]) -> String {
    let style = Style { width: 160, colour: false };
    let text = Document::explaining(study, devices).screen(&style);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One thread of an NFS server that waits for a slow disk is as busy as that: only more threads tell whether
/// the disk can do more at a time.
#[test]
fn threads_that_wait_for_a_disk_are_to_be_tried_with_more_of_them() {
    let at = |depth| Truth { depth, disk: 5e-3, at_a_time: 1.0, ..Truth::default() };
    let mut study = with_ladder(study(at(4), true), true, [1, 4, 16], at);
    study.plan.command = "plimsoll check nfs://nas/a --explain".into();
    let of_points =
        study.trials.iter_mut().flat_map(|trial| &mut trial.points).flat_map(|p| &mut p.loads);
    of_points.for_each(|load| load.nfsd = None);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.nfsd = Some(NfsdLoad { threads: Some(1), ..NfsdLoad::default() });
    }
    let said = explained(&study);
    let wanted = [
        "The bottleneck of random read cannot be distinguished: ",
        "the one NFS thread of ",
        "more of them help if it can do several operations at a time.",
        &format!("--explain --set {SERVER}/nfsd-threads=as-found,8"),
    ];
    for words in wanted {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    // A solid-state disk can.
    let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
    server.disks.insert("sda".into(), DiskFacts { rotational: false, queue_depth: Some(32) });
    let said = explained(&study);
    let wanted = [
        &format!("The one NFS thread of {SERVER} is the bottleneck of random read."),
        "which can work on several operations at a time: more threads help.",
        &format!(
            "With more threads: plimsoll check nfs://nas/a --explain --set {SERVER}/nfsd-threads=as-found,8"
        ),
    ];
    for words in wanted {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let advice = Document::advising(&study, None).screen(&Style { width: 160, colour: false });
    let setting = format!("The setting nfsd-threads=8 on {SERVER} may bring up to ");
    assert!(advice.contains(&setting), "{advice}");
}

/// What a gigabyte of large reads costs a server, by what the same machine did by itself.
#[test]
fn checksums_are_a_part_of_what_a_gigabyte_costs_where_no_interface_computes_them() {
    let truth = Truth { depth: 4, driver: 1e-4, server: 4e-3, ..Truth::default() };
    let mut study = study(truth, true);
    for part in study.trials.iter_mut().flat_map(|trial| &mut trial.result.parts) {
        *part.quantities.get_mut(&Metric::all(Measure::THROUGHPUT)).unwrap() *= 256.0;
        for column in part.series.kinds.values_mut() {
            column.bytes.iter_mut().for_each(|bytes| *bytes *= 256);
        }
    }
    let said = |features: &[&str]| {
        let stream = StreamFigure {
            place: Some("memory".into()),
            checksum_bytes_per_second: Some(2_000_000_000),
            ..StreamFigure::default()
        };
        let nic = Nic {
            bus: Some("pci".into()),
            offloads: features.iter().map(|name| (*name).to_owned()).collect(),
            ..Nic::default()
        };
        let network = Some(Nics { nics: vec![nic], ..Nics::default() });
        let device = Device {
            memory: Some(MemoryFigures { streams: vec![stream], ..MemoryFigures::default() }),
            inventory: Some(Inventory { network, ..Inventory::default() }),
            ..Device::default()
        };
        let facts = BoxFacts { label: "nas".into(), given: SERVER.into(), device };
        explained_with(&study, &[RecordedDevice { study: StudyId("d1".into()), facts }])
    };
    let none = "checksums 0.500 s, 13% (its network interfaces compute none).";
    let all = "no checksums, because its network interfaces compute them (otherwise 0.500 s, 13%).";
    let unknown = "checksums 0.500 s, 13%, if its network interface computes none.";
    for (features, words) in
        [(&["rx-gro"][..], none), (&["rx-checksum", "tx-checksum-ipv4"], all), (&[], unknown)]
    {
        let said = said(features);
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

/// A disk alone is named, and nothing is to be varied.
#[test]
fn a_disk_that_is_the_limit_takes_no_more_threads() {
    let at = |depth| Truth { depth, disk: 5e-3, at_a_time: 1.0, ..Truth::default() };
    let said = explained(&study(at(4), true));
    assert!(said.contains(" is the bottleneck of random read."), "{said}");
    assert!(said.contains(" disk 100% ") || said.contains(" disk 99% "), "{said}");
    assert!(!said.contains("--set"), "{said}");
}

/// The bottleneck stands in its row of the answer, as a word and a percentage; a server that is not monitored has none.
#[test]
fn the_bottleneck_stands_in_the_row() {
    let row = |study: &Study| {
        let screen = Document::of_study(study).screen(&Style { width: 80, colour: false });
        let row = screen.lines().find(|line| line.starts_with("random read  ")).map(str::to_owned);
        row.unwrap_or_else(|| panic!("no row in {screen}"))
    };
    let truth = Truth { depth: 4, disk: 1e-3, ..Truth::default() };
    assert!(row(&study(truth, true)).contains("  disk 100%  "), "{}", row(&study(truth, true)));
    let hidden = study(Truth { depth: 4, hidden: 1e-3, ..Truth::default() }, false);
    assert!(row(&hidden).contains("  not monitored (1)"), "{}", row(&hidden));
}

/// "Bottleneck: link 70%" was said of operations whose server was not monitored: by the making it was the server.
#[test]
fn what_is_not_saturated_is_not_named() {
    let screen = |watched| {
        let truth = Truth { depth: 1, link: 700e-6, server: 300e-6, ..Truth::default() };
        let mut study = study(truth, watched);
        study.plan.command = "plimsoll check nfs://nas/a".into();
        let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unwatched = screen(false);
    for words in [
        "server not monitored; link 70% (1)",
        "(1) Not monitored: server CPU, disks. Add --host ssh://root@nas.",
        "Name the bottleneck: plimsoll check nfs://nas/a --host ssh://root@nas",
    ] {
        assert!(unwatched.contains(words), "no {words:?} in {unwatched}");
    }
    let watched = screen(true);
    let note = "(1) No monitored resource is saturated. The busiest one takes most of an operation's time.";
    assert!(watched.contains("none found; link 70% (1)") && watched.contains(note), "{watched}");
    for screen in [unwatched, watched] {
        assert!(!screen.contains("helps most"), "{screen}");
    }
}

/// A router of a lab that had a fifth of a core was called the server.
#[test]
fn the_quota_of_a_router_is_not_that_of_the_server() {
    let mut study = study(Truth { depth: 4, server: 300e-6, ..Truth::default() }, true);
    study.plan.drive_on(["lab://bed/lan".parse().unwrap()]);
    study.plan.subjects = vec![Subject::from("nfs://wan/a".parse::<Target>().unwrap())];
    study.plan.watched[1].host = "lab://bed/router".parse().unwrap();
    let settings = [("link outer between", "wan, router"), ("link inner between", "router, lan")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let lab = LabFacts { name: "bed".into(), settings };
    for host in &mut study.hosts {
        let name = if host.name == *SERVER { "lab://bed/router" } else { "lab://bed/lan" };
        (host.name, host.lab) = (name.parse().unwrap(), Some(lab.clone()));
    }
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        let is_router = load.host == *SERVER;
        load.host = if is_router { "lab://bed/router" } else { "lab://bed/lan" }.parse().unwrap();
        load.control_group = is_router.then_some(ControlGroupLoad {
            cpu_seconds: 0.39,
            quota_cores: Some(0.2),
            throttled_share: Some(0.95),
        });
    }
    let screen = |study: &Study| {
        let screen = Document::of_study(study).screen(&Style { width: 80, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let of_router = screen(&study);
    assert!(of_router.contains(" router CPU quota 9"), "{of_router}");
    let helps = "More router CPU helps most: the router CPU quota limits every row.";
    assert!(of_router.contains(helps), "{of_router}");
    // The same host as the server.
    study.plan.subjects = vec![Subject::from("nfs://router/a".parse::<Target>().unwrap())];
    assert!(screen(&study).contains(" server CPU quota 9"), "{}", screen(&study));
}

/// What is short without other work stands beside the advice to stop that; hours of blocks would only measure it again.
#[test]
fn a_known_bottleneck_is_what_helps_next() {
    let screen = |truth: Truth, busy: bool| {
        let mut study = study(Truth { depth: 16, server: 20e-6, ..truth }, true);
        study.plan.design.rule =
            Rule::Sequential { first: 6, half_width: 0.0244, at_least_seconds: 7200.0 };
        if busy {
            let windows = IdleWindows::default();
            study.flags =
                vec![Flag::BusyBaseline { host: "local".parse().unwrap(), busy: 0.96, windows }];
            let loads = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
            loads.for_each(|load| load.idle_baseline = 1.9);
        }
        let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let link = Truth { link: 400e-6, ..Truth::default() };
    let known = screen(link, false);
    assert!(known.contains("A faster link helps most: the link limits every row."), "{known}");
    assert!(!known.contains("--continue"), "{known}");
    let disturbed = screen(link, true);
    for words in [
        "Without other work, a faster link helps most: the link limits every row.",
        "Stop other work on this machine, then run again: ",
    ] {
        assert!(disturbed.contains(words), "no {words:?} in {disturbed}");
    }
    // Hours may be worth it where nothing is named; and a full core may be that of the other work.
    let unknown = screen(Truth { hidden: 400e-6, ..Truth::default() }, false);
    assert!(unknown.contains("--continue 5eed0001 (about 2 h)"), "{unknown}");
    let driver = screen(Truth { driver: 400e-6, ..Truth::default() }, true);
    assert!(!driver.contains("helps most"), "{driver}");
}

/// For a target on this machine nobody logs in to anywhere.
#[test]
fn a_server_on_the_loopback_is_watched_as_the_client_is() {
    let truth = Truth { depth: 4, hidden: 1e-3, ..Truth::default() };
    let mut study = study(truth, false);
    study.plan.command = "plimsoll check nfs://127.0.0.1/a".into();
    study.plan.subjects = vec![Subject::from("nfs://127.0.0.1/a".parse::<Target>().unwrap())];
    let said = explained(&study);
    assert!(said.contains("Not monitored: server CPU, disks. Add --host local."), "{said}");
    assert!(said.contains("plimsoll check nfs://127.0.0.1/a --host local"), "{said}");
    assert!(!said.contains("ssh://"), "{said}");
}

/// A directory on a disk of this machine has no server: "Not monitored: server CPU" stood below one.
#[test]
fn a_local_directory_is_told_of_no_server() {
    let local = |truth: Truth| {
        let mut study = study(Truth { depth: 4, seconds: 0.02, ..truth }, false);
        study.plan.subjects = vec![Subject::from("/srv/data".parse::<Target>().unwrap())];
        let facts = storage(&mut study.subjects[0]);
        (facts.protocol, facts.round_trip_seconds) = ("directory on ext4".into(), None);
        // A tick or two of each core.
        for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
            load.cores = vec![CpuTimes { system: 0.02, ..CpuTimes::default() }; 2];
            count_cores(load);
        }
        study
    };
    let style = Style { width: 160, colour: false };
    let waits = local(Truth { driver: 50e-6, hidden: 1e-3, ..Truth::default() });
    let said = explained(&waits);
    let cpu = "Not monitored: CPU of this machine (too little CPU time to measure).";
    assert!(said.contains(cpu) && !said.contains("server CPU"), "{said}");
    let advice = Document::advising(&waits, None).screen(&style);
    assert!(!advice.contains("server CPU"), "{advice}");
    let drives = local(Truth { driver: 1e-3, ..Truth::default() });
    let speed = ProcessorSpeed::times(2.0);
    let faster = WhatIf::Processor { of: Processors::Client, speed };
    let said = WhatIfReport::new(&drives, &[faster], None).document().screen(&style);
    let unknown = "The CPU time of an operation is not known.";
    assert!(said.contains(unknown) && !said.contains("server's"), "{said}");
}

#[test]
fn a_change_of_what_is_hardly_used_is_no_help() {
    let study = study(Truth { depth: 4, driver: 10e-6, hidden: 1e-3, ..Truth::default() }, true);
    let advice = Document::advising(&study, None).screen(&Style { width: 160, colour: false });
    let said =
        "A client CPU 2 times as fast would not help: the work needs next to none of its time.";
    assert!(advice.contains(said), "{advice}");
}

/// A rate of operations was "IOPS" in `check`, "k/s" here, and "operations/s" in the details.
#[test]
fn rates_of_operations_have_one_unit() {
    let study = study(Truth { depth: 4, driver: 10e-6, hidden: 1e-3, ..Truth::default() }, true);
    let text = Document::explaining(&study, &[]).text(&Style { width: 160, colour: false });
    assert!(text.contains("100 k IOPS"), "{text}");
    assert!(!text.contains("operations/s") && !text.contains("k/s"), "{text}");
}

/// A router of a lab with a fifth of a core, which nobody watched.
#[test]
fn a_quota_on_the_way_is_named_with_what_would_show_it() {
    let mut study = study(Truth { depth: 4, hidden: 1e-3, ..Truth::default() }, false);
    study.plan.command = "plimsoll check nfs://wan/a --on lab://bed/lan".into();
    study.plan.drive_on(["lab://bed/lan".parse().unwrap()]);
    study.plan.subjects = vec![Subject::from("nfs://wan/a".parse::<Target>().unwrap())];
    let settings = [
        ("host router cpu", "20%"),
        ("link outer between", "wan, router"),
        ("link inner between", "router, lan"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    study.hosts[0].name = "lab://bed/lan".parse().unwrap();
    study.hosts[0].lab = Some(LabFacts { name: "bed".into(), settings });
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.host = "lab://bed/lan".parse().unwrap();
    }
    let said = explained(&study);
    assert!(
        said.contains("the CPU of lab://bed/router (held to 20% of a core by the lab)"),
        "{said}"
    );
    assert!(said.contains(" --host lab://bed/router"), "{said}");
}

/// 1 MiB in calls of 4 KiB, a round trip that is longer than an operation, and a link that carried too much.
#[test]
fn what_cannot_be_and_what_makes_many_calls_is_said() {
    let truth = Truth { depth: 4, disk: 1e-3, link: 100e-6, ..Truth::default() };
    let mut study = study(truth, true);
    let Job::Pattern(job) = &mut study.plan.workloads[0].parts[0].job else { panic!("a pattern") };
    job.block = units::Bytes(1 << 20);
    let SubjectFacts::Storage(facts) = &mut study.subjects[0] else { panic!("storage") };
    (facts.read_size_bytes, facts.round_trip_seconds) = (4096, Some(1.0));
    study.hosts[0].link_rates.insert("eth0".into(), 10_000_000);
    let said = explained(&study);
    for words in [
        "is the bottleneck of random read.",
        "The figures of the link contradict each other",
        "Each operation is 256 calls, because client and server agreed on at most 4.00 KiB in one",
        "it is no bound, and is not used.",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

/// "The server did not answer for 1.8% of the time" was said of a server that waited for a client held to 3% of a core.
#[test]
fn a_client_that_is_the_bottleneck_is_no_server_that_does_not_answer() {
    let screen = |truth: Truth| {
        let mut study = study(Truth { depth: 16, server: 20e-6, ..truth }, true);
        study.plan.command = "plimsoll check nfs://nas/a".into();
        for (number, trial) in (0..).zip(&mut study.trials) {
            trial.started_seconds = 10.0 * f64::from(number);
            let part = &mut trial.result.parts[0];
            let phase = StallPhase::Measured;
            part.stalls.push(Stall { phase, start_seconds: 1.0, seconds: 2.0 });
        }
        let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let of_client = screen(Truth { driver: 400e-6, ..Truth::default() });
    assert!(of_client.contains("No operation completed for "), "{of_client}");
    assert!(!of_client.contains("did not answer"), "{of_client}");
    let of_link = screen(Truth { link: 400e-6, ..Truth::default() });
    assert!(of_link.contains("The server did not answer for "), "{of_link}");
}
