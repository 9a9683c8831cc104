use super::*;
use plimsoll_model::{MountCommand, MountWire};
use proptest::prelude::*;

const MOUNTINFO: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:40 / /mnt/my\\040films rw,relatime shared:2 - nfs4 nas:/volume1/films rw,vers=4.2
41 22 0:41 / /mnt/smb rw,relatime shared:3 - cifs //NAS/films rw,vers=3.1.1
42 22 0:42 / /mnt/smb rw,relatime shared:3 - smb3 //nas/music/jazz rw
";

/// Two mounts as Linux 6.1 writes them, with two of their operations each.
const MOUNTSTATS: &str = "\
device /dev/vda mounted on / with fstype ext4
device nas:/volume2 mounted on /mnt/other with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=1048576,wsize=1048576
\tage:\t4711
\tper-op statistics
\t        READ: 1 1 0 1 1 1 1 1 0
device nas:/volume1/films mounted on /mnt/my\\040films with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t100
\tcaps:\tcaps=0x3ffbffff,wtmult=512,dtsize=1048576,bsize=0,namlen=255
\tnfsv4:\tbm0=0xfdffbfff,bm1=0xf9be3e
\tevents:\t5 0 0 0 1 3 4 0 0 1 0 0 0 0 2 0 0 1 0 0 0 0 0 0 0 0 0
\tbytes:\t4096 8192 0 0 4096 8192 1 2
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 769 1 2 0 0 40 40 0 40 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 1 1 0
\t        READ: 12 13 1 1536 49536 3 40 45 2
\t     OLD_OP: 5 5 0 100 200 1 2 3
";

const STATS: &str = "\
Resources in use
CIFS Session: 1
Share (unique mount targets): 2
SMB Request/Response Buffer: 1 Pool size: 5
SMB Small Req/Resp Buffer: 1 Pool size: 30
Operations (MIDs): 0

0 session 0 share reconnects
Total vfs operations: 1632 maximum at one time: 3

Max requests in flight: 9
Total time spent processing by command. Time units are jiffies (250 per second)
  SMB3 CMD\tNumber\tTotal Time\tFastest\tSlowest
  --------\t------\t----------\t-------\t-------
  8\t\t900\t20\t\t0\t1
1) \\\\nas\\films
SMBs: 1024
Bytes read: 1048576  Bytes written: 0
Open files: 0 total (local), 0 open on server
TreeConnects: 1 total 0 failed
Creates: 40 total 2 failed
Reads: 900 total 0 failed
Writes: 0 total 0 failed
2) \\\\nas\\music\tDISCONNECTED
SMBs: 5
Reads: 3 total 1 failed
";

#[test]
fn the_mount_that_a_path_is_on() {
    let found = |path: &str| table::mount_of(MOUNTINFO, path).map(|m| (m.point, m.source));
    let mount = |point: &str, source: &str| Some((point.to_owned(), source.to_owned()));
    assert_eq!(found("/mnt/my films/a"), mount("/mnt/my films", "nas:/volume1/films"));
    assert_eq!(found("/mnt/my films"), mount("/mnt/my films", "nas:/volume1/films"));
    assert_eq!(found("/mnt/my filmsx"), mount("/", "/dev/vda"));
    assert_eq!(found("/mnt/smb/x"), mount("/mnt/smb", "//nas/music/jazz"), "the last hides others");
    assert_eq!(table::mount_of("nonsense", "/"), None);
}

#[test]
fn operations_of_an_nfs_mount() {
    let operations = nfs::operations(MOUNTSTATS, "/mnt/my films").unwrap();
    assert_eq!(operations.keys().collect::<Vec<_>>(), ["NULL", "OLD_OP", "READ"]);
    let read = operations["READ"];
    assert_eq!((read.count, read.errors), (12, 2));
    let wire = MountWire {
        transmissions: 13,
        timeouts: 1,
        sent_bytes: 1536,
        received_bytes: 49_536,
        queue_seconds: 0.003,
        round_trip_seconds: 0.04,
        execution_seconds: 0.045,
    };
    assert_eq!(read.wire, Some(wire));
    assert_eq!(operations["OLD_OP"].errors, 0, "before Linux 5.3");
    assert_eq!(nfs::operations(MOUNTSTATS, "/mnt"), None);
    assert_eq!(nfs::operations(MOUNTSTATS, "/"), None, "ext4 keeps no account");
}

#[test]
fn operations_of_an_smb_share() {
    let films = cifs::operations(STATS, "//NAS/films/").unwrap();
    assert_eq!((films["Reads"].count, films["Creates"].errors), (900, 2));
    assert!(!films.contains_key("SMBs") && !films.contains_key("Open files"));
    let jazz = cifs::operations(STATS, "//nas/music/jazz").unwrap();
    assert_eq!((jazz["Reads"].count, jazz["Reads"].errors), (3, 1));
    assert_eq!(cifs::operations(STATS, "//nas/other"), None);
}

/// Command 8 of MS-SMB2 is READ; what comes below the shares of a server is another one's.
#[test]
fn times_of_smb_are_those_of_the_server_above_the_share() {
    let times = |stats: &str, source| cifs::operations(stats, source).unwrap()["Reads"].command;
    let reads = MountCommand { count: 900, seconds: 0.08 };
    assert_eq!(times(STATS, "//nas/films"), Some(reads));
    assert_eq!(times(STATS, "//nas/music"), Some(reads), "also of its second share");
    assert!(cifs::operations(STATS, "//nas/films").unwrap()["Creates"].command.is_none());
    let other = STATS.replace("nas", "other").replace("\t900\t20", "\t7\t50");
    let both = format!("{STATS}{other}");
    assert_eq!(times(&both, "//nas/films"), Some(reads));
    assert_eq!(times(&both, "//other/films"), Some(MountCommand { count: 7, seconds: 0.2 }));
    let again = format!("{STATS}3) \\\\nas\\films\nSMBs: 4\nReads: 11 total 2 failed\n");
    assert_eq!(times(&again, "//nas/films"), Some(reads), "once, though there are two sessions");
    for (from, to) in [("(250 per", "(0 per"), ("(250 per", "(x per"), ("Total time", "No time")] {
        assert_eq!(times(&STATS.replace(from, to), "//nas/films"), None, "{to}");
    }
    let slow = STATS.replace("\t900\t20", "\t900\t18446744073709551616");
    assert_eq!(times(&slow, "//nas/films"), None, "more than the kernel can count");
}

#[test]
fn times_of_smb_between_two_looks() {
    let account = |text: &str| MountAccount {
        file_system: "cifs".into(),
        operations: cifs::operations(text, "//nas/films").unwrap(),
    };
    let later = STATS.replace("\t900\t20", "\t950\t45").replace("Reads: 900", "Reads: 940");
    let (from, to) = (account(STATS), account(&later));
    let reads = between(&from, &to).unwrap().operations["Reads"];
    assert_eq!((reads.count, reads.command), (40, Some(MountCommand { count: 50, seconds: 0.1 })));
    assert_eq!(between(&to, &from), None, "mounted anew");
}

#[test]
fn older_kernels_and_older_dialects_of_smb() {
    let old = STATS.replace(" total ", " sent ");
    assert_eq!(cifs::operations(&old, "//nas/films"), cifs::operations(STATS, "//nas/films"));
    let first = "\
1) \\\\nas\\films
SMBs: 1024 Oplocks breaks: 0
Reads:  7 Bytes: 28672
Writes: 5 Bytes: 20480
Flushes: 2
Locks: 0 HardLinks: 0 Symlinks: 0
Posix Opens: 9 Posix Mkdirs: 0
FindFirst: 3 FNext 0 FClose 0";
    let operations = cifs::operations(first, "//nas/films").unwrap();
    let counts: Vec<(&str, u64)> =
        operations.iter().map(|(name, operation)| (name.as_str(), operation.count)).collect();
    assert_eq!(counts, [("Flushes", 2), ("Reads", 7), ("Writes", 5)]);
}

/// Two sessions, of two users for example, have the same share each.
#[test]
fn sessions_of_one_share_are_added_up() {
    let two = format!("{STATS}3) \\\\nas\\films\nSMBs: 4\nReads: 11 total 2 failed\n");
    let films = cifs::operations(&two, "//nas/films").unwrap();
    assert_eq!((films["Reads"].count, films["Reads"].errors), (911, 2));
}

#[test]
fn between_two_looks() {
    let account = |text: &str| MountAccount {
        file_system: "nfs4".into(),
        operations: nfs::operations(text, "/mnt/my films").unwrap(),
    };
    let later = MOUNTSTATS.replace("12 13 1 1536 49536 3 40 45 2", "22 24 1 2816 90816 5 70 79 2");
    let (from, to) = (account(MOUNTSTATS), account(&later));
    let load = between(&from, &to).unwrap();
    assert_eq!(load.operations.keys().collect::<Vec<_>>(), ["READ"], "what happened");
    let read = load.operations["READ"];
    let wire = read.wire.unwrap();
    assert_eq!((read.count, read.errors, wire.transmissions, wire.timeouts), (10, 0, 11, 0));
    assert_eq!((wire.queue_seconds, wire.round_trip_seconds), (0.002, 0.03));
    assert_eq!(between(&to, &from), None, "mounted anew");
}

#[test]
fn the_account_of_a_directory() {
    let texts = MountTexts {
        mountinfo: MOUNTINFO.into(),
        mountstats: MOUNTSTATS.into(),
        cifs_stats: STATS.into(),
    };
    let account = |directory: &str| account(&texts, directory);
    let films = account("/mnt/my films/2024").unwrap();
    assert_eq!((films.file_system.as_str(), films.operations["READ"].count), ("nfs4", 12));
    let jazz = account("/mnt/smb").unwrap();
    assert_eq!((jazz.file_system.as_str(), jazz.operations["Reads"].count), ("smb3", 3));
    assert_eq!(account("/home"), None, "ext4 keeps no account");
    assert_eq!(super::account(&MountTexts::default(), "/mnt/smb"), None);
}

/// A second mount on the same point hides the first, and what comes after it is not its own.
#[test]
fn the_last_mount_on_a_point_counts() {
    let twice = format!(
        "{MOUNTSTATS}{}no device mounted on /proc with fstype proc\n\t  WRITE: 1 1 0 1 1 1 1 1 0\n",
        MOUNTSTATS.replace("12 13 1", "5 5 0")
    );
    let operations = nfs::operations(&twice, "/mnt/my films").unwrap();
    assert_eq!(operations["READ"].count, 5);
    assert!(!operations.contains_key("WRITE"));
}

/// What Linux 6.1 said after `find -ls` had walked over 500 directories of ten files, in three versions of NFS
/// and over SMB.
const SEEN: [&str; 3] = [
    include_str!("../../tests/mounts/linux-6.1-nfs3.txt"),
    include_str!("../../tests/mounts/linux-6.1-nfs4.1.txt"),
    include_str!("../../tests/mounts/linux-6.1-nfs4.2.txt"),
];
const SEEN_OF_SMB: &str = include_str!("../../tests/mounts/linux-6.1-cifs.txt");

#[test]
fn every_version_of_nfs_as_a_kernel_has_it() {
    for (text, listing) in SEEN.into_iter().zip(["READDIRPLUS", "READDIR", "READDIR"]) {
        let operations = nfs::operations(text, "/mnt/nfs").unwrap();
        let each = |name: &str| operations[name].count;
        assert_eq!((each(listing), each("ACCESS"), each("LOOKUP")), (502, 502, 1), "{listing}");
        assert!((502..=503).contains(&each("GETATTR")) && each("READ") == 0);
        let wire = operations[listing].wire.unwrap();
        assert_eq!(wire.transmissions, 502);
        assert!(wire.execution_seconds > wire.round_trip_seconds && wire.queue_seconds < 0.1);
        let lines = text.lines().filter(|line| line.starts_with('\t') && line.contains(": "));
        let figures = lines.filter(|line| line.split_ascii_whitespace().count() == 10).count();
        assert_eq!(operations.len(), figures, "each line that has nine figures");
    }
}

#[test]
fn smb_as_a_kernel_has_it() {
    let operations = cifs::operations(SEEN_OF_SMB, "//server/data").unwrap();
    let command = |name: &str| operations[name].command.unwrap();
    assert_eq!((operations["Creates"].count, operations["QueryInfos"].count), (994, 494));
    assert_eq!(command("Creates"), MountCommand { count: 994, seconds: 22.356 });
    assert_eq!(command("QueryDirectories"), MountCommand { count: 1005, seconds: 19.232 });
    assert_eq!(operations["Flushes"].count, 0);
}

/// What a kernel said, with one of its lines cut off, doubled, or its figures out of all bounds.
#[test]
fn accounts_that_are_damaged_do_no_harm() {
    // As of the mounts that the table of mounts has.
    let placed = |text: &str| {
        text.replace("/mnt/nfs", "/mnt/my\\040films").replace("server\\data", "nas\\music")
    };
    for text in SEEN.into_iter().chain([SEEN_OF_SMB]).map(placed) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let half = line.get(..line.len() / 2).unwrap_or("");
            for instead in [half, &line.repeat(2), &line.replace('0', "99999999999999999999")] {
                let mut changed = lines.clone();
                changed[number] = instead;
                let changed = changed.join("\n");
                for directory in ["/mnt/my films", "/mnt/smb"] {
                    let looks = [directory, MOUNTINFO, &text, &text, &changed, &changed];
                    fuzzing::texts(looks.join("\0").as_bytes());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn garbage_is_refused_without_panic(
        text in "((device |mounted on |with fstype nfs|per-op statistics|[0-9]\\) |READ:|total|failed|\\\\[0-9]{0,3}| - |/|[0-9]{1,20})[ \n\t]?){0,30}"
    ) {
        let _ = table::mount_of(&text, "/x");
        let _ = nfs::operations(&text, "/");
        let _ = cifs::operations(&text, "//a/b");
        let looks = [MOUNTINFO, MOUNTSTATS, STATS, &text, &text].join("\0");
        for directory in ["/mnt/my films", "/mnt/smb"] {
            fuzzing::texts(format!("{directory}\0{looks}").as_bytes());
            fuzzing::texts(format!("{directory}\0{text}\0{looks}").as_bytes());
        }
    }
}
