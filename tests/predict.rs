//! `plimsoll predict` and `plimsoll advise`, on studies whose truth is known and on published tables.

mod support;
#[path = "../crates/explain/tests/support/mod.rs"]
mod synthetic;

use plimsoll_model::Study;
use plimsoll_record::Store;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use support::{Plimsoll, unwrapped};
use synthetic::servers::{SERVER, Truth, study};

/// A server behind a saturated link of 1 Gbit/s, exported to a file.
fn exported(program: &Plimsoll, truth: Truth, watched: bool) -> PathBuf {
    let mut study = study(truth, watched);
    study.plan.command = "plimsoll check nfs://nas/a".to_owned();
    if watched {
        study.plan.command.push_str(&format!(" --host {SERVER}"));
    }
    let path = program.home().join("nas.json");
    std::fs::write(&path, plimsoll_record::to_json(&study).expect("JSON")).expect("a file");
    path
}

fn behind_a_link() -> Truth {
    Truth {
        depth: 16,
        driver: 10e-6,
        server: 100e-6,
        one_core: true,
        link: 400e-6,
        round_trip: 50e-6,
        ..Truth::default()
    }
}

fn is_one_screen(text: &str) -> bool {
    text.lines().count() <= 23 && text.lines().all(|line| line.chars().count() <= 100)
}

#[test]
fn a_faster_link_is_predicted_with_the_next_bottleneck() {
    let program = Plimsoll::new();
    let file = exported(&program, behind_a_link(), true);
    let file = file.to_str().unwrap();
    let ran = program.run(&["predict", file, "--link", "2.5G"]).expect(0);
    assert!(is_one_screen(&ran.out), "{}", ran.out);
    let said = unwrapped(&ran.out);
    for words in [
        "A 2.5 Gbit/s link would bring at most 2.5 times as much for random read.",
        "next bottleneck",
        "This is only an upper bound. Demands are known up to 1.5 times today's rate.",
        "The day-to-day spread is unknown",
        "Assumed: a packet takes the same CPU time on the new link. A USB adapter may need more.",
    ] {
        assert!(said.contains(words), "no {words:?} in {}", ran.out);
    }
    // The same for programs.
    let json = program.run(&["predict", file, "--link", "2.5G", "--json", "-"]).expect(0).out;
    let value: Value = serde_json::from_str(&json).expect("JSON");
    let row = &value["rows"][0];
    assert_eq!(row["answer"], "at most", "{json}");
    let times = |end: &str| row[end].as_f64().unwrap() / row["today"].as_f64().unwrap();
    assert!((times("low") - 1.5).abs() < 0.02 && (times("high") - 2.5).abs() < 0.02, "{json}");
    assert_eq!(row["next_bottlenecks"][0], "link", "{json}");
    // Both as a part of the store and as a file.
    program.run(&["import", file]).expect(0);
    let stored = program.run(&["predict", "latest", "--link", "2.5G"]).expect(0).out;
    let kept = "The prediction is kept: plimsoll history compares it with the next study that shows the change. ";
    assert_eq!(unwrapped(&stored).replace(kept, ""), said);
    assert!(is_one_screen(&stored) && unwrapped(&stored).contains(kept), "{stored}");
    let details = program.run(&["predict", "latest", "--link=x2.5", "--details"]).expect(0).out;
    assert!(details.contains("Every row"), "{details}");
}

/// The same row before a link of 2.5 times the rate, and twice after it: once as the network of its demands has it, once
/// with a disk in the way that nobody monitored before.
#[test]
fn a_prediction_is_compared_with_the_rate_after_the_change() {
    let program = Plimsoll::new();
    let named = |name: &str, id: &str, truth: Truth| {
        let mut study = study(truth, true);
        study.id = plimsoll_model::StudyId(id.to_owned());
        let path = program.home().join(name);
        std::fs::write(&path, plimsoll_record::to_json(&study).expect("JSON")).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let before = named("before.json", "5eed0001", behind_a_link());
    let faster = Truth { link: 160e-6, ..behind_a_link() };
    let after = named("after.json", "5eed0002", faster);
    let slower = named("slower.json", "5eed0003", Truth { hidden: 5e-3, ..behind_a_link() });
    let said = |arguments: &[&str]| {
        let all = [&["predict", &before, "--link=2.5G"], arguments].concat();
        let ran = program.run(&all).expect(0);
        assert!(is_one_screen(&ran.out), "{}", ran.out);
        ran.out
    };
    let inside = said(&["--measured", &after]);
    let words =
        "Measured after the change, in study 5eed0002: the row is inside the predicted range.";
    assert!(unwrapped(&inside).contains(words), "{inside}");
    assert!(inside.contains("measured") && inside.contains(", inside"), "{inside}");
    let below = said(&["--measured", &slower]);
    let words =
        "in study 5eed0003: 0 of 1 rows are inside the predicted range; random read is below it.";
    assert!(unwrapped(&below).contains(words), "{below}");
    let json = program.run(&["predict", &before, "--link=2.5G", "--measured", &after, "--json=-"]);
    let value: Value = serde_json::from_str(&json.expect(0).out).expect("JSON");
    assert_eq!(
        (&value["measured_in"], &value["rows"][0]["measured_is"]),
        (&"5eed0002".into(), &"inside".into())
    );
    assert!(!said(&[]).contains("measured after"), "nothing was measured");
    // The same study is no measurement of the change, and a published table is no study.
    let refused = |arguments: &[&str], words: &str| {
        let ran = program.run(arguments);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{}", ran.err);
    };
    refused(&["predict", &before, "--link=2.5G", "--measured", &before], "the same study");
    refused(&["predict", "jonfk2024", "--link=2.5G", "--measured", &after], "not a study");
}

/// A study of the store, which began so many days from now.
fn begun(days: i64, id: &str, truth: Truth, link_bits: u64) -> Study {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let mut study = study(truth, true);
    study.id = plimsoll_model::StudyId(id.to_owned());
    study.started_unix_seconds = now.saturating_add_signed(days * 86_400);
    study.hosts[0].link_rates.insert("eth0".into(), link_bits);
    study
}

fn keep(program: &Plimsoll, studies: &[Study]) {
    Store::open(program.db()).expect("a store").import(studies).expect("new studies");
}

const GIGABIT: u64 = 1_000_000_000;

#[test]
fn a_prediction_is_kept_and_compared_with_the_next_study_that_shows_the_change() {
    let program = Plimsoll::new();
    let predict = |arguments: &[&str]| {
        let ran = program.run(&[&["predict", "5eed0001"], arguments].concat()).expect(0);
        assert!(is_one_screen(&ran.out) && ran.err.is_empty(), "{}{}", ran.out, ran.err);
        unwrapped(&ran.out)
    };
    let history = |arguments: &[&str]| {
        let words = [&["history", "nfs://nas/a"], arguments].concat();
        program.run(&words).expect(0).out
    };
    keep(&program, &[begun(-9, "5eed0001", behind_a_link(), GIGABIT)]);
    assert!(!history(&["--details"]).contains("rediction"), "nothing was predicted");
    // The same change twice is one prediction.
    predict(&["--link=2.5G"]);
    assert!(predict(&["--link=2.5G"]).contains("The prediction is kept: plimsoll history"));
    let said = history(&[]);
    assert!(said.contains("1 prediction is kept: no study after the change is known."), "{said}");
    let unrecorded = predict(&["--server-cpu=x2"]);
    assert!(unrecorded.contains("name the next study with --measured"), "{unrecorded}");
    // A study with the old link, one with the new link and other work, and one with the same work.
    let faster = Truth { link: 160e-6, ..behind_a_link() };
    let deeper = Truth { depth: 32, ..faster };
    let next = begun(3, "5eed0004", faster, 5 * GIGABIT / 2);
    keep(
        &program,
        &[
            begun(1, "5eed0002", behind_a_link(), GIGABIT),
            begun(2, "5eed0003", deeper, 5 * GIGABIT / 2),
            next.clone(),
            begun(4, "5eed0005", behind_a_link(), 5 * GIGABIT / 2),
        ],
    );
    let said = unwrapped(&history(&[]));
    let words =
        "2 predictions, of which 1 can be compared: 1 of 1 rows are inside the predicted range.";
    assert!(said.contains(words), "{said}");
    let details = history(&["--details"]);
    for words in ["a 2.5 Gbit/s link", "in 5eed0004, inside", "only with --measured"] {
        assert!(unwrapped(&details).contains(words), "{words}:\n{details}");
    }
    // A study that the user names.
    let scored = predict(&["--server-cpu=x2", "--measured=5eed0003"]);
    assert!(scored.contains("Study 5eed0003 measured none of the predicted rows"), "{scored}");
    let scored = predict(&["--server-cpu=x2", "--measured=5eed0004"]);
    assert!(scored.contains("random read is above it"), "the link was another one: {scored}");
    assert!(scored.contains("The result is kept: plimsoll history counts it."), "{scored}");
    let said = unwrapped(&history(&[]));
    let words = "2 predictions: 1 of 2 rows are inside the predicted range; 1 is above it.";
    assert!(said.contains(words), "{said}");
    // Other depth is other work, which the plan shows.
    predict(&["--link=2.5G", "--depth=32"]);
    let details = history(&["--details"]);
    assert!(unwrapped(&details).contains("in 5eed0003,"), "{details}");
    // Nothing is kept of files and published tables.
    let file = exported(&program, behind_a_link(), true);
    let of_file = program.run(&["predict", file.to_str().unwrap(), "--rtt=5ms"]).expect(0).out;
    let published = program.run(&["predict", "jonfk2024", "--rtt=5ms"]).expect(0).out;
    assert!(!of_file.contains("kept") && !published.contains("kept"), "{of_file}{published}");
    assert!(history(&[]).contains("3 predictions: "), "{}", history(&[]));
    // Only the studies after the changes are read whole.
    let raw = rusqlite::Connection::open(program.db()).expect("a store");
    let deleted = raw.execute("DELETE FROM trials WHERE study = '5eed0001'", []);
    assert!(deleted.expect("its trials") > 0);
    assert!(history(&[]).contains("3 predictions: "), "{}", history(&[]));
}

/// A damaged row of another study made both fail: they look for devices that were measured.
#[test]
fn a_study_that_cannot_be_read_does_not_keep_others_from_being_explained() {
    let program = Plimsoll::new();
    let kept = [(-9, "5eed0001"), (-8, "5eed0002")];
    keep(&program, &kept.map(|(days, id)| begun(days, id, behind_a_link(), GIGABIT)));
    let raw = rusqlite::Connection::open(program.db()).expect("a store");
    let damaged = raw.execute("UPDATE studies SET plan = 'nonsense' WHERE id = '5eed0002'", []);
    assert_eq!(damaged.expect("a row"), 1);
    let ran = program.run(&["explain", "5eed0001"]).expect(0);
    assert!(ran.out.contains("bottleneck"), "{}", ran.out);
    let warning = "plimsoll: warning: could not read the plan of study 5eed0002: ";
    assert!(ran.err.starts_with(warning), "{}", ran.err);
    assert_eq!(ran.err.matches("warning").count(), 1, "{}", ran.err);
}

/// Also one of the version before predictions were kept.
#[test]
fn a_store_that_cannot_be_written_keeps_no_prediction_and_a_warning_says_so() {
    let script = "set -e; mount -t tmpfs -o size=4m none $DISK; cp $PLIMSOLL_DB $DISK/s.db; \
        export PLIMSOLL_DB=$DISK/s.db; mount -o remount,bind,ro $DISK; \
        \"$0\" \"$@\"; \"$0\" history nfs://nas/a";
    for older in [false, true] {
        let program = Plimsoll::new();
        keep(&program, &[begun(-9, "5eed0001", behind_a_link(), GIGABIT)]);
        if older {
            let raw = rusqlite::Connection::open(program.db()).expect("a store");
            let sql = "DROP TABLE predictions; PRAGMA user_version = 1";
            raw.execute_batch(sql).expect("the older version");
        }
        let disk = program.home().join("disk");
        std::fs::create_dir(&disk).expect("a directory");
        let mut namespace = std::process::Command::new("unshare");
        let flag = if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" };
        namespace.args([flag, "/bin/sh", "-c", script]).env("DISK", &disk);
        let words = ["predict", "5eed0001", "--link=2.5G"];
        let output = program.command_under(namespace, &words).output().expect("unshare");
        let ran = support::Ran::from(output).expect(0);
        let said = unwrapped(&ran.out);
        assert!(said.contains("A 2.5 Gbit/s link would bring"), "{ran:?}");
        assert!(said.contains("nfs://nas/a: 1 study on ") && !said.contains("kept"), "{ran:?}");
        assert!(ran.err.starts_with("plimsoll: warning: the prediction is not kept: "), "{ran:?}");
        assert!(ran.err.contains("--db FILE"), "{ran:?}");
    }
}

#[test]
fn what_was_not_monitored_is_not_predicted_and_a_command_settles_it() {
    let program = Plimsoll::new();
    let file = exported(&program, behind_a_link(), false);
    let ran = program.run(&["predict", file.to_str().unwrap(), "--server-cpu", "x2"]).expect(0);
    let said = unwrapped(&ran.out);
    assert!(said.contains("cannot say (1)"), "{said}");
    assert!(said.contains("(1) The server's CPU was not monitored."), "{said}");
    let command = "To settle it: plimsoll check nfs://nas/a --host ssh://root@nas";
    assert!(said.contains(command), "{said}");
}

#[test]
fn published_rows_go_from_today_to_the_next_bound() {
    let program = Plimsoll::new();
    let ran = program.run(&["predict", "jonfk2024", "--link", "2.5G"]).expect(0);
    assert!(is_one_screen(&ran.out), "{}", ran.out);
    let row = |name: &str| {
        let own = ran.out.lines().find(|line| line.starts_with(name));
        own.unwrap_or_else(|| panic!("{}", ran.out)).to_owned()
    };
    let sequential = row("Sequential read, NFS");
    assert!(sequential.contains("116 MB/s") && sequential.contains("294 MB/s (1)"), "{sequential}");
    assert!(sequential.contains("link"), "{sequential}");
    assert!(row("Random read, NFS").contains("no difference"), "{}", ran.out);
    let said = unwrapped(&ran.out);
    assert!(said.contains("Not measured: the disks and the server's CPU."), "{said}");
    assert!(said.contains("nothing for 6 of 10 rows: "), "{said}");
    // A full link is the bound of what changes beside it, too.
    let said = |changes: &[&str]| {
        let words = [&["predict", "jonfk2024"], changes].concat();
        unwrapped(&program.run(&words).expect(0).out)
    };
    let disk = said(&["--disk=x2"]);
    assert!(disk.contains("the link of 1 Gbit/s is saturated"), "{disk}");
    assert!(!disk.contains("cannot say"), "{disk}");
    let both = said(&["--cpu=x2", "--link=2.5G"]);
    assert!(both.contains("at most 2.6 times as much for 4 of 10 rows"), "{both}");
    assert!(both.contains("for 6 of 10 rows: the source has no utilisation of the CPU"), "{both}");
    // Slower parts may become the bottleneck.
    let slower = said(&["--cpu=x0.5", "--link=2.5G"]);
    assert!(slower.contains("cannot be predicted for all 10 rows"), "{slower}");
    assert!(
        !slower.contains("A packet takes"),
        "nothing is assumed where nothing is said: {slower}"
    );
    // The other links of the sources.
    let said = unwrapped(&program.run(&["predict", "puskas2017", "--link", "2.5G"]).expect(0).out);
    assert!(said.contains("nothing for") && !said.contains("at most 2."), "{said}");
    let said = unwrapped(&program.run(&["predict", "puskas2017", "--cpu", "x2"]).expect(0).out);
    assert!(said.contains("times as much for"), "{said}");
    let said = unwrapped(&program.run(&["predict", "rtems2012", "--readers", "3"]).expect(0).out);
    assert!(said.contains("9.05 MB/s") && said.contains("9.97 MB/s"), "{said}");
    let said = unwrapped(&program.run(&["predict", "kofler2011", "--cpu", "x2"]).expect(0).out);
    assert!(said.contains("confounded"), "{said}");
}

#[test]
fn wrong_changes_are_refused() {
    let program = Plimsoll::new();
    let refused = |arguments: &[&str], words: &str| {
        let ran = program.run(&[&["predict"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "no {words:?} in {}", ran.err);
    };
    refused(&["jonfk2024"], "no change is given");
    refused(&["jonfk2024", "--cpu", "x0"], "'x0' is not a factor");
    refused(&["jonfk2024", "--link", "fast"], "'fast' is not the rate of a link");
    refused(&["jonfk2024", "--readers", "0"], "not a whole number of at least 1");
    refused(&["jonfk2024", "--cpu", "x2", "--server-cpu", "x2"], "cannot be used with");
    refused(&["jonfk2042", "--link", "2.5G"], "Did you mean `jonfk2024`?");
    refused(&["jonfk2024", "--cpu", "like:"], "needs the id of a study");
}

#[test]
fn advice_has_what_helps_and_what_does_not() {
    let program = Plimsoll::new();
    let file = exported(&program, behind_a_link(), true);
    let file = file.to_str().unwrap();
    let ran = program.run(&["advise", file]).expect(0);
    assert!(is_one_screen(&ran.out), "{}", ran.out);
    let said = unwrapped(&ran.out);
    assert!(said.contains("A 2.5 Gbit/s link may bring up to 2.5 times as much"), "{said}");
    let none = "A server CPU 2 times as fast would not help: the link is the bottleneck.";
    assert!(said.contains(none), "{said}");
    let details = program.run(&["advise", file, "--details"]).expect(0).out;
    assert!(details.contains("IEEE 802.3"), "{details}");
    let films = unwrapped(&program.run(&["advise", file, "--for", "films"]).expect(0).out);
    assert!(films.contains("no row of this kind"), "{films}");
    let ran = program.run(&["advise", "jonfk2024"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("plimsoll predict jonfk2024"), "{}", ran.err);
    let ran = program.run(&["advise", file, "--for", "tapes"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
