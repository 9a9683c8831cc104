//! Screens of studies as large as those of users, in a lab, quiet and disturbed.

use super::screens_of_copies::{both_ways, of_methods};
use super::screens_of_operations::{TRUTHS, operations};
use super::{base, fits, row, screen, sequential, storage, words};
use crate::support::plain::servers::{self, SERVER};
use crate::support::plain::{add_blocks, dataset};
use plimsoll_model::units::{Bytes, GIB, MIB};
use plimsoll_model::*;
use plimsoll_report::Document;

const NEAR: &str = "lab://screens/near";
const CLIENT: &str = "lab://screens/client";

/// Moves the hosts of a study into a lab, whose names are longer, on one machine.
fn in_a_lab(study: &mut Study) {
    let rename = |host: &mut HostName| {
        if *host == HostName::Local {
            *host = CLIENT.parse().unwrap();
        } else if *host == *SERVER {
            *host = NEAR.parse().unwrap();
        }
    };
    study.plan.drive_on([CLIENT.parse().unwrap()]);
    for server in study.plan.watched.iter_mut().filter(|one| one.role == HostRole::Server) {
        server.host = NEAR.parse().unwrap();
    }
    for facts in &mut study.hosts {
        rename(&mut facts.name);
        facts.cpu_model = "Intel(R) Xeon(R) Processor".into();
        facts.memory_bytes = 25_232_932_864;
    }
    let points = |trial: &mut Trial| {
        let of_points = trial.points.iter_mut().flat_map(|point| &mut point.loads);
        for load in trial.loads.iter_mut().chain(of_points) {
            rename(&mut load.host);
        }
    };
    study.trials.iter_mut().for_each(points);
    for facts in study.subjects.iter_mut().map(storage) {
        facts.protocol = "NFSv4.2 over TCP".into();
        facts.reads_from = Some(StoredOn::ServerMemory);
    }
    study.flags.push(Flag::WorkingSet {
        target: study.subjects[0].given().to_owned(),
        size: Bytes(64 * MIB),
        reads_from: StoredOn::ServerMemory,
        settles: Some(Bytes(48 * GIB)),
    });
}

/// Other work on the machine, and all that comes of it.
fn disturbed(study: &mut Study) {
    let windows = IdleWindows::default();
    let busy = |host: &str, busy| Flag::BusyBaseline {
        host: host.parse().unwrap(),
        busy,
        windows: windows.clone(),
    };
    let process = Flag::BusyProcess {
        host: CLIENT.parse().unwrap(),
        process: "burn".into(),
        cores: 1.0,
        kernel: false,
        windows: windows.clone(),
    };
    study.flags.extend([
        busy(CLIENT, 1.0),
        busy(NEAR, 1.0),
        process,
        Flag::CapReached { blocks: 6, wanted: 400 },
        Flag::NotWatched {
            host: "lab://screens/far".parse().unwrap(),
            reason: "no such host".into(),
        },
    ]);
    let load = |resource, per_second| Flag::OtherLoad {
        host: CLIENT.parse().unwrap(),
        resource,
        per_second,
    };
    // No trial is without it, so that its effect is not known.
    for trial in &mut study.trials {
        trial.result.flags.push(load(HostResource::Cpu, 0.9));
        trial.result.flags.push(load(HostResource::Disk, 80e6));
    }
}

/// Fits a terminal of 80 x 24 and names the bottleneck in its rows, without a dash in place of any.
fn holds(screen: &str, rows: usize) {
    fits(screen);
    let (_, table) = screen.split_once(" bottleneck").unwrap_or_else(|| panic!("{screen}"));
    for line in table.lines().skip(2).take(rows) {
        assert!(line.split_whitespace().all(|word| word != "–"), "{line}\n{screen}");
    }
}

#[test]
fn operations_of_one_target() {
    let mut study = operations(&["nfs://near/srv/data"], &TRUTHS[..1]);
    in_a_lab(&mut study);
    let screen = screen(&study);
    holds(&screen, 4);
    for (name, figure) in [("read 1 MiB × 1", "B/s ["), ("write 4 KiB × 64", "] IOPS*  ")] {
        let row = row(&screen, name);
        assert!(row.contains(figure) && row.contains("  link "), "{name} in\n{screen}");
    }
    assert!(row(&screen, "read 1 MiB × 1").ends_with("server memory"), "{screen}");
    assert!(row(&screen, "write 1 MiB × 1").ends_with("burst"), "{screen}");
    assert!(screen.contains("\n* burst into a write cache"), "{screen}");
    insta::assert_snapshot!(screen);
    // The details have all kinds, and the costs of the model.
    let whole = Document::of_study(&study).text(&super::SCREEN);
    assert!(whole.contains("set attributes") && !screen.contains("set attributes"), "{whole}");
    assert!(words(&whole).contains("90% of these rates with: read "), "{whole}");
}

#[test]
fn operations_of_a_disturbed_target() {
    let mut study = operations(&["nfs://near/srv/data"], &TRUTHS[1..]);
    in_a_lab(&mut study);
    disturbed(&mut study);
    let screen = screen(&study);
    holds(&screen, 4);
    assert!(row(&screen, "write 1 MiB × 1").contains("  server CPU core "), "{screen}");
    assert!(
        words(&screen).contains("figures may be too low. Stop other work and run again."),
        "{screen}"
    );
    assert!(screen.contains("\nStop other work on "), "{screen}");
    insta::assert_snapshot!(screen);
}

/// Nine copies, each with the loads of its hosts.
fn copies() -> Study {
    let target = "nfs://storage-server-of-the-department.example.org/volume1/backups/of/everybody";
    let mut study = both_ways(&[target], 6, of_methods);
    let source = dataset(DataClass::Source, 1.0);
    let from = study.plan.workloads.len() as u16;
    for number in 0..2u16 {
        let mut update = study.plan.workloads[usize::from(number)].clone();
        let Job::Copy(job) = &mut update.parts[0].job else { unreachable!() };
        (job.transfer, job.dataset) = (Transfer::Update, source.clone());
        study.plan.workloads.push(update);
        let same = |trial: &&Trial| trial.cell.workload == number;
        let trials: Vec<Trial> = study.trials.iter().filter(same).cloned().collect();
        study.trials.extend(
            trials.into_iter().map(|trial| Trial {
                cell: Cell { workload: from + number, ..trial.cell },
                ..trial
            }),
        );
    }
    let metric = Metric::all(Measure::ELAPSED);
    let measurand = |workload: u16| {
        let cell = Cell { workload, ..Cell::default() };
        Measurand { cell, part: 0, metric }
    };
    let contrast = Contrast { of: measurand(from + 1), against: measurand(from), claim: true };
    study.plan.contrasts.push(contrast);
    let host: HostName = SERVER.parse().unwrap();
    study.plan.watched.push(Watched::new(host, HostRole::Server));
    study.hosts.push(HostFacts { name: SERVER.parse().unwrap(), cpus: 2, ..HostFacts::default() });
    study.hosts[0].link_rates.insert("eth0".into(), 1_000_000_000);
    for (number, trial) in (0..).zip(&mut study.trials) {
        trial.number = number;
        let work = study.plan.workloads[usize::from(trial.cell.workload)].parts[0].job.file_work();
        let work = work.unwrap();
        // Shares of the time in which the link and the server's cores are busy.
        let (link, server) = match (work.files_of, work.method) {
            ("source tree", "pipelined") => (0.94, 0.94),
            ("source tree", _) => (0.2, 0.98),
            _ => (0.95, 0.2),
        };
        let quantities = &mut trial.result.parts[0].quantities;
        let seconds = quantities[&Metric::all(Measure::ELAPSED)];
        quantities.insert(Metric::all(Measure::IN_FLIGHT), 8.0);
        let interface = InterfaceLoad {
            name: "eth0".into(),
            received_bytes: (link * 125e6 * seconds) as u64,
            ..InterfaceLoad::default()
        };
        let client = servers::load("local", seconds, [0.1; 2], 0.0);
        let client = HostLoad { interfaces: vec![interface], ..client };
        trial.loads = vec![client, servers::load(SERVER, seconds, [server; 2], 0.0)];
    }
    study.plan.command = format!("plimsoll copy {target}");
    in_a_lab(&mut study);
    study
}

#[test]
fn a_copy_by_two_methods_to_a_long_name() {
    let study = copies();
    let screen = screen(&study);
    holds(&screen, 9);
    for work in ["movies up", "music down", "pictures up"] {
        assert!(row(&screen, work).ends_with(" link 95%"), "{work} in\n{screen}");
    }
    for work in ["source tree up", "source tree down", "source tree update"] {
        assert!(row(&screen, work).ends_with(" server CPU 98%"), "{work} in\n{screen}");
    }
    assert_eq!(screen.matches("server CPU ≈ link (1)\n").count(), 3, "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_disturbed_copy_by_two_methods() {
    let mut study = copies();
    disturbed(&mut study);
    study.flags.push(Flag::Quick { resolvable: Some(2.1) });
    study.flags.push(Flag::Scaled {
        wanted: 1.0,
        used: 0.077,
        most: None,
        why: Scaled::Space {
            target: study.subjects[0].given().to_owned(),
            available: Bytes(256 * MIB),
        },
    });
    let screen = screen(&study);
    holds(&screen, 9);
    assert!(row(&screen, "source tree up").contains("server "), "{screen}");
    assert!(
        words(&screen).contains("figures may be too low. Stop other work and run again."),
        "{screen}"
    );
    insta::assert_snapshot!(screen);
}

/// A check of two targets whose servers have different bottlenecks.
fn check_of_two() -> Study {
    let patterns = [Pattern::RandomRead, Pattern::RandomWrite];
    let mut study = sequential(&["nfs://nas/volume1", "smb://me@nas/volume1"], &patterns);
    let host: HostName = SERVER.parse().unwrap();
    study.plan.watched.push(Watched::new(host, HostRole::Server));
    study.hosts.push(HostFacts { name: SERVER.parse().unwrap(), cpus: 2, ..HostFacts::default() });
    study.hosts[0].link_rates.insert("eth0".into(), 1_000_000_000);
    for block in 0..8 {
        for (workload, (subject, truth)) in
            (0..2).flat_map(|workload| (0..).zip(TRUTHS).map(move |of| (workload, of)))
        {
            let (part, loads) = truth.run(4, true);
            servers::add(&mut study, block, workload, vec![part], loads, Vec::new());
            study.trials.last_mut().unwrap().cell.subject = subject;
        }
    }
    study
}

/// On a page two bottlenecks of a row stay in lines of their own, also where cells are wrapped.
#[test]
fn two_bottlenecks_of_a_row_are_two_lines() {
    let document = Document::of_study(&check_of_two());
    let screen = document.screen(&super::SCREEN);
    fits(&screen);
    let cell = |name: &str| {
        let line = screen.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("{name} in\n{screen}"));
        line[line.find(name).unwrap()..].trim().to_owned()
    };
    let (link, core) = (cell("nfs: link "), cell("smb: server CPU core "));
    let lines = format!("{link}<br>{core}");
    let page = document.html().replace("&nbsp;", " ");
    assert!(page.contains(&lines), "{lines} in\n{}", &page[page.find("<tbody").unwrap()..]);
}

#[test]
fn a_disturbed_check_with_bursts() {
    let mut study = sequential(&["nfs://near/srv/data"], &Pattern::USUAL);
    study.plan.contrasts.clear();
    add_blocks(&mut study, 8, 0.2, |_, pattern| base(pattern));
    let state = |workload| WriteState {
        workload,
        seconds: 0.0,
        bytes: Bytes(0),
        steady_bytes_per_second: None,
    };
    storage(&mut study.subjects[0]).writes = [1, 3, 4].map(state).into();
    in_a_lab(&mut study);
    disturbed(&mut study);
    let screen = screen(&study);
    fits(&screen);
    assert!(row(&screen, "random write").contains(" IOPS*"), "{screen}");
    assert!(screen.contains("\n* burst: a write cache"), "{screen}");
    insta::assert_snapshot!(screen);
}
