//! What `check --job database` says of a mount, next to what sqlite3 does there: the kernel's clients of NFS 4.1 and
//! SMB, and SMB without locks at the server (`nobrl`).

use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use super::super::support::unwrapped;
use plimsoll_testkit::Need;

/// Where it is mounted, and the answer.
const MOUNTS: [(&str, &str); 3] = [
    ("/mnt/nfs", "Safe for a database: locks keep a second program out."),
    ("/mnt/smb", "SQLite on Linux fails here with \"database is locked\""),
    ("/mnt/nobrl", "Safe for a database only if all programs run on this host"),
];
const LOCKED: &str = "database is locked";

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "384MiB")
        .nfsd(4, &["4.1"], "/srv/data", "rw,sync,no_root_squash")
        .samba("data", "/srv/data")
        .machine("client", "384MiB")
        .mount_nfs("/mnt/nfs", "server:/srv/data", "vers=4.1")
        .mount_smb("/mnt/smb", "server:data", "vers=3.1.1")
        .mount_smb("/mnt/nobrl", "server:data", "vers=3.1.1,nobrl")
        .link("lan", ["server", "client"])
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_mount_on_which_sqlite_fails_is_named() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::with_runner();
    beds.up("databases", &lab());
    for (at, answer) in MOUNTS {
        let line = format!(
            "cd {at} && rm -f one.db && sqlite3 -bail one.db \
             'CREATE TABLE pages (body); INSERT INTO pages VALUES (1); UPDATE pages SET body = 2; \
             SELECT body FROM pages' 2>&1; rm -f one.db one.db-journal"
        );
        let sqlite = beds.on("databases/client", &line);
        let is_locked = sqlite.contains(LOCKED);
        assert!(is_locked || sqlite.trim() == "2", "{at}: {sqlite}");
        let what = ["check", at, "--on=lab://databases/client", "--job=database", "--workers=1"];
        let how = ["--size=1MiB", "--repeats=2", "--time=2s", "--baseline=0s", "--quiet"];
        let ran = beds.program.run(&[&what[..], &how].concat()).expect(0);
        let said = unwrapped(&ran.out);
        assert_eq!(said.contains(LOCKED), is_locked, "{at}: {sqlite}\n{}", ran.out);
        assert!(said.contains(answer), "{at}: {}", ran.out);
    }
    beds.lab(&["down", "databases"]).expect(0);
}
