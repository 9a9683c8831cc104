//! Conditions of hosts, and one machine that is client and server.

use crate::support::servers::{SERVER, Truth, on_one_machine, study};
use crate::{base, named, one};
use plimsoll_explain::{Condition, Role, Unseen};
use plimsoll_model::*;

#[test]
fn clocks_memory_and_steal_are_told_beside_utilisation() {
    let mut study = study(base(4), true);
    assert_eq!(one(&study).conditions, []);
    study.hosts[1].memory_bytes = 1 << 30;
    let server = study.trials[1].loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
    server.frequency = Some(Frequency { lowest_hertz: 6e8, highest_hertz: 1.2e9 });
    server.memory = Some(MemoryLoad { least_available_bytes: 1 << 20, ..MemoryLoad::default() });
    server.memory_stall_seconds = Some(0.3);
    server.cpu.steal = 2.0;
    let host = || SERVER.parse().unwrap();
    let expected = [
        Condition::ClockMoved { host: host(), hertz: (6e8, 1.2e9) },
        Condition::MemoryShort { host: host(), bytes: (1 << 20, 1 << 30) },
        // Of three trials of two seconds.
        Condition::MemoryPressure { host: host(), share: 0.3 / 6.0 },
    ];
    let found = one(&study).conditions;
    assert_eq!(found[..3], expected);
    assert!(matches!(&found[3], Condition::Stolen { share, .. } if *share > 0.1), "{found:?}");
}

/// `--host local` lost what the client alone showed: "client CPU 95%" became "not seen".
#[test]
fn a_shared_machine_that_is_saturated_is_the_bottleneck() {
    let truth = Truth { driver: 150e-6, server: 600e-6, ..base(16) };
    let mut both = study(truth, true);
    on_one_machine(&mut both);
    let found = one(&both);
    assert_eq!(named(&found), "processor", "{found:#?}");
    let machine = found.binding().unwrap();
    assert_eq!((machine.role, &machine.host), (Role::Both, &Some(HostName::Local)));
    assert!(machine.utilisation > 0.95 && found.unseen.is_empty(), "{found:#?}");
    // One that is not saturated tells nothing of whose work it does.
    let mut idle = study(Truth { driver: 50e-6, server: 100e-6, round_trip: 3e-3, ..truth }, true);
    on_one_machine(&mut idle);
    assert_eq!(one(&idle).unseen, [Unseen::SharedProcessor]);
}

/// "Not monitored: link rate" was said of a server beside its client, between which there is no link.
#[test]
fn a_host_that_is_both_ends_on_loopback_has_no_link() {
    let mut both =
        study(Truth { depth: 2, driver: 20e-6, server: 50e-6, ..Truth::default() }, true);
    on_one_machine(&mut both);
    both.hosts[0].link_rates.clear();
    let unseen = |study: &Study| one(study).unseen;
    assert!(unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
    both.plan.subjects = vec![Subject::from("nfs://127.0.0.1/a".parse::<Target>().unwrap())];
    assert!(!unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
    // An address of loopback may lead to another machine, as over a tunnel.
    both.plan.watched.retain(|one| one.role == HostRole::Client);
    both.flags.clear();
    assert!(unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
}
