//! What is known of the path of a router: radio links, and frames of one direction that go another way.

use super::{routed, screen};
use plimsoll_model::*;

fn on_one_line(study: &Study) -> String {
    screen(study).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn facts(study: &mut Study) -> &mut PathFacts {
    match &mut study.subjects[0] {
        SubjectFacts::Path(path) => path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn over_a_wireless_link_no_rate_without_loss_is_shown() {
    let device = device::Nic { name: Some("wlan0".into()), ..device::Nic::default() };
    let radio = device::Nic { wireless: Some(true), ..device.clone() };
    let mut of_end = routed();
    let wireless = Some(WirelessLink::default());
    facts(&mut of_end).interfaces = vec![PathInterface { end: "A".into(), device, wireless }];
    let mut of_router = routed();
    let interfaces = vec![radio];
    facts(&mut of_router).router = Some(RouterFacts { interfaces, ..RouterFacts::default() });
    for study in [&of_end, &of_router] {
        let text = screen(study);
        let row = text.lines().find(|line| line.starts_with("out 1518")).unwrap();
        assert!(row.contains("39.8 k") && !row.contains("39.5 k"), "{row}");
        let whole = on_one_line(study);
        assert!(
            whole.contains("No loss: this rate is not shown, because a wireless link loses"),
            "{text}"
        );
        assert!(!whole.contains("no frame was lost in most trials"), "{text}");
    }
    assert!(on_one_line(&of_end).contains("A: wlan0 is wireless"), "{}", screen(&of_end));
    let wired = on_one_line(&routed());
    assert!(
        wired.contains("39.5 k") && wired.contains("no frame was lost in most trials"),
        "{wired}"
    );
}

/// The interfaces of the router stand still while frames of these workloads arrive.
fn beside(workloads: &[u16]) -> Study {
    let mut study = routed();
    let own = study.trials.iter_mut().filter(|trial| workloads.contains(&trial.cell.workload));
    for load in own.flat_map(|trial| &mut trial.loads) {
        let still = |one: &mut InterfaceLoad| (one.received_packets, one.sent_packets) = (12, 9);
        load.interfaces.iter_mut().for_each(still);
    }
    study
}

#[test]
fn frames_of_one_direction_that_go_another_way_are_told_by_those_of_the_other() {
    let differ = "the routes of A and B may differ";
    // Both sizes from B to A.
    let one_way = on_one_line(&beside(&[2, 3]));
    assert!(one_way.contains("do not go through R") && one_way.contains(differ), "{one_way}");
    // A router that saw nothing is not on the path; one that saw a part of each direction may offload.
    for workloads in [&[0, 1, 2, 3][..], &[0, 2]] {
        let text = on_one_line(&beside(workloads));
        assert!(text.contains("do not go through R") && !text.contains(differ), "{text}");
    }
    assert!(!on_one_line(&routed()).contains(differ));
}

#[test]
fn a_flowtable_that_takes_no_flow_is_named() {
    let mut study = routed();
    let filter = device::Netfilter { nft_flow_tables_count: Some(1), ..Default::default() };
    facts(&mut study).router = Some(RouterFacts { filter: Some(filter), ..RouterFacts::default() });
    // The frames out have their flows in the table.
    for trial in &mut study.trials {
        let offloaded = Some(if trial.cell.workload < 2 { 64 } else { 0 });
        for load in trial.loads.iter_mut().filter(|load| load.host == *"ssh://root@router") {
            load.conntrack = Some(ConntrackLoad { offloaded, ..ConntrackLoad::default() });
        }
    }
    let text = on_one_line(&study);
    for words in [
        "The flowtable of R forwards the flows in software (out 128 and out 1518).",
        "The flowtable of R forwards hardly any flow (in 128 and in 1518): packets of the others pass all rules.",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(!on_one_line(&routed()).contains("flowtable"));
}
