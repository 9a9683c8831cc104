//! plimsoll's client beside the kernel's: which are held against each other, and what their calls come to.

mod support;

use plimsoll_explain::both_clients;
use plimsoll_model::*;
use support::{add_blocks, empty, storage};

const MIB: f64 = (1 << 20) as f64;

/// Windows in which so many operations completed.
fn series(kind: OpKind, operations: u64) -> Series {
    let count = Count { operations, bytes: 4096 * operations };
    let window = Window { kinds: [(kind, count)].into(), in_flight_ns: 0 };
    Series::new(0.1, &[window])
}

fn latency(mean_seconds: f64) -> LatencySummary {
    LatencySummary { mean_seconds, ..LatencySummary::default() }
}

fn calls(count: u64, wire: Option<(f64, f64)>, command: Option<(u64, f64)>) -> MountOperation {
    let wire = wire.map(|(round_trip_seconds, execution_seconds)| MountWire {
        round_trip_seconds,
        execution_seconds,
        ..MountWire::default()
    });
    let command = command.map(|(count, seconds)| MountCommand { count, seconds });
    MountOperation { count, errors: 0, wire, command }
}

/// A mount and a server by its URL, each with 100 random reads a block, of which the server took 2 ms and
/// 2.2 ms.
fn study(protocol: &str, options: &str, own: &str, operations: &[(&str, MountOperation)]) -> Study {
    let mut study = empty(&["/mnt/films", "nfs://nas/films"], &[Pattern::RandomRead]);
    let mount = storage(&mut study.subjects[0]);
    (mount.protocol, mount.mount_options) = (protocol.into(), Some(options.into()));
    storage(&mut study.subjects[1]).protocol = own.into();
    add_blocks(&mut study, 4, 0.02, |_, _| MIB);
    for trial in &mut study.trials {
        let part = &mut trial.result.parts[0];
        part.series = series(OpKind::READ, 100);
        let own = trial.cell.subject == 1;
        let stats = OpStats {
            count: 50,
            client_latency: latency(2.5e-3),
            rpc_latency: own.then(|| latency(2.2e-3)),
            ..OpStats::default()
        };
        part.ops.insert(OpKind::READ, stats);
        trial.mount = (!own).then(|| MountAccount {
            file_system: "nfs".into(),
            operations: operations.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect(),
        });
    }
    study
}

fn nfs(options: &str, own: &str) -> Study {
    let reads = calls(100, Some((0.2, 0.25)), None);
    let attributes = calls(12, Some((0.012, 0.012)), None);
    study("directory on nfs", options, own, &[("READ", reads), ("GETATTR", attributes)])
}

#[track_caller]
fn assert_near(found: Option<plimsoll_stats::fit::Estimate>, truth: f64) {
    let found = found.expect("a figure");
    assert!((found.value / truth - 1.0).abs() < 1e-9, "{truth}: {found:?}");
}

#[test]
fn calls_of_both_clients_side_by_side() {
    let study = nfs("rw,vers=3,rsize=1048576", "NFSv3 over TCP");
    let [both] = &both_clients(&study)[..] else { panic!("one pair") };
    assert_eq!((both.mounted.subject, both.own.subject, both.whole_commands), (0, 1, false));
    let read = &both.calls["READ"];
    let (kernel, own) = (read.kernel.unwrap(), read.own.unwrap());
    assert_eq!((kernel.per_operation, own.per_operation), (1.0, 1.0));
    assert_near(kernel.server, 2e-3);
    assert_near(kernel.client, 0.5e-3);
    assert_near(own.server, 2.2e-3);
    assert_near(own.client, 0.3e-3);
    assert_near(read.ratio, 1.1);
    assert_eq!(both.only(true), [("GETATTR", 0.12)]);
    assert!(both.only(false).is_empty());
}

/// The server's time of SMB is that of the command, and its calls have other names.
#[test]
fn smb_has_the_times_of_commands() {
    let operations = [
        ("Reads", calls(100, None, Some((400, 0.8)))),
        ("QueryInfos", calls(7, None, Some((7, 0.0)))),
    ];
    let study = study("directory on cifs", "rw,vers=3.1.1", "SMB 3.1.1, signed", &operations);
    let [both] = &both_clients(&study)[..] else { panic!("one pair") };
    let read = &both.calls["Reads"];
    assert!(both.whole_commands && read.kernel.unwrap().client.is_none());
    assert_near(read.kernel.unwrap().server, 2e-3);
    assert_near(read.ratio, 1.1);
    assert_eq!(both.only(true), [("QueryInfos", 0.07)]);
}

/// What is several calls at once has no time of one.
#[test]
fn an_operation_of_several_calls_has_no_server_time() {
    let mut study = nfs("rw,vers=3", "NFSv3 over TCP");
    storage(&mut study.subjects[1]).read_size_bytes = 1024;
    let [both] = &both_clients(&study)[..] else { panic!("one pair") };
    let read = &both.calls["READ"];
    assert_eq!(read.own.unwrap().per_operation, 4.0);
    assert!(read.own.unwrap().server.is_none() && read.ratio.is_none());
}

#[test]
fn only_the_same_protocol_is_compared() {
    for (options, own, pairs) in [
        ("rw,vers=4.1", "NFSv4.1 over TCP", 1),
        // There is none in the mount's version.
        ("rw,vers=4.1", "NFSv3 over TCP", 1),
        ("rw,vers=3", "SMB 3.1.1", 0),
        ("rw", "NFSv3 over TCP", 0),
    ] {
        assert_eq!(both_clients(&nfs(options, own)).len(), pairs, "{options}, {own}");
    }
    let mut other = nfs("rw,vers=3", "NFSv3 over TCP");
    other.plan.workloads[0].steps =
        Some(Steps::Sweep { over: Parameter::Depth, values: vec![1.0, 2.0] });
    assert!(both_clients(&other).is_empty(), "an account is of all its points");
    other = nfs("rw,vers=3", "NFSv3 over TCP");
    other.trials.iter_mut().for_each(|trial| trial.mount = None);
    assert!(both_clients(&other).is_empty());
}

/// An account may hold anything.
#[test]
fn strange_accounts_do_no_harm() {
    let huge = calls(u64::MAX, Some((f64::MAX, 0.0)), None);
    let none = calls(0, Some((1.0, 1.0)), None);
    let study =
        study("directory on nfs", "vers=3", "NFSv3 over TCP", &[("READ", huge), ("X", none)]);
    let [both] = &both_clients(&study)[..] else { panic!("one pair") };
    assert!(!both.calls.contains_key("X"));
    let kernel = both.calls["READ"].kernel.unwrap();
    assert!(kernel.per_operation.is_finite() && kernel.client.is_none_or(|c| c.value >= 0.0));
}
