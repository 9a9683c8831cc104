//! A run varies the rules of a router. At random moments it is killed, its path is cut, or the router loses its power:
//! the rules and the files in /etc are as before, and the next run starts without `--force`: `make measure-router`.

use super::super::kept::setting;
use super::super::support::beds::Beds;
use super::super::support::{ended, wait_until_within};
use super::measure_router::{load, rules, up};
use super::saved::Machines;
use super::settings::cut_power;
use plimsoll_testkit::{Need, available};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fs;
use std::time::Duration;

const ROUTER: &str = "lab://home/r";
const SEED: u64 = 37;
/// How long a run may take until it has changed the rules.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Killed,
    /// Both links of the router go down, and come back once the run has ended.
    Cut,
    PowerCut,
}

fn ruleset(beds: &Beds) -> String {
    beds.on("home/r", "nft list ruleset")
}

fn state(beds: &Beds) -> String {
    beds.on("home/r", "nft list ruleset; find /etc -type f -exec sha256sum {} + | sort")
}

/// Settings that are not undone yet, as this machine knows them and as the router does.
fn journals(beds: &Beds) -> usize {
    let here = fs::read_dir(beds.program.home().join("plimsoll/settings"));
    let there = beds.on("home/r", "find /var/lib/plimsoll -name '*.json' 2>/dev/null || true");
    here.into_iter().flatten().count() + there.lines().count()
}

/// Interrupts as many runs as `PLIMSOLL_MOMENTS` says.
fn interrupted(end: End) {
    if ![Need::Machines, Need::Namespaces].into_iter().all(available) {
        return;
    }
    let Machines { beds, .. } = &up();
    match end {
        // A router that boots has the rules of its boot.
        End::PowerCut => cut_power(beds, "home/r"),
        End::Killed | End::Cut => load(beds, &rules(50)),
    }
    let levels = [60, 70].map(|count| beds.file(&format!("rules-{count}"), &rules(count)));
    let set = format!("--set={ROUTER}/nft-ruleset={}", levels.join(","));
    let words: Vec<&str> =
        ["net", "lab://home/a", "lab://home/b", "--via=lab://home/r", "--frames=512", &set]
            .into_iter()
            .chain(["--direction=out", "--quick", "--repeats=6", "--max-time=10min", "--quiet"])
            .collect();
    let (before, own_rules) = (state(beds), ruleset(beds));
    let mut random = Pcg64::seed_from_u64(setting("PLIMSOLL_SEED", SEED));
    let (moments, mut by_itself) = (setting("PLIMSOLL_MOMENTS", 20), 0);
    for moment in 0..moments {
        let mut run = beds.program.start(&words);
        wait_until_within(PATIENCE, "the run has changed the rules", || {
            ruleset(beds) != own_rules || run.try_wait().expect("its state").is_some()
        });
        if let Some(status) = run.try_wait().expect("its state") {
            let ran = ended(run);
            panic!("moment {moment}: {status}: {}{}", ran.out, ran.err);
        }
        std::thread::sleep(Duration::from_millis(random.random_range(0..3000)));
        let said = match end {
            End::Killed => {
                run.kill().expect("it is killed");
                run.wait().expect("it ends");
                String::new()
            }
            End::Cut => {
                beds.on("home/r", "ip link set left down; ip link set right down");
                let ran = ended(run);
                beds.on("home/r", "ip link set left up; ip link set right up");
                format!("exit code {:?}: {}", ran.code, ran.err)
            }
            End::PowerCut => {
                cut_power(beds, "home/r");
                let ran = ended(run);
                format!("exit code {:?}: {}", ran.code, ran.err)
            }
        };
        by_itself += u32::from(journals(beds) == 0);
        let restored = beds.program.run(&["restore"]).expect(0).out;
        eprintln!("{end:?} {moment}: {}; {}", said.trim(), restored.trim());
        assert_eq!(state(beds), before, "{end:?} {moment}: {restored}");
        assert_eq!(journals(beds), 0, "{end:?} {moment}: {restored}");
    }
    eprintln!("{end:?}: {moments} of {moments} restored, {by_itself} of them before `restore`");
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_after_kills() {
    interrupted(End::Killed);
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_after_cuts() {
    interrupted(End::Cut);
}

#[test]
#[ignore = "machines take minutes: make measure-router"]
fn measure_router_after_power_cuts() {
    interrupted(End::PowerCut);
}
