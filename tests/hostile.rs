//! What comes from servers, names, files and the environment harms nobody: it does not steer the
//! terminal, is not waited for, and goes to nobody who should not have it.

mod support;

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{Plimsoll, Ran, leftover, listing};

/// Moves the cursor, changes colours, reorders and hides letters, and begins lines of its own.
const NAME: &str = "/\u{1b}[2J\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{2028}x\r\n next: rm";

#[track_caller]
fn assert_harmless(text: &str) {
    assert_eq!(plimsoll_model::printable_lines(text), text);
    assert!(!text.contains("\n next: rm"), "{text}");
}

/// Answers calls of ONC RPC (RFC 5531): MNT with no such directory, EXPORT with these names.
fn serve_exports(mut call: TcpStream, names: &[&[u8]]) -> Option<()> {
    loop {
        let mut mark = [0; 4];
        call.read_exact(&mut mark).ok()?;
        let mut record = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        call.read_exact(&mut record).ok()?;
        let word = |at: usize| u32::from_be_bytes(record[at..at + 4].try_into().unwrap());
        let mut words = vec![word(0), 1, 0, 0, 0, 0];
        let mut tail = Vec::new();
        match word(20) {
            0 => {}
            1 => words.push(2), // MNT3ERR_NOENT (RFC 1813, section 5.1.1)
            5 => {
                for name in names {
                    tail.extend([1u32, name.len() as u32].map(u32::to_be_bytes).concat());
                    tail.extend(*name);
                    tail.resize(tail.len().next_multiple_of(4), 0);
                    tail.extend(0u32.to_be_bytes());
                }
                tail.extend(0u32.to_be_bytes());
            }
            other => panic!("procedure {other}"),
        }
        let body = [words.into_iter().flat_map(u32::to_be_bytes).collect(), tail].concat();
        let mark = (0x8000_0000 | body.len() as u32).to_be_bytes();
        call.write_all(&[&mark[..], &body].concat()).ok()?;
    }
}

#[test]
fn export_names_of_a_hostile_server_do_not_steer_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for call in listener.incoming().flatten() {
            let names = [NAME.as_bytes(), b"/\x9b2J\xff\x1b]0;owned\x07"];
            std::thread::spawn(move || serve_exports(call, &names));
        }
    });
    let program = Plimsoll::new();
    let target = format!("nfs://127.0.0.1:{port}/films?mountport={port}");
    for words in [["check", "--quiet", &target], ["clean", &target, &target]] {
        let ran = program.run(&words).expect(5);
        assert!(
            ran.err.contains("one of the server's exports") && ran.err.contains("rm"),
            "{ran:?}"
        );
        assert_harmless(&ran.err);
        assert_eq!(ran.err.lines().count(), 4, "what, on, why, next: {}", ran.err);
    }
}

#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let there = tempfile::tempdir().unwrap();
    let run = leftover(there.path(), 2);
    let name = NAME.replace('/', "");
    std::fs::write(run.join(&name), "x").unwrap();
    std::fs::write(run.join(OsStr::from_bytes(b"\x9b2J\xff")), "x").unwrap();
    let program = Plimsoll::new();
    let ran = program.run(&["clean", there.path().to_str().unwrap()]).expect(1);
    assert!(ran.out.contains("could not remove") && ran.out.contains("next: rm"), "{ran:?}");
    assert_harmless(&(ran.out + &ran.err));

    let odd = there.path().join(&name);
    std::fs::create_dir(&odd).unwrap();
    let odd = odd.to_str().unwrap();
    for words in [&["clean", odd][..], &["import", odd], &["lab", "up", odd], &["show", odd]] {
        let ran = program.run(words);
        assert_harmless(&(ran.out + &ran.err));
    }
    // What the command line refuses, it repeats.
    let size = format!("--size={name}");
    for words in [&["check", "x", &size][..], &["check", "x", &format!("--{name}")], &[&name]] {
        let ran = program.run(words).expect(2);
        assert!(ran.err.contains("next: rm"), "{ran:?}");
        assert_eq!(plimsoll_model::printable_lines(&ran.err), ran.err);
    }
}

/// Programs that tell their environment to a file, under every name that is looked for in `PATH`.
fn telling(directory: &Path, names: &[&str]) -> std::path::PathBuf {
    let seen = directory.join("seen");
    for name in names {
        let path = directory.join(name);
        let script =
            format!("#!/bin/sh\necho program={name} >>{0}\nenv >>{0}\nexit 255\n", seen.display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    seen
}

#[test]
fn no_child_gets_the_password() {
    let bin = tempfile::tempdir().unwrap();
    let there = tempfile::tempdir().unwrap();
    let names = ["ssh", "zcat", "unshare"];
    let seen = telling(bin.path(), &names);
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let program = Plimsoll::new()
        .with("PATH", &path)
        .with("PLIMSOLL_PASSWORD", "hunter2")
        .with("SEEN", "yes");
    program.run(&["device", "ssh://nowhere.invalid"]).expect(3);
    let there = there.path().to_str().unwrap();
    let short = ["--size=1MiB", "--repeats=1", "--time=100ms", "--baseline=0s", "--quiet"];
    program.run(&[&["check", there, "--pattern=random-read"], &short[..]].concat()).expect(0);
    program.run(&["lab", "doctor"]).expect(0);
    let seen = std::fs::read_to_string(seen).unwrap();
    for name in names {
        assert!(seen.contains(&format!("program={name}\n")), "{name} was not started: {seen}");
    }
    assert!(seen.contains("SEEN=yes"), "{seen}");
    assert!(!seen.contains("hunter2") && !seen.contains("PLIMSOLL_PASSWORD"), "{seen}");
}

/// Whoever adds a child takes it from where the password is kept from it.
#[test]
fn children_are_started_in_one_way() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for (path, _) in listing(&crates) {
        let inside = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
        let is_source = inside.contains("/src/") && inside.ends_with(".rs");
        if !is_source || inside.ends_with("tests.rs") || inside.contains("/tests/") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // Those of clap start nothing.
        let code = text.split("#[cfg(test)]").next().unwrap().replace("clap::Command::new(", "");
        seen += usize::from(code.contains("child::command("));
        assert!(!code.contains("Command::new(") || inside == "process/src/child.rs", "{inside}");
    }
    assert!(seen > 10, "only {seen} files start a child");
}

/// Runs it to its end, which comes soon or never.
#[track_caller]
fn run_soon(program: &Plimsoll, words: &[&str]) -> Ran {
    let mut child = program.command(words);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{words:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_fifo_in_place_of_a_file_is_refused_and_not_waited_for() {
    let program = Plimsoll::new();
    let fifo = program.home().join("fifo.toml");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let fifo = fifo.to_str().unwrap();
    // A server that lets nobody in without a password, and none is needed to come so far.
    for (words, code) in
        [(&["import", fifo][..], 2), (&["lab", "up", fifo], 2), (&["list", "--db", fifo], 5)]
    {
        let ran = run_soon(&program, words).expect(code);
        assert!(ran.err.contains("it is not a regular file") && ran.err.contains(fifo), "{ran:?}");
    }
    let endless = run_soon(&program, &["import", "/dev/zero"]).expect(2);
    assert!(endless.err.contains("it is not a regular file"), "{endless:?}");
}

#[test]
fn a_store_that_is_damaged_is_found_before_anything_is_measured() {
    let program = Plimsoll::new();
    let there = tempfile::tempdir().unwrap();
    let directory = there.path().to_str().unwrap();
    let short = ["--size=1MiB", "--repeats=1", "--time=100ms", "--baseline=0s"];
    let check =
        || program.run(&[&["check", directory, "--pattern=random-read"], &short[..]].concat());
    check().expect(0);
    let mode = program.db().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    let mut bytes = std::fs::read(program.db()).unwrap();
    let end = bytes.len();
    bytes[4096..8192].fill(0x5a);
    std::fs::write(program.db(), &bytes[..end]).unwrap();
    let before = there.path().metadata().unwrap().modified().unwrap();
    for ran in [check(), program.run(&["list"]), program.run(&["device", "local", "--only=cpu"])] {
        let ran = ran.expect(1);
        assert!(
            ran.err.contains("the store is damaged") && ran.err.contains(".recover"),
            "{ran:?}"
        );
        assert!(ran.out.is_empty(), "{ran:?}");
    }
    let after = there.path().metadata().unwrap().modified().unwrap();
    assert_eq!(before, after, "nothing was made on the target");
    assert_eq!(std::fs::read(program.db()).unwrap(), bytes, "it was left as it is");
}

/// On a small file system of its own: no room for results, and later no leave to write.
#[test]
fn a_store_that_cannot_be_written_is_seen_before_anything_is_measured() {
    let program = Plimsoll::new();
    let there = tempfile::tempdir().unwrap();
    let study = program.home().join("study.json");
    let golden = include_str!("../crates/record/tests/golden/plimsoll-1.json");
    std::fs::write(&study, golden).unwrap();
    program.run(&["import", study.to_str().unwrap()]).expect(0);
    let length = program.db().metadata().unwrap().len();
    let disk = program.home().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = "set -e; mount -t tmpfs -o size=256k none $DISK; cp $PLIMSOLL_DB $DISK/s.db; \
        export PLIMSOLL_DB=$DISK/s.db; set +e; \"$0\" \"$@\"; echo rc=$?; ls $DISK; \
        stat -c length=%s $DISK/s.db; mount -o remount,bind,ro $DISK; \"$0\" \"$@\"; echo rc=$?; \"$0\" list";
    let mut namespace = std::process::Command::new("unshare");
    let flag = if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" };
    namespace.args([flag, "/bin/sh", "-c", script]).env("DISK", &disk);
    let words = ["check", there.path().to_str().unwrap(), "--pattern=random-read", "--quiet"];
    let output = program.command_under(namespace, &words).output().unwrap();
    let ran = Ran::from(output).expect(0);
    let said: Vec<&str> = ran.out.lines().take(4).collect();
    assert_eq!(said, ["rc=6", "s.db", &format!("length={length}"), "rc=5"], "{ran:?}");
    assert!(ran.out.contains("0123abcd"), "what is there can be read: {ran:?}");
    assert!(ran.err.contains("full") && ran.err.contains("readonly"), "{ran:?}");
    assert_eq!(listing(there.path()), vec![], "nothing was begun");
}

#[test]
fn looking_makes_no_store_and_a_store_that_is_set_need_not_be_named() {
    let program = Plimsoll::new();
    assert!(program.run(&["list"]).expect(0).out.contains("No studies yet"));
    assert!(program.run(&["show", "--details"]).expect(2).err.contains("the store is empty"));
    for words in [&["compare", "a", "b"][..], &["export"], &["report", "-o-"]] {
        program.run(words).expect(2);
    }
    assert!(!program.db().exists());
    // PLIMSOLL_DB is set for this program; usage lines once had it as if it had to be given.
    for words in [&["check"][..], &["compare"], &["check", "--help"], &["import"]] {
        let ran = program.run(words);
        let all = ran.out + &ran.err;
        let usage = all.lines().find(|line| line.starts_with("Usage:")).unwrap();
        assert!(!usage.contains("--db"), "{words:?}: {usage}");
    }
    let named = program.home().join("other.db");
    let named = named.to_str().unwrap();
    let study = include_str!("../docs/examples/before.json");
    let file = program.home().join("study.json");
    std::fs::write(&file, study).unwrap();
    program.run(&["import", "--db", named, file.to_str().unwrap()]).expect(0);
    assert!(Path::new(named).exists() && !program.db().exists(), "--db goes before PLIMSOLL_DB");
}
