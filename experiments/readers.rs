//! The RTEMS list's design through a link of a lab: one file read whole in small buffers by one, two and three
//! readers, in rounds and each as soon as a buffer has come, beside what one reader's costs predict.

use crate::kept::{load_average, place, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{WholeFile, WholeFiles, whole_files};
use plimsoll_model::{Arrival, Ended};
use plimsoll_record::{Store, StudyStore};
use plimsoll_stats::fit::costs::CostKind;
use plimsoll_testkit::{Need, available};

/// Where machines are emulated, a lab's link has a tenth of this rate, as processors are ten times slower. So
/// everything is ten times as slow as the list's network, and the delay that makes up what an operation costs.
fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .disk("data", "64MiB", "/srv/data")
        .nfsd(8, &["3"], "/srv/data", "rw,async,no_root_squash,insecure")
        .machine("client", "256MiB")
        .link("lan", ["server", "client"])
        .set("rate", "100Mbit/s")
        .set("delay", "500us")
}

/// The line as a cable has it: a lab's token bucket lets 16 KiB through at once, after which an idle line has caught up: a buffer and its
/// round trip overlap there, while on a cable every packet takes its time. That is what netem's own rate does.
const LINE: &str = r#"
rate=$(tc qdisc show dev lan | sed -n 's/.* rate \([^ ]*\) .*/\1/p')
tc qdisc del dev lan root
tc qdisc add dev lan root handle 1: netem limit 1000 delay 500us rate $rate
tc qdisc show dev lan"#;
const BLOCKS: u64 = 6;
/// How far the model may be off, as a share of what is measured.
const CLOSE: f64 = 0.1;

/// How a file was gone through, in words.
fn words(file: &WholeFile) -> String {
    let buffer = file.part.job.block().map_or_else(String::new, |block| block.to_string());
    let readers = file.part.depth().get();
    match file.part.arrival {
        _ if readers == 1 => format!("{buffer:>6}, 1 reader"),
        Arrival::Rounds { .. } => format!("{buffer:>6}, {readers} in batches"),
        Arrival::Closed { .. } | Arrival::Paced { .. } => {
            format!("{buffer:>6}, {readers} pipelined")
        }
    }
}

/// The table, cell by cell; those of several readers that are further off than wanted.
fn show(group: &WholeFiles) -> Vec<String> {
    let cost = |kind| group.cost(kind).map_or(f64::NAN, |cost| cost.value);
    println!(
        "an operation {:.3} ms, bytes {:.3} MB/s by one reader",
        cost(CostKind::Operation) * 1e3,
        1e-6 / cost(CostKind::Byte)
    );
    let mut off = Vec::new();
    for file in &group.files {
        let rate = file.rate.value / 1e6;
        let ends = file
            .rate
            .interval
            .map_or_else(String::new, |i| format!(" [{:.3}–{:.3}]", i.low / 1e6, i.high / 1e6));
        let error = file.error();
        println!(
            "{:24}{rate:.3} MB/s{ends}, model {:+.1}%",
            words(file),
            100.0 * error.unwrap_or(f64::NAN)
        );
        if file.part.depth().get() > 1 && error.is_none_or(|error| error.abs() > CLOSE) {
            off.push(words(file));
        }
    }
    off
}

#[test]
#[ignore = "machines take minutes: make measure-readers"]
fn measure_readers_of_a_file_on_a_link() {
    if !available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    beds.up("readers", &lab());
    for host in ["readers/server", "readers/client"] {
        println!("{host}: {}", beds.on(host, LINE).trim());
    }
    until_quiet();
    println!("load average {}", load_average());
    let kept = place("readers.db");
    let repeats = format!("--repeats={}", setting("PLIMSOLL_CASES", BLOCKS));
    let ran = beds.program.run(&[
        "ops",
        "nfs://server/srv/data?vers=3&uid=0&gid=0",
        "--on=lab://readers/client",
        "--whole-file=read",
        "--buffer=1KiB,8KiB",
        "--readers=1,2,3",
        "--arrival=rounds,pipelined",
        "--size=1MB",
        &repeats,
        "--baseline=0s",
        "--max-time=1h",
        "--details",
        "--quiet",
        &format!("--db={}", kept.display()),
    ]);
    println!("{}", ran.expect(0).out);
    let study = Store::open(&kept).unwrap().load("latest").unwrap();
    assert_eq!(study.ended, Ended::Done);
    let groups = whole_files(&study);
    let [group] = &groups[..] else { panic!("{groups:?}") };
    let off = show(group);
    match &off[..] {
        [] => println!("every cell of several readers within 10% of the model"),
        some => println!("NOT within 10%: {}", some.join("; ")),
    }
    println!("load average at the end: {}", load_average());
}
