//! Does a reader of the answer screen alone answer right? Twenty studies drawn by seed in a lab whose rates and
//! quotas are known: ten with a bottleneck that was made, five next to other work on this machine, five in which
//! nothing is saturated or the server is not monitored. The studies stay in one store, so that later builds show
//! them again. For each study two files are written: the screen, for a reader who sees nothing else, with the
//! questions; and how the case was made, with the details, for the person who writes down the truth first.

use crate::kept::{Kept, Until, place, setting};
use crate::support::Plimsoll;
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_stats::order::generator;
use plimsoll_testkit::{Need, enter_or_skip};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SEED: u64 = 34;

/// Cases of each circumstance.
const CASES: [(Circumstance, u64); 3] =
    [(Circumstance::Bottleneck, 10), (Circumstance::Disturbed, 5), (Circumstance::Unknown, 5)];

/// Asked about each screen, in this order. The truth is written down before anybody answers.
const QUESTIONS: &str = "
1. Which target or setting is faster, for which work?
2. By how much at least, and how sure is that?
3. What is the bottleneck of each row?
4. Do the figures come from the disk or from a cache; are writes sustained or a burst?
5. What should the user do next?
";

fn lab() -> LabFile {
    let server = |lab: LabFile, name| lab.namespace(name).set("cpu", "50%").ganesha("256MiB");
    server(server(LabFile::new(), "near"), "far")
        .namespace("client")
        .set("cpu", "50%")
        .link("short", ["near", "client"])
        .set("rate", "400Mbit/s")
        .link("long", ["far", "client"])
        .set("rate", "400Mbit/s")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Circumstance {
    /// A link or a processor is saturated, and monitored.
    Bottleneck,
    /// Other programs keep both cores of this machine busy from time to time.
    Disturbed,
    /// At a fixed rate nothing is saturated; or the saturated server is not monitored.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Command {
    CheckOne,
    CheckTwo,
    Copy,
    Operations,
}

const COMMANDS: [Command; 4] =
    [Command::CheckOne, Command::CheckTwo, Command::Copy, Command::Operations];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Case {
    seed: u64,
    number: u64,
    circumstance: Circumstance,
    command: Command,
    /// Rates of the short and the long link in Mbit/s.
    links: [u32; 2],
    /// Hundredths of a core of the near server, the far server and the client.
    quotas: [u32; 3],
    /// Operations a second where they are due at a fixed rate.
    fixed_rate: Option<u32>,
}

impl Case {
    fn drawn(seed: u64, number: u64, circumstance: Circumstance) -> Case {
        let mut draw = generator(seed, &format!("screen {number} {circumstance:?}"));
        let mut any = |low: u32, high: u32| low + draw.next_u32() % (high - low + 1);
        let mut links = [any(300, 480), any(300, 480)];
        let mut quotas = [any(35, 50), any(35, 50), any(35, 50)];
        match any(0, 3) {
            0 => links[0] = any(20, 120),
            1 => quotas[0] = any(2, 6),
            2 => quotas[2] = any(2, 6),
            _ => (links[1], quotas[1]) = (any(20, 120), any(2, 6)),
        }
        let command = COMMANDS[any(0, 3) as usize];
        let paced = circumstance == Circumstance::Unknown
            && matches!(command, Command::CheckOne | Command::CheckTwo)
            && any(0, 1) == 1;
        let fixed_rate = paced.then(|| any(20, 60));
        Case { seed, number, circumstance, command, links, quotas, fixed_rate }
    }

    fn line(&self) -> Vec<String> {
        let (near, far) = ("nfs://near/srv/data", "nfs://far/srv/data");
        let words = match self.command {
            Command::CheckOne => vec!["check", near, "--size=16MiB"],
            Command::CheckTwo => {
                vec!["check", near, far, "--label=near", "--label=far", "--size=16MiB"]
            }
            Command::Copy => vec!["copy", near],
            Command::Operations => vec!["ops", near],
        };
        let mut line: Vec<String> = words.into_iter().map(str::to_owned).collect();
        line.extend(["--on=lab://screens/client", "--quiet"].map(str::to_owned));
        line.push(format!("--seed={}", self.seed + self.number));
        let quick = self.number.is_multiple_of(2);
        line.push(if quick { "--quick" } else { "--max-time=3m" }.to_owned());
        if self.circumstance != Circumstance::Unknown || self.fixed_rate.is_some() {
            line.push("--host=lab://screens/near".to_owned());
            if self.command == Command::CheckTwo {
                line.push("--host=lab://screens/far".to_owned());
            }
        }
        if let Some(rate) = self.fixed_rate {
            line.push(format!("--rate={rate}"));
        }
        line
    }

    fn set(&self, beds: &Beds) {
        let set = |what: &str, value: String| beds.lab(&["set", "screens", what, &value]).expect(0);
        set("short", format!("rate={}Mbit/s", self.links[0]));
        set("long", format!("rate={}Mbit/s", self.links[1]));
        for (host, quota) in ["near", "far", "client"].into_iter().zip(self.quotas) {
            set(host, format!("cpu={quota}%"));
        }
    }

    /// Measures it; the study's id.
    fn measure(&self, beds: &Beds) -> Option<String> {
        self.set(beds);
        let (ended, disturbed) =
            (AtomicBool::new(false), self.circumstance == Circumstance::Disturbed);
        let busy = || {
            while disturbed && !ended.load(Relaxed) {
                std::hint::spin_loop();
            }
        };
        let ran = std::thread::scope(|scope| {
            scope.spawn(busy);
            scope.spawn(busy);
            let ran = beds.program.run(&self.line());
            ended.store(true, Relaxed);
            ran
        });
        assert!(ran.code == Some(0) || ran.code == Some(1), "{self}: {}", ran.err);
        // A run that could not begin stores no study.
        let id = beds.program.latest().id.to_string();
        ran.out.contains(&id).then_some(id)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case {
            number, circumstance, links: [short, long], quotas: [near, far, client], ..
        } = self;
        write!(
            f,
            "{number:2} {circumstance:?}: links near {short}, far {long} Mbit/s; percent of a core: near {near}, \
             far {far}, client {client}; plimsoll {}",
            self.line().join(" ")
        )
    }
}

/// A case and the id of its study.
#[derive(Serialize, Deserialize)]
struct Measured {
    case: Case,
    study: String,
}

#[test]
#[ignore = "takes an hour: make measure-screens"]
fn measure_screens() {
    enter_or_skip!(Need::Namespaces, Need::Ganesha);
    let store = place("screens.db");
    let store = store.to_str().expect("letters");
    let (seed, until) = (setting("PLIMSOLL_SEED", SEED), Until::now());
    let mut kept = Kept::<Measured>::open("screens.jsonl");
    let mut beds = None;
    for (circumstance, wanted) in CASES {
        for number in 0..setting("PLIMSOLL_CASES", wanted).min(wanted) {
            let case = Case::drawn(seed, number, circumstance);
            if kept.cases.iter().any(|measured| measured.case == case) || until.is_over() {
                continue;
            }
            let beds = beds.get_or_insert_with(|| {
                let program = Plimsoll::new().with("PLIMSOLL_DB", store);
                let beds = Beds::with_program(program.with_runner());
                beds.up("screens", &lab());
                beds
            });
            match case.measure(beds) {
                Some(study) => kept.add(Measured { case, study }),
                None => println!("{case}: no study"),
            }
        }
    }
    let program = Plimsoll::new().with("PLIMSOLL_DB", store);
    for Measured { case, study } in &kept.cases {
        let name = format!("{:?}-{}", case.circumstance, case.number);
        let screen = program.run(&["show", study]).expect(0).out;
        let details = program.run(&["show", study, "--details"]).expect(0).out;
        println!("{case}\n{screen}");
        let for_a_reader = format!("{screen}\n{QUESTIONS}");
        fs::write(place(&format!("screen-{name}.txt")), for_a_reader).expect("a file");
        let truth = format!("{case}\n\n{details}");
        fs::write(place(&format!("made-{name}.txt")), truth).expect("a file");
    }
}
