//! Twenty studies drawn by seed, as screens for somebody who has seen nothing else, with what is true
//! of each beside them: is the screen understood?

use super::{base, fail, screen, sequential, storage};
use crate::support::plain::add_blocks;
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::{Flag, Pattern, StoredOn, Study};
use plimsoll_stats::verdict::{Side, Verdict};
use std::fmt::Write;

/// SplitMix64: the same studies from the same seed, whatever else changes.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }
}

fn drawn(seed: u64) -> Study {
    let mut draw = Draw(seed);
    let pairs = [
        ["nfs://nas/volume1", "smb://me@nas/volume1"],
        ["/mnt/nfs3", "/mnt/smb"],
        ["nfs://old/films", "nfs://new/films"],
        ["smb://me@nas/films", "smb://me@nas/backup"],
    ];
    let mut study = sequential(&draw.one_of(&pairs), &Pattern::USUAL);
    let mut factors = [0.0; 5];
    factors.iter_mut().for_each(|factor| *factor = draw.one_of(&[0.5, 0.75, 1.0, 1.0, 1.3, 3.0]));
    let noise = draw.one_of(&[0.01, 0.02, 0.2]);
    let blocks = draw.one_of(&[10, 20, 40]);
    add_blocks(&mut study, blocks, noise, |target, pattern| {
        let number = Pattern::USUAL.iter().position(|other| *other == pattern).unwrap();
        if target == 0 { base(pattern) } else { base(pattern) * factors[number] }
    });
    let from = draw.one_of(&[StoredOn::Disk, StoredOn::ServerMemory, StoredOn::Unknown]);
    for facts in &mut study.subjects {
        let facts = storage(facts);
        facts.reads_from = Some(from);
        if from != StoredOn::Disk {
            let settles = Some(Bytes(4 * GIB));
            let (target, size) = (facts.given.clone(), Bytes(GIB));
            study.flags.push(Flag::WorkingSet { target, size, reads_from: from, settles });
        }
    }
    match draw.next() % 4 {
        0 => {
            let failed =
                |t: &&mut plimsoll_model::Trial| t.cell.workload == 1 && t.cell.subject == 0;
            study.trials.iter_mut().filter(failed).for_each(fail);
        }
        1 => {
            let flag = Flag::ClientSaturated { host: None, core_busy: 0.98, serves: false };
            study.trials.iter_mut().for_each(|trial| trial.result.flags.push(flag.clone()));
        }
        _ => {}
    }
    study
}

/// What is true, from the findings alone.
fn truth(study: &Study) -> String {
    let findings = plimsoll_explain::findings(study);
    let names: Vec<&str> = study.subjects.iter().map(|facts| facts.label()).collect();
    let mut text = String::new();
    for found in &findings.workloads {
        let work = found.workload.main().unwrap().job.title();
        let said = match found.pairs[0].claim.and_then(|claim| claim.verdict) {
            None => "no verdict".to_owned(),
            Some(Verdict::Faster(lead) | Verdict::PerhapsTooLittle(lead)) => {
                let who = names[usize::from(lead.faster == Side::B)];
                format!("{who} faster, at least {:.1}%", 100.0 * lead.by.low)
            }
            Some(Verdict::NoPracticalDifference(_)) => "practically equal".to_owned(),
            Some(Verdict::NotResolved(_)) => "inconclusive".to_owned(),
        };
        let _ = writeln!(text, "{work}: {said}");
    }
    let from = storage_of(study).map(|from| format!("{from:?}"));
    let _ = writeln!(text, "reads from: {}", from.collect::<Vec<_>>().join(", "));
    text
}

fn storage_of(study: &Study) -> impl Iterator<Item = StoredOn> {
    study.subjects.iter().filter_map(|facts| facts.storage()?.reads_from)
}

/// Writes the screens and the answers into the directory that PLIMSOLL_SCREENS names.
#[test]
#[ignore = "for a reader: PLIMSOLL_SCREENS names a directory"]
fn twenty_screens_and_what_is_true_of_them() {
    let directory = std::env::var_os("PLIMSOLL_SCREENS").expect("a directory for the screens");
    let directory = std::path::Path::new(&directory);
    for seed in 1..=20 {
        let study = drawn(seed);
        std::fs::write(directory.join(format!("screen-{seed:02}.txt")), screen(&study)).unwrap();
        std::fs::write(directory.join(format!("truth-{seed:02}.txt")), truth(&study)).unwrap();
    }
}
