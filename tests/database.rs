//! `plimsoll check --job database` end to end: commits under locks on real servers and a directory, and whether the
//! target is safe for a database.

mod support;

use plimsoll_model::{DatabaseJob, Flag, Metric, OpKind, Study};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, enter_or_skip};
use support::sound::assert_complete;
use support::{Plimsoll, listing};

const SHORT: [&str; 6] =
    ["--job=database", "--time=500ms", "--repeats=2", "--workers=2", "--baseline=0s", "--quiet"];

fn committed(program: &Plimsoll, target: &str, more: &[&str]) -> (Study, String) {
    let words = [&["check", target][..], &SHORT, more].concat();
    let shown = program.run(&words).expect(0).out;
    let study = program.latest();
    assert_complete(&study);
    for trial in &study.trials {
        let value = |measure| trial.result.value(0, Metric::all(measure)).unwrap();
        assert!(value(DatabaseJob::COMMITS) > 0.0);
        assert!(value(DatabaseJob::LONGEST_COMMIT) > 0.0);
    }
    // What is kept says the same again.
    assert_eq!(program.run(&["show"]).expect(0).out, shown);
    (study, shown)
}

fn locks(study: &Study) -> u64 {
    let ops = study.trials.iter().filter_map(|trial| trial.result.parts[0].ops.get(&OpKind::LOCK));
    ops.map(|lock| lock.count).sum()
}

/// A paragraph on one line.
fn on_one_line(shown: &str) -> String {
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commits_on_servers_are_safe_where_locks_keep_others_out() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Samba);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let folder = nfs.directory("data").unwrap().to_owned();
    let share = SambaShare::existing("data", &folder);
    let smb = Samba::start(&stage, SambaConfig::one(share)).unwrap();
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let of_nfs = |options: &str| format!("{}{options}", nfs.url_with_ports("data"));
    let of_smb = |options: &str| format!("{}{options}", smb.url("data"));
    let safe = "Safe for a database: locks keep a second program out. Write-ahead logging (WAL) shares memory \
                (mmap): it needs a mount";
    let without = "Measured without locks, which NFSv3 does not have.";
    // A server of SMB refuses to turn a shared lock into an exclusive one.
    let on_linux = "SQLite on Linux fails on a mount of it with \"database is locked\"";
    for (target, expected) in [
        (of_nfs("&vers=3"), without),
        (of_nfs("&vers=4.0"), safe),
        (of_nfs("&vers=4.1"), safe),
        (of_nfs("&vers=4.2"), safe),
        (of_smb("?vers=2.1"), on_linux),
        (of_smb("?vers=3.1.1"), on_linux),
    ] {
        let (study, shown) = committed(&program, &target, &[]);
        assert_eq!(locks(&study) > 0, expected != without, "{target}: {shown}");
        assert!(!study.flags.iter().any(|f| matches!(f, Flag::SecondWriter { .. })), "{target}");
        let said = on_one_line(&shown);
        assert!(said.contains(expected), "{target}: {shown}");
        assert!(shown.lines().count() <= 24, "{shown}");
        assert_eq!(listing(&folder), vec![], "{target}");
    }
}

#[test]
fn a_directory_and_other_jobs_at_once() {
    let (program, target) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let path = target.path().to_str().unwrap();
    let (study, shown) = committed(&program, path, &["--page=8KiB"]);
    assert!(locks(&study) > 0);
    assert!(on_one_line(&shown).contains("locks keep a second program out"), "{shown}");
    let not_shared = |flag: &&Flag| matches!(flag, Flag::MemoryNotShared { .. });
    assert_eq!(study.flags.iter().find(not_shared), None, "two processes share memory by a file");
    assert!(shown.contains("pages of 8 KiB") || shown.contains("database"), "{shown}");
    let refused = program.run(&["check", path, "--job=database", "--page=5000"]).expect(2);
    assert!(refused.err.contains("a power of two"), "{}", refused.err);
    let words = ["check", path, "--job=log,database", "--time=300ms", "--repeats=2"];
    let shown = program.run(&[&words[..], &["--baseline=0s", "--quiet"]].concat()).expect(0).out;
    assert!(shown.contains("log") && shown.contains("database"), "{shown}");
    assert_eq!(listing(target.path()), vec![]);
}
