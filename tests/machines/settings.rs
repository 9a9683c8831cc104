//! An export of the kernel's NFS server, whose option lies in a file on the host's disk: put back
//! after kills, after power cuts, and with all that others did to the file meanwhile.
//!
//! `PLIMSOLL_MOMENTS` sets how many kills and power cuts there are.

use super::super::support::Ran;
use super::super::support::beds::Beds;
use super::super::support::server_lab::{self, EXPORTS, SERVER, journals, state};
use super::super::support::setter::{STUDY, Setter};
use super::saved::Machines;
use plimsoll_model::FactorLevel;
use plimsoll_settings::{Factor, Journal, Session, knob};
use plimsoll_testkit::Need;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fs;
use std::time::Duration;

/// Where exports lie on the server, and its undo journal below the program's own directory.
const FILE: &str = "/etc/exports.d/films.exports";
const HERE: &str = "plimsoll/settings";
const TEST: &str = "machines::settings::sets_until_it_is_killed";

/// Started again by the tests, to be killed.
#[test]
#[ignore = "started by other tests"]
fn sets_until_it_is_killed() {
    super::super::support::setter::set_until_killed();
}

/// How many kills and power cuts there are.
pub(super) fn moments() -> usize {
    std::env::var("PLIMSOLL_MOMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// The lab is up, and has the user's exports.
fn up() -> Option<Machines> {
    if !plimsoll_testkit::available(Need::Machines) {
        return None;
    }
    let machines = Machines::new();
    server_lab::up(&machines.beds);
    Some(machines)
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn an_export_is_put_back_after_kills() {
    let Some(Machines { beds, .. }) = &up() else { return };
    levels_take_effect(beds);
    what_others_change_stays(beds);
    killed(beds, moments(), false);
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn an_export_is_put_back_after_power_cuts() {
    let Some(Machines { beds, .. }) = &up() else { return };
    killed(beds, moments(), true);
}

/// In the file, in force, and in the kernel for a client that works with it.
fn levels_take_effect(beds: &Beds) {
    let found = state(beds);
    let lab = beds.directory("run");
    let server = beds.on(
        "run/server",
        "ip -4 -o addr show scope global | sed -n '1s|.* inet \\([^/]*\\)/.*|\\1|p'",
    );
    let mount = format!(
        "mkdir -p /mnt/films && mount -t nfs -o vers=3,nolock,proto=tcp {}:/srv/films /mnt/films",
        server.trim()
    );
    beds.on("run/client", &mount);
    let journal = Journal::at(beds.program.home().join(HERE));
    // The labs of this test are found by the environment of its programs alone.
    let reach = plimsoll_lab::vm::reach(&lab, "server");
    let kernel = || {
        beds.on("run/client", "ls /mnt/films >/dev/null; echo >/mnt/films/x");
        beds.on("run/server", "grep '^/srv/films' /proc/net/rpc/nfsd.export/content")
    };
    let level = |text: &str| FactorLevel::Set { value: text.to_owned() };
    let factor = Factor {
        knob: knob("export-sync:/srv/films").unwrap(),
        name: SERVER.parse().unwrap(),
        host: reach,
        levels: vec![level("sync"), level("async"), FactorLevel::AsFound],
    };
    let mut session = Session::begin(journal, STUDY, vec![factor]).unwrap();
    assert_eq!(session.found(0), Some("mixed"));
    for (number, word) in [(0, "sync"), (1, "async"), (0, "sync")] {
        session.set(0, number).unwrap();
        let [file, in_force, _] = state(beds);
        assert!(in_force.lines().all(|line| line.contains(&format!(",{word},"))), "{in_force}");
        assert_eq!(
            file,
            EXPORTS
                .replace(",async", &format!(",{word}"))
                .replace("check) #", &format!("check,{word}) #"))
        );
        // A client that has it mounted all the time.
        assert!(kernel().contains(&format!(",{word},")), "{}", kernel());
        session.verify_all().unwrap();
        let (there, here) = journals(beds, &beds.program);
        assert_eq!((there.lines().count(), here.len()), (1, 1));
    }
    session.set(0, 2).unwrap();
    session.verify_all().unwrap();
    assert_eq!(state(beds), found);
    session.set(0, 0).unwrap();
    session.restore_all().unwrap();
    assert_eq!(state(beds), found);
    assert_eq!(journals(beds, &beds.program), (String::new(), vec![]));
    assert!(kernel().contains(",async,"), "{}", kernel());
    beds.on("run/client", "umount /mnt/films");
}

/// What somebody adds while it is changed, to the file and by hand.
fn what_others_change_stays(beds: &Beds) {
    let found = state(beds);
    let mut setter = start(beds);
    setter.wait_for("set");
    setter.kill();
    beds.on(
        "run/server",
        &format!(
            "echo '/srv/new *(rw,async,no_subtree_check,fsid=7)' >>{FILE}
         exportfs -o rw,fsid=8,no_subtree_check 10.1.1.1:/srv/other"
        ),
    );
    beds.program.run(&["restore", SERVER]).expect(0);
    let [file, in_force, _] = state(beds);
    assert_eq!(file, format!("{EXPORTS}/srv/new *(rw,async,no_subtree_check,fsid=7)\n"));
    assert_eq!(in_force, found[1]);
    let all = beds.on("run/server", "cat /var/lib/nfs/etab");
    assert!(all.contains("10.1.1.1(") && !all.contains("/srv/new"), "{all}");
    let back = format!("sed -i '/srv.new/d' {FILE}; exportfs -u 10.1.1.1:/srv/other");
    beds.on("run/server", &back);
    assert_eq!(state(beds), found);
}

fn start(beds: &Beds) -> Setter {
    let sets = format!("{SERVER}/export-sync:/srv/films=sync,async");
    Setter::start(&beds.program, TEST, None, &[&sets])
}

/// Where machines are emulated beside other work, one may take longer to boot than a lab waits.
pub(super) fn cut_power(beds: &Beds, host: &str) {
    let boots = || beds.lab(&["reset", host]);
    let slow = |ran: &Ran| ran.code == Some(3) && ran.err.contains("did not boot within");
    let mut ran = boots();
    for _ in 0..4 {
        if slow(&ran) {
            ran = boots();
        }
    }
    ran.expect(0);
}

/// At random moments the program is killed, and with `power` the host's power cut at once.
fn killed(beds: &Beds, moments: usize, power: bool) {
    let found = state(beds);
    let mut random = Pcg64::seed_from_u64(14);
    let mut changed = 0;
    for moment in 0..moments {
        let mut setter = start(beds);
        setter.wait_for(if moment % 5 == 0 { "begun" } else { "set" });
        std::thread::sleep(Duration::from_micros(random.random_range(0..2_000_000)));
        setter.kill();
        if power {
            cut_power(beds, "run/server");
        }
        changed += usize::from(state(beds)[0] != found[0]);
        eprintln!("moment {moment}: {changed} were changed so far");
        // The journal of this machine is lost, and the host's own is there.
        if moment % 3 == 2 && journals(beds, &beds.program).0.contains(".json\n") {
            fs::remove_dir_all(beds.program.home().join(HERE)).unwrap();
        }
        let restored = beds.program.run(&["restore", SERVER]).expect(0);
        assert_eq!(state(beds), found, "moment {moment}: {}", restored.out);
        assert_eq!(journals(beds, &beds.program), (String::new(), vec![]), "moment {moment}");
    }
    let what = if power { "power cuts" } else { "kills" };
    eprintln!("{what}: {moments} of {moments} restored, {changed} were changed at the moment");
    assert!(changed * 2 >= moments, "{changed} of {moments} were changed");
}
