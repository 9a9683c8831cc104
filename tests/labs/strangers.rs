//! What a lab file and another user may not do.

use super::super::support::{self, beds::Beds};
use super::super::{PAIR, namespaces};
use plimsoll_testkit::Need;
use std::fs;
use std::process::{Command, Stdio};

/// What Samba runs in a namespace runs as root of this machine.
#[test]
fn a_lab_file_of_a_stranger_runs_nothing_here() {
    if !namespaces()
        || !plimsoll_testkit::available(Need::Samba)
        || !plimsoll_testkit::available(Need::Smbclient)
    {
        return;
    }
    let beds = Beds::new();
    let trace = beds.program.home().join("trace");
    let line = format!("root preexec = touch {}", trace.display());
    let text = format!(
        "[host.a]\nkind = \"netns\"\n[host.a.disk.data]\nsize = \"16MiB\"\nat = \"/srv/data\"\n\
         [[host.a.samba.share]]\nname = \"data\"\npath = \"/srv/data\"\n\
         lines = [\"strict sync = no\", \"{line}\"]\n"
    );
    let file = beds.file("gift", &text);
    let ran = beds.lab(&["up", &file]).expect(2);
    assert!(ran.err.contains(&format!("gift.toml:9: `{line}`")), "{}", ran.err);
    assert!(ran.err.contains("--trust") && !ran.err.contains("strict sync"), "{}", ran.err);
    assert!(!beds.directory("gift").exists());

    // Agreed to, it does what it says: so it is this that is refused.
    let connect = "smbclient -U plimsoll%plimsoll //127.0.0.1/data -c ls";
    beds.lab(&["up", &file, "--trust"]).expect(0);
    assert!(!trace.exists());
    beds.on("gift/a", connect);
    assert!(trace.exists());
    beds.lab(&["down", "gift"]).expect(0);
    fs::remove_file(&trace).unwrap();

    // At a terminal it is asked about, and nothing else than yes is taken for it.
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let labs = beds.directory("");
    for (answer, code) in [("n", "2"), ("", "2"), ("y", "0")] {
        let script = format!(
            "echo {answer} | PLIMSOLL_LABS={} script -qec '{program} lab up {file}' /dev/null; echo end $?",
            labs.display()
        );
        let said =
            Command::new("bash").args(["-c", &format!("set -o pipefail; {script}")]).output();
        let said = String::from_utf8_lossy(&said.unwrap().stdout).into_owned();
        assert!(said.contains("[y/N]") && said.contains(&line), "{said}");
        assert!(said.trim_end().ends_with(&format!("end {code}")), "{answer}: {said}");
    }
    beds.lab(&["down", "gift"]).expect(0);
}

/// Passwords and disks are in it.
#[test]
fn what_a_lab_writes_down_is_nobody_elses() {
    if !namespaces() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let beds = Beds::new();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    // Left by somebody with other habits.
    fs::create_dir_all(beds.directory("pair")).unwrap();
    fs::set_permissions(beds.directory("pair"), fs::Permissions::from_mode(0o755)).unwrap();
    beds.lab(&["up", &beds.file("pair", PAIR)]).expect(0);
    assert_eq!(mode(&beds.directory("pair")), 0o700);
    for entry in fs::read_dir(beds.directory("pair")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    beds.lab(&["down", "pair"]).expect(0);

    // Not in a directory of another user's, or where a link leads.
    fs::create_dir(beds.directory("pair")).unwrap();
    std::os::unix::fs::chown(beds.directory("pair"), Some(65534), None).unwrap();
    let file = beds.file("pair", PAIR);
    let ran = beds.lab(&["up", &file]).expect(5);
    assert!(ran.err.contains("another user"), "{}", ran.err);
    fs::remove_dir(beds.directory("pair")).unwrap();
    std::os::unix::fs::symlink(beds.program.home(), beds.directory("pair")).unwrap();
    assert!(beds.lab(&["up", &file]).expect(5).err.contains("is not a directory"));
    fs::remove_file(beds.directory("pair")).unwrap();

    // The usual place too, in a /run of its own: made, corrected, and refused.
    let in_own_run = |before: &str| {
        let program = env!("CARGO_BIN_EXE_plimsoll");
        let script = format!(
            "mount -t tmpfs run /run && {before} && {program} lab up {file} --quiet >/dev/null && \
             stat -c %a /run/plimsoll /run/plimsoll/lab /run/plimsoll/lab/pair && {program} lab down pair"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "/bin/sh", "-c", &script]).env_remove("PLIMSOLL_LABS");
        support::Ran::from(unshare.output().unwrap())
    };
    assert_eq!(in_own_run("true").expect(0).out, "700\n700\n700\n");
    assert_eq!(in_own_run("mkdir -p -m 777 /run/plimsoll/lab").expect(0).out, "700\n700\n700\n");
    for bad in ["install -d -o 65534 /run/plimsoll", "mkdir /run/x; ln -s x /run/plimsoll"] {
        assert!(in_own_run(bad).expect(5).err.contains("create a private directory"), "{bad}");
    }
}

#[test]
fn whoever_is_not_root_has_one_message() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", PAIR);
    beds.lab(&["up", &file]).expect(0);
    // The program and what it needs, where anybody may read it.
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode;
    fs::set_permissions(place.path(), open(0o755)).unwrap();
    let program = place.path().join("plimsoll");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).unwrap();
    // Anybody may write the store, too.
    let stores = place.path().join("stores");
    fs::create_dir(&stores).unwrap();
    fs::set_permissions(&stores, open(0o777)).unwrap();
    let db = format!("--db={}", stores.join("none.db").display());
    let mut said = std::collections::BTreeSet::new();
    for words in [
        &["lab", "up", "router"][..],
        &["lab", "down", "pair"],
        &["lab", "status"],
        &["lab", "status", "pair"],
        &["lab", "exec", "pair/a", "--", "true"],
        &["lab", "shell", "pair/a"],
        &["lab", "set", "pair", "lan", "rate=1Mbit/s"],
        &["lab", "reset", "pair/a"],
        &["check", "--on", "lab://pair/a", "nfs://b/srv", "-q", &db],
        &["check", "/dev/shm", "--host=lab://pair/a", "-q", &db],
        &["device", "lab://pair/a", "-q", &db],
    ] {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(words);
        command.env("PLIMSOLL_LABS", beds.directory("")).env("HOME", place.path());
        let ran: support::Ran = command.stdin(Stdio::null()).output().unwrap().into();
        let ran = ran.expect(5);
        assert!(ran.err.contains("does not run as root"), "{words:?}: {}", ran.err);
        said.insert(ran.err);
    }
    assert_eq!(said.len(), 1, "{said:?}");
    beds.lab(&["down", "pair"]).expect(0);
}
