//! What lies between a program and the server: slots of a mount, and the interface that the traffic takes.

mod support;

use plimsoll_explain::{slots, slower_interfaces};
use plimsoll_model::*;
use std::collections::BTreeMap;
use support::{add, empty, storage};

const READ: Pattern = Pattern::RandomRead;

/// A mount with so many slots, a round trip of 12 ms, and so many readers: `calls` in ten seconds, with the times
/// that mountstats has of them. What waits for a slot is queued.
fn mounted(slots: f64, readers: u16) -> Study {
    let mut study = empty(&["/mnt/nas"], &[READ]);
    study.plan.workloads[0].parts[0].workers = readers.try_into().unwrap();
    storage(&mut study.subjects[0]).mount_options = Some("rw,vers=4.2,proto=tcp".into());
    for block in 0..3 {
        add(&mut study, block, 0, READ, 1e6);
        let busy = slots.min(f64::from(readers));
        let calls = busy / 0.012 * 10.0;
        let wire = MountWire {
            transmissions: calls as u64,
            sent_bytes: 160 * calls as u64,
            received_bytes: 4200 * calls as u64,
            queue_seconds: (f64::from(readers) - busy) * 10.0,
            round_trip_seconds: busy * 10.0,
            execution_seconds: f64::from(readers) * 10.0,
            ..MountWire::default()
        };
        let operation =
            MountOperation { count: calls as u64, wire: Some(wire), ..MountOperation::default() };
        let trial = study.trials.last_mut().unwrap();
        trial.mount = Some(MountAccount {
            file_system: "nfs4".into(),
            operations: BTreeMap::from([("READ".to_owned(), operation)]),
        });
        trial.loads =
            vec![HostLoad { host: "local".parse().unwrap(), seconds: 10.0, ..HostLoad::default() }];
    }
    study
}

#[test]
fn two_slots_are_found_from_the_waiting() {
    for readers in [4, 16] {
        let found = slots(&mounted(2.0, readers));
        let [one] = &found[..] else { panic!("{readers} readers: {found:?}") };
        assert!(one.sessions);
        assert!((one.in_flight - 2.0).abs() < 0.01, "{one:?}");
        assert_eq!(one.asked, f64::from(readers));
        let waited = 0.012 * (f64::from(readers) / 2.0 - 1.0);
        assert!((one.waited_seconds / waited - 1.0).abs() < 0.02, "{one:?}");
        assert!((one.round_trip_seconds / 0.012 - 1.0).abs() < 0.02, "{one:?}");
    }
    assert_eq!(slots(&mounted(2.0, 1)), [], "one at a time waits for no slot");
    assert_eq!(slots(&mounted(64.0, 16)), [], "there are enough");
}

/// Large writes wait for those before them to be sent.
#[test]
fn writes_that_wait_for_the_connection_are_no_sign_of_slots() {
    let mut study = mounted(2.0, 16);
    for trial in &mut study.trials {
        for operation in trial.mount.as_mut().unwrap().operations.values_mut() {
            let wire = operation.wire.as_mut().unwrap();
            wire.sent_bytes = operation.count << 20;
        }
    }
    assert_eq!(slots(&study), []);
}

#[test]
fn before_4_1_the_slots_are_those_of_the_connection() {
    let mut study = mounted(2.0, 16);
    storage(&mut study.subjects[0]).mount_options = Some("rw,vers=3,nconnect=1".into());
    assert!(!slots(&study)[0].sessions);
}

/// A client whose traffic of so many bytes per second went over eth0 (100 Mbit/s), with another interface.
fn two_interfaces(bytes_per_second: f64, other: &str, rate: u64, carried: u64) -> Study {
    let mut study = empty(&["nfs://nas/volume1"], &[READ]);
    study.hosts[0].link_rates =
        BTreeMap::from([("eth0".to_owned(), 100_000_000), (other.to_owned(), rate)]);
    add(&mut study, 0, 0, READ, 1e6);
    let interface = |name: &str, received_bytes| InterfaceLoad {
        name: name.into(),
        received_bytes,
        ..InterfaceLoad::default()
    };
    let mut interfaces =
        vec![interface("lo", 1 << 40), interface("eth0", (10.0 * bytes_per_second) as u64)];
    if carried > 0 {
        interfaces.push(interface(other, carried));
    }
    study.trials[0].loads = vec![HostLoad {
        host: "local".parse().unwrap(),
        seconds: 10.0,
        interfaces,
        ..HostLoad::default()
    }];
    study
}

#[test]
fn traffic_over_the_slower_of_two_interfaces_is_found() {
    let found = slower_interfaces(&two_interfaces(11.8e6, "eth1", 1_000_000_000, 9_000));
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&*one.used.0, one.used.1), ("eth0", 100_000_000));
    assert!((one.used.2 - 0.944).abs() < 1e-9, "{one:?}");
    assert_eq!(one.idle, ("eth1".to_owned(), 1_000_000_000));
    assert!(!one.leads_to_other_end, "nobody knows");
    for (study, why) in [
        (two_interfaces(2e6, "eth1", 1_000_000_000, 0), "it is not full"),
        (two_interfaces(11.8e6, "eth1", 100_000_000, 0), "the other is no faster"),
        (two_interfaces(11.8e6, "eth1", 1_000_000_000, 60_000_000), "both carry it"),
        (two_interfaces(11.8e6, "veth1a2b", 10_000_000_000, 0), "that leads to no other machine"),
    ] {
        assert_eq!(slower_interfaces(&study), [], "{why}");
    }
}

/// The finding of both ends of a path, each by its own interfaces.
#[test]
fn the_other_end_of_a_path_may_use_its_slower_interface() {
    let mut study = two_interfaces(11.8e6, "eth1", 1_000_000_000, 0);
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects =
        vec![PathSubject { from: end("ssh://laptop"), to: end("local"), via: None }.into()];
    study.plan.drive_on(["ssh://laptop".parse().unwrap()]);
    study.plan.watched.push(Watched::new(HostName::Local, HostRole::Peer));
    let found = slower_interfaces(&study);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert!(one.is_path && one.host == *"local" && one.used.0 == "eth0", "{one:?}");
    study.plan.subjects = vec![StorageSubject { target: "nfs://nas/x".parse().unwrap() }.into()];
    study.plan.watched[1].role = HostRole::Server;
    assert_eq!(slower_interfaces(&study), [], "a server chooses its own way");
}
