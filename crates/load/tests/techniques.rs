//! What a client does by itself, on the wire: counted by a server, and read back from several.

mod support;

use plimsoll_load::SystemClock;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    FileJob, FileWay, Length, OpKind, OperationsJob, Part, Stability, Technique, Workload,
};
use plimsoll_testkit::responder::Responder;
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::servers::samba::{Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::jobs::{Run, done, once, opened, part};

/// No whole number of buffers, nor of what they are gathered to.
const SIZE: u64 = 1_000_001;
const BUFFER: u64 = 1024;

fn run(url: &str) -> Run {
    Run::new(opened(url), Arc::new(SystemClock::new()))
}

fn write(stability: Stability, gather: u64, depth: u16) -> Workload {
    let way = FileWay::Write;
    let job = FileJob { way, buffer: Bytes(BUFFER), size: Bytes(SIZE), stability };
    let gathered = Technique::WriteBack { gather: Bytes(gather) };
    let techniques = Vec::from_iter((gather > 0).then_some(gathered));
    once(Part { techniques, ..part(job.into(), 1, depth) })
}

/// Whatever programs write at a time, the server is written to in pieces of what was gathered; those that must
/// be stable by themselves are not gathered.
#[test]
fn a_server_gets_as_many_writes_as_computed() {
    let server = Responder::start().unwrap();
    let mut run = run(&server.url());
    for (stability, gather, depth, expected) in [
        (Stability::Unstable, 0, 1, SIZE.div_ceil(BUFFER)),
        (Stability::Unstable, 65_536, 1, SIZE.div_ceil(65_536)),
        (Stability::Unstable, 65_536, 3, SIZE.div_ceil(65_536)),
        (Stability::Unstable, 3000, 1, SIZE.div_ceil(3000)),
        // More than the server takes at a time.
        (Stability::Unstable, 1 << 40, 1, 1),
        (Stability::FileSync, 65_536, 1, SIZE.div_ceil(BUFFER)),
    ] {
        let workload = write(stability, gather, depth);
        run.prepare(&workload).unwrap();
        let before = server.counts();
        let part = &run.good(&workload)[0];
        assert_eq!(done(part, OpKind::WRITE), SIZE.div_ceil(BUFFER), "what the program wrote");
        let counts = server.counts();
        let writes = counts.writes - before.writes;
        assert_eq!(writes, expected, "{stability:?} {gather} {depth}");
        let flushes = u64::from(stability == Stability::Unstable);
        assert_eq!(counts.commits - before.commits, flushes, "{stability:?} {gather}");
    }
    run.close();
}

/// With a lifetime that is longer than the run, each of five names is looked up once. Opening a file and setting its
/// time begin with a LOOKUP, too, and are not spared.
#[test]
fn names_are_looked_up_once_in_their_lifetime() {
    let server = Responder::start().unwrap();
    let mut run = run(&server.url());
    let job = OperationsJob { entries: 5, block: Bytes(4096) };
    let length = Length::For { seconds: 0.3, warm_up_seconds: 0.0 };
    let mut asked = |lifetime_seconds: f64| {
        let cached = Technique::AttributeCache { lifetime_seconds };
        let techniques = Vec::from_iter((lifetime_seconds > 0.0).then_some(cached));
        let part = Part { techniques, ..part(job.clone().into(), 1, 1) };
        let workload = Workload::new(part, length);
        run.prepare(&workload).unwrap();
        let before = server.counts();
        let part = &run.good(&workload)[0];
        let names = done(part, OpKind::LOOKUP);
        assert!(names > 10, "{names} of five names");
        let others = done(part, OpKind::OPEN) + done(part, OpKind::SET_ATTRIBUTES);
        (names, server.counts().lookups - before.lookups - others)
    };
    let (names, looked_up) = asked(0.0);
    assert!(looked_up.abs_diff(names) <= 1, "{looked_up} of {names}");
    let (names, looked_up) = asked(3600.0);
    assert!((5..=6).contains(&looked_up), "{looked_up} for {names} of five names");
    run.close();
}

/// The only file below a directory.
fn file_below(directory: &Path) -> PathBuf {
    let entry = std::fs::read_dir(directory).unwrap().next().expect("a name").unwrap();
    if entry.path().is_dir() { file_below(&entry.path()) } else { entry.path() }
}

/// The same file, gathered and not: byte by byte the same on the server's disk.
fn assert_same_bytes(url: &str, disk: &Path) {
    let written = [0, 50_000].map(|gather| {
        let mut run = run(url);
        let workload = write(Stability::Unstable, gather, 2);
        run.prepare(&workload).unwrap();
        run.good(&workload);
        let bytes = std::fs::read(file_below(disk)).unwrap();
        run.close();
        bytes
    });
    assert_eq!(written[0].len() as u64, SIZE);
    // Not a page is as another one.
    assert_ne!(written[0][..4096], written[0][4096..8192]);
    assert!(written[0] == written[1], "{url}: what was gathered is not what was to be written");
    assert_eq!(std::fs::read_dir(disk).unwrap().count(), 0);
}

#[test]
fn what_is_gathered_is_what_was_written() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap();
    for version in ["3", "4.0", "4.1"] {
        assert_same_bytes(&format!("{}&vers={version}", server.url_with_ports("data")), disk);
    }
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    assert_same_bytes(&server.url("data"), &server.directory("data").unwrap());
    let disk = tempfile::tempdir().unwrap();
    assert_same_bytes(disk.path().to_str().unwrap(), disk.path());
}
