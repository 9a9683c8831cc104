//! Power cuts in the middle of verified writes.

use super::super::support::beds::Beds;
use super::super::support::ended;
use super::super::support::lab_file::LabFile;
use super::saved::Machines;
use plimsoll_model::{OpKind, Outcome, Study};
use plimsoll_testkit::Need;
use std::time::{Duration, Instant};

/// A server with a disk of which one half is exported with `async`, and a client that mounts both.
fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .disk("data", "512MiB", "/srv/data")
        .nfsd(4, &["3"], "/srv/data/sync", "rw,sync,no_root_squash")
        .export("/srv/data/async", "rw,async,no_root_squash")
        .machine("client", "256MiB")
        .mount_nfs("/mnt/sync", "server:/srv/data/sync", "vers=3")
        .mount_nfs("/mnt/async", "server:/srv/data/async", "vers=3")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
}

/// Machines are slow where they are emulated, and slower where others work.
#[track_caller]
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(300), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A verified write through a mount while the server's power is cut; what came of it.
fn cut(beds: &Beds, what: &str) -> Study {
    let directory = format!("/mnt/{what}");
    let words = [
        "check",
        "--on=lab://cut/client",
        &directory,
        "--verify",
        "--stability=filesync",
        "--pattern=sequential-write",
        // So slow, and so much room, that nothing is written twice: what was lost stays lost.
        "--block=4KiB",
        "--size=192MiB",
        "--workers=1",
        "--repeats=1",
        "--time=120s",
        "--timeout=120s",
        "--baseline=0s",
        "--quiet",
    ];
    let checking = beds.program.start(&words);
    // Each write of the trial is a call of the server's; the files are laid out by others before.
    let writes = || -> u64 {
        let line = beds.on("cut/server", "grep '^proc3 ' /proc/net/rpc/nfsd");
        line.split(' ').nth(9).unwrap().parse().unwrap()
    };
    let laid_out =
        format!("stat -c %s /srv/data/{what}/.plimsoll-*/write-7.data 2>/dev/null || echo 0");
    wait_until("the last file is laid out", || {
        beds.on("cut/server", &laid_out).trim().parse::<u64>() == Ok(24 << 20)
    });
    let begun = writes();
    wait_until("writes are acknowledged", || writes() > begun + 300);
    beds.lab(&["reset", "cut/server"]).expect(0);
    let begun = writes();
    wait_until("it goes on", || writes() > begun + 20);
    ended(checking);
    let study = beds.program.exported("latest").unwrap();
    let written =
        study.trials[0].result.parts[0].ops.get(&OpKind::WRITE).map_or(0, |stats| stats.bytes);
    assert!(written < 192 << 20, "some was written twice: {written} bytes");
    study
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn what_a_server_called_stable_is_there_after_a_power_cut() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let machines = Machines::new();
    let beds = &machines.beds;
    beds.up("cut", &lab());
    let study = cut(beds, "sync");
    let result = &study.trials[0].result;
    assert_eq!(result.outcome, Outcome::Complete, "{result:?}");
    // A server that says stable of what lies in its memory: this is found out.
    let study = cut(beds, "async");
    let result = &study.trials[0].result;
    assert!(matches!(result.outcome, Outcome::Failed { .. }), "{result:?}");
    let said = serde_json::to_string(&result).unwrap();
    assert!(said.contains("content"), "{said}");
}
