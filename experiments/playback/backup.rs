//! A film during a full backup on one slow disk: how much slower the backup is by `play --while backup:full`, next to
//! rsync while mpv plays the same film from the same mount.

use super::beds::rate_option;
use super::mpv::{self, Observed, STOP, TOOLS};
use crate::kept::{Kept, Until, load_average, setting, until_quiet};
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::{Ratio, playback};
use plimsoll_stats::interval::ratio_interval;
use plimsoll_stats::order::generator;
use plimsoll_testkit::{Need, available};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

const CASES: u64 = 3;
/// Copies by rsync alone and during mpv, in each case.
const PAIRS: usize = 6;
/// How far the two losses may be apart, as a share.
const CLOSE: f64 = 0.1;
/// The disk, and bytes per second of the film.
const DISK: &str = "4MB/s";
const RATE: f64 = 5e5;
/// Seconds of the film that mpv plays: longer than a copy.
const FILM_SECONDS: f64 = 180.0;
/// Files that rsync copies: a quarter of those of the backup, of the same size.
const FILES: u32 = 100;
const FILE_BYTES: u32 = 250_000;
const CLIENT: &str = "backup/client";
const SERVER: &str = "backup/server";
const AT: &str = "/mnt/films";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    /// Speed of the backup during the film over that alone: an estimate, and the ends of its interval. `None` where no
    /// block has both.
    plimsoll: Option<f64>,
    ends: Option<[f64; 2]>,
    /// Seconds of rsync alone, and during mpv.
    rsync: Vec<[f64; 2]>,
    /// What mpv has shown in each pair.
    mpv: Vec<Observed>,
    load_average: String,
}

fn lab() -> LabFile {
    LabFile::new()
        .machine("server", "384MiB")
        // A backup needs space for what is copied in one trial at 110 MB/s.
        .disk("data", "3GiB", "/srv/data")
        .set("rate", DISK)
        .nfsd(8, &["3"], "/srv/data", "rw,sync,no_root_squash")
        .machine("client", "512MiB")
        .disk("tools", "1GiB", TOOLS)
        .mount_nfs(AT, "server:/srv/data", "vers=3")
        .link("cable", ["server", "client"])
}

/// mpv, its film, and what rsync copies.
fn prepare(beds: &Beds) {
    mpv::install(beds, CLIENT);
    let length = (RATE * FILM_SECONDS * 1.5) as u64;
    beds.on(SERVER, &format!("head -c {length} /dev/zero >/srv/data/film; sync"));
    beds.on(
        CLIENT,
        &format!(
            "mkdir {TOOLS}/source && cd {TOOLS}/source || exit 1
             for n in $(seq {FILES}); do head -c {FILE_BYTES} /dev/urandom >$n || exit 1; done; sync"
        ),
    );
}

/// The ratio of speeds that plimsoll finds.
fn plimsoll(beds: &Beds) -> Option<Ratio> {
    let (on, rate) = (format!("--on=lab://{CLIENT}"), rate_option(RATE));
    let ran = beds.program.run(&[
        "play",
        AT,
        &on,
        &rate,
        "--while=backup:full",
        "--player=mpv",
        "--cache=page",
        "--streams=1",
        "--size=64MiB",
        "--host=lab://backup/server",
        "--drop-caches",
        "--baseline=0s",
        "--max-time=40min",
        "--quiet",
    ]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
    println!("{}", ran.out.trim());
    let found = playback(&beds.program.latest()).into_iter().next()?;
    found.during?.work_loss.map(|(_, ratio)| ratio)
}

/// Seconds of rsync to a new directory, and what mpv has shown if it plays at the same time.
fn rsync(beds: &Beds, with_film: bool) -> (f64, Observed) {
    beds.on(SERVER, "rm -rf /srv/data/copy; sync; echo 3 >/proc/sys/vm/drop_caches");
    let (begin, end) = match with_film {
        false => (String::new(), String::new()),
        true => {
            let film = format!("{AT}/film");
            let player = mpv::line(&film, RATE, FILM_SECONDS);
            let begin = format!(
                "rm -f {STOP}\n{player} >/run/mpv.out 2>&1 &\nplayer=$!\n\
                 until grep -q ^first /run/mpv.out; do\n\
                 kill -0 $player || {{ cat /run/mpv.out; exit 1; }}\nsleep 0.2\ndone\n"
            );
            (begin, format!(">{STOP}; wait $player; cat /run/mpv.out; rm {STOP}"))
        }
    };
    let said = beds.on(
        CLIENT,
        &format!(
            "echo 3 >/proc/sys/vm/drop_caches\n{begin}read begin _ </proc/uptime\n\
             rsync -a --whole-file {TOOLS}/source/ {AT}/copy/ || exit 1\n\
             read end _ </proc/uptime\necho took $begin $end\n{end}\ntrue"
        ),
    );
    let times = said.lines().find_map(|line| {
        let (begin, end) = line.strip_prefix("took ")?.split_once(' ')?;
        Some(end.parse::<f64>().ok()? - begin.parse::<f64>().ok()?)
    });
    let observed = if with_film { mpv::observed(&said) } else { Observed::default() };
    (times.unwrap_or_else(|| panic!("no times: {said}")), observed)
}

fn case(beds: &Beds, draw: &mut impl Rng) -> Case {
    let load_average = load_average();
    let ratio = plimsoll(beds);
    let (mut pairs, mut films) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let is_first = draw.next_u32().is_multiple_of(2);
        let before = is_first.then(|| rsync(beds, true));
        let (alone, _) = rsync(beds, false);
        let (during, film) = before.unwrap_or_else(|| rsync(beds, true));
        pairs.push([alone, during]);
        films.push(film);
    }
    Case {
        plimsoll: ratio.map(|ratio| ratio.estimate),
        ends: ratio.and_then(|ratio| ratio.interval).map(|ends| [ends.low, ends.high]),
        rsync: pairs,
        mpv: films,
        load_average,
    }
}

impl Case {
    fn show(&self) {
        let logs: Vec<f64> =
            self.rsync.iter().map(|[alone, during]| (alone / during).ln()).collect();
        let Some(theirs) = ratio_interval(&logs, 0.95) else { return };
        let stalls: Option<u64> = self.mpv.iter().map(|film| film.stalls).sum();
        let stalls = stalls.map_or_else(|| "unknown".to_owned(), |stalls| stalls.to_string());
        println!(
            "rsync during mpv has {:.3} [{:.3}–{:.3}] of its speed; stalls of mpv: {stalls}; load average {}",
            theirs.estimate, theirs.low, theirs.high, self.load_average
        );
        let Some(ours) = self.plimsoll else {
            println!("play has no loss of the backup: no block has both speeds");
            return;
        };
        let ends =
            self.ends.map_or_else(String::new, |[low, high]| format!(" [{low:.3}–{high:.3}]"));
        let apart = ours / theirs.estimate - 1.0;
        let close = if apart.abs() <= CLOSE { "within 10%" } else { "NOT within 10%" };
        println!("the backup of play has {ours:.3}{ends}, {:+.1}%: {close}", 100.0 * apart);
    }
}

#[test]
#[ignore = "machines take an hour: make measure-film-backup"]
fn measure_film_backup_next_to_rsync_and_mpv() {
    if !available(Need::Machines) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", 1);
    let mut kept: Kept<Case> = Kept::open(&format!("film-backup-{seed}.jsonl"));
    let (mut up, until) = (None, Until::now());
    for number in kept.cases.len() as u64..setting("PLIMSOLL_CASES", CASES) {
        if until.is_over() {
            break;
        }
        let beds = up.get_or_insert_with(|| {
            let beds = Beds::with_runner();
            beds.up("backup", &lab());
            prepare(&beds);
            beds
        });
        until_quiet();
        kept.add(case(beds, &mut generator(seed, &format!("backup {number}"))));
    }
    kept.cases.iter().for_each(Case::show);
    println!("load average at the end: {}", load_average());
}
