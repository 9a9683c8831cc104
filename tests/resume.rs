//! `plimsoll check --continue` on real servers: after Ctrl-C, after a kill, after the server died; and
//! what it refuses, with the study as it was.

mod support;

use plimsoll_model::{Ended, Flag, Outcome, Study};
use plimsoll_testkit::servers::samba::{PASSWORD, USER};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;
use support::rows::{failed, trials};
use support::{Plimsoll, ended, run_directories, signal, wait_until};

/// Measures for two minutes at least, so that nobody's patience suffices for its end.
const LONG: [&str; 7] = [
    "--size=1MiB",
    "--time=500ms",
    "--workers=1",
    "--baseline=0s",
    "--timeout=2s",
    "--pattern=random-read,random-write",
    "--quiet",
];

fn start(program: &Plimsoll, targets: &[&str]) -> std::process::Child {
    program.start(&["check"].iter().chain(targets).chain(&LONG).copied().collect::<Vec<_>>())
}

/// Goes on with a study until some more is kept.
fn go_on(program: &Plimsoll, reference: &str, more: &[&str]) -> Study {
    let before = program.exported(reference).unwrap().trials.len();
    let go = ["check", "--continue", reference, "--quiet"];
    let child = program.start(&[&go[..], more].concat());
    let kept = || program.exported(reference).unwrap().trials.len();
    wait_until("more trials are kept", || kept() >= before + 5);
    signal(&child, "-INT");
    ended(child).expect(130);
    let after = program.exported(reference).unwrap();
    assert_eq!(after.ended, Ended::Interrupted);
    after
}

/// What was measured before is there as it was, the rest goes on from it, and the record says so.
#[track_caller]
fn assert_continued(before: &Study, after: &Study) {
    assert_eq!((&after.id, after.started_unix_seconds), (&before.id, before.started_unix_seconds));
    assert_eq!(after.trials[..before.trials.len()], before.trials[..]);
    let new = &after.trials[before.trials.len()..];
    assert!(!new.is_empty(), "nothing was measured");
    assert!(after.trials.iter().zip(0..).all(|(trial, number)| trial.number == number));
    let last = before.trials.last().unwrap();
    let first_block = last.block.unwrap() + 1;
    assert!(new.iter().all(|trial| trial.block >= Some(first_block)));
    assert_eq!(new[0].block, Some(first_block), "blocks are numbered on");
    let complete = |trial: &&plimsoll_model::Trial| trial.result.outcome == Outcome::Complete;
    assert!(new.iter().filter(complete).count() + 1 >= new.len(), "the last may be stopped");
    // The time between, and that for setting up again, is none of the study's.
    let gap = new[0].started_seconds - last.started_seconds;
    let length = |trials: &[plimsoll_model::Trial]| {
        trials.last().unwrap().started_seconds - trials[0].started_seconds
    };
    assert!(gap > 0.0 && gap <= length(&before.trials).max(0.2), "{gap} s");
    let flag = |flag: &&Flag| matches!(flag, Flag::Continued { .. });
    assert_eq!(
        after.flags.iter().filter(flag).count(),
        before.flags.iter().filter(flag).count() + 1
    );
    let Some(Flag::Continued { unix_seconds, block }) = after.flags.iter().rfind(flag) else {
        panic!("{:?}", after.flags)
    };
    assert!(*unix_seconds >= before.started_unix_seconds && *block == first_block);
    let caps = after.flags.iter().filter(|flag| matches!(flag, Flag::CapReached { .. }));
    let at_the_cap = usize::from(after.ended == Ended::CapReached);
    assert_eq!(caps.count(), at_the_cap, "that of an earlier end is gone");
    // Everything else is as it was.
    let mut plan = after.plan.clone();
    plan.design.cap_seconds = before.plan.design.cap_seconds;
    plan.storage = before.plan.storage.clone();
    assert_eq!(plan, before.plan);
}

#[test]
fn after_ctrl_c_and_after_the_cap() {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::new([Export::directory("films"), Export::directory("music")]);
    let server = Ganesha::start(&stage, config).unwrap();
    let (films, music) = (server.url("films"), server.url("music"));
    let program = Plimsoll::new();
    let child = start(&program, &[&films, &music]);
    wait_until("some blocks are kept", || trials(&program) >= 9);
    signal(&child, "-INT");
    ended(child).expect(130);
    let before = program.latest();
    assert_eq!(before.ended, Ended::Interrupted);
    program.run(&["check", "--continue", &before.id.0[..7], "--cap=20s", "--quiet"]).expect(0);
    let after = program.latest();
    assert_eq!(after.ended, Ended::CapReached);
    assert_continued(&before, &after);
    assert_continued(&after, &go_on(&program, "latest", &[]));
    let shown = program.run(&["show", "--details"]).expect(0).out;
    let block = before.trials.last().unwrap().block.unwrap() + 2;
    assert!(shown.contains(&format!("continued with block {block}")), "{shown}");
    for export in ["films", "music"] {
        assert_eq!(run_directories(server.directory(export).unwrap()).len(), 0);
    }
}

#[test]
fn after_a_kill_and_while_it_runs() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let (url, program) = (server.url("films"), Plimsoll::new());
    let mut child = start(&program, &[&url]);
    wait_until("some blocks are kept", || trials(&program) >= 5);
    let go = ["check", "--continue", "latest", "--quiet"];
    let refused = program.run(&go).expect(2);
    assert!(refused.err.contains("still running"), "{}", refused.err);
    // Another user's program does not see its feed, but its directory.
    let elsewhere = program.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let refused = program.command(&go).env("XDG_RUNTIME_DIR", &elsewhere).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("still running and uses .plimsoll-"), "{said}");
    assert!(child.try_wait().unwrap().is_none(), "it was not disturbed");

    child.kill().unwrap();
    child.wait().unwrap();
    let before = program.latest();
    assert_eq!(before.ended, Ended::Open);
    assert!(before.flags.iter().all(|flag| !matches!(flag, Flag::Continued { .. })));
    let after = go_on(&program, "latest", &[]);
    assert_continued(&before, &after);
    // What the killed one left is named, and left.
    assert!(after.flags.iter().any(|flag| matches!(flag, Flag::Leftovers { .. })));
    assert_eq!(run_directories(server.directory("films").unwrap()).len(), 1);
}

#[test]
fn after_the_server_died() {
    let stage = enter_or_skip!(Need::Ganesha);
    let mut server =
        Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let (url, program) = (server.url_with_ports("films"), Plimsoll::new());
    let child = start(&program, &[&url]);
    wait_until("some blocks are kept", || trials(&program) >= 5);
    server.kill();
    wait_until("a trial has failed", || failed(&program));
    ended(child).expect(1);
    let before = program.latest();
    assert!(matches!(before.ended, Ended::Failed { .. }), "{:?}", before.ended);
    // While it is gone the study stays as it is.
    program.run(&["check", "--continue", "latest", "--quiet"]).expect(3);
    assert_eq!(program.latest(), before);
    server.restart().unwrap();
    let after = go_on(&program, "latest", &[]);
    assert_continued(&before, &after);
}

#[test]
fn a_password_is_asked_for_again() {
    let stage = enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let program = Plimsoll::new();
    let start = ["check", &server.url("films")];
    let child = program
        .command(&start.iter().chain(&LONG).copied().collect::<Vec<_>>())
        .env("PLIMSOLL_PASSWORD", PASSWORD)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("some blocks are kept", || trials(&program) >= 3);
    signal(&child, "-INT");
    ended(child).expect(130);
    let before = program.latest();
    let go = ["check", "--continue", "latest", "--quiet"];
    let wrong = program.command(&go).env("PLIMSOLL_PASSWORD", "wrong").output().unwrap();
    assert_eq!(wrong.status.code(), Some(4));
    assert_eq!(program.latest(), before);
    let file = program.home().join("credentials");
    fs::write(&file, format!("[{USER}@127.0.0.1]\npassword = {PASSWORD}\n")).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let credentials = format!("--credentials={}", file.display());
    assert_continued(&before, &go_on(&program, "latest", &[&credentials]));
}

/// One row: a study is refused with these words, and is as it was.
#[track_caller]
fn assert_refused(program: &Plimsoll, reference: &str, more: &[&str], words: &[&str]) {
    let before = program.run(&["export", reference]).out;
    let go = ["check", "--continue", reference, "--quiet"];
    let ran = program.run(&[&go[..], more].concat()).expect(2);
    for word in words {
        assert!(ran.err.contains(word), "'{word}' is missing in:\n{}", ran.err);
    }
    assert_eq!(program.run(&["export", reference]).out, before);
}

#[test]
fn what_cannot_be_continued_is_refused_in_words() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("there");
    fs::create_dir(&target).unwrap();
    let there = target.to_str().unwrap();
    let program = Plimsoll::new();
    assert_refused(&program, "latest", &[], &["the store is empty", "next:"]);
    let file = target.join("film");
    fs::write(&file, vec![7u8; 1 << 20]).unwrap();
    let in_place =
        ["check", there, "--file=film", "--time=500ms", "--workers=1", "--baseline=0s", "--quiet"];
    program.run(&[&in_place[..], &["--repeats=2"]].concat()).expect(0);
    assert_refused(&program, "latest", &[], &["2, was fixed in advance", "--repeats"]);

    // One that can be, but for its file, which has another size now.
    let child = program.start(&in_place);
    wait_until("some blocks are kept", || {
        let study = program.latest();
        study.ended == Ended::Open && study.trials.len() >= 3
    });
    signal(&child, "-INT");
    ended(child).expect(130);
    let study = program.latest();
    fs::write(&file, vec![7u8; 2 << 20]).unwrap();
    let words = ["file: film of 1 MiB, now film of 2 MiB", "start a new one"];
    assert_refused(&program, "latest", &[], &words);
    fs::remove_file(&file).unwrap();
    let gone = ["check", "--continue", "latest", "--quiet"];
    assert_eq!(program.run(&gone).code, Some(5));
    fs::write(&file, vec![7u8; 1 << 20]).unwrap();

    // What is given beside it, and what is named.
    assert_refused(&program, "latest", &[there], &["[TARGET]", "keeps its options"]);
    assert_refused(&program, "latest", &["--workers=4"], &["--workers", "keeps its options"]);
    assert_refused(&program, "nosuch", &[], &["no study has this id", "plimsoll list"]);
    let first: String = study.id.0.chars().take(1).collect();
    let store = rusqlite::Connection::open(program.db()).unwrap();
    let twin = format!("{first}fffffff");
    let sql = "UPDATE studies SET id = ?1 WHERE id <> ?2";
    store.pragma_update(None, "foreign_keys", false).unwrap();
    store.execute(sql, [&twin, &study.id.0]).unwrap();
    store.execute("UPDATE trials SET study = ?1 WHERE study <> ?2", [&twin, &study.id.0]).unwrap();
    drop(store);
    assert_refused(&program, &first, &[], &["several studies start with it", &twin, &study.id.0]);
    assert_continued(&study, &go_on(&program, &study.id.0, &[]));
}
