//! CPU quotas of hosts.

use crate::support::servers::{SERVER, Truth, count_cores, study, with_ladder};
use crate::{base, name, named, one};
use plimsoll_explain::{Resource, Unseen};
use plimsoll_model::*;

/// A quota that was used to 87% of the counters' time and to 110% of the operations' time is nearly saturated, and was
/// left out: the client alone was named beside it.
#[test]
fn a_quota_that_short_trials_show_as_more_than_all_is_saturated() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let limits_with = |share: f64, longer: f64| {
        let mut study = study(truth, true);
        study.flags.push(Flag::SameMachine { host: SERVER.parse().unwrap() });
        for trial in &mut study.trials {
            let operations = trial.result.moved().operations as f64;
            let used = operations * 220e-6;
            let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
            server.seconds *= longer;
            server.control_group = Some(ControlGroupLoad {
                cpu_seconds: used,
                quota_cores: Some(used / share / server.seconds),
                throttled_share: Some(0.2),
            });
        }
        one(&study)
    };
    let found = limits_with(0.87, 1.27);
    assert_eq!(named(&found), "quota", "{found:#?}");
    assert_eq!(found.binding().unwrap().utilisation, 1.0);
    let found = limits_with(0.6, 2.0);
    assert_eq!(named(&found), "not quota", "{found:#?}");
}

#[test]
fn a_quota_is_what_a_host_may_use_and_a_shared_machine_tells_nothing_else() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let mut shared = study(truth, true);
    shared.flags.push(Flag::SameMachine { host: SERVER.parse().unwrap() });
    let found = one(&shared);
    assert!(found.unseen.contains(&Unseen::SharedProcessor));
    assert!(!named(&found).contains("core"), "{found:#?}");
    // Half a core: an operation that takes 200 µs of it takes 400 of its time.
    for trial in &mut shared.trials {
        let operations = trial.result.moved().operations as f64;
        let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
        server.control_group = Some(ControlGroupLoad {
            cpu_seconds: operations * 200e-6,
            quota_cores: Some(0.5),
            throttled_share: Some(0.9),
        });
    }
    let found = one(&shared);
    assert_eq!(named(&found), "quota", "{found:#?}");
    let quota = found.binding().unwrap();
    assert!((quota.utilisation / (truth.carries(16) * 400e-6) - 1.0).abs() < 0.01, "{quota:?}");
}

/// What a quota held back differs from number to number in flight, and its demand is still looked at.
#[test]
fn the_demand_on_a_quota_is_compared_over_a_ladder() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let mut study =
        with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth { depth, ..truth });
    let limit = |load: &mut HostLoad, operations: u64| {
        load.control_group = Some(ControlGroupLoad {
            cpu_seconds: operations as f64 * 200e-6,
            quota_cores: Some(0.5),
            throttled_share: Some(1.0 / (operations as f64)),
        });
    };
    for trial in &mut study.trials {
        let operations = trial.result.moved().operations;
        trial.loads.iter_mut().for_each(|load| limit(load, operations));
        for point in &mut trial.points {
            let operations = point.parts[0].series.served().operations;
            point.loads.iter_mut().for_each(|load| limit(load, operations));
        }
    }
    let found = one(&study);
    let quota = found.uses.iter().find(|one| name(&one.resource) == "quota").unwrap();
    assert_eq!(found.ladder.as_ref().unwrap().is_constant(quota), Some(true), "{found:#?}");
}

fn set(lab: &mut LabFacts, all: &[(&str, &str)]) {
    lab.settings.extend(all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
}

/// A router between two hosts of a lab that may have a fifth of a core: the machine's own kernel knows nothing of
/// that, and "waiting" was all that was said.
#[test]
fn the_quota_of_a_labs_machine_is_known_though_its_kernel_is_not_told() {
    let truth = Truth { server: 300e-6, hidden: 1_200e-6, ..base(4) };
    let in_lab = |watched: bool| {
        let mut study = study(truth, watched);
        study.plan.drive_on(["lab://bed/lan".parse().unwrap()]);
        study.plan.subjects = vec![Subject::from("nfs://wan/srv".parse::<Target>().unwrap())];
        let mut lab = LabFacts { name: "bed".into(), ..LabFacts::default() };
        set(
            &mut lab,
            &[
                ("host router cpu", "20%"),
                ("host printer cpu", "5%"),
                ("link outer between", "wan, router"),
                ("link inner between", "router, lan"),
                ("link office between", "printer, lan"),
            ],
        );
        let rename = |host: &mut HostName| {
            let is_client = *host == HostName::Local;
            *host = if is_client { "lab://bed/lan" } else { "lab://bed/router" }.parse().unwrap();
        };
        for host in &mut study.hosts {
            rename(&mut host.name);
            host.lab = Some(lab.clone());
        }
        for server in study.plan.watched.iter_mut().filter(|one| one.role == HostRole::Server) {
            server.host = "lab://bed/router".parse().unwrap();
        }
        study.trials.iter_mut().flat_map(|t| &mut t.loads).for_each(|load| rename(&mut load.host));
        study
    };
    let unwatched = one(&in_lab(false));
    assert_eq!(named(&unwatched), "waiting", "{unwatched:#?}");
    let [held] = &unwatched.held[..] else { panic!("{:?}", unwatched.held) };
    assert_eq!((held.host.to_string().as_str(), held.cores), ("lab://bed/router", 0.2));

    // It counts a fifth of the time as busy, and nothing while it is stopped.
    let mut watched = in_lab(true);
    for trial in &mut watched.trials {
        let router = trial.loads.iter_mut().find(|load| load.host == *"lab://bed/router").unwrap();
        router.cores = vec![CpuTimes { softirq: 0.38, idle: 0.04, ..CpuTimes::default() }];
        count_cores(router);
    }
    let found = one(&watched);
    assert_eq!(named(&found), "quota", "{found:#?}");
    assert!(found.held.is_empty());
    let Resource::Quota { cores, throttled } = found.binding().unwrap().resource else { panic!() };
    assert!(cores == 0.2 && (0.78..0.80).contains(&throttled), "{throttled}");

    // Counted outside it is known exactly, whatever its own kernel counts.
    for trial in &mut watched.trials {
        let router = trial.loads.iter_mut().find(|load| load.host == *"lab://bed/router").unwrap();
        router.cores = vec![CpuTimes { softirq: 0.1, idle: 1.9, ..CpuTimes::default() }];
        count_cores(router);
        router.control_group = Some(ControlGroupLoad {
            cpu_seconds: 0.39,
            quota_cores: Some(0.2),
            throttled_share: Some(0.95),
        });
    }
    assert_eq!(named(&one(&watched)), "quota");
}
