//! Whatever is wrong outside: the exit code, and what, where, why and what next in the message;
//! and what was there before is there after.

mod support;

use plimsoll_model::{Flag, Outcome};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Peer, Squash};
use plimsoll_testkit::{Need, Stage, enter_or_skip, test_each_peer};
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use support::rows::{Row, assert_rows, check, failed, trials};
use support::{
    Plimsoll, ended, full, interrupted, leftover, listing, run_directories, signal, wait_until,
};

#[test]
fn targets_that_cannot_be_opened() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Nftables);
    let exports = [
        Export::directory("films"),
        Export::directory("frozen").read_only(),
        Export::directory("careful").privileged_port(),
        Export::directory("squashed").squash(Squash::Root),
        Export::directory("tiny").size(4 << 20),
    ];
    let server = Ganesha::start(&stage, GaneshaConfig::new(exports)).unwrap();
    let lists: Vec<_> = ["films", "frozen", "careful", "squashed", "tiny"]
        .map(|e| (e, listing(server.directory(e).unwrap())))
        .into();
    // Root may write anywhere but where root is nobody.
    let squashed = server.directory("squashed").unwrap();
    std::fs::set_permissions(squashed, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage.drop_port(2999).unwrap();
    let with_ports = |name: &str| server.url_with_ports(name);
    let by_4 = |name: &str, version: &str| format!("{}&vers={version}", with_ports(name));
    let any_port = |url: String| {
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}sourceport=any")
    };
    let row = |what, target: String, code, words| Row { what, target, code, words };
    assert_rows(
        &Plimsoll::new(),
        vec![
            row(
                "unknown host",
                "nfs://no-such-host.invalid/x".into(),
                3,
                &["no-such-host.invalid", "why:"],
            ),
            row("closed port", "nfs://127.0.0.1:9/x".into(), 3, &["refused"]),
            row("filtered port", "nfs://127.0.0.1:2999/x".into(), 3, &["no answer", "firewall"]),
            row(
                "wrong export",
                with_ports("films").replace("films", "film"),
                5,
                &["/run/export/films"],
            ),
            row(
                "privileged port",
                any_port(with_ports("careful")),
                5,
                &["1024", "insecure", "sourceport=privileged"],
            ),
            row("root is squashed", with_ports("squashed"), 5, &["squash", "uid="]),
            row("read-only", with_ports("frozen"), 5, &["read-only"]),
            row("no space before", with_ports("tiny"), 6, &["--size"]),
            row(
                "wrong path, version 4.2",
                by_4("films", "4.2").replace("films", "film"),
                5,
                &["'film' does not exist", "Name one of the server's exports in version 4: nfs://"],
            ),
            row("squashed, version 4.1", by_4("squashed", "4.1"), 5, &["squash", "uid="]),
            row("read-only, version 4.0", by_4("frozen", "4.0"), 5, &["read-only"]),
            row("no space before, version 4.1", by_4("tiny", "4.1"), 6, &["--size"]),
            row("unknown option", "nfs://127.0.0.1/x?rsze=4096".into(), 2, &["rsze", "rsize="]),
            row("unknown kind", "ftp://127.0.0.1/x".into(), 2, &["ftp"]),
        ],
    );
    for (export, before) in lists {
        assert_eq!(listing(server.directory(export).unwrap()), before, "{export} is as it was");
    }
}

#[test]
fn directories_that_cannot_be_used() {
    let there = tempfile::tempdir().unwrap();
    let file = there.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let missing = there.path().join("films");
    let pipe = there.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let circle = there.path().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    let row = |what, target: &std::path::Path, code, words| Row {
        what,
        target: target.display().to_string(),
        code,
        words,
    };
    assert_rows(
        &Plimsoll::new(),
        vec![
            row("no such directory", &missing, 5, &["films"]),
            row("a file", &file, 5, &["it is a file, not a directory", "--file"]),
            row("below a file", &file.join("x"), 5, &["a part of its path"]),
            row("a pipe", &pipe, 5, &["it is a pipe"]),
            row("a device", "/dev/null".as_ref(), 5, &["it is a device"]),
            row("a circle of links", &circle, 5, &["form a loop"]),
            row("of the kernel", "/proc".as_ref(), 5, &["it is proc", "stores no files"]),
            row("more of the kernel", "/sys".as_ref(), 5, &["it is sysfs", "stores no files"]),
            row("as mount has it", "nas:/my films".as_ref(), 2, &["write nfs://nas/my%20films"]),
            row("with a user", "me@nas:/films".as_ref(), 2, &["write nfs://nas/films"]),
            row("as mount.cifs has it", "//nas/films/new".as_ref(), 2, &["smb://nas/films/new"]),
            row("as Windows has it", r"\\nas\films".as_ref(), 2, &["write smb://nas/films"]),
            row("another kind", "cifs://me@nas/x".as_ref(), 2, &["Write it as smb://me@nas/x"]),
            row("in capitals", "NFS://127.0.0.1:9/x".as_ref(), 3, &["refused", "nfs://"]),
            row("in capitals", "Smb://127.0.0.1:9/x".as_ref(), 3, &["refused", "smb://"]),
        ],
    );
    // A password in what is no URL is not repeated either.
    let ran = Plimsoll::new().run(&["check", "//me:hunter2@nas/films"]).expect(2);
    assert!(ran.err.contains("smb://me@nas/films") && !ran.err.contains("hunter2"), "{}", ran.err);
    // A directory that is there goes before what its name may mean elsewhere.
    std::fs::create_dir_all(there.path().join("nas:/films")).unwrap();
    let program = Plimsoll::new();
    let mut command = program.command(&["check", "nas:/films", "--pattern=random-read", "-q"]);
    command.args(["--size=1MiB", "--repeats=1", "--time=100ms", "--baseline=0s"]);
    let ran: support::Ran = command.current_dir(there.path()).output().unwrap().into();
    ran.expect(0);
    let program = Plimsoll::new();
    let ran = program.run(&["check"]);
    assert_eq!(ran.code, Some(2));
    let ran = program.run(&["check", "/tmp", "--pattern=sideways"]).expect(2);
    assert!(ran.err.contains("sequential-read"), "{}", ran.err);
    program.run(&["check", "/tmp", "--block=1000"]).expect(2);
    program.run(&["show", "nothing"]).expect(2);
}

/// A screen without the ends of its lines.
fn joined(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_target_given_twice_is_an_a_a_comparison() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let program = Plimsoll::new();
    let ran = check(&program, directory, &[directory, "--pattern=random-read"]).expect(0);
    assert!(joined(&ran.out).contains("was given twice"), "{}", ran.out);
    // The run's directory for the first once looked like another run to the second.
    assert!(!joined(&ran.out).contains("another plimsoll run uses this share"), "{}", ran.out);
    let others = |f: &Flag| matches!(f, Flag::OtherRun { .. });
    assert!(!program.latest().flags.iter().any(others));
}

test_each_peer!(
    a_disk_that_fills_up_in_the_middle,
    a_server_that_dies_half_way,
    a_server_that_freezes_half_way_and_comes_back,
);

fn with_password() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD)
}

/// A check that goes on until its server is lost.
#[track_caller]
fn long_check(program: &Plimsoll, url: &str) -> Child {
    let options = [
        "--size=8MiB",
        "--repeats=1000",
        "--time=200ms",
        "--baseline=0s",
        "--timeout=2s",
        "--quiet",
    ];
    let child = program.start(&[&["check", url], &options[..]].concat());
    wait_until("three trials are kept", || trials(program) >= 3);
    child
}

fn a_disk_that_fills_up_in_the_middle(stage: &Stage, peer: Peer) {
    let server = peer.start_small(stage, "small", full::SMALL).unwrap();
    full::assert_copy_of_a_film_ends(&with_password(), &server.url(), &server.directory());
}

fn a_server_that_dies_half_way(stage: &Stage, peer: Peer) {
    let mut server = peer.start(stage, "films").unwrap();
    let program = with_password();
    let url = server.url();
    let folder = server.directory();
    let child = long_check(&program, &url);
    server.kill();
    let ran = ended(child).expect(1);
    let study = program.latest();
    assert!(study.trials.len() >= 3, "finished trials are kept");
    let last = study.trials.last().unwrap();
    assert!(matches!(last.result.outcome, Outcome::Failed { .. }), "{:?}", last.result.outcome);
    assert!(ran.out.contains("plimsoll clean"), "leftovers are named:\n{}", ran.out);
    assert!(!run_directories(&folder).is_empty());

    server.restart().unwrap();
    let cleaned = program.run(&["clean", &url]).expect(0);
    assert!(cleaned.out.contains("removed .plimsoll-"), "{}", cleaned.out);
    assert_eq!(listing(&folder), vec![]);
}

fn a_server_that_freezes_half_way_and_comes_back(stage: &Stage, peer: Peer) {
    let server = peer.start(stage, "films").unwrap();
    let program = with_password();
    let url = server.url();
    let folder = server.directory();
    let child = long_check(&program, &url);
    server.freeze().unwrap();
    wait_until("a trial fails", || failed(&program));
    server.thaw().unwrap();
    let ran = ended(child).expect(1);
    assert!(ran.out.contains("no answer"), "{}", ran.out);
    // It may have answered again in time for the clean-up, or not.
    let is_left = !run_directories(&folder).is_empty();
    assert!(!is_left || ran.out.contains("plimsoll clean"), "leftovers are named:\n{}", ran.out);
    program.run(&["clean", &url]).expect(0);
    assert_eq!(listing(&folder), vec![]);
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    interrupted::assert_keeps_trials(Plimsoll::new, directory, there.path());
}

/// The message did not say what to do next.
#[test]
fn ctrl_c_while_files_are_created_says_what_to_do() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let program = Plimsoll::new();
    let child = program.start(&["check", directory, "--size=512MiB", "--quiet"]);
    wait_until("files are created", || !run_directories(there.path()).is_empty());
    signal(&child, "-INT");
    let ran = ended(child).expect(130);
    assert!(joined(&ran.err).contains("next: Run the command again"), "{}", ran.err);
    assert_eq!(listing(there.path()), vec![], "nothing is left");
}

/// As `timeout` sends its signal, to a process and to its group.
#[test]
fn two_signals_at_once_are_one() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let program = Plimsoll::new();
    let words = ["check", directory, "--size=8MiB", "--repeats=1000", "--time=300ms"];
    let child = program.start(&[&words[..], &["--baseline=0s", "--quiet"]].concat());
    wait_until("a trial is kept", || trials(&program) >= 1);
    let twice = format!("kill -INT {0}; kill -TERM {0}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &twice]).status().unwrap().success());
    let ran = ended(child).expect(130);
    assert!(ran.out.contains("interrupted"), "{}", ran.out);
    assert_eq!(listing(there.path()), vec![], "nothing is left");
}

#[test]
fn two_runs_at_once_and_clean_beside_them() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let first = Plimsoll::new();
    let child = first.start(&[
        "check",
        directory,
        "--size=8MiB",
        "--repeats=1000",
        "--time=200ms",
        "--baseline=0s",
        "--quiet",
    ]);
    wait_until("the first run measures", || trials(&first) >= 1);
    let second = Plimsoll::new();
    let ran = check(&second, directory, &["--pattern=random-read"]).expect(0);
    assert!(joined(&ran.out).contains("another plimsoll run uses this share"), "{}", ran.out);
    let others = |f: &Flag| matches!(f, Flag::OtherRun { .. });
    assert!(second.latest().flags.iter().any(others));
    let cleaned = second.run(&["clean", directory]).expect(0);
    assert!(cleaned.out.contains("its run is still alive"), "{}", cleaned.out);
    assert_eq!(run_directories(there.path()).len(), 1);
    let before = trials(&first);
    wait_until("the first run goes on", || trials(&first) > before);
    signal(&child, "-INT");
    ended(child).expect(130);
    assert_eq!(listing(there.path()), vec![]);
}

#[test]
fn clean_removes_what_is_ours_and_nothing_else() {
    let there = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let at = |name: &str| there.path().join(name);
    std::fs::write(outside.path().join("read.data"), "precious").unwrap();
    std::fs::write(at("film"), "x").unwrap();
    std::fs::create_dir(at(".plimsoll-notours")).unwrap();
    let whole = leftover(there.path(), 1);
    std::fs::write(leftover(there.path(), 2).join("thesis.odt"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path(), at(".plimsoll-0123abcd-00000003")).unwrap();
    let linked = leftover(there.path(), 4).join("read.data");
    std::fs::remove_file(&linked).unwrap();
    std::os::unix::fs::symlink(outside.path().join("read.data"), &linked).unwrap();
    // Files, but nothing that says whose.
    std::fs::remove_file(leftover(there.path(), 5).join("lease.json")).unwrap();
    let program = Plimsoll::new();
    let ran = program.run(&["clean", there.path().to_str().unwrap()]).expect(1);
    assert!(ran.out.contains("removed .plimsoll-0123abcd-00000001"), "{}", ran.out);
    assert!(ran.out.contains("thesis.odt"), "{}", ran.out);
    assert!(ran.out.contains("no lease"), "{}", ran.out);
    assert!(!whole.exists());
    for kept in [
        "film",
        ".plimsoll-notours",
        ".plimsoll-0123abcd-00000002/thesis.odt",
        ".plimsoll-0123abcd-00000003",
        ".plimsoll-0123abcd-00000005/read.data",
    ] {
        assert!(at(kept).exists(), "{kept}");
    }
    assert!(outside.path().join("read.data").exists(), "links are not followed");
}

/// A run that was killed with the guard of its program left the program on this machine: nothing named it there.
#[test]
fn the_program_of_a_killed_run_is_removed_by_clean_and_by_the_next_run() {
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let program = Plimsoll::new();
    let home = program.home().canonicalize().unwrap();
    let program = program.with("HOME", home.to_str().unwrap());
    let place = home.join("plimsoll-0123456789abcdef");
    let leave = |owner: &str| {
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("owner"), format!("{owner}\n")).unwrap();
        std::fs::write(place.join("plimsoll-runner"), "").unwrap();
    };
    let removed = format!("removed {} from local: a program of a killed run", place.display());
    leave(&plimsoll_process::space());
    let cleaned = program.run(&["clean", directory]).expect(0);
    assert!(cleaned.err.contains(&removed) && !place.exists(), "{cleaned:?}");
    leave(&plimsoll_process::space());
    let checked = check(&program, directory, &["--pattern=random-read"]).expect(0);
    assert!(checked.err.contains(&removed) && !place.exists(), "{checked:?}");
    // Its processes may run where they cannot be seen.
    leave("another-boot pid:[4026531836]");
    let cleaned = program.run(&["clean", directory]).expect(0);
    let command = format!("rm -rf '{}'", place.display());
    assert!(cleaned.err.contains(&command) && place.exists(), "{cleaned:?}");
    let listed = |ran: &support::Ran| ran.out.contains("nothing to remove");
    assert!(listed(&cleaned), "{cleaned:?}");
}
