//! `plimsoll check` on a real NFS server and on a directory, end to end.

mod support;

use plimsoll_model::units::Bytes;
use plimsoll_model::{Flag, Job, Layout, NfsVersion, OpKind, Pattern, StoredOn, Study};
use plimsoll_testkit::clients::nfs_cat;
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use support::content::assert_same_for_another_client;
use support::sound::{SHORT, assert_complete, assert_sound, shorter, with};
use support::trial::{job, part, result, target};
use support::{Plimsoll, ended, listing, read_files, unwrapped, wait_until};

#[test]
fn five_patterns_on_ganesha_and_a_directory() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server =
        Ganesha::start(&stage, GaneshaConfig::one(Export::directory("my films Ü"))).unwrap();
    let exported = server.directory("my films Ü").unwrap();
    std::fs::write(exported.join("holiday.txt"), "not plimsoll's").unwrap();
    let plain = tempfile::tempdir().unwrap();
    let before = listing(exported);
    let url = server.url("my films Ü");
    let directory = plain.path().to_str().unwrap();

    let program = Plimsoll::new();
    let ran =
        program.run(&with(&["check", &url, directory, "--verify", "--json=-"], &SHORT)).expect(0);
    let study: Study = serde_json::from_str(&ran.out).expect("standard output is the study alone");
    assert_eq!(study.trials.len(), 2 * 5 * 3);
    assert_sound(&study);
    for block in 0..3 {
        let cells: HashSet<_> = study
            .trials
            .iter()
            .filter(|t| t.block == Some(block))
            .map(|t| (t.cell.subject, job(&study, t).pattern))
            .collect();
        assert_eq!(cells.len(), 10, "every cell once in block {block}");
    }
    let nfs = target(&study, 0);
    assert!(nfs.protocol.nfs_version() == Some(NfsVersion::V3), "{nfs:?}");
    // On a busy machine the probe may not be able to tell; it must never take a tmpfs for a disk.
    assert!(matches!(nfs.reads_from, Some(StoredOn::ServerMemory | StoredOn::Unknown)));
    let wire = study.trials.iter().find(|t| t.cell.subject == 0).unwrap();
    assert!(result(wire).ops.values().any(|o| o.rpc_latency.is_some()), "NFS has RPC latencies");

    let shown = program.run(&["show", "--details"]).expect(0).out;
    for word in ["Sequential read", "Random mixed", "NFSv3", "directory"] {
        assert!(shown.contains(word), "{word} in:\n{shown}");
    }
    assert!(program.run(&["list"]).expect(0).out.contains(&study.id.0));
    assert_eq!(listing(exported), before, "the export is as it was");
    assert_eq!(listing(plain.path()), vec![], "the directory is as it was");
}

/// Whoever measures a directory in memory is told so, once, whatever is done there.
#[test]
fn a_directory_in_memory_is_never_taken_for_a_disk() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let program = Plimsoll::new();
    for pattern in ["random-read", "sequential-write"] {
        let words = ["check", directory.path().to_str().unwrap(), "--pattern", pattern];
        let screen = program.run(&with(&words, &SHORT)).expect(0).out;
        let study = program.latest();
        assert_eq!(target(&study, 0).reads_from, Some(StoredOn::ClientMemory));
        let about = |flag: &&Flag| {
            matches!(flag, Flag::ClientMemory { surely: true, .. } | Flag::WorkingSet { .. })
        };
        let flags: Vec<_> = study.flags.iter().filter(about).collect();
        assert!(matches!(flags[..], [Flag::ClientMemory { .. }]), "{flags:?}");
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        // However busy the machine is.
        for part in [
            "client memory",
            "came from the client's memory, not from the storage.",
            "It is a file system in memory: give a directory on a disk.",
        ] {
            assert!(screen.contains(part), "{part} in:\n{screen}");
        }
        assert!(!screen.contains("server's memory"), "{screen}");
    }
}

#[test]
fn the_order_is_the_seeds_and_changes_from_block_to_block() {
    let plain = tempfile::tempdir().unwrap();
    let directory = plain.path().to_str().unwrap();
    // The order is that of trials of any length.
    let short = SHORT.map(|word| if word == "--time=500ms" { "--time=200ms" } else { word });
    let order = || {
        let program = Plimsoll::new();
        program.run(&with(&["check", directory, "--json=-"], &short)).expect(0);
        let study = program.latest();
        study.trials.iter().map(|t| job(&study, t).pattern).collect::<Vec<Pattern>>()
    };
    let first = order();
    assert_eq!(first, order());
    assert!(first[..5] != first[5..10] || first[..5] != first[10..], "three equal shuffles");
}

#[test]
fn a_second_client_reads_what_plimsoll_wrote() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let disk = server.directory("films").unwrap();
    let read = |path: &str| nfs_cat(&server.libnfs_url("films", path)).unwrap();
    assert_same_for_another_client(&Plimsoll::new(), &server.url("films"), disk, read);
}

#[test]
fn plimsoll_reads_what_a_second_client_wrote() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Libnfs);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let there = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> =
        (0..3_000_001u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let local = there.path().join("film");
    std::fs::write(&local, &bytes).unwrap();
    let copied = Command::new("nfs-cp")
        .arg(&local)
        .arg(server.libnfs_url("films", "film"))
        .output()
        .unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let target = server.url("films").parse().unwrap();
    let share = plimsoll_load::open(&target, &plimsoll_load::OpenOptions::default()).unwrap();
    let read = share.namespace().unwrap().read_small("film", bytes.len() + 1).unwrap();
    assert!(read == bytes, "{} of {} bytes, or others", read.len(), bytes.len());
}

#[test]
fn io_uring_and_psync_are_driven_and_named() {
    let plain = tempfile::tempdir().unwrap();
    let directory = plain.path().to_str().unwrap();
    let short = shorter("--repeats=1", "--repeats=3");
    for (engine, word) in [("psync", "psync"), ("io-uring", "io_uring")] {
        let program = Plimsoll::new();
        let engine = format!("--engine={engine}");
        program
            .run(&with(&["check", directory, &engine, "--depth=4", "--verify"], &short))
            .expect(0);
        let study = program.latest();
        assert_sound(&study);
        let used = &target(&study, 0).engine;
        assert!(used.contains(word), "{used}");
    }
}

#[test]
fn the_published_layout_shares_one_file() {
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let directory = plain.path().to_str().unwrap();
    let short = shorter("--repeats=1", "--repeats=3");
    program.run(&with(&["check", directory, "--design=jonfk2024"], &short)).expect(0);
    let study = program.latest();
    assert!(study.trials.iter().all(|t| job(&study, t).layout == Layout::Shared));
    assert_sound(&study);
}

#[test]
fn two_studies_are_compared() {
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let directory = plain.path().to_str().unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        program.run(&with(&["check", directory, "--pattern=random-read"], &SHORT)).expect(0);
        ids.push(program.latest().id.0);
    }
    let said = program.run(&["compare", &ids[0], &ids[1]]).expect(0).out;
    assert!(said.contains("random read"), "{said}");
    let csv = program.run(&["export", &ids[0], "--csv"]).expect(0).out;
    assert_eq!(csv.lines().count(), 1 + 3, "a header and a row a trial:\n{csv}");
    assert!(csv.lines().next().unwrap().contains("throughput_bytes_per_second"));
}

#[test]
fn a_pipe_that_closes_breaks_nothing() {
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let directory = plain.path().to_str().unwrap();
    let mut child = program.start(&with(&["check", directory, "--pattern=random-read"], &SHORT));
    drop(child.stdout.take());
    ended(child).expect(0);
    assert_eq!(program.latest().trials.len(), 3, "the study is kept all the same");
    assert!(Path::new(directory).read_dir().unwrap().next().is_none());
}

/// A page goes bad, or another's content appears in its place, while the file is read.
#[test]
fn corrupt_and_misplaced_content_is_found_and_told_apart() {
    // Five seconds is what it has by itself.
    let baseline = thorough::shorter("--baseline=1s", "--baseline=5s");
    let time = thorough::shorter("--time=5s", "--time=8s");
    for (word, other) in [("corrupt", false), ("misplaced", true)] {
        let plain = tempfile::tempdir().unwrap();
        let program = Plimsoll::new();
        let child = program.start(&[
            "check",
            plain.path().to_str().unwrap(),
            "--pattern=random-read",
            "--verify",
            "--size=4MiB",
            "--repeats=1",
            time,
            baseline,
            "--engine=psync",
            "--quiet",
        ]);
        wait_until("the files are laid out", || read_files(plain.path(), 4 << 20).is_some());
        // One of eight: the trial reads them all, one after the other.
        let file = read_files(plain.path(), 4 << 20).unwrap().swap_remove(3);
        let data = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
        let mut page = [0x5a; 4096];
        if other {
            data.read_exact_at(&mut page, 256 << 10).unwrap();
        }
        data.write_all_at(&page, 128 << 10).unwrap();
        let ran = ended(child).expect(1);
        let study = program.latest();
        let errors = &result(&study.trials[0]).ops[&OpKind::READ].errors;
        assert_eq!(errors.len(), 1, "{errors:?}");
        let (kind, count) = errors.first_key_value().unwrap();
        assert!(kind.to_string().contains(word) && *count > 0, "{errors:?}");
        assert!(ran.out.contains(word), "{}", ran.out);
        assert_eq!(listing(plain.path()), vec![]);
    }
}

#[test]
fn a_quick_look_says_what_it_cannot_resolve() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = Plimsoll::new();
    let screen = program
        .run(&[
            "check",
            one.path().to_str().unwrap(),
            other.path().to_str().unwrap(),
            "--quick",
            // Half of the time that it has by itself: with more, it resolves more.
            "--max-time=30s",
            "--pattern=random-read",
            "--time=500ms",
            "--size=8MiB",
            "--quiet",
        ])
        .expect(0)
        .out;
    let said = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("A quick look of "), "{screen}");
    // "45%", or "4.58x" on a busy machine.
    let (_, rest) = said.split_once(" may not decide differences below ").expect("a difference");
    let (difference, _) = rest.split_once(". ").expect("a sentence");
    let figure = difference.strip_suffix(['%', 'x']).expect("a share or a factor");
    assert!(figure.parse::<f64>().is_ok_and(|figure| figure > 0.0), "{screen}");
}

/// A quick scan took 121 s, half of them to create its tree. And names came from this machine's cache in one trial and
/// from the disk in the next, without a word.
#[test]
fn a_quick_scan_has_a_small_tree_and_says_whether_its_names_are_cached() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    // plimsoll's own client has no cache.
    for (target, is_cached) in
        [(plain.path().to_str().unwrap(), true), (&*server.url("films"), false)]
    {
        // A screen has room for a few warnings; the details have all.
        let words =
            ["check", target, "--quick", "--job=scan", "--max-time=6s", "--quiet", "--details"];
        let details = unwrapped(&program.run(&words).expect(0).out);
        let study = program.latest();
        assert_complete(&study);
        let Job::Scan(scan) = &part(&study.plan.workloads[0]).job else { panic!("a scan") };
        assert_eq!((scan.directories, scan.files), (10, 20));
        for words in ["was answered from a warm cache", "run again with --drop-caches"] {
            assert_eq!(details.contains(words), is_cached, "{words} in: {details}");
        }
    }
}

/// The stop rule ends the study, or the cap does and says so: which of them is for the machine to
/// decide. That the cap ends it at a whole block is tested on a clock of its own (`conduct`).
#[test]
fn the_stop_rule_and_the_cap() {
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let directory = plain.path().to_str().unwrap();
    let ran = program
        .run(&[
            "check",
            directory,
            "--pattern=random-read",
            "--time=200ms",
            "--size=8MiB",
            thorough::shorter("--max-time=7s", "--max-time=12s"),
            // Five seconds is what it has by itself.
            thorough::shorter("--baseline=1s", "--baseline=5s"),
            "--margin=0.5",
            "--quiet",
        ])
        .expect(0);
    let study = program.latest();
    let blocks = study.trials.len();
    match study.ended {
        plimsoll_model::Ended::Done => assert!(blocks >= 6, "the pilot is six blocks"),
        plimsoll_model::Ended::CapReached => {
            assert!(ran.out.contains("The time limit ended the study"), "{}", ran.out);
        }
        ended => panic!("{ended:?}"),
    }
    assert!(blocks >= 1, "a study without a figure helps nobody");
}

/// A file system that has not room for the usual files, over NFS and as the directory that it is:
/// one file system for both, in every mode.
#[test]
fn sizes_adapt_to_the_space_that_there_is() {
    let stage = enter_or_skip!(Need::Ganesha);
    let small = Export::directory("small").size(40 << 20);
    let server = Ganesha::start(&stage, GaneshaConfig::one(small)).unwrap();
    let (url, folder) = (server.url_with_ports("small"), server.directory("small").unwrap());
    let directory = folder.to_str().unwrap();
    let program = Plimsoll::new();
    let usual = ["--quiet", "--time=200ms", "--baseline=0s"];
    let (one, both) = ([&[&*url][..], &[directory]], [&*url, directory]);
    for (mode, targets) in [
        (&["--repeats=1"][..], &one[..]),
        (&["--repeats=1", "--design=jonfk2024"], &[&both]),
        (&["--quick"], &[&both]),
        (&["--max-time=5s", "--margin=0.5", "--pattern=random-mixed"], &[&both]),
    ] {
        for targets in targets {
            let ran = program
                .run(&[&["check", "--details"][..], targets, &usual, mode].concat())
                .expect(0);
            let study = program.latest();
            assert_complete(&study);
            let wanted = Bytes(1 << 30);
            let fitted = study.flags.iter().find_map(|flag| match flag {
                Flag::SizeFitted { wanted: from, used, .. } if *from == wanted => Some(*used),
                _ => None,
            });
            let used = fitted.unwrap_or_else(|| panic!("{mode:?}: {:?}", study.flags));
            let held = 2 * used.0 * targets.len() as u64;
            assert!(held <= 40 << 20 && 4 * held >= 40 << 20, "{used} on {targets:?}");
            assert!(ran.out.contains("instead of 1 GiB"), "{}", ran.out);
            assert_eq!(listing(folder), vec![]);
        }
    }
    // What the user named is not changed: what would fit is named, and that does.
    let named = |size: &str| {
        program.run(&[&["check", &url, directory, size, "--repeats=1"][..], &usual].concat())
    };
    let refused = named("--size=64MiB").expect(6);
    let words = refused.err.split("give --size ").nth(1).expect("what would fit is named");
    let fits = format!("--size={}", words.split(' ').next().unwrap());
    named(&fits).expect(0);
    assert_eq!(listing(folder), vec![]);
}

/// A copy has no size to choose: what helps is room, or other files.
#[test]
fn a_copy_that_does_not_fit_is_refused_with_what_helps() {
    let stage = enter_or_skip!();
    let small = stage.tmpfs("/run/small", 8 << 20).unwrap();
    let target = small.path().to_str().unwrap();
    let program = Plimsoll::new();
    let films = program.home().join("films");
    std::fs::create_dir(&films).unwrap();
    let film = |name: &str| std::fs::write(films.join(name), vec![7; 2 << 20]).unwrap();
    let data = format!("--data={}", films.display());
    let copy = |more: &[&str]| {
        let usual = ["copy", target, &data, "--quiet", "--repeats=1", "--baseline=0s"];
        program.run(&[&usual[..], more].concat())
    };
    film("one");
    copy(&[]).expect(0);
    ["two", "three", "four"].iter().for_each(|name| film(name));
    for way in [&[][..], &["--only=up"], &["--only=down"]] {
        let refused = copy(way).expect(6).err;
        assert!(refused.contains("copy a smaller --data directory"), "{refused}");
        assert!(!refused.contains("--size"), "copy has no such option: {refused}");
        assert_eq!(listing(small.path()), vec![], "nothing was begun");
    }
}
