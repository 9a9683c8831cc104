//! Rules of the packet filter: whole or not at all, and undone by the host where they cut the link.

use super::super::support::own_place::OwnPlace;
use super::super::support::setter::{Setter, session};
use super::super::support::{Plimsoll, wait_until};
use super::super::{is_empty, printed};
use plimsoll_model::Cause;
use plimsoll_settings::Journal;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Rules as a user has them, with a counter that counts on.
const FOUND_RULES: &str = "table inet user {\n\tset nets {\n\t\ttype ipv4_addr\n\t\tflags interval\n\
    \t\telements = { 10.0.0.0/8, 192.0.2.0/24 }\n\t}\n\tchain input {\n\
    \t\ttype filter hook input priority filter; policy accept;\n\
    \t\ttcp dport 9 counter packets 7 bytes 420 drop comment \"it's \\\\ 100%\"\n\t}\n}\n";

fn listed() -> String {
    printed(Command::new("nft").args(["list", "ruleset"]))
}

/// A stage with the user's rules in force.
fn with_rules() {
    let rules = Path::new("/run/found.nft");
    fs::write(rules, FOUND_RULES).unwrap();
    printed(Command::new("nft").arg("-f").arg(rules));
    assert!(listed().contains("packets 7 bytes 420"), "{}", listed());
}

fn rules_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn rules_of_the_packet_filter_come_whole_and_go_whole() {
    let stage = enter_or_skip!(Need::Nftables);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    with_rules();
    let found = listed();
    let nat = rules_file(
        "table ip nat { chain post { type nat hook postrouting priority 100; masquerade; }; }\n",
    );
    let wrong = rules_file("table ip half { chain x { } }\nno statement\n");
    let [nat, wrong] = [&nat, &wrong].map(|file| file.path().to_str().unwrap().to_owned());
    let set = format!("local/nft-ruleset=none,{nat},as-found");
    let with_mistake = format!("{set},{wrong}");
    let failure = self::session(Journal::at(home.path()), &[&with_mistake]).err().unwrap();
    assert!(failure.cause == Cause::Usage && failure.happened.contains(":3:"), "{failure}");
    assert!(is_empty(home.path()));
    let mut session = session(Journal::at(home.path()), &[&set]).unwrap();
    assert_eq!(listed(), found, "to begin changes nothing");
    session.set(0, 0).unwrap();
    assert_eq!(listed(), "");
    session.set(0, 1).unwrap();
    assert!(listed().contains("masquerade") && !listed().contains("user"), "{}", listed());
    session.verify_all().unwrap();
    printed(Command::new("nft").args(["add", "table", "ip", "more"]));
    let failure = session.verify_all().unwrap_err();
    assert!(failure.happened.contains("changed the rules"), "{failure}");
    session.set(0, 2).unwrap();
    assert_eq!(listed(), found, "with the counter");
    session.set(0, 0).unwrap();
    drop(session);
    assert_eq!(listed(), found);
    assert!(is_empty(home.path()));
    for bad in ["/no/such/file", "on", "/dev/zero"] {
        let set = format!("local/nft-ruleset={bad}");
        let failure = self::session(Journal::at(home.path()), &[&set]).err().expect(bad);
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
    }
}

#[test]
fn connection_tracking_of_forwarded_packets_is_turned_off_by_a_table_that_goes() {
    let stage = enter_or_skip!(Need::Nftables);
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    with_rules();
    let found = listed();
    let set = "local/conntrack=tracked,untracked";
    let mut session = session(Journal::at(home.path()), &[set]).unwrap();
    assert_eq!(listed(), found, "to begin changes nothing");
    session.set(0, 1).unwrap();
    assert!(listed().contains("notrack") && listed().contains("table inet user"), "{}", listed());
    session.verify_all().unwrap();
    session.set(0, 0).unwrap();
    assert_eq!(listed(), found);
    session.set(0, 1).unwrap();
    // Another program that removes the table is noticed.
    printed(Command::new("nft").args(["delete", "table", "inet", "plimsoll_untracked"]));
    let failure = session.verify_all().unwrap_err();
    assert!(failure.happened.contains("does not list the rules of the table"), "{failure}");
    drop(session);
    assert_eq!(listed(), found);
    assert!(is_empty(home.path()));
}

/// As in the field: the rules let nobody in any more, so nobody can take them back.
#[test]
fn rules_that_cut_the_link_are_undone_by_the_host_itself() {
    let stage = enter_or_skip!(Need::Nftables, Need::Sshd);
    let _place = OwnPlace::new(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program =
        Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", server.configuration().to_str().unwrap());
    with_rules();
    let found = listed();
    let cut = rules_file(
        "table inet cut { chain input { type filter hook input priority 0; policy drop; }; }\n",
    );
    let set = format!("{}/nft-ruleset={}", server.url(), cut.path().display());
    let setter = Setter::start(&program, "sets_until_it_is_killed", Some(8), &[&set]);
    wait_until("the link is cut", || listed().contains("table inet cut"));
    wait_until("the host undoes it", || listed() == found);
    drop(setter);
    program.run(&["restore"]);
    let restored = program.run(&["restore", &server.url()]).expect(0);
    assert_eq!(restored.out, format!("nothing to restore on {}\n", server.url()));
    assert_eq!(listed(), found);
}
