//! Hosts that say nothing, nonsense, or too much.

use crate::support::{LONG, instead, sample};
use plimsoll_model::{Cause, Flag, HostName};
use plimsoll_watch::{Account, Ask, Watch};

/// What a well-behaved shell says first.
const FACTS: &str = r"printf '\n==> ticks <==\n100\n\n==> end facts <==\n'";

fn refused(command: &str) -> String {
    let Err(failure) = instead(command) else { panic!("{command} was believed") };
    assert_eq!((failure.cause, failure.on.as_str()), (Cause::Unreachable, "ssh://odd"));
    assert!(failure.happened.len() < 1000, "{failure}");
    failure.happened
}

#[test]
fn a_host_that_cannot_be_watched_is_refused_with_its_own_words() {
    assert!(refused("true").contains("has ended"));
    assert!(refused("echo 'sh: no such thing' >&2; exit 127").contains("no such thing"));
    assert!(refused("cat /dev/zero").contains("longer than"));
    assert!(refused("yes '==> end facts <='").contains("longer than"));
    let blind = format!("{FACTS}; while read -r n; do printf '\\n==> end '$n' <==\\n'; done");
    assert!(refused(&blind).contains("/proc/stat"));
    let mute = format!("{FACTS}; while read -r n; do :; done");
    let said = refused(&mute);
    assert!(said.contains("in time"), "{said}");
}

/// Answers the first question, then does something else.
fn after_one_answer(then: &str) -> String {
    let stat = "cpu  1 2 3 4\\ncpu0 1 2 3 4\\n";
    let answer = format!("printf '\\n==> /proc/stat <==\\n{stat}\\n==> end '$n' <==\\n'");
    format!("{FACTS}; read -r n; {answer}; read -r n; {then}")
}

#[test]
fn a_host_that_goes_bad_is_lost_and_nobody_waits_for_ever() {
    for then in ["exit 0", "kill -9 $$", "cat /dev/urandom", "sleep 300"] {
        let mut watch = instead(after_one_answer(then)).unwrap();
        let mut asked: Vec<_> = (0..20).map(|_| watch.ask(Ask::Counters)).collect();
        assert!(asked.iter_mut().all(|asked| asked.sample(LONG).is_none()));
        assert!(asked.iter_mut().all(|asked| asked.is_settled()), "{then}");
        let lost = watch.lost().unwrap();
        assert_eq!(lost.cause, Cause::Unreachable);
        assert!(watch.ask(Ask::Counters).is_settled());
    }
}

/// What sleeps is killed with its watcher; so the test does not wait for it.
#[test]
fn a_lost_host_may_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let marker = directory.path().join("was here");
    let marker = marker.display();
    let then = "exit 0";
    let command = format!(
        "if [ -e '{marker}' ]; then exec /bin/sh -c {{}}; fi; echo >'{marker}'; {}",
        after_one_answer(then)
    );
    let mut watch = instead(command).unwrap();
    assert!(watch.ask(Ask::Counters).sample(LONG).is_none() && watch.lost().is_some());
    watch.again().unwrap();
    assert!(watch.lost().is_none());
    assert!(sample(&mut watch, Ask::Counters).memory.is_some());
}

#[test]
fn absurd_counters_are_reported_and_left_out() {
    let huge = u64::MAX;
    let stat = format!("cpu  {huge} 0 '$n' 4\\ncpu0 {huge} 2 3 4\\n");
    let disks = format!("8 0 sda {huge} 0 {huge} 1 {huge} 0 1 1 0 {huge} '$n'\\n");
    let command = format!(
        "{FACTS}; while read -r n; do printf '\\n==> /proc/stat <==\\n{stat}\
         \\n==> /proc/diskstats <==\\n{disks}\\n==> /proc/loadavg <==\\nnan inf\\n\
         \\n==> end '$n' <==\\n'; done"
    );
    let mut watch = instead(command).unwrap();
    let (first, mut second) =
        (sample(&mut watch, Ask::Counters), sample(&mut watch, Ask::Counters));
    assert!(first.cpu.total().is_finite() && first.load_average.is_none());
    let mut account = Account::new(&HostName::Local, watch.hardware().clone(), None);
    account.add(&first);
    account.add(&second);
    // More time than there was.
    second.cpu.idle *= 1e6;
    account.add(&second);
    assert_eq!(account.flags(), [Flag::ImpossibleCounters { host: HostName::Local }]);
    let text = serde_json::to_string(&account.load()).unwrap();
    assert!(!text.contains("NaN") && text.len() < 10_000);
}
