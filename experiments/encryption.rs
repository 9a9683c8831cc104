//! Does encryption cost what `predict --encrypt` says? Set-ups drawn by seed, each measured without encryption,
//! predicted, and measured again with it:
//!
//! - SMB: a share of Samba in a namespace with a part of a core, over a link of a known rate; the same share again with
//!   `encrypt=on`;
//! - disk: an NFS export of a machine on a plain disk, and one on a disk with dm-crypt.
//!
//! The time of the cipher comes from a device study of the server, as `predict` wants it. A prediction holds if the
//! range covers the rate that was measured, or its middle is within 20% of it. Studies and rates are kept; predictions
//! are computed from them each time.

use crate::kept::{Kept, Until, load_average, place, setting, until_quiet, words};
use crate::limits::{BUSY, busy, found};
use crate::support::Plimsoll;
use crate::support::beds::Beds;
use crate::support::lab_file::LabFile;
use plimsoll_explain::whatif::{Encryption, WhatIf, encryption_seconds, predict, predicted_rows};
use plimsoll_model::{Study, SubjectFacts};
use plimsoll_stats::order::generator;
use plimsoll_testkit::{Need, available};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::PathBuf;

const SEED: u64 = 40;
const CASES: [(Layer, u64); 2] = [(Layer::Smb, 8), (Layer::Disk, 4)];
/// How far the middle of a range may be from the truth.
const CLOSE: f64 = 0.2;
const EXPORT: &str = "rw,async,no_root_squash,insecure";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Layer {
    Smb,
    Disk,
}

impl Layer {
    fn lab(self) -> LabFile {
        match self {
            Layer::Smb => LabFile::new()
                .namespace("server")
                .disk("data", "256MiB", "/srv/data")
                .samba("data", "/srv/data")
                .namespace("client")
                .link("cable", ["server", "client"])
                .set("rate", "1Gbit/s"),
            Layer::Disk => LabFile::new()
                .machine("server", "512MiB")
                .disk("data", "256MiB", "/srv/data")
                .disk("sealed", "256MiB", "/srv/sealed")
                .line(format_args!("encrypted = true"))
                .nfsd(8, &["3"], "/srv/data", EXPORT)
                .export("/srv/sealed", EXPORT)
                .machine("client", "384MiB")
                .link("cable", ["server", "client"]),
        }
    }

    fn need(self) -> &'static [Need] {
        match self {
            Layer::Smb => &[Need::Namespaces, Need::Samba],
            Layer::Disk => &[Need::Machines],
        }
    }

    fn encryption(self) -> Encryption {
        match self {
            Layer::Smb => Encryption::Smb,
            Layer::Disk => Encryption::Disk,
        }
    }

    /// What is read or written, without encryption and with it.
    fn target(self, is_encrypted: bool) -> &'static str {
        match (self, is_encrypted) {
            (Layer::Smb, false) => "smb://plimsoll@server/data?sign=off&encrypt=off",
            (Layer::Smb, true) => "smb://plimsoll@server/data?encrypt=on",
            (Layer::Disk, false) => "nfs://server/srv/data?uid=0&gid=0",
            (Layer::Disk, true) => "nfs://server/srv/sealed?uid=0&gid=0",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    layer: Layer,
    /// Rate of the link in Mbit/s; 0 where it has none.
    link: f64,
    /// The server's part of a core in hundredths, or the rate of both disks in MB/s; 0 where it has none.
    server: f64,
    pattern: String,
    block: String,
    workers: u16,
}

/// The n-th case of a seed: what is short is the link in a third of them, and the server in the others.
fn drawn(seed: u64, number: u64, layer: Layer) -> Case {
    let mut draw = generator(seed, &format!("encryption {number} {layer:?}"));
    let mut uniform = || f64::from(draw.next_u32()) / f64::from(u32::MAX);
    let mut between = |low: f64, high: f64| (low * (high / low).powf(uniform())).round();
    let (link, server) = match layer {
        Layer::Smb if number.is_multiple_of(3) => (between(50.0, 200.0), 90.0),
        Layer::Smb => (1000.0, between(15.0, 50.0)),
        Layer::Disk if number.is_multiple_of(3) => (0.0, between(2.0, 6.0)),
        Layer::Disk => (0.0, 0.0),
    };
    let patterns = match layer {
        Layer::Smb => ["sequential-read", "random-read", "sequential-write"],
        Layer::Disk => ["sequential-read", "random-read", "sequential-read"],
    };
    let pattern = patterns[(uniform() * 3.0) as usize % 3];
    let block = if pattern == "random-read" { "32KiB" } else { "256KiB" };
    let workers = if uniform() < 0.3 { 1 } else { 4 };
    Case { layer, link, server, pattern: pattern.into(), block: block.into(), workers }
}

impl Case {
    fn set(&self, beds: &Beds) {
        let set = |what: &str, value: String| beds.lab(&["set", "bed", what, &value]).expect(0);
        match self.layer {
            Layer::Smb => {
                set("cable", format!("rate={}Mbit/s", self.link));
                set("server", format!("cpu={}%", self.server));
            }
            Layer::Disk => {
                let rate = match self.server > 0.0 {
                    true => format!("rate={}MB/s", self.server),
                    false => "rate=none".to_owned(),
                };
                set("server/data", rate.clone());
                set("server/sealed", rate);
            }
        }
    }

    fn measure(&self, beds: &Beds, is_encrypted: bool) -> Study {
        let given = [
            format!("--pattern={}", self.pattern),
            format!("--block={}", self.block),
            format!("--workers={}", self.workers),
        ];
        let mut line = vec!["check", self.layer.target(is_encrypted), "--on=lab://bed/client"];
        line.extend(given.iter().map(String::as_str));
        line.extend(["--host=lab://bed/server", "--explain", "--size=16MiB", "--repeats=4"]);
        line.extend(["--time=2s", "--baseline=1s", "--max-time=4m", "--quiet"]);
        // The server's disk is asked, not its memory: what is not read from a disk is not decrypted.
        line.extend((self.layer == Layer::Disk).then_some("--drop-caches"));
        let ran = beds.program.run(&line);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
        beds.program.latest()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { layer, link, server, pattern, block, workers } = self;
        write!(f, "{layer:?}, link {link}, server {server}, {pattern} of {block} x{workers}")
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    seed: u64,
    number: u64,
    case: Case,
    /// Why it does not count; empty where it does.
    void: String,
    /// Time of one core of the server for a byte of the cipher, from a device study.
    cipher_seconds_per_byte: f64,
    /// Operations per second without encryption, and with it.
    speeds: [f64; 2],
}

fn measured(beds: &Beds, seed: u64, number: u64, layer: Layer, cipher: f64) -> Row {
    let case = drawn(seed, number, layer);
    let mut row = Row {
        seed,
        number,
        case,
        void: String::new(),
        cipher_seconds_per_byte: cipher,
        speeds: [0.0; 2],
    };
    row.case.set(beds);
    let plain = row.case.measure(beds, false);
    fs::write(row.place(), serde_json::to_string(&plain).expect("JSON")).expect("it is kept");
    let sealed = row.case.measure(beds, true);
    let (Some(before), Some(after)) = (found(&plain), found(&sealed)) else {
        return Row { void: "no complete trial".to_owned(), ..row };
    };
    row.speeds = [before.per_second, after.per_second];
    let busy = busy(&plain).max(busy(&sealed));
    if busy > BUSY {
        row.void = format!("this machine was {:.0}% busy", 100.0 * busy);
    }
    row
}

/// Time of a byte of the cipher on the server, which has all of its cores for that.
fn cipher(beds: &Beds, layer: Layer) -> f64 {
    beds.program
        .run(&["device", "lab://bed/server", "--only=inventory,crypto", "--quiet"])
        .expect(0);
    let study = beds.program.latest();
    let device = study.subjects.iter().find_map(|facts| match facts {
        SubjectFacts::Host(facts) => Some(&facts.device),
        _ => None,
    });
    let device = device.expect("a device study");
    encryption_seconds(device, layer.encryption()).expect("a figure of the cipher")
}

impl Row {
    /// Where its study is kept.
    fn place(&self) -> PathBuf {
        place(&format!("encryption-{}-{:?}-{}.json", self.seed, self.case.layer, self.number))
    }

    /// The range of today's rules, as times the speed before; `None` if they say nothing.
    fn range(&self) -> Option<[f64; 2]> {
        let text = fs::read_to_string(self.place()).expect("the study was kept");
        let study: Study = serde_json::from_str(&text).expect("a study");
        let change = WhatIf::Encrypt {
            layer: self.case.layer.encryption(),
            seconds_per_byte: self.cipher_seconds_per_byte,
        };
        let predictions = predict(&study, &[change]);
        let rows = predicted_rows(&study, &predictions);
        rows.first().map(|row| [row.low / row.today, row.high / row.today])
    }

    /// Whether the prediction holds; `None` if nothing was said.
    fn judge(&self) -> Option<bool> {
        let really = self.speeds[1] / self.speeds[0];
        let range = self.range();
        let holds = range.map(|[low, high]| {
            let middle = f64::midpoint(low, high);
            (low..=high).contains(&really) || (middle / really - 1.0).abs() <= CLOSE
        });
        let said = range.map_or("nothing".to_owned(), |[low, high]| {
            let is_inside = (low..=high).contains(&really);
            format!("{low:.2} to {high:.2}: {}", if is_inside { "inside" } else { "OUTSIDE" })
        });
        println!(
            "{:2} {}, {:.0}/s, cipher {:.2} ns a byte: really {really:.2}, predicted {said}",
            self.number,
            self.case,
            self.speeds[0],
            1e9 * self.cipher_seconds_per_byte,
        );
        holds
    }
}

#[test]
#[ignore = "machines take minutes, and it wants a quiet machine: make measure-encryption"]
fn measure_encryption() {
    if !CASES.iter().flat_map(|(layer, _)| layer.need()).all(|need| available(*need)) {
        return;
    }
    let seed = setting("PLIMSOLL_SEED", SEED);
    let (mut kept, until) = (Kept::<Row>::open("encryption.jsonl"), Until::now());
    println!("load average at the beginning: {}", load_average());
    let (mut counted, mut held, mut silent) = (0, 0, 0);
    for (layer, wanted) in CASES {
        let wanted = setting("PLIMSOLL_CASES", wanted);
        let (mut own, mut number, mut up) = (0, 0, None);
        while own < wanted {
            let is_it = |row: &Row| (row.seed, row.number, row.case.layer) == (seed, number, layer);
            if !kept.cases.iter().any(is_it) {
                if until.is_over() {
                    break;
                }
                // Samba's user in labs has a password of this name.
                let (beds, cipher) = up.get_or_insert_with(|| {
                    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", "plimsoll");
                    let beds = Beds::with_program(program.with_runner());
                    beds.up("bed", &layer.lab());
                    let seconds = cipher(&beds, layer);
                    (beds, seconds)
                });
                until_quiet();
                kept.add(measured(beds, seed, number, layer, *cipher));
            }
            let row = kept.cases.iter().find(|row| is_it(row)).expect("it is kept");
            number += 1;
            if !row.void.is_empty() {
                println!("{:2} {}: void, {}", row.number, row.case, row.void);
                continue;
            }
            own += 1;
            counted += 1;
            match row.judge() {
                Some(true) => held += 1,
                Some(false) => {}
                None => silent += 1,
            }
        }
    }
    println!("within {:.0}%, or a bound that holds: {}", 100.0 * CLOSE, words(held, counted));
    println!("nothing said: {}", words(silent, counted));
    println!("load average at the end: {}", load_average());
}
