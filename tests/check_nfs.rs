//! `check` in every version of NFS over every transport: all content is right, what is spoken is part of the
//! result, and a run that is stopped or whose disk fills up leaves nothing behind.

mod support;

use plimsoll_model::{Ended, Flag, Measure, Metric, OpKind, Outcome, Study};
use plimsoll_testkit::clients::nfs_cat;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, GoNfs, Nfs2Server};
use plimsoll_testkit::{Need, enter_or_skip};
use support::content::assert_own_content;
use support::rows::trials;
use support::{Plimsoll, ended, full, interrupted, listing, read_files, signal, wait_until};

/// A trial that did as much as it should, and all of it right.
#[track_caller]
fn assert_verified(study: &Study, protocol: &str) {
    assert_eq!(study.ended, Ended::Done);
    let facts = study.subjects[0].storage().expect("storage");
    assert_eq!(facts.protocol, protocol.into());
    assert_eq!(study.trials.len(), 4);
    let wrong = |flag: &Flag| matches!(flag, Flag::BadContent { .. });
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        assert!(!trial.result.flags.iter().any(wrong), "{:?}", trial.result.flags);
        let ops = &trial.result.parts[0].ops;
        assert!([OpKind::READ, OpKind::WRITE].iter().any(|kind| ops.contains_key(kind)));
    }
}

#[test]
fn every_version_and_transport_carries_every_byte() {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("films")).udp();
    let server = Ganesha::start(&stage, config).unwrap();
    let exported = server.directory("films").unwrap().to_owned();
    let old = Nfs2Server::start().unwrap();
    let new = |options: &str| format!("{}{options}", server.url_with_ports("films"));
    let two = |options| format!("nfs://127.0.0.1:{}/export?vers=2{options}", old.address().port());
    for (url, protocol) in [
        (two(""), "NFSv2 over TCP"),
        (two("&proto=udp"), "NFSv2 over UDP"),
        (new(""), "NFSv3 over TCP"),
        (new("&vers=3&nconnect=3"), "NFSv3 over TCP"),
        (new("&vers=3&proto=udp"), "NFSv3 over UDP"),
        (new("&vers=4.0"), "NFSv4.0 over TCP"),
        (new("&vers=4.1"), "NFSv4.1 over TCP"),
        (new("&vers=4.1&nconnect=3"), "NFSv4.1 over TCP"),
        (new("&vers=4.2"), "NFSv4.2 over TCP"),
        (format!("nfs://127.0.0.1:{}/run/export/films", server.nfs_port()), "NFSv4.2 over TCP"),
    ] {
        let program = Plimsoll::new();
        let words = ["check", &url, "--verify", "--pattern=random-read,sequential-write"];
        // What is lost over UDP is sent again after a second at the earliest.
        let time = if protocol.ends_with("UDP") { "--time=2s" } else { "--time=200ms" };
        let more =
            ["--size=2MiB", "--block=32KiB", time, "--repeats=2", "--workers=2", "--depth=4"];
        let ran = program.run(&[&words[..], &more, &["--baseline=0s", "--quiet"]].concat());
        let ran = ran.expect(0);
        assert!(ran.out.contains(protocol), "{}", ran.out);
        assert_verified(&program.latest(), protocol);
        assert_eq!(listing(&exported), vec![], "{protocol}");
    }
    assert_eq!(old.count(), 0);
}

/// As many as are due are done, on a mount's server as in a directory, and no more; the figure that two are
/// compared by is the time that an operation takes, and nothing is said to be full.
#[test]
fn operations_at_a_fixed_rate_are_done_at_that_rate() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let url = server.url_with_ports("films");
    let directory = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let line = |more: &[&str]| {
        let words = ["check", &url, directory.path().to_str().unwrap(), "--pattern=random-read"];
        let short = ["--size=2MiB", "--repeats=2", "--baseline=0s", "--quiet"];
        program.run(&[&words[..], &short, more].concat())
    };
    let ran = line(&["--rate=200", "--workers=3", "--time=1s"]).expect(0);
    assert!(ran.out.contains("random read at 200/s"), "{}", ran.out);
    // The column names no resource, and the note below says why. Warnings may say that this machine was busy.
    let row = ran.out.lines().find(|line| line.starts_with("random read at 200/s"));
    assert!(row.is_some_and(|row| row.ends_with(" nothing saturated (1)")), "{}", ran.out);
    let reason =
        "(1) The fixed rate was reached, so no resource had to be saturated: leave out --rate";
    assert!(ran.out.contains(reason), "{}", ran.out);
    let named = ran.out.lines().filter(|line| !line.starts_with(['!', ' ']));
    let named = named
        .flat_map(|line| line.match_indices("saturated").chain(line.match_indices("ottleneck")));
    assert_eq!(named.count(), 3, "the heading, the row and the note: {}", ran.out);
    let study = program.latest();
    assert_eq!(study.trials.len(), 4);
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        let rate = trial.result.value(0, Metric::all(Measure::IOPS)).unwrap();
        assert!((rate / 200.0 - 1.0).abs() < 0.1, "{rate}");
    }
    assert_eq!(study.plan.contrasts[0].of.metric, Metric::all(Measure::LATENCY_MEAN));
    let ran = line(&["--rate=200", "--explain"]).expect(2);
    assert!(ran.err.contains("--explain"), "{}", ran.err);
    line(&["--rate=0"]).expect(2);
    // More than a server can do. To count the 800 million that are left over took minutes, after which
    // no answer seemed to have come in time.
    let ran = line(&["--rate=4000000000", "--time=200ms", "--details"]);
    assert!(ran.out.contains("were due and"), "{}", ran.out);
}

/// A server that has nothing in common with the others, and one mistake of its own.
#[test]
fn a_server_in_go_carries_every_byte() {
    const SIZE: u64 = 2 << 20;
    let stage = enter_or_skip!(Need::GoNfs, Need::Libnfs);
    let server = GoNfs::start(&stage, 20049).unwrap();
    let program = Plimsoll::new();
    let words = ["check", &server.url(), "--verify", "--pattern=random-read,sequential-write"];
    let more = ["--size=2MiB", "--block=32KiB", "--time=200ms", "--workers=2", "--depth=4"];
    let words = [&words[..], &more, &["--baseline=0s", "--quiet"]].concat();
    // Of many warnings the screen has the first ones alone.
    let ran = program.run(&[&words[..], &["--repeats=2", "--details"]].concat()).expect(0);
    assert_verified(&program.latest(), "NFSv3 over TCP");
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("sent 4 bytes beyond the end of its FSSTAT reply"), "{said}");
    assert_eq!(listing(&server.directory()), vec![]);

    // Another client, while a run is under way.
    let program = Plimsoll::new();
    let child = program.start(&[&words[..], &["--repeats=1000"]].concat());
    wait_until("a trial is kept", || trials(&program) >= 1);
    for file in read_files(&server.directory(), SIZE).expect("files that are read") {
        let path = file.strip_prefix(server.directory()).unwrap().to_str().unwrap();
        let directory = path.split('/').next().unwrap();
        assert_own_content(&nfs_cat(&server.libnfs_url(path)).unwrap(), directory);
    }
    signal(&child, "-INT");
    ended(child).expect(130);
    assert_eq!(listing(&server.directory()), vec![]);
}

#[test]
fn ctrl_c_leaves_nothing_behind_in_version_4() {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("films"));
    let server = Ganesha::start(&stage, config).unwrap();
    let exported = server.directory("films").unwrap();
    for version in ["4.0", "4.2"] {
        let url = format!("{}&vers={version}", server.url_with_ports("films"));
        interrupted::assert_keeps_trials(Plimsoll::new, &url, exported);
    }
}

#[test]
fn a_disk_that_fills_up_in_the_middle_ends_a_copy_in_version_4() {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::one(Export::directory("small").size(full::SMALL));
    let server = Ganesha::start(&stage, config).unwrap();
    let url = format!("{}&vers=4.1", server.url_with_ports("small"));
    let disk = server.directory("small").unwrap();
    full::assert_copy_of_a_film_ends(&Plimsoll::new(), &url, disk);
}
