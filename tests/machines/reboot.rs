//! `plimsoll run --reboot` on a machine that really reboots: by its power, as it is a lab's.

use super::super::support::server_lab::{SERVER, journals, state, up};
use super::super::support::sound::{assert_whole, complete};
use super::super::support::{ended, wait_until_within};
use super::saved::Machines;
use plimsoll_testkit::Need;
use std::collections::BTreeSet;
use std::time::Duration;

/// Machines are slow where they are emulated, and slower where others work.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_server_is_rebooted_before_each_setting() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let machines = Machines::new();
    let beds = &machines.beds;
    let (program, plan) = (&beds.program, up(beds));
    let found = state(beds);
    let boot = || beds.on("run/server", "cat /proc/sys/kernel/random/boot_id");
    let run = ["run", &plan, "--reboot", "--quiet", "--max-time=1h"];
    let first = boot();
    let dry = [&run[..], &["--var=blocks=1", "--dry-run"]].concat();
    assert!(program.run(&dry).expect(0).out.contains("8 trials, 4 reboots"));
    assert_eq!(boot(), first);
    let mut child = program.start(&[&run[..], &["--var=blocks=1"]].concat());
    let mut boots = BTreeSet::new();
    wait_until_within(PATIENCE * 4, "it ends", || {
        let line = "cat /proc/sys/kernel/random/boot_id";
        let ran = beds.lab(&["exec", "run/server", "--", "/bin/sh", "-c", line]);
        boots.extend(Some(ran.out).filter(|boot| ran.code == Some(0) && boot.len() == 37));
        child.try_wait().unwrap().is_some()
    });
    ended(child).expect(0);
    assert!(boots.remove(&first));
    assert_eq!(boots.len(), 4, "once for each setting");
    assert_whole(&program.latest(), 1);
    assert_eq!(state(beds), found);
    assert_eq!(journals(beds, program), (String::new(), vec![]));

    // Killed while it reboots the server, it goes on with what is missing.
    let trials = || program.latest().trials.len();
    let mut child = program.start(&[&run[..], &["--var=blocks=2"]].concat());
    wait_until_within(PATIENCE * 4, "two settings were measured", || trials() == 4);
    std::thread::sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = complete(&program.latest());
    beds.lab(&["reset", "run/server"]).expect(0);
    program.run(&["run", "--continue", "latest", "--quiet"]).expect(0);
    let study = program.latest();
    assert_whole(&study, 2);
    assert_eq!(complete(&study)[..kept.len()], kept, "nothing was measured again");
    assert_eq!(state(beds), found);
    assert_eq!(journals(beds, program), (String::new(), vec![]));
    program.run(&["clean", "--on=lab://run/client", "nfs://server/srv/films?uid=0&gid=0"]);

    // One whose kernel has died stays down until somebody takes its power away.
    let text = std::fs::read_to_string(&plan).unwrap();
    let crash = "[reboot]\ncommand = \"echo c >/proc/sysrq-trigger\"\nwithin = \"5s\"\n";
    let plan = beds.file("crash", &format!("{text}{crash}"));
    let ran = program.run(&["run", &plan, "--quiet", "--var=blocks=1"]).expect(3);
    for words in ["reboot the device", SERVER, "after 5 s it did not come up again", "--continue"] {
        assert!(ran.err.contains(words), "'{words}' is missing in: {}", ran.err);
    }
    beds.lab(&["reset", "run/server"]).expect(0);
    assert_eq!(state(beds), found);
    assert_eq!(journals(beds, program), (String::new(), vec![]));
}
