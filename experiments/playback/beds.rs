//! Labs whose capacity for films is known: a link, a server's processor, or its disk is short.

use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use crate::support::unwrapped;
use plimsoll_explain::{Playback, playback};
use plimsoll_model::{Measure, Metric, Study};
use plimsoll_testkit::Need;
use rand_pcg::rand_core::Rng;

/// Which lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Hosts in namespaces: the link or the server's processor is short.
    Namespaces,
    /// Virtual machines: the server's disk is short. The client has mounted it.
    Machines,
}

/// A lab that is up.
pub struct Up {
    pub beds: Beds,
    pub place: Place,
}

/// What the lab has: Mbit/s of the link, hundredths of a core of the server, and MB/s of its disk. Machines have a disk
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub link: u64,
    pub cpu: u64,
    pub disk: u64,
}

fn namespaces() -> LabFile {
    let server = LabFile::new().namespace("server").set("cpu", "50%").ganesha("256MiB");
    let client = server.namespace("client").set("cpu", "100%");
    client.link("cable", ["server", "client"]).set("rate", "100Mbit/s")
}

/// The server has less memory than its disk, and drops what it has read before each trial.
fn machines() -> LabFile {
    LabFile::new()
        .machine("server", "384MiB")
        .disk("data", "768MiB", "/srv/data")
        .nfsd(8, &["3"], "/srv/data", "rw,async,no_root_squash,insecure")
        .machine("client", "384MiB")
        .mount_nfs("/mnt/films", "server:/srv/data", "vers=3,rsize=131072")
        .link("cable", ["server", "client"])
}

impl Place {
    pub fn needs(self) -> &'static [Need] {
        match self {
            Place::Namespaces => &[Need::Namespaces, Need::Ganesha],
            Place::Machines => &[Need::Machines],
        }
    }
}

impl Up {
    /// Brings the lab of a place up.
    pub fn new(place: Place) -> Up {
        let beds = Beds::with_runner();
        match place {
            Place::Namespaces => {
                beds.up("films", &namespaces());
                // Streams that share a link by another congestion control may share it unevenly: another question.
                let cubic = "echo cubic >/proc/sys/net/ipv4/tcp_congestion_control";
                beds.on("films/server", cubic);
            }
            Place::Machines => beds.up("films", &machines()),
        }
        Up { beds, place }
    }

    /// Sets the lab.
    pub fn set(&self, limits: Limits) {
        let set = |what: &str, value: String| self.beds.lab(&["set", "films", what, &value]);
        match self.place {
            Place::Namespaces => {
                set("cable", format!("rate={}Mbit/s", limits.link)).expect(0);
                set("server", format!("cpu={}%", limits.cpu)).expect(0);
            }
            Place::Machines => {
                set("server/data", format!("rate={}MB/s", limits.disk)).expect(0);
            }
        }
    }

    /// The study that a command keeps, and what it has printed in one line.
    pub fn measured(&self, words: &[&str]) -> (Study, String) {
        let target = "nfs://server/srv/data?uid=0&gid=0";
        let on = ["--on=lab://films/client", "--baseline=0s", "--quiet"];
        let more: &[&str] = match self.place {
            Place::Namespaces => &["--size=64MiB"],
            // A server whose disk is slow does not answer while its kernel writes: for longer than the 30 s of every
            // call.
            Place::Machines => {
                &["--size=128MiB", "--timeout=5min", "--drop-caches", "--host=lab://films/server"]
            }
        };
        let arguments = [&words[..1], &[target], &words[1..], &on, more].concat();
        let ran = self.beds.program.run(&arguments);
        assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
        (self.beds.program.latest(), unwrapped(&ran.out))
    }

    /// Bytes per second of so many sequential readers.
    pub fn capacity(&self, readers: u16) -> f64 {
        let readers = format!("--workers={readers}");
        let (study, _) = self.measured(&[
            "check",
            "--pattern=sequential-read",
            "--block=128KiB",
            "--repeats=3",
            "--time=3s",
            "--max-time=20min",
            &readers,
        ]);
        let metric = Metric::all(Measure::THROUGHPUT);
        let rates: Vec<f64> =
            study.trials.iter().filter_map(|trial| trial.result.value(0, metric)).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    /// What `play` finds of films of this rate, and what it has printed in one line.
    pub fn play(&self, rate: f64, words: &[&str]) -> (Option<Playback>, String) {
        let rate = rate_option(rate);
        let words = [&["play", &rate], words].concat();
        let (study, said) = self.measured(&words);
        (playback(&study).into_iter().next(), said)
    }
}

/// The option for a film of so many bytes per second.
pub fn rate_option(rate: f64) -> String {
    format!("--rate={:.0}kbit/s", rate * 8.0 / 1e3)
}

/// Limits of a lab in namespaces: the link in cases of even numbers, the processor in the others.
pub fn in_namespaces(number: u64, draw: &mut impl Rng) -> Limits {
    let (link, cpu) = match number % 2 {
        0 => (20 + draw.next_u64() % 60, 80),
        _ => (900, 4 + draw.next_u64() % 8),
    };
    Limits { link, cpu, disk: 0 }
}

/// Limits of a lab of machines. With less, a film has a dozen requests in a block of five seconds.
pub fn in_machines(draw: &mut impl Rng) -> Limits {
    Limits { link: 0, cpu: 0, disk: 4 + draw.next_u64() % 5 }
}

/// A number between two others.
pub fn between(low: f64, high: f64, draw: &mut impl Rng) -> f64 {
    low + (high - low) * f64::from(draw.next_u32()) / f64::from(u32::MAX)
}
