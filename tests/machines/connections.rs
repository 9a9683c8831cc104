//! New connections through a router with a kernel of its own, whose table of connections is made smaller than what is opened.

use super::super::support::router;
use plimsoll_model::{Measure, Metric, Outcome, Trial};

const ROUTER: &str = "lab://table/router";
/// Connections that the table has room for.
const ROOM: f64 = 50.0;
/// Seconds of a trial; its first half second is not counted. A connection stays in the table for longer than that.
const SECONDS: f64 = 3.0;

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_full_table_lets_no_more_connections_through_than_it_has_room_for() {
    let Some(beds) = router::machines("table", None) else { return };
    let rules = "table inet home { chain forward { type filter hook forward priority filter; ct state invalid drop; }; }";
    beds.on("table/router", &format!("echo '{rules}' | nft -f -"));
    let file = "/proc/sys/net/netfilter/nf_conntrack_max";
    let room = || beds.on("table/router", &format!("cat {file}"));
    let found = room();
    let set = format!("--set={ROUTER}/conntrack-max=as-found,{ROOM}");
    let via = format!("--via={ROUTER}");
    let time = format!("--time={SECONDS}s");
    let words = ["net", "lab://table/lan", "lab://table/wan", &via, "--connections=8", &set, &time];
    let ran = beds.program.run(&[&words[..], &["--repeats=2", "--json=-"]].concat()).expect(0);
    assert_eq!(room(), found, "the table has its size again");
    let study = plimsoll_record::from_json(&ran.out).unwrap();
    assert_eq!(study.trials.len(), 4, "{ran:?}");
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
        let opened = value(trial, Measure::CONNECTIONS) * (SECONDS - 0.5);
        let failed = value(trial, Measure::UNANSWERED);
        let load = trial.loads.iter().find(|load| load.host == *ROUTER).unwrap();
        let table = load.conntrack.unwrap();
        match trial.cell.setting {
            0 => assert!(opened > ROOM && failed < 0.5, "{opened}, {failed}"),
            _ => {
                assert!(opened <= 2.0 * ROOM && failed > 0.0, "{opened}, {failed}");
                assert_eq!(table.most_entries, Some(ROOM as u64));
                assert!(table.dropped + table.early_dropped > 0, "{table:?}");
            }
        }
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    eprintln!("{shown}");
    for words in ["8 at a time", "R table", "The connection table of R was full"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    beds.lab(&["down", "table"]).expect(0);
}

fn value(trial: &Trial, measure: Measure) -> f64 {
    trial.result.value(0, Metric::all(measure)).unwrap_or_else(|| panic!("{measure:?}: {trial:?}"))
}
