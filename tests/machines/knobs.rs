//! Settings of a kernel's own: its NFS server, and what it mounts by NFS.

use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use super::super::support::setter::{STUDY, Setter};
use super::saved::Machines;
use plimsoll_model::{Cause, FactorLevel, Failure, Switch};
use plimsoll_settings::{Factor, Journal, Session, knob};
use plimsoll_testkit::Need;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .disk("state", "16MiB", "/var/lib/plimsoll")
        .nfsd(3, &["3", "4.1", "4.2"], "/srv/films", "rw,sync,no_root_squash")
        .machine("client", "256MiB")
        .disk("state", "16MiB", "/var/lib/plimsoll")
        .mount_nfs("/mnt/films", "server:/srv/films", "vers=3,rsize=16384,wsize=8192,acregmin=5")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
        .link("second", ["server", "client"])
}

const TEST: &str = "machines::knobs::sets_until_it_is_killed";

/// Started again by the tests, to be killed.
#[test]
#[ignore = "started by other tests"]
fn sets_until_it_is_killed() {
    super::super::support::setter::set_until_killed();
}

/// A session on a host of the lab.
fn session(beds: &Beds, host: &str, knobs: &[(&str, &[&str])]) -> Result<Session, Failure> {
    let factor = |(name, levels): &(&str, &[&str])| Factor {
        knob: knob(name).unwrap(),
        name: format!("lab://knobs/{host}").parse().unwrap(),
        // The labs of this test are found by the environment of its programs alone.
        host: plimsoll_lab::vm::reach(&beds.directory("knobs"), host),
        levels: levels
            .iter()
            .map(|level| match *level {
                "as-found" => FactorLevel::AsFound,
                value => FactorLevel::Set { value: value.to_owned() },
            })
            .collect(),
    };
    Session::begin(Journal::at(here(beds)), STUDY, knobs.iter().map(factor).collect())
}

fn here(beds: &Beds) -> PathBuf {
    beds.program.home().join("plimsoll/settings")
}

fn nothing_is_left(beds: &Beds, host: &str) {
    let there = beds.on(&format!("knobs/{host}"), "ls /var/lib/plimsoll | grep json || true");
    let here = fs::read_dir(here(beds)).into_iter().flatten().flatten().count();
    assert_eq!((there.as_str(), here), ("", 0));
}

/// What the kernel's server is; its portmapper's list last.
fn server(beds: &Beds) -> String {
    let files = "cd /proc/fs/nfsd; cat threads max_block_size versions; sort portlist";
    beds.on("knobs/server", &format!("{files}; rpcinfo -p | grep ' nfs$' | sort"))
}

/// The options of the client's mount, but for what is agreed on with every mount.
fn mount(beds: &Beds) -> String {
    let line = beds.on("knobs/client", "grep ' /mnt/films nfs' /proc/mounts");
    let options = line.split(' ').nth(3).unwrap().split(',');
    let agreed = ["mountport", "mountproto", "clientaddr"];
    let kept = options.filter(|word| !agreed.iter().any(|name| word.starts_with(name)));
    kept.collect::<Vec<_>>().join(",")
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn the_kernels_server_and_mounts_are_set_and_put_back() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let machines = Machines::without_runner();
    let beds = &machines.beds;
    beds.up("knobs", &lab());
    caches_are_dropped(beds);
    flows_are_offloaded(beds);
    a_server_is_set(beds);
    a_killed_run_leaves_the_server_as_it_was(beds);
    a_mount_is_set(beds);
    a_killed_run_leaves_the_mount_as_it_was(beds);
    a_host_that_was_started_anew_is_left_as_it_is(beds);
}

/// What was read once is in memory, and then is not.
fn caches_are_dropped(beds: &Beds) {
    beds.on("knobs/server", "head -c 8M /dev/urandom >/var/lib/plimsoll/x; sync");
    let cached = || -> u64 {
        let text = "sed -n 's/^Cached: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo";
        let shmem = "sed -n 's/^Shmem: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo";
        let kilobytes = |line: &str| beds.on("knobs/server", line).trim().parse::<u64>().unwrap();
        kilobytes(text) - kilobytes(shmem)
    };
    let before = cached();
    let host = plimsoll_lab::vm::reach(&beds.directory("knobs"), "server");
    plimsoll_reach::drop_caches(&*host).unwrap();
    let after = cached();
    assert!(after + (8 << 10) <= before, "{before} kB, then {after} kB");
    beds.on("knobs/server", "rm /var/lib/plimsoll/x");
}

/// By the kernel; network cards of a machine of a lab take no flows.
fn flows_are_offloaded(beds: &Beds) {
    let rules = || beds.on("knobs/client", "nft list ruleset");
    let found = rules();
    let refused = session(beds, "client", &[("flowtable", &["off", "hardware"])]).err().unwrap();
    assert!(refused.happened.contains("drivers of lan, second take flows"), "{refused}");
    assert_eq!(rules(), found);
    let levels: &[&str] = &["software", "as-found"];
    let mut session = session(beds, "client", &[("flowtable", levels)]).unwrap();
    assert_eq!(session.found(0), Some("off"));
    session.set(0, 0).unwrap();
    session.verify_all().unwrap();
    for words in ["devices = { lan, second }", "flow add @flows"] {
        assert!(rules().contains(words), "{words} in {}", rules());
    }
    session.set(0, 1).unwrap();
    assert_eq!(rules(), found);
    session.restore_all().unwrap();
    assert_eq!(rules(), found);
    nothing_is_left(beds, "client");
    let own = "table inet user { flowtable f { hook ingress priority 0; devices = { lan }; }; }";
    beds.on("knobs/client", &format!("echo '{own}' | nft -f -"));
    let host = plimsoll_lab::vm::reach(&beds.directory("knobs"), "client");
    let failure = knob("flowtable").unwrap().read(&*host).unwrap_err();
    assert!(failure.next.contains("without-flowtable"), "{failure}");
    beds.on("knobs/client", "nft delete table inet user");
}

fn a_server_is_set(beds: &Beds) {
    let found = server(beds);
    let knobs: [(&str, &[&str]); 3] = [
        ("nfsd-threads", &["5", "1", "as-found"]),
        ("nfsd-max-block-size", &["16KiB", "as-found", "8192"]),
        ("nfsd-versions", &["3", "3+4.2", "as-found"]),
    ];
    let mut session = session(beds, "server", &knobs).unwrap();
    assert_eq!([0, 2].map(|n| session.found(n).unwrap().to_owned()), ["3", "3+4.1+4.2"]);
    assert_eq!(server(beds), found, "to begin restarts nothing");
    let first = |n: usize| server(beds).lines().nth(n).unwrap().to_owned();
    session.set(0, 0).unwrap();
    assert_eq!(first(0), "5");
    // A restart keeps what else is set by then.
    session.set(1, 1).unwrap();
    session.set(1, 0).unwrap();
    assert_eq!([first(0), first(1)], ["5", "16384"]);
    let mounted = "umount /mnt/films; mount -t nfs -o vers=3,nolock server:/srv/films /mnt/films; \
                   grep /mnt/films /proc/mounts";
    let address = beds.on("knobs/client", "sed -n 's|:/srv/films /mnt/films .*||p' /proc/mounts");
    let shown =
        beds.on("knobs/client", &mounted.replace("server:", &format!("{}:", address.trim())));
    assert!(shown.contains("rsize=16384,wsize=16384"), "a client is told: {shown}");
    session.set(2, 0).unwrap();
    session.set(2, 1).unwrap();
    session.verify_all().unwrap();
    let versions = first(2);
    assert!(versions.contains("+3") && versions.contains("-4.1") && versions.contains("+4.2"));
    assert_eq!([first(0), first(1)], ["5", "16384"]);
    session.set(0, 1).unwrap();
    session.set(1, 2).unwrap();
    session.set(2, 2).unwrap();
    assert_eq!([first(0), first(1)], ["1", "8192"]);
    // Somebody starts it otherwise meanwhile.
    beds.on("knobs/server", "echo 2 >/proc/fs/nfsd/threads");
    assert!(session.verify_all().unwrap_err().happened.contains("\"2\" instead of \"1\""));
    session.restore_all().unwrap();
    assert_eq!(server(beds), found);
    nothing_is_left(beds, "server");
    for (name, switch) in [("nfsd-threads", Switch::Live), ("nfsd-versions", Switch::Restart)] {
        assert_eq!(knob(name).unwrap().switch(), switch);
    }
    let mount = format!(
        "umount /mnt/films; mount -t nfs -o vers=3,nolock,rsize=16384,wsize=8192,acregmin=5 \
         {}:/srv/films /mnt/films",
        address.trim()
    );
    beds.on("knobs/client", &mount);
}

fn a_killed_run_leaves_the_server_as_it_was(beds: &Beds) {
    let found = server(beds);
    for moment in 0..4_u64 {
        let sets = ["nfsd-max-block-size=16384,8192", "nfsd-threads=1,2", "nfsd-versions=3,3+4.1"];
        let sets = sets.map(|set| format!("lab://knobs/server/{set}"));
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let mut setter = Setter::start(&beds.program, TEST, None, &sets);
        setter.wait_for("set");
        std::thread::sleep(Duration::from_millis(170 * moment));
        setter.kill();
        if moment == 3 {
            // In the midst of a restart.
            beds.on("knobs/server", "rpc.nfsd 0");
        }
        let restored = beds.program.run(&["restore", "lab://knobs/server"]).expect(0);
        assert_eq!(server(beds), found, "moment {moment}: {}", restored.out);
        nothing_is_left(beds, "server");
    }
}

fn a_mount_is_set(beds: &Beds) {
    let found = mount(beds);
    let knobs: [(&str, &[&str]); 6] = [
        ("mount:/mnt/films:rsize", &["4096", "as-found"]),
        ("mount:/mnt/films:nconnect", &["4", "as-found"]),
        ("mount:/mnt/films:actimeo", &["0", "7"]),
        ("mount:/mnt/films:sync", &["sync"]),
        ("mount:/mnt/films:vers", &["4.2", "as-found"]),
        ("mount:/mnt/films:wsize", &["1048576"]),
    ];
    let mut session = session(beds, "client", &knobs).unwrap();
    let levels: Vec<&str> = (0..6).map(|n| session.found(n).unwrap()).collect();
    assert_eq!(levels, ["16384", "1", "mixed", "async", "3", "8192"]);
    for factor in 0..4 {
        session.set(factor, 0).unwrap();
    }
    let all = mount(beds);
    for option in ["rsize=4096", "nconnect=4", "acdirmax=0", "sync", "vers=3", "wsize=8192"] {
        assert!(all.split(',').any(|word| word == option), "{option}: {all}");
    }
    let connections = beds.on("knobs/client", "grep -c '^[[:space:]]*xprt:' /proc/self/mountstats");
    assert_eq!(connections, "4\n");
    session.set(4, 0).unwrap();
    let all = mount(beds);
    assert!(all.contains("vers=4.2") && all.contains("rsize=4096") && all.contains("nconnect=4"));
    beds.on("knobs/client", "echo x >/mnt/films/x");
    session.verify_all().unwrap();
    session.set(4, 1).unwrap();
    assert!(mount(beds).contains("vers=3,rsize=4096"), "{}", mount(beds));
    // More than the server gives.
    let _ = session.set(5, 0);
    // Who works in it is not thrown out, and the setting is left as it is.
    let before = mount(beds);
    let busy = "cd /mnt/films && sleep 600 >/dev/null 2>&1 & echo $!";
    let process = beds.on("knobs/client", busy);
    let failure = session.set(0, 1).unwrap_err();
    assert!(failure.happened.contains("busy"), "{failure}");
    assert_eq!(mount(beds), before);
    beds.on("knobs/client", &format!("kill {}", process.trim()));
    session.restore_all().unwrap();
    assert_eq!(mount(beds), found);
    nothing_is_left(beds, "client");
    let other = self::session(beds, "client", &[("mount:/proc:rsize", &["4096"])]).err().unwrap();
    assert_eq!(other.cause, Cause::NotPermitted, "{other}");
}

fn a_killed_run_leaves_the_mount_as_it_was(beds: &Beds) {
    let found = mount(beds);
    for moment in 0..4_u64 {
        let sets = ["rsize=4096,8192", "nconnect=2,3", "actimeo=1,2"];
        let sets = sets.map(|set| format!("lab://knobs/client/mount:/mnt/films:{set}"));
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let mut setter = Setter::start(&beds.program, TEST, None, &sets);
        setter.wait_for("set");
        std::thread::sleep(Duration::from_millis(130 * moment));
        setter.kill();
        if moment == 3 {
            // Between unmounting and mounting, where the kill may have come just then.
            beds.on("knobs/client", "umount /mnt/films || ! grep /mnt/films /proc/mounts");
        }
        let restored = beds.program.run(&["restore", "lab://knobs/client"]).expect(0);
        assert_eq!(mount(beds), found, "moment {moment}: {}", restored.out);
        nothing_is_left(beds, "client");
    }
}

/// Its kernel has forgotten what was set; nothing is set there that nobody would undo.
fn a_host_that_was_started_anew_is_left_as_it_is(beds: &Beds) {
    beds.on("knobs/client", "umount -l /mnt/films");
    let found = server(beds);
    let knobs: [(&str, &[&str]); 2] =
        [("nfsd-threads", &["5", "1"]), ("nfsd-max-block-size", &["8192", "4096"])];
    let mut session = session(beds, "server", &knobs).unwrap();
    for factor in [0, 1] {
        session.set(factor, 0).unwrap();
    }
    super::settings::cut_power(beds, "knobs/server");
    let started = server(beds);
    assert!(started.starts_with("3\n") && !started.contains("\n8192\n"), "{started}, {found}");
    for factor in [0, 1] {
        let failure = session.set(factor, 1).unwrap_err();
        assert!(failure.happened.contains("has rebooted"), "{failure}");
    }
    session.restore_all().unwrap();
    assert_eq!(server(beds), started);
    nothing_is_left(beds, "server");
}
