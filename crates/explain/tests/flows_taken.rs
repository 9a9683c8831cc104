//! Flows that the flowtable of a router takes.

mod support;

use plimsoll_explain::{FlowsTaken, flows_taken};
use plimsoll_model::*;
use support::{add_trial, empty, search_for_kept_rates};

const ROUTER: &str = "ssh://root@router";

/// 64 flows through a router, compared at these levels of a setting. After each trial, so many connections were offloaded.
fn study(name: &str, levels: Vec<FactorLevel>, offloaded: &[Option<u64>]) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let via = Some(ROUTER.parse().unwrap());
    let path = PathSubject { from: end("ssh://lan"), to: end("ssh://wan"), via }.into();
    let mut study = empty(&["/data"], &[]);
    let workloads = vec![search_for_kept_rates(Flow::Out, 128)];
    study.plan = Plan::new(vec![path], workloads, Design::default());
    study.plan.watched.push(Watched::new(ROUTER.parse().unwrap(), HostRole::Router));
    let host = ROUTER.parse().unwrap();
    study.plan.factors = vec![Factor { name: name.into(), host, levels, switch: Switch::Live }];
    study.subjects = vec![SubjectFacts::Path(PathFacts::default())];
    for (setting, offloaded) in offloaded.iter().enumerate() {
        let cell = Cell { subject: 0, workload: 0, setting: setting as u16 };
        add_trial(&mut study, 0, cell, PartResult::default());
        let trial = study.trials.last_mut().unwrap();
        trial.loads = vec![load(ROUTER, *offloaded), load("ssh://wan", Some(64))];
        // One of the points was not looked at.
        let point = |offloaded| Point {
            at: 1000.0,
            accepted: Some(true),
            parts: Vec::new(),
            loads: vec![load(ROUTER, offloaded)],
        };
        trial.points = vec![point(*offloaded), point(None)];
    }
    study
}

fn load(host: &str, offloaded: Option<u64>) -> HostLoad {
    let table = ConntrackLoad { entries: 900, offloaded, ..ConntrackLoad::default() };
    HostLoad { host: host.parse().unwrap(), conntrack: Some(table), ..HostLoad::default() }
}

fn set(values: &[&str]) -> Vec<FactorLevel> {
    values.iter().map(|value| FactorLevel::Set { value: (*value).to_owned() }).collect()
}

/// Number of the setting, share, and whether the hardware was to forward them.
fn taken(study: &Study) -> Vec<(u16, f64, bool)> {
    let each = |taken: FlowsTaken| (taken.cell.setting, taken.share, taken.wants_hardware);
    flows_taken(study).into_iter().map(each).collect()
}

#[test]
fn a_flowtable_of_plimsoll_is_there_at_two_levels() {
    let levels = set(&["off", "software", "hardware"]);
    // Flows of earlier trials are offloaded, too.
    let mut study = study("flowtable", levels, &[Some(0), Some(130), Some(16)]);
    assert_eq!(taken(&study), [(1, 1.0, false), (2, 0.25, true)]);
    assert!(flows_taken(&study).iter().all(|taken| !taken.in_hardware));
    let Job::Forwarding(job) = &mut study.plan.workloads[0].parts[0].job else { panic!() };
    job.flow = Flow::Both;
    assert_eq!(taken(&study)[1], (2, 0.125, true), "64 each way");
    let Job::Forwarding(job) = &mut study.plan.workloads[0].parts[0].job else { panic!() };
    job.flows = 4;
    assert_eq!(taken(&study), [], "others may have as many");
}

#[test]
fn a_flowtable_of_the_rules_is_there_as_long_as_they_are() {
    let levels = [vec![FactorLevel::AsFound], set(&["without-flowtable"])].concat();
    let mut study = study("nft-ruleset", levels, &[Some(64), Some(64)]);
    assert_eq!(taken(&study), [], "no flowtable is known");
    let filter =
        device::Netfilter { nft_flow_tables_count: Some(1), ..device::Netfilter::default() };
    let router = RouterFacts { filter: Some(filter), ..RouterFacts::default() };
    let facts = PathFacts { router: Some(router), ..PathFacts::default() };
    study.subjects = vec![SubjectFacts::Path(facts)];
    assert_eq!(taken(&study), [(0, 1.0, false)]);
    // Nobody could look.
    let tables = study.trials.iter_mut().flat_map(|trial| {
        trial.loads.iter_mut().chain(trial.points.iter_mut().flat_map(|point| &mut point.loads))
    });
    tables.for_each(|load| load.conntrack = None);
    assert_eq!(taken(&study), []);
}
