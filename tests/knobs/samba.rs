//! Options of Samba: in effect for new sessions, and its file back to the byte.

use super::super::support::own_place::OwnPlace;
use super::super::support::setter::{Setter, session};
use super::super::support::{Plimsoll, wait_until};
use super::super::{is_empty, printed};
use plimsoll_load::{
    Content, LaidOut, OpenOptions, OperationContext, Passwords, SystemClock, lay_out, verify,
};
use plimsoll_model::Cause;
use plimsoll_settings::Journal;
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What comes of a new session with these options of a URL: how it is protected, or why there is none.
fn session_of(server: &Samba, options: &str) -> String {
    let target = format!("{}?{options}", server.url("films")).parse().unwrap();
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let opened = plimsoll_load::open(&target, &OpenOptions { passwords, ..OpenOptions::default() });
    match opened {
        Ok(share) => share.facts().protocol.to_string(),
        Err(failure) => failure.happened,
    }
}

#[test]
fn samba_has_its_options_in_effect_for_new_sessions_and_its_file_back_to_the_byte() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    // The share's own word stands before what is set, and its last line goes on.
    let share = SambaShare::new("films").line("oplocks = no \\");
    let server = Samba::start(&stage, SambaConfig::one(share)).unwrap();
    let file = server.configuration();
    let found = fs::read_to_string(&file).unwrap();
    let signs = || session_of(&server, "sign=off").contains("requires signing");
    let encrypts = || session_of(&server, "sign=off").contains("3.1.1, encrypted");
    assert_eq!(session_of(&server, "sign=off"), "SMB 3.1.1, not signed");
    let sets = [
        "local/samba:server signing=mandatory,as-found",
        "local/samba:smb encrypt@films=off,required",
        "local/samba:use sendfile@films=yes,no",
        "local/samba:aio read size=16KiB",
        "local/samba:oplocks@films=yes,no",
    ];
    let mut session = session(Journal::at(home.path()), &sets).unwrap();
    let levels: Vec<_> = (0..5).map(|n| session.found(n).unwrap().to_lowercase()).collect();
    assert_eq!(levels, ["if_required", "if_required", "no", "1", "no"]);
    session.set(0, 0).unwrap();
    assert!(signs());
    session.set(0, 1).unwrap();
    assert!(!signs());
    for (level, encrypted) in [(1, true), (0, false), (1, true)] {
        session.set(1, level).unwrap();
        assert_eq!(encrypts(), encrypted);
    }
    for factor in 2..5 {
        session.set(factor, 0).unwrap();
    }
    session.verify_all().unwrap();
    let shown = |share: &str, option: &str| {
        let (section, name) =
            (format!("--section-name={share}"), format!("--parameter-name={option}"));
        let words = ["-s", &section, &name, file.to_str().unwrap()];
        printed(Command::new("testparm").args(words)).trim().to_owned()
    };
    assert_eq!(shown("films", "oplocks"), "Yes");
    assert_eq!(shown("films", "use sendfile"), "Yes");
    assert_eq!(shown("films", "aio read size"), "16384");
    // Somebody edits the file meanwhile, and somebody else's word wins.
    fs::write(&file, fs::read_to_string(&file).unwrap() + "[films]\nuse sendfile = no\n").unwrap();
    let failure = session.verify_all().unwrap_err();
    assert!(failure.tried.contains("use sendfile"), "{failure}");
    session.restore_all().unwrap();
    let expected = format!("{found}\n[films]\nuse sendfile = no\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(session_of(&server, "sign=off"), "SMB 3.1.1, not signed");
    assert!(is_empty(home.path()));
    // Who takes no such share, and no such level.
    for (set, cause) in [
        ("local/samba:oplocks@music=yes", Cause::NotPermitted),
        ("local/samba:oplocks@films=maybe", Cause::Usage),
        ("local/samba:root preexec=id", Cause::Usage),
        ("local/samba:server signing@films=auto", Cause::Usage),
    ] {
        let failure = self::session(Journal::at(home.path()), &[set]).err().expect(set);
        assert_eq!(failure.cause, cause, "{failure}");
    }
}

/// What a session may ask for at once is what its own negotiation came to, not that of an earlier one.
#[test]
fn requests_are_as_large_as_samba_takes_by_then() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let target = server.url("films").parse().unwrap();
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { passwords, ..OpenOptions::default() };
    let share = plimsoll_load::open(&target, &options).unwrap();
    assert_eq!(share.facts().write_size_bytes, 1 << 20);
    let sets = ["local/samba:smb2 max write=64KiB", "local/samba:smb2 max read=64KiB"];
    let mut session = session(Journal::at(home.path()), &sets).unwrap();
    [0, 1].into_iter().for_each(|factor| session.set(factor, 0).unwrap());
    let context = OperationContext {
        content: Arc::new(Content::new(7)),
        paths: Arc::default(),
        deadline: SystemClock::no_deadline(),
        operation_timeout: Duration::from_secs(20),
        stalls: Default::default(),
    };
    let file = share.namespace().unwrap().create("f").unwrap();
    let file = LaidOut { file, generation: 1 };
    lay_out(&*share, &context, file, 4 << 20, &mut |_| {}).unwrap();
    let read = verify(&*share, &context, file, 4 << 20, None, &mut |_| {}).unwrap();
    assert_eq!((read.bytes, read.stale, read.misplaced, read.corrupt), (4 << 20, 0, 0, 0));
}

#[test]
fn a_study_compares_options_of_samba_and_a_killed_one_is_undone() {
    let stage = enter_or_skip!(Need::Samba);
    let _place = OwnPlace::new(&stage);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("films"))).unwrap();
    let found = fs::read_to_string(server.configuration()).unwrap();
    let now = || fs::read_to_string(server.configuration()).unwrap();
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let url = server.url("films");
    let set = "local/samba:server signing=mandatory,auto";
    let words = "--job=scan --directories=2 --files=3 --workers=1 --time=500ms --baseline=0s \
                 --quiet --repeats=3";
    let study = ["check", &url, "--set", set].into_iter().chain(words.split_whitespace());
    let shown = program.run(&study.collect::<Vec<_>>()).expect(0).out;
    assert!(shown.contains("mandatory"), "{shown}");
    assert_eq!((now(), program.latest().trials.len()), (found.clone(), 6));
    for moment in 0..3_u64 {
        let sets = [set, "local/samba:strict sync@films=no,as-found,yes"];
        let mut setter = Setter::start(&program, "sets_until_it_is_killed", None, &sets);
        setter.wait_for("set");
        std::thread::sleep(Duration::from_millis(61 * moment));
        setter.kill();
        assert_ne!(now(), found, "one of them is always changed");
        if moment == 1 {
            fs::remove_dir_all(program.home().join("plimsoll/settings")).unwrap();
        }
        program.run(&["restore", "local"]).expect(0);
        assert_eq!(now(), found);
        assert_eq!(
            program.run(&["restore", "local"]).expect(0).out,
            "nothing to restore on local\n"
        );
    }
}

/// Programs that only root has reason to run, each of which says that it ran.
const OF_ROOT: [&str; 3] = ["testparm", "smbcontrol", "smbd"];

/// testparm and smbcontrol ran as root on the smb.conf of whoever had a process named smbd.
#[test]
fn a_server_of_another_user_is_named_and_nothing_is_run_on_it() {
    const OTHER: u32 = 65_534;
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let place = Path::new("/run/other");
    let (programs, ran) = (place.join("bin"), place.join("ran"));
    fs::create_dir_all(&programs).unwrap();
    let script = |path: &Path, text: &str| {
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // The name of a script is that of the process which runs it.
    let (server, file) = (place.join("smbd"), place.join("smb.conf"));
    script(&server, "read -r end");
    for name in OF_ROOT {
        script(&programs.join(name), &format!("echo {name} >>{}", ran.display()));
    }
    let found = "[films]\npath = /run/films\n";
    fs::write(&file, found).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let program = Plimsoll::new().with("PATH", &format!("{}:{path}", programs.display()));
    let share = tempfile::tempdir().unwrap();
    let words = "--set=samba:strict sync=yes,no|--job=scan|--directories=2|--files=3|--workers=1|--time=100ms|\
                 --baseline=0s|--repeats=1|--quiet";
    let study: Vec<&str> =
        ["check", share.path().to_str().unwrap()].into_iter().chain(words.split('|')).collect();
    for (user, is_used) in [(OTHER, false), (0, true)] {
        let mut words = Command::new("setpriv");
        words.args([format!("--reuid={user}"), format!("--regid={user}")]).arg("--clear-groups");
        words.arg(&server).arg("--configfile").arg(&file).stdin(Stdio::piped());
        let mut child = words.spawn().unwrap();
        let comm = format!("/proc/{}/comm", child.id());
        wait_until("it has the name", || fs::read_to_string(&comm).is_ok_and(|s| s == "smbd\n"));
        let refused = program.run(&study);
        assert!(refused.code == Some(5) || is_used && refused.code != Some(0), "{refused:?}");
        let refused = refused.err;
        let named = format!("process {} is named smbd and belongs to user {user}", child.id());
        assert_eq!(refused.contains(&named), !is_used, "{refused}");
        assert_eq!(ran.exists(), is_used, "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), found);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    assert_eq!(program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}
