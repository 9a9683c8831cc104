//! `plimsoll ops` on real servers: every kind of operation has its cost, and nothing is left behind.

mod support;

use plimsoll_explain::{CostModel, transfers, whole_files};
use plimsoll_model::{
    Ended, Flag, Measure, Metric, NfsVersion, OpKind, OperationsJob, Outcome, Protocol, Stability,
    Study, SubjectFacts,
};
use plimsoll_stats::fit::costs::CostKind;
use plimsoll_testkit::responder::Responder;
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use std::path::Path;
use std::time::Duration;
use support::rows::trials;
use support::{Plimsoll, ended, listing, run_directories, signal, unwrapped, wait_until};

/// Seconds in place of minutes.
const SHORT: [&str; 6] = [
    "--blocks=512B,4KiB,64KiB,256KiB",
    "--depths=1,4",
    "--repeats=2",
    "--time=250ms",
    "--size=4MiB",
    "--quiet",
];

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD)
}

fn ops<'a>(targets: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["ops", "--baseline=0s"], targets, &SHORT, more].concat()
}

/// The mean time of one operation of a kind in the first trial of a subject.
fn time(study: &Study, subject: u16, kind: OpKind) -> Option<f64> {
    let is_own =
        |trial: &&plimsoll_model::Trial| trial.cell.subject == subject && trial.cell.workload == 0;
    let trial = study.trials.iter().find(is_own)?;
    let metric = Metric { kind: Some(kind), measure: Measure::LATENCY_MEAN };
    trial.result.value(0, metric)
}

/// Kinds that a protocol has no call for: locks of NFS 3 are another protocol's, rights of SMB come with what is
/// opened.
fn missing(study: &Study, subject: u16) -> &'static [OpKind] {
    let facts = study.subjects[usize::from(subject)].storage().expect("storage");
    match facts.protocol {
        Protocol::Nfs { version: NfsVersion::V3, .. } => &[OpKind::LOCK, OpKind::UNLOCK],
        Protocol::Smb { .. } => &[OpKind::ACCESS],
        _ => &[],
    }
}

/// Everything was measured: each kind but these and those that there are no calls for, and each size and number
/// in flight.
#[track_caller]
fn assert_whole(study: &Study, without: &[OpKind]) {
    assert_eq!(study.ended, Ended::Done);
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{:?}", trial.result.flags);
        let points = [0, 4, 2, 4, 2][usize::from(trial.cell.workload)];
        assert_eq!(trial.points.len(), points);
    }
    for subject in 0..study.subjects.len() as u16 {
        for kind in OperationsJob::KINDS {
            let seconds = time(study, subject, kind);
            let none = without.contains(&kind) || missing(study, subject).contains(&kind);
            assert_eq!(seconds.is_some(), !none, "{kind}");
            assert!(seconds.is_none_or(|seconds| seconds > 0.0 && seconds < 5.0), "{kind}");
        }
    }
    let found = transfers(study);
    assert_eq!(found.len(), 2 * study.subjects.len());
    for transfers in &found {
        assert_eq!(transfers.sizes.len(), 4);
        assert!(transfers.enough().is_some());
        assert_eq!(transfers.flights.len(), 1);
        let flights = &transfers.flights[0];
        // A gain is required, and no more of it than can be true. Only where a starved machine's figures exclude
        // each other by their intervals there is none.
        match flights.contradiction() {
            None => assert!(flights.gain().is_some_and(|gain| (1.0..=4.0).contains(&gain))),
            Some((flight, _)) => {
                let least = flight.per_second.interval.unwrap().low;
                let most = flights.depths[0].per_second.interval.unwrap().high;
                assert!(least > most * f64::from(flight.depth), "{flights:?}");
                assert_eq!(flights.gain(), None);
            }
        }
        // Whether the model fits so short a run is chance; where it does not, it says nothing.
        let fits = matches!(transfers.model, CostModel::Fits { .. });
        assert!(fits || transfers.cost(CostKind::Operation).is_none());
    }
}

#[test]
fn operations_of_every_version_of_nfs_and_of_smb_have_their_costs() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let folder = nfs.directory("films").unwrap();
    std::fs::write(folder.join("holiday.txt"), "not plimsoll's").unwrap();
    let smb =
        Samba::start(&stage, SambaConfig::one(SambaShare::existing("films", folder))).unwrap();
    let before = listing(folder);
    let versions = ["3", "4.0", "4.2"];
    let urls = versions.map(|version| format!("{}&vers={version}", nfs.url_with_ports("films")));
    let smb_url = smb.url("films");
    let targets: Vec<&str> = urls.iter().map(String::as_str).chain([&*smb_url]).collect();
    let program = program();
    let ran = program.run(&ops(&targets, &["--only=kinds,blocks,depths"])).expect(0);
    for word in
        ["round trip", "lookup", "list 640 names", ", write", "scan on a mount", "not available"]
    {
        assert!(ran.out.contains(word), "{word} in:\n{}", ran.out);
    }
    assert!(!ran.out.contains("refused"), "{}", ran.out);
    let study = program.latest();
    assert_eq!(study.subjects.len(), 4);
    assert_whole(&study, &[]);
    let trip = |facts: &SubjectFacts| facts.storage().and_then(|facts| facts.round_trip_seconds);
    assert!(study.subjects.iter().all(|facts| trip(facts).is_some()), "NULL and ECHO");
    let shown = program.run(&["show", "--details"]).expect(0).out;
    for word in ["Cost of an operation and of a byte", "by the model", "in flight:", "256 KiB"] {
        assert!(shown.contains(word), "{word} in:\n{shown}");
    }
    let csv = program.run(&["export", "--csv"]).expect(0).out;
    assert!(csv.contains("make_directory_operations") && csv.contains(",operations,"), "{csv}");
    assert_eq!(listing(folder), before, "the folder is as it was");
}

#[test]
fn a_directory_by_one_sweep_alone_in_rounds() {
    let place = tempfile::tempdir().unwrap();
    let program = program();
    let target = place.path().to_str().unwrap();
    let words = ops(&[target], &["--only=depths", "--arrival=rounds,pipelined"]);
    let ran = program.run(&words).expect(0);
    assert!(!ran.out.contains("lookup"), "{}", ran.out);
    let study = program.latest();
    let arrivals = study.plan.workloads.iter().map(|workload| workload.parts[0].settings());
    let rounds = arrivals.filter(|settings| settings.contains("batches of 1")).count();
    assert_eq!((study.plan.workloads.len(), rounds), (4, 2));
    assert_eq!(listing(place.path()), vec![]);
}

#[test]
fn a_file_is_read_and_written_whole_beside_the_published_one() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let program = program();
    let url = server.url("films");
    let words = ["ops", &url, "--whole-file=read,write", "--arrival=rounds", "--repeats=2"];
    // Not a whole number of buffers.
    let more = ["--size=1MB", "--baseline=0s", "--timeout=20s"];
    let ran = program.run(&[&words[..], &more].concat()).expect(0);
    for word in ["2.89 MB/s", "7.63 MB/s", "8.90 MB/s", "9.60 MB/s", "RTEMS", "3 in batches"] {
        assert!(ran.out.contains(word), "{word} in:\n{}", ran.out);
    }
    let study = program.latest();
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 2 * 3 * 2 * 3));
    let shown = program.run(&["show", "--details"]).expect(0).out;
    for word in [
        "Several readers of a file, predicted from one reader",
        "read, buffers of 8 KiB, 3 in batches",
    ] {
        assert!(shown.contains(word), "{word} in:\n{shown}");
    }
    // What was read, written stable, and flushed at the end: each through buffers of two sizes.
    let found = whole_files(&study);
    assert_eq!(found.iter().map(|group| group.files.len()).collect::<Vec<_>>(), [6; 3]);
    assert!(found.iter().all(|group| group.files.iter().all(|file| file.rate.value > 0.0)));
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        let part = study.plan.workloads[usize::from(trial.cell.workload)].main().unwrap();
        let writes = part.job.stability().is_some();
        let kind = if writes { OpKind::WRITE } else { OpKind::READ };
        let ops = &trial.result.parts[0].ops;
        let buffers = 1_000_000_u64.div_ceil(part.job.block().unwrap().0);
        assert_eq!((ops[&kind].count, ops[&kind].bytes), (buffers, 1_000_000));
        let flushes = ops.get(&OpKind::FLUSH).map_or(0, |stats| stats.count);
        let expected = u64::from(part.job.stability() == Some(Stability::Unstable));
        assert_eq!(flushes, expected, "what is not stable by itself is flushed once");
        let opening = if writes { OpKind::CREATE } else { OpKind::OPEN };
        assert_eq!((ops[&opening].count, ops[&OpKind::CLOSE].count), (1, 1));
    }
    assert_eq!(listing(server.directory("films").unwrap()), vec![]);
}

/// The same file by the same reader, with and without: every byte comes, and nothing stays open or behind.
#[test]
fn a_file_is_read_ahead_over_every_protocol() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let folder = nfs.directory("films").unwrap();
    let smb =
        Samba::start(&stage, SambaConfig::one(SambaShare::existing("films", folder))).unwrap();
    let here = tempfile::tempdir().unwrap();
    let version = |version| format!("{}&vers={version}", nfs.url_with_ports("films"));
    let targets =
        [version("3"), version("4.1"), smb.url("films"), here.path().display().to_string()];
    let program = program();
    let mut words = vec!["ops"];
    words.extend(targets.iter().map(String::as_str));
    words.extend(["--whole-file=read", "--read-ahead=0,3", "--readers=1,2", "--buffer=8KiB"]);
    words.extend(["--size=300kB", "--repeats=2", "--baseline=0s", "--timeout=20s"]);
    let ran = program.run(&words).expect(0);
    assert!(ran.out.contains("3 read ahead"), "{}", ran.out);
    let study = program.latest();
    assert_eq!(study.trials.len(), 4 * 4 * 2);
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{:?}", trial.cell);
        let reads = &trial.result.parts[0].ops[&OpKind::READ];
        assert_eq!((reads.bytes, reads.errors.len()), (300_000, 0), "{:?}", trial.cell);
    }
    assert_eq!(listing(folder), vec![]);
    assert_eq!(listing(here.path()), vec![]);
}

/// The same with and without what a client may do by itself, side by side: every byte is written and made stable
/// either way.
#[test]
fn what_a_client_does_by_itself_stands_beside_the_same_without_it() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let (program, url) = (program(), server.url("films"));
    let words = ["ops", &url, "--whole-file=write", "--write-back=0,64KiB", "--readers=1,2"];
    let more = ["--buffer=1KiB", "--size=300kB", "--repeats=2", "--baseline=0s", "--timeout=20s"];
    let ran = program.run(&[&words[..], &more].concat()).expect(0);
    assert!(ran.out.contains("write-back of 64 KiB"), "{}", ran.out);
    assert!(!ran.out.contains("RTEMS"), "nothing was published of it:\n{}", ran.out);
    let study = program.latest();
    // Each reader count: every write stable, and flushed at the end with each size.
    assert_eq!((study.ended.clone(), study.trials.len()), (Ended::Done, 2 * 3 * 2));
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{:?}", trial.cell);
        let part = study.plan.workloads[usize::from(trial.cell.workload)].main().unwrap();
        let flushed = part.job.stability() == Some(Stability::Unstable);
        assert!(flushed || part.techniques.is_empty(), "what must be stable is not delayed");
        let ops = &trial.result.parts[0].ops;
        let (writes, flushes) = (&ops[&OpKind::WRITE], ops.get(&OpKind::FLUSH));
        assert_eq!((writes.count, writes.bytes, writes.errors.len()), (293, 300_000, 0));
        assert_eq!(flushes.map_or(0, |stats| stats.count), u64::from(flushed));
    }
    let words = ["ops", &url, "--only=kinds", "--entries=5", "--attribute-cache=0s,1h"];
    let more = ["--repeats=2", "--time=250ms", "--baseline=0s", "--quiet"];
    let ran = program.run(&[&words[..], &more].concat()).expect(0);
    for word in ["every attribute requested", "attributes cached for 1 h", "scan, lookups"] {
        assert!(ran.out.contains(word), "{word} in:\n{}", ran.out);
    }
    assert_eq!(listing(server.directory("films").unwrap()), vec![]);
    let uneven = ["ops", &url, "--whole-file=write", "--write-back=1000B"];
    assert!(program.run(&uneven).expect(2).err.contains("multiple of 512"));
    for (option, word) in [
        ("--write-back=64KiB", "--whole-file"),
        ("--read-ahead=1", "--whole-file"),
        ("--attribute-cache=soon", "--attribute-cache"),
    ] {
        let refused = program.run(&["ops", &url, option]).expect(2);
        assert!(refused.err.contains(word), "{option}: {}", refused.err);
    }
}

/// What the program says that it looked up, and what a server was asked.
#[test]
fn names_are_asked_for_once_in_their_lifetime() {
    let server = Responder::start().unwrap();
    let (program, url) = (program(), server.url());
    let words = ["ops", &url, "--only=kinds", "--entries=5", "--attribute-cache=1h"];
    let more = ["--repeats=2", "--time=500ms", "--baseline=0s", "--quiet"];
    program.run(&[&words[..], &more].concat()).expect(0);
    // Each cycle commits once, and opening a file and setting its time begin with a LOOKUP, too. Five names in each
    // of two trials; and what was done before them.
    let (cycles, lookups) = (server.counts().commits, server.counts().lookups);
    let asked = lookups.saturating_sub(2 * cycles);
    assert!(cycles > 50 && asked <= 2 * 5 + 20, "{asked} LOOKUPs for names in {cycles} cycles");
}

/// 1 MiB was 256 calls on a server with `MaxRead = 4096`, and its rate had no cause.
#[test]
fn a_largest_transfer_that_makes_many_calls_is_named_as_the_cause() {
    let stage = enter_or_skip!(Need::Ganesha);
    let exports = GaneshaConfig::one(Export::directory("films"));
    let config = GaneshaConfig { largest_transfer: Some(4096), ..exports };
    let server = Ganesha::start(&stage, config).unwrap();
    let program = program();
    program.run(&ops(&[&server.url("films")], &["--only=blocks,depths"])).expect(0);
    let shown = unwrapped(&program.run(&["show", "--details"]).expect(0).out);
    let cause =
        "client and server agreed on at most 4 KiB in a call, so 256 KiB are 64 calls, each with";
    assert_eq!(shown.matches(cause).count(), 2, "reads and writes: {shown}");
    assert!(shown.contains("MaxRead and MaxWrite of NFS-Ganesha"), "{shown}");
}

/// A round trip of 63 µs stood above a lookup of 53, which contains one.
#[test]
fn a_round_trip_that_is_longer_than_a_lookup_is_flagged() {
    let server = Responder::start().unwrap();
    server.delay_null(Duration::from_millis(300));
    let (program, url) = (program(), server.url());
    let words = ["ops", &url, "--only=kinds", "--entries=5", "--repeats=2", "--time=500ms"];
    let ran = program.run(&[&words[..], &["--baseline=0s", "--quiet"]].concat()).expect(0);
    let shown = unwrapped(&ran.out);
    let (_, flagged) = shown.split_once("The round trip of 3").unwrap_or_else(|| panic!("{shown}"));
    let (longer, _) = flagged.split_once("which contain one").unwrap_or_else(|| panic!("{shown}"));
    assert!(longer.contains("is longer than") && longer.contains("lookup"), "{shown}");
    assert!(flagged.contains("it was measured at rest, and is not used."), "{shown}");
}

/// A server that does not take names that end as those of sources do: so nothing can be renamed to them.
#[test]
fn what_a_server_refuses_is_said_and_the_rest_is_measured() {
    let stage = enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("films")).line("veto files = /f*.c/f*.h/");
    let server = Samba::start(&stage, config).unwrap();
    let program = program();
    let ran = program.run(&ops(&[&server.url("films")], &[])).expect(0);
    assert!(ran.out.contains("rename") && ran.out.contains("refused"), "{}", ran.out);
    assert!(ran.out.contains("refused to rename a file"), "{}", ran.out);
    let study = program.latest();
    assert_whole(&study, &[OpKind::RENAME]);
    let refused = |flag: &&Flag| matches!(flag, Flag::OperationRefused { .. });
    assert_eq!(study.flags.iter().filter(refused).count(), 1, "{:?}", study.flags);
    assert_eq!(listing(&server.directory("films").unwrap()), vec![]);
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let exported = server.directory("films").unwrap();
    let program = program();
    let url = server.url("films");
    let child = program.start(&["ops", &url, "--size=8MiB", "--repeats=1000", "--quiet"]);
    let has_names = |run: &std::path::PathBuf| run.join("operations-0").exists();
    wait_until("names are made", || run_directories(exported).iter().any(has_names));
    wait_until("a trial is kept", || trials(&program) >= 1);
    signal(&child, "-INT");
    ended(child).expect(130);
    assert_eq!(program.latest().ended, Ended::Interrupted);
    assert_eq!(listing(exported), vec![], "nothing is left");
}

/// A run that was killed: `clean` knows the names that it made.
#[test]
fn what_a_killed_run_leaves_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let program = program();
    let target = place.path().to_str().unwrap();
    // Half a second is what a point has by itself.
    let time = thorough::shorter("--time=100ms", "--time=500ms");
    let words = ["ops", target, "--size=8MiB", "--repeats=1000", time, "--quiet"];
    let mut child = program.start(&words);
    wait_until("a trial is kept", || trials(&program) >= 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run_directories(place.path()).len(), 1);
    program.run(&["clean", target]).expect(0);
    assert_eq!(listing(place.path()), vec![]);
}

#[test]
fn bad_targets_passwords_and_options_say_what_to_do() {
    let stage = enter_or_skip!(Need::Samba, Need::Ganesha);
    let smb = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let wrong = Plimsoll::new().with("PLIMSOLL_PASSWORD", "close sesame");
    let ran = wrong.run(&ops(&[&smb.url("films")], &[])).expect(4);
    assert!(ran.err.contains("LOGON_FAILURE") && !ran.err.contains("sesame"), "{}", ran.err);
    let typo = nfs.url("fims");
    let program = program();
    assert!(program.run(&ops(&[&typo], &[])).expect(5).err.contains("next:"));
    let nobody = program.run(&ops(&["nfs://127.0.0.1:9/films"], &["--timeout=2s"])).expect(3);
    assert!(nobody.err.contains("127.0.0.1"), "{}", nobody.err);
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).to_str().unwrap();
    for (option, word) in [
        ("--blocks=1000B", "multiple of 512"),
        ("--blocks=2MiB", "smaller than the block size"),
        ("--time=1ms", "at least 50 ms"),
        ("--entries=0", "--entries"),
        ("--depths=0", "--depths"),
        ("--only=everything", "--only"),
    ] {
        let words = [&["ops", here, "--size=8MiB"][..], &[option]].concat();
        let refused = program.run(&words).expect(2);
        assert!(refused.err.contains(word), "{option}: {}", refused.err);
    }
    let two = ["ops", here, "--on=ssh://a.invalid", "--on=ssh://b.invalid"];
    assert!(program.run(&two).expect(2).err.contains("on one host"));
}
