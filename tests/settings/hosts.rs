//! One setting of this machine and of two hosts of a lab, which have one disk: `restore HOST` is about that host
//! alone.

use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use super::super::support::own::{own_settings, value};
use super::super::support::wait_until;
use super::super::{PLACE, files, study};
use plimsoll_testkit::enter_or_skip;
use std::path::Path;

const NAME: &str = "tcp_keepalive_time";
const HOSTS: [&str; 3] = ["local", "lab://pair/a", "lab://pair/b"];

/// `restore ssh://root@ha` removed the entry of another host too, and `restore lab://router/lan` those of this machine:
/// both stayed changed, with nothing to restore. And hosts of a lab had one journal together, so that one setting could
/// not be varied on two of them.
#[test]
fn a_killed_study_of_three_hosts_is_put_back_host_by_host() {
    let stage = enter_or_skip!();
    let _settings = own_settings(&stage);
    let beds = Beds::new();
    beds.up("pair", &LabFile::new().namespace("a").namespace("b").link("lan", ["a", "b"]));
    let there = |host| beds.on(host, &format!("cat /proc/sys/net/ipv4/{NAME}")).trim().to_owned();
    let now = || [value(NAME), there("pair/a"), there("pair/b")];
    let found = now();
    // Which of the three are not as they were found. The last change of the study may still be under way.
    let changed = || {
        let now = now();
        [0, 1, 2].map(|host| now[host] != found[host])
    };
    let share = tempfile::tempdir().unwrap();
    let sets = HOSTS.map(|host| format!("{host}/sysctl:net.ipv4.{NAME}=300,600"));
    let one = study(share.path().to_str().unwrap(), &sets[0], "--repeats=1000");
    let words = [&one[..], &["--set", &sets[1], "--set", &sets[2]]].concat();
    let mut child = beds.program.start(&words);
    wait_until("all three are changed", || changed() == [true; 3]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(changed(), [true; 3]);

    let here = beds.program.home().join("plimsoll/settings");
    let entries = || (files(&here).len(), files(Path::new(PLACE)).len());
    assert_eq!(entries(), (3, 3), "each host has an entry of its own");
    let restored = |host: &str, words: &[&str], left: [bool; 3]| {
        let ran = beds.program.run(words).expect(0);
        let line = format!("restored sysctl:net.ipv4.{NAME} on {host} to its value before study ");
        let only = ran.out.starts_with(&line) && ran.out.lines().count() == 1;
        assert!(only, "{words:?}: {}", ran.out);
        assert_eq!(changed(), left, "{words:?}");
        let count = left.iter().filter(|left| **left).count();
        assert_eq!(entries(), (count, count), "{words:?}");
    };
    restored(HOSTS[1], &["restore", HOSTS[1]], [true, false, true]);
    restored(HOSTS[0], &["restore", HOSTS[0]], [false, false, true]);
    restored(HOSTS[2], &["restore"], [false; 3]);
    assert_eq!(beds.program.run(&["restore"]).expect(0).out, "nothing to restore\n");
}
