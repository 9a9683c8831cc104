//! `check --verify` against the kernel's NFS server in every version that it speaks, driven on another machine.
//! What was written there is read by the kernel's client too.

use super::super::support::beds::Beds;
use super::super::support::content::assert_own_content;
use super::super::support::lab_file::LabFile;
use super::super::support::rows::trials;
use super::super::support::{ended, signal, wait_until_within};
use plimsoll_model::{Ended, Flag, Outcome};
use plimsoll_testkit::Need;
use std::time::Duration;

/// The kernel's clients have UDP switched off, and none speaks version 2: what was written in either is
/// read in version 3.
fn lab(image: &str, versions: &[&str]) -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .set("image", image)
        .nfsd(4, versions, "/srv/data", "rw,sync,no_root_squash")
        .machine("client", "256MiB")
        .link("lan", ["server", "client"])
}

/// Bytes of what is read, and of each of the files that it lies in.
const SIZE: &str = "--size=1MiB";
const FILE: usize = (1 << 20) / 8;
/// One job that reads and one that writes.
const PATTERNS: [&str; 2] = ["random-read", "sequential-write"];
/// How long an emulated machine beside other work may take to get a block of trials done.
const PATIENCE: Duration = Duration::from_secs(240);

/// How a directory is measured, and in which version the kernel's client reads it meanwhile.
struct Way {
    options: &'static str,
    protocol: &'static str,
    read_by: &'static str,
}

const fn way(options: &'static str, protocol: &'static str, read_by: &'static str) -> Way {
    Way { options, protocol, read_by }
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn versions_3_to_4_2_of_the_kernels_server() {
    let ways = [
        way("vers=3", "NFSv3 over TCP", "4.2"),
        way("vers=4.0", "NFSv4.0 over TCP", "3"),
        way("vers=4.1", "NFSv4.1 over TCP", "4.0"),
        way("vers=4.2", "NFSv4.2 over TCP", "4.1"),
    ];
    // Nobody may reclaim what was open: it is opened again, and in 4.0 it is nobody's open file.
    let restart = "rpc.nfsd 0; rpc.nfsd -L 10 -G 10 -V 3 -V 4.0 -V 4.1 -V 4.2 4
        echo Y >/proc/fs/nfsd/v4_end_grace";
    check("debian", &["3", "4.0", "4.1", "4.2"], &ways, Some(restart));
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn version_2_and_udp_of_the_kernels_server() {
    let ways = [
        way("vers=2", "NFSv2 over TCP", "3"),
        way("vers=2&proto=udp", "NFSv2 over UDP", "3"),
        way("vers=3&proto=udp", "NFSv3 over UDP", "3"),
    ];
    check("debian-old", &["2", "3"], &ways, None);
}

/// With `restart`, lines of shell, the server is started anew in mid-run.
fn check(image: &str, versions: &[&str], ways: &[Way], restart: Option<&str>) {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::with_runner();
    beds.up("nfs", &lab(image, versions));
    let urls: Vec<String> = ways
        .iter()
        .map(|way| format!("nfs://server/srv/data?{}&uid=0&gid=0", way.options))
        .collect();
    let words = [SIZE, "--verify", "--on=lab://nfs/client", "--block=32KiB", "--time=500ms"];
    let more = ["--workers=2", "--depth=4", "--repeats=1000", "--baseline=0s", "--timeout=60s"];
    let mut words = [&["check", "--quiet"][..], &words, &more].concat();
    words.extend(urls.iter().map(String::as_str));
    let patterns = format!("--pattern={}", PATTERNS.join(","));
    words.push(&patterns);
    let mut child = beds.program.start(&words);
    let block = PATTERNS.len() * ways.len();
    let mut wait_for = |what: &str, wanted: usize| {
        let mut ended = false;
        wait_until_within(PATIENCE, what, || {
            // To look takes a processor that the machines need.
            std::thread::sleep(Duration::from_millis(500));
            ended = child.try_wait().unwrap().is_some();
            ended || trials(&beds.program) >= wanted
        });
        !ended
    };
    // Until all files are laid out, and all of them were read and written.
    let mut runs = wait_for("a block of trials is kept", block);
    let directories = beds.on("nfs/server", "cd /srv/data; ls -d .plimsoll-* || true");
    let directories: Vec<&str> = directories.lines().collect();
    if runs {
        for (number, (directory, way)) in directories.iter().zip(ways).enumerate() {
            read_by_the_kernel(&beds, directory, number, way.read_by);
        }
    }
    if let (Some(restart), true) = (restart, runs) {
        let before = trials(&beds.program);
        beds.on("nfs/server", restart);
        // Those that were not used again by then, are in cleaning up.
        runs = wait_for("trials are kept after a restart", before + block);
    }
    if runs {
        signal(&child, "-INT");
    }
    ended(child).expect(130);
    assert_eq!(directories.len(), ways.len(), "one for each target");
    let study = beds.program.latest();
    assert_eq!(study.ended, Ended::Interrupted);
    let protocols = study.subjects.iter().map(|of| of.storage().expect("storage").protocol.clone());
    assert!(protocols.eq(ways.iter().map(|way| way.protocol.into())));
    let mut complete = 0;
    for trial in &study.trials {
        let result = &trial.result;
        let wrong = |flag: &Flag| matches!(flag, Flag::BadContent { .. });
        assert!(!result.flags.iter().any(wrong), "{:?}", result.flags);
        match &result.outcome {
            Outcome::Complete => complete += 1,
            // The one that was under way at the end.
            other => assert_eq!(other, &Outcome::Stopped),
        }
    }
    assert!(complete >= block * if restart.is_some() { 2 } else { 1 }, "{complete}");
    assert_eq!(beds.on("nfs/server", "ls -A /srv/data"), "", "nothing is left");
    beds.lab(&["down", "nfs"]).expect(0);
}

/// The files that are read and never written, through a mount of their own: as the program writes them.
fn read_by_the_kernel(beds: &Beds, directory: &str, number: usize, version: &str) {
    let options =
        if version == "3" { "vers=3,nolock,proto=tcp" } else { &format!("vers={version}") };
    let at = format!("/mnt/{number}");
    let lines = format!(
        "mkdir {at} && mount -t nfs -o {options} server:/srv/data {at} >&2 &&
        cat {at}/{directory}/read-?.data && umount {at}"
    );
    let words = ["lab", "exec", "nfs/client", "--", "/bin/sh", "-c", &lines];
    let ran = beds.program.command(&words).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{directory} in version {version}: {err}");
    assert_eq!(ran.stdout.len(), 8 * FILE, "{directory} in version {version}");
    for file in ran.stdout.chunks(FILE) {
        assert_own_content(file, directory);
    }
}
