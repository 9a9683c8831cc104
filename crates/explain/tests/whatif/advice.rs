//! What is advised by a study.

use crate::support::servers::{SERVER, Truth, study};
use crate::{base, server, support};
use plimsoll_explain::whatif::{
    LinkEnd, LinkRate, NewDisk, Proposal, Purpose, Suggestion, WhatIf, advise,
};
use plimsoll_model::{DiskFacts, Frequency, HostName, NfsdLoad, Pattern, Study, Subject, Target};

/// What would help most is what is saturated, and nothing is advised of what no figure shows.
#[test]
fn advice_is_by_figures() {
    let truth = Truth { link: 400e-6, one_core: true, ..base(16) };
    let advice = advise(&study(truth, true), None);
    let faster = WhatIf::Link { end: LinkEnd::Path, to: LinkRate::BitsPerSecond(2_500_000_000) };
    let best =
        advice.help.iter().max_by(|a, b| a.gains[0].high.total_cmp(&b.gains[0].high)).unwrap();
    assert_eq!(best.proposal, Proposal::Change(faster), "{advice:#?}");
    assert!(advice.useless.iter().any(|one| one.change == server(2.0)), "{advice:#?}");
    let is_disk = |change: &WhatIf| matches!(change, WhatIf::Disk(_) | WhatIf::Memory(_));
    assert!(!advice.useless.iter().any(|one| is_disk(&one.change)), "no disk worked");
    let costs: Vec<_> = advice.help.iter().map(|one| one.cost).collect();
    assert!(costs.is_sorted(), "{costs:?}");
    // Random reads are no films.
    assert_eq!(advise(&study(truth, true), Some(Purpose::Films)).rows, 0);
    assert_eq!(advise(&study(truth, true), Some(Purpose::Office)).rows, 1);
}

/// "2 times the memory may bring up to 94.2 times as much" led the advice for a slow disk.
#[test]
fn a_bound_that_no_figure_supports_does_not_lead() {
    let truth = Truth { disk: 2e-3, ..base(4) };
    let mut study = study(truth, true);
    support::job(&mut study.plan.workloads[0]).pattern = Pattern::SequentialRead;
    let advice = advise(&study, None);
    let is_memory = |one: &WhatIf| matches!(one, WhatIf::Memory(_));
    let helps =
        |one: &Suggestion| matches!(&one.proposal, Proposal::Change(change) if is_memory(change));
    assert!(!advice.help.iter().any(helps), "{advice:#?}");
    assert!(advice.unknown.iter().any(|one| is_memory(&one.change)), "{advice:#?}");
    let best = advice.best().unwrap();
    assert_eq!(best.proposal, Proposal::Change(WhatIf::Disk(NewDisk::Times(2.0))), "{advice:#?}");
}

/// A study of a server whose only NFS thread waits for a solid-state disk.
fn with_one_thread() -> Study {
    let mut study = study(Truth { disk: 5e-3, ..base(4) }, true);
    let loads = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
    for load in loads.filter(|load| load.host == *SERVER) {
        load.nfsd = Some(NfsdLoad { threads: Some(1), ..NfsdLoad::default() });
        (load.idle, load.idle_baseline) = (None, 0.0);
        load.disks[0].in_flight_seconds = load.disks[0].busy_seconds;
        load.disks[0].name = "nvme0n1".into();
    }
    let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
    server.disks.insert("nvme0n1".into(), DiskFacts { rotational: false, queue_depth: None });
    study
}

/// Eight threads for one were said to bring 1.7 times as much at most, and brought 3.4 times: the bound was that of twice
/// the threads.
#[test]
fn more_threads_are_bounded_by_the_other_resources() {
    let study = with_one_thread();
    let advice = advise(&study, None);
    let best = advice.best().unwrap();
    let is_threads =
        matches!(&best.proposal, Proposal::Setting { setting, .. } if setting == "nfsd-threads");
    assert!(is_threads, "{advice:#?}");
    // Each of the four then waits for the disk alone: 5.02 ms of 5.26.
    assert!((3.5..4.01).contains(&best.gains[0].high), "{advice:#?}");
}

/// More threads of one server were said to help the rows of another one.
#[test]
fn a_setting_helps_the_rows_of_its_host() {
    const OTHER: &str = "ssh://root@other";
    let (mut study, other) = (with_one_thread(), OTHER.parse::<HostName>().unwrap());
    let target = "nfs://other/a".parse::<Target>().unwrap();
    study.plan.subjects.push(Subject::from(target));
    let facts = study.subjects[0].clone();
    study.subjects.push(facts);
    let mut facts = study.hosts.iter().find(|host| host.name == *SERVER).unwrap().clone();
    facts.name = other.clone();
    study.hosts.push(facts);
    let server = study.plan.watched.iter_mut().find(|one| one.host == *SERVER).unwrap();
    server.subject = Some(0);
    let mut watched = server.clone();
    (watched.host, watched.subject) = (other.clone(), Some(1));
    study.plan.watched.push(watched);
    for mut trial in study.trials.clone() {
        (trial.number, trial.cell.subject) = (trial.number + 3, 1);
        for load in trial.loads.iter_mut().filter(|load| load.host == *SERVER) {
            load.host = other.clone();
        }
        study.trials.push(trial);
    }
    let advice = advise(&study, None);
    let rows_of = |server: &str| -> Vec<u16> {
        let is_own = |one: &&Suggestion| match &one.proposal {
            Proposal::Setting { host, .. } => *host == *server,
            Proposal::Change(_) => false,
        };
        let own = advice.help.iter().find(is_own).unwrap();
        own.gains.iter().map(|gain| gain.cell.subject).collect()
    };
    assert_eq!([rows_of(SERVER), rows_of(OTHER)], [[0_u16], [1]], "{advice:#?}");
}

/// Where the client's clock moved as well, nothing was advised for the server's.
#[test]
fn a_server_whose_clock_moved_is_found_beside_its_client() {
    let mut study = study(Truth { server: 400e-6, one_core: true, ..base(16) }, true);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.frequency = Some(Frequency { lowest_hertz: 6e8, highest_hertz: 1.2e9 });
    }
    let advice = advise(&study, None);
    let is_governor = |one: &Suggestion| match &one.proposal {
        Proposal::Setting { host, setting, .. } => *host == *SERVER && setting == "governor",
        Proposal::Change(_) => false,
    };
    assert!(advice.help.iter().any(is_governor), "{advice:#?}");
}
