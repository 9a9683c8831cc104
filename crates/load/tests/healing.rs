//! What a server loses is written again, a connection that breaks is made again, and the work goes on:
//! against a server whose restarts and losses are commanded, and against a real one.

mod support;

use plimsoll_load::{FileId, Found, NfsShare, Op, OpenOptions, Share, TimeLimits, Whole};
use plimsoll_model::{ErrorKind, Flag, NfsTarget, Stability, Target};
use plimsoll_testkit::proxy::TcpProxy;
use plimsoll_testkit::responder::{Handles, Responder, procedure};
use plimsoll_testkit::servers::ganesha::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::time::Duration;
use support::{LIMIT, Rig, assert_on_disk, reads, spans, whole, writes};

const BLOCK: u32 = 4096;
const SIZE: u64 = 200 * BLOCK as u64;

fn share(url: &str, write_again: bool) -> NfsShare {
    limited(url, write_again, LIMIT)
}

fn limited(url: &str, write_again: bool, call: Duration) -> NfsShare {
    let Ok(Target::Nfs(target)): Result<Target, _> = url.parse() else { panic!("{url}") };
    let target: NfsTarget = target;
    let limits = TimeLimits { connect: Duration::from_secs(2), call };
    let options = OpenOptions { limits, write_again, ..OpenOptions::default() };
    NfsShare::open(&target, url, &options).unwrap()
}

/// A file on a server that is about to restart, and its number.
fn file(share: &NfsShare) -> FileId {
    let mut names = share.namespace().unwrap();
    names.make_directory("run").unwrap();
    names.create("run/f").unwrap()
}

fn written_again(share: &NfsShare) -> Option<u64> {
    share.take_flags().iter().find_map(|flag| match flag {
        Flag::WrittenAgain { bytes, .. } => Some(*bytes),
        _ => None,
    })
}

/// Writes a file through lanes whose server restarts once it has done some of it.
fn through_a_restart(
    write_again: bool,
    after: u64,
    wsize: &str,
) -> (Responder, Result<u64, ErrorKind>) {
    let server = Responder::start().unwrap();
    let share = share(&format!("{}{wsize}", server.url()), write_again);
    let file = file(&share);
    let pieces = spans(file, 3, SIZE, BLOCK);
    let mut rig = Rig::new(&share, 8, BLOCK);
    server.restart_after(after, Handles::Kept);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    let flushed = rig.run(&[Op::Flush(file)]).remove(0);
    assert_eq!(flushed.bytes, 0, "a flush transfers nothing of its own");
    let result = flushed.result.map_err(|error| error.kind);
    drop(rig);
    let flag = written_again(&share);
    (server, result.map(|_| flag.unwrap_or(0)))
}

#[test]
fn what_a_restart_loses_is_written_again() {
    for (after, wsize) in [(1, ""), (100, ""), (100, "&wsize=1000"), (200, "")] {
        let (server, again) = through_a_restart(true, after, wsize);
        let counts = server.counts();
        assert_eq!(counts.restarts, 1);
        assert!(counts.lost_bytes > 0, "{counts:?}");
        // The write whose reply was lost was sent again by itself, and those that the server did not read
        // were never lost; everything that it had answered is written again by the flush.
        let again = again.unwrap();
        assert!(again <= counts.lost_bytes, "{again} of {counts:?}");
        assert!(again > 0 || after == 1, "{counts:?}");
        let content = whole(FileId(0), 3, SIZE as u32);
        assert!(
            server.stable("run/f").unwrap() == content,
            "after {after}: not all of it is there"
        );
    }
}

/// The test above could not tell if the server lost nothing.
#[test]
fn without_writing_again_the_loss_is_an_error_and_the_data_are_gone() {
    let (server, result) = through_a_restart(false, 100, "");
    assert_eq!(result, Err(ErrorKind::Lost));
    assert!(server.stable("run/f").unwrap() != whole(FileId(0), 3, SIZE as u32));
}

/// Written by several lanes and committed by one of them, which has smaller blocks; and once more while
/// that is under way.
#[test]
fn one_lane_writes_again_what_others_wrote() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let pieces = spans(file, 3, 4 << 20, 1 << 16);
    let (one, other) = pieces.split_at(pieces.len() / 2);
    let mut lanes = [1 << 16, 1 << 16, BLOCK].map(|block| Rig::new(&share, 4, block));
    lanes[0].run_all(&writes(one, Stability::Unstable));
    server.restart(Handles::Kept);
    lanes[1].run_all(&writes(other, Stability::Unstable));
    // Half of what is written again is lost again.
    server.restart_after(256, Handles::Kept);
    lanes[2].run_all(&[Op::Flush(file)]);
    assert_eq!(server.counts().restarts, 2);
    assert!(server.stable("run/f").unwrap() == whole(file, 3, 4 << 20));
    lanes[0].run_all(&reads(&pieces));
}

#[test]
fn a_restart_when_all_is_stable_costs_nothing_but_the_connection() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let pieces = spans(file, 3, SIZE, BLOCK);
    let mut rig = Rig::new(&share, 8, BLOCK);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    server.restart(Handles::Kept);
    rig.run_all(&[Op::Flush(file)]);
    rig.run_all(&reads(&pieces));
    drop(rig);
    let flags = share.take_flags();
    let [Flag::Reconnected { times: 1, at_seconds, seconds, .. }] = &flags[..] else {
        panic!("{flags:?}")
    };
    assert!(*at_seconds >= 0.0 && *seconds > 0.0);
    assert_eq!(server.counts().lost_bytes, 0);
}

/// The server has done what it was asked, and nobody was told: what is asked again is no error.
#[test]
fn a_reply_that_is_lost_does_not_make_an_operation_fail() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    share.namespace().unwrap().make_directory("run").unwrap();
    let mut rig = Rig::new(&share, 4, BLOCK);
    let path = |path: &str| rig.paths.add(path);
    let (made, renamed, small, directory) =
        (path("run/made"), path("run/renamed"), path("run/small"), path("run/d"));
    let content = Whole { path: small, length: 1000, content: FileId(9), generation: 2 };
    let steps = [
        (procedure::CREATE, Op::Create(made)),
        (procedure::RENAME, Op::Rename(made, renamed)),
        (procedure::CREATE, Op::Put(content, Stability::FileSync)),
        (procedure::MKDIR, Op::MakeDirectory(directory)),
        (procedure::RMDIR, Op::RemoveDirectory(directory)),
        (procedure::REMOVE, Op::Remove(renamed)),
    ];
    for (number, (procedure, op)) in (1..).zip(steps) {
        server.lose_replies(procedure, 1);
        let done = rig.run(&[op]).remove(0);
        let found = done.result.unwrap_or_else(|error| panic!("{op:?}: {error:?}"));
        let opened = matches!(found.as_deref(), Some(Found::File(_)));
        assert_eq!(opened, matches!(op, Op::Create(_)), "{op:?}: {found:?}");
        let counts = server.counts();
        assert_eq!((counts.replies_lost, counts.doubles), (number, number), "{op:?}");
    }
    assert!(server.stable("run/small").unwrap() == whole(FileId(9), 2, 1000));
    // Without a lost reply the same is an error, as it was.
    let done = rig.run(&[Op::Put(content, Stability::FileSync), Op::Remove(renamed)]);
    assert!(done.iter().all(|done| done.result.is_err()), "{done:?}");
}

/// Writes are done twice, and are what they are.
#[test]
fn replies_to_writes_and_flushes_may_be_lost() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let mut rig = Rig::new(&share, 8, BLOCK);
    server.lose_replies(procedure::WRITE, 3);
    server.lose_replies(procedure::COMMIT, 2);
    let pieces = spans(file, 3, SIZE, BLOCK);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    assert!(server.stable("run/f").unwrap() == whole(file, 3, SIZE as u32));
    let counts = server.counts();
    assert_eq!((counts.replies_lost, counts.doubles), (5, 5));
}

#[test]
fn a_server_that_lost_its_handles_is_an_error_that_says_what_to_do() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let mut rig = Rig::new(&share, 8, BLOCK);
    let pieces = spans(file, 3, SIZE, BLOCK);
    rig.run_all(&writes(&pieces, Stability::Unstable));
    server.restart(Handles::Lost);
    let error = rig.run(&[Op::Flush(file)]).remove(0).result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Gone);
    assert!(error.detail.contains("NFS3ERR_STALE") && error.detail.contains("fsid"), "{error:?}");
}

#[test]
fn a_server_that_asks_to_wait_while_it_restarts_is_waited_for() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let mut rig = Rig::new(&share, 2, BLOCK);
    server.restart(Handles::Kept);
    server.ask_to_wait(3);
    rig.run_all(&writes(&spans(file, 3, 8 * u64::from(BLOCK), BLOCK), Stability::FileSync));
    drop(rig);
    assert_eq!(server.counts().asked_to_wait, 3);
    let waited = |flag: &Flag| matches!(flag, Flag::AskedToWait { times: 3, .. });
    assert!(share.take_flags().iter().any(waited));
}

/// What is stable when it completes is lost by no restart.
#[test]
fn each_kind_of_stability_is_asked_for_on_the_wire() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let file = file(&share);
    let mut rig = Rig::new(&share, 8, BLOCK);
    for (number, stability) in
        [Stability::Unstable, Stability::DataSync, Stability::FileSync].into_iter().enumerate()
    {
        let before = server.counts();
        rig.run_all(&writes(&spans(file, number as u32, SIZE, BLOCK), stability));
        let mut expected = before.by_stability;
        expected[number] += SIZE / u64::from(BLOCK);
        assert_eq!(server.counts().by_stability, expected);
        server.restart(Handles::Kept);
        let lost = server.counts().lost_bytes - before.lost_bytes;
        assert_eq!(lost, if stability == Stability::Unstable { SIZE } else { 0 });
    }
}

/// A connection that a router has forgotten breaks by no word of anybody's; one that stands still for a
/// while is kept.
#[test]
fn a_silent_connection_is_given_up_for_another_one() {
    const CALL: Duration = Duration::from_secs(6);
    let server = Responder::start().unwrap();
    let proxy = TcpProxy::before(server.address(), Duration::from_millis(1)).unwrap();
    let (own, before) = (proxy.address().port(), server.address().port());
    let url = server.url().replace(&before.to_string(), &own.to_string());
    let share = limited(&url, true, CALL);
    let file = file(&share);
    let pieces = spans(file, 3, SIZE, BLOCK);
    let mut rig = Rig::new(&share, 8, BLOCK);
    let (first, rest) = pieces.split_at(50);
    let (second, third) = rest.split_at(50);
    rig.run_all(&writes(first, Stability::Unstable));
    let connections = proxy.connections();

    proxy.freeze();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(CALL / 10);
            proxy.thaw();
        });
        rig.run_all(&writes(second, Stability::Unstable));
    });
    assert_eq!(proxy.connections(), connections, "it was a short silence");

    proxy.forget();
    rig.run_all(&writes(third, Stability::Unstable));
    rig.run_all(&[Op::Flush(file)]);
    assert_eq!(proxy.connections(), connections + 1);
    assert!(server.stable("run/f").unwrap() == whole(file, 3, SIZE as u32));
    drop(rig);
    let silent = (CALL / 2).as_secs_f64();
    let gap = |flag: &Flag| matches!(flag, Flag::Reconnected { seconds, .. } if *seconds >= silent);
    let flags = share.take_flags();
    assert!(flags.iter().any(gap), "{flags:?}");
}

/// Killed and started again while it is written to.
#[test]
fn a_real_server_that_restarts_in_mid_run_is_written_to_again() {
    let stage = enter_or_skip!(Need::Ganesha);
    let mut server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let disk = server.directory("data").unwrap().to_owned();
    let share = share(&server.url_with_ports("data"), true);
    let file = file(&share);
    let pieces = spans(file, 3, SIZE, BLOCK);
    let mut rig = Rig::new(&share, 8, BLOCK);
    let (before, after) = pieces.split_at(100);
    rig.run_all(&writes(before, Stability::Unstable));
    server.kill();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            rig.run_all(&writes(after, Stability::Unstable));
            rig.run_all(&[Op::Flush(file)]);
        });
        // Its write verifier is the second it started in.
        std::thread::sleep(Duration::from_millis(1100));
        assert!(!running.is_finished(), "without a server");
        server.restart().unwrap();
    });
    rig.run_all(&reads(&pieces));
    assert_on_disk(&disk.join("run/f"), file, 3, SIZE);
    drop(rig);
    let flags = share.take_flags();
    let lost = 100 * u64::from(BLOCK);
    let again = |flag: &&Flag| matches!(flag, Flag::WrittenAgain { bytes, .. } if *bytes == lost);
    let gap = |flag: &&Flag| matches!(flag, Flag::Reconnected { seconds, .. } if *seconds > 1.0);
    assert!(flags.iter().any(|flag| again(&flag)), "{flags:?}");
    assert!(flags.iter().any(|flag| gap(&flag)), "{flags:?}");
}

/// What is prepared and cleaned up is done on connections that break, too.
#[test]
fn names_are_made_and_removed_through_lost_replies_and_restarts() {
    let server = Responder::start().unwrap();
    let share = share(&server.url(), true);
    let mut names = share.namespace().unwrap();
    server.lose_replies(procedure::MKDIR, 1);
    names.make_directory("run").unwrap();
    server.lose_replies(procedure::CREATE, 1);
    let file = names.create("run/f").unwrap();
    names.close(file);
    server.restart(Handles::Kept);
    names.write_small("run/lease", b"ours").unwrap();
    server.lose_replies(procedure::WRITE, 1);
    names.write_small("run/lease", b"ours too").unwrap();
    assert_eq!(server.stable("run/lease").unwrap(), b"ours too");
    // As of a server that restarts again while it is called once more.
    server.lose_replies(procedure::WRITE, 3);
    names.write_small("run/lease", b"still ours").unwrap();
    assert_eq!(server.stable("run/lease").unwrap(), b"still ours");
    assert_eq!(support::names(&mut *names, "run"), ["f", "lease"]);
    server.lose_replies(procedure::REMOVE, 1);
    names.remove_file("run/f").unwrap();
    names.remove_file("run/f").unwrap_err();
    names.remove_file("run/lease").unwrap();
    server.lose_replies(procedure::RMDIR, 1);
    names.remove_directory("run").unwrap();
    assert_eq!(support::names(&mut *names, ""), [""; 0]);
    assert_eq!(server.counts().replies_lost, 8);
}
