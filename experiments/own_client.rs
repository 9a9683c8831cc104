//! plimsoll's own client beside the kernel's in a lab, on NFS 3, NFS 4.1 and SMB: how long the server takes for
//! the same call, and what only one of them sends.

use crate::kept::{load_average, place, setting, until_quiet};
use crate::support::Plimsoll;
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{BothClients, both_clients};
use plimsoll_model::{Outcome, Study, SubjectFacts};
use plimsoll_record::{Store, StudyStore};
use plimsoll_testkit::{Need, available};

/// Where processors are emulated, they are some ten times slower than real ones: so the delay is that of a
/// home's network ten times, too.
pub fn lab(delay: &str) -> LabFile {
    LabFile::new()
        .machine("server", "512MiB")
        .disk("data", "256MiB", "/srv/data")
        .nfsd(8, &["3", "4.1"], "/srv/data", "rw,async,no_root_squash")
        .samba("data", "/srv/data")
        .machine("client", "512MiB")
        .mount_nfs("/mnt/nfs3", "server:/srv/data", "vers=3")
        .mount_nfs("/mnt/nfs4", "server:/srv/data", "vers=4.1")
        .mount_smb("/mnt/smb", "server:data", "vers=3.1.1")
        .link("lan", ["server", "client"])
        .set("rate", "1Gbit/s")
        .set("delay", delay)
}

/// The kernel's server takes at most so much in one call as its memory allows, which here is less than 1 MiB:
/// it is told otherwise while it stands still.
const LARGE: &str = "rpc.nfsd 0; echo 1048576 >/proc/fs/nfsd/max_block_size; rpc.nfsd -V 3 -V 4.1 8
    test -w /proc/fs/nfsd/v4_end_grace && echo Y >/proc/fs/nfsd/v4_end_grace; true";
const AGAIN: &str = "umount /mnt/nfs3 /mnt/nfs4
    mount -t nfs -o vers=3,nolock server:/srv/data /mnt/nfs3
    mount -t nfs -o vers=4.1 server:/srv/data /mnt/nfs4; grep -o 'vers=[^,]*,rsize=[0-9]*' /proc/mounts";

/// Mounts, and the same by plimsoll's client: the kernel's does not sign unless it must.
pub const PAIRS: [(&str, &str); 3] = [
    ("/mnt/nfs3", "nfs://server/srv/data?vers=3&uid=0&gid=0"),
    ("/mnt/nfs4", "nfs://server/srv/data?vers=4.1&uid=0&gid=0"),
    ("/mnt/smb", "smb://plimsoll@server/data?sign=off"),
];
/// Each with its block.
const PATTERNS: [(&str, &str); 2] = [("random-read", "4KiB"), ("sequential-read", "1MiB")];
/// Blocks of a study at most.
const BLOCKS: u64 = 30;
/// How far apart the server's times may be.
const CLOSE: f64 = 0.1;

/// Samba's user in labs has a password of this name.
pub fn beds() -> Beds {
    Beds::with_program(Plimsoll::new().with("PLIMSOLL_PASSWORD", "plimsoll"))
}

/// What is to be said of the server's time of the call that a pattern is made of.
fn verdict(both: &BothClients) -> String {
    let call = ["READ", "Reads"].into_iter().find_map(|name| both.calls.get(name));
    let Some(call) = call else { return "no reads".to_owned() };
    let times = [call.own, call.kernel].map(|side| {
        let server = side.and_then(|side| side.server);
        server.map_or_else(|| "no time".to_owned(), |time| format!("{:.3} ms", 1e3 * time.value))
    });
    let Some(ratio) = call.ratio else { return format!("{} and {}", times[0], times[1]) };
    let Some(interval) = ratio.interval else { return format!("ratio {:.3}", ratio.value) };
    let within = interval.high <= 1.0 + CLOSE && interval.low >= 1.0 / (1.0 + CLOSE);
    let outside = interval.low > 1.0 + CLOSE || interval.high < 1.0 / (1.0 + CLOSE);
    format!(
        "{} and {}, ratio {:.3} [{:.3}–{:.3}]: {}",
        times[0],
        times[1],
        ratio.value,
        interval.low,
        interval.high,
        match (within, outside) {
            (true, _) => "within 10%",
            (_, true) => "NOT within 10%",
            _ => "not resolved",
        }
    )
}

fn show(study: &Study) {
    for both in both_clients(study) {
        let workload = study.plan.workload(both.own).expect("the plan has the trial's workload");
        let given = |subject: u16| {
            let facts = study.subjects.get(usize::from(subject)).and_then(SubjectFacts::storage);
            facts.map_or_else(String::new, |facts| facts.given.clone())
        };
        println!(
            "{}, {} and {}: {}",
            workload.parts[0].job.title(),
            given(both.own.subject),
            given(both.mounted.subject),
            verdict(&both)
        );
        for (kernel, who) in [(true, "the kernel's client"), (false, "plimsoll's client")] {
            let only = both.only(kernel).into_iter();
            let only: Vec<String> = only.map(|(name, each)| format!("{name} {each:.4}")).collect();
            if !only.is_empty() {
                println!("    {who} alone, for each operation: {}", only.join(", "));
            }
        }
    }
}

#[test]
#[ignore = "machines take minutes: make measure-own-client"]
fn measure_own_client_beside_the_kernels() {
    if !available(Need::Machines) {
        return;
    }
    let beds = beds();
    beds.up("own", &lab("2ms"));
    beds.on("own/server", LARGE);
    println!("{}", beds.on("own/client", AGAIN).trim());
    let kept = place("own-client.db");
    for (pattern, block) in PATTERNS {
        until_quiet();
        println!("{pattern} of {block}, load average {}", load_average());
        let mut words = vec!["check".to_owned(), "--on=lab://own/client".to_owned()];
        words.extend(PAIRS.iter().flat_map(|(mount, url)| [mount, url]).map(|t| t.to_string()));
        words.extend([format!("--pattern={pattern}"), format!("--block={block}")]);
        words.push(format!("--repeats={}", setting("PLIMSOLL_CASES", BLOCKS)));
        words.push(format!("--db={}", kept.display()));
        let fixed = ["--workers=1", "--depth=1", "--size=16MiB", "--time=2s", "--baseline=0s"];
        words.extend(fixed.iter().chain(&["--max-time=1h", "--quiet"]).map(|w| (*w).to_owned()));
        let ran = beds.program.run(&words);
        assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
        let study = Store::open(&kept).unwrap().load("latest").unwrap();
        let whole = study.trials.iter().filter(|t| t.result.outcome == Outcome::Complete).count();
        println!("{}\n{whole} trials", ran.out);
        show(&study);
    }
    println!("load average at the end: {}", load_average());
}
