//! What changed between two studies.

mod support;

use plimsoll_explain::{Change, changes};
use plimsoll_model::device::{Netfilter, Nic, Queue, QueueDiscipline};
use plimsoll_model::{
    Endpoint, HostFacts, LabFacts, Origin, PathFacts, PathSubject, Pattern, RouterFacts, Study,
    SubjectFacts,
};
use support::{empty, storage};

fn study() -> Study {
    let mut study = empty(&["nfs://nas/a", "nfs://nas/b"], &[Pattern::RandomRead]);
    let settings = [("link lan rate", "1Gbit/s"), ("host nas cores", "1"), ("host nas cpu", "5%")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let lab = Some(LabFacts { name: "router".to_owned(), settings });
    let name = "ssh://nas".parse().unwrap();
    let nas = HostFacts { name, kernel: "5.10".into(), lab, ..HostFacts::default() };
    study.hosts.push(nas);
    study
}

fn words(a: &Study, b: &Study) -> Vec<String> {
    let word = |Change { what, before, after }: &Change| format!("{what}: {before}, then {after}");
    changes(a, b).iter().map(word).collect()
}

#[test]
fn nothing_has_changed_between_a_study_and_itself() {
    assert!(changes(&study(), &study()).is_empty());
}

#[test]
fn what_changed_is_named_once() {
    let (mut a, mut b) = (study(), study());
    for study in [&mut a, &mut b] {
        let first = storage(&mut study.subjects[0]);
        (first.label, first.write_size_bytes) = ("a".into(), 128 << 10);
        let second = storage(&mut study.subjects[1]);
        (second.label, second.protocol) = ("b".into(), "NFS 3".into());
    }
    b.origin = Origin::Measured { version: "9.9".into() };
    let nas = b.hosts.iter_mut().find(|host| host.name == *"ssh://nas").unwrap();
    nas.kernel = "6.1".into();
    let lab = &mut nas.lab.as_mut().unwrap().settings;
    lab.insert("link lan rate".into(), "100Mbit/s".into());
    lab.insert("link lan mtu".into(), "9000".into());
    lab.remove("host nas cpu");
    storage(&mut b.subjects[0]).write_size_bytes = 65536;
    storage(&mut b.subjects[1]).protocol = "SMB 3.1.1".into();
    let found = words(&a, &b);
    let expected = [
        "kernel of ssh://nas: 5.10, then 6.1",
        "host nas cpu of the lab: 5%, then none",
        "link lan mtu of the lab: none, then 9000",
        "link lan rate of the lab: 1Gbit/s, then 100Mbit/s",
    ];
    assert!(found[0].ends_with("then plimsoll 9.9"), "{found:?}");
    assert_eq!(found[1..5], expected);
    assert_eq!(
        found[5..],
        ["write size of a: 128 KiB, then 64 KiB", "protocol of b: NFS 3, then SMB 3.1.1"]
    );
}

/// A study over a router with these rules, discipline, steering and offloads.
fn routed(rules: u64, digest: &str, rate: Option<u64>, mask: &str, offloads: &[&str]) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let via = Some("ssh://root@router".parse().unwrap());
    let path = PathSubject { from: end("ssh://a"), to: end("ssh://b"), via };
    let queue = |name: &str, mask: &str| Queue {
        name: Some(name.into()),
        steering_cores_mask: Some(mask.into()),
    };
    let discipline = QueueDiscipline {
        kind: Some(if rate.is_some() { "tbf" } else { "fq_codel" }.into()),
        parent: Some("root".into()),
        rate_bits_per_second: rate,
    };
    let nic = Nic {
        name: Some("eth1".into()),
        queue_disciplines: vec![discipline],
        queues: vec![queue("rx-0", mask), queue("rx-1", mask), queue("tx-0", "1")],
        offloads: offloads.iter().map(|name| (*name).to_owned()).collect(),
        ..Nic::default()
    };
    let filter = Netfilter { nft_rules_count: Some(rules), ..Netfilter::default() };
    let router = RouterFacts {
        interfaces: vec![nic],
        filter: Some(filter),
        rules_digest: Some(digest.to_owned()),
    };
    let mut study = study();
    study.plan.subjects = vec![path.into()];
    let facts = PathFacts { router: Some(router), ..PathFacts::default() };
    study.subjects = vec![SubjectFacts::Path(facts)];
    study
}

#[test]
fn what_changed_of_a_router_is_named() {
    let a = routed(40, "0123456789abcdef", None, "00", &["gro", "tso"]);
    assert!(words(&a, &a).is_empty());
    let b = routed(0, "fedcba9876543210", Some(8_000_000), "00000000,00000003", &["tso", "lro"]);
    let expected = [
        "rules of ssh://root@router: 40 rules (01234567), then 0 rules (fedcba98)",
        "queueing discipline of eth1 of ssh://root@router: fq_codel, then tbf 8.00 Mbit/s",
        "receive steering of eth1 of ssh://root@router: off, then 3",
        "gro of eth1 of ssh://root@router: on, then off",
        "lro of eth1 of ssh://root@router: off, then on",
    ];
    assert_eq!(words(&a, &b), expected);
    // Flow offload that a firmware turned on.
    let with_flowtables = |count: u64| {
        let mut study = routed(40, "0123456789abcdef", None, "00", &[]);
        let SubjectFacts::Path(path) = &mut study.subjects[0] else { panic!("a path") };
        let filter = path.router.as_mut().unwrap().filter.as_mut().unwrap();
        filter.nft_flow_tables_count = Some(count);
        study
    };
    assert_eq!(
        words(&with_flowtables(0), &with_flowtables(1)),
        ["flowtables of ssh://root@router: 0, then 1"]
    );
    // As many other rules are other rules.
    let c = routed(40, "fedcba9876543210", None, "0", &[]);
    assert_eq!(
        words(&a, &c),
        ["rules of ssh://root@router: 40 rules (01234567), then 40 rules (fedcba98)"]
    );
}

/// It may have been another, or not: an older study does not have it.
#[test]
fn what_was_not_recorded_is_no_change() {
    let (a, mut b) = (study(), study());
    b.hosts.iter_mut().for_each(|host| host.kernel.clear());
    storage(&mut b.subjects[0]).read_size_bytes = 0;
    assert!(changes(&a, &b).is_empty());
    assert!(changes(&b, &a).is_empty());
}
