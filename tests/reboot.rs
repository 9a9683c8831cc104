//! `plimsoll run --reboot` on a host with BusyBox alone, whose boot id is another one afterwards; one that
//! stays down, and one that was not rebooted. Machines that really reboot are in `machines/reboot.rs`.

mod support;

use plimsoll_model::Ended;
use plimsoll_testkit::servers::Dropbear;
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::own::{own_settings, parameter, value};
use support::sound::{assert_complete, assert_whole};
use support::{Plimsoll, ended, run_directories, wait_until};

/// What reboots it: it forgets what was set, has another boot id, and cuts the connection.
const REBOOT: &str = r#"#!/bin/sh
echo >>/tmp/reboots
while [ "$(wc -l </tmp/reboots)" = "$(cat /tmp/stays-down)" ]; do sleep 1; done
cat /proc/sys/kernel/random/uuid >/tmp/boot
mount -o bind /tmp/boot /proc/sys/kernel/random/boot_id || exit 1
echo 5000 >/proc/sys/net/ipv4/tcp_keepalive_time
kill -9 $PPID
"#;

const PLAN: &str = r#"about = "a setting of a host that is rebooted"
[variable.host]
about = "the host"
[variable.reboot]
about = "what reboots it"
[variable.blocks]
about = "how many"
[[job]]
kind = "scan"
directories = 2
files = 3
workers = 1
[[factor]]
setting = "sysctl:net.ipv4.tcp_keepalive_time"
host = "${host}"
levels = ["as-found", 300]
[reboot]
command = "${reboot}"
within = "20s"
[rule]
repeats = "${blocks}"
time = "100ms"
baseline = "0s"
"#;

/// A host, the program that reaches it, and a plan.
struct Place {
    host: Dropbear,
    program: Plimsoll,
    share: tempfile::TempDir,
}

impl Place {
    fn new(stage: &plimsoll_testkit::Stage) -> Place {
        let host = Dropbear::start(stage, Dropbear::PORT).unwrap();
        let script = host.root().join("sbin/reboot-now");
        fs::write(&script, REBOOT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let program =
            Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", host.configuration().to_str().unwrap());
        fs::write(program.home().join("plan.toml"), PLAN).unwrap();
        Place { host, program, share: tempfile::tempdir().unwrap() }
    }

    fn words(&self, reboot: &str, blocks: u32) -> Vec<String> {
        let plan = self.program.home().join("plan.toml");
        let target = self.share.path();
        let words = ["run", plan.to_str().unwrap(), target.to_str().unwrap(), "--quiet"];
        let given = [("host", self.host.url()), ("reboot", reboot.into())];
        let given = given.map(|(name, word)| format!("--var={name}={word}"));
        let blocks = format!("--var=blocks={blocks}");
        words.iter().map(ToString::to_string).chain(given).chain([blocks]).collect()
    }

    fn reboots(&self) -> usize {
        fs::read(self.host.root().join("tmp/reboots")).map_or(0, |lines| lines.len())
    }

    fn nothing_is_left(&self) {
        let journal = self.program.home().join("plimsoll/settings");
        assert_eq!(fs::read_dir(journal).into_iter().flatten().count(), 0);
        let restored = self.program.run(&["restore", &self.host.url()]).expect(0).out;
        assert!(restored.contains("nothing to restore"), "{restored}");
        assert!(run_directories(self.share.path()).is_empty());
    }
}

#[test]
fn each_setting_begins_with_a_reboot_and_one_that_stays_down_is_gone_on_with() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let _settings = own_settings(&stage);
    let mut place = Place::new(&stage);
    let run = place.words("reboot-now", 2);
    let dry = place
        .program
        .run(&[&run[..], &["--dry-run", "--read-hosts"].map(str::to_owned)].concat())
        .expect(0)
        .out;
    let dry = dry.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["4 reboots", "is rebooted by reboot-now", "90 s for each reboot", "now 4321"] {
        assert!(dry.contains(words), "'{words}' is missing in:\n{dry}");
    }
    assert_eq!((place.reboots(), value("tcp_keepalive_time")), (0, "4321".into()));
    place.program.run(&run).expect(0);
    assert_complete(&place.program.latest());
    assert_whole(&place.program.latest(), 2);
    assert_eq!(place.reboots(), 4);
    // As found is as it is after a reboot, and so it is left.
    assert_eq!(value("tcp_keepalive_time"), "5000");
    place.nothing_is_left();

    // It goes down in the second block and stays there.
    fs::write(place.host.root().join("tmp/stays-down"), "8").unwrap();
    let mut child = place.program.start(&place.words("reboot-now", 3));
    let mut is_over = || child.try_wait().unwrap().is_some();
    wait_until("it goes down", || place.reboots() == 8 || is_over());
    place.host.kill();
    let ran = ended(child).expect(3);
    let study = place.program.latest();
    let Ended::Failed { failure } = &study.ended else { panic!("{:?}", study.ended) };
    assert_eq!((&*failure.tried, &*failure.on), ("reboot the device", &*place.host.url()));
    assert!(failure.happened.contains("after 20 s it did not come up again"), "{failure}");
    let next = format!("plimsoll run --continue {}", study.id);
    let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(failure.next.contains(&next) && out.contains(&next), "{}", ran.out);
    assert_eq!(study.trials.len(), 3, "of the settings before");
    // What it had was put back before it went down.
    let journal = place.program.home().join("plimsoll/settings");
    assert_eq!(fs::read_dir(journal).into_iter().flatten().count(), 0);
    assert_eq!(value("tcp_keepalive_time"), "5000");

    fs::remove_file(place.host.root().join("tmp/stays-down")).unwrap();
    place.host.restart().unwrap();
    place.program.run(&["run", "--continue", "latest", "--quiet"]).expect(0);
    assert_complete(&place.program.latest());
    assert_whole(&place.program.latest(), 3);
    assert_eq!(value("tcp_keepalive_time"), "5000");
    place.nothing_is_left();
}

#[test]
fn a_host_that_was_not_rebooted_is_not_measured() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let _settings = own_settings(&stage);
    let place = Place::new(&stage);
    // A box that takes the command and does nothing; and one that refuses it.
    for (reboot, code, words) in [
        ("true", 1, "after 20 s it answers, but its boot id has not changed"),
        ("echo must be root >&2; false", 5, "failed: must be root"),
    ] {
        let ran = place.program.run(&place.words(reboot, 1)).expect(code);
        assert!(ran.err.contains(words) && ran.err.contains("reboot the device"), "{}", ran.err);
        assert!(ran.err.contains(&place.host.url()), "{}", ran.err);
        assert!(place.program.exported("latest").is_none_or(|study| study.trials.is_empty()));
        assert_eq!(value("tcp_keepalive_time"), "4321");
        place.nothing_is_left();
    }
    // The one that the work is done from.
    let plan = place.program.home().join("plan.toml");
    fs::write(&plan, PLAN.replace("[reboot]", "[reboot]\nhost = \"local\"")).unwrap();
    let refused = place.program.run(&place.words("true", 1)).expect(2);
    assert!(
        refused.err.contains("plan.toml:18") && refused.err.contains("this machine"),
        "{}",
        refused.err
    );
    assert!(fs::read_to_string(parameter("tcp_keepalive_time")).unwrap().starts_with("4321"));
}
