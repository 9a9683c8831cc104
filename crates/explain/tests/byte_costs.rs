//! What a byte cost a host whose truth is known, beside what the same host does by itself.

mod support;

use plimsoll_explain::{ByteCosts, byte_costs, findings, limits};
use plimsoll_model::device::{
    Algorithm, CryptoFigure, CryptoFigures, CryptoMeans, Device, Inventory, MemoryFigures, Nic,
    Nics, StreamFigure,
};
use plimsoll_model::*;
use support::servers::{SERVER, Truth, study};
use support::storage;

const MIB: f64 = 1_048_576.0;

/// Reads of 1 MiB that cost the server 4 ms of CPU each; of 4 KiB where they are `small`.
fn reads(protection: Option<Protection>, small: bool) -> Study {
    let truth = Truth { depth: 4, driver: 1e-4, server: 4e-3, disk: 1e-4, ..Truth::default() };
    let mut study = study(truth, true);
    storage(&mut study.subjects[0]).protection = protection;
    let parts = study.trials.iter_mut().flat_map(|trial| &mut trial.result.parts);
    for part in parts {
        let times: u32 = if small { 1 } else { 256 };
        *part.quantities.get_mut(&Metric::all(Measure::THROUGHPUT)).unwrap() *= f64::from(times);
        for column in part.series.kinds.values_mut() {
            column.bytes.iter_mut().for_each(|bytes| *bytes *= u64::from(times));
        }
    }
    study
}

fn encrypted(algorithm: &str) -> Option<Protection> {
    Some(Protection::Encryption { algorithm: algorithm.into() })
}

/// A host that copies 4 GB/s, as STREAM counts, and encrypts so many bytes a second.
fn device(algorithms: &[(Algorithm, u64)]) -> Device {
    let figure = |(algorithm, bytes_per_second): &(Algorithm, u64)| CryptoFigure {
        algorithm: *algorithm,
        means: CryptoMeans::Openssl { version: "3.0".into() },
        bytes_per_second: *bytes_per_second,
        slowest_bytes_per_second: None,
        message_bytes: None,
        elapsed_ns: None,
        cpu_ns: None,
    };
    let stream = |place: &str, speed| StreamFigure {
        place: Some(place.into()),
        copy_bytes_per_second: Some(speed),
        checksum_bytes_per_second: Some(speed * 2),
        ..StreamFigure::default()
    };
    let streams = vec![stream("cache", 40_000_000_000), stream("memory", 4_000_000_000)];
    Device {
        memory: Some(MemoryFigures { streams, ..MemoryFigures::default() }),
        crypto: Some(CryptoFigures {
            algorithms: algorithms.iter().map(figure).collect(),
            ..CryptoFigures::default()
        }),
        ..Device::default()
    }
}

fn costs(study: &Study, device: &Device) -> Vec<ByteCosts> {
    let hosts = findings(study).hosts;
    byte_costs(study, &hosts, |host| (host == SERVER).then_some(device))
}

#[test]
fn encryption_and_copies_are_told_beside_what_a_byte_cost() {
    let device =
        device(&[(Algorithm::Aes128Gcm, 500_000_000), (Algorithm::Aes256Gcm, 400_000_000)]);
    let found = costs(&reads(encrypted("AES-128-GCM"), false), &device);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 2e-3;
    assert_eq!(one.host, *SERVER);
    assert!(close(one.seconds, 4e-3 / MIB), "{one:?}");
    assert!(close(one.copy_seconds.unwrap(), 0.5e-9), "read once and written once: {one:?}");
    let (seconds, by) = one.protected.as_ref().unwrap().seconds.unwrap();
    assert!(close(seconds, 2e-9) && by == "openssl", "{one:?}");
    // GMAC is bounded by GCM; of CCM nothing is known.
    let protected =
        |protection| costs(&reads(Some(protection), false), &device)[0].protected.clone().unwrap();
    let gmac = protected(Protection::Signing { algorithm: "AES-128-GMAC".into() });
    assert!(close(gmac.seconds.unwrap().0, 2e-9));
    assert_eq!(protected(Protection::Encryption { algorithm: "AES-128-CCM".into() }).seconds, None);
    let plain = costs(&reads(None, false), &device);
    assert_eq!(plain[0].protected, None);
}

/// Of 4 ms that a read takes of the server's two cores, 1 MiB at 500 MB/s is more than half.
#[test]
fn without_encryption_a_processor_that_is_the_limit_would_allow_more() {
    let device = device(&[(Algorithm::Aes128Gcm, 500_000_000)]);
    let mut study = reads(encrypted("AES-128-GCM"), false);
    let costs = costs(&study, &device);
    let found = &limits(&study)[0];
    let alone = found.binding().unwrap().alone_per_second.unwrap();
    let without = costs[0].unprotected_per_second(found).unwrap();
    assert!((without / (2.0 / (4e-3 - MIB / 500e6)) - 1.0).abs() < 0.01, "{without}");
    assert!((alone / (2.0 / 4e-3) - 1.0).abs() < 0.01, "{alone}");
    // Nothing of the kind where something else is full as well, or more than all of it would be left out.
    study.trials.iter_mut().flat_map(|trial| &mut trial.loads).for_each(|load| {
        load.disks.iter_mut().for_each(|disk| {
            (disk.busy_seconds, disk.read_bytes) = (load.seconds, disk.reads << 20)
        });
    });
    assert_eq!(costs[0].unprotected_per_second(&limits(&study)[0]), None);
    let slow = ByteCosts { protected: None, ..costs[0].clone() };
    assert_eq!(slow.unprotected_per_second(found), None);
}

#[test]
fn nothing_is_told_of_small_operations_or_by_another_host() {
    let device = device(&[(Algorithm::Aes128Gcm, 500_000_000)]);
    let protection = || encrypted("AES-128-GCM");
    assert_eq!(costs(&reads(protection(), true), &device), []);
    let study = reads(protection(), false);
    let hosts = findings(&study).hosts;
    assert_eq!(byte_costs(&study, &hosts, |_| None), []);
    assert_eq!(costs(&study, &Device::default())[0].copy_seconds, None);
    // Its name is that of another machine by now.
    let mut renamed = study.clone();
    renamed.hosts.iter_mut().for_each(|host| host.cpu_model = "another".into());
    let mut known = device.clone();
    let cpu = plimsoll_model::device::Cpu { model: Some("this".into()), ..Default::default() };
    known.inventory = Some(Inventory { cpu: Some(cpu), ..Inventory::default() });
    assert_eq!(costs(&renamed, &known), []);
    renamed.hosts.iter_mut().for_each(|host| host.cpu_model = "this".into());
    assert_eq!(costs(&renamed, &known).len(), 1);
}

/// A network interface of a bus, up, with these features switched on.
fn interface(features: &[&str]) -> Nic {
    Nic {
        bus: Some("pci".into()),
        state: Some("up".into()),
        offloads: features.iter().map(|name| (*name).to_owned()).collect(),
        ..Nic::default()
    }
}

#[test]
fn checksums_are_the_processors_where_no_interface_computes_them() {
    let with = |nics: Vec<Nic>| {
        let mut device = device(&[]);
        let network = Some(Nics { nics, ..Nics::default() });
        device.inventory = Some(Inventory { network, ..Inventory::default() });
        let checksum = costs(&reads(None, false), &device)[0].checksum.unwrap();
        assert!(
            (checksum.seconds / 0.125e-9 - 1.0).abs() < 1e-9,
            "a byte is read once: {checksum:?}"
        );
        checksum.by_interface
    };
    let both = || interface(&["rx-checksum", "tx-checksum-ip-generic"]);
    let older = interface(&["rx-checksum", "tx-checksum-ipv4", "tx-checksum-ipv6"]);
    let none = || interface(&["rx-gro"]);
    let half = interface(&["rx-checksum"]);
    // The loopback is no hardware, and one that is down carries nothing.
    let loopback = Nic { bus: None, ..none() };
    let down = Nic { state: Some("down".into()), ..none() };
    assert_eq!(with(vec![loopback, both(), older, down]), Some(true));
    assert_eq!(with(vec![none()]), Some(false));
    assert_eq!(with(vec![both(), none()]), None);
    assert_eq!(with(vec![half]), None);
    assert_eq!(with(vec![interface(&[])]), None, "not asked");
    assert_eq!(with(vec![]), None);
}
