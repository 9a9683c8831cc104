//! Read-ahead of the kernel's client on a mount through a path of 5 ms: it shows where reads go through the page
//! cache, and has no part in those that bypass it.

use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use plimsoll_model::{Ended, Measure, Metric, Outcome, Study};
use plimsoll_testkit::Need;

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "256MiB")
        .nfsd(4, &["3"], "/srv/data", "rw,async,no_root_squash")
        .machine("client", "256MiB")
        .mount_nfs("/mnt/films", "server:/srv/data", "vers=3")
        .link("lan", ["server", "client"])
        .set("delay", "2500us")
        .set("rate", "200Mbit/s")
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn read_ahead_shows_through_the_page_cache_alone() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::with_runner();
    beds.up("read-ahead", &lab());
    let faster = |cache: &str| {
        let set = "--set=lab://read-ahead/client/read-ahead:/mnt/films=0,1024";
        // No trial reads the files a second time: 25 MB at most go through the link in a second. The second time they
        // come from the page cache, however they were read at first.
        let what = ["--pattern=sequential-read", "--block=4KiB", "--workers=1", "--size=32MiB"];
        let how = ["--repeats=4", "--time=1s", "--baseline=0s", "--timeout=60s", cache, set];
        let words =
            [&["check", "--quiet", "--on=lab://read-ahead/client", "/mnt/films"][..], &what, &how];
        beds.program.run(&words.concat()).expect(0);
        let study = beds.program.latest();
        assert_eq!(study.ended, Ended::Done);
        let (off, on) = (level(&study, 0), level(&study, 1));
        eprintln!("{cache}: {:.3} MB/s without read-ahead, {:.3} with 1 MiB", off / 1e6, on / 1e6);
        on / off
    };
    // Without it each page takes a round trip of its own.
    let (page, direct) = (faster("--cache=page"), faster("--cache=direct"));
    assert!(page > 2.0 && page > 2.0 * direct, "{page} and {direct} times as fast");
    beds.lab(&["down", "read-ahead"]).expect(0);
}

/// The geometric mean of the throughput under a setting.
fn level(study: &Study, setting: u16) -> f64 {
    let trials = study.trials.iter().filter(|trial| trial.cell.setting == setting);
    let rates: Vec<f64> = trials
        .map(|trial| {
            assert_eq!(trial.result.outcome, Outcome::Complete);
            trial.result.value(0, Metric::all(Measure::THROUGHPUT)).unwrap().ln()
        })
        .collect();
    (rates.iter().sum::<f64>() / rates.len() as f64).exp()
}
