//! A server in a machine of its own with an NFS export as a user has it, and a plan that varies two settings
//! of it: one in a file on its disk, one in its kernel's memory.

use super::Plimsoll;
use super::beds::Beds;
use super::lab_file::LabFile;
use std::fs;
use std::path::PathBuf;

/// What must outlive a power cut lies on disks.
fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .disk("state", "16MiB", "/var/lib/plimsoll")
        .disk("exports", "16MiB", "/etc/exports.d")
        .disk("films", "128MiB", "/srv/films")
        .nfsd(2, &["3"], "/srv/other", "rw,sync,no_root_squash")
        .machine("client", "256MiB")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
}

/// As a user has it: `async` for one client, and no word of it for another.
pub const EXPORTS: &str = "# films\n/srv/films 10.0.0.0/8(rw,async,no_root_squash,no_subtree_check,insecure) \\\n  \
                           10.99.0.9(ro,no_subtree_check) # the living room\n";

/// A few seconds.
const PLAN: &str = r#"about = "two settings of a server"
on = ["lab://run/client"]
watch = ["lab://run/server"]

[variable.blocks]
about = "how many"

[[target]]
name = "films"
url = "nfs://server/srv/films?uid=0&gid=0"

[[job]]
kind = "scan"
directories = 2
files = 3
workers = 1

[[job]]
kind = "copy"
dataset = "pictures"
scale = 0.001
only = "up"
method = "rsync"

[[factor]]
name = "export"
setting = "export-sync:/srv/films"
host = "lab://run/server"
levels = ["sync", "async"]

[[factor]]
name = "threads"
setting = "nfsd-threads"
host = "lab://run/server"
levels = ["as-found", 4]

[rule]
repeats = "${blocks}"
time = "1s"
baseline = "0s"
timeout = "60s"
"#;

/// The server as `lab://run/server`.
pub const SERVER: &str = "lab://run/server";

/// What is set of a server: the file of its exports, what is in force of it, and its threads.
pub type State = [String; 3];

/// Brings the lab up, and gives it the user's exports; the plan's file.
pub fn up(beds: &Beds) -> String {
    beds.up("run", &lab());
    let write = "printf '%s' \"$0\" >/etc/exports.d/films.exports; exportfs -ra; sync";
    beds.lab(&["exec", "run/server", "--", "/bin/sh", "-c", write, EXPORTS]).expect(0);
    let [file, in_force, threads] = state(beds);
    assert_eq!((&*file, in_force.lines().count(), &*threads), (EXPORTS, 2, "2\n"));
    beds.file("plan", PLAN)
}

/// What is set now.
pub fn state(beds: &Beds) -> State {
    [
        "cat /etc/exports.d/films.exports",
        "grep '^/srv/films[[:space:]]' /var/lib/nfs/etab | sort",
        "cat /proc/fs/nfsd/threads",
    ]
    .map(|line| beds.on("run/server", line))
}

/// What undo journals hold, on the server and on this machine.
pub fn journals(beds: &Beds, program: &Plimsoll) -> (String, Vec<PathBuf>) {
    let there = beds.on("run/server", "ls /var/lib/plimsoll | grep json || true");
    let here = fs::read_dir(program.home().join("plimsoll/settings"));
    (there, here.into_iter().flatten().flatten().map(|entry| entry.path()).collect())
}
