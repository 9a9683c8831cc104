//! `plimsoll check` on a real SMB server, beside NFS, end to end.

mod support;

use plimsoll_load::{OpenOptions, Passwords};
use plimsoll_model::{OpKind, Stability, Study};
use plimsoll_smb::SigningAlgorithm;
use plimsoll_testkit::responder::smb::SmbResponder;
use plimsoll_testkit::responder::{self, Costs};
use plimsoll_testkit::servers::samba::{Encryption, PASSWORD, Signing};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, Stage, enter_or_skip};
use std::collections::HashSet;
use support::content::assert_same_for_another_client;
use support::sound::{SHORT, assert_sound, shorter, with};
use support::trial::{job, result, target};
use support::{Plimsoll, ended, interrupted, listing, run_directories, signal, wait_until};

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD)
}

fn serve(stage: &Stage, share: SambaShare) -> Samba {
    Samba::start(stage, SambaConfig::one(share)).unwrap()
}

#[test]
fn five_patterns_on_smb_and_nfs_with_one_folder_behind_both() {
    let stage = enter_or_skip!(Need::Samba, Need::Ganesha);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("my films Ü"))).unwrap();
    let folder = nfs.directory("my films Ü").unwrap();
    std::fs::write(folder.join("holiday.txt"), "not plimsoll's").unwrap();
    let smb = serve(&stage, SambaShare::existing("backups", folder));
    let before = listing(folder);
    let program = program();
    let (nfs_url, smb_url) = (nfs.url("my films Ü"), smb.url("backups"));
    let arguments = with(&["check", &nfs_url, &smb_url, "--verify", "--json=-"], &SHORT);
    let ran = program.run(&arguments).expect(0);
    let study: Study = serde_json::from_str(&ran.out).expect("standard output is the study alone");
    assert_eq!(study.trials.len(), 2 * 5 * 3);
    assert_sound(&study);
    for block in 0..3 {
        let in_block = study.trials.iter().filter(|t| t.block == Some(block));
        let cells: HashSet<_> =
            in_block.map(|t| (t.cell.subject, job(&study, t).pattern)).collect();
        assert_eq!(cells.len(), 10, "every cell once in block {block}");
    }
    let facts = target(&study, 1);
    assert_eq!(facts.protocol, "SMB 3.1.1, signed with AES-128-GMAC".into());
    assert_eq!((&*facts.given, &*facts.client_cache), (&*smb_url, "none"));
    let wire = study.trials.iter().find(|t| t.cell.subject == 1).unwrap();
    assert!(result(wire).ops.values().any(|o| o.rpc_latency.is_some()), "SMB has RPC latencies");

    let shown = program.run(&["show", "--details"]).expect(0).out;
    for word in ["Sequential read", "Random mixed", "NFSv3", "SMB 3.1.1", "Method"] {
        assert!(shown.contains(word), "{word} in:\n{shown}");
    }
    assert_eq!(listing(folder), before, "the folder is as it was");
}

/// A file of the user's on shares that nobody may write to, the same one behind all three.
#[test]
fn a_file_is_read_in_place_where_nothing_can_be_written() {
    let stage = enter_or_skip!(Need::Samba, Need::Ganesha);
    let export = Export::directory("films").read_only();
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(export)).unwrap();
    let folder = nfs.directory("films").unwrap().to_owned();
    let smb = serve(&stage, SambaShare::existing("films", &folder).read_only());
    let mounted = std::path::Path::new("/run/read-only");
    std::fs::create_dir(mounted).unwrap();
    for words in [["--bind", folder.to_str().unwrap()], ["-o", "remount,bind,ro"]] {
        let mount = std::process::Command::new("mount").args(words).arg(mounted).status();
        assert!(mount.unwrap().success(), "mount {words:?}");
    }
    // Not a whole number of blocks.
    std::fs::create_dir(folder.join("new")).unwrap();
    let content: Vec<u8> = (0..(9 << 20) + 12_345_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(folder.join("new/Übung 1.mkv"), content).unwrap();
    let before = (listing(&folder), changed(&folder));

    let program = program();
    let targets = [nfs.url("films"), smb.url("films"), mounted.to_str().unwrap().to_owned()];
    for target in &targets {
        let ran = program.run(&with(&["check", target], &SHORT)).expect(5);
        assert!(ran.err.contains("read-only") && ran.err.contains("--file"), "{}", ran.err);
        let directory = "It is a directory: name a file in it.";
        for (file, why) in
            [("new/missing", "new/missing"), ("new", directory), ("../films", "films")]
        {
            let ran = program.run(&["check", target, "--file", file]);
            assert!(ran.code.is_some_and(|code| (1..=5).contains(&code)), "{file}: {ran:?}");
            assert!(ran.err.contains(why) && ran.err.contains("next:"), "{file}: {}", ran.err);
        }
    }
    let short = ["--file=new/Übung 1.mkv", "--repeats=2", "--time=300ms", "--baseline=0s", "-q"];
    let mut arguments = vec!["check"];
    arguments.extend(targets.iter().map(String::as_str));
    arguments.extend(short);
    let ran = program.run(&arguments).expect(0);
    let study = program.latest();
    assert_eq!(study.trials.len(), 3 * 2 * 2, "the patterns that read");
    for trial in &study.trials {
        let job = job(&study, trial);
        assert!(job.pattern.reads() && !job.pattern.writes());
        let unit = job.block.0 * 4;
        assert_eq!(job.size.0, ((9 << 20) + 12_345) / unit * unit, "as much as there is");
        let reads = &result(trial).ops[&OpKind::READ];
        assert!(reads.count > 0 && reads.errors.is_empty(), "{reads:?}");
        assert_eq!(reads.bytes, reads.count * job.block.0);
    }
    assert_eq!(study.subjects.len(), 3);
    for number in 0..3 {
        let read = target(&study, number).in_place.as_ref().expect("the study says what was read");
        assert_eq!((&*read.file, read.size.0), ("new/Übung 1.mkv", (9 << 20) + 12_345));
    }
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1.mkv (9.01 MiB) in place and writes nothing"), "{}", ran.out);
    let shared = program.run(&["report", "--redact", "--output=-"]).expect(0).out;
    assert!(shared.contains("in place") && !shared.contains("Übung"), "a name is redacted");

    for (refused, why) in [
        (
            ["--pattern=random-read,random-mixed", "-q"],
            "random-mixed writes, but --file only reads",
        ),
        (["--verify", "-q"], "--verify"),
    ] {
        let mut arguments = vec!["check", &targets[0], "--file=new/Übung 1.mkv"];
        arguments.extend(refused);
        let ran = program.run(&arguments).expect(2);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    assert_eq!((listing(&folder), changed(&folder)), before);

    // Nor is anything made where it could be.
    let ran = program.run(&[
        "check",
        folder.to_str().unwrap(),
        "--size=8MiB",
        short[0],
        "--quick",
        "--time=100ms",
        "-q",
    ]);
    ran.expect(0);
    let study = program.latest();
    assert_eq!(job(&study, &study.trials[0]).size.0, 8 << 20);
    assert_eq!((listing(&folder), changed(&folder)), before);
}

/// When names in a directory changed last.
fn changed(directory: &std::path::Path) -> std::time::SystemTime {
    std::fs::metadata(directory).unwrap().modified().unwrap()
}

/// Every dialect, signed and encrypted in each way it has, with every byte checked.
#[test]
fn every_dialect_signed_and_encrypted() {
    let stage = enter_or_skip!(Need::Samba);
    let shares =
        [SambaShare::new("films"), SambaShare::new("sealed").encryption(Encryption::Required)];
    let server = Samba::start(&stage, SambaConfig::new(shares)).unwrap();
    let program = program();
    for (share, options, protocol) in [
        ("films", "vers=2.0.2&sign=off", "SMB 2.0.2, not signed"),
        ("films", "vers=2.1", "SMB 2.1, signed with HMAC-SHA256"),
        ("films", "vers=2.0.2&sign=on", "SMB 2.0.2, signed with HMAC-SHA256"),
        ("films", "vers=2.1&sign=on", "SMB 2.1, signed with HMAC-SHA256"),
        ("films", "vers=3.0&sign=on", "SMB 3.0, signed with AES-128-CMAC"),
        ("films", "vers=3.0.2&encrypt=on", "SMB 3.0.2, encrypted with AES-128-CCM"),
        ("films", "vers=3.1.1&sign=on", "SMB 3.1.1, signed with AES-128-GMAC"),
        ("films", "encrypt=on", "SMB 3.1.1, encrypted with AES-128-GCM"),
        ("sealed", "sign=off", "SMB 3.1.1, encrypted with AES-128-GCM"),
    ] {
        let url = format!("{}?{options}", server.url(share));
        let tiny = [
            "--pattern=sequential-write,random-mixed",
            "--block=16KiB",
            "--size=2MiB",
            "--workers=2",
            "--depth=3",
            "--repeats=1",
            "--time=500ms",
            "--baseline=0s",
            "--verify",
            "--quiet",
        ];
        program.run(&with(&["check", &url], &tiny)).expect(0);
        let study = program.latest();
        assert_sound(&study);
        assert_eq!(target(&study, 0).protocol, protocol.into(), "{url}");
        assert_eq!(listing(&server.directory(share).unwrap()), vec![], "{url}");
    }
}

#[test]
fn stable_writes_and_guests_and_servers_that_insist_on_signing() {
    let stage = enter_or_skip!(Need::Samba);
    let share = SambaShare::new("films").guest_ok();
    let config = SambaConfig::one(share).signing(Signing::Mandatory);
    let server = Samba::start(&stage, config).unwrap();
    let signed = program();
    let arguments = |url: &str| {
        with(&["check", url, "--pattern=random-write", "--stability=filesync", "--verify"], &SHORT)
    };
    signed.run(&arguments(&server.url("films"))).expect(0);
    let study = signed.latest();
    assert_sound(&study);
    assert_eq!(target(&study, 0).protocol, "SMB 3.1.1, signed with AES-128-GMAC".into());
    assert_eq!(job(&study, &study.trials[0]).stability, Stability::FileSync);
    drop(server);

    let share = SambaShare::new("films").guest_ok();
    let server = Samba::start(&stage, SambaConfig::one(share).guests()).unwrap();
    // Nobody is asked for a password.
    let guest = Plimsoll::new();
    guest.run(&arguments(&server.guest_url("films"))).expect(0);
    let study = guest.latest();
    assert_sound(&study);
    let facts = target(&study, 0);
    assert!(facts.notes.iter().any(|n| n == "as a guest"), "{facts:?}");
    // A user whom the server does not know is a guest only where that is allowed.
    let stranger = server.guest_url("films").replace("smb://", "smb://stranger@");
    signed.run(&arguments(&format!("{stranger}?guest=allow"))).expect(0);
    let study = signed.latest();
    let facts = target(&study, 0);
    assert_eq!(facts.protocol, "SMB 3.1.1, not signed".into());
    let note = "the server treats stranger as a guest";
    assert!(facts.notes.iter().any(|n| n == note), "{facts:?}");
    assert_eq!(listing(&server.directory("films").unwrap()), vec![]);
}

#[test]
fn a_second_client_reads_what_plimsoll_wrote() {
    let stage = enter_or_skip!(Need::Samba, Need::Smbclient);
    let server = serve(&stage, SambaShare::new("films"));
    let disk = server.directory("films").unwrap();
    let program = program();
    let got = program.home().join("got");
    let read = |path: &str| {
        let command = format!("get \"{path}\" \"{}\"", got.display());
        let read = server.smbclient("films").unwrap().args(["-c", &command]).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
        std::fs::read(&got).unwrap()
    };
    assert_same_for_another_client(&program, &server.url("films"), &disk, read);
}

#[test]
fn plimsoll_reads_what_a_second_client_wrote() {
    let stage = enter_or_skip!(Need::Samba, Need::Smbclient);
    let server = serve(&stage, SambaShare::new("films"));
    let there = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> =
        (0..3_000_001u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let local = there.path().join("film");
    std::fs::write(&local, &bytes).unwrap();
    let command = format!("put \"{}\" film", local.display());
    let put = server.smbclient("films").unwrap().args(["-c", &command]).output().unwrap();
    assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stdout));
    let options = OpenOptions {
        passwords: Passwords::new(|_| Ok(PASSWORD.into())),
        ..OpenOptions::default()
    };
    for protection in ["sign=on", "encrypt=on"] {
        let target = format!("{}?{protection}", server.url("films")).parse().unwrap();
        let share = plimsoll_load::open(&target, &options).unwrap();
        let read = share.namespace().unwrap().read_small("film", bytes.len() + 1).unwrap();
        assert!(read == bytes, "{} of {} bytes, or others", read.len(), bytes.len());
    }
}

#[test]
fn interrupts_keep_what_was_measured_and_leave_nothing() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("films"));
    let disk = server.directory("films").unwrap();
    interrupted::assert_keeps_trials(program, &server.url("films"), &disk);
}

/// A server that is stopped for 4 s, while a trial of half a second is under way or between two: the screen
/// begins with it, and the stall is kept with its length. The second before a block, in which nothing is
/// requested, is not part of it.
#[test]
fn a_server_that_stands_still_is_named_on_the_screen() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("films"));
    let url = server.url("films");
    let program = program();
    let arguments = [
        "check",
        &url,
        "--size=8MiB",
        "--pattern=random-read",
        "--repeats=12",
        "--time=500ms",
        "--quiet",
    ];
    let child = program.start(&arguments);
    wait_until("two trials are kept", || support::rows::trials(&program) >= 2);
    server.freeze().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    server.thaw().unwrap();
    let ran = ended(child).expect(0);
    assert!(ran.out.contains("The server did not answer for "), "{}", ran.out);
    let study = program.latest();
    let stalls: Vec<_> = study.trials.iter().flat_map(|t| &t.result.parts[0].stalls).collect();
    let longest = stalls.iter().map(|stall| stall.seconds).fold(0.0, f64::max);
    assert!(longest > 2.5, "{stalls:?}");
}

#[test]
fn a_killed_run_is_cleaned_over_smb_and_a_live_one_is_not() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("films"));
    let folder = server.directory("films").unwrap();
    std::fs::write(folder.join("holiday.txt"), "not plimsoll's").unwrap();
    let before = listing(&folder);
    let (url, program) = (server.url("films"), program());
    let arguments = ["check", &url, "--size=8MiB", "--repeats=1000", "--time=300ms"];
    let child = program.start(&[&arguments[..], &["--baseline=0s", "--quiet"]].concat());
    wait_until("a trial is kept", || support::rows::trials(&program) >= 1);
    let cleaned = program.run(&["clean", &url]).expect(0);
    assert!(cleaned.out.contains("its run is still alive"), "{}", cleaned.out);
    signal(&child, "-KILL");
    ended(child);
    assert_eq!(run_directories(&folder).len(), 1);
    let cleaned = program.run(&["clean", &url]).expect(0);
    assert!(cleaned.out.contains("removed .plimsoll-"), "{}", cleaned.out);
    assert_eq!(listing(&folder), before);
}

/// Many servers hide names with a dot at their beginning, or refuse them.
#[test]
fn a_share_that_refuses_names_with_a_dot_is_measured_and_cleaned() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage, SambaShare::new("films").line("veto files = /.*/"));
    let folder = server.directory("films").unwrap();
    let (url, program) = (server.url("films"), program());
    program.run(&with(&["check", &url], &SHORT)).expect(0);
    let copy = ["copy", &url, "--dataset=pictures", "--count=3", "--mean=4KiB"];
    program
        .run(&[&copy[..], &["--quiet", "--repeats=1", "--baseline=0s", "--method=rsync"]].concat())
        .expect(0);
    assert_eq!(listing(&folder), vec![], "nothing is left");
    let arguments = ["check", &url, "--size=8MiB", "--repeats=1000", "--time=300ms"];
    let child = program.start(&[&arguments[..], &["--baseline=0s", "--quiet"]].concat());
    wait_until("a trial is kept", || support::rows::trials(&program) >= 3);
    let cleaned = program.run(&["clean", &url]).expect(0);
    assert!(cleaned.out.contains("its run is still alive"), "{}", cleaned.out);
    signal(&child, "-KILL");
    ended(child);
    let cleaned = program.run(&["clean", &url]).expect(0);
    assert!(cleaned.out.contains("removed plimsoll-"), "{}", cleaned.out);
    assert_eq!(listing(&folder), vec![]);
}

/// The server in this program needs nobody's, so this runs everywhere.
#[test]
fn what_the_server_in_the_program_keeps_is_verified() {
    let short = shorter("--repeats=1", "--repeats=3");
    for (signing, name) in
        [(SigningAlgorithm::AesGmac, "AES-128-GMAC"), (SigningAlgorithm::AesCmac, "AES-128-CMAC")]
    {
        let server = SmbResponder::start(signing, Costs::FREE).unwrap();
        let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", responder::smb::PASSWORD);
        let url = server.url();
        program.run(&with(&["check", &url, "--verify"], &short)).expect(0);
        let study = program.latest();
        assert_sound(&study);
        assert_eq!(target(&study, 0).protocol, format!("SMB 3.1.1, signed with {name}").into());
        assert_eq!(server.names(), [""; 0], "the share is as it was");
    }
}
