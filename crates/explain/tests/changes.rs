//! What changed between two studies.

mod support;

use plimsoll_explain::{Change, changes};
use plimsoll_model::{HostFacts, LabFacts, Origin, Pattern, Study};
use support::{empty, storage};

fn study() -> Study {
    let mut study = empty(&["nfs://nas/a", "nfs://nas/b"], &[Pattern::RandomRead]);
    let settings = [("link lan rate", "1Gbit/s"), ("host nas cores", "1"), ("host nas cpu", "5%")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let lab = Some(LabFacts { name: "router".to_owned(), settings });
    let nas = HostFacts { name: "nas".into(), kernel: "5.10".into(), lab, ..HostFacts::default() };
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
    let nas = b.hosts.iter_mut().find(|host| host.name == "nas").unwrap();
    nas.kernel = "6.1".into();
    let lab = &mut nas.lab.as_mut().unwrap().settings;
    lab.insert("link lan rate".into(), "100Mbit/s".into());
    lab.insert("link lan mtu".into(), "9000".into());
    lab.remove("host nas cpu");
    storage(&mut b.subjects[0]).write_size_bytes = 65536;
    storage(&mut b.subjects[1]).protocol = "SMB 3.1.1".into();
    let found = words(&a, &b);
    let expected = [
        "kernel of nas: 5.10, then 6.1",
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

/// It may have been another, or not: an older study does not have it.
#[test]
fn what_was_not_recorded_is_no_change() {
    let (a, mut b) = (study(), study());
    b.hosts.iter_mut().for_each(|host| host.kernel.clear());
    storage(&mut b.subjects[0]).read_size_bytes = 0;
    assert!(changes(&a, &b).is_empty());
    assert!(changes(&b, &a).is_empty());
}
